//! Classic and scalable senders at one DualPI2: what it makes of their rates, and the delay of each.

mod common;
use common::*;

/// Ten Reno and ten Prague flows, an ACK a segment, on a line of so many Mb/s: goodput of the classic over that of the
/// scalable, what the laws of both make of the probabilities seen, and the 99 % wait of the scalable, seconds.
fn ten_and_ten(rate: u32, rtt_ms: u32) -> (f64, f64, f64) {
    let flows = |name: &str, control: &str| {
        format!(
            "[flows.{name}]\ncount = 10\nrtt = \"{rtt_ms}ms\"\n\
             tcp = {{ congestion = \"{control}\", ecn = \"on\", delayed_ack = 1 }}\n"
        )
    };
    let o = run_text(&format!(
        "duration = \"120s\"\nwarmup = \"30s\"\nseed = 1\n\
         topology = {{ kind = \"dumbbell\", rate = \"{rate}Mbps\", delay = \"1ms\", queue = \"dualpi2\" }}\n{}{}\
         [record.r]\nlink = \"bottleneck\"\nprobes = [\"probability\"]\nevery = \"16ms\"\n",
        flows("classic", "reno"),
        flows("scalable", "prague"),
    ));
    let of_group = |name: &str, column: &str| {
        let rows = (0..o["flows"].rows()).filter(|i| text(&o["flows"], "group", *i) == name);
        let seen: Vec<f64> = rows.map(|i| number(&o["flows"], column, i)).collect();
        seen.iter().sum::<f64>() / seen.len() as f64
    };
    let t = &o["series"];
    let late = (0..t.rows()).filter(|i| number(t, "time_s", *i) > 30.0);
    let p: Vec<f64> = late.map(|i| number(t, "value", i)).collect();
    let mean = p.iter().sum::<f64>() / p.len() as f64;
    let square = p.iter().map(|x| x * x).sum::<f64>() / p.len() as f64;
    // Reno: 1.22 / sqrt(p). Prague cuts once a round trip and waits for a mark: m / p packets, m from 2 to 2.73.
    let r = f64::from(rtt_ms) / 1e3;
    let marked = 2.0 * mean;
    let q = 1.0 - marked;
    let m = q + (q * q + 2.0 * q).sqrt();
    let law = (1.22 / square.sqrt() / (r + 0.015)) / (m / marked / (r + 0.0005));
    // What is not waiting: half a round trip, and a packet's time on the line.
    let alone = r / 2.0 + 0.012 / f64::from(rate);
    (
        of_group("classic", "goodput_bps") / of_group("scalable", "goodput_bps"),
        law,
        of_group("scalable", "delay_p99_s") - alone,
    )
}

/// The classic queue is signalled with p' squared, the other with 2 p', so the laws of the senders give the ratio of rates. For
/// a scalable sender of exactly 2 / p it would be 1.22 (R + wait of L) / (R + 15 ms): 0.83, 0.95 and 1.07 at 30, 50 and 100 ms;
/// Prague takes more, 2.73 / p where marks are rare.
#[test]
fn rates_follow_the_laws_of_the_senders_and_l_waits_little() {
    println!("Mb/s  round trip  classic / scalable: ours, by the laws; p99 wait of L");
    for (rate, rtt) in [(40, 30), (40, 50), (40, 100), (100, 50), (100, 100)] {
        let (ours, law, wait) = ten_and_ten(rate, rtt);
        println!("{rate:<5} {rtt:<4} {ours:>6.2} {law:>6.2} {:>8.2} ms", wait * 1e3);
        assert!(
            (ours / law - 1.0).abs() < 0.15,
            "{rate} Mb/s, {rtt} ms: {ours}, by the laws {law}"
        );
        assert!((0.65..1.25).contains(&ours), "nobody is pushed aside: {ours}");
        assert!(wait < 0.004, "{wait}");
    }
}
