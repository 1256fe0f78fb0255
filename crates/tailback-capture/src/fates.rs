//! What becomes of packets that were seen arriving at a port, told in the order in which they arrived.
//!
//! A packet's fate is known when it is delivered or dropped, long after it arrived. Records wait here until all before them
//! are settled, so that whoever writes them writes each once, with its fate.
//!
//! State: a record for each packet in the port, and those behind it that are settled.

use std::collections::{HashMap, VecDeque};
use tailback_engine::packet::PacketId;

/// A record and what is said of it.
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
    /// Number of the first that waits.
    first: u64,
    /// Numbers of the unsettled records of a packet: more than one where the packet exists twice.
    open: HashMap<PacketId, VecDeque<u64>>,
}

impl<R> Default for Fates<R> {
    fn default() -> Self {
        Fates {
            waiting: VecDeque::new(),
            first: 0,
            open: HashMap::new(),
        }
    }
}

impl<R> Fates<R> {
    /// A packet arrives.
    pub fn arrived(&mut self, id: PacketId, record: R) {
        let number = self.first + self.waiting.len() as u64;
        self.open.entry(id).or_default().push_back(number);
        self.waiting.push_back(Open {
            record,
            said: Vec::new(),
            settled: false,
        });
    }

    /// Something is said of a packet that has arrived; false if none has.
    pub fn say(&mut self, id: PacketId, what: String) -> bool {
        let Some(number) = self.open.get(&id).and_then(|all| all.front().copied()) else {
            return false;
        };
        self.waiting[(number - self.first) as usize].said.push(what);
        true
    }

    /// A packet's fate is known.
    pub fn settle(&mut self, id: PacketId) {
        let Some(all) = self.open.get_mut(&id) else { return };
        if let Some(number) = all.pop_front() {
            self.waiting[(number - self.first) as usize].settled = true;
        }
        if all.is_empty() {
            self.open.remove(&id);
        }
    }

    /// The next record whose packet's fate is known, as are those of all before it.
    pub fn next_settled(&mut self) -> Option<Settled<R>> {
        self.waiting.front().filter(|o| o.settled)?;
        self.pop()
    }

    /// The next record, settled or not: the run is over.
    pub fn pop(&mut self) -> Option<Settled<R>> {
        let open = self.waiting.pop_front()?;
        self.first += 1;
        Some(Settled {
            record: open.record,
            said: open.said,
        })
    }
}
