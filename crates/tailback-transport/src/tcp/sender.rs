//! The sending end: it opens the connection, sends what the window and recovery allow, and reports upwards.
//!
//! ```text
//!             write            SYN+ACK                 closed and all acknowledged
//!    Idle ------------> Syn ------------> Open ----------------------------------> Closed
//!      \                 ^ \ timer                                                  ^
//!       \                 \_/  ----------- too many SYNs --------------------------/
//!        `---- write, `syn` off -------> Open
//! ```
//!
//! The sender is three parts: [`ControlBlock`] (sequence space, timer, ECN window), [`Recovery`] (what is lost, what goes next)
//! and the congestion controller inside the block (how much). This file is the connection around them and the
//! [`Endpoint`] contract. A data segment with its ACK costs a few hundred instructions and allocates nothing while
//! nothing is lost.
//!
//! What limits the sender (network, window cap, application) is noted when it changes, at the end of a burst.

use super::config::{Config, EcnMode};
use super::params::PROBES;
use super::recovery::{Duplicate, LossRecovery, Recovery};
use super::state::{ControlBlock, FIRST};
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, SenderReport, Transmit};
use crate::segment::{Flags, Segment};
use std::sync::Arc;
use tailback_base::{Duration, ProbeDef, Time};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing was written yet.
    Idle,
    /// A SYN is out, or due.
    Syn {
        tries: u32,
        due: bool,
    },
    Open,
    Closed,
}

/// What holds the sender back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    NotStarted,
    Network,
    WindowCap,
    Application,
}

/// The sending end of a one-way connection.
pub struct Sender {
    block: ControlBlock,
    recovery: Recovery,
    state: State,
    limit: Limit,
    limit_since: Time,
    /// Events the application must hear although no segment arrived: wake up at once.
    wake: Option<Time>,
    connected_told: bool,
    /// Everything up to here was reported as acknowledged.
    told: Option<u64>,
    closing: bool,
    /// The pacer lets the next segment go then.
    pace_at: Time,
    /// ACKs that acknowledge what was never sent, or less than before.
    ignored: u64,
}

impl Sender {
    pub fn new(cfg: Arc<Config>) -> Sender {
        Sender {
            recovery: Recovery::new(&cfg),
            block: ControlBlock::new(cfg),
            state: State::Idle,
            limit: Limit::NotStarted,
            limit_since: Time::ZERO,
            wake: None,
            connected_told: false,
            told: None,
            closing: false,
            pace_at: Time::ZERO,
            ignored: 0,
        }
    }

    /// Where the ticks of this sender's clock lie, see `clock_phase`.
    #[must_use]
    pub fn with_clock_phase(mut self, phase: Duration) -> Sender {
        self.block.rto.set_phase(phase);
        self
    }

    /// Congestion window, bytes, without fast-recovery inflation.
    pub fn cwnd(&self) -> f64 {
        self.block.cc.cwnd()
    }

    /// Slow-start threshold, bytes.
    pub fn ssthresh(&self) -> f64 {
        self.block.cc.ssthresh()
    }

    /// Outstanding, bytes.
    pub fn outstanding(&self) -> u64 {
        self.block.max_sent - self.block.una
    }

    /// ACKs ignored because they fit nothing (edge case 1).
    pub fn ignored_acks(&self) -> u64 {
        self.ignored
    }

    /// Whether fast recovery is going on.
    pub fn in_recovery(&self) -> bool {
        self.recovery.in_recovery()
    }

    fn open(&mut self, now: Time) {
        if self.state == State::Idle {
            self.limit_since = now;
            if self.block.cfg.syn {
                self.state = State::Syn { tries: 0, due: true };
            } else {
                self.state = State::Open;
                self.wake = Some(now);
            }
        }
    }

    fn all_acknowledged(&self) -> bool {
        self.block.una >= self.block.end
    }

    /// Tell the application what has come about.
    fn report_up(&mut self, now: Time, up: &mut dyn AppEvents) {
        self.wake = None;
        if self.state != State::Open {
            return;
        }
        if !self.connected_told {
            self.connected_told = true;
            up.event(AppEvent::Connected);
        }
        if self.all_acknowledged() {
            if self.told != Some(self.block.end) {
                self.told = Some(self.block.end);
                self.block.empty_since = now;
                up.event(AppEvent::AllAcknowledged);
            }
            if self.closing {
                self.finish(up);
            }
        }
    }

    fn finish(&mut self, up: &mut dyn AppEvents) {
        self.state = State::Closed;
        self.block.deadline = Time::NEVER;
        up.event(AppEvent::Closed);
    }

    /// The SYN's answer.
    fn on_syn_ack(&mut self, s: &Segment, now: Time) {
        let State::Syn { tries, .. } = self.state else { return };
        if !s.flags.has(Flags::ACK) || s.ack != FIRST || self.block.max_sent != FIRST {
            self.ignored += 1;
            return;
        }
        // RFC 3168 section 6.1.1: ECN is agreed on by a SYN-ACK with ECE and without CWR.
        let ecn_setup = s.flags.has(Flags::ECE) && !s.flags.has(Flags::CWR);
        self.block.ecn = self.block.cfg.ecn != EcnMode::Off && ecn_setup;
        let echoed = self.take_timestamps(s);
        self.block.advance(FIRST, echoed, false, now);
        self.block.established(tries > 1);
        self.block.after_timeout = false;
        self.block.timer_after_ack(now);
        self.block.refresh();
        self.state = State::Open;
    }

    /// Remember the other side's time stamp; the echo of ours, if any.
    fn take_timestamps(&mut self, s: &Segment) -> Option<Time> {
        let (value, echo) = s.timestamps.filter(|_| self.block.cfg.timestamps)?;
        self.block.ts_echo = value;
        Some(echo)
    }

    fn on_ack(&mut self, s: &Segment, now: Time) {
        let c = &mut self.block;
        if s.ack > c.max_sent || s.ack < c.una || (s.ack == c.una && s.ack == c.max_sent) {
            self.ignored += u64::from(s.ack != c.una);
            return;
        }
        let echo = c.ecn && s.flags.has(Flags::ECE);
        if echo && !self.recovery.in_recovery() {
            c.on_echo(s.ack, now);
        }
        if s.ack > c.una {
            let echoed = self.take_timestamps(s);
            let c = &mut self.block;
            let a = c.advance(s.ack, echoed, echo, now);
            self.recovery.on_ack(c, &a, &s.sack);
            if c.una >= c.recover {
                c.after_timeout = false;
            }
        } else {
            let classic = s.payload == 0 && !s.flags.has(Flags::SYN);
            self.recovery.on_duplicate(
                c,
                &Duplicate {
                    now,
                    sack: &s.sack,
                    classic,
                },
            );
        }
        self.allow_burst();
    }

    /// A new event: so many segments may answer it.
    fn allow_burst(&mut self) {
        self.block.refresh();
        let cfg = &self.block.cfg;
        self.block.burst = if self.recovery.in_recovery() {
            cfg.recovery_burst.min(cfg.max_burst)
        } else {
            cfg.max_burst
        };
    }

    fn on_expiry(&mut self, now: Time, up: &mut dyn AppEvents) {
        match self.state {
            State::Syn { tries, .. } => {
                let retries = self.block.cfg.syn_retries;
                if retries > 0 && tries > retries {
                    self.finish(up);
                    return;
                }
                self.block.rto.back_off(&self.block.cfg);
                if self.block.cfg.syn_loss_lowers_ssthresh {
                    self.block.syn_lost(now);
                }
                self.block.report.timeouts += 1;
                self.block.deadline = Time::NEVER;
                self.state = State::Syn { tries, due: true };
            }
            State::Open => {
                self.block.held = false;
                if self.block.una < self.block.max_sent {
                    self.recovery.on_timeout(&mut self.block, now);
                } else {
                    self.block.deadline = Time::NEVER;
                }
                self.allow_burst();
            }
            State::Idle | State::Closed => self.block.deadline = Time::NEVER,
        }
    }

    /// What holds the sender back, now that it sends no more.
    fn note_limit(&mut self, now: Time) {
        let c = &self.block;
        let limit = if self.state != State::Open {
            Limit::Network
        } else if c.nxt >= c.end {
            Limit::Application
        } else if c.capped {
            Limit::WindowCap
        } else {
            Limit::Network
        };
        if limit == Limit::Application
            && let Some(rate) = &mut self.block.rate
        {
            rate.application_limited(self.block.nxt - self.block.una);
        }
        if limit != self.limit {
            let since = self.limit_since;
            charge(&mut self.block.report, self.limit, now.since(since));
            self.limit_since = now;
            self.limit = limit;
        }
    }
}

fn charge(r: &mut SenderReport, limit: Limit, time: Duration) {
    match limit {
        Limit::NotStarted => {}
        Limit::Network => r.limited_by_network += time,
        Limit::WindowCap => r.limited_by_window_cap += time,
        Limit::Application => r.limited_by_application += time,
    }
}

impl Endpoint for Sender {
    fn write(&mut self, n: Amount, now: Time) {
        if self.closing || self.state == State::Closed {
            return;
        }
        self.block.end = match n {
            Amount::Bytes(n) => self.block.end.saturating_add(n),
            Amount::Unlimited => u64::MAX,
        };
        self.open(now);
        self.allow_burst();
    }

    fn close(&mut self, now: Time) {
        self.closing = true;
        if self.block.end == u64::MAX {
            // Data without end stop here; what is outstanding is still recovered.
            self.block.end = self.block.max_sent.max(FIRST);
        }
        match self.state {
            State::Idle => self.state = State::Closed,
            State::Open if self.all_acknowledged() => self.wake = Some(now),
            _ => {}
        }
    }

    fn abort(&mut self, now: Time) {
        self.block.end = self.block.max_sent.max(FIRST);
        self.close(now);
    }

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        match self.state {
            State::Idle | State::Closed => return,
            State::Syn { .. } => {
                if s.flags.has(Flags::SYN) {
                    self.on_syn_ack(s, now);
                }
            }
            State::Open => {
                // A SYN-ACK again answers a repeated SYN and says nothing new.
                if s.flags.has(Flags::ACK) && !s.flags.has(Flags::SYN) {
                    self.on_ack(s, now);
                }
            }
        }
        if self.all_acknowledged() || !self.connected_told {
            self.report_up(now, up);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        match self.state {
            State::Open => {}
            State::Syn { tries, due: true } => {
                self.state = State::Syn {
                    tries: tries + 1,
                    due: false,
                };
                self.note_limit(now);
                return Transmit::Segment(self.block.syn(now));
            }
            _ => return Transmit::Idle,
        }
        let c = &mut self.block;
        if c.held {
            return Transmit::Idle;
        }
        if c.nxt == c.una && c.una == c.max_sent && c.nxt < c.end {
            c.after_idle(now);
        }
        if now < self.pace_at {
            return Transmit::NotBefore(self.pace_at);
        }
        let Some(piece) = self.recovery.next(c) else {
            self.note_limit(now);
            return Transmit::Idle;
        };
        let s = c.emit(piece, now);
        if c.pace < f64::INFINITY {
            self.pace_at = now + Duration::from_seconds(f64::from(s.bytes) / c.pace.max(1.0));
        }
        if self.limit == Limit::NotStarted {
            self.note_limit(now);
        }
        Transmit::Segment(s)
    }

    fn next_timeout(&self) -> Option<Time> {
        let t = self.wake.map_or(self.block.deadline, |w| w.min(self.block.deadline));
        (t != Time::NEVER).then_some(t)
    }

    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        if self.wake.is_some_and(|w| now >= w) {
            self.report_up(now, up);
        }
        if now >= self.block.deadline {
            self.on_expiry(now, up);
        }
    }

    fn srtt(&self) -> Option<Duration> {
        self.block.rto.srtt()
    }

    fn report(&self, now: Time) -> SenderReport {
        let mut r = self.block.report;
        charge(&mut r, self.limit, now.since(self.limit_since));
        r
    }

    fn probes(&self) -> &'static [ProbeDef] {
        PROBES
    }

    fn read(&self, probe: usize) -> f64 {
        let (c, segment) = (&self.block, self.block.cfg.segment());
        match probe {
            // While the SYN is out it is all that may be.
            0 if matches!(self.state, State::Idle | State::Syn { .. }) => 1.0,
            0 => c.cc.cwnd() / segment,
            1 => c.cc.ssthresh() / segment,
            2 => c.rto.srtt().map_or(f64::NAN, Duration::seconds),
            3 => c.rto.rttvar(&c.cfg),
            4 => c.rto.timeout(&c.cfg).seconds(),
            5 => f64::from(c.rto.backoff()),
            6 => self.outstanding() as f64,
            7 => f64::from(c.dup),
            8 if self.recovery.in_recovery() => 1.0,
            8 => f64::from(u8::from(c.after_timeout)) * 2.0,
            _ => f64::NAN,
        }
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::super::congestion::{Acked, Congested, CongestionControl, RateSample};
    use super::*;
    use crate::segment::SackBlocks;
    use crate::tcp::testing::config;
    use std::sync::Mutex;
    use tailback_base::Ecn;

    /// What a model-based controller does: paces at a rate of its own and looks at samples.
    struct Paced(Arc<Mutex<Vec<RateSample>>>);

    impl CongestionControl for Paced {
        fn cwnd(&self) -> f64 {
            20_000.0
        }
        fn ssthresh(&self) -> f64 {
            f64::INFINITY
        }
        fn set_cwnd(&mut self, _: f64) {}
        fn ack(&mut self, _: &Acked) {}
        fn loss(&mut self, _: &Congested) {}
        fn ecn(&mut self, _: &Congested) {}
        fn timeout(&mut self, _: &Congested) {}
        fn wants_rate(&self) -> bool {
            true
        }
        fn rate(&mut self, s: &RateSample) {
            self.0.lock().unwrap().push(*s);
        }
        fn pacing_rate(&self) -> Option<f64> {
            Some(1_000_000.0)
        }
    }

    /// A controller of another kind needs nothing but its own file: pacing holds segments apart, samples arrive.
    #[test]
    fn a_controller_may_pace_and_see_rates() {
        let cfg = config(&[("payload", "960B"), ("syn", "false"), ("timestamps", "false")]);
        let mut s = Sender::new(Arc::new(cfg));
        let samples = Arc::new(Mutex::new(Vec::new()));
        s.block.adopt(Box::new(Paced(samples.clone())));
        s.write(Amount::Unlimited, Time::ZERO);
        let (mut now, mut acks) = (Time::ZERO, Vec::new());
        for _ in 0..50 {
            match s.poll_transmit(now) {
                Transmit::Segment(d) => acks.push((now + Duration::from_millis(10), d.end())),
                Transmit::NotBefore(t) => {
                    // 1000 B at 1 MB/s.
                    assert_eq!(t, now + Duration::from_millis(1));
                    now = t;
                }
                Transmit::Idle => panic!("the window is wide enough"),
            }
            if let Some((t, ack)) = acks.first().copied().filter(|(t, _)| *t <= now) {
                acks.remove(0);
                let flags = Flags::ACK;
                let (sack, timestamps) = (SackBlocks::new(), None);
                s.on_segment(
                    &Segment {
                        seq: 1,
                        payload: 0,
                        ack,
                        flags,
                        ecn: Ecn::NotEct,
                        bytes: 40,
                        sack,
                        timestamps,
                        window: None,
                    },
                    t,
                    &mut (),
                );
            }
        }
        let last = *samples.lock().unwrap().last().unwrap();
        let rate = last.delivered as f64 / last.interval.seconds();
        assert!((rate - 960_000.0).abs() < 1.0, "{rate} payload bytes a second");
        assert_eq!(last.rtt, Some(Duration::from_millis(10)));
    }
}
