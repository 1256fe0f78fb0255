//! The simulator: virtual time, links, flows, applications, recording. It opens no files, starts no threads and reads
//! no clock.
//!
//! A [`spec::Spec`] says what is to be run; [`run`](run::run()) builds the [`build::network::Network`] it describes,
//! drives it in [`sim`], and hands back the tables of an outcome. The crate `tailback-scenario` reads a `Spec` from
//! text. Users who write their own disciplines, endpoints, applications or conditioners in Rust use
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
