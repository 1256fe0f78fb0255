//! Random losses, marks and lost ACKs against ns-2.35: the same segments at the same times, or not.
//!
//! The recorded runs in `tests/reference/ns2-losses` are compared here. `benches/ns2_losses.py` draws new ones, asks an
//! installed ns-2 for them and names its file in `TAILBACK_NS2_LOSSES`.

#[path = "common/reference_net.rs"]
mod reference_net;

use flate2::read::GzDecoder;
use reference_net::{Case, Row, run};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

/// Both clocks are exact, but ns-2's is a sum of floating-point numbers.
const SAME_INSTANT: f64 = 2e-6;
/// Of so many drawn cases of a class so many must be the same; the others are explained in `docs/validation.md`.
const OF_DRAWN: (usize, usize) = (145, 150);

struct Recorded {
    class: String,
    number: String,
    case: Case,
    /// When each segment was sent, its number, and whether it says CWR.
    sent: Vec<(f64, u64, bool)>,
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|n| n.parse().unwrap()).collect()
}

fn parse(text: &str) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for line in text.lines() {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        if key == "case" {
            let f: Vec<&str> = rest.split(' ').collect();
            all.push(Recorded {
                class: f[0].into(),
                number: f[1].into(),
                case: Case {
                    variant: f[2].into(),
                    delayed_acks: f[3] == "1",
                    ecn: f[4] == "1",
                    cap: f[5].parse().unwrap(),
                    buffer: 99,
                    initial_window: f[6].parse().unwrap(),
                    seconds: f[7].parse().unwrap(),
                    nudge: f[8].parse().unwrap(),
                    ..Case::default()
                },
                sent: Vec::new(),
            });
            continue;
        }
        let last = all.last_mut().expect("a case comes first");
        match key {
            "lost" => last.case.lost = numbers(rest),
            "marked" => last.case.marked = numbers(rest),
            "acks" => last.case.acks_lost = numbers(rest),
            "sent" => {
                let mut before = 0;
                last.sent = rest.split(' ').map(|w| sent(w, &mut before)).collect();
            }
            _ => panic!("{line}"),
        }
    }
    all
}

/// `MICROSECONDS:NUMBER`, the time since the segment `before`, with a `c` where the segment says CWR.
fn sent(word: &str, before: &mut u64) -> (f64, u64, bool) {
    let (since, number) = word.split_once(':').unwrap();
    *before += since.parse::<u64>().unwrap();
    let plain = number.trim_end_matches('c');
    let says_cwr = plain != number && plain != "0";
    (*before as f64 * 1e-6, plain.parse().unwrap(), says_cwr)
}

/// The first segment that differs (the flags of a SYN negotiate and are not compared): its place, what we send, what was recorded.
fn difference(ours: &[Row], theirs: &[(f64, u64, bool)], before: f64) -> Option<String> {
    let ours: Vec<(f64, u64, bool)> = ours
        .iter()
        .filter(|r| r.event == "send" && r.t < before - SAME_INSTANT)
        .map(|r| (r.t, r.a as u64, r.a > 0.0 && r.flag == "CWR"))
        .collect();
    let same =
        |a: &(f64, u64, bool), b: &(f64, u64, bool)| (a.0 - b.0).abs() < SAME_INSTANT && a.1 == b.1 && a.2 == b.2;
    let show = |s: Option<&(f64, u64, bool)>| {
        s.map_or("nothing".to_string(), |(t, n, cwr)| {
            format!("{n}{} at {t:.6} s", if *cwr { " with CWR" } else { "" })
        })
    };
    (0..ours.len().max(theirs.len()))
        .find(|i| !matches!((ours.get(*i), theirs.get(*i)), (Some(a), Some(b)) if same(a, b)))
        .map(|i| format!("segment {i}: here {}, ns-2 {}", show(ours.get(i)), show(theirs.get(i))))
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
    let mut classes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for r in &all {
        let difference = difference(&run(&r.case, &[]), &r.sent, r.case.seconds);
        let of_class = classes.entry(&r.class).or_default();
        of_class.0 += usize::from(difference.is_none());
        of_class.1 += 1;
        if let Some(d) = difference {
            println!("differs: {} {} {}: {d}", r.class, r.number, r.case.variant);
        }
    }
    let mut failed = Vec::new();
    for (class, (same, of)) in classes {
        println!("{class}: {same} of {of} the same");
        let least = if drawn.is_some() {
            of * OF_DRAWN.0 / OF_DRAWN.1
        } else {
            of
        };
        if same < least {
            failed.push(class);
        }
    }
    assert!(failed.is_empty(), "too many differ: {}", failed.join(", "));
}

/// Each value of the profile `ns2` that says how losses and marks are answered is needed: with what RFCs have instead,
/// some recorded run comes out otherwise.
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
        let differs = |r: &&Recorded| difference(&run(&r.case, &[(name, value)]), &r.sent, r.case.seconds).is_some();
        let first = all.iter().find(differs);
        println!("{name} = {value}: {:?}", first.map(|r| (&r.class, &r.number)));
        if first.is_none() {
            idle.push(name);
        }
    }
    assert!(idle.is_empty(), "these change nothing: {}", idle.join(", "));
}
