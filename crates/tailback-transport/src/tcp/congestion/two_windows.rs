//! Packet marking by the source: a window of marked segments and a window of other segments.
//!
//! A network with assured forwarding treats marked packets better. A source can tell which losses its marks prevent,
//! but a marker at the edge cannot. The source therefore keeps two windows, which together are the window of Reno. A
//! segment is marked if the outstanding marked segments leave room in the marked window. While the rate through the
//! network is below its target, the marked window gets all growth of the whole window, and one segment per round trip
//! from the other window. Above the target the other window gets both. The loss of an unmarked segment shows that there
//! is little capacity beyond the assured rate, so it halves only the other window. The loss of a marked segment shows
//! that even assured traffic is congested, so it halves both windows.
//!
//! ```text
//! cwnd = marked + other
//! ACK        cwnd grows as Reno's by g; s = segment acked / cwnd
//!            rate < target: marked += g + s      else: marked -= s
//! lost       unmarked segment: other /= 2              marked segment, or an echo: marked /= 2, other /= 2
//! timeout    threshold as after a loss; cwnd = one segment, with the same marked share as before
//! request    of a router: the window that it leaves, with the same marked share as before
//! segment    marked (AF11) if marked outstanding + its bytes <= marked, otherwise AF12
//! ```
//!
//! The source is Feng, Kandlur, Saha, Shin, "Adaptive packet marking for maintaining end-to-end throughput in a
//! differentiated-services Internet", IEEE/ACM Transactions on Networking 7(5), 1999, in which the sender contains the
//! marking engine.
//!
//! The state is the window of `window.rs`, the marked part of this window (bytes), the rate (bit/s), and each
//! outstanding segment with its mark (24 bytes).
//!
//! Departures: the size of the step s and the response to an echo are our readings of the paper. The rate is a time
//! sliding window (RFC 2859 section 3) over the acknowledged bytes, headers included. The mark of a repeat depends on
//! the windows at the time of the repeat. If the ACK that shows a loss also acknowledges data, the mark of the first
//! acknowledged segment is taken for that of the lost one. With `ecn_decrease` an echo leaves this share of the whole
//! window, and half of the marked window.
//!
//! An ACK costs as much as with Reno, and three divisions more. A segment costs a binary search among the outstanding
//! segments. A new segment also costs a push.

use super::window::CongestionWindow;
use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Departure, Facts, Handover, Mistaken, Reset, WindowRules,
    real,
};
use std::collections::VecDeque;
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model, Probe};
use tailback_base::{BitRate, Colour, Dscp, Duration, Settings, Time, params};

/// Values that can be recorded.
const READ: [Probe<TwoWindows>; 3] = [
    Probe::new(
        "marked_window",
        "B",
        "the part of the window for marked segments",
        |c, _| c.marked,
    ),
    Probe::new("marked_flight", "B", "marked bytes outstanding", |c, _| {
        c.marked_flight as f64
    }),
    Probe::new(
        "rate",
        "bit/s",
        "the rate of acknowledged data, headers included",
        |c, _| c.rate.bits_per_second,
    ),
];

const PAPER: &str = "Feng, Kandlur, Saha, Shin 1999";

pub static MODEL: Model = Model {
    name: "two-windows",
    family: "congestion",
    title: "Packet marking by the source, with two windows",
    summary: "Reno whose window has two parts: one for marked segments, which are sent as AF11, and one for others, \
              AF12. The marked part grows while the rate through the network is below `target`, and shrinks above it. \
              The loss of an unmarked segment halves the other part alone.",
    source: PAPER,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    TARGET: BitRate = Key::new("target", Kind::Rate { min: 1.0, max: 1e14 }, "1Mbps",
        "The assured rate of the flow, headers included. The window of marked segments grows while the rate is below \
         it, and shrinks while the rate is above it.", "");
    WINDOW: Duration = Key::new("window", Kind::Time { min: 1e-3, max: 1e3 }, "1s",
        "Length of the time window over which the rate is estimated.", "RFC 2859 section 3.1");
}

pub const FACTS: Facts = Facts {
    colours: true,
    hears_departures: super::always,
    ..Facts::CLASSIC
};

/// RFC 5681 equation 4: a loss leaves half.
const KEPT: f64 = 0.5;

/// RFC 2859 section 3.1: the bytes that arrived, divided by the time since one window length ago.
struct Rate {
    length: f64,
    bits_per_second: f64,
    last: Time,
}

impl Rate {
    fn count(&mut self, bytes: f64, now: Time) {
        let held = self.bits_per_second * self.length + 8.0 * bytes;
        self.bits_per_second = held / (self.length + now.since(self.last).seconds());
        self.last = now;
    }
}

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    seq: u64,
    end: u64,
    marked: bool,
}

impl Outstanding {
    fn marked_bytes(self) -> u64 {
        if self.marked { self.end - self.seq } else { 0 }
    }
}

pub struct TwoWindows {
    window: CongestionWindow,
    target: f64,
    /// The marked window in bytes, at most the whole window.
    marked: f64,
    /// The marked window before the last reduction.
    marked_before: f64,
    rate: Rate,
    outstanding: VecDeque<Outstanding>,
    /// The marked bytes of the outstanding segments.
    marked_flight: u64,
    /// The mark of the last segment that was sent.
    last: Colour,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(TwoWindows {
        window: CongestionWindow::new(rules),
        target: own.get(&TARGET).bits_per_second(),
        marked: 0.0,
        marked_before: 0.0,
        rate: Rate {
            length: own.get(&WINDOW).seconds(),
            bits_per_second: 0.0,
            last: Time::ZERO,
        },
        outstanding: VecDeque::new(),
        marked_flight: 0,
        last: Colour::Yellow,
    })
}

impl TwoWindows {
    fn acknowledged(&mut self, una: u64) {
        while let Some(oldest) = self.outstanding.front_mut() {
            let acknowledged = Outstanding {
                end: una.clamp(oldest.seq, oldest.end),
                ..*oldest
            };
            self.marked_flight -= acknowledged.marked_bytes();
            if oldest.end > una {
                oldest.seq = acknowledged.end;
                return;
            }
            self.outstanding.pop_front();
        }
    }

    /// Move one segment per round trip from one window to the other.
    fn shift(&mut self, acked: f64) {
        let w = &self.window;
        let step = w.rules.segment * acked / w.cwnd;
        self.marked = match self.rate.bits_per_second < self.target {
            true => (self.marked + step).min(w.cwnd),
            false => (self.marked - step).max(0.0),
        };
    }

    /// The shares of the marked and of the whole window that a sign of congestion leaves.
    fn kept(&self, what: Congestion) -> (f64, f64) {
        let unmarked_lost = match what {
            Congestion::Loss | Congestion::Timeout { .. } => self.outstanding.front().is_some_and(|s| !s.marked),
            Congestion::Ecn | Congestion::Request { .. } | Congestion::LostSyn => false,
        };
        match unmarked_lost {
            true => (1.0, KEPT + (1.0 - KEPT) * self.marked / self.window.cwnd),
            false => (KEPT, KEPT),
        }
    }
}

impl CongestionControl for TwoWindows {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        self.acknowledged(a.una);
        if a.acked == 0 {
            return;
        }
        let acked = real(a.acked);
        self.rate
            .count(acked * self.window.rules.wire / self.window.rules.segment, a.now);
        let window = &mut self.window;
        if !window.may_grow(a) {
            return;
        }
        let cwnd_before = window.cwnd;
        if window.in_slow_start() {
            window.slow_start(a);
        } else {
            window.one_segment_a_round_trip(a);
        }
        if self.rate.bits_per_second < self.target {
            self.marked += self.window.cwnd - cwnd_before;
        }
        self.shift(acked);
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        let (of_marked, of_all) = self.kept(e.what);
        let share = self.marked / self.window.cwnd;
        if e.what != (Congestion::Timeout { again: true }) {
            self.marked_before = self.marked;
        }
        self.window.congested(e, |b| b * of_all, |b| b * of_all);
        self.marked = match e.what {
            Congestion::Timeout { .. } | Congestion::LostSyn | Congestion::Request { .. } => share * self.window.cwnd,
            Congestion::Loss | Congestion::Ecn => (of_marked * self.marked).min(self.window.cwnd),
        };
    }

    fn sends(&mut self, sent: &Departure) {
        let Departure { seq, end, again, .. } = *sent;
        let index = self.outstanding.partition_point(|s| s.end <= seq);
        let was_sent = self.outstanding.get(index).is_some_and(|s| s.seq <= seq);
        if was_sent {
            self.marked_flight -= self.outstanding[index].marked_bytes();
        }
        let marked = real(end - seq) <= self.marked - real(self.marked_flight);
        if was_sent {
            self.outstanding[index].marked = marked;
            self.marked_flight += self.outstanding[index].marked_bytes();
        } else if !again {
            // Segments sent before this control took over are not recorded.
            self.outstanding.push_back(Outstanding { seq, end, marked });
            self.marked_flight += if marked { end - seq } else { 0 };
        }
        self.last = if marked { Colour::Green } else { Colour::Yellow };
    }

    fn colour(&self) -> Option<Dscp> {
        Some(self.last.in_class(1))
    }

    fn window_reset(&mut self, why: Reset) {
        self.window.reset(why);
        self.marked = self.marked.min(self.window.cwnd);
    }

    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
    }

    fn undo(&mut self, _why: Mistaken) {
        self.window.undo();
        self.marked = self.marked_before.min(self.window.cwnd);
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests;
