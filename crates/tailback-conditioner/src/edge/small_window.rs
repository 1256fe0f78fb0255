//! Small windows: protects flows whose window is too small for a fast retransmit.
//!
//! A sender with fewer than four outstanding segments gets too few duplicate ACKs after a loss, and waits for its
//! timer. The edge infers the window from the sequence numbers in one direction and the ACKs in the other, so it must
//! see both directions. For each data packet, `W = ceil((its end - highest ACK) / MSS)` is the packet's distance from
//! the last acknowledged byte. If W is below `below` segments, the packet is protected. As the packets of a window
//! pass, W rises to about the window. The retransmission of the oldest missing segment has W = 1. With `estimate =
//! "window"` the farthest byte sent so far is used instead of the packet's own end, so that all packets of a window get
//! the same decision. After a timeout this estimate stays large.
//!
//! From: Habib, Fahmy and Bhargava, "Traffic conditioner design for assured forwarding", Purdue CSD TR 00-015, 2000,
//! which names the inputs. The estimate and its details are our choice.
//!
//! State: a [`FlowTable`] with the highest ACK, the farthest byte, and the largest payload so far (the MSS) of each
//! flow. The first packet of an unknown flow sets the highest ACK to its own start (a SYN to its end), so the window
//! counts as small. Packets are *not applicable* if their flow has no ACKs (such as datagrams), if the window of the
//! flow has become large before an ACK was seen, or if the table is full. Delayed ACKs make W larger by at most one.
//!
//! Cost of a data packet or an ACK: a search in the table.

use super::counts::Remembers;
use super::flow_table::{FlowTable, TableBounds};
use tailback_base::{FlowId, Time};

tailback_base::choice! {
    /// The distance from the highest ACK that is used as the window.
    pub enum Estimate {
        /// The distance of the end of this packet.
        Packet = "packet",
        /// The distance of the farthest byte so far.
        Window = "window",
    }
}

/// The size of a flow's window, as one of its packets shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowSize {
    Small,
    Large,
    NotApplicable,
}

/// The fields of a packet that the rule uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sight {
    pub flow: FlowId,
    /// The first byte of the packet, and the first byte after it. A SYN takes one byte.
    pub start: u64,
    pub end: u64,
    pub payload: u32,
    pub syn: bool,
    /// Whether its flow has ACKs.
    pub acknowledged: bool,
}

struct Window {
    ack: u64,
    farthest: u64,
    mss: u32,
    /// Whether an ACK of the flow has been seen.
    heard: bool,
    /// Whether the flow had a large window before an ACK was seen.
    deaf: bool,
    /// The estimate from the last packet, segments.
    estimate: u64,
}

/// The stage, with its parameters and state.
pub struct SmallWindow {
    below: u64,
    estimate: Estimate,
    flows: FlowTable<Window>,
}

impl SmallWindow {
    pub fn new(below: u64, estimate: Estimate, memory: TableBounds) -> SmallWindow {
        SmallWindow {
            below,
            estimate,
            flows: FlowTable::new(memory),
        }
    }

    /// A data packet or a SYN passes.
    pub fn forward(&mut self, p: Sight, now: Time) -> WindowSize {
        if !p.acknowledged && !p.syn {
            return WindowSize::NotApplicable;
        }
        let new = || Window {
            ack: if p.syn { p.end } else { p.start },
            farthest: p.end,
            mss: 1,
            heard: false,
            deaf: false,
            estimate: 0,
        };
        let Some(w) = self.flows.entry(p.flow, now, new) else {
            return WindowSize::NotApplicable;
        };
        if p.syn {
            *w = new();
        }
        w.mss = w.mss.max(p.payload);
        w.farthest = w.farthest.max(p.end);
        let end = match self.estimate {
            Estimate::Packet => p.end,
            Estimate::Window => w.farthest,
        };
        w.estimate = end.saturating_sub(w.ack).div_ceil(u64::from(w.mss));
        let small = w.estimate < self.below;
        w.deaf |= !small && !w.heard;
        match (w.deaf, small) {
            (true, _) => WindowSize::NotApplicable,
            (false, true) => WindowSize::Small,
            (false, false) => WindowSize::Large,
        }
    }

    /// An ACK passes in the other direction. `ack` is the next expected byte.
    pub fn reverse(&mut self, flow: FlowId, ack: u64, now: Time) {
        if let Some(w) = self.flows.known(flow, now) {
            w.ack = w.ack.max(ack);
            w.heard = true;
            w.deaf = false;
        }
    }

    /// The estimate from the last packet of a flow, segments.
    pub fn window(&self, flow: FlowId) -> Option<u64> {
        self.flows.peek(flow).map(|w| w.estimate)
    }

    /// The table of flows of this stage.
    pub fn memory(&self) -> &impl Remembers {
        &self.flows
    }

    pub fn clear(&mut self) {
        self.flows.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Duration;

    const F: FlowId = FlowId(3);
    const MEMORY: TableBounds = TableBounds {
        timeout: Duration(5_000_000_000),
        limit: 100,
    };

    fn rule(below: u64, estimate: Estimate) -> SmallWindow {
        SmallWindow::new(below, estimate, MEMORY)
    }

    fn syn() -> Sight {
        Sight {
            flow: F,
            start: 0,
            end: 1,
            payload: 0,
            syn: true,
            acknowledged: false,
        }
    }

    /// The n-th segment of 1000 bytes, counted from 0.
    fn segment(n: u64) -> Sight {
        Sight {
            flow: F,
            start: 1 + 1000 * n,
            end: 1 + 1000 * (n + 1),
            payload: 1000,
            syn: false,
            acknowledged: true,
        }
    }

    /// Let these segments pass at time 0, and return the estimates.
    fn windows(s: &mut SmallWindow, segments: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let one = |n| {
            s.forward(segment(n), Time(0));
            s.window(F).unwrap()
        };
        segments.into_iter().map(one).collect()
    }

    #[test]
    fn the_estimate_climbs_to_the_window_and_a_repair_has_one() {
        let mut s = rule(3, Estimate::Packet);
        assert_eq!(s.forward(syn(), Time(0)), WindowSize::Small);
        s.reverse(F, 1, Time(0));
        assert_eq!(windows(&mut s, 0..8), [1, 2, 3, 4, 5, 6, 7, 8]);
        s.reverse(F, 1 + 4000, Time(0));
        assert_eq!(windows(&mut s, [8, 9]), [5, 6]);
        // Segment 4 is lost and sent again.
        assert_eq!(windows(&mut s, [4]), [1]);
        assert_eq!(s.forward(segment(4), Time(0)), WindowSize::Small);
        // After a timeout the sender starts again from segment 4, and its window grows again.
        assert_eq!(windows(&mut s, [5, 6]), [2, 3]);
        assert_eq!(s.forward(segment(3), Time(0)), WindowSize::Small, "below the ACK");
    }

    #[test]
    fn the_window_by_the_farthest_byte_has_one_verdict() {
        let mut s = rule(3, Estimate::Window);
        s.forward(syn(), Time(0));
        s.reverse(F, 1, Time(0));
        assert_eq!(windows(&mut s, [0, 1, 2, 3, 0, 1]), [1, 2, 3, 4, 4, 4]);
    }

    #[test]
    fn below_is_below() {
        let mut s = rule(3, Estimate::Packet);
        s.forward(syn(), Time(0));
        s.reverse(F, 1, Time(0));
        let verdicts: Vec<_> = (0..4).map(|n| s.forward(segment(n), Time(0))).collect();
        use WindowSize::{Large, Small};
        assert_eq!(verdicts, [Small, Small, Large, Large]);
    }

    /// If an edge first sees a flow that is already running, it treats the first packets as a small window. If it never
    /// sees an ACK, it protects no further packets.
    #[test]
    fn without_acks_it_does_not_apply() {
        let mut s = rule(3, Estimate::Packet);
        let verdicts: Vec<_> = (50..54).map(|n| s.forward(segment(n), Time(0))).collect();
        use WindowSize::{Large, NotApplicable, Small};
        assert_eq!(verdicts, [Small, Small, NotApplicable, NotApplicable]);
        assert_eq!(
            s.forward(segment(50), Time(0)),
            NotApplicable,
            "a repair, nobody knows of what"
        );
        s.reverse(F, segment(52).start, Time(0));
        assert_eq!(s.forward(segment(54), Time(0)), Large);
        assert_eq!(s.forward(segment(52), Time(0)), Small);
        let datagram = Sight {
            acknowledged: false,
            ..segment(0)
        };
        assert_eq!(s.forward(datagram, Time(0)), NotApplicable);
    }

    #[test]
    fn a_full_table_does_not_apply() {
        let mut s = SmallWindow::new(3, Estimate::Packet, TableBounds { limit: 1, ..MEMORY });
        s.forward(syn(), Time(0));
        let other = Sight {
            flow: FlowId(9),
            ..syn()
        };
        assert_eq!(s.forward(other, Time(0)), WindowSize::NotApplicable);
        assert_eq!(s.memory().held().refused, 1);
    }
}
