//! A small QUIC-like transport: one stream one way, packets with numbers of their own, acknowledgements with ranges,
//! losses found by number and by a probe timeout, NewReno (RFC 9002). It does no I/O and owns no clock: time is a
//! `std::time::Duration` since some beginning, as a transport that knows nothing of tailback would have it.
//! `tests/on_a_path.rs` puts it on simulated paths.
//!
//! What it is not: no handshake, no flow control, no encryption, no frames but two.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

/// Bytes of stream in a full packet, and of everything around them.
pub const PAYLOAD: u64 = 1200;
pub const HEADER: u64 = 48;
/// RFC 9002 section 6.1.1: a packet is lost if one sent so many later has been acknowledged.
const PACKET_THRESHOLD: u64 = 3;
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// The longest the receiver waits with an acknowledgement.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// What a datagram holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Packet {
    Stream {
        number: u64,
        bytes: Range<u64>,
    },
    /// Packet numbers that have arrived, the highest range first; and whether one of them was marked by a queue.
    Ack {
        ranges: Vec<Range<u64>>,
        congestion: bool,
    },
}

impl Packet {
    /// Its size on the wire.
    pub fn size(&self) -> u64 {
        match self {
            Packet::Stream { bytes, .. } => HEADER + (bytes.end - bytes.start),
            Packet::Ack { ranges, .. } => HEADER + 8 * ranges.len() as u64,
        }
    }
}

/// The end that sends so many bytes.
pub struct Sender {
    total: u64,
    next_byte: u64,
    next_number: u64,
    /// Bytes to be sent again.
    again: VecDeque<Range<u64>>,
    outstanding: BTreeMap<u64, (Range<u64>, Duration)>,
    in_flight: u64,
    pub window: f64,
    threshold: f64,
    /// Losses of packets sent before this do not reduce the window again.
    recovery_since: Duration,
    rtt: Option<(Duration, Duration)>,
    probes: u32,
    probe_now: bool,
    pub acknowledged: u64,
    pub lost: u64,
    pub finished: Option<Duration>,
}

impl Sender {
    pub fn new(total: u64) -> Sender {
        Sender {
            total,
            next_byte: 0,
            next_number: 0,
            again: VecDeque::new(),
            outstanding: BTreeMap::new(),
            in_flight: 0,
            window: (10 * PAYLOAD) as f64,
            threshold: f64::INFINITY,
            recovery_since: Duration::ZERO,
            rtt: None,
            probes: 0,
            probe_now: false,
            acknowledged: 0,
            lost: 0,
            finished: None,
        }
    }

    pub fn poll_transmit(&mut self, now: Duration) -> Option<Packet> {
        if !self.probe_now && self.in_flight + PAYLOAD > self.window as u64 {
            return None;
        }
        let bytes = match self.again.pop_front() {
            Some(range) => range,
            None if self.next_byte < self.total => {
                let to = (self.next_byte + PAYLOAD).min(self.total);
                std::mem::replace(&mut self.next_byte, to)..to
            }
            // A probe of what is outstanding, if there is nothing else.
            None if self.probe_now => self.outstanding.first_key_value()?.1.0.clone(),
            None => return None,
        };
        self.probe_now = false;
        let number = self.next_number;
        self.next_number += 1;
        self.in_flight += bytes.end - bytes.start;
        self.outstanding.insert(number, (bytes.clone(), now));
        Some(Packet::Stream { number, bytes })
    }

    pub fn on_ack(&mut self, ranges: &[Range<u64>], congestion: bool, now: Duration) {
        let Some(highest) = ranges.first().map(|r| r.end - 1) else {
            return;
        };
        let numbers: Vec<u64> = ranges
            .iter()
            .flat_map(|r| self.outstanding.range(r.clone()).map(|(n, _)| *n))
            .collect();
        for number in &numbers {
            let Some((bytes, sent)) = self.outstanding.remove(number) else {
                continue;
            };
            let size = bytes.end - bytes.start;
            self.in_flight -= size;
            self.acknowledged += size;
            self.probes = 0;
            if *number == highest {
                self.sample(now - sent);
            }
            if sent > self.recovery_since || self.recovery_since == Duration::ZERO {
                let size = size as f64;
                self.window += if self.window < self.threshold {
                    size
                } else {
                    size * PAYLOAD as f64 / self.window
                };
            }
        }
        self.find_losses(highest, now);
        if congestion {
            self.reduce(now, now);
        }
        if self.outstanding.is_empty() && self.again.is_empty() && self.next_byte == self.total {
            self.finished.get_or_insert(now);
        }
    }

    fn find_losses(&mut self, highest: u64, now: Duration) {
        let below = (highest + 1).saturating_sub(PACKET_THRESHOLD);
        let lost: Vec<u64> = self.outstanding.range(..below).map(|(n, _)| *n).collect();
        for number in lost {
            let Some((bytes, sent)) = self.outstanding.remove(&number) else {
                continue;
            };
            self.in_flight -= bytes.end - bytes.start;
            self.lost += 1;
            self.again.push_back(bytes);
            self.reduce(sent, now);
        }
    }

    /// RFC 9002 section 7.3.2: once a round trip.
    fn reduce(&mut self, sent: Duration, now: Duration) {
        if sent > self.recovery_since || self.recovery_since == Duration::ZERO {
            self.recovery_since = now;
            self.window = (self.window / 2.0).max((2 * PAYLOAD) as f64);
            self.threshold = self.window;
        }
    }

    fn sample(&mut self, latest: Duration) {
        self.rtt = Some(match self.rtt {
            None => (latest, latest / 2),
            Some((smoothed, variation)) => (
                (7 * smoothed + latest) / 8,
                (3 * variation + smoothed.abs_diff(latest)) / 4,
            ),
        });
    }

    /// When a probe is due: RFC 9002 section 6.2.1.
    pub fn timeout(&self) -> Option<Duration> {
        let (_, (_, sent)) = self.outstanding.last_key_value()?;
        let (smoothed, variation) = self.rtt.unwrap_or((INITIAL_RTT, INITIAL_RTT / 2));
        let wait = smoothed + (4 * variation).max(Duration::from_millis(1)) + MAX_ACK_DELAY;
        Some(*sent + wait * 2u32.pow(self.probes.min(10)))
    }

    pub fn on_timeout(&mut self, now: Duration) {
        if self.timeout().is_some_and(|t| t <= now) {
            self.probes += 1;
            self.probe_now = true;
        }
    }
}

/// The end that receives.
#[derive(Default)]
pub struct Receiver {
    /// Packet numbers that have arrived, in order, none adjacent.
    numbers: Vec<Range<u64>>,
    /// The same of bytes.
    bytes: Vec<Range<u64>>,
    congestion: bool,
    ack: bool,
}

impl Receiver {
    pub fn on_stream(&mut self, number: u64, bytes: Range<u64>, marked: bool) {
        add(&mut self.numbers, number..number + 1);
        add(&mut self.bytes, bytes);
        self.congestion |= marked;
        self.ack = true;
    }

    pub fn poll_transmit(&mut self) -> Option<Packet> {
        let wanted = std::mem::take(&mut self.ack);
        wanted.then(|| Packet::Ack {
            ranges: self.numbers.iter().rev().take(32).cloned().collect(),
            congestion: std::mem::take(&mut self.congestion),
        })
    }

    /// Bytes that the application has in order.
    pub fn in_order(&self) -> u64 {
        self.bytes.first().filter(|r| r.start == 0).map_or(0, |r| r.end)
    }
}

/// Add a range to ranges in order, and join what touches.
fn add(ranges: &mut Vec<Range<u64>>, mut new: Range<u64>) {
    let from = ranges.partition_point(|r| r.end < new.start);
    let to = ranges.partition_point(|r| r.start <= new.end);
    for r in &ranges[from..to] {
        new = new.start.min(r.start)..new.end.max(r.end);
    }
    ranges.splice(from..to, [new]);
}
