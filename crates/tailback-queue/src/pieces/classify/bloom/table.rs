//! The queue of each group, and the rules that move groups so that the queues have equal numbers of flows.
//!
//! *Static distribution*: the groups are taken in descending order of their flows, and each is assigned to the queue
//! with the fewest flows. *Periodic balancing* (PB): groups move from queues with more flows than the threshold to the
//! queue with the fewest flows, until one of the two queues reaches the threshold. *Balancing at dequeue* (DB): when
//! the last packet of a group leaves a queue above the threshold, the group moves to the queue with the fewest flows.
//! Only groups without stored packets move. The caller tells the table which groups have no stored packets.
//!
//! All counts of flows come from the filters. The counts are kept between learning phases, and only moves change them.
//!
//! Among several queues with the fewest flows, either the one with the fewest groups is chosen, or the first one
//! ([`BalanceTie`]; the thesis does not say which). With the rule "first", one queue gets all groups without counted
//! flows.
//!
//! State: the queue of each group; for each queue its flows and groups; a heap of the queues with the fewest flows
//! first. A move costs O(log K), a distribution O(G log GK), and periodic balancing O(G + K log K).
//!
//! Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 5; `docs/decisions/bloom-groups.md`, `db-guard.md` and
//! `pb-counts.md`.

use crate::pieces::index::length_index::Tie;
use crate::pieces::index::rate_heap::RateHeap;
use crate::pieces::schedule::ServiceOrder;
use crate::pieces::store::QueueId;
use tailback_base::Stream;
use tailback_base::work::{counted, counted_as};

tailback_base::choice! {
    /// The counts that periodic balancing uses.
    pub enum PbCounts {
        Fresh = "fresh",
        Previous = "previous",
        Mixed = "mixed",
    }
}

tailback_base::choice! {
    /// The choice between several queues with the fewest flows.
    pub enum BalanceTie {
        FewestGroups = "fewest-groups",
        First = "first",
    }
}

/// The rules for moving groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MoveRules {
    /// Whether groups are moved each time when the counts are complete.
    pub periodic: bool,
    /// Whether a group may move when its last packet leaves.
    pub at_dequeue: bool,
    /// Whether the threshold is the exact quotient flows / queues, instead of this quotient rounded up.
    pub exact: bool,
    /// Whether PB searches for the queue with the fewest flows after every move, instead of once for each queue that
    /// loses groups.
    pub repick: bool,
    /// Whether, after a move, the new queue of the group must have fewer flows than the old queue had before.
    pub no_worse: bool,
    /// Whether PB moves the groups with the most flows first, instead of in the order of their numbers.
    pub largest_first: bool,
    /// The counts that PB uses. Groups and queues use either the counts just learned or those of the previous period;
    /// or groups use the counts just learned, while queues and the threshold use those of the previous period.
    pub counts: PbCounts,
    pub tie: BalanceTie,
}

impl Default for MoveRules {
    fn default() -> MoveRules {
        MoveRules {
            periodic: false,
            at_dequeue: false,
            exact: false,
            repick: false,
            no_worse: false,
            largest_first: false,
            counts: PbCounts::Fresh,
            tie: BalanceTie::FewestGroups,
        }
    }
}

/// The queue of each group.
#[derive(Debug)]
pub struct Table {
    map: Vec<QueueId>,
    flows: Vec<u64>,
    groups: Vec<u32>,
    /// The queues, with the one with the fewest flows at the top.
    fewest: RateHeap,
    total: u64,
    threshold: f64,
    exact: bool,
    tie: BalanceTie,
}

struct NoOrder;

impl ServiceOrder for NoOrder {}

impl Table {
    /// A table in which groups are assigned to queues in turn, and no flows are counted.
    pub fn new(groups: u32, queues: u32, rules: &MoveRules) -> Table {
        let queues = queues.max(1);
        let mut table = Table {
            map: (0..groups).map(|g| g % queues).collect(),
            flows: vec![0; queues as usize],
            groups: vec![0; queues as usize],
            fewest: RateHeap::new(Tie::Lowest, Stream::new(0, "")),
            total: 0,
            threshold: 0.0,
            exact: rules.exact,
            tie: rules.tie,
        };
        for g in 0..groups {
            table.groups[(g % queues) as usize] += 1;
        }
        (0..queues).for_each(|q| table.place(q));
        table
    }

    pub fn queue(&self, group: u32) -> QueueId {
        self.map[group as usize]
    }

    pub fn queues(&self) -> u32 {
        self.flows.len() as u32
    }

    /// The counted flows of a queue.
    pub fn flows(&self, q: QueueId) -> u64 {
        self.flows[q as usize]
    }

    /// The threshold: a queue with more flows loses groups.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The queue with the fewest flows.
    pub fn fewest(&mut self) -> QueueId {
        self.fewest.highest(&NoOrder).unwrap_or(0)
    }

    fn place(&mut self, q: QueueId) {
        let (flows, groups) = (self.flows[q as usize], self.groups[q as usize]);
        let tie = match self.tie {
            BalanceTie::FewestGroups => groups,
            BalanceTie::First => 0,
        };
        // The key compares flows first, and then the tie value. It is exact up to 2^53.
        let key = flows as f64 * (self.map.len() + 1) as f64 + f64::from(tie);
        self.fewest.set(q, -key);
    }

    fn above(&self, q: QueueId) -> bool {
        self.flows[q as usize] as f64 > self.threshold
    }

    fn set_threshold(&mut self) {
        let quotient = self.total as f64 / self.flows.len() as f64;
        self.threshold = if self.exact { quotient } else { libm::ceil(quotient) };
    }

    /// Replace the counts of the groups. The groups stay in their queues.
    pub fn learn(&mut self, counts: &[u32]) {
        self.flows.fill(0);
        self.total = 0;
        for (q, n) in counted(&self.map).zip(counts) {
            self.flows[*q as usize] += u64::from(*n);
            self.total += u64::from(*n);
        }
        counted_as(4, 0..self.queues()).for_each(|q| self.place(q));
        self.set_threshold();
    }

    /// Count one more flow in a group.
    pub fn count_one(&mut self, group: u32) {
        let q = self.map[group as usize];
        self.flows[q as usize] += 1;
        self.total += 1;
        self.place(q);
        self.set_threshold();
    }

    /// Assign every group to the queue with the fewest flows, beginning with the groups with the most flows.
    pub fn distribute(&mut self, counts: &[u32]) {
        let mut order: Vec<u32> = (0..self.map.len() as u32).collect();
        order.sort_by_key(|g| std::cmp::Reverse(counts[*g as usize]));
        self.flows.fill(0);
        self.groups.fill(0);
        counted_as(4, 0..self.queues()).for_each(|q| self.place(q));
        for g in counted_as(8, order) {
            let q = self.fewest();
            self.map[g as usize] = q;
            self.flows[q as usize] += u64::from(counts[g as usize]);
            self.groups[q as usize] += 1;
            self.place(q);
        }
        self.total = counts.iter().map(|n| u64::from(*n)).sum();
        self.set_threshold();
    }

    fn transfer(&mut self, group: u32, to: QueueId, flows: u32) {
        let from = std::mem::replace(&mut self.map[group as usize], to);
        // The count of a queue may be from the previous period, and then be less than the present count of a group. It
        // is replaced after the moves.
        let left = &mut self.flows[from as usize];
        *left = left.saturating_sub(u64::from(flows));
        self.flows[to as usize] += u64::from(flows);
        self.groups[from as usize] -= 1;
        self.groups[to as usize] += 1;
        self.place(from);
        self.place(to);
    }

    fn worse(&self, rules: &MoveRules, from: QueueId, to: QueueId, flows: u32) -> bool {
        rules.no_worse && self.flows[to as usize] + u64::from(flows) >= self.flows[from as usize]
    }

    /// DB: if the queue of this group, which has no stored packets, is above the threshold, move the group. Returns its
    /// new queue.
    pub fn at_dequeue(&mut self, group: u32, flows: u32, rules: &MoveRules) -> Option<QueueId> {
        let from = self.queue(group);
        if !self.above(from) {
            return None;
        }
        let to = self.fewest();
        if to == from || self.worse(rules, from, to, flows) {
            return None;
        }
        self.transfer(group, to, flows);
        Some(to)
    }

    /// PB: move idle groups. `told` is called for each move with the group, its old queue and its new queue.
    pub fn balance(
        &mut self,
        counts: &[u32],
        idle: &dyn Fn(u32) -> bool,
        rules: &MoveRules,
        told: &mut dyn FnMut(u32, QueueId, QueueId),
    ) {
        let mut givers: Vec<QueueId> = counted(0..self.queues()).filter(|q| self.above(*q)).collect();
        if givers.is_empty() {
            return;
        }
        givers.sort_by_key(|q| std::cmp::Reverse(self.flows[*q as usize]));
        let mut of_queue: Vec<Vec<u32>> = vec![Vec::new(); self.flows.len()];
        for (g, q) in counted(&self.map).enumerate() {
            if self.above(*q) && idle(g as u32) {
                of_queue[*q as usize].push(g as u32);
            }
        }
        for from in counted_as(8, givers) {
            if !self.above(from) {
                break;
            }
            let mut groups = std::mem::take(&mut of_queue[from as usize]);
            if rules.largest_first {
                groups.sort_by_key(|g| std::cmp::Reverse(counts[*g as usize]));
            }
            let mut to = self.fewest();
            for g in groups {
                if rules.repick {
                    to = self.fewest();
                }
                if to == from || !self.above(from) || self.flows[to as usize] as f64 >= self.threshold {
                    break;
                }
                let flows = counts[g as usize];
                if !self.worse(rules, from, to, flows) {
                    self.transfer(g, to, flows);
                    told(g, from, to);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lengths(t: &Table) -> Vec<u64> {
        (0..t.queues()).map(|q| t.flows(q)).collect()
    }

    fn balance(t: &mut Table, counts: &[u32], idle: &[u32], rules: &MoveRules) -> Vec<(u32, u32, u32)> {
        let mut moves = vec![];
        t.balance(counts, &|g| idle.contains(&g), rules, &mut |g, from, to| {
            moves.push((g, from, to))
        });
        moves
    }

    #[test]
    fn the_largest_groups_come_first() {
        let counts = [1, 5, 2, 4, 3, 3];
        let mut t = Table::new(6, 3, &MoveRules::default());
        t.distribute(&counts);
        // The three queues get groups with 5, 4 and 3 flows. Then the third queue gets 3 flows, the second 2, and the
        // first 1.
        assert_eq!(lengths(&t), [6, 6, 6]);
        assert_eq!((0..6).map(|g| t.queue(g)).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
        assert_eq!(t.threshold(), 6.0);
    }

    #[test]
    fn groups_without_flows_are_spread() {
        let mut t = Table::new(9, 3, &MoveRules::default());
        t.distribute(&[0; 9]);
        let of: Vec<u32> = (0..9).map(|g| t.queue(g)).collect();
        assert_eq!([0, 1, 2].map(|q| of.iter().filter(|x| **x == q).count()), [3, 3, 3]);
    }

    #[test]
    fn the_first_of_equal_queues_takes_all_groups_without_flows() {
        let rules = MoveRules {
            tie: BalanceTie::First,
            ..MoveRules::default()
        };
        let mut t = Table::new(9, 3, &rules);
        t.distribute(&[2, 0, 0, 1, 0, 0, 1, 0, 0]);
        // The queues get 2, 1 and 1 flows. The second queue is the first of the two with one flow.
        assert_eq!(lengths(&t), [2, 1, 1]);
        let of: Vec<u32> = (0..9).map(|g| t.queue(g)).collect();
        assert_eq!([0, 1, 2].map(|q| of.iter().filter(|x| **x == q).count()), [1, 7, 1]);
    }

    #[test]
    fn the_threshold_is_the_quotient_rounded_up_or_not() {
        let mut t = Table::new(4, 3, &MoveRules::default());
        t.learn(&[2, 2, 2, 1]);
        assert_eq!((lengths(&t), t.threshold()), (vec![3, 2, 2], 3.0));
        t.exact = true;
        t.count_one(0);
        assert_eq!((lengths(&t), t.threshold()), (vec![4, 2, 2], 8.0 / 3.0));
    }

    #[test]
    fn at_dequeue_a_group_goes_to_the_queue_with_fewest() {
        let counts = [3, 1, 0, 2];
        let mut t = Table::new(4, 3, &MoveRules::default());
        t.learn(&counts);
        // Groups 0 and 3 share queue 0. The queues have 5, 1 and 0 flows, and the threshold is 2.
        assert_eq!(
            t.at_dequeue(1, 1, &MoveRules::default()),
            None,
            "not above the threshold"
        );
        assert_eq!(t.at_dequeue(3, 2, &MoveRules::default()), Some(2));
        assert_eq!(lengths(&t), [3, 1, 2]);
        let careful = MoveRules {
            no_worse: true,
            ..MoveRules::default()
        };
        assert_eq!(
            t.at_dequeue(0, 3, &careful),
            None,
            "1 + 3 is not below 3: it would only move the crowd"
        );
        assert_eq!(
            t.at_dequeue(0, 3, &MoveRules::default()),
            Some(1),
            "the thesis asks nothing"
        );
        assert_eq!(lengths(&t), [0, 4, 2]);
    }

    #[test]
    fn periodic_balancing_fills_one_queue_for_each_that_gives() {
        // Queue 0 has the groups 0, 3 and 6 with 4 flows each, queue 1 has 1 flow, and queue 2 has none. The threshold
        // is ceil(13/3) = 5.
        let counts = [4, 1, 0, 4, 0, 0, 4, 0, 0];
        let all: Vec<u32> = (0..9).collect();
        let fresh = || {
            let mut t = Table::new(9, 3, &MoveRules::default());
            t.learn(&counts);
            t
        };
        let mut t = fresh();
        let moves = balance(&mut t, &counts, &all, &MoveRules::default());
        assert_eq!(moves, [(0, 0, 2), (3, 0, 2)], "the target may end above the threshold");
        assert_eq!(lengths(&t), [4, 1, 8]);
        let mut t = fresh();
        let repick = MoveRules {
            repick: true,
            ..MoveRules::default()
        };
        assert_eq!(balance(&mut t, &counts, &all, &repick), [(0, 0, 2), (3, 0, 1)]);
        assert_eq!(lengths(&t), [4, 5, 4]);
        assert_eq!(
            balance(&mut fresh(), &counts, &[6], &repick),
            [(6, 0, 2)],
            "only idle groups"
        );
        let mut t = Table::new(9, 3, &MoveRules::default());
        t.learn(&[1, 1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            balance(&mut t, &[1; 9], &all, &MoveRules::default()),
            [],
            "nobody is above"
        );
    }

    #[test]
    fn largest_first_moves_fewer() {
        let counts = [1, 0, 1, 0, 6, 0];
        let all: Vec<u32> = (0..6).collect();
        let rules = MoveRules {
            largest_first: true,
            ..MoveRules::default()
        };
        let mut t = Table::new(6, 2, &MoveRules::default());
        t.learn(&counts);
        assert_eq!(balance(&mut t, &counts, &all, &rules), [(4, 0, 1)]);
        let mut t = Table::new(6, 2, &MoveRules::default());
        t.learn(&counts);
        assert_eq!(balance(&mut t, &counts, &all, &MoveRules::default()).len(), 3);
    }

    #[test]
    fn groups_counted_anew_leave_queues_that_were_counted_before() {
        let all: Vec<u32> = (0..6).collect();
        let mut t = Table::new(6, 2, &MoveRules::default());
        t.learn(&[3, 0, 1, 1, 1, 0]);
        // Queue 0 has 5 flows of the groups 0, 2 and 4, queue 1 has 1, and the threshold is 3. Since then group 0 has
        // grown to 9 flows.
        let moves = balance(&mut t, &[9, 0, 1, 1, 1, 0], &all, &MoveRules::default());
        assert_eq!(moves, [(0, 0, 1)]);
        assert_eq!(lengths(&t), [0, 10], "what a queue had is less than what leaves it");
    }

    proptest! {
        /// For any moves, the counts stay consistent, queues below the threshold lose no groups, and with `no_worse`
        /// the largest queue never grows.
        #[test]
        fn moves_keep_the_books(
            counts in prop::collection::vec(0u32..9, 4..60),
            queues in 1u32..9,
            choice in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
            leaves in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let (exact, repick, no_worse, largest_first) = choice;
            let rules = MoveRules { exact, repick, no_worse, largest_first, ..MoveRules::default() };
            let n = counts.len() as u32;
            let mut t = Table::new(n, queues, &rules);
            t.learn(&counts);
            let total: u64 = counts.iter().map(|c| u64::from(*c)).sum();
            let most_flows = |t: &Table| (0..t.queues()).map(|q| t.flows(q)).max();
            for at in leaves {
                let g = at.index(counts.len()) as u32;
                let (before, from, held) = (most_flows(&t), t.queue(g), t.flows(t.queue(g)));
                if let Some(to) = t.at_dequeue(g, counts[g as usize], &rules) {
                    prop_assert!(held as f64 > t.threshold() && from != to && t.queue(g) == to);
                }
                prop_assert!(!no_worse || most_flows(&t) <= before);
            }
            let before = most_flows(&t);
            balance(&mut t, &counts, &(0..n).collect::<Vec<_>>(), &rules);
            prop_assert!(!no_worse || most_flows(&t) <= before);
            let mut second_table = Table::new(n, queues, &rules);
            second_table.map = t.map.clone();
            second_table.learn(&counts);
            prop_assert_eq!(lengths(&t), lengths(&second_table));
            prop_assert_eq!(lengths(&t).iter().sum::<u64>(), total);
            let fewest = t.fewest();
            prop_assert_eq!(t.flows(fewest), *lengths(&t).iter().min().unwrap());
        }

        /// With the static distribution no queue exceeds the mean by more than the largest group.
        #[test]
        fn a_distribution_is_as_even_as_its_groups_allow(
            counts in prop::collection::vec(0u32..9, 4..60), queues in 1u32..9,
        ) {
            let mut t = Table::new(counts.len() as u32, queues, &MoveRules { exact: true, ..MoveRules::default() });
            t.distribute(&counts);
            let largest = *counts.iter().max().unwrap();
            for q in 0..queues {
                prop_assert!(t.flows(q) as f64 <= t.threshold() + f64::from(largest));
            }
        }
    }
}
