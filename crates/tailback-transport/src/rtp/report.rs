//! What the two ends send to each other, and how a segment carries these data.
//!
//! | | data packet | report (RFC 8888) |
//! |---|---|---|
//! | number of the packet; the first that the report covers | `seq` | `seq` |
//! | one past the last number that it covers | | `ack` |
//! | when it was sent | `timestamps`, first | `timestamps`, first |
//! | whether it ends a frame (the marker bit of RFC 3550) | `timestamps`, second: 1 | |
//! | its number among those with media, or that it is padding | `timestamps`, second: twice the former; 2^63 | |
//! | for each packet that arrived: number, arrival, ECN code point | | `sack` |
//!
//! A report is a datagram without flags. Its size on the wire is the sum of 20 B of IP, 8 B of UDP, 8 B of RTCP, 8 B
//! for the source and the range, 2 B for each number in the range (rounded up to an even count of numbers), and 4 B of
//! time stamp (RFC 8888 section 3.1). Arrival times are in units of 1/1024 s before the report, and at most 8189 units.

use super::control::ReportRule;
use crate::segment::{Flags, SackBlocks, Segment};
use tailback_base::{Ecn, Time};

/// The bytes of a report in addition to two bytes for each packet.
const FIXED_BYTES: u64 = 20 + 8 + 8 + 8 + 4;
/// RFC 8888 section 3.1: the largest arrival time offset.
const LARGEST_OFFSET: u64 = 0x1FFD;

/// A packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportedArrival {
    pub number: u64,
    pub at: Time,
    pub ecn: Ecn,
}

/// Which packets of a range have arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrivalReport {
    pub begin: u64,
    pub end: u64,
    pub sent: Time,
    /// In the order of numbers.
    pub arrived: Vec<ReportedArrival>,
}

impl ArrivalReport {
    /// Size on the wire, bytes.
    pub fn bytes(&self) -> u32 {
        let numbers = self.end - self.begin;
        (FIXED_BYTES + 2 * numbers.next_multiple_of(2)) as u32
    }

    /// The report as a segment, in which arrival times have the accuracy of the rule.
    pub fn segment(&self, rule: &ReportRule) -> Segment {
        let steps = |at: Time| (self.sent.since(at).0 / rule.step.0).min(LARGEST_OFFSET);
        let entry = |a: &ReportedArrival| (a.number, steps(a.at) << 2 | ecn_bits(a.ecn));
        Segment {
            seq: self.begin,
            payload: 0,
            ack: self.end,
            flags: Flags::NONE,
            ecn: Ecn::NotEct,
            bytes: self.bytes(),
            sack: self.arrived.iter().map(entry).collect(),
            timestamps: Some((self.sent, Time::ZERO)),
            window: None,
            counts: None,
        }
    }

    /// Read a report from a segment; `None` if it is not a report.
    pub fn read(s: &Segment, rule: &ReportRule) -> Option<ArrivalReport> {
        let (Some((sent, _)), 0, true) = (s.timestamps, s.payload, s.ack > s.seq) else {
            return None;
        };
        let arrival = |&(number, word): &(u64, u64)| ReportedArrival {
            number,
            at: Time(sent.0.saturating_sub((word >> 2) * rule.step.0)),
            ecn: ecn_of(word & 3),
        };
        Some(ArrivalReport {
            begin: s.seq,
            end: s.ack,
            sent,
            arrived: s.sack.iter().map(arrival).collect(),
        })
    }
}

/// The two bits of RFC 3168 section 5.
fn ecn_bits(ecn: Ecn) -> u64 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

fn ecn_of(bits: u64) -> Ecn {
    match bits {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// The contents of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contents {
    pub payload: u32,
    /// The number of the packet among those with media; `None` for padding.
    pub media: Option<u64>,
    pub ends_frame: bool,
}

const PADDING: u64 = 1 << 63;

impl Contents {
    /// The contents of a segment; `None` if the segment is not a data packet.
    pub fn read(s: &Segment) -> Option<Contents> {
        let (_, Time(word)) = s.timestamps.filter(|_| s.payload > 0)?;
        Some(Contents {
            payload: s.payload,
            media: (word & PADDING == 0).then_some(word >> 1),
            ends_frame: word & 1 > 0,
        })
    }

    fn word(&self) -> u64 {
        self.media.map_or(PADDING, |n| n << 1 | u64::from(self.ends_frame))
    }
}

/// A data packet that is sent now.
pub fn packet(number: u64, c: &Contents, header: u32, ecn: Ecn, now: Time) -> Segment {
    Segment {
        seq: number,
        payload: c.payload,
        ack: 0,
        flags: Flags::NONE,
        ecn,
        bytes: c.payload + header,
        sack: SackBlocks::new(),
        timestamps: Some((now, Time(c.word()))),
        window: None,
        counts: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8888 section 3.1: a report of ten numbers takes 68 B, and one of eleven or twelve numbers takes 72 B.
    #[test]
    fn a_report_survives_the_segment_in_steps_of_its_clock() {
        let rule = ReportRule::RFC8888;
        let report = ArrivalReport {
            begin: 7,
            end: 17,
            sent: Time(5_000_000_000),
            arrived: vec![
                ReportedArrival {
                    number: 7,
                    at: Time(4_990_000_000),
                    ecn: Ecn::Ce,
                },
                ReportedArrival {
                    number: 16,
                    at: Time(5_000_000_000),
                    ecn: Ecn::Ect1,
                },
            ],
        };
        let read = ArrivalReport::read(&report.segment(&rule), &rule).expect("a report");
        // Ten whole steps of 0.98 ms fit in 10 ms.
        assert_eq!(read.arrived[0].at, Time(5_000_000_000 - 10 * rule.step.0));
        assert_eq!((read.arrived[0].ecn, read.arrived[1]), (Ecn::Ce, report.arrived[1]));
        let bytes = |end| ArrivalReport { end, ..report.clone() }.bytes();
        assert_eq!([bytes(17), bytes(18), bytes(19)], [68, 72, 72]);
        for (media, ends_frame) in [(Some(5), true), (Some(0), false), (None, false)] {
            let c = Contents {
                payload: 1200,
                media,
                ends_frame,
            };
            let data = packet(3, &c, 40, Ecn::NotEct, Time(1));
            assert_eq!(
                (Contents::read(&data), ArrivalReport::read(&data, &rule)),
                (Some(c), None)
            );
        }
        assert_eq!(Contents::read(&report.segment(&rule)), None);
    }
}
