//! Records of the ports of a link, in the order of time.
//!
//! A port that runs ahead reports its packets before their time. The packets of one port come in the order of their
//! arrival, but those of several ports have to be sorted. At one instant the port with the lower number comes first,
//! so the result does not depend on when the run reported a packet. A record is written when its fate is known and no
//! earlier record can still come.
//!
//! State: the waiting records of each port, their bytes, and the present time of the run.

use crate::fates::Fates;
use tailback_base::Time;
use tailback_sim::wire::packet::PacketId;

/// A packet to be written; its bytes are stored separately.
struct Record {
    at: Time,
    flow: u32,
    bytes: usize,
}

#[derive(Default)]
struct CapturedPort {
    fates: Fates<Record>,
    /// Bytes of the waiting records, after those of some records that are already written.
    bytes: Vec<u8>,
    left: usize,
}

/// Waiting records, by port.
#[derive(Default)]
pub struct Order {
    ports: Vec<CapturedPort>,
    reached: Time,
    held: usize,
}

/// The next record to be written, without its bytes.
pub struct NextRecord {
    pub flow: u32,
    pub said: Vec<String>,
}

impl Order {
    pub fn new(ports: usize) -> Order {
        Order {
            ports: (0..ports).map(|_| CapturedPort::default()).collect(),
            ..Order::default()
        }
    }

    /// Bytes of the waiting records.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Everything before this time has been reported.
    #[inline]
    pub fn reach(&mut self, t: Time) {
        self.reached = self.reached.max(t);
    }

    /// A packet arrives at a port.
    #[inline]
    pub fn arrived(&mut self, port: usize, id: PacketId, at: Time, bytes: &[u8]) {
        let p = &mut self.ports[port];
        p.bytes.extend_from_slice(bytes);
        self.held += bytes.len();
        let record = Record {
            at,
            flow: id.flow.0,
            bytes: bytes.len(),
        };
        p.fates.arrived(id, record);
    }

    /// Add a comment to a packet that has arrived at a port; returns false if no such packet has.
    pub fn say(&mut self, port: usize, id: PacketId, what: String) -> bool {
        self.ports[port].fates.say(id, what)
    }

    /// A packet's fate at a port is known.
    #[inline]
    pub fn settle(&mut self, port: usize, id: PacketId) {
        self.ports[port].fates.settle(id);
    }

    /// The next record, if it can be written; its bytes are appended to `into`. With `all` nothing more will come.
    pub fn next(&mut self, all: bool, into: &mut Vec<u8>) -> Option<NextRecord> {
        // A port without waiting records may still report a packet at the present time.
        let none = if all { Time::NEVER } else { self.reached };
        let (mut earliest_port, mut earliest) = (0, Time::NEVER);
        for (i, p) in self.ports.iter().enumerate() {
            let due = p.fates.front().map_or(none, |record| record.at);
            if due < earliest {
                (earliest_port, earliest) = (i, due);
            }
        }
        let port = self.ports.get_mut(earliest_port)?;
        let next_fate = match all {
            true => port.fates.pop(),
            false => port.fates.next_settled(),
        }?;
        let n = next_fate.record.bytes;
        into.extend_from_slice(&port.bytes[port.left..port.left + n]);
        port.left += n;
        if port.left > port.bytes.len() / 2 {
            port.bytes.drain(..port.left);
            port.left = 0;
        }
        self.held -= n;
        Some(NextRecord {
            flow: next_fate.record.flow,
            said: next_fate.said,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::FlowId;

    fn id(sequence: u64) -> PacketId {
        PacketId {
            flow: FlowId(0),
            backward: false,
            sequence,
            born: Time(0),
        }
    }

    fn come(o: &mut Order, port: usize, name: u8, at: u64) {
        o.arrived(port, id(u64::from(name)), Time(at), &[name]);
        o.settle(port, id(u64::from(name)));
    }

    fn written(o: &mut Order, all: bool) -> Vec<u8> {
        let mut bytes = vec![];
        while o.next(all, &mut bytes).is_some() {}
        bytes
    }

    #[test]
    fn what_is_shown_ahead_waits_for_what_comes_before_it() {
        let mut order = Order::new(2);
        come(&mut order, 0, 1, 10);
        come(&mut order, 1, 4, 40);
        come(&mut order, 1, 5, 50);
        order.reach(Time(10));
        assert_eq!(written(&mut order, false), [1]);
        come(&mut order, 0, 2, 20);
        come(&mut order, 0, 6, 50);
        order.reach(Time(50));
        assert_eq!(
            written(&mut order, false),
            [2, 4, 6],
            "at one instant by port, and another may come to the first"
        );
        order.reach(Time(51));
        assert_eq!(written(&mut order, false), [5]);
        assert_eq!(order.held(), 0);
    }

    #[test]
    fn a_record_without_a_fate_holds_back_what_is_later() {
        let mut order = Order::new(2);
        order.arrived(0, id(1), Time(10), &[1]);
        come(&mut order, 1, 2, 20);
        order.reach(Time(100));
        assert!(written(&mut order, false).is_empty());
        assert!(order.say(0, id(1), "marked".into()));
        assert_eq!(written(&mut order, true), [1, 2]);
    }
}
