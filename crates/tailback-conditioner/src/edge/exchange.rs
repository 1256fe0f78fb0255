//! The messages between edges, which may be delayed or lost.
//!
//! An edge sends each message to every other edge of the network. The receiver ignores messages that do not concern it.
//! A message takes the propagation delay of the path plus `delay`, and it is lost with probability `loss`.

use crate::conditioner::{EdgeId, EdgeMessage, EdgeOut};
use tailback_base::{Duration, Stream, Time};

/// The contents of a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Told {
    /// The smallest round trip of an edge's aggregates, seconds.
    LeastRoundTrip(f64),
    /// The target of an edge's aggregates, bit/s.
    Target(f64),
    /// The bytes of red packets of an aggregate that arrived in an interval.
    Red { aggregate: u64, bytes: u64 },
    /// The bytes of yellow and red packets of an aggregate that arrived in an interval.
    Above { aggregate: u64, bytes: u64 },
    /// The share of lost yellow and red packets, for the aggregate with the smallest round trip of an edge.
    Loss(f64),
}

impl Told {
    fn message(self) -> EdgeMessage {
        let (kind, about, value) = match self {
            Told::LeastRoundTrip(s) => (1, 0, s),
            Told::Target(t) => (2, 0, t),
            Told::Red { aggregate, bytes } => (3, aggregate, bytes as f64),
            Told::Above { aggregate, bytes } => (4, aggregate, bytes as f64),
            Told::Loss(share) => (5, 0, share),
        };
        EdgeMessage { kind, about, value }
    }

    /// The contents of a message; `None` for a message that this kind of edge does not send.
    pub fn of(m: EdgeMessage) -> Option<Told> {
        match m.kind {
            1 => Some(Told::LeastRoundTrip(m.value)),
            2 => Some(Told::Target(m.value)),
            3 => Some(Told::Red {
                aggregate: m.about,
                bytes: m.value as u64,
            }),
            4 => Some(Told::Above {
                aggregate: m.about,
                bytes: m.value as u64,
            }),
            5 => Some(Told::Loss(m.value)),
            _ => None,
        }
    }
}

/// The sending side.
pub struct Exchange {
    own: EdgeId,
    edges: u32,
    delay: Duration,
    loss: f64,
    stream: Stream,
    /// Delayed messages, in the order of their sending times.
    late: Vec<(Time, EdgeId, Told)>,
}

impl Exchange {
    pub fn new(own: EdgeId, edges: u32, delay: Duration, loss: f64, stream: Stream) -> Exchange {
        Exchange {
            own,
            edges,
            delay,
            loss,
            stream,
            late: vec![],
        }
    }

    /// Send a message to all other edges.
    pub fn tell<P>(&mut self, what: Told, now: Time, out: &mut dyn EdgeOut<P>) {
        for to in (0..self.edges).map(EdgeId).filter(|e| *e != self.own) {
            if self.stream.chance(self.loss) {
                continue;
            }
            match self.delay {
                Duration::ZERO => out.message(to, what.message()),
                delay => self.late.push((now + delay, to, what)),
            }
        }
    }

    /// The time of the next delayed message.
    pub fn next(&self) -> Option<Time> {
        self.late.first().map(|l| l.0)
    }

    /// Send the due messages.
    pub fn release<P>(&mut self, now: Time, out: &mut dyn EdgeOut<P>) {
        let due = self.late.iter().take_while(|l| l.0 <= now).count();
        for (_, to, what) in self.late.drain(..due) {
            out.message(to, what.message());
        }
    }
}
