//! A simulated network path for the tests of a foreign transport.
//!
//! A transport that does no I/O of its own ("sans-io") implements [`Endpoint`] for its two ends. [`Path`] carries their
//! datagrams in virtual time through a bottleneck with any queue discipline of tailback, impairments and other traffic.
//! A minute of a 10 Mbit/s line takes a tenth of a second, and the same seed gives the same run, to the bit.
//!
//! ```
//! # use tailback_path::{Datagram, Ecn, Endpoint, Path, Time};
//! /// Sends a datagram each millisecond; counts what arrives.
//! #[derive(Default)]
//! struct Ticker { next: Time, sent: u32, arrived: u32 }
//!
//! impl Endpoint for Ticker {
//!     type Data = u32;
//!     fn receive(&mut self, _number: u32, _ecn: Ecn, _now: Time) {
//!         self.arrived += 1;
//!     }
//!     fn transmit(&mut self, now: Time) -> Option<Datagram<u32>> {
//!         if self.sent == 1000 || now < self.next {
//!             return None;
//!         }
//!         (self.sent, self.next) = (self.sent + 1, Time(now.0 + 1_000_000));
//!         Some(Datagram::new(self.sent, 1000))
//!     }
//!     fn timeout(&self) -> Option<Time> {
//!         (self.sent < 1000).then_some(self.next)
//!     }
//! }
//!
//! // A sink sends nothing.
//! let sink = Ticker { sent: 1000, ..Ticker::default() };
//! let path = Path::new("10Mbps", "40ms").queue("codel").impair(r#"{ kind = "random", probability = 0.1 }"#);
//! let run = path.run([(Ticker::default(), sink)], "5s").unwrap();
//! let (source, sink) = &run.ends[0];
//! assert!(source.sent == 1000 && (850..950).contains(&sink.arrived));
//! ```
//!
//! **What is modelled**: a line of a given rate with a queue discipline before it, a reverse line of the same rate with
//! an unlimited queue, a delay of half of the round trip in each direction, and the impairments of [`Path::impair`].
//! Datagrams are not fragmented. The tests of the example `your-transport`, a small QUIC-like transport, use such a
//! path.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod carried;
mod contents;
mod endpoint;
mod finished;
mod path;
mod problem;
mod run;
mod scenario;

pub use carried::connection;
pub use contents::DatagramBytes;
pub use endpoint::{Amount, Datagram, Endpoint, Pair};
pub use finished::Finished;
pub use path::Path;
pub use problem::Problem;
pub use run::Run;
pub use scenario::Scenario;
pub use tailback_base::{Duration, Ecn, ProbeDef, Time};
