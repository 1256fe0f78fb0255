//! VirtualClock: each flow has a clock that its own packets advance, and the packet with the earliest clock value is
//! sent next.
//!
//! Each packet is stamped with the time at which a separate line with the flow's reserved rate would have sent it. A
//! flow that sends at most its rate has stamps near real time. Its packets leave at the latest the time of a largest
//! packet after their stamps, whatever the other flows send. The clock of a flow that sends more runs ahead of real
//! time, even while no other flow has packets. When other flows become active again, this flow waits until real time
//! has reached its clock. So it is punished for the idle capacity that it has used. Fair queueing and [frame-based fair
//! queueing](super::frame_based) avoid this.
//!
//! ```text
//! stamp of a packet of p bytes = max(now, stamp of the flow's packet before) + p / reserved rate
//! next: the smallest stamp
//! ```
//!
//! State: the work that the line could have done until now, and the instant of this value; the [`Stamps`]; a heap of
//! the flows by the stamp of their first packet. Among equal stamps, the flow that first reached this port is served
//! first. A packet costs O(log n).
//!
//! Source: L. Zhang, "VirtualClock: a new traffic control algorithm for packet switching networks", SIGCOMM 1990
//! (auxVC, the clock that orders packets; VC, which measures a flow for its network, is not implemented). The rate of a
//! flow is the share of its weight in the sum of the weights of all flows so far, because scenarios give weights. A
//! clock that is more than 2^39 bytes of the line ahead counts as 2^39 bytes ahead.

use crate::contract::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::stamps::Stamps;
use crate::pieces::schedule::virtual_time::Tag;
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{QueueId, Store};
use tailback_base::{Model, Packet, Time};

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "virtual-clock",
    family: "scheduler",
    title: "VirtualClock",
    summary: "Packets leave in the order of their stamps. Each flow has a clock for stamps, which each packet \
              advances by the time that the packet would take at the flow's share by weight.",
    source: "Zhang, SIGCOMM 1990",
    params: &[],
    probes: &[],
};

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |_, _| Ok(Box::new(VirtualClock::default())),
    }
}

/// The scheduler that serves packets by the stamps of the flows' clocks.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock {
    /// Real time, as the work that the line could have done.
    clock: Tag,
    at: Time,
    stamps: Stamps,
    heads: TagHeap<i128>,
}

impl VirtualClock {
    fn advance(&mut self, line: &Line) {
        let gap = line.now.since(self.at);
        self.at = self.at.max(line.now);
        self.clock = self.clock.plus(Tag::of_work(line.rate, gap));
        if let Some(reading) = self.clock.far() {
            self.clock = self.clock.minus(reading);
            self.stamps.set_back(reading);
            self.heads.map(|key| key - reading.grid());
        }
    }

    fn line_up<P: Packet>(&mut self, q: QueueId, store: &Store<P>) {
        match self.stamps.head(q, store) {
            Some((_, finish)) => self.heads.set(q, finish.grid()),
            None => {
                self.heads.remove(q);
            }
        }
    }
}

impl ServiceOrder for VirtualClock {}

impl<P: Packet> Scheduler<P> for VirtualClock {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        self.advance(line);
        self.stamps.give(q, slot, self.clock, store);
    }

    fn activate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        Turn::of(self.heads.min().map(|(_, q)| q))
    }

    fn served(&mut self, q: QueueId, _bytes: u32, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn deactivate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn evicting(&mut self, q: QueueId, slot: u32, store: &Store<P>, _line: &Line) {
        self.stamps.forget(q, slot, store);
    }

    fn head_changed(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }
}

#[cfg(test)]
#[path = "reserved_tests.rs"]
mod tests;
