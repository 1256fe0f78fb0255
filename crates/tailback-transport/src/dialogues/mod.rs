//! Dialogues as text. A dialogue says what happens to a sender, what the sender has to send, and when. Each language
//! has a folder.
//!
//! A reader turns text into data. It has no clock, reads no file and runs no program. It refuses text that it cannot
//! read with a [`Fault`], which names the line and the word. The languages share the code that splits a text into words
//! (`lex`) and takes one word after another (`cursor`).
//!
//! * [`packetdrill`]: the scripts of packetdrill (Cardwell et al., USENIX ATC 2013).
//! * [`steps`]: our own language, in which segments have numbers. The dialogues of `conform` and of the tests of TCP
//!   are written in this language.

mod cursor;
mod fault;
mod lex;
pub mod packetdrill;
pub mod steps;

pub use fault::Fault;
