//! Copa over whole paths: rows of a packet-level calculation that shares no code with it, the closed form of its queue,
//! and where it is unstable.

use crate::common::*;

/// Mean and 99th percentile of the queue, packets, and the share of the line in use, between two instants.
fn queue(rate: f64, ms: f64, seconds: [f64; 2], delta: f64) -> [f64; 3] {
    let o = run_text(&format!(
        "duration = \"{}s\"\nwarmup = \"{}s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}Mbps\"\ndelay = \
         \"{}ms\"\nqueue = {{ kind = \"droptail\", buffer = \"100000 packets\" }}\n[flows.f]\nfrom = \"a\"\nto = \
         \"b\"\ntcp = {{ delayed_ack = 1, congestion = {{ kind = \"copa\", delta = {delta}, competitive = \
         false }} }}\n",
        seconds[1],
        seconds[0],
        ms / 2.0
    ));
    let packets = |column| of(&o["links"], "path", column) * rate * 1e6 / 12_000.0;
    [
        packets("sojourn_mean_s"),
        packets("sojourn_p99_s"),
        of(&o["links"], "path", "utilisation"),
    ]
}

/// 20 Mb/s: the mean queue is 1.25 / delta packets, and that of the calculation to 5 %. With a small delta this holds
/// while the empty path is remembered, in the first ten seconds.
#[test]
fn the_queue_is_that_of_the_closed_form() {
    for (ms, delta, mean, seconds) in [
        (40.0, 0.5, 2.45, [20.0, 120.0]),
        (100.0, 0.5, 2.46, [20.0, 120.0]),
        (40.0, 0.1, 12.43, [4.0, 10.0]),
        (100.0, 0.1, 12.21, [4.0, 10.0]),
        (40.0, 0.04, 29.9, [4.0, 10.0]),
        (100.0, 0.04, 30.1, [4.0, 10.0]),
    ] {
        let found = queue(20.0, ms, seconds, delta);
        println!(
            "{ms} ms, delta {delta}: {:.2} packets ({mean}; closed form {:.2}), p99 {:.1}, of the line {:.3}",
            found[0],
            1.25 / delta,
            found[1],
            found[2]
        );
        near(found[0] / mean, 1.0, 0.05);
        near(found[0] * delta / 1.25, 1.0, 0.08);
        assert!(found[2] > 0.99);
    }
}

/// A queue of 25 packets at its highest falls to one packet and not to none, so that after ten seconds the least round
/// trip is that of a packet more, and so on each ten seconds.
#[test]
fn with_a_small_delta_its_base_moves_up() {
    let (early, late) = (
        queue(20.0, 40.0, [4.0, 10.0], 0.1)[0],
        queue(20.0, 40.0, [100.0, 110.0], 0.1)[0],
    );
    println!("{early:.1} packets in the first ten seconds, {late:.1} after 100 s");
    assert!(late > early + 5.0 && late < early + 12.0);
}

/// v has no bound: after the start of a long fast path the window swings by hundreds of packets, and some of the line
/// is unused. Then it settles.
#[test]
fn on_a_long_fast_path_the_start_swings() {
    let (swinging, settled) = (
        queue(100.0, 100.0, [4.0, 10.0], 0.5),
        queue(100.0, 100.0, [40.0, 60.0], 0.5),
    );
    println!("4 to 10 s: {swinging:.2?}; 40 to 60 s: {settled:.2?}");
    assert!(swinging[1] > 200.0 && swinging[2] < 0.95);
    assert!(settled[0] < 3.5 && settled[2] > 0.99);
}
