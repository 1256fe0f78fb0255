//! Extension points: toys of 50 lines at most, one for each thing a user of the traits may want to do, run in the
//! simulator. They are the examples of the traits as well: read the one nearest to what you have in mind.
//! Toys that a scenario names, or that need one, are in `tailback-scenario/tests/extension_points/`.
//!
//! | file | what a user writes |
//! |---|---|
//! | `both_directions` | a transport with data in both directions of a connection, closed from both ends |
//! | `dequeue_marker` | a discipline that drops and marks when a packet leaves; the same one driven by a plain loop |
//! | `gate` | a discipline that says "not before t", and one with a timer that it puts off |
//! | `idle_timer` | a discipline whose timer runs on a link that no packet crosses |
//! | `recorded` | a discipline driven from a recorded list of arrivals, without the simulator |
//! | `quench` | a discipline that sends a control packet back; an endpoint and an application that hear it |
//! | `packet_pair` | a sender that paces pairs of probes, and a receiver that echoes |
//! | `two_edges` | a marker at an edge that sees both directions and tells another edge |
//! | `host_marker` | a marker in a host that follows the round-trip time of a flow |
//! | `web` | an application that opens and closes connections while it runs |
//! | `relabel` | a flow that changes its destination label, and disciplines that read it |
//! | `random_eviction` | an admission that draws and evicts, in front of a scheduler of several queues |

#[path = "../common/mod.rs"]
mod common;

mod both_directions;
mod dequeue_marker;
mod gate;
mod host_marker;
mod idle_timer;
mod packet_pair;
mod quench;
mod random_eviction;
mod recorded;
mod relabel;
mod two_edges;
mod web;
