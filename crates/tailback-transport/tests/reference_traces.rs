//! The sixteen reference traces: one flow through a small bottleneck, segment by segment against ns-2.35.
//!
//! `s` -10 Mb/s, 1 ms- `r1` -1 Mb/s, 20 ms- `r2` -10 Mb/s, 1 ms- `d`; 1000 B data, 40 B ACKs (40 + 8 a block with
//! SACK). Either drop-tail with 9 waiting and 1 in service at r1, or a large buffer and losses by arrival index. The
//! set-up and the columns of the files are described in `tests/reference/tcp-traces` of the repository's root.
//!
//! Compared, to the end of the run: every segment sent (order, number, CWR flag, time to 1 ms), every drop, every ACK
//! arriving, and each change of window (to 0.002), threshold, backoff and smoothed round trip.

use flate2::read::GzDecoder;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use tailback_base::{BitRate, Duration, Settings, Time};
use tailback_transport::tcp::{Config, MODEL, Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, Segment, Transmit};

const PAYLOAD: u64 = 960;

/// One line of a trace: time, event, first and second value.
#[derive(Clone, PartialEq, Debug)]
struct Row {
    t: f64,
    event: String,
    a: f64,
    flag: String,
}

fn reference(name: &str) -> Vec<Row> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/tcp-traces");
    let file =
        std::fs::File::open(root.join(format!("{name}.csv.gz"))).expect("the reference trace is in the repository");
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("the reference trace unpacks");
    let row = |line: &str| {
        let f: Vec<&str> = line.split(',').collect();
        Row {
            t: f[0].parse().unwrap(),
            event: f[1].into(),
            a: f[2].parse().unwrap(),
            flag: f[3].into(),
        }
    };
    text.lines().skip(1).map(row).collect()
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
    lost: Vec<u64>,
    arrivals: u64,
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

    fn enter(&mut self, i: usize, s: Segment, now: Time) {
        if i == 1 {
            let index = self.arrivals;
            self.arrivals += 1;
            let full = self.links[1].waiting.len() >= self.links[1].limit && self.links[1].busy;
            if self.lost.contains(&index) || full {
                self.log(now, "drop", packet(&s), "");
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

fn run(variant: &str, case: &str) -> Vec<Row> {
    let forced = case.starts_with("force");
    let mut s = Settings::defaults(&MODEL)
        .with("profile", "ns2")
        .with("clock_phase", "5560us")
        .with("variant", variant)
        .with("payload", "960B");
    s = s.with("window_cap", if forced { "28 packets" } else { "10000 packets" });
    if case.starts_with("delack") {
        s = s.with("delayed_ack", "2");
    }
    let cfg = Arc::new(Config::resolve(&s, &[]).unwrap());
    let (mut sender, mut receiver) = new_pair(&cfg);
    let link = |rate, ms, limit| Link {
        rate: BitRate(rate),
        delay: Duration::from_millis(ms),
        limit,
        waiting: VecDeque::new(),
        busy: false,
    };
    let (fast, slow) = (10_000_000, 1_000_000);
    let mut net = Net {
        links: vec![
            link(fast, 1, 1000),
            link(slow, 20, if forced { 99 } else { 9 }),
            link(fast, 1, 1000),
            link(fast, 1, 1000),
            link(slow, 20, 1000),
            link(fast, 1, 1000),
        ],
        events: BinaryHeap::new(),
        order: 0,
        lost: match case {
            "force_d1" => vec![15],
            "force_d3" => vec![15, 27, 29],
            _ => vec![],
        },
        arrivals: 0,
        rows: Vec::new(),
    };
    let end = Time::from_seconds(if forced { 6.0 } else { 20.0 });
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

const VARIABLES: [(&str, usize); 4] = [("cwnd", 0), ("ssthresh", 1), ("srtt", 2), ("backoff", 5)];

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

/// The rows of one event; of a variable only the last at an instant, and only where it changes.
fn column(rows: &[Row], event: &str) -> Vec<Row> {
    let mut out: Vec<Row> = Vec::new();
    let variable = VARIABLES.iter().any(|v| v.0 == event);
    for r in rows.iter().filter(|r| r.event == event) {
        if variable && out.last().is_some_and(|l| (l.t - r.t).abs() < 2e-5) {
            out.pop();
        }
        if !variable || out.last().is_none_or(|l| (l.a - r.a).abs() > 5e-4) {
            out.push(r.clone());
        }
    }
    out
}

/// The first difference between two columns.
fn difference(ours: &[Row], theirs: &[Row], tolerance: f64) -> Option<String> {
    let bad = |a: &Row, b: &Row| (a.a - b.a).abs() > tolerance || a.flag != b.flag || (a.t - b.t).abs() > 1e-3;
    let show = |r: Option<&Row>| {
        r.map_or("nothing".into(), |r| {
            format!("{:.6} {} {} {}", r.t, r.event, r.a, r.flag)
        })
    };
    let n = ours.len().max(theirs.len());
    (0..n)
        .find(|i| match (ours.get(*i), theirs.get(*i)) {
            (Some(a), Some(b)) => bad(a, b),
            _ => true,
        })
        .map(|i| format!("row {i}: here {}, reference {}", show(ours.get(i)), show(theirs.get(i))))
}

#[test]
fn all_sixteen_traces_agree() {
    let mut failed = Vec::new();
    for variant in ["Tahoe", "Reno", "Newreno", "Sack1"] {
        for case in ["ack_b10", "delack_b10", "force_d1", "force_d3"] {
            let theirs = reference(&format!("{variant}_{case}"));
            let name = variant.trim_end_matches('1').to_lowercase();
            let ours = run(&name, case);
            let mut wrong = Vec::new();
            for (event, tolerance) in [
                ("send", 0.0),
                ("drop", 0.0),
                ("ack", 0.0),
                ("cwnd", 0.002),
                ("ssthresh", 0.0),
                ("srtt", 0.0006),
                ("backoff", 0.0),
            ] {
                let (a, b) = (column(&ours, event), column(&theirs, event));
                if let Some(d) = difference(&a, &b, tolerance) {
                    wrong.push(format!("    {event:8} ({} here, {} there) {d}", a.len(), b.len()));
                }
            }
            println!(
                "{variant}_{case}: {}",
                if wrong.is_empty() { "agrees" } else { "DIFFERS" }
            );
            if !wrong.is_empty() {
                println!("{}", wrong.join("\n"));
                failed.push(format!("{variant}_{case}"));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} of 16 traces differ: {}",
        failed.len(),
        failed.join(", ")
    );
}
