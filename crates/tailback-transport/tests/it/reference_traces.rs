//! The sixteen reference traces: one flow through a small bottleneck, compared with ns-2.35 segment by segment.
//!
//! The network of `reference_net`, either drop-tail with 9 waiting and 1 in service at r1, or with a large buffer and
//! losses by arrival index. `tests/reference/tcp-traces` in the repository's root describes the set-up and the
//! columns of the files.
//!
//! Compared, to the end of the run: every segment sent (order, number, CWR flag, time to 1 ms), every drop, every ACK
//! arriving, and each change of window (to 0.002), threshold, backoff and smoothed round trip.

use crate::common::reference_net::{Case, Row, VARIABLES, run};
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::PathBuf;

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
            bytes: (0, 0, 0),
        }
    };
    text.lines().skip(1).map(row).collect()
}

/// The case for the name of a file.
fn case(variant: &str, name: &str) -> Case {
    let forced = name.starts_with("force");
    Case {
        variant: variant.into(),
        delayed_acks: name.starts_with("delack"),
        cap: if forced { 28 } else { 10_000 },
        initial_window: 2,
        buffer: if forced { 99 } else { 9 },
        seconds: if forced { 6.0 } else { 20.0 },
        lost: match name {
            "force_d1" => vec![15],
            "force_d3" => vec![15, 27, 29],
            _ => vec![],
        },
        ..Case::default()
    }
}

/// The rows of one event; for a variable only the last at an instant, and only if it changes.
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
        for name in ["ack_b10", "delack_b10", "force_d1", "force_d3"] {
            let theirs = reference(&format!("{variant}_{name}"));
            let ours = run(&case(variant, name), &[]);
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
                "{variant}_{name}: {}",
                if wrong.is_empty() { "agrees" } else { "DIFFERS" }
            );
            if !wrong.is_empty() {
                println!("{}", wrong.join("\n"));
                failed.push(format!("{variant}_{name}"));
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
