//! The network of the reference runs, and one flow in it: what ns-2.35 was asked to simulate.
//!
//! `s` -10 Mb/s, 1 ms- `r1` -1 Mb/s, 20 ms- `r2` -10 Mb/s, 1 ms- `d`; segments of 1000 B, 40 B ACKs (40 + 8 a block with
//! SACK). Packets are lost or marked by their arrival index at r1, ACKs lost by their arrival index at r2.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use tailback_base::{BitRate, Duration, Ecn, Settings, Time};
use tailback_transport::tcp::{Config, MODEL, Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, Segment, Transmit};

pub const PAYLOAD: u64 = 960;

/// One line of a trace: time, event, first and second value.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub t: f64,
    pub event: String,
    pub a: f64,
    pub flag: String,
}

/// What one run was asked to do.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// As ns-2 calls it: Tahoe, Reno, Newreno, Sack1.
    pub variant: String,
    pub delayed_acks: bool,
    pub ecn: bool,
    /// Window cap, packets.
    pub cap: u32,
    /// Packets.
    pub initial_window: u32,
    /// Packets that fit at r1, beside the one in service.
    pub buffer: usize,
    pub seconds: f64,
    /// So much longer than 1 ms is the way from r2 to d and back, ns: what fell on one instant then does not.
    pub nudge: u64,
    /// Arrival indices at r1 from 0, the SYN.
    pub lost: Vec<u64>,
    pub marked: Vec<u64>,
    /// Arrival indices at r2 from 0, the SYN's answer.
    pub acks_lost: Vec<u64>,
}

/// A line with a FIFO before it.
struct Link {
    rate: BitRate,
    delay: Duration,
    /// Waiting packets that fit, beside the one in service.
    limit: usize,
    waiting: VecDeque<Segment>,
    busy: bool,
}

#[derive(Debug)]
enum Event {
    Departure(usize),
    Arrival(usize, Segment),
    SenderTimer,
    ReceiverTimer,
    Start,
}

/// The event, ordered by time and then by insertion.
struct Entry(Time, u64, Event);

impl PartialEq for Entry {
    fn eq(&self, o: &Entry) -> bool {
        (self.0, self.1) == (o.0, o.1)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, o: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Entry {
    fn cmp(&self, o: &Entry) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(o.0, o.1))
    }
}

/// Links 0..3 lead from s to d, 3..6 back. Link 1 is the bottleneck.
struct Net {
    links: Vec<Link>,
    events: BinaryHeap<Reverse<Entry>>,
    order: u64,
    case: Case,
    /// At r1 and at r2.
    arrivals: [u64; 2],
    rows: Vec<Row>,
}

fn packet(s: &Segment) -> f64 {
    if s.flags.has(Flags::SYN) {
        0.0
    } else {
        ((s.seq - 1) / PAYLOAD + 1) as f64
    }
}

impl Net {
    fn at(&mut self, t: Time, e: Event) {
        self.order += 1;
        self.events.push(Reverse(Entry(t, self.order, e)));
    }

    fn log(&mut self, now: Time, event: &str, a: f64, flag: &str) {
        self.rows.push(Row {
            t: now.seconds(),
            event: event.into(),
            a,
            flag: flag.into(),
        });
    }

    fn enter(&mut self, i: usize, mut s: Segment, now: Time) {
        if i == 1 {
            let index = self.arrivals[0];
            self.arrivals[0] += 1;
            let full = self.links[1].waiting.len() >= self.links[1].limit && self.links[1].busy;
            if self.case.lost.contains(&index) || full {
                self.log(now, "drop", packet(&s), "");
                return;
            }
            if self.case.marked.contains(&index) && s.ecn == Ecn::Ect0 {
                s.ecn = Ecn::Ce;
            }
        } else if i == 4 {
            let index = self.arrivals[1];
            self.arrivals[1] += 1;
            if self.case.acks_lost.contains(&index) {
                return;
            }
        }
        if self.links[i].busy {
            self.links[i].waiting.push_back(s);
        } else {
            self.serve(i, s, now);
        }
    }

    fn serve(&mut self, i: usize, s: Segment, now: Time) {
        let l = &mut self.links[i];
        l.busy = true;
        let done = now + l.rate.time_of(u64::from(s.bytes));
        let there = done + l.delay;
        self.at(done, Event::Departure(i));
        self.at(there, Event::Arrival(i, s));
    }

    fn departed(&mut self, i: usize, now: Time) {
        self.links[i].busy = false;
        if let Some(s) = self.links[i].waiting.pop_front() {
            self.serve(i, s, now);
        }
    }
}

/// What the profile `ns2` makes of a case, with these values instead of its own.
pub fn run(case: &Case, instead: &[(&str, &str)]) -> Vec<Row> {
    let s = Settings::defaults(&MODEL)
        .with("profile", "ns2")
        .with("clock_phase", "5560us")
        .with("variant", &case.variant.trim_end_matches('1').to_lowercase())
        .with("payload", "960B")
        .with("window_cap", &format!("{} packets", case.cap))
        .with("initial_window", &format!("{} packets", case.initial_window))
        .with("delayed_ack", if case.delayed_acks { "2" } else { "1" })
        .with("ecn", if case.ecn { "on" } else { "off" });
    let s = instead.iter().fold(s, |s, (name, value)| s.with(name, value));
    let cfg = Arc::new(Config::resolve(&s, &[]).unwrap());
    let (mut sender, mut receiver) = new_pair(&cfg);
    let millisecond = 1_000_000;
    let nudged = millisecond + case.nudge;
    let link = |rate, delay, limit| Link {
        rate: BitRate(rate),
        delay: Duration(delay),
        limit,
        waiting: VecDeque::new(),
        busy: false,
    };
    let (fast, slow) = (10_000_000, 1_000_000);
    let mut net = Net {
        links: vec![
            link(fast, millisecond, 1000),
            link(slow, 20 * millisecond, case.buffer),
            link(fast, nudged, 1000),
            link(fast, nudged, 1000),
            link(slow, 20 * millisecond, 1000),
            link(fast, millisecond, 1000),
        ],
        events: BinaryHeap::new(),
        order: 0,
        case: case.clone(),
        arrivals: [0; 2],
        rows: Vec::new(),
    };
    let end = Time::from_seconds(case.seconds);
    net.at(Time::from_seconds(0.1), Event::Start);
    let mut seen = [f64::NAN; 4];
    let mut armed = [None, None];
    observe(&sender, &mut seen, &mut net, Time::ZERO);
    while let Some(Reverse(Entry(now, _, e))) = net.events.pop() {
        if now > end {
            break;
        }
        match e {
            Event::Start => sender.write(Amount::Unlimited, now),
            Event::Departure(i) => net.departed(i, now),
            Event::Arrival(2, s) => receiver.on_segment(&s, now, &mut ()),
            Event::Arrival(5, s) => {
                let ackno = if s.ack == 1 { 0 } else { (s.ack - 1) / PAYLOAD };
                net.log(
                    now,
                    "ack",
                    ackno as f64,
                    if s.flags.has(Flags::ECE) { "ECE" } else { "" },
                );
                sender.on_segment(&s, now, &mut ());
            }
            Event::Arrival(i, s) => net.enter(i + 1, s, now),
            Event::SenderTimer => {
                if sender.next_timeout().is_some_and(|t| t <= now) {
                    sender.on_timeout(now, &mut ());
                }
            }
            Event::ReceiverTimer => {
                if receiver.next_timeout().is_some_and(|t| t <= now) {
                    receiver.on_timeout(now, &mut ());
                }
            }
        }
        while let Transmit::Segment(s) = receiver.poll_transmit(now) {
            net.enter(3, s, now);
        }
        while let Transmit::Segment(s) = sender.poll_transmit(now) {
            net.log(
                now,
                "send",
                packet(&s),
                if s.flags.has(Flags::CWR) { "CWR" } else { "" },
            );
            net.enter(0, s, now);
        }
        observe(&sender, &mut seen, &mut net, now);
        // One event for each new deadline; a stale one finds nothing to do.
        let due = [sender.next_timeout(), receiver.next_timeout()];
        for (i, t) in due.into_iter().enumerate() {
            if let Some(t) = t.filter(|_| t != armed[i]) {
                net.at(
                    t,
                    if i == 0 {
                        Event::SenderTimer
                    } else {
                        Event::ReceiverTimer
                    },
                );
            }
        }
        armed = due;
    }
    net.rows
}

/// Variables of a trace, and their probes.
pub const VARIABLES: [(&str, usize); 4] = [("cwnd", 0), ("ssthresh", 1), ("srtt", 2), ("backoff", 5)];

fn observe(s: &Sender, seen: &mut [f64; 4], net: &mut Net, now: Time) {
    for (i, (name, probe)) in VARIABLES.iter().enumerate() {
        let x = s.read(*probe);
        let x = if x.is_nan() { 0.0 } else { x };
        if x != seen[i] {
            seen[i] = x;
            net.log(now, name, x, "");
        }
    }
}
