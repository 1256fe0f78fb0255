//! Dialogues as text: what happens to a sender, what it has to send, and when. A folder for each language.
//!
//! A reader turns text into data and plays nothing: it has no clock, reads no file and runs no program. What it cannot
//! read it refuses with a [`Fault`], which names the line and the word.
//!
//! * [`packetdrill`]: the scripts of packetdrill (Cardwell et al., USENIX ATC 2013).

mod fault;
pub mod packetdrill;

pub use fault::Fault;
