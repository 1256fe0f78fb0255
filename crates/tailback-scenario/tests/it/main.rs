//! All tests of this crate that use it from outside: one program, so that it is linked once.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/cycles.rs"]
mod cycles;
#[path = "../common/drawn.rs"]
mod drawn;
#[macro_use]
#[path = "../../../tailback-transport/tests/it/rows.rs"]
mod rows;

mod bbr3;
mod cases;
mod changes;
mod churn;
mod code_points;
mod copa;
mod drawn_fabrics;
mod edge_requests;
mod equal_paths;
mod examples;
mod fabrics;
mod finite_transfers;
mod laws;
mod laws_of_tables;
mod ledbat;
mod links;
mod linux_references;
mod marking;
mod phases;
mod recorded_changes;
mod redn;
mod running_ahead;
mod search;
mod sessions;
mod shapers;
mod small_writes;
mod source_alone;
mod superposed;
mod switch;
mod tfrc;
mod topologies;
mod variants;
mod workloads;
