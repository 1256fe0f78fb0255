//! The simulator: virtual time, links, flows, applications, recording.
//!
//! [`scenario`] reads a scenario into a [`spec::Spec`]; [`run`] builds the [`network::Network`] it describes, drives it
//! in [`sim`], and hands back an outcome. Users who write their own disciplines, endpoints, applications or conditioners
//! in Rust use [`network::Network`] directly; `tests/walls/` shows each in 50 lines.

pub mod app;
pub mod books;
pub mod bursts;
pub mod event;
pub mod flow;
pub mod histogram;
pub mod impair;
pub mod network;
pub mod packet;
pub mod plan;
pub mod port;
mod prefetch;
pub mod record;
pub mod results;
pub mod ring;
pub mod route;
pub mod run;
pub mod scenario;
pub mod settling;
pub mod sim;
pub mod spec;
pub mod traffic;
