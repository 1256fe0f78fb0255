//! The transport on simulated paths. `glue` has the two `impl`s that this takes; a test is a few lines.

mod glue;

use glue::{Receiving, Sending};
use tailback_path::{Path, Run};
use your_transport::{PAYLOAD, Receiver, Sender};

/// So many transfers of this size over a path.
fn transfers(n: usize, bytes: u64, path: &Path, duration: &str) -> Run<Sending, Receiving> {
    let ends = (0..n).map(|_| (Sending(Sender::new(bytes)), Receiving(Receiver::default())));
    path.run(ends, duration).unwrap()
}

const ENDLESS: u64 = u64::MAX / 2;

#[test]
fn a_transfer_over_an_empty_path_takes_its_round_trips() {
    let run = transfers(1, 100 * PAYLOAD, &Path::new("100Mbps", "40ms"), "5s");
    let (sender, receiver) = &run.ends[0];
    assert_eq!(receiver.0.in_order(), 100 * PAYLOAD);
    // Windows of 10, 20, 40 and the rest: four round trips, and the time of the packets.
    let took = sender.0.finished.unwrap().as_secs_f64();
    assert!((0.160..0.180).contains(&took), "{took}");
    assert_eq!(sender.0.lost, 0);
}

#[test]
fn it_fills_the_line_and_codel_keeps_the_queue_short() {
    let path = Path::new("20Mbps", "40ms").warmup("5s");
    let tail = transfers(
        2,
        ENDLESS,
        &path.clone().queue(r#"{ kind = "droptail", buffer = "300 packets" }"#),
        "30s",
    );
    let codel = transfers(2, ENDLESS, &path.queue("codel"), "30s");
    assert!(tail.line("utilisation") > 0.99 && codel.line("utilisation") > 0.90);
    let (long, short) = (tail.line("sojourn_p50_s"), codel.line("sojourn_p50_s"));
    assert!(short < 0.015 && long > 3.0 * short, "{long} {short}");
}

#[test]
fn marks_take_the_place_of_losses() {
    let path = Path::new("20Mbps", "40ms")
        .queue(r#"{ kind = "fq-codel", ecn = true }"#)
        .warmup("5s");
    let run = transfers(1, ENDLESS, &path, "30s");
    assert!(run.line("marked_packets") > 5.0);
    assert_eq!((run.line("dropped_packets"), run.ends[0].0.0.lost), (0.0, 0));
}

#[test]
fn every_byte_arrives_through_losses_copies_and_reordering() {
    for seed in 1..=5 {
        let path = Path::new("10Mbps", "30ms")
            .impair(r#"{ kind = "gilbert", to_bad = 0.01, to_good = 0.3 }"#)
            .impair(r#"{ kind = "duplicate", probability = 0.02 }"#)
            .impair_back(r#"{ kind = "random", probability = 0.05 }"#)
            .seed(seed);
        let run = transfers(1, 2_000_000, &path, "60s");
        let (sender, receiver) = &run.ends[0];
        assert_eq!(receiver.0.in_order(), 2_000_000, "seed {seed}");
        assert!(
            sender.0.finished.is_some() && sender.0.lost > 10,
            "seed {seed}: {}",
            sender.0.lost
        );
    }
}

#[test]
fn it_gets_along_with_cubic() {
    let path = Path::new("20Mbps", "40ms")
        .beside("tcp", "tcp = { profile = \"linux\" }\nstart = \"1s\"")
        .warmup("10s");
    let run = transfers(1, ENDLESS, &path, "60s");
    let (mine, its) = (run.pair(0, "goodput_bps"), run.beside("tcp", "goodput_bps_sum"));
    assert!(mine > 4e6 && its > 4e6, "{mine} {its}");
}
