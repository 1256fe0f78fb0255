//! AQMs that distinguish flows: some keep state for each flow, and others find the flows with a large backlog by random
//! draws.

pub mod choke;
pub mod fred;
pub mod red_pb;
pub mod red_pd;
pub mod sfb;
