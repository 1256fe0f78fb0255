//! TFRC over whole paths: its rate against the equation it is made from, and beside TCP.

use crate::common::*;
use tailback_sim::results::outcome::Outcome;

/// The rate of RFC 5348 section 3.1, bit/s, for packets of 1460 B, a round trip and a loss event rate.
fn equation(rtt: f64, p: f64) -> f64 {
    1460.0 * 8.0 / (rtt * (2.0 * p / 3.0).sqrt() + 4.0 * rtt * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// One flow over a line that never queues, 100 ms there and back, which loses packets.
fn lossy(impair: &str, flow: &str) -> Outcome {
    run_text(&format!(
        "duration = \"600s\"\nwarmup = \"60s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \
         \"50ms\"\nqueue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n\
         impair = [{{ {impair} }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\ntfrc = {{ {flow} }}\n\
         [record.r]\nflows = \"f\"\nprobes = [\"rate\", \"loss_event_rate\", \"rtt\"]\nevery = \"100ms\"\n"
    ))
}

fn mean(o: &Outcome, probe: &str) -> f64 {
    let t = &o["series"];
    let here = (0..t.rows()).filter(|i| text(t, "probe", *i) == probe && number(t, "time_s", *i) >= 60.0);
    let values: Vec<f64> = here.map(|i| number(t, "value", i)).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn goodput(o: &Outcome, group: &str) -> f64 {
    let flows = &o["flows"];
    let rows = (0..flows.rows()).filter(|i| text(flows, "group", *i) == group);
    rows.map(|i| number(flows, "goodput_bps", i)).sum()
}

/// Every n-th packet is lost, with more than a round trip between losses: each interval counts n packets, and the rate
/// is the equation's at 1/n, without a constant to fit.
#[test]
fn periodic_losses_give_the_rate_of_the_equation() {
    println!("  n   loss event rate * n   rate over the equation's   goodput over rate");
    for n in [100, 300, 1000] {
        let o = lossy(&format!("kind = \"every-nth\", n = {n}"), "");
        let p = mean(&o, "loss_event_rate") * f64::from(n);
        let right = equation(0.1, 1.0 / f64::from(n));
        let (rate, got) = (mean(&o, "rate") / right, goodput(&o, "f") / mean(&o, "rate"));
        println!("{n:4}   {p:.4}   {rate:.4}   {got:.4}");
        near(p, 1.0, 0.001);
        near(rate, 1.0, 0.003);
        near(got, 1.0 - 1.0 / f64::from(n), 0.003);
        near(mean(&o, "rtt"), 0.1, 0.0005);
    }
}

/// Packets lost independently, with probability q. An event hides the losses of the round trip after its first, so that
/// the mean interval is 1/q and the packets of a round trip; the rate solves the equation for that. Averages of few
/// intervals are noisy, and the equation is convex in p, so that ten per cent are left.
#[test]
fn random_losses_count_as_events() {
    println!("  q   events a packet: measured, expected   rate over the expected");
    for q in [0.002, 0.01, 0.03] {
        let o = lossy(&format!("kind = \"random\", probability = {q}"), "");
        let mut rate = equation(0.1, q);
        for _ in 0..100 {
            let in_a_round_trip = rate * 0.1 / (1460.0 * 8.0);
            rate = (rate + equation(0.1, 1.0 / (1.0 / q + in_a_round_trip))) / 2.0;
        }
        let expected = 1.0 / (1.0 / q + rate * 0.1 / (1460.0 * 8.0));
        println!(
            "{q}   {:.5} {expected:.5}   {:.4}",
            mean(&o, "loss_event_rate"),
            mean(&o, "rate") / rate
        );
        near(mean(&o, "rate") / rate, 1.0, 0.1);
    }
}

/// Slow start begins with three packets in a round trip and doubles. From then on the rate is held to twice what was
/// received, and a report tells of packets that were sent up to two round trips before: X(n + 1) = 2 X(n - 1), a
/// doubling in two round trips.
#[test]
fn slow_start_doubles() {
    let o = run_text(
        "duration = \"20s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"50ms\"\nqueue = { \
         kind = \"droptail\", buffer = \"unlimited\" }\n\
         [flows.f]\nfrom = \"a\"\nto = \"b\"\ntfrc = {}\n[record.r]\nflows = \"f\"\nprobes = [\"rate\"]\non_change = \
         true\n",
    );
    let t = &o["series"];
    let steps: Vec<(f64, f64)> = (0..t.rows())
        .map(|i| (number(t, "time_s", i), number(t, "value", i)))
        .filter(|s| s.0 > 0.0 && s.0 < 1.5)
        .collect();
    println!("{steps:.4?}");
    near(steps[0].1, 4380.0 * 8.0 / 0.1, 100.0);
    assert!(
        steps
            .windows(2)
            .all(|w| w[1].1 < 2.001 * w[0].1 && w[1].0 - w[0].0 < 0.101)
    );
    near(steps[2].1 / steps[0].1, 4.0, 0.001);
    let later: Vec<f64> = steps[4..].windows(3).map(|w| w[2].1 / w[0].1).collect();
    assert!(later.len() >= 8);
    for factor in later {
        near(factor, 2.0, 0.15);
    }
}

/// Behind RED, four flows of each with one round trip: RFC 5348 section 1 expects a rate within a factor of two of
/// TCP's.
#[test]
fn beside_reno_behind_red_within_a_factor_of_two() {
    println!("ecn   TFRC over Reno   utilisation");
    for ecn in [false, true] {
        let o = run_text(&format!(
            "duration = \"200s\"\nwarmup = \"40s\"\nseed = 5\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \
             \"15Mbps\"\ndelay = \"30ms\"\n\
             queue = {{ kind = \"red\", buffer = \"150 packets\", min_threshold = \"20 packets\", max_threshold = \
             \"100 packets\", \
             weight = 0.002, max_probability = 0.1, gentle = true, ecn = {ecn} }}\n\
             [flows.tcp]\ncount = 4\nfrom = \"a\"\nto = \"b\"\nstart = {{ kind = \"uniform\", from = \"0s\", to = \
             \"3s\" }}\n\
             tcp = {{ variant = \"sack\", delayed_ack = 1, ecn = \"{}\" }}\n\
             [flows.tfrc]\ncount = 4\nfrom = \"a\"\nto = \"b\"\nstart = {{ kind = \"uniform\", from = \"0s\", to = \
             \"3s\" }}\ntfrc = {{ ecn = {ecn} }}\n",
            if ecn { "on" } else { "off" }
        ));
        let share = goodput(&o, "tfrc") / goodput(&o, "tcp");
        let busy = of(&o["links"], "path", "utilisation");
        println!("{ecn}   {share:.3}   {busy:.4}");
        assert!((0.5..2.0).contains(&share) && busy > 0.9);
    }
}

/// What it is for: over the same losses the rate of TFRC moves less than TCP's window does.
#[test]
fn the_rate_is_smoother_than_a_window() {
    let spread = |transport: &str| {
        let o = run_text(&format!(
            "duration = \"300s\"\nwarmup = \"60s\"\ninterval = \"500ms\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate \
             = \"1Gbps\"\ndelay = \"50ms\"\nqueue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n\
             impair = [{{ kind = \"random\", probability = 0.005 }}]\n[flows.f]\nfrom = \"a\"\nto = \
             \"b\"\n{transport}\n"
        ));
        let t = &o["intervals"];
        let rates: Vec<f64> = (0..t.rows()).map(|i| number(t, "goodput_bps", i)).collect();
        let m = rates.iter().sum::<f64>() / rates.len() as f64;
        let square = rates.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / rates.len() as f64;
        square.sqrt() / m
    };
    let (tfrc, reno) = (
        spread("tfrc = {}"),
        spread("tcp = { variant = \"sack\", delayed_ack = 1 }"),
    );
    println!("goodput in half seconds, deviation over mean: TFRC {tfrc:.3}, Reno {reno:.3}");
    assert!(tfrc < 0.7 * reno);
}

/// Packets lost, doubled and late, and a third of the reports lost: the flow goes on, and nothing is delivered twice.
#[test]
fn a_bad_path_both_ways() {
    for seed in 1..=20 {
        let o = run_text(&format!(
            "duration = \"60s\"\nseed = {seed}\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \
             \"20ms\"\n\
             queue = {{ kind = \"droptail\", buffer = \"20 packets\" }}\n\
             impair = [{{ kind = \"random\", probability = 0.03 }}, {{ kind = \"duplicate\", probability = 0.05 }}, \
             {{ kind = \"reorder\", probability = 0.05, delay = \"8ms\" }}]\n\
             reverse_impair = [{{ kind = \"random\", probability = 0.3 }}]\n\
             [flows.f]\nfrom = \"a\"\nto = \"b\"\ntfrc = {{ history_discounting = true, rtt_damping = true, min_rto = \
             \"1s\" }}\n\
             [record.r]\nflows = \"f\"\nprobes = [\"rate\", \"goodput\"]\nevery = \"10s\"\n"
        ));
        let t = &o["series"];
        let at_end: Vec<(f64, f64)> = (0..t.rows())
            .filter(|i| text(t, "probe", *i) == "goodput")
            .map(|i| (number(t, "time_s", i), number(t, "value", i)))
            .collect();
        for pair in at_end.windows(2) {
            assert!(pair[1].1 > pair[0].1, "seed {seed}: nothing from {} s on", pair[0].0);
        }
        let sent = number(&o["flows"], "sent_packets", 0);
        let got = at_end[at_end.len() - 1].1 / 1460.0;
        assert!(got < sent && got > 0.8 * sent, "seed {seed}: {got} of {sent}");
    }
}
