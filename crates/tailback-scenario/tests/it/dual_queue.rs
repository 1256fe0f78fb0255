//! Classic and scalable senders at one DualPI2: what it makes of their rates, and the delay of each.

use crate::common::*;

/// So many Reno flows beside as many scalable ones, an ACK a segment.
struct Case {
    flows: u32,
    scalable: &'static str,
    mbps: u32,
    rtt_ms: u32,
    /// More of the queue's parameters.
    queue: &'static str,
}

/// What a run showed.
struct Seen {
    /// Goodput of the classic over that of the scalable.
    ratio: f64,
    /// Mean of the base probability p', and of its square.
    p: f64,
    square: f64,
    /// Of the packets of each kind, the share signalled.
    classic_signals: f64,
    scalable_signals: f64,
    /// Mean packets of a scalable flow in a round trip, waits counted.
    scalable_window: f64,
    /// Mean waits of both, and the 99 % wait of the scalable, seconds.
    classic_wait: f64,
    scalable_wait: f64,
    scalable_p99: f64,
}

impl Case {
    fn run(&self) -> Seen {
        let (n, r) = (self.flows, f64::from(self.rtt_ms) / 1e3);
        let flows = |name: &str, control: &str| {
            format!(
                "[flows.{name}]\ncount = {n}\nrtt = \"{}ms\"\n\
                 tcp = {{ congestion = \"{control}\", ecn = \"on\", delayed_ack = 1 }}\n",
                self.rtt_ms
            )
        };
        let o = run_text(&format!(
            "duration = \"120s\"\nwarmup = \"30s\"\nseed = 1\n\
             topology = {{ kind = \"dumbbell\", rate = \"{}Mbps\", delay = \"1ms\", queue = {{ kind = \"dualpi2\"{} \
             }} }}\n{}{}\
             [record.r]\nlink = \"bottleneck\"\nprobes = [\"probability\"]\nevery = \"16ms\"\n",
            self.mbps,
            self.queue,
            flows("classic", "reno"),
            flows("scalable", self.scalable),
        ));
        let of_group = |name: &str, column: &str| {
            let rows = (0..o["flows"].rows()).filter(|i| text(&o["flows"], "group", *i) == name);
            let seen: Vec<f64> = rows.map(|i| number(&o["flows"], column, i)).collect();
            seen.iter().sum::<f64>() / seen.len() as f64
        };
        let signals = |reason: &str| -> f64 {
            let t = &o["losses"];
            let rows = (0..t.rows()).filter(|i| text(t, "reason", *i) == reason);
            rows.map(|i| number(t, "packets", i)).sum()
        };
        let t = &o["series"];
        let late = (0..t.rows()).filter(|i| number(t, "time_s", *i) > 30.0);
        let p: Vec<f64> = late.map(|i| number(t, "value", i)).collect();
        let mean = |f: fn(f64) -> f64| p.iter().map(|x| f(*x)).sum::<f64>() / p.len() as f64;
        // What is not waiting: half a round trip, and a packet's time on the line.
        let alone = r / 2.0 + 0.012 / f64::from(self.mbps);
        let packets = |name: &str| of_group(name, "goodput_wire_bps") / 12_000.0;
        let sent = |name: &str| packets(name) * f64::from(n) * 90.0;
        let scalable_wait = of_group("scalable", "delay_mean_s") - alone;
        let marks_of_l = signals("coupled") + signals("step");
        Seen {
            ratio: of_group("classic", "goodput_bps") / of_group("scalable", "goodput_bps"),
            p: mean(|x| x),
            square: mean(|x| x * x),
            classic_signals: signals("early") / sent("classic"),
            scalable_signals: marks_of_l / sent("scalable"),
            scalable_window: packets("scalable") * (r + 0.012 / f64::from(self.mbps) + scalable_wait),
            classic_wait: of_group("classic", "delay_mean_s") - alone,
            scalable_wait,
            scalable_p99: of_group("scalable", "delay_p99_s") - alone,
        }
    }

    /// Classic over scalable, for windows of so many packets on the average, at waits as they were.
    fn ratio_of(&self, classic: f64, scalable: f64, seen: &Seen) -> f64 {
        let r = f64::from(self.rtt_ms) / 1e3 + 0.012 / f64::from(self.mbps);
        classic / (r + seen.classic_wait) * (r + seen.scalable_wait) / scalable
    }
}

/// Prague cuts once a round trip and waits for a mark: m / p packets, m from 2 to 2.73.
fn prague_law(p: f64) -> f64 {
    let q = 1.0 - p;
    (q + (q * q + 2.0 * q).sqrt()) / p
}

/// The law of RFC 9332 appendix C: 1.22 / sqrt(p).
fn reno_law(p: f64) -> f64 {
    1.22 / p.sqrt()
}

/// The classic queue is signalled with p' squared, the other with 2 p', so the laws of the senders give the ratio of
/// rates.
#[test]
fn rates_follow_the_laws_of_the_senders_and_l_waits_little() {
    println!("Mb/s  round trip  classic / scalable: ours, by the laws; p99 wait of L");
    for (mbps, rtt_ms) in [(40, 30), (40, 50), (40, 100), (100, 50), (100, 100)] {
        let case = Case {
            flows: 10,
            scalable: "prague",
            mbps,
            rtt_ms,
            queue: "",
        };
        let seen = case.run();
        let law = case.ratio_of(reno_law(seen.square), prague_law(2.0 * seen.p), &seen);
        println!(
            "{mbps:<5} {rtt_ms:<4} {:>6.2} {law:>6.2} {:>8.2} ms",
            seen.ratio,
            seen.scalable_p99 * 1e3
        );
        assert!(
            (seen.ratio / law - 1.0).abs() < 0.15,
            "{mbps} Mb/s, {rtt_ms} ms: {}, by the laws {law}",
            seen.ratio
        );
        assert!(
            (0.65..1.25).contains(&seen.ratio),
            "nobody is pushed aside: {}",
            seen.ratio
        );
        assert!(seen.scalable_p99 < 0.004, "{}", seen.scalable_p99);
    }
}

/// Reno with echoes: from W / 2 it grows by one a round trip to W, after one round trip without growth, which the echo
/// takes until the sender's answer arrives (RFC 3168 section 6.1.3): of 3/8 W^2 + W / 2 packets one is signalled.
fn reno_with_echoes(p: f64) -> f64 {
    let w = (-0.5 + (0.25 + 1.5 / p).sqrt()) / 0.75;
    1.0 / p / (w / 2.0 + 1.0)
}

/// Gains of RFC 9332 appendix A for round trips up to 200 ms: 0.1 update_interval / rtt_max^2, 0.3 / rtt_max.
const LONG: &str = ", alpha = 0.04, beta = 1.5";

/// RFC 9332 section 2.1: the classic queue signals with the square of p' and L with k p', so a sender of 2 / p beside
/// one of 1.22 / sqrt(p) gets its rate but for the waits. Where p' stands still both shares of signals and the ratio of
/// rates are held to that; everywhere the ratio is held to what the signals make of the laws: windows in whole
/// segments, and Reno's round trip without growth. Where p' swings the packets do not meet its mean, and what is held
/// to it is not asserted.
#[test]
fn the_coupling_holds_for_a_sender_of_exactly_two_over_p() {
    println!("flows Mb/s  rtt  ratio  p' held  signals | mean/rms p'  classic/p'^2  L/2p'  W p_L | L p99, bound, ms");
    for (flows, mbps, rtt_ms, queue, stands) in [
        (10, 40, 30, "", true),
        (10, 40, 50, "", true),
        (10, 100, 30, "", true),
        (10, 40, 100, "", false),
        (10, 40, 200, "", false),
        (10, 40, 200, LONG, false),
        (1, 20, 30, "", false),
        (1, 20, 50, "", false),
        (1, 20, 100, "", false),
    ] {
        let scalable = "scalable";
        let case = Case {
            flows,
            scalable,
            mbps,
            rtt_ms,
            queue,
        };
        let s = case.run();
        let held = case.ratio_of(reno_law(s.p * s.p), 1.0 / s.p, &s);
        let signals = case.ratio_of(reno_with_echoes(s.classic_signals), 2.0 / s.scalable_signals - 0.5, &s);
        let (still, law) = (s.p / s.square.sqrt(), s.scalable_window * s.scalable_signals);
        let (classic, l) = (s.classic_signals / s.square, s.scalable_signals / (2.0 * s.p));
        // The end of the ramp, and three packets' time: one on the line, one of the classic queue, one that came beside
        // it.
        let bound = 1.2e-3 + 3.0 * 0.012 / f64::from(mbps);
        println!(
            "{flows:>5} {mbps:>4} {rtt_ms:>4} {:>6.2} {held:>8.2} {signals:>8.2} | {still:>11.3} {classic:>13.3} \
             {l:>6.3} {law:>6.2} | {:>5.2} {:>5.2}",
            s.ratio,
            s.scalable_p99 * 1e3,
            bound * 1e3,
        );
        let near = |x: f64, to: f64, within: f64| (x / to - 1.0).abs() < within;
        let what = format!("{flows} of each, {mbps} Mb/s, {rtt_ms} ms");
        assert!(
            near(s.ratio, signals, 0.2),
            "{what}: {}, by the signals {signals}",
            s.ratio
        );
        assert!((1.85..2.05).contains(&law), "{what}: W p is {law}");
        assert!(s.scalable_p99 < bound, "{what}: {}", s.scalable_p99);
        assert_eq!(stands, still > 0.97, "{what}: {still}");
        if stands {
            assert!(
                near(classic, 1.0, 0.07) && near(l, 1.0, 0.03),
                "{what}: {classic} and {l}"
            );
            assert!(near(s.ratio, held, 0.2), "{what}: {}, with p' held {held}", s.ratio);
        }
    }
}
