//! The types that every tailback crate shares.
//!
//! Queue disciplines, conditioners and transport endpoints are plain objects driven by calls that carry `now`. They
//! depend neither on a simulator nor on each other. This crate has the types that they share: [`Time`] and
//! [`Duration`], [`BitRate`] and sizes, the [`Packet`] that a discipline may examine, named random [`Stream`]s, and the
//! [`Model`] declarations. The schema, `tailback describe`, the reference pages and every error message are generated
//! from these declarations.

pub mod bucket;
pub mod code_point;
pub mod colour;
pub mod counters;
pub mod fate;
pub mod model;
pub mod nearest;
pub mod packet;
pub mod quantity;
pub mod relative;
pub mod rng;
mod split;
pub mod time;
pub mod work;

pub use bucket::Bucket;
pub use code_point::Dscp;
pub use colour::Colour;
pub use fate::{DropReason, MarkReason, Place};
pub use model::{Catalogue, Key, Kind, Model, Param, Per, ProbeDef, Settings, Value};
pub use packet::{Ecn, FlowId, KeyField, Packet, PureAck, Request};
pub use quantity::{BitRate, Level, Size};
pub use rng::{Named, Stream};
pub use time::{Duration, Time};
