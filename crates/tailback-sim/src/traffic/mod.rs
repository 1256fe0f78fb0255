//! Traffic: the contract of applications ([`application`]), and the sources that a scenario can name ([`registry`]),
//! each declared and implemented in the file with its name. Sessions, which open connections during the run, are in
//! [`session`].

pub mod agenda;
pub mod application;
pub mod bulk;
pub mod bursts;
pub mod cbr;
pub mod churn;
pub mod conflict;
pub mod entry;
pub mod instants;
pub mod laws;
pub mod on_off;
pub mod paced;
pub mod packet_sizes;
pub mod poisson;
pub mod registry;
pub mod session;
pub mod superposed;
pub mod telnet;
pub mod trains;
pub mod transfer;
pub mod video;
pub mod voice;
pub mod workload;
