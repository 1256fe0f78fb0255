//! The fates of packets that were seen arriving at a port, returned in the order of arrival.
//!
//! A packet's fate is known when it leaves the queue or is dropped, perhaps long after it arrived. Records wait here
//! until all earlier records are settled, so that the writer writes each record once, with its fate.
//!
//! State: a record for each packet in the queue, and the settled records behind them.

use std::collections::{HashMap, VecDeque};
use tailback_sim::wire::packet::PacketId;

/// A record and the comments on it.
#[derive(Clone, Debug)]
pub struct Settled<R> {
    pub record: R,
    pub said: Vec<String>,
}

struct Open<R> {
    record: R,
    said: Vec<String>,
    settled: bool,
}

/// Records that wait for the fates of their packets.
pub struct Fates<R> {
    waiting: VecDeque<Open<R>>,
    /// The number of the first waiting record.
    first: u64,
    /// The packet of the last record, as long as this record is not settled. If each packet is settled before the next
    /// arrives, no look-up is needed.
    last: Option<PacketId>,
    /// Numbers of the other unsettled records of each packet: more than one if the packet exists twice.
    open: HashMap<PacketId, VecDeque<u64>>,
}

impl<R> Default for Fates<R> {
    fn default() -> Self {
        Fates {
            waiting: VecDeque::new(),
            first: 0,
            last: None,
            open: HashMap::new(),
        }
    }
}

impl<R> Fates<R> {
    /// A packet arrives.
    #[inline]
    pub fn arrived(&mut self, id: PacketId, record: R) {
        if let Some(last) = self.last.replace(id) {
            let number = self.first + self.waiting.len() as u64 - 1;
            self.open.entry(last).or_default().push_back(number);
        }
        self.waiting.push_back(Open {
            record,
            said: Vec::new(),
            settled: false,
        });
    }

    /// Add a comment to a packet that has arrived; returns false if no such packet has.
    pub fn say(&mut self, id: PacketId, what: String) -> bool {
        let index = match self.open.get(&id).and_then(|all| all.front()) {
            Some(number) => (number - self.first) as usize,
            None if self.last == Some(id) => self.waiting.len() - 1,
            None => return false,
        };
        self.waiting[index].said.push(what);
        true
    }

    /// A packet's fate is known.
    #[inline]
    pub fn settle(&mut self, id: PacketId) {
        let Some(all) = self.open.get_mut(&id) else {
            if self.last == Some(id) {
                self.last = None;
                let at = self.waiting.len() - 1;
                self.waiting[at].settled = true;
            }
            return;
        };
        if let Some(number) = all.pop_front() {
            self.waiting[(number - self.first) as usize].settled = true;
        }
        if all.is_empty() {
            self.open.remove(&id);
        }
    }

    /// The record that has waited longest.
    #[inline]
    pub fn front(&self) -> Option<&R> {
        self.waiting.front().map(|o| &o.record)
    }

    /// The next record, if its packet's fate is known.
    #[inline]
    pub fn next_settled(&mut self) -> Option<Settled<R>> {
        self.waiting.front().filter(|o| o.settled)?;
        self.pop()
    }

    /// The next record, settled or not, at the end of the run.
    pub fn pop(&mut self) -> Option<Settled<R>> {
        let open = self.waiting.pop_front()?;
        self.first += 1;
        Some(Settled {
            record: open.record,
            said: open.said,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::{FlowId, Time};

    fn packet(sequence: u64) -> PacketId {
        PacketId {
            flow: FlowId(0),
            backward: false,
            sequence,
            born: Time(0),
        }
    }

    fn settled(f: &mut Fates<u32>) -> Vec<(u32, Vec<String>)> {
        std::iter::from_fn(|| f.next_settled())
            .map(|s| (s.record, s.said))
            .collect()
    }

    #[test]
    fn a_record_waits_for_those_before_it() {
        let mut f = Fates::default();
        for n in 0..3 {
            f.arrived(packet(n), n as u32);
        }
        f.settle(packet(1));
        assert!(f.say(packet(2), "marked".into()));
        f.settle(packet(2));
        assert_eq!(settled(&mut f), []);
        f.settle(packet(0));
        assert_eq!(settled(&mut f), [(0, vec![]), (1, vec![]), (2, vec!["marked".into()])]);
        assert!(!f.say(packet(2), "dropped".into()), "its fate is known");
    }

    /// A link may duplicate a packet. An observer cannot distinguish the two copies, so the first to arrive counts as
    /// the first to leave.
    #[test]
    fn of_two_alike_the_first_is_settled_first() {
        let mut f = Fates::default();
        f.arrived(packet(7), 0);
        f.arrived(packet(7), 1);
        f.settle(packet(7));
        assert_eq!(settled(&mut f), [(0, vec![])]);
        assert!(f.say(packet(7), "dropped".into()));
        f.settle(packet(7));
        assert_eq!(settled(&mut f), [(1, vec!["dropped".into()])]);
        assert!(f.pop().is_none());
    }

    #[test]
    fn what_is_not_settled_comes_when_the_run_is_over() {
        let mut f = Fates::default();
        f.arrived(packet(0), 0);
        f.arrived(packet(1), 1);
        f.settle(packet(1));
        let rest: Vec<u32> = std::iter::from_fn(|| f.pop()).map(|s| s.record).collect();
        assert_eq!(rest, [0, 1]);
    }
}
