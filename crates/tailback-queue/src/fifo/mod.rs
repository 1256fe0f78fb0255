//! Disciplines with one first-in-first-out queue. They differ in the packet that they drop when the queue is full.

pub mod droptail;
pub mod front_drop;
pub mod host;
pub mod random_drop;
pub mod ring;

pub use droptail::DropTail;
pub use host::Fifo;
pub use ring::Ring;
