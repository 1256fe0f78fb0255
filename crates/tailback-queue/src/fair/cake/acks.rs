//! CAKE's ACK filter: an arriving ACK makes older ACKs of its flow redundant, because it acknowledges all data that
//! they acknowledge.
//!
//! On a line that is much slower than the other direction, the ACKs of a download can fill the capacity that an upload
//! leaves. Measure: the ACKs that wait in a queue. Function: an ACK is redundant if the next ACK of its flow behind it
//! has a higher number and the same ECE and CWR. Action: the redundant ACK is dropped (filtered); `conservative` keeps
//! the last two of several ACKs, `aggressive` only the last one.
//!
//! These packets are never dropped:
//!
//! * data, SYN, FIN, RST, and packets that are not TCP;
//! * an ACK with SACK blocks, a DSACK or an option that is not a time stamp;
//! * an ACK whose number an earlier ACK had: a duplicate ACK signals a loss, and a window update has the number of the
//!   ACK before it;
//! * the last ACK before ECE or CWR changes, and an ACK that a queue has marked (CE).
//!
//! From: T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", LANMAN 2018, section III.C; tc-cake(8).
//!
//! State: for each queue, the flow whose ACK arrived last, the highest number of this flow so far, and the last number
//! that arrived again.
//!
//! Departures: the dropped ACK is the oldest of the last two or three, not the first one in the queue. If the queue was
//! filtered all the time, this is the same ACK. Linux also drops an ACK whose SACK blocks are all contained in a later
//! ACK.
//!
//! Cost of an ACK: one pass over the packets of its queue, which are few while ACKs are filtered.

use super::params::AckFilter;
use crate::pieces::store::{QueueId, Store};
use tailback_base::work::done_if_long;
use tailback_base::{Ecn, KeyField, Packet, PureAck};

/// The state for the ACKs that arrived at a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acks {
    /// The flow of the two numbers below.
    flow: u64,
    last: Option<u64>,
    again: Option<u64>,
}

impl Acks {
    /// The slot of the ACK, if any, that the packet in the slot `newest` makes redundant. This packet is the last one
    /// in queue `q`.
    pub fn redundant<P: Packet>(
        &mut self,
        store: &Store<P>,
        q: QueueId,
        newest: u32,
        filter: AckFilter,
    ) -> Option<u32> {
        let p = store.packet(newest)?;
        let (ack, flow) = (p.pure_ack()?, p.key(KeyField::Tuple));
        if self.flow != flow || self.last.is_none() {
            // It is not known whether an earlier ACK had this number.
            let last = Some(ack.number);
            *self = Acks {
                flow,
                last,
                again: last,
            };
            return None;
        }
        let repeats = self.last == Some(ack.number);
        if repeats {
            self.again = self.last;
        }
        self.last = self.last.max(Some(ack.number));
        if repeats {
            return None;
        }
        // The last two ACKs of the flow before the newest one, the older ACK first.
        let mut last_two: [Option<(u32, PureAck)>; 2] = [None; 2];
        let (mut slot, mut passed) = (store.head(q), 0);
        while let Some(ack_slot) = slot.filter(|ack_slot| *ack_slot != newest) {
            if let Some(waiting_packet) = store.packet(ack_slot).filter(|p| p.key(KeyField::Tuple) == flow)
                && let Some(ack) = waiting_packet.pure_ack()
            {
                let spared = !ack.bare || waiting_packet.ecn() == Ecn::Ce || self.again == Some(ack.number);
                last_two = [last_two[1], (!spared).then_some((ack_slot, ack))];
            }
            (slot, passed) = (store.after(ack_slot), passed + 1);
        }
        done_if_long(passed);
        let replaces = |new: PureAck, old: PureAck| new.number > old.number && new.marks == old.marks;
        match (filter, last_two) {
            (AckFilter::Aggressive, [_, Some((ack_slot, old))]) if replaces(ack, old) => Some(ack_slot),
            (AckFilter::Conservative, [Some((ack_slot, oldest)), Some((_, old))])
                if replaces(ack, old) && replaces(old, oldest) =>
            {
                Some(ack_slot)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
