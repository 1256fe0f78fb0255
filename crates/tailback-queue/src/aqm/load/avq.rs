//! AVQ, the adaptive virtual queue: signals the packets that a slightly slower line would drop.
//!
//! A virtual line gets a copy of the packets of the real line. It has the same buffer, and a capacity that adapts. The
//! capacity shrinks if more than the share `utilisation` of the real line arrives, and grows if less arrives. A packet
//! that overflows the virtual buffer is signalled. So the input settles at the share `utilisation` of the line, and the
//! real queue stays short without a target for its length. Measure: the virtual backlog. Function: whether the packet
//! overflows the virtual buffer. Action: a drop (early), or with `ecn` a mark.
//!
//! ```text
//! arrival of b at now:    vq = max(0, vq - c (now - last));  last = now
//!                         vq + b > virtual buffer: signal, and nothing more if that is a drop;  else vq += b
//!                         c = clamp(c + alpha (utilisation C (now - last_c) - b), 0, C);  last_c = now
//! ```
//!
//! From: Kunniyur and Srikant, "Analysis and design of an adaptive virtual queue (AVQ) algorithm for active queue
//! management", SIGCOMM 2001 (the token-bucket form of section 2); 2004 in IEEE/ACM Transactions on Networking 12 (2).
//! The first capacity, 0.8 of the line, is that of the public ns-2 class. That class also defines which values a drop
//! does not change.
//!
//! State: the virtual backlog, bytes; the virtual capacity, as a share of the line; the time of the last change of
//! each. A dropped packet changes neither the capacity nor the time of its last change, because `utilisation` is the
//! share of accepted traffic. A marked packet is accepted, but not added to the virtual queue.
//!
//! Departures: an arrival that does not fit the real buffer is dropped before the virtual queue is updated. The virtual
//! queue counts bytes even if the buffer counts packets; then each packet of the buffer counts as `mean_packet`. If
//! `mean_packet` is wrong, the length of the virtual buffer changes, but not the rate of the virtual line. If all
//! packets have the mean size, there is no difference.
//!
//! Cost of a packet: a few multiplications; no random numbers and no timer.

use crate::contract::admission::{Admission, Decision, Waiting, early};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{DropReason, Line, Out, ProbeId, unchanged};
use crate::entry::{Configured, Entry, Facts};
use crate::params::{self, BEFORE, BUFFER, COUNT_IN_SERVICE, ecn_key};
use tailback_base::model::{Alias, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Kind, Level, Model, Packet, ProbeDef, Settings, Size, Time, params};

/// Values that can be recorded.
const READ: [Probe<Avq>; 2] = [
    Probe::new(
        "virtual_capacity",
        "",
        "The virtual capacity after the last accepted arrival, as a share of the rate of the line",
        |q, _| q.share,
    ),
    Probe::new(
        "virtual_queue",
        "B",
        "The virtual backlog after the last arrival",
        |q, _| q.queue,
    ),
];

pub static MODEL: Model = Model {
    name: "avq",
    family: "queue",
    title: "Adaptive virtual queue",
    summary: "Signals the packets that a slower, virtual line with the same buffer would lose, and adapts the rate of \
              the virtual line until a given share of the real line is used. Measure: the virtual backlog. Function: \
              whether the virtual buffer overflows. Action: drop (early); with ecn, mark ECN-capable packets instead.",
    source: "Kunniyur and Srikant, SIGCOMM 2001",
    params: PARAMS,
    probes: &Probe::defs(&READ),
};

params! {
    const PARAMS;

    BUFFER;
    UTILISATION: f64 = Key::new("utilisation", Kind::Real { min: 0.0, max: 1.0 }, "0.98",
        "The share of the line that the accepted traffic is to use.",
        "Kunniyur and Srikant 2001 (gamma); ns-2 gamma_");
    pub ALPHA: f64 = Key::new("alpha", Kind::Real { min: 0.0, max: 1e3 }, "0.15",
        "How fast the virtual capacity adapts, per second.", "Kunniyur and Srikant 2001, section 4");
    INITIAL_CAPACITY: f64 = Key::new("initial_capacity", Kind::Real { min: 0.0, max: 1.0 }, "0.8",
        "The virtual capacity at the start, as a share of the line.", "ns-2 ecnlim_");
    VIRTUAL_BUFFER: Level = Key::new("virtual_buffer", Kind::Level, "100%",
        "The size of the virtual buffer. If it is in packets and the real buffer in bytes, a packet counts as \
         mean_packet.",
        "Kunniyur and Srikant 2001: that of the line");
    MEAN_PACKET: u64 = Key::new("mean_packet", Kind::Bytes { min: 1, max: 65_535 }, "500B",
        "Mean packet size, for a virtual buffer in packets.", "ns-2 mean_pktsize_");
    OWN_ECN: Option<bool> = ecn_key!("Mark ECN-capable packets instead of dropping them early.",
        "RFC 3168; ns-2 markpkts_");
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Avq>(&MODEL, Facts::WITH_ECN.also(const { &[Alias::ns2("Vq")] }))
}

impl Configured for Avq {
    /// # Errors
    /// A virtual buffer that is a share of an unlimited one, or in another unit.
    fn configured(s: &Settings, _context: BuildContext) -> Result<Self, Refusal> {
        Avq::from_settings(s)
    }
}

impl Avq {
    fn from_settings(s: &Settings) -> Result<Avq, Refusal> {
        let (buffer, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
        let packet = match buffer {
            Size::Bytes(_) => 1.0,
            Size::Packets(_) | Size::Unlimited => mean_packet as f64,
        };
        let initial = s.get(&INITIAL_CAPACITY);
        Ok(Avq {
            utilisation: s.get(&UTILISATION),
            alpha: s.get(&ALPHA),
            buffer: capacity::threshold(s, &VIRTUAL_BUFFER, buffer, mean_packet)? * packet,
            ecn: params::ecn(s),
            initial,
            share: initial,
            queue: 0.0,
            drained: Time::ZERO,
            adapted: Time::ZERO,
        })
    }
}

/// AVQ's decision.
#[derive(Clone, Debug)]
pub struct Avq {
    utilisation: f64,
    /// The speed of the adaptation, per second.
    alpha: f64,
    /// The virtual buffer, bytes.
    buffer: f64,
    ecn: bool,
    /// The virtual capacity at the start.
    initial: f64,
    /// The virtual capacity as a share of the line, so that it follows a line whose rate changes.
    share: f64,
    /// The virtual backlog, bytes.
    queue: f64,
    /// The time when the virtual queue was last served.
    drained: Time,
    /// The time when the capacity was last adapted.
    adapted: Time,
}

impl<P: Packet> Admission<P> for Avq {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        let size = f64::from(p.bytes());
        // Bytes a second.
        let line_rate = line.rate.bits_per_second() / 8.0;
        let passed = line.now.since(self.drained).seconds();
        self.queue = (self.queue - self.share * line_rate * passed).max(0.0);
        self.drained = line.now;
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        let over = self.queue + size > self.buffer;
        let decision = early(over, p, self.ecn, out);
        if decision == Decision::Store {
            if !over {
                self.queue += size;
            }
            let aimed = self.utilisation * line.now.since(self.adapted).seconds();
            self.share = (self.share + self.alpha * (aimed - size / line_rate)).clamp(0.0, 1.0);
            self.adapted = line.now;
        }
        decision
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The virtual capacity and the virtual backlog stay.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        let new = Avq::from_settings(s)?;
        unchanged(INITIAL_CAPACITY.name, &self.initial, &new.initial)?;
        (self.utilisation, self.alpha) = (new.utilisation, new.alpha);
        (self.buffer, self.ecn) = (new.buffer, new.ecn);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::MarkReason;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::fifo::Fifo;
    use tailback_base::{BitRate, Duration, Stream};

    fn context() -> BuildContext {
        BuildContext {
            stream: Stream::new(1, "avq"),
            rate: BitRate(10_000_000),
            delay: Duration::ZERO,
        }
    }

    fn bench(with: &[(&str, &str)]) -> Bench<Fifo<TestPacket, Avq>> {
        let settings = with
            .iter()
            .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
        Bench::new(Fifo::from_settings(
            &settings,
            Avq::configured(&settings, context()).unwrap(),
        ))
    }

    /// Send packets of 1000 B, this number of microseconds apart, and serve each at once. On the line of 1 Mb/s each
    /// packet takes 8 ms.
    fn offer(b: &mut Bench<Fifo<TestPacket, Avq>>, packets: u64, every: u64, capable: bool) {
        for id in 0..packets {
            b.pass(Duration(every * 1000));
            let p = TestPacket::new(id, 0, 1000);
            b.arrive(if capable { p.capable() } else { p });
            b.serve();
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// A burst fills the virtual buffer of five packets. The real buffer, whose packets are served at once, never has
    /// more than one packet.
    #[test]
    fn what_overflows_the_virtual_buffer_is_signalled() {
        for (buffer, mean) in [("5 packets", "1000B"), ("5000B", "500B")] {
            let mut b = bench(&[("buffer", buffer), ("mean_packet", mean), ("alpha", "0")]);
            offer(&mut b, 8, 0, false);
            assert_eq!(b.log.drops(DropReason::Early), [5, 6, 7], "{buffer}");
            // At 0.8 of the line a packet takes 10 ms, so no packet leaves the virtual queue before that.
            offer(&mut b, 1, 9_999, false);
            assert_eq!(b.log.drops(DropReason::Early).len(), 4);
            offer(&mut b, 2, 1, false);
            assert_eq!(b.log.drops(DropReason::Early).len(), 5, "{buffer}: room for one");
        }
    }

    /// A marked packet is accepted traffic that does not enter the virtual queue. A drop does not change the capacity
    /// or the time of its last change.
    #[test]
    fn a_mark_adapts_the_capacity_and_a_drop_does_not() {
        let settings = [("buffer", "2 packets"), ("mean_packet", "1000B"), ("ecn", "true")];
        let mut b = bench(&settings);
        offer(&mut b, 2, 0, true);
        // Two packets of 8 ms each have arrived, and no time has passed.
        let after_two = 0.8 - 0.15 * 0.016;
        assert!(close(b.probe("virtual_capacity", 0), after_two));
        offer(&mut b, 1, 0, true);
        assert_eq!(b.log.marks(MarkReason::Early), [0]);
        assert!(close(b.probe("virtual_capacity", 0), after_two - 0.15 * 0.008));
        assert!(close(b.probe("virtual_queue", 0), 2000.0));
        let capacity_before = b.probe("virtual_capacity", 0);
        offer(&mut b, 1, 1_000, false);
        assert_eq!(b.log.drops(DropReason::Early), [0]);
        assert_eq!(b.probe("virtual_capacity", 0), capacity_before);
        assert!(close(b.probe("virtual_queue", 0), 2000.0 - capacity_before * 125.0));
        // The whole time since the last accepted packet counts at the next one. This time is 1 ms plus 19 ms.
        offer(&mut b, 1, 19_000, false);
        assert!(close(
            b.probe("virtual_capacity", 0),
            capacity_before + 0.15 * (0.98 * 0.020 - 0.008)
        ));
    }

    /// Input at exactly the target share of the line does not change the capacity. More input lowers the capacity and
    /// less input raises it, between zero and the rate of the line.
    #[test]
    fn the_capacity_moves_against_the_difference_to_the_aimed_share() {
        for (every, moves) in [(10_000, 0.0), (9_000, -1.0), (11_000, 1.0)] {
            // A wrong mean size changes nothing, because only the time of a packet on the line counts.
            for mean in ["1000B", "500B"] {
                let mut b = bench(&[
                    ("mean_packet", mean),
                    ("utilisation", "0.8"),
                    ("buffer", "1000 packets"),
                ]);
                offer(&mut b, 100, every, true);
                let moved = b.probe("virtual_capacity", 0) - 0.8;
                let expected = 0.15 * 100.0 * (0.8 * every as f64 * 1e-6 - 0.008);
                assert!(close(moved, expected), "{moved} for {expected}");
                assert!(moves == 0.0 || moved * moves > 0.0);
            }
        }
        let mut b = bench(&[("mean_packet", "1000B"), ("buffer", "100000 packets")]);
        offer(&mut b, 1_000, 0, true);
        assert_eq!(b.probe("virtual_capacity", 0), 0.0);
        b.pass(Duration::from_seconds(60.0));
        offer(&mut b, 1, 0, true);
        assert_eq!(b.probe("virtual_capacity", 0), 1.0);
    }

    #[test]
    fn a_full_buffer_drops_even_what_could_be_marked() {
        let mut b = bench(&[
            ("buffer", "3 packets"),
            ("virtual_buffer", "9 packets"),
            ("ecn", "true"),
        ]);
        for id in 0..5 {
            b.arrive(TestPacket::new(id, 0, 1000).capable());
        }
        assert_eq!(b.log.drops(DropReason::Overflow), [3, 4]);
        assert_eq!(b.probe("virtual_queue", 0), 3000.0);
    }

    #[test]
    fn a_share_of_an_unlimited_buffer_is_refused() {
        let settings = Settings::defaults(&MODEL).with("buffer", "unlimited");
        let e = Avq::configured(&settings, context()).unwrap_err();
        assert!(
            e.problem.contains("unlimited") && e.remedy.contains("virtual_buffer"),
            "{e}"
        );
    }
}
