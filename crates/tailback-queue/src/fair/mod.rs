//! Fair shares of the line by an algorithm that is more than pieces put together. One file a discipline; those that are
//! pieces alone are rows of [`ports`](crate::ports).

pub mod cake;
pub mod diffserv;
pub mod sfq;
