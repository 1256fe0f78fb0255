//! Extension points: toys of 50 lines at most, one for each thing a user of the traits may want to do, run in the
//! simulator. They are the examples of the traits as well: read the one nearest to what you have in mind.
//!
//! | file | what a user writes |
//! |---|---|
//! | `aqm_by_text` | CoDel on each queue of a scheduler, and an AQM of one's own before RED, both by text |
//! | `both_directions` | a transport with data in both directions of a connection, closed from both ends |
//! | `controller` | a congestion control with a parameter and a probe, in a scenario; a router that asks it for less |
//! | `dequeue_marker` | a discipline that drops and marks when a packet leaves; the same one driven by a plain loop |
//! | `gate` | a discipline that says "not before t", and one with a timer that it puts off |
//! | `idle_timer` | a discipline whose timer runs on a link that no packet crosses |
//! | `recorded` | a discipline driven from a recorded list of arrivals, without the simulator |
//! | `marks` | a congestion control that hears of every ACK whether it was marked |
//! | `pieces_by_text` | a scheduler and a drop policy, each with a parameter, below and above those that tailback has |
//! | `quench` | a discipline that sends a control packet back; an endpoint and an application that hear it |
//! | `packet_pair` | a sender that paces pairs of probes, and a receiver that echoes |
//! | `tap` | what sees every packet at every port, as a capture does |
//! | `two_edges` | a marker at an edge that sees both directions and tells another edge |
//! | `marker_by_text` | a marker with a parameter that a scenario names, on a link and in hosts |
//! | `header_reader` | an edge that sees who opens a connection, who reduces its window, and what is acknowledged |
//! | `host_marker` | a marker in a host that follows the round-trip time of a flow |
//! | `sessions` | a kind of session, named in a scenario; 10^5 short connections |
//! | `source_by_text` | a source of traffic, packet sizes, and a law of transfers and pauses, in a scenario |
//! | `web` | an application that opens and closes connections while it runs |
//! | `relabel` | a flow that changes its destination label, and disciplines that read it |
//! | `random_eviction` | an admission that draws and evicts, in front of a scheduler of several queues |

#[path = "../common/mod.rs"]
mod common;

mod aqm_by_text;
mod both_directions;
mod controller;
mod dequeue_marker;
mod gate;
mod header_reader;
mod host_marker;
mod idle_timer;
mod marker_by_text;
mod marks;
mod packet_pair;
mod pieces_by_text;
mod quench;
mod random_eviction;
mod recorded;
mod relabel;
mod sessions;
mod source_by_text;
mod tap;
mod two_edges;
mod web;
