//! Datagrams (RFC 768). One end sends what the application writes, and the other end counts the datagrams that arrive.
//!
//! There is no window, no acknowledgement and no timer. The application decides when to send. The simulator carries
//! datagram flows without endpoints. The two endpoints of this file are for drivers that use only [`Endpoint`], such as
//! a test. Each write is cut into datagrams of at most `payload` bytes. A datagram's `seq` is the offset of its first
//! byte.

use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Transmit};
use crate::entry::{Carries, Entry};
use crate::segment::{Flags, MOST_HEADER, SackBlocks, Segment};
use std::collections::VecDeque;
use tailback_base::{Ecn, Key, Kind, Model, ProbeDef, Settings, Time, params};

pub static MODEL: Model = Model {
    name: "udp",
    family: "transport",
    title: "Datagrams",
    summary: "Each packet is one datagram; nothing is sent again, nothing is acknowledged. With `echo` the \
              destination answers each datagram.",
    source: "RFC 768",
    params: PARAMS,
    probes: &[DELAY, ROUND_TRIP],
};

params! {
    const PARAMS;

    pub HEADER: u32 = Key::new("header", Kind::Bytes { min: 0, max: MOST_HEADER as u64 }, "0B",
        "How many bytes of each packet are not payload; packet_size is always the size on the wire.", "");
    pub ECN: bool = Key::new("ecn", Kind::Bool, "false", "Datagrams are ECN-capable.", "RFC 3168 section 5");
    pub CODEPOINT: DatagramCodepoint = Key::choice("ecn_codepoint", "ect0",
        "The codepoint of ECN-capable datagrams: ECT(0), or ECT(1) of a sender that answers marks as scalable ones do.",
        "RFC 3168 section 5; ect1: RFC 9331 section 4.1");
    pub ECHO: bool = Key::new("echo", Kind::Bool, "false",
        "The destination sends each datagram back at once, like the peer of ping or irtt. The table of datagrams then \
         also has round trips.", "RFC 862");
    pub ECHO_SIZE: Option<u32> = Key::new("echo_size", Kind::Bytes { min: 1, max: 65_535 }, "none",
        "Size of each answer, as of a server that answers a short input with a longer state. Default: that of the \
         datagram.", "");
}

tailback_base::choice! {
    pub enum DatagramCodepoint { Ect0 = "ect0", Ect1 = "ect1" }
}

/// The ECN code point of datagrams with these settings.
pub fn codepoint(s: &Settings) -> Ecn {
    match (s.get(&ECN), s.get(&CODEPOINT)) {
        (false, _) => Ecn::NotEct,
        (true, DatagramCodepoint::Ect0) => Ecn::Ect0,
        (true, DatagramCodepoint::Ect1) => Ecn::Ect1,
    }
}

/// The one-way delay of the last datagram.
pub const DELAY: ProbeDef = ProbeDef {
    name: "delay",
    unit: "s",
    doc: "One-way delay of the datagram that arrived last. With NAME.reverse, it is the delay of the answer that \
          arrived last. With on_change, there is a row for each arrival.",
    per: "",
};

/// The round trip of the last datagram that was answered.
pub const ROUND_TRIP: ProbeDef = ProbeDef {
    name: "round_trip",
    unit: "s",
    doc: "Time from sending a datagram to the arrival of its answer, for the answer that arrived last (only with \
          echo). With on_change, there is a row for each answer.",
    per: "",
};

/// The entry of datagrams in the list of transports.
pub static ENTRY: Entry = Entry {
    model: &MODEL,
    carries: Carries::Datagrams,
    capable: |settings, _| settings.get(&ECN),
};

/// The sending end.
pub struct DatagramSender {
    /// Largest payload of a datagram, bytes.
    payload: u32,
    /// Bytes on the wire in addition to the payload.
    header: u32,
    ecn: Ecn,
    /// Bytes of the writes that are not yet sent, oldest first.
    waiting: VecDeque<u64>,
    next: u64,
    closed: bool,
}

impl DatagramSender {
    /// Sends datagrams of at most `payload` bytes (at least 1) plus a header. Each datagram carries `ecn`.
    pub fn new(payload: u32, header: u32, ecn: Ecn) -> DatagramSender {
        DatagramSender {
            payload: payload.max(1),
            header,
            ecn,
            waiting: VecDeque::new(),
            next: 0,
            closed: false,
        }
    }
}

impl Endpoint for DatagramSender {
    /// A write without end is ignored, because datagrams have no sending rate of their own.
    fn write(&mut self, n: Amount, _now: Time) {
        if let Amount::Bytes(n) = n
            && n > 0
            && !self.closed
        {
            self.waiting.push_back(n);
        }
    }

    fn close(&mut self, _now: Time) {
        self.closed = true;
    }

    fn on_segment(&mut self, _s: &Segment, _now: Time, _up: &mut dyn AppEvents) {}

    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        let Some(left) = self.waiting.front_mut() else {
            return Transmit::Idle;
        };
        let payload = (*left).min(u64::from(self.payload)) as u32;
        *left -= u64::from(payload);
        if *left == 0 {
            self.waiting.pop_front();
        }
        let seq = self.next;
        self.next += u64::from(payload);
        Transmit::Segment(Segment {
            seq,
            payload,
            ack: 0,
            flags: Flags::NONE,
            ecn: self.ecn,
            bytes: payload + self.header,
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        })
    }

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {}

    fn is_closed(&self) -> bool {
        self.closed && self.waiting.is_empty()
    }
}

/// The receiving end, which counts the datagrams that arrive.
#[derive(Default)]
pub struct DatagramReceiver {
    bytes: u64,
    packets: u64,
    marked: u64,
    /// One past the highest byte seen. It shows which datagrams arrived late.
    highest: u64,
    late: u64,
}

impl DatagramReceiver {
    pub fn new() -> DatagramReceiver {
        DatagramReceiver::default()
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Datagrams that arrived with "congestion experienced".
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Datagrams that arrived after a later one, or a second time.
    pub fn late(&self) -> u64 {
        self.late
    }
}

impl Endpoint for DatagramReceiver {
    fn write(&mut self, _n: Amount, _now: Time) {}

    fn close(&mut self, _now: Time) {}

    fn on_segment(&mut self, s: &Segment, _now: Time, up: &mut dyn AppEvents) {
        self.packets += 1;
        self.bytes += u64::from(s.payload);
        self.marked += u64::from(s.ecn == Ecn::Ce);
        self.late += u64::from(s.seq < self.highest);
        self.highest = self.highest.max(s.end());
        up.event(AppEvent::Delivered(u64::from(s.payload)));
    }

    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        Transmit::Idle
    }

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {}

    fn received_bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_cut_and_counted() {
        let mut s = DatagramSender::new(1000, 28, Ecn::NotEct);
        let mut r = DatagramReceiver::new();
        s.write(Amount::Bytes(2500), Time::ZERO);
        s.write(Amount::Unlimited, Time::ZERO);
        s.close(Time::ZERO);
        s.write(Amount::Bytes(1), Time::ZERO);
        let mut sizes = Vec::new();
        while let Transmit::Segment(d) = s.poll_transmit(Time::ZERO) {
            sizes.push(d.bytes);
            r.on_segment(&d, Time::ZERO, &mut ());
        }
        assert_eq!(sizes, [1028, 1028, 528]);
        assert!(s.is_closed());
        assert_eq!((r.packets(), r.received_bytes(), r.late()), (3, 2500, 0));
    }
}
