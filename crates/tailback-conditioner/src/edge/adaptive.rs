//! Adaptive: uses stages with state for each flow while there are few flows, and stages without such state while there
//! are many.
//!
//! ```text
//! flows < threshold     per-flow mode     the stages but the plain SYN
//! flows >= threshold    stateless mode    the stages that remember no flow: SYN by its flag, CWR, policer
//! ```
//!
//! In the per-flow mode a table counts flows. In the stateless mode a sketch estimates the number of flows: each packet
//! sets one bit, at the hash of its flow, in a bitmap of 4096 bits. The share of zeros z gives the number of flows,
//! -4096 ln z (linear counting). The mode is chosen once a second. It returns to per-flow below 0.8 times the
//! threshold. After a change of the mode, tables are empty.
//!
//! From: Habib, Fahmy and Bhargava, Purdue CSD TR 00-015, 2000. The counting is our choice, after Whang, Vander-Zanden
//! and Taylor, "A linear-time probabilistic counting algorithm for database applications", 1990.
//!
//! State: a table of flows without other contents, or a sketch of 512 bytes. Cost of a packet: a search in the table,
//! or a hash.

use super::counts::{Held, Remembers};
use super::flow_table::{FlowTable, TableBounds};
use tailback_base::work::counted;
use tailback_base::{Duration, FlowId, Stream, Time};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeping {
    PerFlow,
    Stateless,
}

/// The number of bits of the sketch.
const BITS: usize = 4096;
/// The time between two choices of the mode, which is also the time that the sketch covers.
const EPOCH: Duration = Duration(1_000_000_000);
/// The mode returns to per-flow below this share of the threshold.
const BACK: f64 = 0.8;

/// Estimates the number of flows from the hashes of packets.
struct Sketch {
    bits: [u64; BITS / 64],
    salt: u64,
}

impl Sketch {
    fn new(salt: u64) -> Sketch {
        Sketch {
            bits: [0; BITS / 64],
            salt,
        }
    }

    fn add(&mut self, flow: FlowId) {
        // The finalizer of MurmurHash3 (Appleby 2011).
        let mut h = u64::from(flow.0) ^ self.salt;
        h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        let bit = ((h ^ (h >> 33)) % BITS as u64) as usize;
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    /// The estimated number of flows. If all bits are set, the result is the same as with one zero bit.
    fn flows(&self) -> f64 {
        let zeros: u32 = counted(&self.bits).map(|b| b.count_zeros()).sum();
        -(BITS as f64) * libm::log(f64::from(zeros.max(1)) / BITS as f64)
    }

    fn clear(&mut self) {
        self.bits = [0; BITS / 64];
    }
}

/// The number of flows that a router's resources allow. The memory is in bytes, with 64 bytes per flow. `lookups` is
/// per second, and each flow sends `packets` per second.
pub fn affordable(memory: u64, lookups: f64, packets: f64) -> u64 {
    let by_memory = memory as f64 / 64.0;
    by_memory.min(lookups / packets).floor() as u64
}

/// The choice between the two modes.
pub struct Adaptive {
    threshold: u64,
    mode: Keeping,
    table: FlowTable<()>,
    sketch: Sketch,
    /// The number of flows when the mode was last chosen.
    counted: f64,
    judge_at: Time,
}

impl Adaptive {
    pub fn new(threshold: u64, memory: TableBounds, mut stream: Stream) -> Adaptive {
        Adaptive {
            threshold,
            mode: Keeping::PerFlow,
            table: FlowTable::new(memory),
            sketch: Sketch::new(stream.bits()),
            counted: 0.0,
            judge_at: Time::ZERO + EPOCH,
        }
    }

    pub fn mode(&self) -> Keeping {
        self.mode
    }

    /// The number of flows when the mode was last chosen.
    pub fn counted(&self) -> f64 {
        self.counted
    }

    /// The time when the mode is chosen next.
    pub fn next(&self) -> Time {
        self.judge_at
    }

    /// Count a passing packet.
    pub fn count(&mut self, flow: FlowId, now: Time) {
        match self.mode {
            Keeping::PerFlow => {
                self.table.entry(flow, now, || ());
            }
            Keeping::Stateless => self.sketch.add(flow),
        }
    }

    /// Choose the mode. Returns the new mode if it has changed.
    pub fn judge(&mut self, now: Time) -> Option<Keeping> {
        self.judge_at = now + EPOCH;
        let threshold = self.threshold as f64;
        self.counted = match self.mode {
            Keeping::PerFlow => self.table.len(now) as f64,
            Keeping::Stateless => self.sketch.flows(),
        };
        let mode = match self.mode {
            Keeping::PerFlow if self.counted >= threshold => Keeping::Stateless,
            Keeping::Stateless if self.counted < BACK * threshold => Keeping::PerFlow,
            same => same,
        };
        self.sketch.clear();
        if mode == self.mode {
            return None;
        }
        self.table.clear();
        self.mode = mode;
        Some(mode)
    }
}

impl Remembers for Adaptive {
    fn held(&self) -> Held {
        Held::of(&self.table)
    }
    fn live(&self, now: Time) -> usize {
        match self.mode {
            Keeping::PerFlow => self.table.len(now),
            Keeping::Stateless => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const MEMORY: TableBounds = TableBounds {
        timeout: Duration(5 * SECOND),
        limit: 1_000_000,
    };

    fn second(a: &mut Adaptive, flows: std::ops::Range<u32>, at: u64) -> Keeping {
        flows.for_each(|f| a.count(FlowId(f), Time(at * SECOND)));
        a.judge(Time((at + 1) * SECOND));
        a.mode()
    }

    #[test]
    fn it_changes_at_the_threshold_and_back_below_four_fifths() {
        let mut adaptive = Adaptive::new(40, MEMORY, Stream::new(1, "adaptive"));
        assert_eq!(second(&mut adaptive, 0..39, 0), Keeping::PerFlow);
        assert_eq!(second(&mut adaptive, 0..40, 1), Keeping::Stateless);
        assert_eq!(
            second(&mut adaptive, 0..36, 2),
            Keeping::Stateless,
            "more than four fifths"
        );
        assert_eq!(second(&mut adaptive, 0..28, 3), Keeping::PerFlow);
        // The table is empty after the change, so earlier flows do not count.
        assert_eq!(second(&mut adaptive, 100..110, 4), Keeping::PerFlow);
        assert_eq!(adaptive.counted(), 10.0);
    }

    #[test]
    fn a_flow_counts_in_the_table_until_its_silence_is_too_long() {
        let mut adaptive = Adaptive::new(40, MEMORY, Stream::new(1, "adaptive"));
        second(&mut adaptive, 0..30, 0);
        second(&mut adaptive, 30..35, 4);
        assert_eq!(adaptive.counted(), 35.0);
        second(&mut adaptive, 30..36, 5);
        assert_eq!(adaptive.counted(), 6.0);
    }

    /// The sketch estimates the number of flows within three times its standard error, which is sqrt(m (e^t - t - 1))
    /// for t = n/m.
    #[test]
    fn the_sketch_counts_flows() {
        for n in [10_u32, 100, 1000, 10_000] {
            let mut s = Sketch::new(7);
            (0..n).for_each(|f| s.add(FlowId(f)));
            let (m, t) = (BITS as f64, f64::from(n) / BITS as f64);
            let error = (m * (t.exp() - t - 1.0)).sqrt().max(1.0);
            assert!((s.flows() - f64::from(n)).abs() < 3.0 * error, "{n}: {}", s.flows());
        }
    }

    #[test]
    fn the_threshold_of_resources() {
        assert_eq!(affordable(2560, f64::INFINITY, 1.0), 40);
        assert_eq!(affordable(1 << 20, 1000.0, 30.0), 33);
    }
}
