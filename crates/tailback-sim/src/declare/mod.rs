//! The declarations of the engine: the tables of a scenario, impairments, instants. The queue, transport and
//! conditioner crates declare their own models, and [`crate::traffic`] declares each traffic source.

pub mod changes;
pub mod fabrics;
pub mod impairments;
pub mod instants;
pub mod kinds;
pub mod netem;
pub mod paths;
pub mod tables;
pub mod workload;
