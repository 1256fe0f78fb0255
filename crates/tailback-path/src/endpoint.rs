//! The contract between a foreign transport and tailback: a datagram, and one end.

use std::any::Any;
use tailback_base::{Ecn, ProbeDef, Time};
pub use tailback_transport::Amount;

/// The unit that an endpoint sends on the wire.
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

/// A connection that is to be made: its number in its group, and a seed for its random choices.
///
/// ```
/// # use tailback_path::Pair;
/// fn key(pair: &Pair) -> String {
///     format!("connection {} with a generator seeded with {}", pair.number, pair.seed)
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Pair {
    /// The number of the connection in its group, in the order in which connections are made, from 0. All flows of a
    /// group are made before the run, in the order of the group. After the run of a workload, one more connection is
    /// made for each kind of path: the lone sender of the column `slowdown_alone`.
    pub number: u32,
    /// A seed that depends on the seed of the run and on the connection. If the generators of random numbers of both
    /// ends use it, the same run sends the same bytes.
    pub seed: u64,
}

/// One end of a transport that does no I/O of its own.
///
/// Only the first four methods are needed. The others let applications of tailback write to the transport (`traffic`,
/// `[sessions.NAME]`), and show its behaviour in recordings and tables.
///
/// After every call the path calls [`transmit`](Endpoint::transmit) until it returns `None`, and then
/// [`timeout`](Endpoint::timeout). `now` never goes backwards; it starts at [`Time::ZERO`] and counts nanoseconds.
pub trait Endpoint {
    /// The contents of its datagrams.
    type Data: Clone;

    /// The end begins. The first end of a pair is the one that opens the connection: it is called when its flow starts,
    /// or when its application first writes. The other end is called before the first datagram reaches it. If it
    /// [speaks first](Endpoint::speaks_first), it is called when its flow starts or its connection is opened.
    fn start(&mut self, _now: Time) {}
    /// For the second end of a pair: whether it begins before it has received anything from the first.
    fn speaks_first(&self) -> bool {
        false
    }
    /// A datagram has arrived.
    fn receive(&mut self, data: Self::Data, ecn: Ecn, now: Time);
    /// The next datagram to send at this instant; `None` if nothing is to be sent now. To pace, return the next
    /// instant in `timeout`.
    fn transmit(&mut self, now: Time) -> Option<Datagram<Self::Data>>;
    /// The time at which the endpoint must be called even if nothing arrives.
    fn timeout(&self) -> Option<Time>;
    /// The instant of `timeout` has come.
    fn on_timeout(&mut self, _now: Time) {}
    /// The number of bytes that it has ever delivered to its application, in order. The goodput of a run counts these.
    fn delivered(&self) -> u64 {
        0
    }

    /// The application of this end writes. A transport that brings its own data ignores this call.
    fn write(&mut self, _amount: Amount, _now: Time) {}
    /// The application of this end writes no more; data that it has written are still delivered.
    fn close(&mut self, _now: Time) {}
    /// Whether the handshake is over.
    fn is_connected(&self) -> bool {
        true
    }
    /// The number of written bytes that the other end has acknowledged, in order; `None` if this is not known. Without
    /// it, a transfer has no time at which its sender knew of its arrival.
    fn acknowledged(&self) -> Option<u64> {
        None
    }
    /// Whether the other end has closed, and all that it had written is delivered.
    fn is_closed_by_peer(&self) -> bool {
        false
    }
    /// Whether there is nothing left to do: the end stores no data, and has nothing to send. A connection that an
    /// application opens is released when both its ends report this, and when the data written to each end have been
    /// delivered.
    fn is_closed(&self) -> bool {
        true
    }

    /// The bytes that a capture shows of a datagram: after headers of IPv4 and UDP, or without them if the bytes are an
    /// IPv4 packet of the datagram's size. Without this method a `Vec<u8>` is shown, and data of other types are not
    /// shown.
    fn captured(data: &Self::Data) -> Option<Vec<u8>>
    where
        Self: Sized,
        Self::Data: 'static,
    {
        (data as &dyn Any).downcast_ref::<Vec<u8>>().cloned()
    }

    /// The values of this end that `[record.NAME]` with `flows = "GROUP"` can record, such as `rtt` and `cwnd`.
    fn probes(&self) -> &'static [ProbeDef] {
        &[]
    }
    /// The present value of the probe with this index; NaN as long as it has no value.
    fn read(&self, _probe: usize) -> f64 {
        f64::NAN
    }
}
