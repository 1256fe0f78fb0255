//! Queues whose signal gives senders more information than a loss.

pub mod decsel;
