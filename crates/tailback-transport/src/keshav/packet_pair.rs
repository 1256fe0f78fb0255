//! The packet-pair source with the control-theoretic rate law (PP_CTH).
//!
//! The source is Keshav's thesis, chapter 6, and his papers of 1991 and 1994. All data is sent in pairs of packets,
//! back to back. If a Fair Queueing switch is the bottleneck, it sends the two packets one round of service apart. The
//! gap between their acknowledgements is then the inverse of the rate that this conversation gets. The source estimates
//! this gap ([`super::fuzzy`]). It paces its pairs so that the queue of the bottleneck has `setpoint` packets of this
//! source after about one round trip:
//!
//! ```text
//! mu  = 1 / G                               rate of service, packets/s
//! n   = max(0, S - mu P)                    packets believed to wait at the bottleneck
//! lam = mu + (setpoint - n) / T             held between 1/T and the rate of the host's own line
//! next pair 2 / lam after this one
//! ```
//!
//! S is the number of packets sent and not known to have arrived. P is the round trip of the very first packet and
//! never changes. T is the round trip of the first packet of this pair. In addition at most `wmax` packets may be
//! outstanding. A source blocked by this limit sends at once when an acknowledgement makes room. If there is room for
//! only one packet, the first of a pair is sent and the second waits. A blocked source then always has `wmax` packets
//! outstanding, and the gaps between its packets are those between its acknowledgements. These gaps show the rate of
//! service as long as some packets of the source wait at the bottleneck. With `limit = "pair"` both packets are sent
//! together or not at all. The published delays fit the rule without `limit = "pair"`, see
//! `docs/decisions/packet-pair-window.md`. With `queue_est = "rtt"`, n is mu (T - P).
//!
//! A gap is discarded if either packet was sent again, if the acknowledgements came out of order, or if one of them did
//! not move the next packet expected. Each packet has a timer that detects its loss ([`super::timers`]). A lost packet
//! takes the next slot of the pacer, before new data. It is sent as a single packet and not as a probe. A loss changes
//! neither estimate nor window.
//!
//! The sources leave some points open, and the choices are ours (see `docs/decisions/keshav-sources.md`). After
//! `silence` round trips without a gap the rate is 1/T until there is a gap. If only one packet waits, it is sent alone
//! and takes half a slot. While the first pair is outstanding, nothing else is sent. If the first pair yields no gap,
//! another first pair follows.
//!
//! In the published table of scenario 1, the source whose first probe was not delayed has the longer delay. With this
//! law the other source has the longer delay, because an overestimate of P makes n too small and the queue longer.
//!
//! The state is the estimator, P, T, the rate and the last slot. An acknowledgement costs some fifty operations.

use super::config::{Config, PacketPairConfig};
use super::fuzzy::GapEstimator;
use super::outstanding::Role;
use super::params::PACKET_PAIR_PROBES;
use super::sender::FlowControl;
use super::state::{AckSeen, SenderState};
use super::timers::PacketTimers;
use crate::endpoint::Transmit;
use crate::path::Path;
use tailback_base::{Duration, ProbeDef, Time};

/// The first packet of a pair was acknowledged.
#[derive(Clone, Copy)]
struct Half {
    number: u64,
    at: Time,
    /// The round trip of this first packet, seconds.
    rtt: f64,
}

pub struct PacketPair {
    own: PacketPairConfig,
    wmax: u32,
    timers: PacketTimers,
    /// `None` before the first gap.
    estimate: Option<GapEstimator>,
    /// The number of the second packet of the first pair, while this pair is outstanding.
    first_pair: Option<u64>,
    half: Option<Half>,
    /// The second packet of a pair waits. It is sent as soon as the window has room.
    second: bool,
    /// P and T, seconds.
    propagation: f64,
    round_trip: f64,
    probed: Time,
    controlled: Time,
    /// Packets/s.
    rate: f64,
    /// The last slot, and the number of packets sent in it.
    slot: Time,
    slot_packets: f64,
    /// A slot came, but the window did not allow a packet.
    blocked: bool,
    /// The last gap, seconds, and the queue estimated from it, packets.
    gap: f64,
    queue: f64,
    /// The least gap that the path can show, seconds, and the rate of the host's line, packets/s.
    least_gap: f64,
    line_rate: f64,
}

impl PacketPair {
    pub fn new(cfg: &Config, own: &PacketPairConfig, path: &Path, base: Duration) -> PacketPair {
        let bits = f64::from(cfg.packet + cfg.header) * 8.0;
        PacketPair {
            own: *own,
            wmax: cfg.wmax,
            timers: PacketTimers::new(cfg, base),
            estimate: None,
            first_pair: None,
            half: None,
            second: false,
            propagation: f64::NAN,
            round_trip: f64::NAN,
            probed: Time::ZERO,
            controlled: Time::ZERO,
            rate: f64::NAN,
            slot: Time::ZERO,
            slot_packets: 0.0,
            blocked: false,
            gap: f64::NAN,
            queue: f64::NAN,
            // A gap of 0 s would mean an infinite rate.
            least_gap: (bits / path.fastest_line()).max(1e-9),
            line_rate: path.first_line() / bits,
        }
    }

    /// The two acknowledgements of a pair arrived `gap` seconds apart. The round trip of the first packet was `rtt`
    /// seconds.
    fn probe(&mut self, gap: f64, rtt: f64, state: &SenderState, now: Time) {
        self.gap = gap.max(self.least_gap);
        self.round_trip = rtt;
        self.probed = now;
        let started = self.estimate.is_some();
        let gap = self.gap;
        let estimate = self
            .estimate
            .get_or_insert_with(|| GapEstimator::new(self.own.alpha, self.own.filter, gap));
        if started {
            estimate.update(gap);
            let wait = self.own.control_round_trips * self.round_trip;
            if now.since(self.controlled).seconds() < wait {
                return;
            }
        } else {
            self.propagation = rtt;
        }
        self.controlled = now;
        let mu = 1.0 / estimate.gap();
        let in_path = state.in_network() as f64;
        let queue = if self.own.queue_from_rtt {
            mu * (self.round_trip - self.propagation)
        } else {
            in_path - mu * self.propagation
        };
        self.queue = queue.max(0.0);
        let rate = mu + (self.own.setpoint - self.queue) / self.round_trip;
        self.rate = rate.min(self.line_rate).max(1.0 / self.round_trip);
    }

    /// The present rate, packets/s.
    fn rate_at(&self, now: Time) -> f64 {
        if now.since(self.probed).seconds() > self.own.silence * self.round_trip {
            1.0 / self.round_trip
        } else {
            self.rate
        }
    }

    /// When the next slot comes.
    fn next_slot(&self, now: Time) -> Time {
        self.slot + Duration::from_seconds(self.slot_packets / self.rate_at(now))
    }

    fn use_slot(&mut self, packets: f64, now: Time) {
        (self.slot, self.slot_packets, self.blocked) = (now, packets, false);
    }

    fn send(&mut self, role: Role, state: &mut SenderState, now: Time) -> Transmit {
        let sequence = state.sent.end();
        match state.fresh(role, now) {
            Some(s) => {
                self.timers.start(sequence, state, now);
                Transmit::Segment(s)
            }
            None => Transmit::Idle,
        }
    }

    /// Whether the window has room for this many packets more. If not, the source waits for an acknowledgement.
    fn fits(&mut self, packets: usize, state: &SenderState) -> bool {
        self.blocked = state.in_network() + packets > self.wmax as usize;
        !self.blocked
    }

    /// Send a pair, or a single packet if only one waits; `None` if the window has no room.
    fn send_new(&mut self, state: &mut SenderState, now: Time) -> Transmit {
        let packets = 1 + usize::from(state.backlog.has_two(state.cfg.packet));
        if !self.fits(if self.own.whole_pairs { packets } else { 1 }, state) {
            return Transmit::Idle;
        }
        self.use_slot(packets as f64, now);
        if packets == 1 {
            return self.send(Role::Single, state, now);
        }
        self.second = true;
        if self.estimate.is_none() {
            self.first_pair = Some(state.sent.end() + 1);
        }
        self.send(Role::First, state, now)
    }
}

impl FlowControl for PacketPair {
    const PROBES: &'static [ProbeDef] = PACKET_PAIR_PROBES;

    fn on_ack(&mut self, a: &AckSeen, state: &mut SenderState, now: Time) {
        self.timers.on_ack(a, state, now);
        let una = state.sent.una();
        if let Some(p) = a.mover
            && !p.again
            && una == a.answered + 1
        {
            let rtt = now.since(p.first_sent).seconds();
            match (p.role, self.half.take()) {
                (Role::First, _) => {
                    self.half = Some(Half {
                        number: a.answered,
                        at: now,
                        rtt,
                    });
                }
                (Role::Second, Some(h)) if h.number + 1 == a.answered => {
                    let starting = self.estimate.is_none();
                    self.probe(now.since(h.at).seconds(), h.rtt, state, now);
                    if starting {
                        // The pacer starts at once.
                        (self.first_pair, self.slot_packets) = (None, 0.0);
                    }
                }
                _ => {}
            }
        } else {
            self.half = None;
        }
        if self.first_pair.is_some_and(|second| second < una) {
            self.first_pair = None;
        }
    }

    fn next(&mut self, state: &mut SenderState, now: Time) -> Transmit {
        if self.second && self.fits(1, state) {
            self.second = false;
            return self.send(Role::Second, state, now);
        }
        if self.estimate.is_none() {
            if let Some(s) = self.timers.resend(state, now) {
                return Transmit::Segment(s);
            }
            if self.first_pair.is_some() || state.backlog.is_empty() {
                return Transmit::Idle;
            }
            return self.send_new(state, now);
        }
        let resend = self.timers.has_due();
        let nothing_new = self.second || state.backlog.is_empty();
        if !resend && nothing_new {
            return Transmit::Idle;
        }
        let slot = self.next_slot(now);
        if now < slot && !self.blocked {
            return Transmit::NotBefore(slot);
        }
        if resend && let Some(s) = self.timers.resend(state, now) {
            self.use_slot(1.0, now);
            return Transmit::Segment(s);
        }
        if nothing_new {
            return Transmit::Idle;
        }
        self.send_new(state, now)
    }

    fn deadline(&self) -> Time {
        self.timers.earliest()
    }

    fn on_timer(&mut self, state: &mut SenderState, now: Time) {
        self.timers.expire(state, now);
    }

    fn window(&self) -> f64 {
        // The rate limits the source unless the window does.
        if self.blocked { f64::from(self.wmax) } else { 0.0 }
    }

    fn round_trip(&self) -> Duration {
        Duration::from_seconds(self.timers.rtt())
    }

    fn read(&self, state: &SenderState, probe: &str) -> f64 {
        let estimate = self.estimate.as_ref();
        match probe {
            "win" => f64::from(self.wmax),
            "rtt" => self.timers.rtt(),
            "rto" => self.timers.estimate().timeout(&state.cfg),
            "outstanding" => state.in_network() as f64,
            "probe_gap" => self.gap,
            "service_gap" => estimate.map_or(f64::NAN, GapEstimator::gap),
            "send_gap" => 1.0 / self.rate,
            "alpha" => estimate.map_or(f64::NAN, GapEstimator::alpha),
            "queue_est" => self.queue,
            _ => f64::NAN,
        }
    }
}
