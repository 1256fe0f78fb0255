//! One retransmission timer, for the oldest packet that is not acknowledged.
//!
//! Keshav's thesis, chapter 6, does not say whether each packet of a generic source has a timer. This file implements
//! the reading with only one timer. The timer starts when a packet is sent and the timer does not run. It restarts with
//! each acknowledgement that advances. When it expires, only the oldest packet is sent again, and the timeout backs
//! off. An acknowledgement that advances ends the backoff. If several packets were lost together, one of them is
//! therefore repaired in each timeout. The timeout, its bounds and its estimate are those of [`super::timers`]. With
//! `timer = "restart-all"` an expiry repeats all packets that were sent before the last start of the timer, except
//! those that are known to have arrived. The oldest packet is repeated first.
//!
//! The state is the estimate, the deadline and the start of the timer, the backoff, and the numbers of the packets that
//! are due. Each call costs O(1), except an expiry with `restart-all`, which examines each packet that it repeats.

use super::config::Config;
use super::state::{AckSeen, SenderState};
use super::timers::PathEstimate;
use crate::segment::Segment;
use std::ops::Range;
use tailback_base::{Duration, Time};

pub struct OldestTimer {
    pub estimate: PathEstimate,
    /// The deadline of the timer; [`Time::NEVER`] if the timer does not run.
    pub deadline: Time,
    backoff: f64,
    /// An expiry repeats more than the oldest packet.
    repeats_all: bool,
    started: Time,
    /// The packets to be sent again, by number.
    due: Range<u64>,
}

impl OldestTimer {
    /// `base` is the round trip of the empty path.
    pub fn new(cfg: &Config, base: Duration) -> OldestTimer {
        OldestTimer {
            estimate: PathEstimate::new(cfg, base),
            deadline: Time::NEVER,
            backoff: 1.0,
            repeats_all: cfg.repeats_all,
            started: Time::ZERO,
            due: 0..0,
        }
    }

    fn restart(&mut self, state: &SenderState, now: Time) {
        self.deadline = self.estimate.deadline(self.backoff, &state.cfg, now);
        self.started = now;
    }

    pub fn on_ack(&mut self, a: &AckSeen, state: &SenderState, now: Time) {
        if !a.advances {
            return;
        }
        self.estimate.learn(a, &state.cfg, now);
        (self.backoff, self.due) = (1.0, 0..0);
        match state.sent.is_empty() {
            true => self.deadline = Time::NEVER,
            false => self.restart(state, now),
        }
    }

    /// A new packet is sent now.
    pub fn sent(&mut self, state: &SenderState, now: Time) {
        if self.deadline == Time::NEVER && self.due.is_empty() {
            self.restart(state, now);
        }
    }

    pub fn expire(&mut self, state: &mut SenderState, now: Time) {
        if now < self.deadline {
            return;
        }
        self.deadline = Time::NEVER;
        self.backoff *= state.cfg.backoff;
        let una = state.sent.una();
        let older = |n: &u64| state.sent.get(*n).is_some_and(|p| p.first_sent <= self.started);
        let repeats = if self.repeats_all {
            (una + 1..).take_while(older).count() as u64
        } else {
            0
        };
        self.due = una..una + 1 + repeats;
        state.report.timeouts += 1;
    }

    /// The next packet that is to be sent again.
    pub fn resend(&mut self, state: &mut SenderState, now: Time) -> Option<Segment> {
        while let Some(number) = self.due.next() {
            let is_oldest = number == state.sent.una();
            if !is_oldest && state.sent.get(number).is_none_or(|p| state.knows(p)) {
                continue;
            }
            if let Some(p) = state.sent.get_mut(number).filter(|_| state.cfg.sample_last) {
                p.first_sent = now;
            }
            let segment = state.again(number)?;
            if is_oldest {
                self.restart(state, now);
            }
            return Some(segment);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::SourceKind;
    use super::super::generic::Generic;
    use super::super::params::GENERIC;
    use super::super::sender::FlowControl;
    use super::*;
    use crate::endpoint::{Amount, Transmit};
    use std::sync::Arc;
    use tailback_base::Settings;

    /// A generic source that has sent its window of 4 at 0 s. The timeout is 6 s, twice the first estimate.
    fn source(timer: &str) -> (Generic, SenderState) {
        let s = Settings::defaults(&GENERIC).with("wmax", "4").with("timer", timer);
        let cfg = Config::resolve(&s, SourceKind::Generic).expect("good parameters");
        let mut generic = Generic::new(&cfg, Duration::from_seconds(0.1));
        let mut state = SenderState::new(Arc::new(cfg));
        state.backlog.write(Amount::Unlimited);
        assert_eq!(sends(&mut generic, &mut state, 0.0), [0, 1, 2, 3]);
        (generic, state)
    }

    fn sends(generic: &mut Generic, state: &mut SenderState, at: f64) -> Vec<u64> {
        let now = Time::from_seconds(at);
        std::iter::from_fn(|| match generic.next(state, now) {
            Transmit::Segment(s) => Some(s.seq),
            _ => None,
        })
        .collect()
    }

    /// Let the timer expire. Returns the time of the expiry and the packets that are sent.
    fn expire(generic: &mut Generic, state: &mut SenderState) -> (f64, Vec<u64>) {
        let deadline = generic.deadline();
        generic.on_timer(state, deadline);
        (deadline.seconds(), sends(generic, state, deadline.seconds()))
    }

    fn acknowledged(generic: &mut Generic, state: &mut SenderState, to: u64, at: f64) {
        let mover = state.sent.get(to - 1).copied();
        state.sent.advance(to);
        let ack = AckSeen {
            advances: true,
            duplicate: false,
            bit: false,
            answered: to - 1,
            mover,
            first_answer: None,
        };
        generic.on_ack(&ack, state, Time::from_seconds(at));
    }

    /// A whole window is lost. With a timer for each packet, all packets are sent again at 6 s. With one timer, only
    /// the oldest packet is sent again at 6 s, and once more 12 s later. The next packet follows a whole timeout after
    /// the oldest has arrived.
    #[test]
    fn one_timer_repairs_one_loss_a_timeout() {
        let (mut each, mut state) = source("packet");
        assert_eq!(expire(&mut each, &mut state), (6.0, vec![0, 1, 2, 3]));
        let (mut all, mut state) = source("restart-all");
        assert_eq!(expire(&mut all, &mut state), (6.0, vec![0, 1, 2, 3]));
        let (mut timer, mut state) = source("restart");
        assert_eq!(expire(&mut timer, &mut state), (6.0, vec![0]));
        assert_eq!(expire(&mut timer, &mut state), (18.0, vec![0]));
        // The sample is measured from the first transmission. The estimate is 3 + (20 - 3) / 8 s. The timer expires at
        // 20 s plus twice this estimate.
        acknowledged(&mut timer, &mut state, 1, 20.0);
        assert_eq!(sends(&mut timer, &mut state, 20.0), [4]);
        assert_eq!(expire(&mut timer, &mut state), (30.25, vec![1]));
    }

    /// Packets sent after the timer started are not repeated with the others.
    #[test]
    fn an_expiry_repeats_what_is_older_than_the_timer() {
        let (mut all, mut state) = source("restart-all");
        acknowledged(&mut all, &mut state, 1, 3.0);
        assert_eq!(sends(&mut all, &mut state, 4.0), [4]);
        assert_eq!(expire(&mut all, &mut state), (9.0, vec![1, 2, 3]));
    }

    /// An acknowledgement of new data restarts the timer, an acknowledgement of everything stops it, and a new packet
    /// starts it.
    #[test]
    fn the_timer_runs_while_something_is_outstanding() {
        let (mut timer, mut state) = source("restart");
        acknowledged(&mut timer, &mut state, 2, 3.0);
        assert_eq!(timer.deadline(), Time::from_seconds(9.0));
        acknowledged(&mut timer, &mut state, 4, 3.0);
        assert_eq!(timer.deadline(), Time::NEVER);
        assert_eq!(sends(&mut timer, &mut state, 4.0), [4, 5, 6, 7]);
        assert_eq!(timer.deadline(), Time::from_seconds(10.0));
    }
}
