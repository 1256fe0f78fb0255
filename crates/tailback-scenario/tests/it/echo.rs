//! Datagrams that are answered: round trips to the nanosecond, losses on either way, what is under way at the end,
//! flows that stop, and the rows of their probes.

use crate::common::*;
use tailback_base::Duration;
use tailback_scenario::load_text;
use tailback_sim::results::outcome::Outcome;

/// A packet of 200 B each 20 ms.
const PING: &str = "traffic = { kind = \"cbr\", rate = \"80kbps\" }\npacket_size = \"200B\"";
const ECHO: &str = "transport = { kind = \"udp\", echo = true }";
/// 0.16 ms for 200 B.
const LINE: &str = "rate = \"10Mbps\"\ndelay = \"20ms\"";

fn scenario(top: &str, line: &str, flows: &str) -> String {
    format!(
        "{top}\n[link.line]\nfrom = \"a\"\nto = \"b\"\n{line}\nqueue = {{ kind = \"droptail\", buffer = \"unlimited\" \
         }}\n[flows.f]\n{flows}\n"
    )
}

fn ping(top: &str, line: &str, more: &str) -> Outcome {
    run_text(&scenario(top, line, &format!("{ECHO}\n{PING}\n{more}")))
}

/// Time and value of each row of a probe.
fn rows(o: &Outcome, what: &str, probe: &str) -> Vec<(f64, f64)> {
    let t = &o["series"];
    let here = |i: &usize| text(t, "what", *i) == what && text(t, "probe", *i) == probe;
    let row = |i| (number(t, "time_s", i), number(t, "value", i));
    (0..t.rows()).filter(here).map(row).collect()
}

/// Nanoseconds as a table has them.
fn seconds(ns: u64) -> f64 {
    Duration(ns).seconds()
}

fn datagrams(o: &Outcome, column: &str) -> f64 {
    of(&o["datagrams"], "f.0", column)
}

/// Twice 20 ms on the way and 0.16 ms on the line.
#[test]
fn a_round_trip_over_an_empty_line_is_exact() {
    let probes = "[record.r]\nflows = \"f\"\nprobes = [\"round_trip\", \"delay\", \"goodput\"]\non_change = true\n\
                  [record.b]\nflows = \"f.reverse\"\nprobes = [\"delay\"]\non_change = true";
    let o = ping("duration = \"10.01s\"", LINE, probes);
    let trips = rows(&o, "flows.f.0", "round_trip");
    // Sent at 0, 20, ... 10000 ms; the last three are not back before the end.
    assert_eq!(trips.len(), 501 - 2);
    for (n, (time, value)) in trips.iter().enumerate() {
        let sent = 20_000_000 * n as u64;
        assert_eq!((*time, *value), (seconds(sent + 40_320_000), seconds(40_320_000)));
    }
    let there = rows(&o, "flows.f.0", "delay");
    let back = rows(&o, "flows.f.0.reverse", "delay");
    assert_eq!((there.len(), back.len()), (500, 499));
    assert!(
        there
            .iter()
            .chain(&back)
            .all(|(_, value)| *value == seconds(20_160_000))
    );
    assert_eq!(there[7].0, seconds(140_000_000 + 20_160_000));
    // A row for each datagram, after that of the beginning.
    assert_eq!(rows(&o, "flows.f.0", "goodput").len(), 501);
    for c in ["rtt_mean_s", "rtt_max_s"] {
        near(datagrams(&o, c), 0.040_32, 1e-15);
    }
    for c in ["rtt_p50_s", "rtt_p95_s", "rtt_p99_s"] {
        near(datagrams(&o, c), 0.040_32, 0.03 * 0.040_32);
    }
    assert_eq!(
        (datagrams(&o, "answered_packets"), datagrams(&o, "lost_answers_packets")),
        (499.0, 0.0)
    );
    assert_eq!(
        (datagrams(&o, "sent_packets"), datagrams(&o, "received_packets")),
        (501.0, 500.0)
    );
    assert!(datagrams(&o, "late_packets") == 0.0 && datagrams(&o, "late_rate").is_nan());
    // What goes back is what the destination sends.
    let flow = |c: &str| of(&o["flows"], "f.0", c);
    assert_eq!(
        (flow("reverse_sent_packets"), flow("reverse_received_packets")),
        (500.0, 499.0)
    );
    near(flow("reverse_delay_mean_s"), 0.020_16, 1e-12);
}

/// A state of 1000 B for an input of 200 B: 0.8 ms on the line back. A value that is sampled is that of the last
/// arrival.
#[test]
fn answers_may_have_a_size_of_their_own() {
    let flows = format!(
        "transport = {{ kind = \"udp\", echo = true, echo_size = \"1000B\" }}\n{PING}\n\
                         [record.r]\nflows = \"f\"\nprobes = [\"round_trip\"]\nevery = \"15ms\""
    );
    let o = run_text(&scenario("duration = \"1s\"", LINE, &flows));
    near(datagrams(&o, "rtt_max_s"), 0.040_96, 1e-15);
    let back = |c: &str| of(&o["links"], "line.reverse", c);
    near(back("throughput_bps"), 8000.0 * back("delivered_packets"), 1e-6);
    let sampled = rows(&o, "flows.f.0", "round_trip");
    assert_eq!(sampled.len(), 67);
    assert!(sampled.iter().all(|(time, value)| if *time < 0.0409 {
        value.is_nan()
    } else {
        *value == 0.040_96
    }));
}

/// Without a queue on the way there, one that fills on the way back is seen in full; older than two seconds, too.
#[test]
fn the_queue_of_the_way_back_counts() {
    for (kbps, buffer) in [(64, 100), (8, 20)] {
        let line = format!(
            "{LINE}\nreverse_rate = \"{kbps}kbps\"\nreverse_queue = {{ kind = \"droptail\", buffer = \
                            \"{buffer} packets\" }}"
        );
        let o = ping("duration = \"100s\"", &line, "");
        let service = 1600.0 / (1e3 * f64::from(kbps));
        // It waits for a full buffer and for what is on the line, up to an arrival gap.
        let most = f64::from(buffer + 1) * service + 0.040_16;
        let max = datagrams(&o, "rtt_max_s");
        assert!(max <= most + 1e-9 && max > most - service, "{max} of {most}");
        assert!(datagrams(&o, "lost_answers_packets") > 100.0);
        assert_eq!(datagrams(&o, "lost_packets"), 0.0);
    }
}

/// Of the datagrams 2 and 3 none arrives, of 5 and of those behind 3 places further the answer is lost.
#[test]
fn losses_there_and_back_are_counted_apart() {
    let harm = "impair = [{ kind = \"by-index\", indices = [2, 3] }]\n\
                reverse_impair = [{ kind = \"by-index\", indices = [3, 6, 7] }]";
    let probes = "[record.r]\nflows = \"f\"\nprobes = [\"round_trip\", \"delay\"]\non_change = true";
    let o = ping("duration = \"999ms\"", &format!("{LINE}\n{harm}"), probes);
    assert_eq!(
        (datagrams(&o, "sent_packets"), datagrams(&o, "lost_packets")),
        (50.0, 2.0)
    );
    assert_eq!(
        (datagrams(&o, "lost_answers_packets"), datagrams(&o, "loss_runs")),
        (3.0, 1.0)
    );
    near(
        datagrams(&o, "loss_rate"),
        2.0 / (2.0 + datagrams(&o, "received_packets")),
        1e-15,
    );
    // The datagrams at 960 and 980 ms are under way, and the answer to that of 960 has not left.
    assert_eq!(
        (datagrams(&o, "received_packets"), datagrams(&o, "answered_packets")),
        (47.0, 43.0)
    );
    assert_eq!(rows(&o, "flows.f.0", "delay").len(), 47);
    assert_eq!(rows(&o, "flows.f.0", "round_trip").len(), 43);
    assert_eq!(of(&o["flows"], "f.0", "reverse_dropped_packets"), 3.0);
}

/// Each copy of a datagram is answered; the first answer counts.
#[test]
fn copies_are_answered_and_counted_once() {
    let twice = "impair = [{ kind = \"duplicate\", probability = 1 }]";
    let probes = "[record.r]\nflows = \"f\"\nprobes = [\"round_trip\"]\non_change = true";
    let o = ping("duration = \"1.019s\"", &format!("{LINE}\n{twice}"), probes);
    assert_eq!(
        (datagrams(&o, "received_packets"), datagrams(&o, "copies")),
        (50.0, 50.0)
    );
    assert_eq!(datagrams(&o, "answered_packets"), 49.0);
    assert_eq!(rows(&o, "flows.f.0", "round_trip").len(), 98);
    near(datagrams(&o, "rtt_max_s"), 0.040_32, 1e-15);
}

/// Datagrams in flight when their flow stops arrive, and their answers are heard; so does a call's last word.
#[test]
fn what_is_in_flight_when_a_flow_stops_arrives() {
    let o = ping("duration = \"10s\"", LINE, "start = \"2s\"\nstop = \"2990ms\"");
    for c in ["sent_packets", "received_packets", "answered_packets"] {
        assert_eq!(datagrams(&o, c), 50.0, "{c}");
    }
    let call = "traffic = \"voice\"\nstart = \"2s\"\nstop = \"3s\"";
    let o = run_text(&scenario("duration = \"10s\"", LINE, call));
    assert_eq!(
        (datagrams(&o, "sent_packets"), datagrams(&o, "received_packets")),
        (50.0, 50.0)
    );
    assert!(datagrams(&o, "answered_packets").is_nan() && datagrams(&o, "rtt_p99_s").is_nan());
}

/// Of a call that is answered, as of any source; its deadline is for the way there.
#[test]
fn a_call_can_be_answered() {
    let call = format!("{ECHO}\ntraffic = {{ kind = \"voice\" }}");
    let o = run_text(&scenario("duration = \"10s\"\nwarmup = \"1s\"", LINE, &call));
    near(datagrams(&o, "rtt_mean_s"), 0.040_32, 1e-9);
    assert_eq!(
        (datagrams(&o, "late_rate"), datagrams(&o, "sent_packets")),
        (0.0, 450.0)
    );
}

#[test]
fn what_has_no_answers_says_so() {
    let refused = |flows: &str| {
        let text = scenario("duration = \"1s\"", LINE, flows);
        match load_text(&text, "test.toml", &[]) {
            Ok(_) => panic!("{flows} is read"),
            Err(e) => e.to_string(),
        }
    };
    let record = |transport: &str, what: &str, probe: &str| {
        refused(&format!(
            "{transport}\n[record.r]\nflows = \"{what}\"\nprobes = [\"{probe}\"]\non_change = true"
        ))
    };
    let plain = format!("transport = \"udp\"\n{PING}");
    let echo = format!("{ECHO}\n{PING}");
    let cases = [
        (
            record(&plain, "f", "round_trip"),
            "the datagrams of flows.f are not answered",
        ),
        (
            record(&plain, "f.reverse", "delay"),
            "the datagrams of flows.f are not answered",
        ),
        (
            record(&echo, "f.reverse", "round_trip"),
            "a round trip is measured where it ends, at the source",
        ),
        (
            record("tcp = {}", "f", "delay"),
            "the transport \"tcp\" has no probe \"delay\"",
        ),
        (
            refused(&format!(
                "transport = {{ kind = \"udp\", echo_size = \"1kB\" }}\n{PING}"
            )),
            "answers of 1000B are asked for, and nothing is answered",
        ),
        (
            refused(&format!(
                "udp = {{ echo = true, header = \"28B\", echo_size = \"28B\" }}\n{PING}"
            )),
            "an answer of 28B is no more than its header of 28B",
        ),
    ];
    for (said, expected) in cases {
        assert!(said.contains(expected), "{said}");
    }
}
