//! The contents of the page of `tailback lab`, for every program that has such a page: the server, a notebook's kernel,
//! and the page itself, which can include the engine.
//!
//! A page has a [`state::State`]: a scenario, and the discipline that is compared with the scenario's own.
//! [`screen_runs`] makes the runs of a state, [`picture`] packs the drawn data of their tables, [`controls`] lists the
//! values that can be set, [`copies`] writes the state as text, and [`packets`] shows one instant of a run. Nothing
//! here runs a simulation. The caller runs simulations, in a way that it can stop.
//!
//! Data are JSON, except numbers that are drawn, which are in [`frames`].

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
