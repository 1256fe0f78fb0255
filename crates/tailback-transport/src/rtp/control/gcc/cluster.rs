//! A cluster of packets that are sent faster than the estimate, and the rate that this cluster proves.
//!
//! A cluster is complete when it has five packets and the bytes of 15 ms at its rate. It has a result if at least four
//! packets, with four fifths of the bytes of 15 ms, have arrived:
//!
//! ```text
//!   sent     = bytes but the last packet's / time from the first to the last that was sent
//!   received = bytes but the first packet's / time from the first to the last that arrived
//!   result   = the smaller of the two; 0.95 received where that is below 0.9 sent: the line is then full
//! ```
//!
//! A cluster has no result if it took longer than a second, or if it arrived at more than twice the rate at which it
//! was sent.

use tailback_base::Time;

const LENGTH_S: f64 = 0.015;
const LEAST_PACKETS: u32 = 5;
const LEAST_RECEIVED: u32 = 4;
const SHARE_RECEIVED: f64 = 0.8;
const LONGEST_S: f64 = 1.0;
const MOST_RATIO: f64 = 2.0;
const FULL: f64 = 0.9;
const OF_FULL: f64 = 0.95;

/// The time and the bytes of the first and of the last of some packets.
#[derive(Clone, Copy)]
struct Ends {
    first: (Time, u32),
    last: (Time, u32),
}

impl Ends {
    fn with(ends: Option<Ends>, at: Time, bytes: u32) -> Option<Ends> {
        let end = (at, bytes);
        let Some(Ends { first, last }) = ends else {
            return Some(Ends { first: end, last: end });
        };
        Some(Ends {
            first: if at <= first.0 { end } else { first },
            last: if at >= last.0 { end } else { last },
        })
    }

    fn seconds(&self) -> f64 {
        self.last.0.since(self.first.0).seconds()
    }
}

pub struct Cluster {
    /// Bit/s.
    pub rate: f64,
    /// The cluster was planned while the application limited the rate.
    pub is_limited: bool,
    /// The numbers of its packets.
    numbers: std::ops::Range<u64>,
    bytes: u64,
    received: u32,
    received_bytes: u64,
    sent: Option<Ends>,
    arrived: Option<Ends>,
}

impl Cluster {
    pub fn new(rate: f64, is_limited: bool) -> Cluster {
        Cluster {
            rate,
            is_limited,
            numbers: 0..0,
            bytes: 0,
            received: 0,
            received_bytes: 0,
            sent: None,
            arrived: None,
        }
    }

    fn bytes_due(&self) -> f64 {
        self.rate * LENGTH_S / 8.0
    }

    /// A packet leaves. Returns whether this packet completes the cluster.
    pub fn send(&mut self, number: u64, bytes: u32) -> bool {
        if self.numbers.is_empty() {
            self.numbers.start = number;
        }
        self.numbers.end = number + 1;
        self.bytes += u64::from(bytes);
        let packets = self.numbers.end - self.numbers.start;
        self.bytes as f64 >= self.bytes_due() && packets >= u64::from(LEAST_PACKETS)
    }

    /// A packet arrived. Returns whether it belongs to the cluster.
    pub fn receive(&mut self, number: u64, bytes: u32, sent: Time, at: Time) -> bool {
        if !self.numbers.contains(&number) {
            return false;
        }
        self.received += 1;
        self.received_bytes += u64::from(bytes);
        self.sent = Ends::with(self.sent, sent, bytes);
        self.arrived = Ends::with(self.arrived, at, bytes);
        true
    }

    /// Bit/s.
    pub fn result(&self) -> Option<f64> {
        let (sent_ends, arrived_ends) = (self.sent?, self.arrived?);
        let is_enough =
            self.received >= LEAST_RECEIVED && self.received_bytes as f64 >= SHARE_RECEIVED * self.bytes_due();
        let is_measured = |seconds: f64| seconds > 0.0 && seconds <= LONGEST_S;
        if !is_enough || !is_measured(sent_ends.seconds()) || !is_measured(arrived_ends.seconds()) {
            return None;
        }
        let rate = |but: u32, seconds: f64| 8.0 * (self.received_bytes - u64::from(but)) as f64 / seconds;
        let out = rate(sent_ends.last.1, sent_ends.seconds());
        let in_rate = rate(arrived_ends.first.1, arrived_ends.seconds());
        if in_rate > MOST_RATIO * out {
            return None;
        }
        Some(if in_rate < FULL * out {
            OF_FULL * in_rate
        } else {
            out.min(in_rate)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of fifteen packets of 250 B, sent at 2 Mbit/s, one every 1 ms. The first `lost` packets are lost, and
    /// the others arrive `gap` us apart.
    fn result(gap: u64, lost: u64) -> Option<f64> {
        let mut c = Cluster::new(2e6, false);
        let whole: Vec<bool> = (0..16).map(|n| c.send(n, 250)).collect();
        assert_eq!(whole.iter().position(|w| *w), Some(14), "15 ms of 2 Mbit/s are 3750 B");
        for n in lost..15 {
            assert!(c.receive(n, 250, Time(n * 1_000_000), Time(50_000_000 + n * 1000 * gap)));
        }
        assert!(!c.receive(16, 250, Time(1), Time(2)));
        c.result()
    }

    #[test]
    fn a_cluster_proves_the_smaller_of_its_rates() {
        assert_eq!(result(1000, 0), Some(2e6));
        // 1.9 Mbit/s is not below 0.9 of the rate that was sent.
        let near = result(1050, 0).expect("a result");
        assert!((near - 2e6 / 1.05).abs() < 1.0, "{near}");
        let full = result(2000, 0).expect("a result");
        assert!((full - 0.95e6).abs() < 1.0, "{full}");
        assert_eq!(result(400, 0), None, "2.5 times as fast as it was sent");
        assert!(result(1000, 3).is_some());
        assert_eq!(result(1000, 4), None, "eleven of fifteen");
    }
}
