//! Traffic in bursts, and the convergence time of a reserved rate, from a scenario to the tables.

use crate::common::*;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::Table;

/// Bursts over a line of 1 Gb/s with a round trip of 100 ms; what is after `traffic` is up to the test.
fn quiet_line(rest: &str) -> String {
    format!(
        r#"
duration = "10.1s"
[topology]
kind = "dumbbell"
rate = "1Gbps"
delay = "50ms"
queue = {{ kind = "droptail", buffer = "unlimited" }}
[flows.web]
tcp = {{ profile = "kantawala-2005" }}
{rest}
"#
    )
}

fn web(text: &str) -> impl Fn(&str) -> f64 + use<> {
    let o = run_text(text);
    move |c| of(&o["groups"], "web", c)
}

/// Three segments: one, its ACK, two, the ACK of the second. Each round trip has 100 ms on the way, 12 us a segment and
/// 0.32 us the ACK. The second burst starts with a window of one again, so that all take the same time.
#[test]
fn a_burst_ends_with_the_ack_of_its_last_byte() {
    let w = web(&quiet_line(
        r#"traffic = { kind = "bursts", size = "3 packets", mean_think = "800ms", distribution = "constant" }"#,
    ));
    let one = 0.2 + 36e-6 + 0.64e-6;
    // The n-th begins after n - 1 bursts and pauses; the tenth ends at 9.2 s, the eleventh would at 10.2 s.
    assert_eq!(w("bursts"), 10.0);
    near(w("burst_time_mean_s"), one, 1e-9);
    near(w("burst_time_max_s"), one, 1e-9);
    near(w("burst_goodput_wire_bps_mean"), 3.0 * 1500.0 * 8.0 / one, 1.0);
    near(
        w("goodput_wire_bps_mean"),
        11.0 * 3.0 * 1500.0 * 8.0 / 10.1,
        2.0 * 1500.0 * 8.0,
    );
}

/// Bursts of 0.2 s and pauses of 3 s: the fourth burst ends at 9.8 s, or, after a pause at the start, the third at 9.6
/// s.
#[test]
fn a_flow_may_begin_with_its_pause() {
    for (first, ended) in [("burst", 4.0), ("pause", 3.0)] {
        let w = web(&quiet_line(&format!(
            r#"
traffic.kind = "bursts"
traffic.size = "3 packets"
traffic.mean_think = "3s"
traffic.distribution = "constant"
traffic.first = "{first}""#
        )));
        assert_eq!(w("bursts"), ended);
        near(w("goodput_wire_bps_mean"), ended * 3.0 * 1500.0 * 8.0 / 10.1, 1.0);
    }
}

/// RFC 5681's restart after the RTO (200 ms and more here) leaves the window open over a pause of 100 ms.
#[test]
fn without_the_profiles_restart_a_short_pause_keeps_the_window() {
    let traffic =
        r#"traffic = { kind = "bursts", size = "3 packets", mean_think = "100ms", distribution = "constant" }"#;
    let kept = quiet_line(traffic).replace("\"kantawala-2005\" }", "\"kantawala-2005\", idle_after = \"10s\" }");
    let w = web(&kept);
    // The first burst takes two round trips, all others one.
    let n = w("bursts");
    near(w("burst_time_mean_s"), (0.2 + (n - 1.0) * 0.1) / n, 1e-4);
}

/// Bytes count payload: 2921 B are three segments of at most 1460 B.
#[test]
fn a_size_in_bytes_counts_payload() {
    for (size, round_trips) in [("2920B", 2.0), ("2921B", 2.0), ("1460B", 1.0)] {
        let w = web(&quiet_line(&format!(
            r#"traffic = {{ kind = "bursts", size = "{size}", mean_think = "1s", distribution = "constant" }}"#
        )));
        near(w("burst_time_mean_s"), 0.1 * round_trips, 1e-4);
    }
}

#[test]
fn the_burst_under_way_at_the_stop_is_the_last() {
    let w = web(&quiet_line(
        "stop = \"2.1s\"\ntraffic = { kind = \"bursts\", size = \"3 packets\", mean_think = \"800ms\", distribution = \
         \"constant\" }",
    ));
    assert_eq!(w("bursts"), 3.0);
}

#[test]
fn bursts_that_end_before_the_measured_time_do_not_count() {
    let text = quiet_line(
        r#"traffic = { kind = "bursts", size = "3 packets", mean_think = "800ms", distribution = "constant" }"#,
    );
    let w = web(&text
        .replace("[flows.web]", "[flows.web]\ncount = 2")
        .replace("duration", "warmup = \"5.1s\"\nduration"));
    // The sixth, begun at 5 s, ends within.
    assert_eq!(w("bursts"), 2.0 * 5.0);
    near(w("burst_time_mean_s"), 0.2, 1e-4);
}

/// A closed loop: with n sources each is either in a burst or in a pause, so n T = bursts (mean time + mean pause). And
/// a full line cannot do better than n S / C a cycle: 20 sources of 384 kB on 20 Mb/s have 3.07 s, of which the pause
/// takes 2 s and leaves 1.07 s (as do 500 sources on 500 Mb/s). With 60 sources the line is
/// full all the time, and the bound is met.
#[test]
fn burst_times_keep_to_the_law_of_the_closed_loop() {
    for (n, full) in [(20.0, false), (60.0, true)] {
        let text = format!(
            r#"
duration = "300s"
[topology]
kind = "dumbbell"
rate = "20Mbps"
delay = "10ms"
queue = {{ kind = "droptail", buffer = "unlimited" }}
[flows.web]
count = {n}
traffic = {{ kind = "bursts" }}
tcp = {{ profile = "kantawala-2005" }}
"#
        );
        let o = run_text(&text);
        let (bursts, mean) = (
            of(&o["groups"], "web", "bursts"),
            of(&o["groups"], "web", "burst_time_mean_s"),
        );
        let utilisation = of(&o["links"], "bottleneck", "utilisation");
        // The bursts and pauses under way at the end are not counted: one cycle a source at most.
        near(bursts * (mean + 2.0), n * 300.0, 0.05 * n * 300.0);
        let bound = n * 256.0 * 1500.0 * 8.0 / 20e6 - 2.0;
        assert!(mean > 0.94 * bound, "{mean} beats the bound {bound}");
        if full {
            assert!(utilisation > 0.99, "{utilisation}");
            near(mean, bound, 0.06 * bound);
        }
    }
}

/// 625 packets of 1000 B a second, alone on the line: without the first, the rate is at 90 % just before the tenth of
/// the others, so it leaves the band last at nine gaps; with it, never.
#[test]
fn the_intervals_say_how_soon_a_reserved_rate_is_there() {
    let o = run_text(
        r#"
duration = "3s"
interval = "1s"
[link.bottleneck]
from = "a"
to = "b"
rate = "100Mbps"
delay = "0s"
queue = { kind = "droptail", buffer = "unlimited" }
[flows.target]
transport = "udp"
packet_size = "1000B"
traffic = { kind = "cbr", rate = "5Mbps" }
meter = { kind = "settling", rate = "5Mbps", sides = "below", from = "first", window = "32ms" }
[flows.slow]
start = "500us"
transport = "udp"
packet_size = "1000B"
traffic = { kind = "cbr", rate = "1Mbps" }
"#,
    );
    let t = &o["intervals"];
    assert_eq!(t.rows(), 6);
    // Rows of an interval stand together, groups in order of their names in the file or of the alphabet.
    let mut seen = 0;
    for i in 0..6 {
        let settled = number(t, "settled_s", i);
        if settled.is_nan() {
            continue;
        }
        seen += 1;
        near(settled, 0.0, 1e-9);
        near(number(t, "settled_without_first_s", i), 9.0 * 1.6e-3, 1e-6);
        near(number(t, "settled_sliding_s", i), 0.0, 1e-9);
    }
    assert_eq!(seen, 3);
}

/// A bulk flow sends for 2 s, pauses for 2 s and goes on over the same connection. What its window is then depends on
/// the profile: the initial window (RFC 5681), half of it for each timeout of rest (RFC 2861), or the one it had.
#[test]
fn a_bulk_flow_pauses_and_goes_on() {
    let run = |rest: &str, tcp: &str| {
        run_text(&format!(
            r#"
duration = "6s"
interval = "1s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
delay = "20ms"
queue = {{ kind = "droptail", buffer = "30 packets" }}
[flows.a]
traffic = {{ kind = "bulk", {rest} }}
tcp = {{ profile = "rfc", {tcp} }}
[record.w]
flows = "a"
probes = ["cwnd"]
every = "1ms"
"#
        ))
    };
    let numbers = |t: &Table, column: &str| (0..t.rows()).map(|i| number(t, column, i)).collect::<Vec<f64>>();
    let seconds = |o: &Outcome| numbers(&o["intervals"], "goodput_bps");
    let o = run("turns = [\"2s\", \"2s\"]", "idle_restart = true");
    let by_second = seconds(&o);
    assert_eq!(by_second.len(), 6);
    // What is outstanding at the pause still arrives, within a round trip.
    assert!(by_second[2] < 1e6 && by_second[3] == 0.0, "{by_second:?}");
    assert!(by_second[1] > 8e6 && by_second[5] > 8e6, "{by_second:?}");
    assert_eq!(of(&o["groups"], "a", "flows"), 1.0);
    let window_at = |o: &Outcome, ms: usize| {
        let s = &o["series"];
        let (t, v) = (numbers(s, "time_s"), numbers(s, "value"));
        let i = t
            .iter()
            .position(|t| *t >= ms as f64 / 1000.0 - 1e-9)
            .expect("recorded");
        v[i]
    };
    let before = window_at(&o, 3900);
    assert_eq!(window_at(&o, 4010), 10.0, "the initial window");
    let keeps = run("turns = [\"2s\", \"2s\"]", "idle_restart = false");
    assert_eq!(window_at(&keeps, 4010), before);
    let halves = run("turns = [\"2s\", \"2s\"]", "idle_forgets = \"halves\"");
    let half = window_at(&halves, 4010);
    assert!(half < before && half >= 10.0, "{half} of {before}");
    // A turn that is longer than the run is one without pauses.
    assert!(seconds(&run("turns = [\"10s\"]", "syn = true"))[3] > 8e6);
}

#[test]
fn a_source_of_both_directions_makes_no_pauses() {
    let text = "duration = \"1s\"\n[topology]\nkind = \"dumbbell\"\nrate = \"1Mbps\"\n[flows.a]\ntcp = { connection = \
                \"two-way\" }\ntraffic = { kind = \"bulk\", back = \"0s\", turns = [\"1s\"] }\n";
    let e = tailback_scenario::load_text(text, "a.toml", &[]).expect_err("refused");
    assert!(e.to_string().contains("makes no pauses"), "{e}");
}
