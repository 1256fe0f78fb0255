//! What edges tell each other, and how it may come late or not at all.
//!
//! An edge tells every other edge of the network, which takes what concerns it. A message takes the propagation delay
//! of the path; `delay` comes on top, and each is lost with probability `loss`.

use crate::conditioner::{EdgeId, EdgeMessage, EdgeOut};
use tailback_base::{Duration, Stream, Time};

/// One thing told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Told {
    /// The least round trip of an edge's aggregates, seconds.
    LeastRoundTrip(f64),
    /// The target of an edge's aggregates, bit/s.
    Target(f64),
    /// Bytes of red packets of an aggregate that arrived in an interval.
    Red { aggregate: u64, bytes: u64 },
    /// The same of yellow and red ones.
    Above { aggregate: u64, bytes: u64 },
    /// Which share of what is yellow or red is lost, of the aggregate with an edge's least round trip.
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

    /// None for what is not said by an edge of this kind.
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
    /// What waits, in the order of its times.
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

    /// Tell all others.
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

    /// When the next late message leaves.
    pub fn next(&self) -> Option<Time> {
        self.late.first().map(|l| l.0)
    }

    /// Send what is due.
    pub fn release<P>(&mut self, now: Time, out: &mut dyn EdgeOut<P>) {
        let due = self.late.iter().take_while(|l| l.0 <= now).count();
        for (_, to, what) in self.late.drain(..due) {
            out.message(to, what.message());
        }
    }
}
