//! A simulated network path for the tests of somebody else's transport.
//!
//! A transport that does no I/O of its own ("sans-io") implements [`Endpoint`] for its two ends; [`Path`] carries their
//! datagrams through a bottleneck with any queue discipline of tailback, impairments and other traffic, in virtual
//! time: a minute of a 10 Mbit/s line takes a tenth of a second, and the same seed gives the same run, to the bit.
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
//! **What is modelled**: a line of a given rate with a queue discipline before it, a way back of the same rate and
//! with an unlimited queue, half of the round trip in each direction, and what [`Path::impair`] adds. Datagrams are
//! not fragmented. The tests of the example `your-transport`, a small QUIC-like transport, use such a path.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod carried;
mod path;
mod run;

pub use path::{Path, Problem};
pub use run::Run;
pub use tailback_base::{Duration, Ecn, Time};

/// What an endpoint puts on the wire.
///
/// ```
/// use tailback_path::{Datagram, Ecn};
///
/// let mut hello = Datagram::new("hello", 1200);
/// assert_eq!(hello.ecn, Ecn::NotEct);
/// // A sender that reacts to marks says so.
/// hello.ecn = Ecn::Ect0;
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram<D> {
    /// The data for the other end: bytes, or any type of the transport.
    pub data: D,
    /// Its size on the wire, headers included: 1 to 65535.
    pub bytes: u32,
    /// The ECN code point of its IP header; the other end gets [`Ecn::Ce`] if a queue marked it.
    pub ecn: Ecn,
}

impl<D> Datagram<D> {
    /// A datagram whose sender does not use ECN.
    pub fn new(data: D, bytes: u32) -> Datagram<D> {
        Datagram {
            data,
            bytes,
            ecn: Ecn::NotEct,
        }
    }
}

/// One end of a transport that does no I/O of its own.
///
/// After every call the path calls [`transmit`](Endpoint::transmit) until it returns `None`, and then
/// [`timeout`](Endpoint::timeout). `now` never goes backwards; it starts at [`Time::ZERO`] and counts nanoseconds.
pub trait Endpoint {
    /// The contents of its datagrams.
    type Data: Clone;

    /// The run begins. The first end of a pair is called at once, the other before the first datagram that reaches
    /// it.
    fn start(&mut self, _now: Time) {}
    /// A datagram has arrived.
    fn receive(&mut self, data: Self::Data, ecn: Ecn, now: Time);
    /// The next datagram to send at this instant; `None` if nothing is to be sent now. To pace, return the next
    /// instant in `timeout`.
    fn transmit(&mut self, now: Time) -> Option<Datagram<Self::Data>>;
    /// When the endpoint wants to be called even if nothing arrives.
    fn timeout(&self) -> Option<Time>;
    /// That instant has come.
    fn on_timeout(&mut self, _now: Time) {}
    /// How many bytes it has delivered to its application in order. The goodput of a run counts these.
    fn delivered(&self) -> u64 {
        0
    }
}
