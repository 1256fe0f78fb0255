//! A small stack for tests. It sends what is written in datagrams of 1000 B, with at most eight outstanding. Each is
//! acknowledged; one that is not acknowledged is sent again after 200 ms.

use std::collections::BTreeMap;
use tailback_path::{Amount, Datagram, Ecn, Endpoint, ProbeDef, Time};

const PAYLOAD: u64 = 1000;
const HEADER: u32 = 40;
const OUTSTANDING: usize = 8;
const TIMEOUT: u64 = 200_000_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Packet {
    Data { from: u64, bytes: u64, last: bool },
    Ack { from: u64 },
}

/// One end; both send and receive.
#[derive(Default)]
pub struct Stream {
    pub began: Option<Time>,
    pub written: u64,
    pub acknowledged: u64,
    pub received: u64,
    pub marks: u32,
    pub sent: u32,
    next: u64,
    ends: bool,
    peer_ended: bool,
    outstanding: BTreeMap<u64, (u64, Time)>,
    done: BTreeMap<u64, u64>,
    arrived: BTreeMap<u64, u64>,
    acks: Vec<u64>,
    greets: bool,
}

impl Stream {
    pub fn pair() -> (Stream, Stream) {
        (Stream::default(), Stream::default())
    }

    /// It sends so much as soon as it begins, and begins without having heard of the other end.
    pub fn greeting(bytes: u64) -> Stream {
        Stream {
            greets: true,
            written: bytes,
            ..Stream::default()
        }
    }
}

fn in_order(from: &mut u64, pieces: &mut BTreeMap<u64, u64>) {
    while let Some(bytes) = pieces.remove(from) {
        *from += bytes;
    }
}

static PROBES: [ProbeDef; 1] = [ProbeDef {
    name: "outstanding",
    unit: "packets",
    doc: "datagrams that are not acknowledged",
    per: "",
}];

impl Endpoint for Stream {
    type Data = Packet;

    fn start(&mut self, now: Time) {
        self.began = Some(now);
    }

    fn speaks_first(&self) -> bool {
        self.greets
    }

    fn write(&mut self, amount: Amount, _now: Time) {
        self.written = match amount {
            Amount::Bytes(bytes) => self.written + bytes,
            Amount::Unlimited => u64::MAX,
        };
    }

    fn close(&mut self, _now: Time) {
        self.ends = true;
    }

    fn receive(&mut self, p: Packet, ecn: Ecn, _now: Time) {
        self.marks += u32::from(ecn == Ecn::Ce);
        match p {
            Packet::Data { from, bytes, last } => {
                if from >= self.received {
                    self.arrived.insert(from, bytes);
                }
                in_order(&mut self.received, &mut self.arrived);
                self.peer_ended |= last;
                self.acks.push(from);
            }
            Packet::Ack { from } => {
                if let Some((bytes, _)) = self.outstanding.remove(&from) {
                    self.done.insert(from, bytes);
                    in_order(&mut self.acknowledged, &mut self.done);
                }
            }
        }
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram<Packet>> {
        let (data, payload) = if let Some(from) = self.acks.pop() {
            (Packet::Ack { from }, 0)
        } else {
            let late = self.outstanding.iter().find(|(_, (_, at))| at.0 + TIMEOUT <= now.0);
            let (from, bytes) = match late {
                Some((from, (bytes, _))) => (*from, *bytes),
                None if self.next < self.written && self.outstanding.len() < OUTSTANDING => {
                    (self.next, PAYLOAD.min(self.written - self.next))
                }
                None => return None,
            };
            self.next = self.next.max(from + bytes);
            self.outstanding.insert(from, (bytes, now));
            let last = self.ends && from + bytes == self.written;
            (Packet::Data { from, bytes, last }, bytes as u32)
        };
        self.sent += 1;
        let mut datagram = Datagram::new(data, HEADER + payload);
        datagram.ecn = Ecn::Ect0;
        Some(datagram)
    }

    fn timeout(&self) -> Option<Time> {
        self.outstanding.values().map(|(_, at)| Time(at.0 + TIMEOUT)).min()
    }

    fn delivered(&self) -> u64 {
        self.received
    }

    fn acknowledged(&self) -> Option<u64> {
        Some(self.acknowledged)
    }

    fn is_closed_by_peer(&self) -> bool {
        self.peer_ended
    }

    fn is_closed(&self) -> bool {
        self.outstanding.is_empty() && self.acknowledged == self.written
    }

    fn probes(&self) -> &'static [ProbeDef] {
        &PROBES
    }

    fn read(&self, _probe: usize) -> f64 {
        self.outstanding.len() as f64
    }
}

/// A line of 10 Mb/s and 40 ms for five seconds, and what else is given.
pub fn lab(more: &str) -> String {
    format!(
        "duration = \"5s\"\n{}[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = {{ \
         kind = \"droptail\", buffer = \"50 packets\" }}\n{}",
        top(more),
        tables(more)
    )
}

/// Lines before the first table.
fn top(more: &str) -> &str {
    &more[..more.find('[').unwrap_or(more.len())]
}

fn tables(more: &str) -> &str {
    &more[more.find('[').unwrap_or(more.len())..]
}
