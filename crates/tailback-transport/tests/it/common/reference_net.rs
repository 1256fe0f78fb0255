//! The network of the reference runs, with one flow: the network that ns-2.35 simulated.
//!
//! `s` -10 Mb/s, 1 ms- `r1` -slow line- `r2` -10 Mb/s, 1 ms- `d`; segments of 1000 B, 40 B ACKs (40 + 8 a block with
//! SACK). Packets are lost or marked by their arrival index at r1, ACKs lost by their arrival index at r2.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Settings, Time, Value};
use tailback_transport::tcp::congestion::vegas;
use tailback_transport::tcp::{Config, MODEL, connection, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, Segment, Transmit};

pub const PAYLOAD: u64 = 960;
/// With `nudge`, the delay of a link grows by a nanosecond after each period of this length.
const GROWS: u64 = 5_370_000;

/// One line of a trace: time, event, first and second value.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub t: f64,
    pub event: String,
    pub a: f64,
    pub flag: String,
    /// For a packet of a two-way connection: first byte, acknowledged byte, payload.
    pub bytes: (u64, u64, u32),
}

/// The settings of one run.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name in ns-2: Tahoe, Reno, Newreno, Sack1; for two-way agents Full/Tahoe and so on.
    pub variant: String,
    pub delayed_acks: bool,
    pub ecn: bool,
    /// Window cap, packets.
    pub cap: u32,
    /// Packets.
    pub initial_window: u32,
    /// The time of 8 B on the slow line, ns: most packets are multiples of 8 B, so that rounding matters little.
    pub slow: u64,
    /// Delay of the slow line, us.
    pub delay: u64,
    /// The times of 8 B between s and r1, and between r2 and d, ns, and the delays there, us.
    pub ends: [(u64, u64); 2],
    /// Packets that fit at r1, in addition to the one in service.
    pub buffer: usize,
    /// The number of packets sent; 0: without end.
    pub packets: u64,
    /// The number sent in the other direction, half a second later.
    pub back: u64,
    pub seconds: f64,
    /// Parameters of Vegas, if that is the control.
    pub vegas: Option<Vec<(&'static str, &'static str)>>,
    /// How much longer than 1 ms the path from r2 to d and back is, ns. A hundredth of it is added to the time of
    /// each 8 B on the first and on the slow line, and the path from r2 to d sometimes grows by a nanosecond: events
    /// that would coincide then do not.
    pub nudge: u64,
    /// Arrival indices at r1 from 0, the SYN.
    pub lost: Vec<u64>,
    pub marked: Vec<u64>,
    /// Arrival indices at r2 from 0, the SYN's answer.
    pub acks_lost: Vec<u64>,
}

impl Default for Case {
    /// The line of the reference traces.
    fn default() -> Case {
        Case {
            variant: "Newreno".into(),
            delayed_acks: false,
            ecn: false,
            cap: 20,
            initial_window: 2,
            slow: 64_000,
            delay: 20_000,
            ends: [(6400, 1000); 2],
            buffer: 99,
            packets: 0,
            back: 0,
            seconds: 10.0,
            vegas: None,
            nudge: 0,
            lost: Vec::new(),
            marked: Vec::new(),
            acks_lost: Vec::new(),
        }
    }
}

/// A line with a FIFO before it.
struct Link {
    /// What 8 B take, ns.
    pace: u64,
    delay: Duration,
    /// Waiting packets that fit, in addition to the one in service.
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
    Back,
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
            bytes: (0, 0, 0),
        });
    }

    /// The packet of the last row.
    fn of_last(&mut self, s: &Segment) {
        let row = self.rows.last_mut().expect("a row was written");
        row.bytes = (s.seq, s.ack, s.payload);
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
            self.count_waiting(i, now);
        } else {
            self.serve(i, s, now);
        }
    }

    /// A row for the number of packets that wait at r1.
    fn count_waiting(&mut self, i: usize, now: Time) {
        if i == 1 {
            self.log(now, "queue", self.links[1].waiting.len() as f64, "");
        }
    }

    fn serve(&mut self, i: usize, s: Segment, now: Time) {
        let l = &mut self.links[i];
        l.busy = true;
        let done = now + Duration(u64::from(s.bytes) * l.pace / 8);
        let grown = if i == 2 && self.case.nudge > 0 {
            now.0 / GROWS
        } else {
            0
        };
        let there = done + l.delay + Duration(grown);
        self.at(done, Event::Departure(i));
        self.at(there, Event::Arrival(i, s));
    }

    fn departed(&mut self, i: usize, now: Time) {
        self.links[i].busy = false;
        if let Some(s) = self.links[i].waiting.pop_front() {
            self.count_waiting(i, now);
            self.serve(i, s, now);
        }
    }
}

type End = Box<dyn Endpoint>;

/// The sender and the receiver, or both ends of a two-way connection.
fn ends(case: &Case, instead: &[(&str, &str)]) -> (End, End) {
    let full = case.variant.strip_prefix("Full/");
    let variant = full.unwrap_or(&case.variant).trim_end_matches('1').to_lowercase();
    let s = Settings::defaults(&MODEL)
        .with("profile", if full.is_some() { "ns2-full" } else { "ns2" })
        .with("clock_phase", "5558807ns")
        .with("variant", &variant)
        .with("payload", "960B")
        .with("window_cap", &format!("{} packets", case.cap))
        .with("initial_window", &format!("{} packets", case.initial_window))
        .with("delayed_ack", if case.delayed_acks { "2" } else { "1" })
        .with("ecn", if case.ecn { "on" } else { "off" });
    let mut s = instead.iter().fold(s, |s, (name, value)| s.with(name, value));
    if let Some(values) = &case.vegas {
        let own = Settings::defaults(&vegas::MODEL);
        let own = values.iter().fold(own, |s, (name, value)| s.with(name, value));
        s.set_models("congestion", Value::Model(Box::new(own)));
    }
    let cfg = Arc::new(Config::resolve(&s, &[]).unwrap());
    if full.is_some() {
        // Each agent draws its own.
        let (mut a, mut b) = connection::new_pair(&cfg);
        a.set_clock_phase(Duration(3_129_617));
        b.set_clock_phase(Duration(8_164_760));
        a.stay_open();
        b.stay_open();
        (Box::new(a), Box::new(b))
    } else {
        let (a, b) = new_pair(&cfg);
        (Box::new(a), Box::new(b))
    }
}

/// The result of a case with the profile `ns2` or `ns2-full`, with these values instead of the profile's.
pub fn run(case: &Case, instead: &[(&str, &str)]) -> Vec<Row> {
    let (mut sender, mut receiver) = ends(case, instead);
    let [(near, near_delay), (far, far_delay)] = case.ends;
    let (near, near_delay) = (near + case.nudge / 100, 1000 * near_delay);
    let far_delay = 1000 * far_delay + case.nudge;
    let slow = |limit| Link {
        pace: case.slow + case.nudge / 100,
        delay: Duration(1000 * case.delay),
        limit,
        waiting: VecDeque::new(),
        busy: false,
    };
    let fast = |pace, delay| Link {
        pace,
        delay: Duration(delay),
        limit: 10_000,
        waiting: VecDeque::new(),
        busy: false,
    };
    let mut net = Net {
        links: vec![
            fast(near, near_delay),
            slow(case.buffer),
            fast(far, far_delay),
            fast(far, far_delay),
            slow(10_000),
            fast(near, near_delay),
        ],
        events: BinaryHeap::new(),
        order: 0,
        case: case.clone(),
        arrivals: [0; 2],
        rows: Vec::new(),
    };
    let end = Time::from_seconds(case.seconds);
    net.at(Time::from_seconds(0.1), Event::Start);
    if case.back > 0 {
        net.at(Time::from_seconds(0.6), Event::Back);
    }
    let mut seen = [f64::NAN; 6];
    let mut armed = [None, None];
    observe(&*sender, &mut seen, &mut net, Time::ZERO);
    while let Some(Reverse(Entry(now, _, e))) = net.events.pop() {
        if now > end {
            break;
        }
        match e {
            Event::Back => receiver.write(Amount::Bytes(PAYLOAD * case.back), now),
            Event::Start if case.packets > 0 => sender.write(Amount::Bytes(PAYLOAD * case.packets), now),
            Event::Start => sender.write(Amount::Unlimited, now),
            Event::Departure(i) => net.departed(i, now),
            Event::Arrival(2, s) => receiver.on_segment(&s, now, &mut ()),
            Event::Arrival(5, s) => {
                let ackno = s.ack.saturating_sub(1) / PAYLOAD;
                net.log(
                    now,
                    "ack",
                    ackno as f64,
                    if s.flags.has(Flags::ECE) { "ECE" } else { "" },
                );
                net.of_last(&s);
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
            net.of_last(&s);
            net.enter(0, s, now);
        }
        observe(&*sender, &mut seen, &mut net, now);
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
pub const VARIABLES: [(&str, usize); 6] = [
    ("cwnd", 0),
    ("ssthresh", 1),
    ("srtt", 2),
    ("backoff", 5),
    ("rttvar", 3),
    ("rto", 4),
];

fn observe(s: &dyn Endpoint, seen: &mut [f64; 6], net: &mut Net, now: Time) {
    for (i, (name, probe)) in VARIABLES.iter().enumerate() {
        let x = s.read(*probe);
        let x = if x.is_nan() { 0.0 } else { x };
        if x != seen[i] {
            seen[i] = x;
            net.log(now, name, x, "");
        }
    }
}
