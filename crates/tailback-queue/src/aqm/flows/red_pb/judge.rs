//! The rules that decide which flows go into the penalty box, and which are released.
//!
//! ```text
//! at the end of an epoch, over the last `history` of them:
//!     p = drops / arrivals at RED,  n = flows with drops
//!     rate of flow i = its share of the drops * rate of arrivals at RED
//!     too fast for a TCP:    rate > 1.5 sqrt(2/3) 8 S / (R sqrt(p))        (not TCP-friendly)
//!     too much of the line:  share > ln(3 n) / n                           (disproportionate)
//!     both: into the box
//! a boxed flow, by what it sent to the box in this epoch:
//!     its loss is four times p at its entry, or more, and its rate not below half of that then: it stays for ever
//!     else let go after `release` epochs in a row in which not both tests hold
//! ```
//!
//! From: Floyd and Fall 1999, section III.
//!
//! State: the quantities above. All maps are ordered by the keys of the flows.

use std::collections::{BTreeMap, VecDeque};
use tailback_base::work::{counted_as, done_if_long};

/// The parameters. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct JudgeRules {
    pub epoch: f64,
    pub history: usize,
    pub rtt: f64,
    /// Bytes.
    pub mean_packet: f64,
    pub release: u32,
}

/// A boxed flow.
#[derive(Clone, Debug)]
pub struct Boxed {
    /// Whether the flow does not respond to losses and therefore stays in the box.
    pub stays: bool,
    /// RED's loss rate when the flow was boxed.
    loss: f64,
    /// The rate of the flow when it was boxed, bit/s.
    rate: f64,
    /// Consecutive epochs without a reason to stay.
    clean: u32,
    /// The bytes that arrived in this epoch.
    bytes: u64,
    packets: u64,
    lost: u64,
}

/// The arrivals at RED in an epoch.
#[derive(Clone, Debug, Default)]
struct EpochArrivals {
    packets: u64,
    bytes: u64,
    dropped: u64,
    /// Dropped packets of each flow, without the drops for which the flow was already boxed.
    drops: BTreeMap<u64, u64>,
}

/// The changes at the end of an epoch.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    pub entered: Vec<u64>,
    pub released: Vec<u64>,
}

/// The history and the boxed flows.
#[derive(Clone, Debug)]
pub struct FlowJudge {
    rules: JudgeRules,
    /// The epochs of the history. The last one is the present epoch.
    epochs: VecDeque<EpochArrivals>,
    boxed: BTreeMap<u64, Boxed>,
}

/// Totals of the history.
#[derive(Clone, Copy, Debug)]
struct All {
    /// Packets dropped.
    drops: f64,
    /// Dropped packets per arrived packet.
    loss: f64,
    /// Rate of arrivals, bit/s.
    rate: f64,
    /// The largest rate of a TCP-friendly flow, bit/s.
    friendly: f64,
    /// The largest share that is not disproportionate.
    share: f64,
}

impl FlowJudge {
    pub fn new(rules: JudgeRules) -> FlowJudge {
        FlowJudge {
            rules,
            epochs: VecDeque::from([EpochArrivals::default()]),
            boxed: BTreeMap::new(),
        }
    }

    #[inline]
    pub fn is_boxed(&self, flow: u64) -> bool {
        !self.boxed.is_empty() && self.boxed.contains_key(&flow)
    }

    pub fn boxed(&self) -> impl Iterator<Item = (&u64, &Boxed)> {
        self.boxed.iter()
    }

    /// A packet arrived at RED.
    pub fn arrived(&mut self, flow: u64, bytes: u32, dropped: bool) {
        let Some(now) = self.epochs.back_mut() else { return };
        now.packets += 1;
        now.bytes += u64::from(bytes);
        if dropped {
            now.dropped += 1;
            *now.drops.entry(flow).or_default() += 1;
        }
    }

    /// A packet of a boxed flow arrived.
    pub fn came_to_box(&mut self, flow: u64, bytes: u32, lost: bool) {
        if let Some(b) = self.boxed.get_mut(&flow) {
            b.bytes += u64::from(bytes);
            b.packets += 1;
            b.lost += u64::from(lost);
        }
    }

    /// Drops of each flow in the history.
    fn drops(&self) -> BTreeMap<u64, u64> {
        let mut drops = BTreeMap::new();
        for (flow, n) in counted_as(8, self.epochs.iter().flat_map(|e| &e.drops)) {
            *drops.entry(*flow).or_default() += n;
        }
        drops
    }

    fn all(&self, drops: &BTreeMap<u64, u64>) -> All {
        let r = &self.rules;
        let total = self.epochs.iter().map(|e| e.dropped).sum::<u64>() as f64;
        let packets = self.epochs.iter().map(|e| e.packets).sum::<u64>() as f64;
        let bytes = self.epochs.iter().map(|e| e.bytes).sum::<u64>() as f64;
        let (loss, n) = (total / packets.max(1.0), drops.len().max(1) as f64);
        All {
            drops: total,
            loss,
            rate: 8.0 * bytes / (r.epoch * self.epochs.len() as f64),
            friendly: 1.5 * (2.0_f64 / 3.0).sqrt() * r.mean_packet * 8.0 / (r.rtt * loss.sqrt()),
            share: libm::log(3.0 * n) / n,
        }
    }

    pub fn end_epoch(&mut self) -> Verdicts {
        let drops = self.drops();
        let all = self.all(&drops);
        let mut verdicts = Verdicts {
            released: self.reconsider(&all),
            ..Verdicts::default()
        };
        for (flow, n) in drops {
            let share = n as f64 / all.drops;
            let rate = share * all.rate;
            if rate > all.friendly && share > all.share && !self.boxed.contains_key(&flow) {
                verdicts.entered.push(flow);
                let boxed = Boxed {
                    stays: false,
                    loss: all.loss,
                    rate,
                    clean: 0,
                    bytes: 0,
                    packets: 0,
                    lost: 0,
                };
                self.boxed.insert(flow, boxed);
            }
        }
        // A released flow is not boxed again for the same drops.
        for epoch in counted_as(8, &mut self.epochs) {
            done_if_long(epoch.drops.len().saturating_mul(verdicts.entered.len()));
            epoch.drops.retain(|flow, _| !verdicts.entered.contains(flow));
        }
        if self.epochs.len() == self.rules.history {
            self.epochs.pop_front();
        }
        self.epochs.push_back(EpochArrivals::default());
        verdicts
    }

    /// Check the boxed flows, and return those that are to be released.
    fn reconsider(&mut self, all: &All) -> Vec<u64> {
        let (epoch, release) = (self.rules.epoch, self.rules.release);
        let of_boxes: u64 = self.boxed.values().map(|b| b.bytes).sum();
        let everything = all.rate + 8.0 * of_boxes as f64 / epoch;
        let mut released = vec![];
        self.boxed.retain(|flow, b| {
            let rate = 8.0 * b.bytes as f64 / epoch;
            let loss = b.lost as f64 / b.packets.max(1) as f64;
            b.stays |= loss >= 4.0 * b.loss && rate > b.rate / 2.0;
            let reason = all.drops > 0.0 && rate > all.friendly && rate / everything > all.share;
            b.clean = if reason { 0 } else { b.clean + 1 };
            (b.bytes, b.packets, b.lost) = (0, 0, 0);
            let goes = !b.stays && b.clean >= release;
            if goes {
                released.push(*flow);
            }
            !goes
        });
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge() -> FlowJudge {
        FlowJudge::new(JudgeRules {
            epoch: 1.0,
            history: 5,
            rtt: 0.04,
            mean_packet: 500.0,
            release: 2,
        })
    }

    /// An epoch with arrivals of 10 Mb/s in which each of these flows loses this number of packets of 500 bytes.
    fn epoch(j: &mut FlowJudge, drops: &[(u64, u64)]) -> Verdicts {
        let lost: u64 = drops.iter().map(|d| d.1).sum();
        for _ in 0..2500 - lost {
            j.arrived(99, 500, false);
        }
        for (flow, n) in drops {
            (0..*n).for_each(|_| j.arrived(*flow, 500, true));
        }
        j.end_epoch()
    }

    #[test]
    fn both_tests_must_hold() {
        // 25 of 2500 packets are lost. At this loss rate, a TCP with a round trip of 40 ms gets 1.5 sqrt(2/3) 4000 /
        // (0.04 * 0.1) = 1.22 Mb/s. The limit of the share for ten flows is ln(30)/10 = 34 %.
        let mut even: Vec<(u64, u64)> = (1..10).map(|f| (f, 2)).collect();
        even.push((0, 7)); // 28 %, 2.8 Mb/s
        assert!(epoch(&mut judge(), &even).entered.is_empty(), "fast, but in proportion");
        let mut uneven: Vec<(u64, u64)> = (1..10).map(|f| (f, 1)).collect();
        uneven.push((0, 16)); // 64 %
        assert_eq!(epoch(&mut judge(), &uneven).entered, [0]);
        // With a thousandth of the arrivals, the flow has 6.4 kb/s, which is TCP-friendly.
        let mut j = judge();
        for (flow, n) in &uneven {
            (0..*n).for_each(|_| j.arrived(*flow, 1, true));
        }
        (0..2475).for_each(|_| j.arrived(99, 1, false));
        assert!(j.end_epoch().entered.is_empty());
        assert!(
            epoch(&mut judge(), &[(0, 25)]).entered.is_empty(),
            "alone there is no proportion"
        );
    }

    fn boxed() -> FlowJudge {
        let mut j = judge();
        let mut drops: Vec<(u64, u64)> = (1..10).map(|f| (f, 1)).collect();
        drops.push((0, 16));
        assert_eq!(epoch(&mut j, &drops).entered, [0]);
        j
    }

    fn in_box(j: &mut FlowJudge, packets: u64, lost: u64) {
        (0..packets).for_each(|i| j.came_to_box(0, 500, i < lost));
    }

    #[test]
    fn who_sends_no_less_at_four_times_the_loss_stays() {
        let mut j = boxed(); // entered with 6.4 Mb/s and 1 %
        in_box(&mut j, 1600, 1000);
        epoch(&mut j, &[]);
        assert!(j.boxed[&0].stays);
        for _ in 0..20 {
            assert!(epoch(&mut j, &[]).released.is_empty());
        }
    }

    #[test]
    fn who_sends_half_as_much_is_let_go_after_clean_epochs() {
        let mut j = boxed();
        in_box(&mut j, 700, 500); // 2.8 Mb/s
        assert!(epoch(&mut j, &[]).released.is_empty());
        assert!(!j.boxed[&0].stays);
        in_box(&mut j, 100, 0);
        assert_eq!(epoch(&mut j, &[]).released, [0]);
        assert!(!j.is_boxed(0));
    }
}
