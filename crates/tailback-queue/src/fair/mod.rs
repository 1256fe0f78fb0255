//! Fair shares of the line by an algorithm that is more than pieces put together. Each discipline has its own file.
//! Disciplines that are only pieces put together are rows of [`ports`](crate::ports).

pub mod cake;
pub mod diffserv;
pub mod sfq;
