//! REM, random exponential marking: computes a price for the line, and signals it to the senders as a probability.
//!
//! Congestion is measured by two differences: the input minus the capacity of the line, and the backlog minus a target.
//! The weighted sum of both changes a price until both are zero. So with any number of flows the line is full and the
//! backlog is at its target. The probability is exponential in the price. So the probabilities of several queues in
//! series combine to the probability of the sum of their prices, and a sender can compute the price of its path from
//! the share of marked packets. Measure: the backlog and the input, each `period`. Function: the price and its
//! exponential. Action: with `ecn` a mark when the packet leaves, and no signal for packets that are not ECN-capable;
//! without `ecn` a drop at arrival (early).
//!
//! ```text
//! every period:   x += input_weight * (arrivals - x)
//!                 price = max(0, price + gamma * (x + alpha * (q - reference) - what the line carries in a period))
//! probability     1 - phi^-price
//! ```
//!
//! From: Athuraliya, Low, Li, Yin, "REM: active queue management", IEEE Network 15 (3), 2001; Athuraliya and Low,
//! "Optimization flow control II: implementation", 2000. The defaults, and the mark at departure, are those of the
//! public ns-2 class.
//!
//! State: the price, packets; the filtered input, packets of `mean_packet` per period; bytes that arrived since the
//! last update; the number of updates so far. If the buffer is in bytes, `mean_packet` bytes count as a packet. Every
//! arrival counts as input, stored or not. Updates continue while the line is idle. The first update is one period
//! after the start.
//!
//! Departures: an arrival that does not fit is dropped before the random test, and no random number is drawn for it.
//! The input is counted in bytes and divided by `mean_packet`, whether the buffer counts packets or bytes. If the input
//! were counted in packets, as in ns-2, a `mean_packet` that is wrong by a half would leave the line half empty or
//! cause no signals at all. If all packets have the mean size, there is no difference.
//!
//! Cost of a packet: an addition, and one random draw while the probability is between 0 and 1. Cost of an update: one
//! power, 500 times a second.

use crate::contract::admission::{Admission, Decision, Waiting, early};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, MarkReason, Out, ProbeId, signal, unchanged};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, COUNT_IN_SERVICE, ecn_key};
use tailback_base::model::{Alias, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Level, Model, Packet, ProbeDef, Settings, Time, params};

/// Values that can be recorded.
const READ: [Probe<Rem>; 2] = [
    Probe::new("price", "packets", "The price since the last update", |q, _| q.price),
    Probe::new("probability", "", "Signal probability since the last update", |q, _| {
        q.probability
    }),
];

pub static MODEL: Model = Model {
    name: "rem",
    family: "queue",
    title: "REM (random exponential marking)",
    summary: "Adapts a price until the input equals the line's rate and the backlog is at a reference. Measure: \
              backlog and input. Function: a probability exponential in the price. Action: with ecn, mark ECN-capable \
              packets as they leave, and never signal other packets; without ecn, drop at arrival (early).",
    source: "Athuraliya, Low, Li, Yin 2001",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    REFERENCE: Level = Key::new("reference", Kind::Level, "20 packets",
        "The backlog to which the queue is controlled. If it is in packets and the buffer in bytes, a packet counts as \
         mean_packet.", "ns-2 pbo_");
    GAMMA: f64 = Key::new("gamma", Kind::Real { min: 0.0, max: 1e3 }, "0.001",
        "How much each update adds to the price for each packet of mismatch between input, backlog and line.",
        "Athuraliya et al. 2001; ns-2 gamma_");
    PHI: f64 = Key::new("phi", Kind::Real { min: 1.0, max: 1e3 }, "1.001",
        "Base of the exponential. With 1, no packet is ever signalled.", "Athuraliya et al. 2001; ns-2 phi_");
    ALPHA: f64 = Key::new("alpha", Kind::Real { min: 0.0, max: 1e3 }, "0.1",
        "Weight of a packet of backlog above the reference in the mismatch; a packet of input has the weight 1.",
        "Athuraliya et al. 2001");
    PERIOD: Duration = Key::new("period", Kind::Time { min: 1e-6, max: 100.0 }, "2ms",
        "Time between updates of the price.", "ns-2 pupdtime_");
    INPUT_WEIGHT: f64 = Key::new("input_weight", Kind::Real { min: 0.0, max: 1.0 }, "1",
        "Weight of the last period in the filtered input; with 1 the input is not filtered.", "ns-2 inw_");
    MEAN_PACKET: u64 = Key::new("mean_packet", Kind::Bytes { min: 1, max: 65_535 }, "500B",
        "Mean packet size, by which the input and the line's rate are counted in packets; also for buffers in bytes.",
        "ns-2 mean_pktsize_");
    OWN_ECN: Option<bool> = ecn_key!("Mark ECN-capable packets as they leave, and drop no packet early.",
        "RFC 3168; ns-2 markpkts_");
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Rem>(&MODEL, Facts::WITH_ECN.also(const { &[Alias::ns2("REM")] }))
}

impl Configured for Rem {
    /// # Errors
    /// A reference in another unit than the buffer's.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        let (buffer, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let packet = capacity::packet(buffer, mean_packet);
        Ok(Rem {
            gamma: s.get(&GAMMA),
            phi: s.get(&PHI),
            alpha: s.get(&ALPHA),
            reference: capacity::threshold(s, &REFERENCE, buffer, mean_packet)? / packet,
            period: s.get(&PERIOD),
            input_weight: s.get(&INPUT_WEIGHT),
            mean_packet: mean_packet as f64,
            packet,
            ecn: params::ecn(s),
            updates: 0,
            arrived: 0,
            input: 0.0,
            price: 0.0,
            probability: 0.0,
            context,
        })
    }
}

/// REM's decision.
#[derive(Clone, Debug)]
pub struct Rem {
    gamma: f64,
    phi: f64,
    alpha: f64,
    /// The reference, packets.
    reference: f64,
    period: Duration,
    input_weight: f64,
    /// The mean packet size, bytes.
    mean_packet: f64,
    /// The amount that a packet adds to the backlog, in the unit of the buffer.
    packet: f64,
    ecn: bool,
    updates: u64,
    /// The bytes that arrived since the last update.
    arrived: u64,
    /// The filtered input, packets per period.
    input: f64,
    price: f64,
    probability: f64,
    /// The context in which the discipline was built, with its random stream.
    context: BuildContext,
}

impl<P: Packet> Admission<P> for Rem {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, out: &mut dyn Out<P>) -> Decision {
        self.arrived += u64::from(p.bytes());
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        early(!self.ecn && self.context.stream.chance(self.probability), p, false, out)
    }

    fn leaving(&mut self, p: &mut P, _line: &Line, out: &mut dyn Out<P>) {
        if self.ecn && p.ecn().is_capable() && self.context.stream.chance(self.probability) {
            signal(p, true, MarkReason::Early, out);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(Time((self.updates + 1).saturating_mul(self.period.0)))
    }

    fn on_timer(&mut self, queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) {
        let arrived = std::mem::take(&mut self.arrived) as f64 / self.mean_packet;
        self.input += self.input_weight * (arrived - self.input);
        let excess = queue.level() / self.packet - self.reference;
        let carried = line.rate.bits_per_second() / (8.0 * self.mean_packet) * self.period.seconds();
        self.price = (self.price + self.gamma * (self.input + self.alpha * excess - carried)).max(0.0);
        self.probability = 1.0 - libm::pow(self.phi, -self.price);
        self.updates += 1;
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The price stays. Its units, the period and the mean packet, must not change.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let mut new = Rem::configured(s, self.context.clone())?;
        // The price is a sum over periods, in packets.
        unchanged(PERIOD.name, &self.period, &new.period)?;
        unchanged(MEAN_PACKET.name, &self.mean_packet, &new.mean_packet)?;
        (new.updates, new.arrived) = (self.updates, self.arrived);
        (new.input, new.price, new.probability) = (self.input, self.price, self.probability);
        *self = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::QueueDiscipline;
    use crate::contract::testing::{Bench, Queue, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Ecn, Size, Stream};

    fn settings(with: &[(&str, &str)]) -> Settings {
        with.iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text))
    }

    fn context() -> BuildContext {
        BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        }
    }

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Rem>> {
        let settings = settings(with);
        let rem = Rem::configured(&settings, context()).unwrap();
        Bench::new(Fifo::from_settings(&settings, rem))
    }

    /// For this number of periods, let one packet of 250 B per period arrive on a line of 1 Mb/s while `held` packets
    /// wait. After each arrival one packet is served.
    fn hold<D: QueueDiscipline<TestPacket>>(b: &mut Bench<D>, held: u64, periods: u64) {
        b.pass(Duration(1_000_000));
        for id in b.backlog().packets..held {
            b.arrive(TestPacket::new(id, 0, 250));
        }
        b.pass(Duration::from_millis(2));
        for id in 0..periods {
            b.arrive(TestPacket::new(id, 0, 250));
            b.serve();
            b.pass(Duration::from_millis(2));
        }
    }

    /// If the input is at capacity and the backlog ten packets above the reference, the price grows by gamma alpha 10 =
    /// 0.001 a period, which is 0.5 a second.
    #[test]
    fn a_held_backlog_moves_the_price_at_the_computed_slope() {
        // If the buffer is in packets, the mean size does not matter, because arrivals are compared with the capacity
        // of the line in bytes.
        for (buffer, mean) in [
            ("100 packets", "250B"),
            ("25kB", "250B"),
            ("100 packets", "500B"),
            ("100 packets", "100B"),
        ] {
            let mut b = bench(&[("mean_packet", mean), ("buffer", buffer)]);
            hold(&mut b, 30, 1);
            let price_before = b.probe("price", 0);
            for n in 1..=500 {
                b.arrive(TestPacket::new(n, 0, 250));
                b.serve();
                b.pass(Duration::from_millis(2));
                let rise = b.probe("price", 0) - price_before;
                assert!(
                    (rise - 0.001 * n as f64).abs() < 1e-9,
                    "{buffer} {mean}: {rise} after {n}"
                );
            }
        }
    }

    /// No packets arrive or wait. So the price falls each period by the packets that the line could have carried, but
    /// not below zero.
    #[test]
    fn an_idle_line_is_cheap() {
        let mut b = bench(&[("mean_packet", "250B"), ("gamma", "1")]);
        hold(&mut b, 100, 3);
        let high = b.probe("price", 0);
        assert!(high > 50.0);
        b.drain();
        b.pass(Duration::from_millis(2));
        let fall = high - b.probe("price", 0);
        assert!(
            (fall - 3.0).abs() < 1e-9,
            "one packet a period and alpha times the reference, not {fall}"
        );
        b.pass(Duration::from_millis(200));
        assert_eq!((b.probe("price", 0), b.probe("probability", 0)), (0.0, 0.0));
    }

    #[test]
    fn the_input_is_filtered() {
        let mut b = bench(&[
            ("mean_packet", "250B"),
            ("input_weight", "0.25"),
            ("gamma", "1"),
            ("alpha", "0"),
        ]);
        for id in 0..9 {
            b.arrive(TestPacket::new(id, 0, 250));
        }
        b.pass(Duration::from_millis(2));
        // The price is a quarter of the nine arrivals minus the one packet that the line carries in a period.
        assert!((b.probe("price", 0) - 1.25).abs() < 1e-9);
    }

    /// The probability is 1 - 1.001^-693 = 0.4998.
    #[test]
    fn the_probability_is_exponential_in_the_price() {
        let mut rem = Rem::configured(&settings(&[("gamma", "1"), ("alpha", "0")]), context()).unwrap();
        rem.arrived = 694 * 500;
        let mut b = Bench::new(Fifo::new(Size::Unlimited, rem));
        // The line carries 250 packets of 500 B a second, which is half a packet in 2 ms.
        b.pass(Duration::from_millis(2));
        let (price, p) = (b.probe("price", 0), b.probe("probability", 0));
        assert!((price - 693.5).abs() < 1e-9);
        assert!((p - (1.0 - libm::exp(-693.5 * libm::log(1.001)))).abs() < 1e-12);
        assert!((1.0 - libm::pow(1.001, -693.0) - 0.4998).abs() < 5e-5);
    }

    /// A FIFO whose probability is constant, to which packets are offered and from which they are taken one by one.
    fn held(price: f64, ecn: bool, seed: u64) -> Fifo<TestPacket, Rem> {
        let mut rem = Rem::configured(&settings(&[("ecn", if ecn { "true" } else { "false" })]), context()).unwrap();
        (rem.price, rem.probability) = (price, 1.0 - libm::pow(1.001, -price));
        rem.context.stream = Stream::new(seed, "held");
        Fifo::new(Size::Packets(100), rem)
    }

    #[test]
    fn with_ecn_capable_packets_are_marked_as_they_leave_and_the_others_are_spared() {
        let mut b = Bench::new(held(693.0, true, 1));
        let n = 50_000;
        for id in 0..n {
            let p = TestPacket::new(id, 0, 500);
            b.arrive(if id % 2 == 0 { p.capable() } else { p });
            assert_eq!(b.log.marked.len(), b.log.marks(MarkReason::Early).len());
            let marked_before = b.log.marked.len();
            let p = b.take().unwrap();
            let marked_now = b.log.marked.len() - marked_before;
            assert_eq!(
                marked_now == 1,
                p.ecn == Ecn::Ce,
                "marked between arrival and departure"
            );
            assert!(p.ecn != Ecn::Ce || id % 2 == 0);
        }
        assert!(b.log.dropped.is_empty());
        let share = 2.0 * b.log.marked.len() as f64 / n as f64;
        assert!((share - 0.4998).abs() < 0.01, "{share}");
    }

    #[test]
    fn without_ecn_packets_are_dropped_as_they_arrive() {
        let mut b = Bench::new(held(693.0, false, 1));
        let n = 50_000;
        for id in 0..n {
            b.arrive(TestPacket::new(id, 0, 500).capable());
            b.serve();
        }
        assert!(b.log.marked.is_empty());
        let share = b.log.drops(DropReason::Early).len() as f64 / n as f64;
        assert!((share - 0.4998).abs() < 0.01, "{share}");
    }

    /// The marks show the price of the whole path: two queues in series mark like one queue with the sum of their
    /// prices.
    #[test]
    fn prices_of_a_path_add_up() {
        let (mut a, mut b) = (Bench::new(held(300.0, true, 1)), Bench::new(held(500.0, true, 2)));
        let n = 100_000;
        let mut marked = 0;
        for id in 0..n {
            a.arrive(TestPacket::new(id, 0, 500).capable());
            b.arrive(a.take().unwrap());
            marked += u32::from(b.take().unwrap().ecn == Ecn::Ce);
        }
        let share = f64::from(marked) / n as f64;
        let expected = 1.0 - libm::pow(1.001, -800.0);
        // The bound is five standard deviations of a share of about one half.
        assert!((share - expected).abs() < 0.008, "{share} for {expected}");
    }

    /// REM marks at departure wherever it is used, also before a port of several queues and on each queue of a port.
    #[test]
    fn it_marks_before_and_on_the_queues_of_a_port() {
        for place in ["before", "aqm"] {
            let model = crate::registry::find("drr").unwrap();
            let own = settings(&[
                ("ecn", "true"),
                ("gamma", "100"),
                ("mean_packet", "250B"),
                ("reference", "0 packets"),
            ]);
            let mut drr = Settings::defaults(model);
            let own = tailback_base::Value::Model(Box::new(own));
            drr.set_models(
                place,
                if place == "before" {
                    tailback_base::Value::List(vec![own])
                } else {
                    own
                },
            );
            let queue: Queue = crate::registry::build(&drr, context()).unwrap();
            let mut b = Bench::new(queue);
            hold(&mut b, 50, 100);
            b.arrive(TestPacket::new(1000, 0, 250).capable());
            assert!(b.log.marked.is_empty(), "{place}");
            b.drain();
            assert_eq!(b.log.marks(MarkReason::Early), [1000], "{place}");
        }
    }

    #[test]
    fn a_full_buffer_drops_and_draws_nothing() {
        let mut b = Bench::new(held(1e9, false, 1));
        b.queue.admission.probability = 0.0;
        for id in 0..100 {
            b.arrive(TestPacket::new(id, 0, 500));
        }
        b.queue.admission.probability = 0.5;
        let before = b.queue.admission.context.stream.clone().bits();
        b.arrive(TestPacket::new(100, 0, 500));
        assert_eq!(b.log.drops(DropReason::Overflow), [100]);
        assert_eq!(b.queue.admission.context.stream.clone().bits(), before);
    }
}
