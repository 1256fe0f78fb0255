//! The messages between the two ends, and their encoding in a segment.
//!
//! | RFC 5348 section 3.2 | data packet | report |
//! |---|---|---|
//! | sequence number | `seq`, counting packets | |
//! | timestamp, and the timestamp that is echoed | `timestamps`, first | `timestamps`, first |
//! | the sender's round trip; the delay before the report | `timestamps`, second | `timestamps`, second |
//! | receive rate, whole bytes/s as in RFC 4342 section 8.3 | | `seq` |
//! | loss event rate, in units of 2^-32 | | `window` |
//!
//! A report also contains, in `ack`, the number after the last packet received. A report is a datagram and not a TCP
//! acknowledgement, so it has no flags.

use crate::segment::{Flags, SackBlocks, Segment};
use tailback_base::{Duration, Ecn, Time};

/// The number of units in a loss event rate of one.
const ONE: f64 = 4_294_967_296.0;

/// The contents of the receiver's report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Report {
    /// One past the highest number received.
    pub end: u64,
    /// The time at which the last received packet was sent.
    pub echo: Time,
    /// The time since the last packet was received.
    pub delay: Duration,
    /// Payload received in the last round trip, bytes/s.
    pub receive_rate: f64,
    pub loss_event_rate: f64,
}

impl Report {
    /// The report as a segment of `bytes` on the wire.
    pub fn segment(&self, bytes: u32) -> Segment {
        Segment {
            seq: libm::round(self.receive_rate) as u64,
            payload: 0,
            ack: self.end,
            flags: Flags::NONE,
            ecn: Ecn::NotEct,
            bytes,
            sack: SackBlocks::new(),
            timestamps: Some((self.echo, Time(self.delay.0))),
            window: Some(libm::round(self.loss_event_rate * ONE) as u32),
            counts: None,
        }
    }

    /// Read a report from a segment; `None` if it is not a report.
    pub fn read(s: &Segment) -> Option<Report> {
        let (Some((echo, delay)), Some(rate), 0) = (s.timestamps, s.window, s.payload) else {
            return None;
        };
        Some(Report {
            end: s.ack,
            echo,
            delay: Duration(delay.0),
            receive_rate: s.seq as f64,
            loss_event_rate: f64::from(rate) / ONE,
        })
    }
}

/// A data packet that is sent now. `rtt` is zero while the sender knows no round trip.
pub fn packet(number: u64, payload: u32, header: u32, ecn: Ecn, now: Time, rtt: Duration) -> Segment {
    Segment {
        seq: number,
        payload,
        ack: 0,
        flags: Flags::NONE,
        ecn,
        bytes: payload + header,
        sack: SackBlocks::new(),
        timestamps: Some((now, Time(rtt.0))),
        window: None,
        counts: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_segment() {
        let r = Report {
            end: 77,
            echo: Time(123),
            delay: Duration(4_000_000),
            receive_rate: 164_001.0,
            loss_event_rate: 0.0078125,
        };
        assert_eq!(Report::read(&r.segment(44)), Some(r));
        // A loss event rate of one is stored as one unit less than one.
        let all = Report {
            loss_event_rate: 1.0,
            ..r
        };
        let read = Report::read(&all.segment(44)).expect("a report");
        assert!((read.loss_event_rate - 1.0).abs() < 1e-9);
        let data = packet(5, 1460, 40, Ecn::Ect0, Time(9), Duration(7));
        assert_eq!((Report::read(&data), data.timestamps), (None, Some((Time(9), Time(7)))));
    }
}
