//! An edge's table of flows. Each flow has one entry, which is removed after a time without packets. The number of
//! entries is limited.
//!
//! State: the entries by flow. Silent flows are removed once per timeout, so at most twice the flows of one timeout are
//! stored. Silent entries are never used or counted. Cost of a packet: a search.

use std::collections::BTreeMap;
use tailback_base::work::{counted_as, done_if_long};
use tailback_base::{Duration, FlowId, Time};

/// The largest number of entries of a table, and their lifetime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableBounds {
    /// The entry of a flow that is silent for longer than this is removed.
    pub timeout: Duration,
    /// The largest number of entries of a table.
    pub limit: usize,
}

/// A table of flows.
pub struct FlowTable<T> {
    entries: BTreeMap<FlowId, Remembered<T>>,
    memory: TableBounds,
    sweep_at: Time,
    most: usize,
    refused: u64,
}

struct Remembered<T> {
    seen: Time,
    value: T,
}

impl<T> FlowTable<T> {
    pub fn new(memory: TableBounds) -> FlowTable<T> {
        FlowTable {
            entries: BTreeMap::new(),
            memory,
            sweep_at: Time::ZERO,
            most: 0,
            refused: 0,
        }
    }

    fn is_silent(&self, seen: Time, now: Time) -> bool {
        now.since(seen) > self.memory.timeout
    }

    /// The entry of a flow, if it has one. The flow counts as seen now.
    pub fn known(&mut self, flow: FlowId, now: Time) -> Option<&mut T> {
        let timeout = self.memory.timeout;
        let entry = self.entries.get_mut(&flow).filter(|e| now.since(e.seen) <= timeout)?;
        entry.seen = now;
        Some(&mut entry.value)
    }

    /// The entry of a flow; a new entry if it has none, or `None` if the table is full.
    pub fn entry(&mut self, flow: FlowId, now: Time, new: impl FnOnce() -> T) -> Option<&mut T> {
        if now >= self.sweep_at || self.entries.len() >= self.memory.limit {
            self.sweep(now);
        }
        if self.known(flow, now).is_none() {
            if self.entries.len() >= self.memory.limit && !self.entries.contains_key(&flow) {
                self.refused += 1;
                return None;
            }
            self.entries.insert(
                flow,
                Remembered {
                    seen: now,
                    value: new(),
                },
            );
            self.most = self.most.max(self.entries.len());
        }
        self.entries.get_mut(&flow).map(|e| &mut e.value)
    }

    fn sweep(&mut self, now: Time) {
        let timeout = self.memory.timeout;
        done_if_long(8 * self.entries.len());
        self.entries.retain(|_, e| now.since(e.seen) <= timeout);
        self.sweep_at = now + timeout;
    }

    /// The entry of a flow, if it has one. The flow does not count as seen.
    pub fn peek(&self, flow: FlowId) -> Option<&T> {
        self.entries.get(&flow).map(|e| &e.value)
    }

    /// The number of flows that were seen within the timeout.
    pub fn len(&self, now: Time) -> usize {
        counted_as(4, self.entries.values())
            .filter(|e| !self.is_silent(e.seen, now))
            .count()
    }

    /// The largest number of entries so far.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The number of times that there was no room for a flow.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The bytes of an entry, including its key and the time when the flow was last seen.
    pub const fn entry_bytes() -> usize {
        size_of::<FlowId>() + size_of::<Remembered<T>>()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn table(limit: usize) -> FlowTable<u32> {
        FlowTable::new(TableBounds {
            timeout: Duration(5 * SECOND),
            limit,
        })
    }

    #[test]
    fn a_silent_flow_begins_anew() {
        let mut t = table(10);
        *t.entry(FlowId(1), Time(0), || 0).unwrap() = 7;
        assert_eq!(t.entry(FlowId(1), Time(5 * SECOND), || 0), Some(&mut 7));
        assert_eq!(t.known(FlowId(1), Time(10 * SECOND + 1)), None);
        assert_eq!((t.len(Time(10 * SECOND)), t.len(Time(10 * SECOND + 1))), (1, 0));
        assert_eq!(t.entry(FlowId(1), Time(10 * SECOND + 1), || 0), Some(&mut 0));
    }

    /// A full table refuses new flows, and accepts new flows again when old flows have become silent.
    #[test]
    fn a_full_table_refuses() {
        let mut t = table(2);
        for i in 0..3 {
            assert_eq!(t.entry(FlowId(i), Time(u64::from(i)), || 0).is_some(), i < 2);
        }
        assert_eq!((t.len(Time(2)), t.refused(), t.most()), (2, 1, 2));
        assert!(
            t.entry(FlowId(3), Time(5 * SECOND + 1), || 0).is_some(),
            "flow 0 has gone"
        );
        assert!(
            t.entry(FlowId(4), Time(5 * SECOND + 1), || 0).is_none(),
            "flow 1 has not"
        );
        assert_eq!((t.len(Time(5 * SECOND + 1)), t.most()), (2, 2));
    }
}
