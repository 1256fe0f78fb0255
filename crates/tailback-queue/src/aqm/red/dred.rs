//! Dynamic RED: a controller that keeps the backlog at a target for any number of flows.
//!
//! A ramp needs a longer queue for a stronger signal. DRED instead integrates the filtered error between backlog and
//! target, so the probability changes until the backlog is at the target. Below a cut-off no packets are signalled. So
//! the line does not become idle while the probability is still too high after a busier time. Measure: the sampled
//! backlog. Function: an integral controller. Action: a drop (early), or with `ecn` a mark.
//!
//! ```text
//! every interval:  e = q - target;  filtered += filter * (e - filtered)
//!                  pd = clamp(pd + gain * filtered / buffer, 0, max_probability)
//! an arrival that finds q >= cutoff is signalled with probability pd
//! ```
//!
//! From: Aweya, Ouellette, Montuno, "A control theoretic approach to active queue management", Computer Networks 36
//! (2001).
//!
//! State: the filtered error, in the unit of the buffer; `pd`; the time of the next sample. The first sample is taken
//! one interval after the start, and samples continue while the line is idle.
//!
//! Departures. The overflow test comes first, so no random number is drawn for a packet that does not fit.
//!
//! Cost of a packet: one random draw while pd is between 0 and 1 and the queue is at the cut-off or above. Cost of a
//! sample: a few multiplications, every ten packet times.

use crate::aqm::red::params::{MEAN_PACKET, PROBABILITY};
use crate::aqm::ticks::Ticks;
use crate::contract::admission::{Admission, Congestion, Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, MarkReason, Out, ProbeId, signal};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, COUNT_IN_SERVICE, ECN};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Level, Model, Packet, ProbeDef, Settings, Size, Time, params};

const SOURCE: &str = "Aweya, Ouellette, Montuno 2001";

/// Values that can be recorded.
const READ: [Probe<Dred>; 2] = [
    Probe::new(
        "probability",
        "",
        "Signal probability since the last sample, for backlogs from the cut-off on",
        |q, _| q.probability,
    ),
    Probe::new(
        "error",
        "unit of the buffer",
        "Filtered error at the last sample",
        |q, _| q.error,
    ),
];

pub static MODEL: Model = Model {
    name: "dred",
    family: "queue",
    title: "Dynamic RED",
    summary: "Holds the backlog at a target under any load. Measure: the sampled backlog. Function: a probability that \
              changes in proportion to the filtered error. Action: drop (early); with ecn, mark ECN-capable packets \
              instead; below the cut-off, no packet is signalled.",
    source: SOURCE,
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    TARGET: Level = Key::new("target", Kind::Level, "50%",
        "The backlog to which the queue is controlled.", SOURCE);
    GAIN: f64 = Key::new("gain", Kind::Real { min: 0.0, max: 1.0 }, "5e-5",
        "The gain: how much the probability changes in one sample if the error is as large as the buffer.", SOURCE);
    FILTER: f64 = Key::new("filter", Kind::Real { min: 0.0, max: 1.0 }, "0.002",
        "Weight of a new error in the filtered error.", SOURCE);
    INTERVAL: Option<Duration> = Key::new("interval", Kind::Time { min: 1e-7, max: 100.0 }, "none",
        "Time between samples. Default: the time that ten mean packets take on the line.", SOURCE);
    CUTOFF: Option<Level> = Key::new("cutoff", Kind::Level, "none",
        "The backlog below which no packet is signalled. Default: 0.9 of the target.", SOURCE);
    MAX_PROBABILITY: f64 = Key::new("max_probability", PROBABILITY, "1",
        "The largest value of the probability.", SOURCE);
    ECN;
    MEAN_PACKET;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Dred>(&MODEL, Facts::WITH_ECN)
}

impl Configured for Dred {
    /// # Errors
    /// An unlimited buffer, levels in another unit, or a cut-off above the target.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let (limit, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let buffer = match limit {
            Size::Packets(n) | Size::Bytes(n) => n as f64,
            Size::Unlimited => {
                return Err(Refusal::new(
                    "the error is measured against the buffer, which is unlimited",
                    "give a buffer",
                )
                .within("buffer"));
            }
        };
        let target = capacity::threshold(s, &TARGET, limit, mean_packet)?;
        let cutoff = capacity::threshold_if_given(s, &CUTOFF, limit, mean_packet)?.unwrap_or(0.9 * target);
        if cutoff > target {
            return Err(Refusal::new(
                format!("cutoff ({cutoff}) is above target ({target}): the queue cannot be held at the target then"),
                "give a cutoff of at most the target; 0.9 of it is advised",
            ));
        }
        let interval = s.get(&INTERVAL).unwrap_or(context.rate.time_of(10 * mean_packet));
        Ok(Dred {
            target,
            cutoff,
            gain: s.get(&GAIN) / buffer,
            filter: s.get(&FILTER),
            max_probability: s.get(&MAX_PROBABILITY),
            ecn: params::ecn(s),
            ticks: Ticks::new(interval),
            error: 0.0,
            probability: 0.0,
            context,
        })
    }
}

/// DRED's decision. All levels are in the unit of the buffer.
#[derive(Clone, Debug)]
pub struct Dred {
    target: f64,
    cutoff: f64,
    /// The gain per unit of error.
    gain: f64,
    filter: f64,
    max_probability: f64,
    ecn: bool,
    ticks: Ticks,
    /// The filtered error.
    error: f64,
    probability: f64,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl<P: Packet> Admission<P> for Dred {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, out: &mut dyn Out<P>) -> Decision {
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let selected = queue.level() >= self.cutoff && self.context.stream.chance(self.probability);
        if selected && !signal(p, self.ecn, MarkReason::Early, out) {
            return Decision::Drop(DropReason::Early);
        }
        Decision::Store
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.next())
    }

    fn on_timer(&mut self, queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        if self.ticks.tick(line.now) {
            self.error += self.filter * (queue.level() - self.target - self.error);
            let moved = self.probability + self.gain * self.error;
            self.probability = moved.clamp(0.0, self.max_probability);
        }
    }

    fn congestion(&self) -> Option<Congestion> {
        Some(Congestion {
            average: self.target + self.error,
            threshold: self.cutoff,
        })
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The filtered error and the probability stay.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Dred::configured(s, self.context.clone())?;
        new.ticks.follow(&self.ticks);
        (new.error, new.probability) = (self.error, self.probability);
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Duration, Stream};

    fn build(with: &[(&str, &str)]) -> Result<(Settings, Dred), Refusal> {
        let s = with
            .iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        let dred = Dred::configured(&s, context)?;
        Ok((s, dred))
    }

    /// With packets of 500 B at 1 Mb/s, a packet takes 4 ms, and there is a sample every 40 ms.
    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Dred>> {
        let (s, dred) = build(with).unwrap_or_else(|e| panic!("{e}"));
        Bench::new(Fifo::from_settings(&s, dred))
    }

    fn hold(b: &mut Bench<Fifo<TestPacket, Dred>>, packets: u64) {
        while b.backlog().packets > packets {
            b.serve();
        }
        while b.backlog().packets < packets {
            b.queue.ring.push(TestPacket::new(0, 0, 500), Time::ZERO);
        }
    }

    fn samples(b: &mut Bench<Fifo<TestPacket, Dred>>, n: u64) {
        b.pass(Duration::from_millis(40 * n));
    }

    #[test]
    fn once_the_error_has_settled_the_probability_climbs_evenly() {
        let mut b = bench(&[]);
        hold(&mut b, 70); // 20 above the target
        samples(&mut b, 20_000);
        assert!((b.probe("error", 0) - 20.0).abs() < 1e-9);
        let before = b.probe("probability", 0);
        samples(&mut b, 1000);
        let climbed = b.probe("probability", 0) - before;
        assert!((climbed - 1000.0 * 5e-5 * 20.0 / 100.0).abs() < 1e-9, "{climbed}");
    }

    #[test]
    fn the_first_sample_by_hand() {
        let mut b = bench(&[("filter", "0.5"), ("gain", "0.1")]);
        hold(&mut b, 60);
        b.pass(Duration::from_millis(39));
        assert_eq!(b.probe("probability", 0), 0.0);
        b.pass(Duration::from_millis(1));
        assert_eq!(b.probe("error", 0), 5.0);
        assert!((b.probe("probability", 0) - 0.1 * 5.0 / 100.0).abs() < 1e-15);
        hold(&mut b, 0); // an empty queue is an error of -50
        samples(&mut b, 1);
        assert_eq!(b.probe("error", 0), -22.5);
        assert_eq!(b.probe("probability", 0), 0.0, "and no lower");
    }

    #[test]
    fn below_the_cutoff_nothing_is_signalled_whatever_the_probability() {
        let mut b = bench(&[("filter", "1"), ("gain", "1")]);
        hold(&mut b, 100);
        samples(&mut b, 3);
        assert_eq!(b.probe("probability", 0), 1.0);
        hold(&mut b, 44);
        for id in 1..3 {
            b.arrive(TestPacket::new(id, 0, 500)); // finds 44, then 45
        }
        assert_eq!(b.log.drops(DropReason::Early), [2]);
        assert_eq!(b.backlog().packets, 45);
    }

    #[test]
    fn the_cap_bounds_what_is_lost_and_ecn_marks() {
        let mut b = bench(&[
            ("filter", "1"),
            ("gain", "1"),
            ("max_probability", "0.25"),
            ("ecn", "true"),
        ]);
        hold(&mut b, 90);
        samples(&mut b, 3);
        for id in 0..20_000 {
            hold(&mut b, 90);
            b.arrive(TestPacket::new(id, 0, 500).capable());
        }
        let share = b.log.marks(MarkReason::Early).len() as f64 / 20_000.0;
        assert!((share - 0.25).abs() < 0.01 && b.log.dropped.is_empty(), "{share}");
    }

    /// A source that responds sends at its rate times 1 - 2 pd. The queue reaches the target for each of these rates.
    #[test]
    fn under_any_load_the_queue_settles_at_the_target() {
        for load in [1.1, 1.5] {
            let mut b = bench(&[("gain", "5e-4")]);
            let (mut credit, mut queue_lengths) = (0.0, vec![]);
            for id in 0..250_000_u64 {
                credit += load * (1.0 - 2.0 * b.probe("probability", 0));
                while credit >= 1.0 {
                    credit -= 1.0;
                    b.arrive(TestPacket::new(id, 0, 500));
                }
                b.serve();
                b.pass(Duration::from_millis(4));
                if id > 200_000 {
                    queue_lengths.push(b.backlog().packets as f64);
                }
            }
            let mean = queue_lengths.iter().sum::<f64>() / queue_lengths.len() as f64;
            assert!((mean - 50.0).abs() < 5.0, "load {load}: {mean}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (overrides, says) in [
            (("buffer", "unlimited"), "unlimited"),
            (("cutoff", "60 packets"), "above target"),
            (("target", "3KB"), "counted in packets"),
        ] {
            let e = build(&[overrides]).unwrap_err();
            assert!(e.problem.contains(says), "{e}");
        }
    }
}
