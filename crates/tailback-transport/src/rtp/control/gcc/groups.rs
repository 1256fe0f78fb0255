//! Groups of packets that were sent together, and by how much the delay grew from one group to the next.
//!
//! Packets sent within 5 ms are a group. Packets that a queue releases at once after a pause are also a group: these
//! arrive at most 5 ms apart, within 100 ms, and each has less delay than the one before. Send times are whole
//! milliseconds, as in libwebrtc.

use tailback_base::Time;

const LENGTH_MS: f64 = 5.0;
const BURST_MS: f64 = 5.0;
const LONGEST_BURST_MS: f64 = 100.0;

/// A group: when its first and last packets were sent, and when they arrived, ms.
#[derive(Clone, Copy)]
struct PacketGroup {
    first_sent: f64,
    first_arrived: f64,
    sent: f64,
    arrived: f64,
}

/// How much later than one group the next group was sent, and how much later it arrived, ms.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    pub sent: f64,
    pub arrived: f64,
    /// When the later group arrived, ms.
    pub at: f64,
}

#[derive(Default)]
pub struct Groups {
    before: Option<PacketGroup>,
    present: Option<PacketGroup>,
}

impl Groups {
    /// Take a packet that arrived, in the order of sending. If it begins a group, the difference between the two groups
    /// before is known.
    pub fn add(&mut self, sent: Time, arrived: Time) -> Option<Difference> {
        let sent = libm::round(1e3 * sent.seconds());
        let arrived = 1e3 * arrived.seconds();
        let begun = PacketGroup {
            first_sent: sent,
            first_arrived: arrived,
            sent,
            arrived,
        };
        let Some(present) = &mut self.present else {
            self.present = Some(begun);
            return None;
        };
        if sent < present.first_sent {
            return None;
        }
        let (after, later) = (sent - present.sent, arrived - present.arrived);
        let is_burst = later < after && later <= BURST_MS && arrived - present.first_arrived < LONGEST_BURST_MS;
        if after == 0.0 || is_burst || sent - present.first_sent <= LENGTH_MS {
            present.sent = present.sent.max(sent);
            present.arrived = present.arrived.max(arrived);
            return None;
        }
        let complete_group = *present;
        *present = begun;
        let before = self.before.replace(complete_group)?;
        Some(Difference {
            sent: complete_group.sent - before.sent,
            arrived: complete_group.arrived - before.arrived,
            at: complete_group.arrived,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: u64) -> Time {
        Time(x * 1_000_000)
    }

    #[test]
    fn packets_of_five_milliseconds_are_a_group() {
        let mut g = Groups::default();
        let packets = [(0, 20), (5, 25), (6, 30), (20, 41), (40, 60)];
        let differences: Vec<_> = packets.into_iter().filter_map(|(s, a)| g.add(ms(s), ms(a))).collect();
        let expected = [
            Difference {
                sent: 1.0,
                arrived: 5.0,
                at: 30.0,
            },
            Difference {
                sent: 14.0,
                arrived: 11.0,
                at: 41.0,
            },
        ];
        assert_eq!(differences, expected);
    }

    /// After an outage of 200 ms ten packets arrive at once. These packets are one group.
    #[test]
    fn what_a_pause_lets_go_is_one_group() {
        let mut groups = Groups::default();
        assert_eq!(groups.add(ms(0), ms(20)), None);
        assert!((1..=10).all(|n| groups.add(ms(20 * n), ms(220 + n)).is_none()));
        assert_eq!(
            groups.add(ms(300), ms(320)),
            Some(Difference {
                sent: 200.0,
                arrived: 210.0,
                at: 230.0
            })
        );
    }
}
