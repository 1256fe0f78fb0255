//! AQM that knows flows: those that keep something for each, and those that find who holds much by chance.

pub mod choke;
pub mod fred;
pub mod red_pb;
pub mod red_pd;
pub mod sfb;
