//! The classification keys of a flow's packets: the fields of its ends that queues see, and the fields that are left in
//! a tunnel.

use crate::declare::tables::TunnelHash;
use tailback_base::KeyField;

/// The classification keys of a flow, see [`KeyField`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Keys {
    pub source: u32,
    pub destination: u32,
    /// The label that the application may change; at the start it is the destination.
    pub label: u32,
    /// The edges at which the flow enters and leaves: source's and destination's.
    pub aggregate: [u16; 2],
    /// The flow's share at schedulers that share by weight.
    pub weight: f64,
}

/// A flag in the number of a host: the host is an end of a tunnel.
const TUNNEL_END: u32 = 1 << 30;
/// A second flag in the number of a host: by the outer header all flows between two such ends are one flow.
const ONE_FLOW: u32 = 1 << 31;

/// A tunnel that a flow is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunnel {
    pub number: u32,
    pub hash: TunnelHash,
}

impl Keys {
    /// The key of a packet of this flow, forward or backward.
    #[inline]
    pub fn of(&self, field: KeyField, flow: u32, backward: bool) -> u64 {
        let pair = |a: u32, b: u32| (u64::from(a) << 32) | u64::from(b);
        // The ACK stream of a conversation counts as another conversation.
        let (from, to) = if backward {
            (self.destination, self.source)
        } else {
            (self.source, self.destination)
        };
        match field {
            KeyField::Tuple if self.source & ONE_FLOW != 0 => pair(from, to),
            KeyField::Tuple => (u64::from(flow) << 1) | u64::from(backward),
            KeyField::Pair => pair(from, to),
            KeyField::Source => u64::from(from),
            KeyField::Destination => u64::from(to),
            KeyField::Label => u64::from(self.label),
            KeyField::Aggregate => {
                let [source, destination] = self.aggregate.map(u32::from);
                if backward {
                    pair(destination, source)
                } else {
                    pair(source, destination)
                }
            }
        }
    }

    /// The same keys for a connection between these nodes. In a tunnel the hosts are the ends of the tunnel; the label
    /// of `self` is the node behind the second end.
    #[must_use]
    pub fn between(self, from: u32, to: u32) -> Keys {
        let (source, destination) = match self.source & TUNNEL_END != 0 {
            false => (from, to),
            true if from == self.label => (self.destination, self.source),
            true => (self.source, self.destination),
        };
        Keys {
            source,
            destination,
            label: to,
            ..self
        }
    }

    /// The same keys for a flow in a tunnel: queues see the tunnel's ends as hosts.
    #[must_use]
    pub fn in_tunnel(self, t: Tunnel) -> Keys {
        let flag = match t.hash {
            TunnelHash::Outer => TUNNEL_END | ONE_FLOW,
            TunnelHash::Inner => TUNNEL_END,
        };
        Keys {
            source: flag | (t.number << 1),
            destination: flag | (t.number << 1) | 1,
            ..self
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            source: 0,
            destination: 0,
            label: 0,
            aggregate: [0; 2],
            weight: 1.0,
        }
    }
}
