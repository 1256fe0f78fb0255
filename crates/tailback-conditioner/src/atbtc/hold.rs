//! Holds packets of slow starts back until they are within the peak rate.
//!
//! A sender in slow start doubles its window until a signal stops it. If the window is far above the peak rate, most of
//! its packets are red, and several packets may be lost in one round trip. With `slowstart_shape` a packet that would
//! be red waits, in order, until the bucket of the peak rate has enough tokens for it. If the maximum number of packets
//! waits, the next packet is dropped, once in each slow start, so that the slow start ends. When later packets arrive
//! at a full shaper, its head leaves at once.
//!
//! State: the waiting packets of each client, and the time when the first of these may leave. While no packets wait, a
//! packet that need not wait has no cost.

use super::client::Client;
use std::collections::{BTreeMap, VecDeque};
use tailback_base::{Packet, Time};

/// The fate of a packet that would be red.
pub(super) enum HoldAnswer<P> {
    Waits,
    /// The shaper is full, and this packet is dropped.
    Dropped(P),
    /// The shaper is full. The arriving packet waits, and this packet, the head, leaves.
    Pushes(P),
}

/// The waiting packets of all clients, by the number of the client.
pub(super) struct Hold<P> {
    /// The number of packets of a client that may wait; 0 if no packet ever waits.
    most: usize,
    waiting: BTreeMap<usize, HeldLine<P>>,
}

struct HeldLine<P> {
    packets: VecDeque<P>,
    due: Time,
}

impl<P: Packet> Hold<P> {
    pub fn new(most: u64) -> Hold<P> {
        Hold {
            most: most as usize,
            waiting: BTreeMap::new(),
        }
    }

    pub fn is_used(&self) -> bool {
        self.most > 0
    }

    pub fn holds(&self, client: usize) -> bool {
        self.waiting.contains_key(&client)
    }

    /// The number of waiting packets.
    pub fn packets(&self) -> u64 {
        self.waiting.values().map(|line| line.packets.len() as u64).sum()
    }

    /// The clients with waiting packets.
    pub fn clients(&self) -> Vec<usize> {
        self.waiting.keys().copied().collect()
    }

    /// The time at which the next packet may leave.
    pub fn next(&self) -> Option<Time> {
        self.waiting.values().map(|l| l.due).min()
    }

    /// Hold back a packet of a sender in slow start that would be red.
    pub fn take(&mut self, client: usize, c: &mut Client, p: P) -> HoldAnswer<P> {
        let line = self.waiting.entry(client).or_insert_with(|| HeldLine {
            packets: VecDeque::new(),
            due: Time::NEVER,
        });
        if line.packets.len() < self.most {
            line.packets.push_back(p);
            return HoldAnswer::Waits;
        }
        if c.ends_slow_start(p.flow()) {
            return HoldAnswer::Dropped(p);
        }
        line.packets.push_back(p);
        match line.packets.pop_front() {
            Some(head) => HoldAnswer::Pushes(head),
            None => HoldAnswer::Waits,
        }
    }

    /// Let packets leave that may leave now: packets of senders whose slow start is over, and packets at the head that
    /// are within the peak rate. `send` colours a packet and takes its tokens.
    pub fn release(&mut self, client: usize, c: &mut Client, now: Time, send: &mut dyn FnMut(&mut Client, P)) {
        let Some(line) = self.waiting.get_mut(&client) else {
            return;
        };
        let mut still_held = VecDeque::with_capacity(line.packets.len());
        for p in line.packets.drain(..) {
            let free = still_held.is_empty() && c.is_within_peak(p.bytes(), now);
            if free || !c.in_slow_start(p.flow()) {
                send(c, p);
            } else {
                still_held.push_back(p);
            }
        }
        line.packets = still_held;
        match line.packets.front() {
            Some(head) => line.due = now + c.wait(head.bytes(), now),
            None => {
                self.waiting.remove(&client);
            }
        }
    }
}
