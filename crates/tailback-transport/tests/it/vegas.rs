//! Vegas compared with ns-2's own agent: a line of 10 Mb/s and 20 ms after 100 Mb/s and 2 ms, 56 segments of 1000 B,
//! drop-tail of 10 or 100 packets, `alpha_ 1 beta_ 3 gamma_ 1`, 60 s.
//!
//! In ns-2 from 10 to 60 s the line is full, and one to three segments wait, with the small buffer also after the
//! losses of slow start. The mean window may differ by 3 segments, the mean queue by one packet, the utilisation by
//! half a percentage point.

use crate::common::reference_net::{Case, Row, run};

/// Buffer (without the packet in service), mean window and mean queue.
const THEIRS: [(usize, f64, f64); 2] = [(9, 59.2, 2.9), (99, 59.4, 2.9)];
const FROM: f64 = 10.0;
const TO: f64 = 60.0;

/// The mean over time of a step function.
fn mean(rows: &[Row], event: &str) -> f64 {
    let (mut sum, mut last) = (0.0, (FROM, 0.0));
    for r in rows.iter().filter(|r| r.event == event && r.t < TO) {
        if r.t >= FROM {
            sum += last.1 * (r.t - last.0);
            last.0 = r.t;
        }
        last.1 = r.a;
    }
    (sum + last.1 * (TO - last.0)) / (TO - FROM)
}

/// What is acknowledged, as a share of what the line carries.
fn utilisation(rows: &[Row]) -> f64 {
    let at = |t: f64| rows.iter().rfind(|r| r.event == "ack" && r.t < t).map_or(0.0, |r| r.a);
    (at(TO) - at(FROM)) * 8000.0 / 10e6 / (TO - FROM)
}

#[test]
fn a_full_line_and_a_short_queue_after_losses_too() {
    let profiles = [
        (
            "rfc, ACKs delayed",
            "Sack1",
            vec![("profile", "rfc"), ("delayed_ack", "2")],
        ),
        ("rfc", "Sack1", vec![("profile", "rfc")]),
        ("ns2", "Newreno", vec![]),
        ("ns2-full", "Full/Sack", vec![]),
    ];
    let mut outside = Vec::new();
    for (buffer, window, queue) in THEIRS {
        for (name, variant, values) in &profiles {
            let case = Case {
                variant: (*variant).into(),
                cap: 10_000,
                slow: 6400,
                delay: 20_000,
                ends: [(640, 2000), (0, 0)],
                buffer,
                seconds: TO,
                vegas: Some(vec![("alpha", "1"), ("beta", "3"), ("gamma", "1")]),
                ..Case::default()
            };
            let rows = run(&case, values);
            let ours = [mean(&rows, "cwnd"), mean(&rows, "queue"), utilisation(&rows)];
            let drops = rows.iter().filter(|r| r.event == "drop").count();
            println!(
                "buffer {buffer}, {name}: window, queue, share {ours:.2?}, {drops} lost; theirs {window}, {queue}, 1"
            );
            let inside =
                (ours[0] - window).abs() <= 3.0 && (ours[1] - queue).abs() <= 1.0 && (ours[2] - 1.0).abs() <= 0.005;
            if !inside {
                outside.push(format!("buffer {buffer}, {name}"));
            }
        }
    }
    assert!(outside.is_empty(), "{}", outside.join("; "));
}
