//! LEDBAT++ over whole paths: rows of a packet-level calculation that shares no code with it, at 20 Mb/s without
//! losses, and its share beside CUBIC.

use crate::common::*;
use crate::cycles::series;
use tailback_sim::results::outcome::Outcome;

const TARGET: f64 = 0.060;
/// A segment of 1500 B at 20 Mb/s.
const PACKET: f64 = 0.0006;

fn run_flows(delay_ms: f64, queue: &str, flows: &str) -> Outcome {
    run_text(&format!(
        "duration = \"120s\"\nwarmup = \"20s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"20Mbps\"\ndelay = \
         \"{delay_ms}ms\"\nqueue = {{ kind = \"droptail\", buffer = \"{queue} packets\" }}\n{flows}"
    ))
}

/// How long a slowdown takes: two round trips with a queue at the target, to the next ACK of the two segments that are
/// out, and then G segments for each ACK of whole segments of the window, until it is what it was.
fn slowdown(base: f64) -> f64 {
    let gain = 1.0 / (2.0 * TARGET / base).ceil().clamp(1.0, 16.0);
    let full = (base + TARGET) / PACKET;
    let mut time = base + TARGET;
    time += ((base + TARGET) / base).ceil() * base;
    let mut window = 2.0_f64;
    while window < full {
        let sent = (window + 1e-9).floor();
        let round = base.max(sent * PACKET);
        let grows = (gain * sent).min(full - window);
        time += round * grows / (gain * sent);
        window += grows;
    }
    time
}

/// Goodput, mean and 99th percentile of the queue's delay, to 5 %; and the slowdown. The calculation sends a segment as
/// soon as a part of it fits in the window, this sender when it fits whole; so the slowdown is compared with the
/// recursion above to 3 %, and with the calculation to 8 %.
#[test]
fn alone_it_does_what_a_calculation_does() {
    for (ms, goodput, mean, p99, slow) in [
        (8.0, 19.67, 56.8, 60.4, 1.2),
        (20.0, 19.28, 57.5, 60.4, 0.88),
        (40.0, 18.92, 58.0, 60.2, 0.89),
        (100.0, 18.50, 58.5, 60.2, 1.60),
    ] {
        let o = run_flows(
            ms / 2.0,
            "100000",
            "[flows.f]\nfrom = \"a\"\nto = \"b\"\ntcp = { delayed_ack = 1, congestion = \"ledbat-plus-plus\" }\n\
             [record.r]\nflows = \"f\"\nprobes = [\"slowdown\"]\non_change = true\n",
        );
        let link = |column| of(&o["links"], "path", column);
        let found = (
            link("utilisation") * 20.0,
            link("sojourn_mean_s") * 1e3,
            link("sojourn_p99_s") * 1e3,
        );
        let steps = series(&o, "slowdown");
        let begins: Vec<f64> = steps.iter().filter(|s| s.1 == 1.0).map(|s| s.0).collect();
        let lasts: Vec<f64> = steps
            .windows(2)
            .filter(|w| w[0].1 == 1.0)
            .map(|w| w[1].0 - w[0].0)
            .collect();
        let (last, period) = (
            lasts[lasts.len() - 2],
            begins[begins.len() - 1] - begins[begins.len() - 2],
        );
        let closed = slowdown(ms / 1e3 + PACKET);
        println!(
            "{ms} ms: {:.2} Mb/s ({goodput}), queue {:.1} ms ({mean}), p99 {:.1} ({p99}), slowdown {last:.3} s \
             ({slow}; {closed:.3} in whole segments), every {period:.2} s",
            found.0, found.1, found.2
        );
        near(found.0 / goodput, 1.0, 0.05);
        near(found.1 / mean, 1.0, 0.05);
        near(found.2 / p99, 1.0, 0.05);
        near(last / closed, 1.0, 0.03);
        near(last / slow, 1.0, 0.08);
        near(period / last, 10.0, 0.1);
    }
}

/// Where the buffer is well above the target it gives way: at most a tenth of the line beside CUBIC at four products.
/// Below the target only losses stop it, and it is a Reno with a third of the growth.
#[test]
fn beside_cubic_it_gives_way_where_the_buffer_is_above_its_target() {
    let flow = |name, control| {
        format!(
            "[flows.{name}]\nfrom = \"a\"\nto = \"b\"\ntcp = {{ profile = \"linux\", ecn = \"off\", congestion = \
             \"{control}\" }}\n"
        )
    };
    let share = |buffer| {
        let o = run_flows(20.0, buffer, &(flow("b", "ledbat-plus-plus") + &flow("c", "cubic")));
        let rate = |flow| number(&o["flows"], "goodput_bps", flow);
        rate(0) / (rate(0) + rate(1))
    };
    let (deep, shallow) = (share("267"), share("33"));
    println!("share beside CUBIC: {deep:.3} at four products, {shallow:.3} at half of one");
    assert!(deep <= 0.1);
    assert!((0.15..0.45).contains(&shallow));
}
