//! Transfers that begin and end, on an empty path, beside the same in ns-2.35: every packet of each, and what it took.
//!
//! 100 Mb/s and 2 ms, then 10 Mb/s and 20 ms, the same both ways; 960 B of payload in 1000 B. One-way agents (SYN,
//! data, no FIN) and two-way ones (handshake, data, FINs), each segment acknowledged or every second, with chosen
//! packets lost. What is compared, and how it was made, is in `tests/reference/sessions/README.md`.
//!
//! Tolerances: 0.1 ms without a loss, 1 ms with one, 20 ms (two ticks of its clock) with a timeout; numbers of packets,
//! repeats and timeouts exactly. Where ns-2's packets were kept, each of ours leaves and arrives within 2 us of it.
//!
//! `cargo test --release -p tailback-scenario --test it finite_transfers -- --nocapture` prints every row.

use crate::common::*;
use flate2::read::GzDecoder;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::rc::Rc;
use tailback_base::{DropReason, MarkReason, Place};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::run::run;
use tailback_sim::wire::tap::{Names, Sight, Tap};
use tailback_transport::{Flags, Segment};

const ROWS: &str = include_str!("../../../../tests/reference/sessions/finite.csv");
const PACKETS: &[u8] = include_bytes!("../../../../tests/reference/sessions/finite_trace.csv.gz");
const DRAWN: &[u8] = include_bytes!("../../../../tests/reference/sessions/drawn_losses.csv.gz");
/// What is impaired on the slow line comes behind it.
const PATH: &str = "[link.access]\nfrom = \"s\"\nto = \"r\"\nrate = \"100Mbps\"\ndelay = \"2ms\"\n\
                    queue = { kind = \"droptail\", buffer = \"unlimited\" }\n\
                    [link.line]\nfrom = \"r\"\nto = \"d\"\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
                    queue = { kind = \"droptail\", buffer = \"unlimited\" }\n";
const START: f64 = 0.1;
const PAYLOAD: u64 = 960;

/// A line of the table of theirs, by column.
struct Row<'a>(HashMap<&'a str, &'a str>);

impl<'a> Row<'a> {
    fn all() -> Vec<Row<'a>> {
        let mut lines = ROWS.lines();
        let names: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
        lines
            .map(|l| Row(names.iter().copied().zip(l.split(',')).collect()))
            .collect()
    }

    fn text(&self, column: &str) -> &'a str {
        self.0[column]
    }

    /// Not a number where the cell is empty.
    fn number(&self, column: &str) -> f64 {
        match self.text(column) {
            "" => f64::NAN,
            cell => cell.parse().unwrap_or_else(|_| panic!("{column}: {cell}")),
        }
    }

    fn is_two_way(&self) -> bool {
        self.text("group").starts_with("full")
    }

    /// Without a SYN, ns-2 takes the first data packet for one: it has no header, its ACK grows no window and is never
    /// delayed. Here it is data like any other, so that these rows differ by that, and are printed only.
    fn is_apart(&self) -> bool {
        self.text("group").contains("nosyn")
    }

    fn loses(&self) -> bool {
        !self.text("lost_forward").is_empty() || !self.text("lost_reverse").is_empty()
    }

    fn scenario(&self) -> String {
        let group = self.text("group");
        let acks = if group.ends_with("_del") { 2 } else { 1 };
        let agent = match group {
            _ if self.is_two_way() => "profile = \"ns2-full\"",
            "ow_loss_sack1" => "profile = \"ns2\", variant = \"sack\"",
            _ => "profile = \"ns2\"",
        };
        let syn = !group.contains("nosyn");
        let struck = |column: &str| match self.text(column) {
            "" => "[]".to_string(),
            indices => format!(
                "[{{ kind = \"by-index\", indices = [{}] }}]",
                indices.replace(' ', ", ")
            ),
        };
        format!(
            "duration = \"20s\"\n{PATH}impair = {}\nreverse_impair = {}\n\
             [flows.f]\nfrom = \"s\"\nto = \"d\"\nstart = \"{START}s\"\ntraffic = {{ kind = \"transfer\", size = \
             \"{}B\" }}\n\
             tcp = {{ {agent}, payload = \"{PAYLOAD}B\", window_cap = \"10000 packets\", \
             initial_window = \"{} packets\", delayed_ack = {acks}, clock_phase = \"0s\", syn = {syn} }}\n\
             [record.r]\nflows = \"f\"\nprobes = [\"ssthresh\"]\nevery = \"1s\"\n",
            struck("lost_forward"),
            struck("lost_reverse"),
            PAYLOAD * self.text("packets").parse::<u64>().unwrap(),
            self.text("iw"),
        )
    }
}

/// A packet leaves an end or arrives at one.
#[derive(Clone, Debug)]
struct Packet {
    /// After the start, seconds.
    t: f64,
    event: &'static str,
    segment: Segment,
    /// Chosen to be lost on the way back.
    struck: bool,
}

impl Packet {
    /// As theirs are written: one-way agents number packets and what they acknowledge, two-way ones bytes. Without PSH,
    /// which is not modelled, and CWR, which theirs carry with ECN off too.
    fn written(&self, two_way: bool) -> (u64, u64, u32, u32) {
        let s = &self.segment;
        let number = |unit: u64| unit.div_ceil(PAYLOAD);
        if !two_way {
            let backward = self.event.starts_with("ack");
            let n = if backward { (s.ack - 1) / PAYLOAD } else { number(s.seq) };
            return (n, 0, s.bytes, 0);
        }
        let bits = [(Flags::FIN, 1), (Flags::SYN, 2), (Flags::ACK, 0x10)];
        let flags = bits.iter().filter(|b| s.flags.has(b.0)).map(|b| b.1).sum();
        (s.seq, s.ack, s.bytes, flags)
    }
}

struct Watch {
    ports: Vec<String>,
    seen: Rc<RefCell<Vec<Packet>>>,
}

impl Watch {
    fn note(&self, at: &Sight<'_>, event: &'static str, struck: bool) {
        self.seen.borrow_mut().push(Packet {
            t: at.now.seconds() - START,
            event,
            segment: at.segment(),
            struck,
        });
    }
}

impl Tap for Watch {
    fn arrived(&mut self, at: &Sight<'_>) {
        match self.ports[at.port as usize].as_str() {
            "access" => self.note(at, "send", false),
            "line.reverse" => self.note(at, "ack_send", false),
            _ => {}
        }
    }

    fn marked(&mut self, _: &Sight<'_>, _: MarkReason) {}

    /// What is struck has not arrived at the queue; it has left its end.
    fn dropped(&mut self, at: &Sight<'_>, _: Place, _: DropReason) {
        if self.ports[at.port as usize] == "line.reverse" {
            self.note(at, "ack_send", true);
        }
    }

    fn delivered(&mut self, at: &Sight<'_>) {
        match self.ports[at.port as usize].as_str() {
            "line" => self.note(at, "recv", false),
            "access.reverse" => self.note(at, "ack_recv", false),
            _ => {}
        }
    }
}

/// A run: its packets, and its tables.
fn ours(row: &Row<'_>) -> (Vec<Packet>, Outcome) {
    watched(&row.scenario())
}

fn watched(scenario: &str) -> (Vec<Packet>, Outcome) {
    let loaded = load_text(scenario, "finite.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let seen = Rc::new(RefCell::new(Vec::new()));
    let make = |names: &Names| -> Box<dyn Tap> {
        Box::new(Watch {
            ports: names.ports.clone(),
            seen: seen.clone(),
        })
    };
    let hooks = Hooks {
        tap: Some(&make),
        ..Hooks::default()
    };
    let outcome = run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
    (seen.take(), outcome)
}

/// The time of the first packet of which this holds.
fn first(packets: &[Packet], event: &str, holds: impl Fn(&Segment) -> bool) -> f64 {
    let found = packets.iter().find(|p| p.event == event && holds(&p.segment));
    found.map_or(f64::NAN, |p| p.t)
}

/// What the table has of a row.
fn figures(row: &Row<'_>, packets: &[Packet], o: &Outcome) -> Vec<(&'static str, f64)> {
    let last = PAYLOAD * row.text("packets").parse::<u64>().unwrap() + 1;
    let data = |s: &Segment| s.payload > 0;
    // In order: when the last byte has come all others have.
    let mut missing: Vec<u64> = (0..last / PAYLOAD).map(|i| 1 + i * PAYLOAD).collect();
    let mut received = f64::NAN;
    for p in packets.iter().filter(|p| p.event == "recv" && p.segment.payload > 0) {
        missing.retain(|seq| *seq != p.segment.seq);
        if missing.is_empty() && received.is_nan() {
            received = p.t;
        }
    }
    let acked = first(packets, "ack_recv", |s| s.ack >= last);
    let fin = |s: &Segment| s.flags.has(Flags::FIN);
    let (sender_done, receiver_done) = if row.is_two_way() {
        // An end that has had the FIN of the other, and the ACK of its own, is done.
        (
            first(packets, "ack_recv", fin),
            first(packets, "recv", |s| s.ack == 2 && !fin(s)),
        )
    } else {
        (acked, f64::NAN)
    };
    // Theirs are counted behind the loss on the way back, and before it on the way there.
    let counted = |event: &str| -> Vec<u32> {
        let of = packets.iter().filter(|p| p.event == event && !p.struck);
        of.map(|p| p.segment.bytes).collect()
    };
    let count = |event: &str| counted(event).len() as f64;
    let bytes = |event: &str| f64::from(counted(event).iter().sum::<u32>());
    let again = |p: &&Packet| p.event == "send" && p.segment.flags.has(Flags::RETRANSMISSION);
    vec![
        ("first_data", first(packets, "send", data)),
        ("received", received),
        ("acked", acked),
        ("sender_done", sender_done),
        ("receiver_done", receiver_done),
        ("sent_forward", count("send")),
        ("sent_reverse", count("ack_send")),
        ("bytes_forward", bytes("send")),
        ("bytes_reverse", bytes("ack_send")),
        ("resent", packets.iter().filter(again).count() as f64),
        ("timeouts", of(&o["flows"], "f.0", "timeouts")),
        ("ssthresh_end", crate::common::last(o, "ssthresh")),
    ]
}

/// Theirs, by row: time, event, and the packet as it is written.
fn their_packets() -> HashMap<String, Vec<(f64, String, (u64, u64, u32, u32))>> {
    let mut text = String::new();
    GzDecoder::new(PACKETS).read_to_string(&mut text).unwrap();
    let mut rows: HashMap<String, Vec<_>> = HashMap::new();
    for line in text.lines().skip(1) {
        let c: Vec<&str> = line.split(',').collect();
        let flags = u32::from_str_radix(c[6].trim_start_matches("0x"), 16).unwrap_or(0) & 0x13;
        // The ACK field of a first SYN is empty, or -1.
        let packet = (
            c[3].parse().unwrap(),
            c[4].parse().unwrap_or(0),
            c[5].parse().unwrap(),
            flags,
        );
        let row = rows.entry(c[0].to_string()).or_default();
        row.push((c[1].parse().unwrap(), c[2].to_string(), packet));
    }
    rows
}

/// Each packet of each row leaves and arrives when theirs does.
#[test]
fn every_packet_of_short_transfers() {
    let theirs = their_packets();
    let (mut compared, mut differ) = (0, Vec::new());
    for row in Row::all() {
        let name = row.text("row");
        let Some(theirs) = theirs.get(name).filter(|_| !row.is_apart()) else {
            continue;
        };
        let (packets, _) = ours(&row);
        for event in ["send", "recv", "ack_send", "ack_recv"] {
            let ours: Vec<&Packet> = packets.iter().filter(|p| p.event == event && !p.struck).collect();
            let theirs: Vec<_> = theirs.iter().filter(|p| p.1 == event).collect();
            let same = |o: &Packet, t: &(f64, String, (u64, u64, u32, u32))| {
                (o.t - t.0).abs() <= 2e-6 && o.written(row.is_two_way()) == t.2
            };
            let alike = ours.iter().zip(&theirs).take_while(|(o, t)| same(o, t)).count();
            compared += alike;
            if alike < ours.len().max(theirs.len()) {
                let o = ours.get(alike).map(|p| (p.t, p.written(row.is_two_way())));
                let t = theirs.get(alike).map(|p| (p.0, p.2));
                differ.push(format!("{name} {event} {alike}: ours {o:?}, theirs {t:?}"));
            }
        }
    }
    println!("{compared} packets the same");
    assert!(compared > 3500);
    println!("{}", differ.join("\n"));
    assert!(differ.is_empty());
}

/// 120 transfers of two-way agents with drawn losses, and marks in half of them: when each data segment leaves.
#[test]
fn drawn_losses_of_two_way_agents() {
    let mut text = String::new();
    GzDecoder::new(DRAWN).read_to_string(&mut text).unwrap();
    let (mut alike, mut differ) = ([0, 0], Vec::new());
    for line in text.lines().skip(1) {
        let c: Vec<&str> = line.split(',').collect();
        let marks = c[0] == "ecn";
        let strike = |indices: &str, action: &str| match indices {
            "" => String::new(),
            i => format!(
                "{{ kind = \"by-index\", indices = [{}], action = \"{action}\" }},",
                i.replace(' ', ", ")
            ),
        };
        let scenario = format!(
            "duration = \"20s\"\n{}impair = [{}{}]\n\
             [flows.f]\nfrom = \"s\"\nto = \"d\"\nstart = \"{START}s\"\ntraffic = {{ kind = \"transfer\", size = \
             \"{}B\" }}\n\
             tcp = {{ profile = \"ns2-full\", payload = \"{PAYLOAD}B\", window_cap = \"10000 packets\", clock_phase = \
             \"0s\", \
             ecn = \"{}\" }}\n",
            PATH,
            strike(c[3], "mark"),
            strike(c[2], "drop"),
            PAYLOAD * c[1].parse::<u64>().unwrap(),
            if marks { "on" } else { "off" },
        );
        let (packets, _) = watched(&scenario);
        let ours: Vec<(f64, u64)> = packets
            .iter()
            .filter(|p| p.event == "send" && p.segment.payload > 0)
            .map(|p| (p.t, p.segment.seq.div_ceil(PAYLOAD)))
            .collect();
        let theirs: Vec<(f64, u64)> = c[4]
            .split(' ')
            .filter_map(|w| w.split_once(':'))
            .map(|(t, n)| (t.parse::<f64>().unwrap() / 1e5, n.parse().unwrap()))
            .collect();
        // Theirs are kept to 10 us.
        let same = |(o, t): &(&(f64, u64), &(f64, u64))| (o.0 - t.0).abs() < 2e-5 && o.1 == t.1;
        let until = ours.iter().zip(&theirs).take_while(same).count();
        if until == ours.len() && until == theirs.len() {
            alike[usize::from(marks)] += 1;
        } else {
            differ.push(format!(
                "{} {}, lost {}, marked {}: {until}: ours {:?}, theirs {:?}",
                c[0],
                c[1],
                c[2],
                c[3],
                ours.get(until),
                theirs.get(until)
            ));
        }
    }
    println!(
        "{} of 60 with losses, {} of 60 with marks the same\n{}",
        alike[0],
        alike[1],
        differ.join("\n")
    );
    assert!(alike[0] == 60 && alike[1] >= 54);
}

#[test]
fn finite_transfers() {
    let mut outside = Vec::new();
    println!(
        "{:<28} {:<14} {:>12} {:>12} {:>9}",
        "row", "figure", "ours", "theirs", "within"
    );
    for row in Row::all() {
        let (packets, o) = ours(&row);
        let mut inside = true;
        for (figure, ours) in figures(&row, &packets, &o) {
            let theirs = row.number(figure);
            if theirs.is_nan() && ours.is_nan() {
                continue;
            }
            let is_time = ["first_data", "received", "acked", "sender_done", "receiver_done"].contains(&figure);
            let within = match () {
                () if !is_time => 0.0,
                () if !row.loses() => 1e-4,
                () if row.number("timeouts") == 0.0 => 1e-3,
                () => 2e-2,
            };
            let held = (ours - theirs).abs() <= within;
            inside &= held;
            if is_time || !held {
                let mark = if held { "" } else { "  outside" };
                println!(
                    "{:<28} {figure:<14} {ours:>12.6} {theirs:>12.6} {within:>9.4}{mark}",
                    row.text("row")
                );
            }
        }
        if !inside && !row.is_apart() {
            outside.push(row.text("row"));
        }
    }
    let apart = Row::all().iter().filter(|r| r.is_apart()).count();
    let compared = Row::all().len() - apart;
    println!(
        "{compared} rows, {} outside: {outside:?}; {apart} without a SYN are printed only",
        outside.len()
    );
    assert_eq!((compared, apart), (79, 8));
    assert!(outside.is_empty());
}
