//! A retransmission timer for each packet, with one estimate of the round trip.
//!
//! The source is Keshav's thesis, chapter 6. The timeout is `beta` times a smoothed round trip. Samples are also taken
//! from retransmitted packets, from their first transmission (see `sample`). Repeated expiry backs off. We conclude
//! that each packet has a timer, and not only the oldest. If a burst of losses were repaired at one packet per timeout,
//! a source would stop for minutes, and the published throughputs would not be possible.
//!
//! The thesis leaves some points open, and the choices are ours (see `docs/decisions/keshav-sources.md`). The first
//! estimate is max(`rtt0`, `rtt0_path` x the round trip of the empty path). A timeout is at least `rto_min`. With
//! backoff it is at most `rto_max` or `rto_max_factor` x the first timeout, whichever is larger. An acknowledgement
//! that advances ends all backoff, but does not change running timers.
//!
//! The state is the estimate, the running timers ordered by expiry, the numbers of the packets that wait to be sent
//! again, and the earliest time at which any timer may expire. An acknowledgement does not change this earliest time,
//! so it costs nothing here. The timer of a packet that arrived is removed when the timer expires, or when most of the
//! kept timers are of this kind. Starting a timer, or finding an expired one, costs the logarithm of the number of
//! timers. A window of n lost packets therefore costs n log n.

use super::config::Config;
use super::state::{AckSeen, SenderState};
use crate::segment::Segment;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use tailback_base::work::{counted, done_if_long};
use tailback_base::{Duration, Time};

/// The timers of packets that arrived are kept until they outnumber the other timers by more than this.
const KEPT: usize = 64;

/// The estimate of the round trip, and the timeout that follows from it.
pub struct PathEstimate {
    /// Smoothed round trip, seconds.
    rtt: f64,
    /// No timeout is longer than this, seconds.
    longest: f64,
}

impl PathEstimate {
    /// `base` is the round trip of the empty path.
    pub fn new(cfg: &Config, base: Duration) -> PathEstimate {
        let rtt = cfg.first_estimate(base);
        PathEstimate {
            rtt,
            longest: cfg.longest_timeout(cfg.beta * rtt),
        }
    }

    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// The timeout without backoff, seconds.
    pub fn timeout(&self, cfg: &Config) -> f64 {
        (cfg.beta * self.rtt).max(cfg.rto_min).min(self.longest)
    }

    /// When a timer that is started now expires, with this backoff.
    pub fn deadline(&self, backoff: f64, cfg: &Config, now: Time) -> Time {
        cfg.on_tick(now + Duration::from_seconds((self.timeout(cfg) * backoff).min(self.longest)))
    }

    /// Take the round trip of the packet that an acknowledgement answers.
    pub fn learn(&mut self, a: &AckSeen, cfg: &Config, now: Time) {
        if let Some(p) = a.mover {
            let m = cfg.ticks(p.first_sent, now);
            self.rtt += cfg.gain * (m - self.rtt);
        }
    }
}

pub struct PacketTimers {
    estimate: PathEstimate,
    earliest: Time,
    /// The time at which the timer of a packet expires, and the number of the packet. The timer counts only while the
    /// packet has this deadline.
    running: BinaryHeap<Reverse<(Time, u64)>>,
    /// The packets that are backed off.
    backed_off: Vec<u64>,
    /// Packets whose timer expired and that have not been sent again yet.
    due: BTreeSet<u64>,
}

impl PacketTimers {
    /// `base` is the round trip of the empty path.
    pub fn new(cfg: &Config, base: Duration) -> PacketTimers {
        PacketTimers {
            estimate: PathEstimate::new(cfg, base),
            earliest: Time::NEVER,
            running: BinaryHeap::new(),
            backed_off: vec![],
            due: BTreeSet::new(),
        }
    }

    pub fn estimate(&self) -> &PathEstimate {
        &self.estimate
    }

    pub fn rtt(&self) -> f64 {
        self.estimate.rtt()
    }

    pub fn earliest(&self) -> Time {
        self.earliest
    }

    pub fn on_ack(&mut self, a: &AckSeen, state: &mut SenderState, now: Time) {
        if !a.advances {
            return;
        }
        self.estimate.learn(a, &state.cfg, now);
        for number in counted(self.backed_off.drain(..)) {
            if let Some(p) = state.sent.get_mut(number) {
                p.backoff = 1.0;
            }
        }
        // Some packets that waited to be sent again are acknowledged now.
        while self.due.first().is_some_and(|n| *n < state.sent.una()) {
            self.due.pop_first();
        }
    }

    /// Packet `number` is sent now.
    pub fn start(&mut self, number: u64, state: &mut SenderState, now: Time) {
        let SenderState { cfg, sent, .. } = state;
        if let Some(p) = sent.get_mut(number) {
            if cfg.sample_last {
                p.first_sent = now;
            }
            p.deadline = self.estimate.deadline(p.backoff, cfg, now);
            self.earliest = self.earliest.min(p.deadline);
            self.running.push(Reverse((p.deadline, number)));
        }
        if self.running.len() > 2 * sent.len() + KEPT {
            done_if_long(4 * self.running.len());
            self.running
                .retain(|Reverse((at, number))| sent.get(*number).is_some_and(|p| p.deadline == *at));
        }
    }

    /// Find the packets whose timer has expired. Returns whether there are any.
    pub fn expire(&mut self, state: &mut SenderState, now: Time) -> bool {
        let SenderState { cfg, sent, report, .. } = state;
        let mut expired = 0;
        self.earliest = Time::NEVER;
        while let Some(&Reverse((due, number))) = self.running.peek() {
            let packet = sent
                .get_mut(number)
                .filter(|p| p.deadline == due && !(cfg.use_echo && p.heard));
            if due > now && packet.is_some() {
                self.earliest = due;
                break;
            }
            self.running.pop();
            if let Some(p) = packet {
                p.deadline = Time::NEVER;
                if p.backoff == 1.0 && cfg.backoff != 1.0 {
                    self.backed_off.push(number);
                }
                p.backoff *= cfg.backoff;
                self.due.insert(number);
                expired += 1;
            }
        }
        done_if_long(32 * expired as usize);
        report.timeouts += expired;
        expired > 0
    }

    /// The oldest packet to be sent again.
    pub fn resend(&mut self, state: &mut SenderState, now: Time) -> Option<Segment> {
        while let Some(number) = self.due.pop_first() {
            if state.sent.get(number).is_some_and(|p| !state.knows(p)) {
                let s = state.again(number);
                self.start(number, state, now);
                return s;
            }
        }
        None
    }

    /// Whether something is to be sent again.
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::SourceKind;
    use super::super::outstanding::Role;
    use super::super::params::GENERIC;
    use super::*;
    use crate::endpoint::Amount;
    use std::sync::Arc;
    use tailback_base::Settings;

    const PACKETS: u64 = 3000;

    /// A source that sent its packets `apart` seconds after each other. All timers run.
    fn sent(apart: f64) -> (PacketTimers, SenderState) {
        let cfg = Config::resolve(&Settings::defaults(&GENERIC), SourceKind::Generic).expect("good parameters");
        let mut timers = PacketTimers::new(&cfg, Duration::from_seconds(0.1));
        let mut state = SenderState::new(Arc::new(cfg));
        state.backlog.write(Amount::Unlimited);
        for number in 0..PACKETS {
            let now = Time::from_seconds(apart * number as f64);
            state.fresh(Role::Single, now).expect("a packet");
            timers.start(number, &mut state, now);
        }
        state.sent.looked_at = 0;
        (timers, state)
    }

    /// Go to the next instant at which timers expire. Returns the packets sent again.
    fn next(timers: &mut PacketTimers, state: &mut SenderState) -> Vec<u64> {
        let now = timers.earliest();
        timers.expire(state, now);
        std::iter::from_fn(|| timers.resend(state, now))
            .map(|s| s.seq)
            .collect()
    }

    /// A source that searched its window for each packet that it sends again would examine 4.5 million records.
    #[test]
    fn a_window_lost_at_once_is_sent_again_with_a_few_looks_a_packet() {
        let (mut timers, mut state) = sent(0.0);
        assert_eq!(next(&mut timers, &mut state), Vec::from_iter(0..PACKETS));
        assert!(state.sent.looked_at <= 6 * PACKETS, "{}", state.sent.looked_at);
    }

    /// Each packet expires separately, and each repeat is acknowledged before the next one expires.
    #[test]
    fn a_window_lost_one_by_one_is_sent_again_with_a_few_looks_a_packet() {
        let (mut timers, mut state) = sent(1e-4);
        for number in 0..PACKETS {
            assert_eq!(next(&mut timers, &mut state), [number]);
            state.sent.advance(number + 1);
            let ack = AckSeen {
                advances: true,
                duplicate: false,
                bit: false,
                answered: number,
                mover: None,
                first_answer: None,
            };
            timers.on_ack(&ack, &mut state, Time::ZERO);
        }
        assert!(state.sent.looked_at <= 8 * PACKETS, "{}", state.sent.looked_at);
        assert!(!timers.has_due());
    }

    /// A packet is lost once, and is acknowledged a second after it was sent again.
    #[test]
    fn a_round_trip_is_measured_from_the_first_or_the_last_transmission() {
        let estimate = |sample: &str| {
            let s = Settings::defaults(&GENERIC).with("sample", sample);
            let cfg = Config::resolve(&s, SourceKind::Generic).expect("good parameters");
            let mut timers = PacketTimers::new(&cfg, Duration::from_seconds(0.1));
            let mut state = SenderState::new(Arc::new(cfg));
            state.backlog.write(Amount::Unlimited);
            state.fresh(Role::Single, Time::ZERO).expect("a packet");
            timers.start(0, &mut state, Time::ZERO);
            let (rtt_before, expired) = (timers.rtt(), timers.earliest());
            timers.expire(&mut state, expired);
            timers.resend(&mut state, expired).expect("the packet again");
            let mover = state.sent.get(0).copied();
            let ack = AckSeen {
                advances: true,
                duplicate: false,
                bit: false,
                answered: 0,
                mover,
                first_answer: None,
            };
            timers.on_ack(&ack, &mut state, expired + Duration::from_seconds(1.0));
            (rtt_before, expired.seconds(), timers.rtt())
        };
        let ((before, expired, first), (_, _, last)) = (estimate("first"), estimate("last"));
        assert!((first - (before + 0.125 * (expired + 1.0 - before))).abs() < 1e-9);
        assert!((last - (before + 0.125 * (1.0 - before))).abs() < 1e-9);
    }

    #[test]
    fn timers_of_packets_that_arrived_are_forgotten() {
        let (mut timers, mut state) = sent(0.0);
        state.sent.advance(PACKETS);
        state.fresh(Role::Single, Time::ZERO).expect("a packet");
        timers.start(PACKETS, &mut state, Time::ZERO);
        assert_eq!(timers.running.len(), 1);
    }
}
