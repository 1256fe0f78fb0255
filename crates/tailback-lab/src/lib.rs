//! What the page of `tailback lab` shows, for every program that has one: the server, a notebook's kernel, and the page
//! itself, which can have the engine inside.
//!
//! A page has a [`state::State`]: a scenario, and the discipline beside the scenario's own. [`screen_runs`] makes the
//! runs of a state, [`picture`] packs what is drawn of their tables, [`controls`] says what can be set, [`copies`]
//! writes the state as text, and [`packets`] looks into one instant of a run. Nothing here runs a simulation. The
//! caller does, in a way that it can stop.
//!
//! Data are JSON, except numbers that are drawn: they are in [`frames`].

pub mod controls;
pub mod copies;
pub mod digests;
mod digits;
pub mod frames;
pub mod packets;
pub mod picture;
mod reach;
pub mod screen_runs;
pub mod state;
#[cfg(test)]
mod tests;
