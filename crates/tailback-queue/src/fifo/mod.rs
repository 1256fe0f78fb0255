//! One queue, first in, first out, and what it drops when it is full.

pub mod droptail;
pub mod front_drop;
pub mod host;
pub mod random_drop;
pub mod ring;

pub use droptail::DropTail;
pub use host::Fifo;
pub use ring::Ring;
