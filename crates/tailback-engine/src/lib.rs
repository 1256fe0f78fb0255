//! The simulator: virtual time, links, flows, applications, recording.
//!
//! [`scenario`] reads a scenario into a [`spec::Spec`]; [`run`] builds the [`build::network::Network`] it describes,
//! drives it in [`sim`], and hands back an outcome. Users who write their own disciplines, endpoints, applications or
//! conditioners in Rust use [`build::network::Network`] directly; `tests/extension_points/` shows each in 50 lines.

pub mod build;
pub mod change;
pub mod declare;
pub mod library;
pub mod measure;
pub mod memory;
pub mod plan;
pub mod results;
pub mod run;
pub mod scenario;
pub mod sim;
pub mod spec;
pub mod traffic;
pub mod wire;
