//! GREEN of Feng, Kapadia and Thulasidasan: signals each flow with the probability that the TCP equation gives for
//! its fair share.
//!
//! A TCP with segments of `mss` and round trip R that sees a signal with probability p sends at about MSS c / (R
//! sqrt(p)). This equation, solved for p at the rate C / n, gives the probability for each of n flows. Flows with long
//! round trips are signalled less, so all flows get the same rate, which RED and drop-tail do not achieve. The
//! algorithm needs the round trip of each flow, which routers do not measure. Here a table gives it. Measure: the
//! number of flows. Function: the equation. Action: a drop (early), or with `ecn` a mark. The other algorithm of this
//! name is `green` ([`green`](crate::aqm::load::green)).
//!
//! ```text
//! p_i = min(1, (n MSS constant / (C R_i))^2)
//! ```
//!
//! From: Feng, Kapadia, Thulasidasan, "GREEN: proactive queue management over a best-effort network", GLOBECOM 2002;
//! the equation is that of Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance
//! algorithm", 1997.
//!
//! State: for each flow its number, in the order of first arrival, which selects its round trip from the list; the time
//! when it was last seen; n, which is given, or is the number of flows seen within `window`.
//!
//! Departures: the paper leaves open where round trips come from. It names estimates by address, and senders that
//! report their round trips. Flows are counted exactly, while the paper suggests a bit for each hash of a flow.
//!
//! Cost of a packet: one random draw while its probability is below 1, and O(log n) to count flows.

use crate::contract::admission::{Admission, Decision, Waiting, early};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, Out, ProbeId};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, ECN};
use crate::pieces::classify::per_flow::PerFlow;
use std::collections::BTreeSet;
use tailback_base::model::{Per, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Packet, ProbeDef, Settings, Time, params};

/// Values that can be recorded.
const READ: [Probe<GreenTcp>; 2] = [
    Probe::new("probability", "", "Signal probability of the last arrival", |q, _| {
        q.probability
    }),
    Probe::new("flows", "", "Flows counted at the last arrival", |q, _| q.flows as f64),
];

pub static MODEL: Model = Model {
    name: "green-tcp",
    family: "queue",
    title: "GREEN (by the TCP equation)",
    summary: "Signals each flow with the probability at which a TCP flow with its round trip would send the fair \
              share. Measure: the number of flows. Function: the TCP equation, with a table of round trips. Action: \
              drop (early); with ecn, mark ECN-capable packets instead.",
    source: "Feng, Kapadia, Thulasidasan, GLOBECOM 2002",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    RTT: Vec<Duration> = Key::new("rtt", Kind::Each(Per::Flow, &Kind::Time { min: 1e-6, max: 100.0 }), "100ms",
        "Round trips of the flows, in the order in which the flows first arrive here.", "Feng et al. 2002 (RTT_i)");
    FLOWS: Option<u64> = Key::new("flows", Kind::Count { min: 1, max: 10_000_000 }, "none",
        "How many flows share the line. Default: the flows that were seen within `window` are counted.",
        "Feng et al. 2002 (N)");
    WINDOW: Duration = Key::new("window", Kind::Time { min: 1e-6, max: 1000.0 }, "1s",
        "A flow is counted until none of its packets has arrived for this long.", "tailback");
    MSS: u64 = Key::new("mss", Kind::Bytes { min: 1, max: 65_535 }, "1460B",
        "Segment size of the flows.", "Feng et al. 2002 (MSS)");
    CONSTANT: f64 = Key::new("constant", Kind::Real { min: 0.0, max: 10.0 }, "1.224744871391589",
        "Constant of the TCP equation: the square root of 3/2, or 0.93 with delayed acknowledgements.",
        "Mathis et al. 1997");
    ECN;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<GreenTcp>(&MODEL, Facts::WITH_ECN)
}

impl Configured for GreenTcp {
    /// # Errors
    /// Both a number of flows and a window to count flows in are given.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let count = match (s.get(&FLOWS), s.gives(&WINDOW)) {
            (Some(_), true) => {
                return Err(Refusal::new(
                    "flows and window are both given: flows is the number of flows, and window says how they are \
                     counted",
                    "leave out flows or window",
                ));
            }
            (Some(flows), false) => Count::Given(flows),
            (None, _) => Count::Seen(Active::new(s.get(&WINDOW))),
        };
        Ok(GreenTcp {
            rtts: s.get(&RTT),
            numbers: PerFlow::new(),
            count,
            segment: 8.0 * s.get(&MSS) as f64 * s.get(&CONSTANT),
            ecn: params::ecn(s),
            flows: 0,
            probability: 0.0,
            context,
        })
    }
}

/// How the number of flows is determined.
#[derive(Clone, Debug)]
enum Count {
    Given(u64),
    Seen(Active),
}

/// The flows that have sent a packet within a window.
#[derive(Clone, Debug)]
struct Active {
    window: Duration,
    /// For each flow, by its number, the time when it was last seen. A flow that counts is also in `order`.
    last: Vec<Option<Time>>,
    order: BTreeSet<(Time, u32)>,
}

impl Active {
    fn new(window: Duration) -> Active {
        Active {
            window,
            last: vec![],
            order: BTreeSet::new(),
        }
    }

    /// This flow sends a packet. Returns how many flows count now.
    fn seen(&mut self, flow: u32, now: Time) -> u64 {
        while let Some(&(last, idle)) = self.order.first() {
            if now.since(last) <= self.window {
                break;
            }
            self.order.pop_first();
            self.last[idle as usize] = None;
        }
        if self.last.len() <= flow as usize {
            self.last.resize(flow as usize + 1, None);
        }
        if let Some(before) = self.last[flow as usize].replace(now) {
            self.order.remove(&(before, flow));
        }
        self.order.insert((now, flow));
        self.order.len() as u64
    }
}

/// The decision.
#[derive(Clone, Debug)]
pub struct GreenTcp {
    /// The round trips. The flows use them in turn.
    rtts: Vec<Duration>,
    numbers: PerFlow,
    count: Count,
    /// MSS times the constant, bits.
    segment: f64,
    ecn: bool,
    /// The number of flows at the last arrival.
    flows: u64,
    probability: f64,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl<P: Packet> Admission<P> for GreenTcp {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let flow_number = self.numbers.number(p.flow());
        self.flows = match &mut self.count {
            Count::Given(flows) => *flows,
            Count::Seen(active) => active.seen(flow_number, line.now),
        };
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let rtt = self.rtts[flow_number as usize % self.rtts.len()].seconds();
        let windows = self.flows as f64 * self.segment / (line.rate.bits_per_second() * rtt);
        self.probability = (windows * windows).min(1.0);
        early(self.context.stream.chance(self.probability), p, self.ecn, out)
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The numbers of the flows stay, and the set of flows that count stays too.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = GreenTcp::configured(s, self.context.clone())?;
        if let (Count::Seen(active), Count::Seen(before)) = (&mut new.count, &mut self.count) {
            (active.last, active.order) = (std::mem::take(&mut before.last), std::mem::take(&mut before.order));
        }
        std::mem::swap(&mut new.numbers, &mut self.numbers);
        (new.flows, new.probability) = (self.flows, self.probability);
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
    use tailback_base::model::Raw;
    use tailback_base::{BitRate, Ecn, Stream};

    fn settings(with: &[(&str, &str)]) -> Settings {
        with.iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
    }

    fn context() -> BuildContext {
        BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(10_000_000),
            delay: Duration::ZERO,
        }
    }

    fn bench_of(settings: &Settings, rate: u64) -> Bench<Fifo<TestPacket, GreenTcp>> {
        let mut b = Bench::new(Fifo::from_settings(
            settings,
            GreenTcp::configured(settings, context()).unwrap(),
        ));
        b.rate = BitRate(rate);
        b
    }

    /// The expected probability is (10 * 4000 bit * 1.2247 / (10 Mb/s * 0.1 s))^2 = 0.0024. In the second case the
    /// constant is 0.93 instead of the root of 3/2.
    #[test]
    fn the_probability_is_that_of_the_equation() {
        for (constant, expected) in [("1.224744871391589", 0.0024), ("0.93", 0.00138384)] {
            let set = settings(&[("flows", "10"), ("mss", "500B"), ("constant", constant)]);
            let mut b = bench_of(&set, 10_000_000);
            b.arrive(TestPacket::new(0, 0, 500));
            assert!((b.probe("probability", 0) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn flows_take_round_trips_in_the_order_in_which_they_come() {
        let mut set = settings(&[("flows", "10"), ("mss", "500B")]);
        let list = ["100ms", "200ms"].map(|t| Raw::Text(t.into()));
        set.set("rtt", &Raw::List(list.to_vec())).unwrap();
        let mut b = bench_of(&set, 10_000_000);
        for (flow, expected) in [(7, 0.0024), (3, 0.0006), (9, 0.0024), (3, 0.0006), (7, 0.0024)] {
            b.arrive(TestPacket::new(0, flow, 500));
            assert!((b.probe("probability", 0) - expected).abs() < 1e-12, "{flow}");
        }
    }

    /// A flow counts until it has sent no packet for longer than the window.
    #[test]
    fn flows_are_counted_within_the_window() {
        let mut b = bench_of(&settings(&[("buffer", "unlimited")]), 1_000_000_000);
        let mut count = |ms: u64, flow: u32| {
            b.pass(Duration::from_millis(ms));
            b.arrive(TestPacket::new(0, flow, 500));
            b.probe("flows", 0)
        };
        assert_eq!(
            [count(0, 1), count(0, 2), count(500, 3), count(0, 1)],
            [1.0, 2.0, 3.0, 3.0]
        );
        assert_eq!(count(500, 3), 3.0, "the second was seen a second ago");
        assert_eq!(count(1, 3), 2.0, "and now longer ago");
        assert_eq!(count(5_000, 2), 1.0);
    }

    #[test]
    fn it_signals_with_its_probability_and_marks_what_is_capable() {
        // The probability is (20 * 8000 / (1 Mb/s * 0.32 s))^2 = 1/4.
        let set = settings(&[
            ("flows", "20"),
            ("mss", "1000B"),
            ("constant", "1"),
            ("rtt", "320ms"),
            ("ecn", "true"),
        ]);
        let mut b = bench_of(&set, 1_000_000);
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
    fn a_full_buffer_drops_and_the_probability_ends_at_one() {
        let mut b = bench_of(
            &settings(&[("buffer", "2 packets"), ("flows", "10000"), ("ecn", "true")]),
            1_000_000,
        );
        for id in 0..3 {
            b.arrive(TestPacket::new(id, 0, 500).capable());
        }
        assert_eq!(b.probe("probability", 0), 1.0);
        assert_eq!(b.log.drops(DropReason::Overflow), [2]);
    }

    #[test]
    fn a_number_of_flows_needs_no_window() {
        let e = GreenTcp::configured(&settings(&[("flows", "10"), ("window", "1s")]), context()).unwrap_err();
        assert!(e.problem.contains("window") && e.remedy.contains("leave out"), "{e}");
    }
}
