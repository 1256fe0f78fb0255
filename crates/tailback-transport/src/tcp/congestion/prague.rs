//! A scalable control modelled on Prague, with frequent marks and a small response to each mark
//! (draft-briscoe-iccrg-prague-congestion-control, RFC 9331).
//!
//! Like DCTCP the control keeps the smoothed fraction `alpha` of marked bytes and reduces the window by the share alpha
//! / 2. Unlike DCTCP it is made for queues of the Internet. Packets carry ECT(1), so that a router can mark these
//! packets at a separate shallow threshold. Windows are paced. The steps of DCTCP for each round trip are done for each
//! virtual round trip of at least 25 ms, so that flows with short round trips do not displace others.
//!
//! ```text
//! each ACK: a bytes, m of them marked      vrtt = max(srtt, 25 ms)
//!   alpha period over    alpha += (M / A - alpha) / 16      A, M: a and m since; once something was marked
//!   first mark of all    in slow start: W = ssthresh = W / 2
//!   m > 0                W = ssthresh = W (1 - alpha / 2), unless a reduction was less than a period ago
//!   growth               slow start: W += a - m ; else W += segment (a - m) / W (srtt / vrtt)^2
//!   loss                 W = ssthresh = W / 2 ; nothing grows for a period ; timeout as Reno
//! ```
//!
//! When Prague takes over an open connection, it continues from window and threshold, with alpha as at the start. It
//! waits for a period before it responds to a mark, because the control before may have responded already. From the
//! next round on growth is scaled.
//!
//! A period is over when the data sent by its beginning is acknowledged and vrtt has passed. The state is the window of
//! `window.rs`, alpha, two counts of bytes, and three periods. If the ends have agreed on accurate ECN
//! (`accurate_ecn`), the marks are the counts of RFC 9768. Otherwise the echo is that of RFC 8257: each ACK says
//! whether the data that it acknowledges was marked. This is exact as long as no ACK is lost. An ACK costs two
//! divisions.

use super::round::Round;
use super::window::CongestionWindow;
use super::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Facts, Handover, Mistaken, Phase, Reset, WindowRules,
};
use crate::limit::Limit;
use std::sync::Arc;
use tailback_base::model::Probe;
use tailback_base::model::{Key, Kind, Model};
use tailback_base::{BitRate, Duration, Ecn, Settings, Time, params};

const DRAFT: &str = "draft-briscoe-iccrg-prague-congestion-control, section 2.4";

/// Values that can be recorded.
const READ: [Probe<Prague>; 2] = [
    Probe::new(
        "alpha",
        "1",
        "smoothed fraction of bytes that were marked",
        |q: &Prague, _| q.alpha,
    ),
    Probe::new(
        "window",
        "segments",
        "window before it is rounded up to whole segments",
        |q: &Prague, _| q.window.cwnd / q.window.rules.segment,
    ),
];

pub static MODEL: Model = Model {
    name: "prague",
    family: "congestion",
    title: "Scalable control after Prague",
    summary: "Reduces its window by half the smoothed fraction of marked bytes, as DCTCP does, but over a virtual \
              round trip of at least 25 ms. It is paced, and its packets have ECT(1). Made for queues that mark from \
              a shallow threshold on. `tcp` needs ECN.",
    source: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    GAIN: f64 = Key::new("gain", Kind::Real { min: 0.0001, max: 1.0 }, "0.0625",
        "Weight of the last period in the average fraction of marked bytes.", DRAFT);
    ALPHA: f64 = Key::new("alpha", Kind::Real { min: 0.0, max: 1.0 }, "0",
        "The fraction assumed at the start. Whatever it is, the first mark halves the window of slow start.", DRAFT);
    VIRTUAL_RTT: Duration = Key::new("virtual_rtt", Kind::Time { min: 0.0, max: 10.0 }, "25ms",
        "Round trips below this behave as if they were this long.", DRAFT);
}

/// Linux has Prague only outside of the main line.
pub const FACTS: Facts = Facts {
    codepoint: Ecn::Ect1,
    spreads: false,
    ..Facts::PROPORTIONAL
};

/// RFC 5681 equation 4: a loss leaves half of the window. The first mark in slow start does the same.
const KEPT: f64 = 0.5;
/// Rounds after slow start in which growth is not scaled down, so that a new flow reaches its share sooner.
const UNSCALED_ROUNDS: u32 = 4;
/// Segments.
const LEAST_WINDOW: f64 = 2.0;
/// Bytes a second: 100 kb/s.
const LEAST_PACE: f64 = 12_500.0;

/// A period lasts until the data sent by its beginning is acknowledged and a virtual round trip has passed.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    end: u64,
    since: Time,
}

impl Period {
    fn begin(&mut self, a: &AckEvent<'_>) {
        *self = Period {
            end: a.nxt,
            since: a.now,
        };
    }

    fn is_over(&self, a: &AckEvent<'_>, vrtt: Duration) -> bool {
        a.una > self.end && a.now.since(self.since) >= vrtt
    }
}

pub struct Prague {
    window: CongestionWindow,
    gain: f64,
    alpha: f64,
    virtual_rtt: Duration,
    /// Whether something was marked so far.
    seen: bool,
    /// The bytes acknowledged in this alpha period, and how many of these bytes were marked.
    total: u64,
    marked: u64,
    averaging: Period,
    /// The periods of the present reductions, for marks and for losses, while they last.
    reduced: Option<Period>,
    lost: Option<Period>,
    /// Whether a loss was reported. The period of this loss begins with the next ACK.
    losing: bool,
    round: Round,
    /// The number of rounds since slow start.
    rounds: u32,
    reductions: u64,
    srtt: Option<Duration>,
    /// Bytes in the network after the last ACK.
    pipe: f64,
}

pub fn build(own: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(Prague {
        window: CongestionWindow::new(rules),
        gain: own.get(&GAIN),
        alpha: own.get(&ALPHA),
        virtual_rtt: own.get(&VIRTUAL_RTT),
        seen: false,
        total: 0,
        marked: 0,
        averaging: Period::default(),
        reduced: None,
        lost: None,
        losing: false,
        round: Round::default(),
        rounds: 0,
        reductions: 0,
        srtt: None,
        pipe: 0.0,
    })
}

impl Prague {
    fn vrtt(&self) -> Duration {
        self.virtual_rtt.max(self.srtt.unwrap_or_default())
    }

    fn average(&mut self, a: &AckEvent<'_>, marked: u64) {
        self.total += a.acked;
        self.marked += marked;
        if self.total == 0 || !self.averaging.is_over(a, self.vrtt()) {
            return;
        }
        if self.seen {
            // Counted marks may belong to packets that SACK has reported but that are not acknowledged yet.
            let fraction = (self.marked as f64 / self.total as f64).min(1.0);
            self.alpha += self.gain * (fraction - self.alpha);
        }
        (self.total, self.marked) = (0, 0);
        self.averaging.begin(a);
    }

    fn keep(&mut self, share: f64) {
        let w = &mut self.window;
        w.cwnd = (w.cwnd * share).max(LEAST_WINDOW * w.rules.segment);
        w.ssthresh = w.cwnd;
    }

    fn answer_marks(&mut self, a: &AckEvent<'_>) {
        let first = !std::mem::replace(&mut self.seen, true);
        if first && self.window.in_slow_start() {
            self.keep(KEPT);
            self.reductions += 1;
        }
        if self.reduced.is_none() && self.lost.is_none() && a.phase == Phase::Open {
            self.keep(1.0 - self.alpha / 2.0);
            self.reductions += 1;
            let mut period = Period::default();
            period.begin(a);
            self.reduced = Some(period);
        }
    }

    fn grow(&mut self, a: &AckEvent<'_>, unmarked: u64) {
        let (vrtt, w) = (self.vrtt().seconds(), &mut self.window);
        // Pacing may hold the sender one segment below the window. It is only important that the application does not
        // limit the sender.
        if a.limit != Limit::Network || a.phase == Phase::Recovery || self.lost.is_some() {
            return;
        }
        let bytes = unmarked as f64;
        if w.in_slow_start() {
            w.cwnd += bytes;
            return;
        }
        let scale = match self.srtt {
            Some(srtt) if self.rounds > UNSCALED_ROUNDS && vrtt > 0.0 => srtt.seconds() / vrtt,
            _ => 1.0,
        };
        w.cwnd += w.rules.segment * bytes / w.cwnd * scale * scale;
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        (self.srtt, self.pipe) = (a.srtt.or(self.srtt), a.pipe as f64);
        let vrtt = self.vrtt();
        let marked = a.marked;
        let over = |p: &Period| !p.is_over(a, vrtt);
        (self.reduced, self.lost) = (self.reduced.filter(over), self.lost.filter(over));
        if std::mem::take(&mut self.losing) {
            let mut period = Period::default();
            period.begin(a);
            self.lost = Some(period);
        }
        if self.round.is_over(a) {
            self.rounds = if self.window.in_slow_start() {
                0
            } else {
                self.rounds + 1
            };
        }
        self.average(a, marked);
        if marked > 0 {
            self.answer_marks(a);
        }
        self.grow(a, a.acked.saturating_sub(marked));
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        self.losing = matches!(e.what, Congestion::Loss);
        self.window.congested(e, |w| w * KEPT, |w| w * KEPT);
    }

    fn window_reset(&mut self, why: Reset) {
        self.window.reset(why);
    }

    fn take_over(&mut self, from: &Handover) {
        self.window.take_over(from);
        self.srtt = from.srtt;
        if from.srtt.is_some() {
            let period = Period {
                end: from.nxt,
                since: from.now,
            };
            (self.averaging, self.reduced) = (period, Some(period));
            (self.round, self.rounds) = (Round::beginning(from.nxt), UNSCALED_ROUNDS);
        }
    }

    fn undo(&mut self, _why: Mistaken) {
        self.window.undo();
        (self.lost, self.losing) = (None, false);
    }

    fn sending_begins(&mut self, _now: Time, srtt: Option<Duration>) {
        self.srtt = self.srtt.or(srtt);
    }

    fn own_reductions(&self) -> u64 {
        self.reductions
    }

    fn cwnd(&self) -> f64 {
        let segment = self.window.rules.segment;
        // After a loss or a timeout the window may be one segment, from which slow start begins.
        libm::ceil(self.window.cwnd / segment - 1e-9) * segment
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn pacing(&self) -> Option<BitRate> {
        let w = &self.window;
        let rate = w.cwnd.max(self.pipe) / self.srtt?.seconds().max(1e-6);
        let gain = if w.cwnd < w.ssthresh / 2.0 { 2.0 } else { 1.0 };
        let bytes = (gain * rate).max(LEAST_PACE) * w.rules.wire / w.rules.segment;
        Some(BitRate((bytes * 8.0).min(1e15) as u64))
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::reno;
    use crate::tcp::congestion::testing::AckClock;
    use crate::tcp::testing::config;

    fn rules(window: &str, threshold: &str) -> Arc<WindowRules> {
        let settings = [
            ("payload", "1000B"),
            ("initial_window", window),
            ("initial_ssthresh", threshold),
        ];
        config(&settings).window
    }

    fn prague(window: &str, threshold: &str) -> Box<dyn CongestionControl> {
        build(&Settings::defaults(&MODEL), &rules(window, threshold))
    }

    /// Every packet is marked, and alpha begins at 0. It is 0.0625, 0.1211 and 0.1760 after one, two and three periods
    /// of 25 ms each, although the round trip is 10 ms.
    #[test]
    fn alpha_follows_marks_by_virtual_round_trips() {
        let mut c = prague("40 packets", "1000B");
        let mut clock = AckClock::new();
        let mut changed = vec![];
        // The first period has no marks.
        while clock.now < 0.2 {
            let marked = clock.now > 0.05;
            let before = c.read(0);
            clock.ack_with(&mut *c, 0.010, |a| a.ecn_echo = marked);
            if c.read(0) != before {
                changed.push((clock.now, c.read(0)));
            }
        }
        // The first period with marks may have begun before the marks.
        let from = changed
            .iter()
            .position(|p| (p.1 - changed[0].1).abs() > 0.01)
            .unwrap_or(0);
        for w in changed[from..].windows(2) {
            assert!((w[1].1 - (w[0].1 + (1.0 - w[0].1) / 16.0)).abs() < 1e-9, "{changed:?}");
            assert!((0.025..0.037).contains(&(w[1].0 - w[0].0)), "{changed:?}");
        }
        let mut fresh = prague("40 packets", "1000B");
        let mut clock = AckClock::new();
        let mut alphas = vec![0.0];
        while alphas.len() < 5 {
            clock.ack_with(&mut *fresh, 0.030, |a| a.ecn_echo = true);
            if fresh.read(0) != alphas[alphas.len() - 1] {
                alphas.push(fresh.read(0));
            }
        }
        for (alpha, expected) in alphas[1..].iter().zip([0.0625, 0.1211, 0.1760]) {
            assert!((alpha - expected).abs() < 5e-5, "{alphas:?}");
        }
    }

    /// At a round trip of 10 ms growth is (10 / 25)^2 = 0.16 segments. In the first rounds after slow start it is one
    /// segment.
    #[test]
    fn a_short_round_trip_grows_slowly() {
        let mut c = prague("50 packets", "1000B");
        let mut clock = AckClock::new();
        let mut round = |rtt: f64| {
            let before = c.read(1);
            for _ in 0..50 {
                clock.ack_with(&mut *c, rtt, |a| a.nxt = a.una + 49_000);
            }
            c.read(1) - before
        };
        let grown: Vec<f64> = (0..12).map(|_| round(0.010)).collect();
        assert!(
            (grown[1] - 1.0).abs() < 0.05 && (grown[3] - 1.0).abs() < 0.1,
            "{grown:?}"
        );
        for g in &grown[6..] {
            assert!((g - 0.16).abs() < 0.02, "{grown:?}");
        }
    }

    /// The very first mark halves the window of slow start. Because alpha is still 0, there is no further reduction.
    #[test]
    fn the_first_mark_ends_slow_start_with_half() {
        let mut c = prague("10 packets", "unlimited");
        let mut clock = AckClock::new();
        for _ in 0..30 {
            clock.ack(&mut *c, 0.05);
        }
        assert_eq!(c.cwnd(), 40_000.0);
        clock.ack_with(&mut *c, 0.05, |a| a.ecn_echo = true);
        assert_eq!((c.cwnd(), c.ssthresh(), c.own_reductions()), (20_000.0, 20_000.0, 2));
    }

    /// On a path that never marks, with a round trip of 50 ms, the windows through slow start and losses are those of
    /// Reno.
    #[test]
    fn without_marks_it_is_reno() {
        let rules = rules("10 packets", "40 packets");
        let mut controls = [
            build(&Settings::defaults(&MODEL), &rules),
            reno::build(&Settings::defaults(&reno::MODEL), &rules),
        ];
        let mut windows = [(); 2].map(|()| Vec::new());
        for (control, window_sizes) in controls.iter_mut().zip(&mut windows) {
            let mut clock = AckClock::new();
            for n in 0..3000 {
                // ACKs of data that was outstanding when the loss was found arrive during recovery.
                let repairing = (1000..1060).contains(&n);
                clock.ack_with(&mut **control, 0.05, |ack| {
                    ack.nxt = ack.una + 40_000;
                    if repairing {
                        ack.phase = Phase::Recovery;
                    }
                });
                if n == 999 {
                    let now = Time::from_seconds(clock.now);
                    control.on_congestion(&CongestionEvent {
                        now,
                        flight: 40_000,
                        in_flight: 40_000,
                        what: Congestion::Loss,
                    });
                }
                if !(999..1060).contains(&n) {
                    window_sizes.push(control.cwnd());
                }
            }
        }
        // Prague's windows are rounded up to whole segments.
        for (n, (prague, reno)) in windows[0].iter().zip(&windows[1]).enumerate() {
            assert!(
                (0.0..=1000.0).contains(&(prague - reno)),
                "{n}: {prague} against {reno}"
            );
        }
    }

    /// A period lasts until the data sent by its beginning is acknowledged, even if the smoothed round trip is very
    /// short.
    #[test]
    fn a_period_waits_for_its_acknowledgements() {
        let mut c = prague("40 packets", "1000B");
        let mut clock = AckClock::new();
        let (mut changes, mut alpha) = (0, c.read(0));
        while clock.now < 2.0 {
            clock.ack_with(&mut *c, 0.1, |a| {
                (a.ecn_echo, a.srtt) = (true, Some(Duration::from_millis(30)));
            });
            changes += usize::from(c.read(0) != alpha);
            alpha = c.read(0);
        }
        assert!((19..=21).contains(&changes), "{changes}");
    }

    /// For one period after a loss the window does not grow, even if the repair ends sooner.
    #[test]
    fn nothing_grows_for_a_period_after_a_loss() {
        let mut c = prague("40 packets", "1000B");
        let mut clock = AckClock::new();
        for _ in 0..80 {
            clock.ack(&mut *c, 0.05);
        }
        clock.sign(&mut *c, Congestion::Loss);
        let window = c.read(1);
        let from = clock.now;
        while c.read(1) == window {
            clock.ack(&mut *c, 0.05);
        }
        assert!(clock.now - from > 0.05, "{}", clock.now - from);
    }

    /// The pacing rate is max(W, pipe) / srtt, headers included, and twice this rate if the window is well below the
    /// threshold. There is no pacing before a round trip is known.
    #[test]
    fn it_paces_a_window_a_round_trip() {
        let mut c = prague("10 packets", "unlimited");
        assert!(c.pacing().is_none());
        c.sending_begins(Time::ZERO, Some(Duration::from_millis(100)));
        let rate = |c: &dyn CongestionControl| c.pacing().map_or(0.0, BitRate::bits_per_second);
        assert!((rate(&*c) - 2.0 * 10_400.0 * 8.0 / 0.1).abs() < 2.0, "{}", rate(&*c));
        let mut clock = AckClock::new();
        clock.ack_with(&mut *c, 0.1, |a| (a.ecn_echo, a.pipe) = (true, 30_000));
        assert!((rate(&*c) - 31_200.0 * 8.0 / 0.1).abs() < 2.0, "{}", rate(&*c));
    }
}
