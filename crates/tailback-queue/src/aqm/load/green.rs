//! GREEN of Wydrowski and Zukerman: keeps the input at a share of the line's rate, with steps of a constant size.
//!
//! GREEN does not use the queue length. It estimates the rate of arrivals at each arrival. Every `period`, the
//! probability rises by `step` if the estimate is at or above the share `target` of the line, and falls by `step`
//! otherwise. So the input stays near the target, and the queue is mostly empty. The disadvantages are a steady stream
//! of signals and a slow response: a change from 0 to 1 takes 1 / step periods. Measure: the arrival rate. Function:
//! the steps of the probability. Action: a drop (early), or with `ecn` a mark. The other algorithm of this name is
//! [`green_tcp`](crate::aqm::load::green_tcp).
//!
//! ```text
//! arrival, d after the one before:   x = (1 - exp(-d / filter)) * 8 size / d + exp(-d / filter) * x
//! every period:                      P = clamp(P + (x >= target C ? step : -step), 0, 1)
//! ```
//!
//! From: Wydrowski and Zukerman, "GREEN: an active queue management algorithm for a self managed Internet", ICC 2002,
//! for the control law and the target. The step, the period and the time constant of the filter are our choice. The
//! estimator is that of Stoica, Shenker and Zhang (core-stateless fair queueing, SIGCOMM 1998, section 4).
//!
//! State: x, bit/s; the last instant of an arrival, and the bytes of that instant that are not in x yet; P; the number
//! of periods so far. Packets that arrive at one instant count as one packet. Between arrivals, the value of x that is
//! used at the end of a period has decayed. So it is too low, on average by half a gap over `filter`. Every arrival
//! counts as input, stored or not. Periods continue while the line is idle. The first period ends one period after the
//! start.
//!
//! Cost of a packet: an exponential, and one random draw while P is between 0 and 1. Cost of a period: an exponential,
//! 100 times a second.

use crate::aqm::ticks::renumbered;
use crate::contract::admission::{Admission, Decision, Waiting, early};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, Out, ProbeId};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, ECN};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Packet, ProbeDef, Settings, Time, params};

/// Values that can be recorded.
const READ: [Probe<Green>; 2] = [
    Probe::new("probability", "", "Signal probability since the last period", |q, _| {
        q.probability
    }),
    Probe::new(
        "arrival_rate",
        "bit/s",
        "Estimated arrival rate at the last arrival",
        |q, _| q.rate.value(),
    ),
];

pub static MODEL: Model = Model {
    name: "green",
    family: "queue",
    title: "GREEN (rate controller)",
    summary: "Holds the input at a share of the line. Measure: the filtered arrival rate. Function: a probability that \
              rises by a step in each period in which the rate is above that share, and otherwise falls by a step. \
              Action: drop (early); with ecn, mark ECN-capable packets instead.",
    source: "Wydrowski and Zukerman, ICC 2002",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    TARGET: f64 = Key::new("target", Kind::Real { min: 0.0, max: 1.0 }, "0.97",
        "The target of the arrival rate, as a share of the line's rate.", "Wydrowski and Zukerman 2002");
    STEP: f64 = Key::new("step", Kind::Real { min: 0.0, max: 1.0 }, "0.001",
        "How much the probability changes in a period.", "tailback; the paper leaves it open");
    PERIOD: Duration = Key::new("period", Kind::Time { min: 1e-6, max: 100.0 }, "10ms",
        "Time between two changes of the probability.", "tailback; the paper leaves it open");
    FILTER: Duration = Key::new("filter", Kind::Time { min: 1e-6, max: 100.0 }, "100ms",
        "Time constant of the rate estimate.", "tailback; Stoica, Shenker and Zhang 1998 for the form");
    ECN;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Green>(&MODEL, Facts::WITH_ECN)
}

impl Configured for Green {
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        Ok(Green {
            target: s.get(&TARGET),
            step: s.get(&STEP),
            period: s.get(&PERIOD),
            rate: ArrivalRate::new(s.get(&FILTER)),
            ecn: params::ecn(s),
            periods: 0,
            probability: 0.0,
            context,
        })
    }
}

/// An exponentially weighted estimate of a rate, from the gaps between arrivals.
#[derive(Clone, Debug)]
pub struct ArrivalRate {
    /// The time constant, seconds.
    constant: f64,
    /// The estimate at `last`, bit/s.
    value: f64,
    last: Time,
    /// The bytes that arrived at `last` and are not in the estimate yet.
    bytes: u64,
}

impl ArrivalRate {
    /// An estimate that starts at zero.
    pub fn new(constant: Duration) -> ArrivalRate {
        ArrivalRate {
            constant: constant.seconds(),
            value: 0.0,
            last: Time::ZERO,
            bytes: 0,
        }
    }

    /// Take over the state of an estimate that had another time constant.
    fn follow(&mut self, before: &ArrivalRate) {
        let constant = self.constant;
        *self = ArrivalRate {
            constant,
            ..before.clone()
        };
    }

    /// A packet of this size arrives. Arrivals at one instant are counted together, when the next packet arrives later.
    pub fn arrival(&mut self, bytes: u32, now: Time) {
        let gap = now.since(self.last).seconds();
        if gap > 0.0 {
            let kept = libm::exp(-gap / self.constant);
            let came = std::mem::take(&mut self.bytes) + u64::from(bytes);
            self.value = (1.0 - kept) * (8.0 * came as f64 / gap) + kept * self.value;
            self.last = now;
        } else {
            self.bytes += u64::from(bytes);
        }
    }

    /// The estimate at the last arrival, bit/s.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The estimate at `now`, without arrivals since the last one.
    pub fn decayed(&self, now: Time) -> f64 {
        self.value * libm::exp(-now.since(self.last).seconds() / self.constant)
    }
}

/// GREEN's decision.
#[derive(Clone, Debug)]
pub struct Green {
    target: f64,
    step: f64,
    period: Duration,
    rate: ArrivalRate,
    ecn: bool,
    periods: u64,
    probability: f64,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl<P: Packet> Admission<P> for Green {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        self.rate.arrival(p.bytes(), line.now);
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        early(self.context.stream.chance(self.probability), p, self.ecn, out)
    }

    fn next_timer(&self) -> Option<Time> {
        Some(Time((self.periods + 1).saturating_mul(self.period.0)))
    }

    fn on_timer(&mut self, _queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        let above = self.rate.decayed(line.now) >= self.target * line.rate.bits_per_second();
        let step = if above { self.step } else { -self.step };
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.periods += 1;
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The probability and the measured rate stay.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Green::configured(s, self.context.clone())?;
        new.rate.follow(&self.rate);
        new.periods = renumbered(self.periods, self.period, new.period);
        new.probability = self.probability;
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::MarkReason;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Ecn, Stream};

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Green>> {
        let settings = with
            .iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        Bench::new(Fifo::from_settings(
            &settings,
            Green::configured(&settings, context).unwrap(),
        ))
    }

    /// Send 500-byte packets with equal gaps for this time, and serve each at once.
    fn constant(b: &mut Bench<Fifo<TestPacket, Green>>, rate: f64, seconds: f64) {
        constant_of(b, 500, rate, seconds);
    }

    fn constant_of(b: &mut Bench<Fifo<TestPacket, Green>>, bytes: u32, rate: f64, seconds: f64) {
        let bits = 8.0 * f64::from(bytes);
        for id in 0..libm::round(seconds * rate / bits) as u64 {
            b.pass(Duration::from_seconds(bits / rate));
            b.arrive(TestPacket::new(id, 0, bytes));
            b.serve();
        }
    }

    /// Above the target the probability grows by step / period a second. Below the target it falls at the same slope,
    /// to zero.
    #[test]
    fn the_slope_is_step_over_period_both_ways() {
        let mut b = bench(&[]);
        constant(&mut b, 2_000_000.0, 1.0);
        let start = b.probe("probability", 0);
        constant(&mut b, 2_000_000.0, 4.0);
        let rise = b.probe("probability", 0) - start;
        assert!((rise - 0.4).abs() < 0.0021, "{rise}");
        // First the estimate must fall to the target, which takes 0.1 s ln((2 - 0.5) / (0.97 - 0.5)) = 0.12 s.
        constant(&mut b, 500_000.0, 0.2);
        let high = b.probe("probability", 0);
        constant(&mut b, 500_000.0, 2.0);
        let fall = high - b.probe("probability", 0);
        assert!((fall - 0.2).abs() < 0.0021, "{fall}");
        constant(&mut b, 500_000.0, 5.0);
        assert_eq!(b.probe("probability", 0), 0.0);
        // The probability grows if the rate is above the target. Between two arrivals the estimate has decayed on
        // average by half a gap over the time constant, which is 0.2 % with packets of 50 B.
        for (rate, rises) in [(969_000.0, false), (975_000.0, true)] {
            let mut b = bench(&[]);
            constant_of(&mut b, 50, rate, 3.0);
            assert_eq!(b.probe("probability", 0) > 0.1, rises, "{rate}");
        }
    }

    /// After five time constants the estimate, which starts at zero, is within 0.7 % of the true rate, because e^-5
    /// remains.
    #[test]
    fn the_estimate_comes_within_0_7_percent_in_five_time_constants() {
        for rate in [80_000.0, 1_000_000.0, 7_300_000.0] {
            let mut b = bench(&[]);
            constant(&mut b, rate, 0.5);
            let x = b.probe("arrival_rate", 0);
            assert!((x / rate - 1.0).abs() < 0.007, "{x} for {rate}");
            assert!((x / rate - 1.0).abs() > 0.006, "{x} for {rate} is too good for e^-5");
        }
    }

    /// Packets that arrive at one instant count as one packet of their total size.
    #[test]
    fn what_comes_at_one_instant_counts_together() {
        let (mut total_rate, mut part_rates) = (
            ArrivalRate::new(Duration::from_millis(100)),
            ArrivalRate::new(Duration::from_millis(100)),
        );
        for ms in (0..1000).step_by(10) {
            let now = Time::ZERO + Duration::from_millis(ms);
            total_rate.arrival(1500, now);
            for _ in 0..3 {
                part_rates.arrival(500, now);
            }
        }
        // The last instant is not yet included.
        assert!(
            (part_rates.value() / total_rate.value() - 1.0).abs() < 0.01,
            "{part_rates:?} {total_rate:?}"
        );
        assert!((total_rate.value() / 1.2e6 - 1.0).abs() < 0.06, "{total_rate:?}");
    }

    /// Without arrivals, the estimate that is used decays with time, so the probability falls.
    #[test]
    fn silence_brings_the_probability_down() {
        let mut b = bench(&[]);
        constant(&mut b, 4_000_000.0, 2.0);
        assert!(b.probe("probability", 0) > 0.18);
        b.pass(Duration::from_seconds(3.0));
        assert_eq!(b.probe("probability", 0), 0.0);
    }

    #[test]
    fn it_signals_with_its_probability_and_marks_what_is_capable() {
        let mut b = bench(&[("step", "0.25"), ("period", "100s"), ("ecn", "true")]);
        b.pass(Duration::from_seconds(99.0));
        constant(&mut b, 3_000_000.0, 1.0);
        b.pass(Duration::from_millis(5));
        assert_eq!(b.probe("probability", 0), 0.25);
        let n = 100_000;
        for id in 0..n {
            let p = TestPacket::new(id, 0, 500);
            b.arrive(if id % 2 == 0 { p.capable() } else { p });
            if let Some(p) = b.take() {
                assert!(p.ecn != Ecn::Ce || p.id % 2 == 0);
            }
        }
        for count in [
            b.log.marks(MarkReason::Early).len(),
            b.log.drops(DropReason::Early).len(),
        ] {
            assert!((count as f64 / n as f64 - 0.125).abs() < 0.005, "{count}");
        }
    }

    #[test]
    fn a_full_buffer_drops_even_what_could_be_marked() {
        let mut b = bench(&[("buffer", "3 packets"), ("ecn", "true")]);
        for id in 0..5 {
            b.arrive(TestPacket::new(id, 0, 500).capable());
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [3, 4]);
    }
}
