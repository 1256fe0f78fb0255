//! BBRv3's model of the path: rounds, the greatest delivery rate of two cycles, and ACKs that come in bursts (sections
//! 5.5.1 to 5.5.9 of the draft).

use super::Bbr3Form;
use crate::tcp::congestion::greatest::Greatest;
use crate::tcp::congestion::{AckEvent, RateSample, real};
use tailback_base::{Duration, Time};

/// Section 2.11: the rates of this cycle and of the one before count.
const RATE_CYCLES: u64 = 1;
/// Section 2.12, and section 5.5.9 for Startup: the number of rounds. Linux keeps two spans of half as many rounds.
const BURST_ROUNDS: u64 = 10;
const BURST_ROUNDS_AT_START: u64 = 1;

/// An ACK that delivers something. Amounts are bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub now: Time,
    /// Whether a segment gave the sample.
    pub has_data: bool,
    /// The rate in bytes per second; 0 if the interval is too short to be valid.
    pub rate: f64,
    /// Bytes delivered over the interval, and in total when the segment of the sample was sent.
    pub delivered: f64,
    pub delivered_at_send: u64,
    /// Bytes delivered by this ACK, and in total.
    pub newly: f64,
    pub total: u64,
    /// Bytes lost since the segment was sent, including the losses that this ACK showed.
    pub lost: f64,
    pub in_flight_at_send: f64,
    /// The bytes in the network before and after this ACK.
    pub in_flight_before: f64,
    pub in_flight: f64,
    pub rtt: Option<Duration>,
    pub limited: bool,
    /// Bytes counted as marked over the interval.
    pub marked: f64,
    /// The time until the pacer allows the next segment, seconds.
    pub until_next: f64,
}

#[derive(Clone, Debug)]
pub(super) struct PathModel {
    fastest: Greatest,
    cycle: u64,
    /// Whether a rate was taken in this cycle.
    taken: bool,
    /// The least round trip of all.
    least: Duration,
    /// Delivered in all, bytes.
    pub delivered: u64,
    pub round: u64,
    pub round_start: bool,
    /// The round ends with the delivery of a segment that was sent after this many bytes were delivered.
    next_round: u64,
    bursts: Greatest,
    /// The rounds in which the present span of Linux and the span before begin.
    spans: [u64; 2],
    burst_since: Time,
    burst_acked: f64,
}

impl Default for PathModel {
    fn default() -> PathModel {
        PathModel {
            fastest: Greatest::default(),
            cycle: 0,
            taken: false,
            least: Duration(u64::MAX),
            delivered: 0,
            round: 0,
            round_start: false,
            next_round: 0,
            bursts: Greatest::default(),
            spans: [0; 2],
            burst_since: Time::ZERO,
            burst_acked: 0.0,
        }
    }
}

impl PathModel {
    pub fn begin(&mut self, now: Time, srtt: Option<Duration>) {
        self.burst_since = now;
        self.least = srtt.map_or(self.least, |r| self.least.min(r));
    }

    pub fn take_over(&mut self, delivered: u64, rate: f64) {
        (self.delivered, self.next_round) = (delivered, delivered);
        self.fastest.enter(self.cycle, rate, RATE_CYCLES);
    }

    /// Bytes a second.
    pub fn max_bw(&self) -> f64 {
        self.fastest.get()
    }

    /// Bytes.
    pub fn extra_acked(&self) -> f64 {
        self.bursts.get()
    }

    /// The new information of this ACK about the path (section 4.1.2.3).
    pub fn sample(&mut self, a: &AckEvent<'_>, r: &RateSample) -> Sample {
        let rtt = r.rtt.or(a.rtt);
        self.least = rtt.map_or(self.least, |x| self.least.min(x));
        self.delivered = r.total;
        let lost = real(a.lost - a.lost_by_timer);
        let (newly, left_in_flight) = (real(r.newly), real(r.in_flight));
        let believed = r.has_data() && r.interval.0 > 0 && r.interval >= self.least;
        Sample {
            now: a.now,
            has_data: r.has_data(),
            rate: if believed {
                real(r.delivered) / r.interval.seconds()
            } else {
                0.0
            },
            delivered: real(r.delivered),
            delivered_at_send: r.delivered_at_send(),
            newly,
            total: r.total,
            lost: real(r.lost) + lost,
            in_flight_at_send: real(r.in_flight_at_send),
            in_flight_before: left_in_flight + newly,
            in_flight: (left_in_flight - lost).max(0.0),
            rtt,
            limited: r.application_limited,
            marked: real(r.marked),
            until_next: r.until_next.seconds(),
        }
    }

    /// StartRound.
    pub fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    pub fn begins_round(&self, s: &Sample) -> bool {
        s.delivered_at_send >= self.next_round
    }

    /// UpdateMaxBw with UpdateRound. Returns whether a round begins.
    pub fn take_rate(&mut self, s: &Sample) -> bool {
        self.round_start = self.begins_round(s);
        if self.round_start {
            self.start_round();
            self.round += 1;
        }
        if s.rate > 0.0 && (s.rate >= self.max_bw() || !s.limited) {
            self.fastest.enter(self.cycle, s.rate, RATE_CYCLES);
            self.taken = true;
        }
        self.round_start
    }

    /// AdvanceMaxBwFilter.
    pub fn advance(&mut self, form: Bbr3Form) {
        // Linux keeps the rate of the old cycle as long as the present cycle has no sample.
        if self.taken || form == Bbr3Form::Draft {
            self.cycle += 1;
            self.taken = false;
        }
    }

    /// Sending begins again after an idle period.
    pub fn restart_burst(&mut self, now: Time, form: Bbr3Form) {
        self.burst_since = now;
        if form == Bbr3Form::Linux {
            self.burst_acked = 0.0;
        }
    }

    /// UpdateACKAggregation: the bytes acknowledged beyond those that the rate `bw` explains, at most a window.
    pub fn take_burst(&mut self, s: &Sample, bw: f64, cwnd: f64, settled: bool, form: Bbr3Form) {
        let mut expected = bw * s.now.since(self.burst_since).seconds();
        if self.burst_acked <= expected {
            (self.burst_acked, self.burst_since, expected) = (0.0, s.now, 0.0);
        }
        self.burst_acked += s.newly;
        let extra = (self.burst_acked - expected).clamp(0.0, cwnd);
        let memory = if settled { BURST_ROUNDS } else { BURST_ROUNDS_AT_START };
        match form {
            Bbr3Form::Draft => self.bursts.enter(self.round, extra, memory),
            Bbr3Form::Linux => {
                let span = if settled {
                    BURST_ROUNDS / 2
                } else {
                    BURST_ROUNDS_AT_START
                };
                if self.round >= self.spans[0] + span {
                    self.spans = [self.round, self.spans[0]];
                }
                self.bursts.enter(self.round, extra, self.round - self.spans[1]);
            }
        }
    }
}
