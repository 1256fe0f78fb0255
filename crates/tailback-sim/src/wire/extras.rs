//! The side table for the fields of a packet beyond its 32 bytes: SACK blocks, a second sequence number, an old time
//! stamp, a window, a request, counts of marks.

use super::packet::{ECHO, WirePacket};
use tailback_base::{Request, Time};
use tailback_transport::{EcnCounts, Plain, SackBlocks};

/// A flag in the word of a slot: the slot contains no SACK blocks and no request, so an ACK with it has only its
/// number, a window and time stamps.
pub(super) const BARE: u32 = 1 << 30;

/// Fields of a packet that do not fit in 32 bytes.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// The sequence number that is not in the packet: the ACK of a segment that carries data, or the other way round.
    pub(super) other_seq: u64,
    pub(super) sack: SackBlocks,
    pub(super) timestamps: Option<(Time, Time)>,
    pub(super) window: Option<u32>,
    pub(super) request: Option<Request>,
    pub(super) counts: Option<Box<EcnCounts>>,
}

impl Extra {
    /// The other number and time stamps only.
    #[inline]
    fn set_plain(&mut self, s: &Plain) {
        self.other_seq = s.other;
        self.timestamps = (s.echo != Time::NEVER).then_some((s.sent, s.echo));
        (self.window, self.request, self.counts) = (None, None, None);
        if !self.sack.is_empty() {
            self.sack = SackBlocks::new();
        }
    }
}

/// The side table. Slots are reused, so the table is as large as the largest number of such packets in flight.
#[derive(Default)]
pub struct Extras {
    pub(super) slots: Vec<Extra>,
    free: Vec<u32>,
}

impl Extras {
    /// Add an entry and return the word that leads to it.
    pub(super) fn add(&mut self, e: Extra) -> u32 {
        let bare = if e.sack.is_empty() && e.request.is_none() && e.counts.is_none() {
            BARE
        } else {
            0
        };
        if let Some(i) = self.free.pop() {
            self.slots[i as usize] = e;
            return i | bare;
        }
        self.slots.push(e);
        (self.slots.len() - 1) as u32 | bare
    }

    /// The same for a segment without options except time stamps, written in place.
    #[inline(never)]
    pub(super) fn add_plain(&mut self, s: &Plain) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Extra::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize].set_plain(s);
        slot | BARE
    }

    /// Free the extras of a packet that has left the network.
    #[inline]
    pub fn release(&mut self, p: &WirePacket) {
        if p.extra < ECHO {
            self.free.push(p.extra & !BARE);
        }
    }

    /// The extras of a packet, if it has a slot.
    pub(super) fn of(&self, p: &WirePacket) -> Option<&Extra> {
        (p.extra < ECHO).then(|| self.slots.get((p.extra & !BARE) as usize))?
    }

    pub(super) fn of_mut(&mut self, p: &WirePacket) -> Option<&mut Extra> {
        (p.extra < ECHO).then(|| self.slots.get_mut((p.extra & !BARE) as usize))?
    }

    /// A second copy of a packet, with its own extras.
    pub fn duplicate(&mut self, p: WirePacket) -> WirePacket {
        let Some(copy) = self.of(&p).cloned() else { return p };
        let mut second = p;
        second.extra = self.add(copy);
        second
    }
}
