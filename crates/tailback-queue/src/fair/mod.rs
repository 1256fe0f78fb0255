//! Disciplines that share the line fairly by an algorithm of their own. Each of these disciplines has its own file.
//! Disciplines that only combine existing pieces are entries in [`ports`](crate::ports).

pub mod cake;
pub mod diffserv;
pub mod sfq;
