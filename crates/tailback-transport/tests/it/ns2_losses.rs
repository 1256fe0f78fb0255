//! Random losses, marks and lost ACKs compared with ns-2.35: whether the same segments are sent at the same times.
//!
//! The recorded runs in `tests/reference/ns2-losses` are compared here. `validation/ns2_losses.py` draws new ones, asks
//! an installed ns-2 for them and names its file in `TAILBACK_NS2_LOSSES`.

use crate::common::reference_net::{Case, Row, run};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

/// Both clocks are exact, but ns-2's is a sum of floating-point numbers.
const SAME_INSTANT: f64 = 2e-6;

/// A time, the number of a segment or of an ACK (for two-way agents `first.acknowledged.payload`, bytes), and whether
/// it carries CWR or an echo.
type Packet = (f64, String, bool);
/// A time, window and threshold from then on, segments.
type Windows = (f64, f64, f64);

struct Recorded {
    class: String,
    number: String,
    case: Case,
    sent: Vec<Packet>,
    heard: Vec<Packet>,
    windows: Vec<Windows>,
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|n| n.parse().unwrap()).collect()
}

/// `CLASS NUMBER KEY=VALUE ...`
fn case(line: &str) -> Recorded {
    let mut words = line.split(' ');
    let mut word = || words.next().expect("a class and a number").to_string();
    let (class, number) = (word(), word());
    let of: BTreeMap<&str, &str> = words.map(|w| w.split_once('=').expect(w)).collect();
    let n = |key: &str| of[key].parse::<u64>().expect(key);
    Recorded {
        class,
        number,
        case: Case {
            variant: of["variant"].into(),
            delayed_acks: n("delayed") == 1,
            ecn: n("ecn") == 1,
            cap: n("cap") as u32,
            initial_window: n("first") as u32,
            slow: n("slow"),
            delay: n("delay"),
            // ns-2 counts the one in service.
            buffer: n("buffer") as usize - 1,
            packets: n("packets"),
            back: n("back"),
            seconds: n("seconds") as f64,
            nudge: n("nudge"),
            ..Case::default()
        },
        sent: Vec::new(),
        heard: Vec::new(),
        windows: Vec::new(),
    }
}

fn parse(text: &str) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for line in text.lines() {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        if key == "case" {
            all.push(case(rest));
            continue;
        }
        let last = all.last_mut().expect("a case comes first");
        match key {
            "lost" => last.case.lost = numbers(rest),
            "marked" => last.case.marked = numbers(rest),
            "acks" => last.case.acks_lost = numbers(rest),
            "sent" => last.sent = packets(rest, 'c'),
            "heard" => last.heard = packets(rest, 'e'),
            "windows" => last.windows = windows(rest),
            _ => panic!("{line}"),
        }
    }
    all
}

/// `TIME:WHAT`, with the time in units since the previous one.
fn spaced(text: &str, unit: f64) -> impl Iterator<Item = (f64, &str)> {
    let mut now = 0;
    text.split_whitespace().map(move |w| {
        let (since, what) = w.split_once(':').unwrap();
        now += since.parse::<u64>().unwrap();
        (now as f64 * unit, what)
    })
}

fn packets(text: &str, flag: char) -> Vec<Packet> {
    spaced(text, 1e-6)
        .map(|(t, what)| {
            let plain = what.trim_end_matches(flag);
            // The flags of a SYN and of its answer are for negotiation and are not compared.
            (t, plain.to_string(), plain != what && !opens(plain))
        })
        .collect()
}

/// A SYN or its answer.
fn opens(number: &str) -> bool {
    number == "0" || number == "0.0.0" || number == "0.1.0"
}

fn windows(text: &str) -> Vec<Windows> {
    spaced(text, 1e-5)
        .map(|(t, what)| {
            let (window, threshold) = what.split_once(':').unwrap();
            (t, window.parse().unwrap(), threshold.parse().unwrap())
        })
        .collect()
}

/// Our rows of an event that names packets.
fn of_event(rows: &[Row], event: &str, flag: &str, end: f64, two_way: bool) -> Vec<Packet> {
    let here = rows.iter().filter(|r| r.event == event && r.t < end);
    let packet = |r: &Row| {
        let number = if two_way {
            let (first, acknowledged, payload) = r.bytes;
            format!("{}.{acknowledged}.{payload}", if payload > 0 { first } else { 0 })
        } else {
            r.a.to_string()
        };
        (r.t, number.clone(), r.flag == flag && !opens(&number))
    };
    here.map(packet).collect()
}

/// Our windows, in the form of theirs: the values after each instant.
fn our_windows(rows: &[Row], until: f64) -> Vec<Windows> {
    let mut all: Vec<Windows> = Vec::new();
    let (mut window, mut threshold) = (1.0, 0.0);
    for r in rows.iter().filter(|r| r.t <= until + SAME_INSTANT) {
        match r.event.as_str() {
            "cwnd" => window = r.a,
            "ssthresh" => threshold = r.a,
            _ => continue,
        }
        all.push((r.t, window, threshold));
    }
    all
}

fn before(packets: &[Packet], end: f64) -> &[Packet] {
    &packets[..packets.partition_point(|p| p.0 < end)]
}

/// When the first of them differs, and both packets.
fn packets_differ(what: &str, ours: &[Packet], theirs: &[Packet], flags: bool) -> Option<(f64, String)> {
    let same = |a: &Packet, b: &Packet| (a.0 - b.0).abs() < SAME_INSTANT && a.1 == b.1 && (a.2 == b.2 || !flags);
    let i = (0..ours.len().max(theirs.len()))
        .find(|i| !matches!((ours.get(*i), theirs.get(*i)), (Some(a), Some(b)) if same(a, b)))?;
    let (a, b) = (ours.get(i), theirs.get(i));
    let first = a.map_or(f64::INFINITY, |p| p.0).min(b.map_or(f64::INFINITY, |p| p.0));
    let show = |p: Option<&Packet>| p.map_or("nothing".into(), |(t, n, flag)| format!("{n} at {t:.6} s {flag}"));
    Some((first, format!("{what}: here {}, ns-2 {}", show(a), show(b))))
}

/// When the two step functions first differ: compared 20 us after each of their steps.
fn windows_differ(ours: &[Windows], theirs: &[Windows], two_way: bool) -> Option<(f64, String)> {
    let at = |steps: &[Windows], t: f64| steps[..steps.partition_point(|s| s.0 <= t)].last().copied();
    let mut times: Vec<f64> = ours.iter().chain(theirs).map(|s| s.0 + 2e-5).collect();
    times.sort_by(f64::total_cmp);
    times.into_iter().find_map(|t| {
        let (a, b) = (at(ours, t)?, at(theirs, t)?);
        // The window of two-way agents includes the inflation of recovery, and stops at the cap.
        let same = (two_way || (a.1 - b.1).abs() < 0.002) && a.2 == b.2;
        let what = || format!("window and threshold: here {:.3}, {}, ns-2 {}, {}", a.1, a.2, b.1, b.2);
        (!same).then(|| (t, what()))
    })
}

/// Whether the first segment that differs is ns-2's own: its NewReno has just repaired this segment, and sends it once
/// more at the same instant, where ours sends what ns-2 sends next. `docs/validation.md` has the cause.
fn repaired_twice(ours: &[Packet], theirs: &[Packet]) -> bool {
    let same = |a: &Packet, b: &Packet| (a.0 - b.0).abs() < SAME_INSTANT && a.1 == b.1;
    let Some(i) = (0..ours.len().max(theirs.len()))
        .find(|i| !matches!((ours.get(*i), theirs.get(*i)), (Some(a), Some(b)) if same(a, b) && a.2 == b.2))
    else {
        return false;
    };
    let (Some(again), Some(before)) = (theirs.get(i), i.checked_sub(1).and_then(|i| theirs.get(i))) else {
        return false;
    };
    let goes_on = match (ours.get(i), theirs.get(i + 1)) {
        (Some(a), Some(b)) => same(a, b),
        _ => true,
    };
    same(again, before) && goes_on && theirs[..i - 1].iter().any(|p| p.1 == again.1)
}

/// The first difference: a segment, an ACK that arrives, window or threshold. What happens at the end of the run is
/// not compared.
enum Difference {
    /// ns-2 sends a repair twice; what follows is another run.
    RepairedTwice(String),
    Other(String),
}

fn difference(ours: &[Row], theirs: &Recorded) -> Option<Difference> {
    let end = theirs.case.seconds - 1.37e-4;
    let two_way = theirs.case.variant.starts_with("Full");
    // Without ECN, two-way agents set CWR on other segments.
    let flags = !two_way || theirs.case.ecn;
    let heard = of_event(ours, "ack", "ECE", end, two_way);
    let until = heard.last().map_or(0.0, |h| h.0);
    let (sent, theirs_sent) = (of_event(ours, "send", "CWR", end, two_way), before(&theirs.sent, end));
    let all = [
        packets_differ("segment", &sent, theirs_sent, flags),
        packets_differ("ACK", &heard, before(&theirs.heard, end), flags),
        windows_differ(&our_windows(ours, until), &theirs.windows, two_way),
    ];
    let of_segment = all[0].as_ref().map(|d| d.0);
    let (t, what) = all.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let said = format!("{t:.6} s, {what}");
    let twice = theirs.case.variant == "Newreno" && of_segment == Some(t) && repaired_twice(&sent, theirs_sent);
    Some(if twice {
        Difference::RepairedTwice(said)
    } else {
        Difference::Other(said)
    })
}

fn recorded() -> Vec<Recorded> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/ns2-losses");
    parse(&read(root.join("recorded.txt.gz").to_str().unwrap()))
}

fn read(path: &str) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("the file unpacks");
    text
}

#[test]
fn random_losses_are_answered_as_ns2_does() {
    let drawn = std::env::var("TAILBACK_NS2_LOSSES").ok();
    let all = drawn.as_deref().map_or_else(recorded, |path| parse(&read(path)));
    assert!(!all.is_empty());
    let mut classes: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut twice = 0;
    for r in &all {
        let difference = difference(&run(&r.case, &[]), r);
        let class = match r.case.variant.strip_prefix("Full/") {
            Some(_) => format!("two-way {}", r.class),
            None => r.class.clone(),
        };
        let of_class = classes.entry(class).or_default();
        let about = format!("{} {} {}", r.class, r.number, r.case.variant);
        match &difference {
            None => {}
            Some(Difference::RepairedTwice(d)) => println!("ns-2 repairs twice: {about}: {d}"),
            Some(Difference::Other(d)) => println!("differs: {about}: {d}"),
        }
        if matches!(difference, Some(Difference::RepairedTwice(_))) {
            twice += 1;
            continue;
        }
        of_class.0 += usize::from(difference.is_none());
        of_class.1 += 1;
    }
    if twice > 0 {
        println!("ns-2 sends a repair twice in {twice}, which are compared up to there");
    }
    let mut failed = Vec::new();
    for (class, (same, of)) in classes {
        println!("{class}: {same} of {of} the same");
        // The differences of two-way agents are listed in `docs/open-work.md`.
        if same < of && !class.starts_with("two-way") {
            failed.push(class);
        }
    }
    assert!(failed.is_empty(), "too many differ: {}", failed.join(", "));
}

/// A repair that ns-2 sends twice at one instant is recognised, and nothing that only looks like it.
#[test]
fn a_repair_that_is_sent_twice_is_told_from_other_differences() {
    let packets =
        |rows: &[(f64, &str)]| -> Vec<Packet> { rows.iter().map(|r| (r.0, r.1.to_string(), false)).collect() };
    let ours = packets(&[(1.0, "35"), (1.1, "36"), (2.0, "35"), (2.0, "36"), (2.5, "37")]);
    let theirs = |rows: &[(f64, &str)]| repaired_twice(&ours, &packets(rows));
    let begin = [(1.0, "35"), (1.1, "36"), (2.0, "35")];
    let with = |rest: &[(f64, &'static str)]| theirs(&[&begin[..], rest].concat());
    assert!(with(&[(2.0, "35"), (2.0, "36")]));
    assert!(!with(&[(2.3, "35"), (2.3, "36")]), "later");
    assert!(!with(&[(2.0, "35"), (2.0, "38")]), "another segment follows");
    assert!(!with(&[(2.0, "34"), (2.0, "36")]), "another segment");
    assert!(!with(&[(2.0, "36"), (2.5, "37")]), "no difference");
}

/// Each value of the profile `ns2` for the response to losses and marks is needed: with the value of the RFCs, some
/// recorded run gives another result.
#[test]
fn each_value_of_the_profile_is_needed() {
    let all = recorded();
    let mut idle = Vec::new();
    for (name, value) in [
        ("least_window", "segment"),
        ("repeated_timeout", "keep"),
        ("first_segment_exempt", "false"),
        ("timeout_duplicates", "forget"),
        ("partial_ack_excess", "inflation"),
        ("syn_backoff", "clear"),
        ("syn_loss_lowers_ssthresh", "false"),
        ("idle_forgets", "window"),
        ("echo_rule", "rfc3168"),
        ("recovery_burst", "0"),
        ("limited_transmit_form", "rfc3042"),
        ("limited_transmit", "false"),
        ("halve", "flight"),
        ("whole_ssthresh", "false"),
        ("grow_on_exit", "false"),
        ("careful", "false"),
        ("ack_rule", "rfc5681"),
        ("ect_on_retransmissions", "false"),
        ("cwr_on_retransmissions", "false"),
        ("partial_ack_timer", "slow_but_steady"),
        ("rto_form", "rfc6298"),
        ("sack_form", "rfc6675"),
        ("sack_blocks", "1"),
    ] {
        let differs = |r: &&Recorded| difference(&run(&r.case, &[(name, value)]), r).is_some();
        let first = all.iter().find(differs);
        println!("{name} = {value}: {:?}", first.map(|r| (&r.class, &r.number)));
        if first.is_none() {
            idle.push(name);
        }
    }
    assert!(idle.is_empty(), "these change nothing: {}", idle.join(", "));
}
