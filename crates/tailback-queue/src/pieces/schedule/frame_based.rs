//! Frame-based fair queueing (FBFQ): fair queueing with a clock that runs at the speed of the line and is corrected at
//! the ends of frames.
//!
//! The clock of fair queueing follows a fluid server, which costs up to n steps for a packet. Here the clock P runs at
//! the speed of the line. A flow that uses free capacity of the line gets stamps ahead of P, as with
//! [VirtualClock](super::virtual_clock). But as soon as the first packets of all queues start in a later frame, P jumps
//! to the beginning of that frame. So no flow is ahead by more than a frame and a packet, and a flow that used idle
//! capacity waits at most for a frame.
//!
//! ```text
//! a packet of p bytes:   S = max(F of the flow's packet before, P)      F = S + p / share
//! next:                  P = the begin of the last frame that all first packets have reached, if P is behind it
//!                        the smallest F; P grows by the bytes as they are sent
//! ```
//!
//! A packet of a flow that sends at most its share leaves at the latest when a separate line with the rate of this
//! share would have sent it, plus the time of a largest packet. Fair queueing has the same bound. A frame should have
//! room for a largest packet of each flow in proportion to the weights. With a smaller frame, packets extend over
//! several frames, and P is corrected later.
//!
//! State: P before and after the packet on the line, and the instant when its transmission began; the latest F of all
//! packets; the [`Stamps`]; two heaps of the flows, by S and by F of their first packet. Among equal stamps, the flow
//! that first reached this port is served first. A packet costs O(log n).
//!
//! Source: D. Stiliadis and A. Varma, "Efficient fair queueing algorithms for packet-switched networks", IEEE/ACM
//! Transactions on Networking 6(2), 1998. The paper counts the packets that extend over the end of a frame, and so
//! finds at a constant cost when all flows have left the frame. Here the smallest S of the first packets of all flows
//! is used, which also works when packets are evicted. In the paper all stamps start from 0 in each busy period. Here P
//! starts from the first frame that no stamp has reached, which gives the same order.

use crate::contract::discipline::Line;
use crate::pieces::index::tag_heap::TagHeap;
use crate::pieces::schedule::stamps::Stamps;
use crate::pieces::schedule::virtual_time::{Tag, Weight};
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{QueueId, Store};
use tailback_base::{Key, Kind, Model, Packet, Settings, Time, params};

/// The declaration of the scheduler alone, for use with any drop policy.
pub static MODEL: Model = Model {
    name: "frame-based",
    family: "scheduler",
    title: "Frame-based fair queueing",
    summary: "Packets leave in the order of finish tags. The clock runs with the line and is corrected at the ends of \
              frames.",
    source: "Stiliadis and Varma 1998",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    pub FRAME: u64 = Key::new("frame", Kind::Bytes { min: 64, max: 1_000_000_000 }, "150kB",
        "The bytes of a frame: at least the largest packet of the flow with the least weight, divided by the share of \
         this flow.",
        "Stiliadis and Varma 1998; the default holds 1500 B of each of 100 equal flows");
}

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |s, _| Ok(Box::new(FrameBased::from_settings(s))),
    }
}

/// The scheduler that serves packets by finish tags of a clock that is corrected at frames.
#[derive(Clone, Debug)]
pub struct FrameBased {
    frame: Tag,
    /// The value of P when the packet on the line will have been sent.
    p: Tag,
    /// The value of P when its transmission began, and the instant of this.
    p_before: Tag,
    since: Time,
    /// The latest finish stamp of all packets so far.
    latest: Tag,
    stamps: Stamps,
    by_start: TagHeap<i128>,
    by_finish: TagHeap<i128>,
}

impl FrameBased {
    /// The scheduler with these settings of the model.
    pub fn from_settings(s: &Settings) -> FrameBased {
        FrameBased {
            frame: Tag::of_bytes(s.get(&FRAME)),
            p: Tag::ZERO,
            p_before: Tag::ZERO,
            since: Time::ZERO,
            latest: Tag::ZERO,
            stamps: Stamps::default(),
            by_start: TagHeap::default(),
            by_finish: TagHeap::default(),
        }
    }

    /// The value of P at this instant.
    fn clock(&self, line: &Line) -> Tag {
        match line.busy {
            Some(_) => {
                let worked = Tag::of_work(line.rate, line.now.since(self.since));
                self.p_before.plus(worked).min(self.p)
            }
            None => self.p,
        }
    }

    fn line_up<P: Packet>(&mut self, q: QueueId, store: &Store<P>) {
        match self.stamps.head(q, store) {
            Some((start, finish)) => {
                self.by_start.set(q, start.grid());
                self.by_finish.set(q, finish.grid());
            }
            None => {
                self.by_start.remove(q);
                self.by_finish.remove(q);
            }
        }
    }

    /// Set back a clock that has become large, together with all stamps, by whole frames.
    fn rebase(&mut self) {
        let Some(reading) = self.p.far().map(|p| p.down_to(self.frame)) else {
            return;
        };
        self.p = self.p.minus(reading);
        self.p_before = self.p_before.minus(reading);
        self.latest = self.latest.minus(reading);
        self.stamps.set_back(reading);
        self.by_start.map(|key| key - reading.grid());
        self.by_finish.map(|key| key - reading.grid());
    }
}

impl ServiceOrder for FrameBased {}

impl<P: Packet> Scheduler<P> for FrameBased {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, line: &Line) {
        if line.busy.is_none() && store.backlog().packets == 1 {
            let free = self.latest.down_to(self.frame).plus(self.frame);
            (self.p, self.p_before) = (free, free);
        }
        let finish = self.stamps.give(q, slot, self.clock(line), store);
        self.latest = self.latest.max(finish);
    }

    fn activate(&mut self, q: QueueId, store: &Store<P>, _line: &Line) {
        self.line_up(q, store);
    }

    fn next(&mut self, store: &Store<P>, line: &Line) -> Turn {
        let first = self.by_start.min().and_then(|(_, q)| self.stamps.head(q, store));
        let Some((start, _)) = first else {
            return Turn::Empty;
        };
        self.p = self.p.max(start.down_to(self.frame));
        self.rebase();
        (self.p_before, self.since) = (self.p, line.now);
        Turn::of(self.by_finish.min().map(|(_, q)| q))
    }

    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, _line: &Line) {
        self.p = self.p.plus(Tag::of(bytes, Weight::ONE));
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
mod tests {
    use super::*;

    /// A clock with a large value is set back by whole frames, so its position in the frame stays the same.
    #[test]
    fn the_clock_is_set_back_by_whole_frames() {
        let mut f = FrameBased::from_settings(&Settings::defaults(&MODEL).with("frame", "7000B"));
        f.p = Tag::of_bytes((1 << 37) + 123_456);
        let place = f.p.minus(f.p.down_to(f.frame));
        f.rebase();
        assert_eq!(f.p, place);
        assert!(f.p < f.frame);
    }
}
