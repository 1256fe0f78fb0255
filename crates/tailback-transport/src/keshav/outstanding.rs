//! The packets that were sent and not yet acknowledged by number, oldest first.
//!
//! The state is one record for each packet (40 bytes), and the number of the oldest packet. An acknowledgement costs
//! one look-up and the removal of the packets that it covers.

use std::collections::VecDeque;
use tailback_base::Time;
use tailback_base::work::done_if_long;

/// How a packet was sent, for a source that probes with pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    #[default]
    Single,
    /// First of two sent back to back.
    First,
    Second,
}

/// One packet.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    pub bytes: u32,
    pub role: Role,
    /// When the packet was first sent. If round trips are measured from the last transmission, this is when it was last
    /// sent.
    pub first_sent: Time,
    /// The packet was sent again.
    pub again: bool,
    /// An acknowledgement named it.
    pub heard: bool,
    /// When the packet's own timer expires, for sources with a timer for each packet; [`Time::NEVER`] if none runs.
    pub deadline: Time,
    /// Factor on its timeout.
    pub backoff: f64,
}

#[derive(Default)]
pub struct Outstanding {
    /// Number of the first outstanding packet.
    una: u64,
    packets: VecDeque<SentPacket>,
    /// The number of outstanding packets that an acknowledgement named.
    heard: usize,
    /// How many records were examined.
    #[cfg(test)]
    pub looked_at: u64,
}

impl Outstanding {
    /// The oldest packet not acknowledged; the next packet to be sent if all are acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The number of the next new packet.
    pub fn end(&self) -> u64 {
        self.una + self.packets.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The number of packets not acknowledged by number.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// The number of outstanding packets that no acknowledgement has named.
    pub fn unheard(&self) -> usize {
        self.packets.len() - self.heard
    }

    pub fn get(&self, number: u64) -> Option<&SentPacket> {
        self.packets.get(usize::try_from(number.checked_sub(self.una)?).ok()?)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut SentPacket> {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        self.packets
            .get_mut(usize::try_from(number.checked_sub(self.una)?).ok()?)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut SentPacket> {
        #[cfg(test)]
        {
            self.looked_at += self.packets.len() as u64;
        }
        done_if_long(self.packets.len());
        self.packets.iter_mut()
    }

    pub fn push(&mut self, p: SentPacket) {
        self.packets.push_back(p);
    }

    /// An acknowledgement names packet `number`. The first time, returns the record of the packet as it was before.
    pub fn hear(&mut self, number: u64) -> Option<SentPacket> {
        let p = self.get_mut(number)?;
        if p.heard {
            return None;
        }
        let was = *p;
        p.heard = true;
        self.heard += 1;
        Some(was)
    }

    /// Everything below `to` arrived. The caller must refuse numbers beyond [`Outstanding::end`].
    pub fn advance(&mut self, to: u64) {
        while self.una < to
            && let Some(p) = self.packets.pop_front()
        {
            self.heard -= usize::from(p.heard);
            self.una += 1;
        }
    }
}
