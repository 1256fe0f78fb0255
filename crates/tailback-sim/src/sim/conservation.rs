//! Conservation of packets at a port: every packet that came in went out, was dropped, or is still there.

use crate::sim::Sim;
use crate::wire::port::Queue;

/// Packets of one port: counts since the start of statistics, and those inside now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conservation {
    pub arrived: u64,
    pub delivered: u64,
    pub dropped: u64,
    /// Packets in the queue, on the line and on the wire. Packets that an impairment or a conditioner delays have not
    /// arrived yet.
    pub inside: u64,
}

impl Conservation {
    /// Whether no packet was lost or invented. This holds for a run without warm-up. If statistics start later, there
    /// are packets inside whose arrival was not counted.
    pub fn holds(&self) -> bool {
        self.arrived == self.delivered + self.dropped + self.inside
    }
}

impl Sim {
    /// The counts of the port with this number.
    pub fn conservation(&self, port: u32) -> Conservation {
        let p = &self.net.ports[port as usize];
        let queued = match &p.queue {
            // One ring contains both the queue and the wire.
            Queue::Fused(_) => 0,
            Queue::Explicit(e) => e.server.queue.backlog().packets,
        };
        Conservation {
            arrived: p.stats.arrived_packets,
            delivered: p.stats.delivered_packets,
            dropped: p.stats.dropped(),
            inside: queued + p.wire.packets(),
        }
    }

    /// The number of ports: two for each link.
    pub fn ports(&self) -> u32 {
        self.net.ports.len() as u32
    }

    /// Entries of the event list and of the separate list of timers, live and outdated.
    pub fn pending_events(&self) -> usize {
        self.events.len() + self.timers_in_order()
    }
}
