//! The simulator: virtual time, links, flows, applications, recording. It opens no files, starts no threads and reads
//! no clock.
//!
//! A [`spec::Spec`] describes a run. [`run`](run::run()) builds the [`build::network::Network`] that it describes,
//! drives the network in [`sim`], and returns the tables of an outcome. The crate `tailback-scenario` reads a `Spec`
//! from text. Users who write their own disciplines, endpoints, applications or conditioners in Rust use
//! [`build::network::Network`] directly; `tests/extension_points/` shows each in 50 lines.

pub mod build;
pub mod change;
pub mod declare;
pub mod library;
pub mod measure;
pub mod results;
pub mod run;
pub mod sim;
pub mod spec;
pub mod traffic;
pub mod wire;
