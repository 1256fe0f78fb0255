//! Changes during a run: values, and when each takes effect.
//!
//! The values of a change take effect in turn, at instants of a list or periodically. The changing object stores the
//! change. This object is the direction of a link (rate, delay, losses, queue), or the group of flows (weight,
//! congestion control). A line may also follow a trace from a file, without any event.
//!
//! Cost: one event for each value that takes effect; of each change only the next event is queued.

use std::sync::Arc;
use tailback_base::{BitRate, Duration, Settings, Time};
use tailback_transport::tcp::ControlChange;

/// The values of a change, in the order in which they take effect.
#[derive(Clone, Debug)]
pub enum Values {
    /// The rate of a link. The packet on the line keeps the rate with which it was sent.
    Rate(Vec<BitRate>),
    /// The delay of a link. No packet overtakes one that is on the way.
    Delay(Vec<Duration>),
    /// The probability of the first random loss among the impairments of a link.
    Loss(Vec<f64>),
    /// The settings of a link's queue; its packets and its state stay.
    Queue(Vec<Arc<Settings>>),
    /// Whether a link is up: both directions have the same change.
    Up(Vec<bool>),
    /// The weight of flows at schedulers that share the line by weight. Packets that already wait keep their old
    /// weight.
    Weight(Vec<f64>),
    /// The congestion control of flows. Window and threshold stay.
    Congestion(Vec<ControlChange>),
}

impl Values {
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Values::Rate(v) => v.len(),
            Values::Delay(v) => v.len(),
            Values::Loss(v) | Values::Weight(v) => v.len(),
            Values::Queue(v) => v.len(),
            Values::Up(v) => v.len(),
            Values::Congestion(v) => v.len(),
        }
    }
}

/// The times at which the values take effect.
#[derive(Clone, PartialEq, Debug)]
pub enum Schedule {
    /// Changes at these instants, in order.
    At(Vec<Time>),
    /// A change after each period, from an instant on.
    Every { from: Time, period: Duration },
}

impl Schedule {
    /// The n-th instant, from 0.
    pub fn nth(&self, n: usize) -> Option<Time> {
        match self {
            Schedule::At(times) => times.get(n).copied(),
            Schedule::Every { from, period } => Some(Time(from.0.saturating_add(period.0.saturating_mul(n as u64)))),
        }
    }
}

/// The changed quantity and the times; the values are taken in turn.
#[derive(Clone, Debug)]
pub struct Change {
    pub to: Values,
    pub when: Schedule,
}

impl Schedule {
    /// The same change with all its instants later.
    #[must_use]
    pub fn later(&self, by: Duration) -> Schedule {
        match self {
            Schedule::At(times) => Schedule::At(times.iter().map(|t| *t + by).collect()),
            Schedule::Every { from, period } => Schedule::Every {
                from: *from + by,
                period: *period,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_and_a_period_does_not() {
        let list = Schedule::At(vec![Time(3), Time(5)]);
        assert_eq!([0, 1, 2].map(|n| list.nth(n)), [Some(Time(3)), Some(Time(5)), None]);
        let every = Schedule::Every {
            from: Time(3),
            period: Duration(10),
        };
        assert_eq!([0, 1, 1_000_000].map(|n| every.nth(n).unwrap().0), [3, 13, 10_000_003]);
    }
}
