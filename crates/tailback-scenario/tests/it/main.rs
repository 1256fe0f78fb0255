//! All tests of this crate that use it from outside: one program, so that it is linked once.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/cycles.rs"]
mod cycles;
#[path = "../common/drawn.rs"]
mod drawn;

mod bursts;
mod changes;
mod churn;
mod code_points;
mod controls;
mod dual_queue;
mod echo;
mod edge_stages;
mod edges;
mod equal_paths;
mod examples;
mod fabrics;
mod finite_transfers;
mod home_networks;
mod keshav_sources;
mod large_packets;
mod laws;
mod laws_of_tables;
mod links;
mod linux_references;
mod marking;
mod media;
mod phases;
mod recorded_changes;
mod redn;
mod replays;
mod requests;
mod running_ahead;
mod sessions;
mod shapers;
mod signals_of_queues;
mod small_writes;
mod source_alone;
mod superposed;
mod switch;
mod tcp_pairs;
mod tcp_references;
mod tfrc;
mod topologies;
mod transfers;
mod variants;
mod web;
mod weights;
mod workloads;
