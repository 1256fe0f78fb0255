//! Queues that tell senders more than a loss does.

pub mod decsel;
