//! Dialogues as text: what happens to a sender, what it has to send, and when. A folder for each language.
//!
//! A reader turns text into data: it has no clock, reads no file and runs no program. What it cannot read it refuses
//! with a [`Fault`], which names the line and the word. The languages share their words (`lex`, `cursor`).
//!
//! * [`packetdrill`]: the scripts of packetdrill (Cardwell et al., USENIX ATC 2013).
//! * [`steps`]: our own, in which segments have numbers; `conform` and the tests of TCP are written in it.

mod cursor;
mod fault;
mod lex;
pub mod packetdrill;
pub mod steps;

pub use fault::Fault;
