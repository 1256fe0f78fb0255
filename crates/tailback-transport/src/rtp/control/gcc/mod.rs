//! GCC: Google congestion control, as in today's senders of WebRTC. The source is str0m 0.25.0, a port of libwebrtc's
//! `goog_cc`. The source for the history of the delay part is draft-ietf-rmcat-gcc-02.
//!
//! There are two estimates of the rate, and the smaller one counts:
//!
//! * by delay: groups of packets (`groups`), the slope of their delay (`trendline`), and a rate that falls to 0.85 of
//!   the arriving rate when the slope is positive for long, and grows otherwise (`increase`);
//! * by loss: the rate that best explains which packets of the last seconds were lost (`loss`).
//!
//! `arrived` estimates the rate that arrives. `probes` says when a `cluster` of packets is sent faster than the
//! estimate. A rate that a cluster proves replaces both estimates. `limited` says whether the application sends less
//! than it could. The encoder's target is the estimate. Waiting data leave at 1.1 times the target, with 40 ms of that
//! rate at once, so that a frame is a burst. The packets of a cluster leave at the rate of the cluster, with padding
//! where no media wait. There is no window.
//!
//! The state is that of the eight parts. A report costs a step for each packet, a fit of 20 points for each group, and
//! six sums over at most 15 observations for each quarter of a second.
//!
//! Departures: the rate is on the wire, and no estimate is above the largest rate. The largest rate does not change in
//! a run, so there are no probes after an increase of the largest rate.

mod arrived;
mod cluster;
mod groups;
mod increase;
mod limited;
mod loss;
mod probes;
mod trendline;

use super::{Fate, Feedback, LeavingPacket, RateControl, RateOutput, ReportRule, Terms, WrittenFrame};
use arrived::Arrived;
use groups::Groups;
use increase::Increase;
use limited::Limited;
use loss::{LossLimit, LossState};
use probes::{Bound, Probes};
use tailback_base::model::{Key, Kind, Model, Probe, Settings};
use tailback_base::{Duration, Time, params};
use trendline::{Trendline, Usage};

const SOURCE: &str = "str0m 0.25.0; libwebrtc goog_cc";

/// Values that can be recorded.
const READ: [Probe<Gcc>; 7] = [
    Probe::new("delay_rate", "bit/s", "rate estimate from the delay", |g, _| {
        g.increase.rate()
    }),
    Probe::new(
        "loss_rate",
        "bit/s",
        "rate estimate from the losses; no value while the estimate from the delay is in use",
        |g, _| g.loss.rate().unwrap_or(f64::NAN),
    ),
    Probe::new(
        "arrived",
        "bit/s",
        "estimate of the rate that arrives at the receiver",
        |g, _| g.arrived.rate().unwrap_or(f64::NAN),
    ),
    Probe::new(
        "trend",
        "ms",
        "slope of the delay, multiplied by 4 and by the number of groups of packets (60 at most)",
        |g, _| g.trendline.scaled(),
    ),
    Probe::new(
        "threshold",
        "ms",
        "trend above which the line counts as overused",
        |g, _| g.trendline.threshold(),
    ),
    Probe::new(
        "cluster",
        "bit/s",
        "rate of the probe cluster that is being sent; no value without a cluster",
        |g, _| g.probes.rate().unwrap_or(f64::NAN),
    ),
    Probe::new(
        "limited",
        "1",
        "1 while the application sends much less than the estimate",
        |g, _| f64::from(g.limited.is_limited()),
    ),
];

pub static MODEL: Model = Model {
    name: "gcc",
    family: "rate-control",
    title: "Google congestion control",
    summary: "When the delay has risen for some time, the line is overused, and the rate falls to 0.85 of the rate \
              that arrives. Otherwise the rate grows by 8 % a second, or, near the last such rate, by half a packet \
              in each round trip plus 100 ms. A model that is fitted to the losses of four seconds limits the rate \
              too. Clusters of packets find out whether the line has a free rate.",
    source: SOURCE,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BETA: f64 = Key::new("beta", Kind::Real { min: 0.1, max: 1.0 }, "0.85",
        "After an overuse the rate is this share of the rate that arrives.", SOURCE);
    GROWTH: f64 = Key::new("growth", Kind::Real { min: 1.0, max: 10.0 }, "1.08",
        "The factor by which the rate grows in a second, far from its last reduction.", SOURCE);
    PACING: f64 = Key::new("pacing", Kind::Real { min: 1.0, max: 100.0 }, "1.1",
        "Waiting packets leave at this multiple of the target rate, or faster. libwebrtc has 2.5.", SOURCE);
    BURST: Duration = Key::new("burst", Kind::Time { min: 0.0, max: 1.0 }, "40ms",
        "Packets that would take this long at the pacing rate leave at once.", SOURCE);
    QUEUE: Duration = Key::new("queue_time_limit", Kind::Time { min: 0.001, max: 60.0 }, "2s",
        "Packets that wait when a frame is written leave within this time.", SOURCE);
    UPDATE: Duration = Key::new("update", Kind::Time { min: 0.001, max: 1.0 }, "25ms",
        "The time between two steps of growth without a report. str0m also makes a step for each packet.", SOURCE);
    PROBES: bool = Key::new("probes", Kind::Bool, "true",
        "Whether clusters of packets, with padding, are sent faster than the estimate to find out whether the line \
         has a free rate.", SOURCE);
    LOSSES: bool = Key::new("losses", Kind::Bool, "true", "Whether losses limit the rate.", SOURCE);
}

/// Transport-wide feedback every 50 ms, with arrival times in units of 250 us.
pub const RULE: ReportRule = ReportRule {
    every: Duration::from_millis(50),
    packets: 0,
    frames: false,
    step: Duration::from_micros(250),
};

/// The greatest age of the last report at which the rate still grows.
const YOUNG_S: f64 = 0.05;
/// The time between two updates while no report arrives.
const IDLE: Duration = Duration::from_millis(500);
/// Payload of a packet of padding.
const PADDING: u32 = 240;
/// If there are no losses, the loss part begins only after this time.
const STARTUP: Duration = Duration::from_millis(2000);
const LOSS_FREE: f64 = 0.001;

pub struct Gcc {
    s: Settings,
    terms: Terms,
    groups: Groups,
    trendline: Trendline,
    arrived: Arrived,
    increase: Increase,
    loss: LossLimit,
    limited: Limited,
    was_limited: bool,
    probes: Probes,
    srtt: Option<f64>,
    began: Option<Time>,
    reported: Time,
    timer: Time,
    /// The pace at which the last frame, and the data that waited before it, are sent in time, bit/s.
    drain: f64,
}

pub fn build(s: &Settings, terms: Terms) -> Box<dyn RateControl> {
    Box::new(Gcc {
        groups: Groups::default(),
        trendline: Trendline::new(),
        arrived: Arrived::new(),
        increase: Increase::new(terms, s.get(&BETA), s.get(&GROWTH)),
        loss: LossLimit::new(terms),
        limited: Limited::new(terms.start),
        was_limited: false,
        probes: Probes::new(terms.max),
        s: s.clone(),
        terms,
        srtt: None,
        began: None,
        reported: Time::ZERO,
        timer: Time::NEVER,
        drain: 0.0,
    })
}

impl Gcc {
    fn rate(&self) -> f64 {
        let delay = self.increase.rate();
        self.terms.clamp(match self.loss.rate() {
            Some(loss) if self.s.get(&LOSSES) => loss.min(delay),
            _ => delay,
        })
    }

    /// Plan the probes. This is the last step of an update.
    fn look(&mut self, now: Time) {
        let estimate = self.rate();
        self.limited.set(estimate);
        self.limited.idle(now);
        if !self.s.get(&PROBES) {
            return;
        }
        let bound = match self.loss.state() {
            _ if self.trendline.usage() == Usage::Over => Bound::Congestion,
            LossState::ByDelay => Bound::Delay,
            LossState::Increasing => Bound::Growing,
            LossState::Decreasing => Bound::Congestion,
        };
        let is_limited = self.limited.is_limited() && self.began.is_some();
        if std::mem::replace(&mut self.was_limited, is_limited) != is_limited {
            self.loss.restart();
        }
        self.probes.look(estimate, bound, is_limited, now);
    }

    fn update(&mut self, now: Time) {
        if let Some(arrived) = self.arrived.rate() {
            self.increase.update(self.trendline.usage(), arrived, self.srtt, now);
        }
    }
}

impl RateControl for Gcc {
    fn on_sent(&mut self, s: &LeavingPacket) {
        self.probes.on_sent(s);
        if !s.is_padding {
            self.limited.sent(s.bytes, s.now);
        }
        if self.timer == Time::NEVER {
            self.timer = s.now;
        }
    }

    fn on_frame(&mut self, f: &WrittenFrame) {
        self.drain = 8.0 * f.waiting as f64 / self.s.get(&QUEUE).seconds();
    }

    fn on_feedback(&mut self, f: &Feedback) {
        if f.packets.is_empty() {
            return;
        }
        let began = *self.began.get_or_insert(f.now);
        // Packets are taken in the order of arrival. Otherwise a path that reorders would look like a clock that goes
        // back.
        let received = f.packets.iter().filter_map(|p| match p.fate {
            Fate::Received { at, .. } => Some((at, p)),
            Fate::Lost => None,
        });
        let mut received: Vec<_> = received.collect();
        received.sort_by_key(|(at, _)| *at);
        for (arrival, p) in &received {
            self.arrived.add(*arrival, p.bytes);
            if let Some(d) = self.groups.add(p.sent, *arrival) {
                self.trendline.add(&d);
            }
        }
        let lost = f.packets.len() - received.len();
        if let Some(first) = received.iter().map(|(_, p)| p.sent).min() {
            let rtt = f.now.since(first).seconds();
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
        }
        (self.reported, self.timer) = (f.now, f.now + self.s.get(&UPDATE));
        let proven = self.probes.result(&received, f.now);
        match proven {
            Some(rate) => self.increase.set(rate, f.now),
            None => self.update(f.now),
        }
        let delay = self.increase.rate();
        let is_startup = f.now.since(began) <= STARTUP && lost as f64 <= LOSS_FREE * f.packets.len() as f64;
        if is_startup || proven.is_some() {
            self.loss.set(delay);
        }
        if !is_startup {
            let most = self.probes.proven(f.now);
            self.loss.update(f.packets, delay, self.arrived.rate(), most);
        }
        self.look(f.now);
    }

    fn next_timer(&self) -> Option<Time> {
        (self.timer != Time::NEVER).then_some(self.timer)
    }

    /// The rate also grows between reports, as long as the last report is recent.
    fn on_timer(&mut self, now: Time) {
        let young = self.srtt.map_or(0.5, |srtt| 2.0 * srtt).min(YOUNG_S);
        let is_young = now.since(self.reported).seconds() <= young;
        if is_young {
            self.update(now);
        }
        self.timer = now + if is_young { self.s.get(&UPDATE) } else { IDLE };
        self.look(now);
    }

    fn output(&self, _waiting: u64) -> RateOutput {
        let target = self.rate();
        let cluster = self.probes.rate();
        RateOutput {
            target,
            pacing: cluster.unwrap_or_else(|| self.drain.max(target * self.s.get(&PACING))),
            burst: cluster.map_or(self.s.get(&BURST), |_| Duration::ZERO),
            window: u64::MAX,
            padding: cluster.map_or(0, |_| PADDING),
        }
    }

    fn read(&self, probe: usize) -> f64 {
        Probe::read(&READ, self, probe, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReportedPacket;
    use super::*;
    use tailback_base::Ecn;

    /// A packet of 1250 B is sent every 10 ms, at 1 Mbit/s. The first of each two packets arrives 15 ms late, after the
    /// second one. The rate that arrives is still 1 Mbit/s, and the line is not overused.
    #[test]
    fn packets_count_in_the_order_of_their_arrival() {
        let terms = Terms {
            min: 100e3,
            start: 1e6,
            max: 20e6,
            ecn: Ecn::NotEct,
        };
        let mut gcc = build(&Settings::defaults(&MODEL), terms);
        let at_ms = |ms: u64| Time(ms * 1_000_000);
        for report in 0..60 {
            let packets: Vec<ReportedPacket> = (10 * report..10 * report + 10)
                .map(|number| ReportedPacket {
                    number,
                    bytes: 1250,
                    sent: at_ms(10 * number),
                    fate: Fate::Received {
                        at: at_ms(10 * number + 35 - 15 * (number % 2)),
                        marked: false,
                    },
                })
                .collect();
            gcc.on_feedback(&Feedback {
                now: at_ms(100 * report + 160),
                packets: &packets,
                rtt: Duration::from_millis(40),
                in_flight: 0,
            });
        }
        let read = |name| gcc.read(MODEL.probes.iter().position(|p| p.name == name).expect("a probe"));
        assert!((read("arrived") / 1e6 - 1.0).abs() < 0.1, "{}", read("arrived"));
        assert!(read("delay_rate") > 1.2e6, "{}", read("delay_rate"));
    }
}
