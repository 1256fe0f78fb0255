//! PI: a proportional-integral controller that keeps the queue at a reference.
//!
//! With RED the persistent queue depends on the load, because the signal probability depends on the backlog alone. PI
//! integrates the error: the probability changes as long as the queue is not at `reference`, so the queue settles at
//! `reference` under any load. Measure: the sampled backlog. Function: `p += a * error - b * error before`. Action: a
//! drop (early), or with `ecn` a mark.
//!
//! ```text
//! every 1 / frequency:  p = clamp(p + a * (q - reference) - b * (q before - reference), 0, 1)
//! an arriving packet is signalled with probability p, with `bytes` p * size / mean_packet
//! ```
//!
//! From: Hollot, Misra, Towsley, Gong, "On designing improved controllers for AQM routers supporting TCP flows",
//! INFOCOM 2001, for the control law, its discrete form and the published constants. `design_flows` and `design_rtt`
//! derive `a` and `b` by the design rule of that paper. The zero of the controller is at the pole of the window, 2 N /
//! (R^2 C), and the loop gain is one there. Sampling is trapezoidal.
//!
//! State: `p`, 0 to 1; the backlog at the last sample, packets; the number of samples so far, so that the n-th is at n
//! / frequency without drift. The first sample is taken one period after the start, and samples continue while the line
//! is idle. If a queue is first used in the middle of a run, earlier samples are skipped.
//!
//! Departures: an arrival that does not fit is dropped before the random test, and no random number is drawn for it. If
//! the buffer is in bytes, `mean_packet` bytes count as a packet.
//!
//! Cost of a packet: one random draw while p is between 0 and 1. Cost of a sample: a few multiplications, 170 times a
//! second.

use crate::contract::admission::{Admission, Decision, Waiting, early};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, Out, ProbeId};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, COUNT_IN_SERVICE, ECN};
use tailback_base::model::{Alias, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Key, Kind, Level, Model, Packet, ProbeDef, Settings, Size, Time, params};

/// Values that can be recorded.
const READ: [Probe<Pi>; 1] = [Probe::new(
    "probability",
    "",
    "Signal probability since the last sample",
    |q, _| q.probability,
)];

pub static MODEL: Model = Model {
    name: "pi",
    family: "queue",
    title: "Proportional-integral controller",
    summary: "Holds the queue at a reference under any load. Measure: the sampled backlog. Function: a probability \
              that changes while the queue is not at the reference. Action: drop (early); with ecn, mark ECN-capable \
              packets instead.",
    source: "Hollot, Misra, Towsley, Gong, INFOCOM 2001",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    pub BUFFER: Size = params::BUFFER.with_default("800 packets", "Hollot et al. 2001");
    pub REFERENCE: Level = Key::new("reference", Kind::Level, "200 packets",
        "The backlog to which the queue is controlled. If it is in packets and the buffer in bytes, a packet counts as \
         mean_packet.",
        "Hollot et al. 2001; ns-2 has 50");
    A: f64 = Key::new("a", Kind::Real { min: 0.0, max: 1.0 }, "1.822e-5",
        "Gain of the present error, per packet.", "Hollot et al. 2001");
    B: f64 = Key::new("b", Kind::Real { min: 0.0, max: 1.0 }, "1.816e-5",
        "Gain of the previous error, per packet; smaller than a.", "Hollot et al. 2001");
    FREQUENCY: f64 = Key::new("frequency", Kind::Real { min: 0.01, max: 1e6 }, "170",
        "Samples a second.", "Hollot et al. 2001");
    DESIGN_FLOWS: Option<u64> = Key::new("design_flows", Kind::Count { min: 1, max: 10_000_000 }, "none",
        "The least number of flows with which the control is to be stable. The gains a and b are computed from this \
         number, design_rtt and the line's rate.",
        "Hollot et al. 2001 (N-)");
    DESIGN_RTT: Option<Duration> = Key::new("design_rtt", Kind::Time { min: 1e-6, max: 100.0 }, "none",
        "The longest round trip with which the control is to be stable.", "Hollot et al. 2001 (R+)");
    BYTES: bool = Key::new("bytes", Kind::Bool, "false",
        "Multiply the probability by size / mean_packet.", "ns-2 bytes_");
    pub MEAN_PACKET: u64 = Key::new("mean_packet", Kind::Bytes { min: 1, max: 65_535 }, "500B",
        "Mean packet size, for the design, byte mode and buffers in bytes.", "ns-2 meanPktSize_");
    ECN;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Pi>(&MODEL, Facts::WITH_ECN.also(const { &[Alias::ns2("PI")] }))
}

impl Configured for Pi {
    /// # Errors
    /// A reference in another unit than the buffer's, an incomplete design, or gains that contradict each other.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let (buffer, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let frequency = s.get(&FREQUENCY);
        let (a, b) = gains(s, context.rate, mean_packet, frequency)?;
        // The amount that a packet adds to the backlog, in the unit of the buffer.
        let packet = capacity::packet(buffer, mean_packet);
        Ok(Pi {
            a,
            b,
            reference: capacity::threshold(s, &REFERENCE, buffer, mean_packet)? / packet,
            packet,
            weigh_by: s.get(&BYTES).then_some(mean_packet as f64),
            ecn: params::ecn(s),
            frequency,
            samples: 0,
            before: 0.0,
            probability: 0.0,
            context,
        })
    }
}

fn gains(s: &Settings, rate: BitRate, mean_packet: u64, frequency: f64) -> Result<(f64, f64), Refusal> {
    match (s.get(&DESIGN_FLOWS), s.get(&DESIGN_RTT)) {
        (None, None) => {
            let (a, b) = (s.get(&A), s.get(&B));
            if a < b {
                return Err(Refusal::new(
                    format!("a = {a} is smaller than b = {b}: the probability would move away from the reference"),
                    "give a of at least b",
                ));
            }
            Ok((a, b))
        }
        (Some(flows), Some(rtt)) => {
            if let Some(derived) = [A, B].into_iter().find(|key| s.gives(key)) {
                return Err(Refusal::new(
                    format!(
                        "{} is given, but it is computed from design_flows and design_rtt",
                        derived.name
                    ),
                    format!("leave out {}, or design_flows and design_rtt", derived.name),
                ));
            }
            let capacity = rate.bits_per_second() / (8.0 * mean_packet as f64);
            Ok(design(capacity, flows as f64, rtt.seconds(), frequency))
        }
        (flows, _) => {
            let (has, lacks) = match flows {
                None => (DESIGN_RTT.name, DESIGN_FLOWS.name),
                Some(_) => (DESIGN_FLOWS.name, DESIGN_RTT.name),
            };
            Err(Refusal::new(
                format!("{has} needs {lacks}: a and b are computed from both"),
                format!("give {lacks}, or leave out {has}"),
            ))
        }
    }
}

/// The gains for a line of `capacity` packets per second, at least `flows` flows, and round trips of at most `rtt`
/// seconds.
fn design(capacity: f64, flows: f64, rtt: f64, frequency: f64) -> (f64, f64) {
    let zero = 2.0 * flows / (rtt * rtt * capacity);
    // K (1 + s / zero) / s times the plant C^2 / (2 N) / ((s + zero) (s + 1 / R)) has a gain of one at s = j zero.
    let integral = zero * zero * libm::hypot(zero, 1.0 / rtt) * 2.0 * flows / (capacity * capacity);
    let (middle, half) = (integral / zero, integral / (2.0 * frequency));
    (middle + half, middle - half)
}

/// PI's decision.
#[derive(Clone, Debug)]
pub struct Pi {
    /// The gain on the present error, per packet.
    a: f64,
    b: f64,
    /// The reference, packets.
    reference: f64,
    /// The amount that a packet adds to the backlog, in the unit of the buffer.
    packet: f64,
    /// The mean packet size, bytes, if the probability is weighted by packet size.
    weigh_by: Option<f64>,
    ecn: bool,
    /// The number of samples a second.
    frequency: f64,
    samples: u64,
    /// The backlog at the last sample, packets.
    before: f64,
    probability: f64,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl<P: Packet> Admission<P> for Pi {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, out: &mut dyn Out<P>) -> Decision {
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let weight = self.weigh_by.map_or(1.0, |mean| f64::from(p.bytes()) / mean);
        early(
            self.context.stream.chance((self.probability * weight).min(1.0)),
            p,
            self.ecn,
            out,
        )
    }

    fn next_timer(&self) -> Option<Time> {
        Some(Time::from_seconds((self.samples + 1) as f64 / self.frequency))
    }

    fn on_timer(&mut self, queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        if line.now > Time::from_seconds((self.samples + 1) as f64 / self.frequency) {
            let passed = line.now.since(Time::ZERO).seconds() * self.frequency;
            self.samples = (self.samples + 1).max(passed as u64);
            return;
        }
        let q = queue.level() / self.packet;
        let step = self.a * (q - self.reference) - self.b * (self.before - self.reference);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.before = q;
        self.samples += 1;
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The probability and the last sample stay. Gains from a design are computed with the line rate at the start.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Pi::configured(s, self.context.clone())?;
        new.samples = match new.frequency == self.frequency {
            true => self.samples,
            // The next sample is not earlier than the one that is already due.
            false => libm::ceil((self.samples + 1) as f64 / self.frequency * new.frequency) as u64 - 1,
        };
        new.before = self.before * (self.packet / new.packet);
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
    use tailback_base::{Duration, Ecn, Stream};

    fn context() -> BuildContext {
        BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(15_000_000),
            delay: Duration::ZERO,
        }
    }

    fn settings(with: &[(&str, &str)]) -> Settings {
        let base = Settings::defaults(&MODEL).with("reference", "50 packets");
        with.iter().fold(base, |s, (name, text)| s.with(name, text))
    }

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Pi>> {
        let settings = settings(with);
        let pi = Pi::configured(&settings, context()).unwrap();
        Bench::new(Fifo::from_settings(&settings, pi))
    }

    fn fill(b: &mut Bench<Fifo<TestPacket, Pi>>, packets: u64) {
        for id in 0..packets {
            b.arrive(TestPacket::new(id, 0, 500));
        }
    }

    /// A constant backlog changes the probability by (a - b) (q - reference) per sample. A jump of the backlog by d
    /// packets changes it by a d at once.
    #[test]
    fn the_error_is_added_up() {
        let mut b = bench(&[]);
        fill(&mut b, 150);
        b.pass(Duration::from_seconds(1.5 / 170.0));
        let jump = 1.822e-5 * 100.0 + 1.816e-5 * 50.0;
        assert!((b.probe("probability", 0) - jump).abs() < 1e-12);
        b.pass(Duration::from_seconds(1.0));
        let growth = 170.0 * (1.822e-5 - 1.816e-5) * 100.0;
        assert!((b.probe("probability", 0) - jump - growth).abs() < 1e-12);
        // The probability grows by 1.02e-5 per packet of error and second.
        assert!((growth - 1.02e-3).abs() < 1e-12);
    }

    /// The queue is created after ten seconds, with a backlog. Samples are taken from then on, and the time before is
    /// ignored.
    #[test]
    fn samples_from_before_it_was_made_are_not_made_up_for() {
        let mut b = bench(&[]);
        b.by_hand.now = Time::from_seconds(10.0);
        fill(&mut b, 150);
        b.pass(Duration::ZERO);
        assert_eq!(b.probe("probability", 0), 0.0);
        b.pass(Duration::from_seconds(1.5 / 170.0));
        let jump = 1.822e-5 * 100.0 + 1.816e-5 * 50.0;
        let more = b.probe("probability", 0) - jump;
        assert!((0.0..1e-5).contains(&more), "one sample or two: {more}");
    }

    /// Below the reference the probability falls, but not below zero, and it continues to fall while no packets arrive.
    #[test]
    fn an_empty_queue_takes_it_to_zero() {
        let mut b = bench(&[("a", "2e-3"), ("b", "1e-3")]);
        fill(&mut b, 150);
        b.pass(Duration::from_seconds(1.5 / 170.0));
        let high = b.probe("probability", 0);
        assert!(high > 0.2);
        b.drain();
        b.pass(Duration::from_seconds(0.5 / 170.0));
        b.pass(Duration::from_seconds(20.0 / 170.0));
        assert_eq!(b.probe("probability", 0), 0.0);
        let mut b = bench(&[("a", "0.5"), ("b", "0")]);
        fill(&mut b, 150);
        b.pass(Duration::from_seconds(1.0));
        assert_eq!(b.probe("probability", 0), 1.0);
    }

    #[test]
    fn it_signals_with_its_probability_and_marks_what_is_capable() {
        for (bytes, expected) in [("false", 0.25), ("true", 0.5)] {
            let gain = ("a", "2.5e-3");
            let mut b = bench(&[gain, ("b", "0"), ("ecn", "true"), ("bytes", bytes), ("frequency", "1")]);
            fill(&mut b, 150);
            b.pass(Duration::from_seconds(1.0));
            assert!((b.probe("probability", 0) - 0.25).abs() < 1e-12);
            b.drain();
            let n = 100_000;
            for id in 0..n {
                let p = TestPacket::new(1000 + id, 0, 1000);
                b.arrive(if id % 2 == 0 { p.capable() } else { p });
                if let Some(p) = b.take() {
                    assert!(p.ecn != Ecn::Ce || p.id % 2 == 0);
                }
            }
            let counts = [
                b.log.marks(MarkReason::Early).len(),
                b.log.drops(DropReason::Early).len(),
            ];
            for count in counts {
                let share = 2.0 * count as f64 / n as f64;
                assert!((share - expected).abs() < 0.01, "{share} for {expected}");
            }
        }
    }

    #[test]
    fn a_full_buffer_drops_even_what_could_be_marked() {
        let mut b = bench(&[("buffer", "60 packets"), ("ecn", "true")]);
        for id in 0..61 {
            b.arrive(TestPacket::new(id, 0, 500).capable());
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [60]);
    }

    /// A buffer in bytes is sampled in mean packets.
    #[test]
    fn a_buffer_in_bytes_has_the_same_law() {
        let mut b = bench(&[("buffer", "400kB")]);
        fill(&mut b, 150);
        b.pass(Duration::from_seconds(1.5 / 170.0));
        let jump = 1.822e-5 * 100.0 + 1.816e-5 * 50.0;
        assert!((b.probe("probability", 0) - jump).abs() < 1e-12);
    }

    /// The case of section V has a line of 15 Mb/s, packets of 500 B, 60 flows and a round trip of 246 ms. The rule
    /// gives gains 1.7 % above the published pair.
    #[test]
    fn the_design_rule_gives_the_published_gains() {
        let (a, b) = design(3750.0, 60.0, 0.246, 170.0);
        assert!(
            (a / 1.853e-5 - 1.0).abs() < 1e-3 && (b / 1.847e-5 - 1.0).abs() < 1e-3,
            "{a} {b}"
        );
        let by_text = settings(&[("design_flows", "60"), ("design_rtt", "246ms")]);
        let pi = Pi::configured(&by_text, context()).unwrap();
        assert_eq!((pi.a, pi.b), (a, b));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (overrides, says) in [
            (vec![("a", "1e-5"), ("b", "2e-5")], "smaller than b"),
            (vec![("design_flows", "60")], "needs design_rtt"),
            (vec![("design_rtt", "100ms")], "needs design_flows"),
            (
                vec![("design_flows", "60"), ("design_rtt", "100ms"), ("a", "1e-4")],
                "computed from design_flows",
            ),
        ] {
            let e = Pi::configured(&settings(&overrides), context()).unwrap_err();
            assert!(format!("{e:?}").contains(says), "{e:?}");
        }
    }
}
