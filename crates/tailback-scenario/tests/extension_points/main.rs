//! Extension points in scenarios: toys of 50 lines at most, which a scenario names or whose network is a scenario.
//! Those whose network is made in Rust are in `tailback-sim/tests/extension_points/`.
//!
//! | file | what a user writes |
//! |---|---|
//! | `aqm_by_text` | CoDel on each queue of a scheduler, and an AQM of one's own before RED, both by text |
//! | `controller` | a congestion control with a parameter and a probe, in a scenario; a router that asks it for less |
//! | `marks` | a congestion control that hears of every ACK whether it was marked |
//! | `pieces_by_text` | a scheduler and a drop policy, each with a parameter, below and above those that tailback has |
//! | `tap` | what sees every packet at every port, as a capture does |
//! | `marker_by_text` | a marker with a parameter that a scenario names, on a link and in hosts |
//! | `header_reader` | an edge that sees who opens a connection, who reduces its window, and what is acknowledged |
//! | `sessions` | a kind of session, named in a scenario; 10^5 short connections |
//! | `source_by_text` | a source of traffic, packet sizes, and a law of transfers and pauses, in a scenario |

#[path = "../common/mod.rs"]
mod common;

mod aqm_by_text;
mod controller;
mod header_reader;
mod marker_by_text;
mod marks;
mod pieces_by_text;
mod sessions;
mod source_by_text;
mod tap;
