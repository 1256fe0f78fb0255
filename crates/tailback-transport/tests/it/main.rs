//! All tests of this crate that use it from outside: one program, so that it is linked once.

mod common;
#[macro_use]
mod rows;

mod change;
mod change_at_random;
mod connection;
mod cost;
mod dialogues;
mod keshav;
mod keshav_delivery;
mod linux;
mod ns2_losses;
mod prr;
mod rack;
mod random_networks;
mod recovery;
mod reference_traces;
mod robustness;
mod rtp;
mod tfrc;
mod two_way;
mod undo;
mod vegas;
