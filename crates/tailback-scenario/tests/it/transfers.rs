//! Transfers in closed form: when they were asked for, delivered and acknowledged, and what they would take at least.

use crate::common::*;
use tailback_sim::results::outcome::Outcome;

/// 50 ms each way.
fn scenario(rate: &str, rest: &str) -> String {
    format!(
        "duration = \"10s\"\n[link.line]\nfrom = \"servers\"\nto = \"clients\"\nrate = \"{rate}\"\ndelay = \"50ms\"\n\
         queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n{rest}\n"
    )
}

const TCP: &str = r#"tcp = { delayed_ack = 1, payload = "1460B", initial_window = "10 packets", timestamps = false }"#;

fn column(o: &Outcome, name: &str) -> Vec<f64> {
    let t = &o["transfers"];
    (0..t.rows()).map(|i| number(t, name, i)).collect()
}

/// SYN, SYN-ACK, then a window of ten segments a round trip; the last byte is acknowledged 50 ms after it has arrived.
#[test]
fn a_transfer_has_four_instants() {
    let run = |bytes: &str| {
        let flow = format!("[flows.f]\nstart = \"1s\"\ntraffic = {{ kind = \"transfer\", size = \"{bytes}\" }}\n{TCP}");
        run_text(&scenario("100Gbps", &flow))
    };
    let o = run("14600B");
    assert_eq!(o["transfers"].rows(), 1);
    assert_eq!(text(&o["transfers"], "group", 0), "f");
    for (name, expected) in [
        ("asked_s", 1.0),
        ("first_s", 1.150),
        ("done_s", 1.150),
        ("acked_s", 1.200),
        ("completion_s", 0.150),
        ("acked_completion_s", 0.200),
        ("least_s", 0.150),
        ("slowdown", 1.0),
    ] {
        near(column(&o, name)[0], expected, 1e-4);
    }
    let o = run("29200B");
    near(column(&o, "completion_s")[0], 0.250, 1e-4);
    near(column(&o, "acked_completion_s")[0], 0.300, 1e-4);
    near(column(&o, "slowdown")[0], 250.0 / 150.0, 1e-3);
}

/// The least time of ten segments of 1500 B over 10 Mbit/s, which is the bottleneck although another line is crossed:
/// a round trip of 100 ms, 50 ms, and 12 ms on the line.
#[test]
fn the_least_time_has_the_slowest_line() {
    let flow = format!(
        "[flows.f]\naccess_rate = \"100Mbps\"\ntraffic = {{ kind = \"transfer\", size = [\"14600B\", \"14601B\"] \
         }}\ncount = 2\n\
         start = [\"0s\", \"5s\"]\n{TCP}"
    );
    let o = run_text(&scenario("10Mbps", &flow));
    let least = column(&o, "least_s");
    near(least[0], 0.100 + 0.050 + 15_000.0 * 8.0 / 10e6, 1e-9);
    // A byte more is a segment more: 41 B.
    near(least[1] - least[0], 41.0 * 8.0 / 10e6, 1e-9);
    // It takes longer by what the first segment needs on the faster line.
    let expected = least[0] + (1500.0 + 40.0) * 8.0 / 100e6 + 2.0 * 40.0 * 8.0 / 10e6;
    near(column(&o, "completion_s")[0], expected, 2e-5);
    assert!((1.0..1.01).contains(&column(&o, "slowdown")[0]));
}

/// On kept connections the next response is written before the last is acknowledged: each has the time of its own ACK,
/// which a timer of 20 ms delays.
#[test]
fn a_late_acknowledgement_belongs_to_its_own_transfer() {
    let session =
        "[sessions.x]\nkind = \"requests\"\nrequests = 20\nresponse = { kind = \"constant\", mean = \"1000B\" }\n";
    for connection in ["one-way", "two-way"] {
        let tcp = format!("tcp = {{ delayed_ack = 2, delayed_ack_timeout = \"20ms\", connection = \"{connection}\" }}");
        let o = run_text(&scenario("100Gbps", &format!("{session}{tcp}")));
        let (done, acked) = (column(&o, "done_s"), column(&o, "acked_s"));
        assert_eq!(done.len(), 20);
        // Two-way, the next request carries the acknowledgement.
        let after = if connection == "two-way" { 0.050 } else { 0.070 };
        for i in 1..19 {
            near(acked[i] - done[i], after, 1e-4);
        }
    }
}

/// A request and its response: both their ways and times on the line, and a round trip for each connection.
#[test]
fn the_least_time_of_an_exchange_has_both_ways() {
    let least = |connection: &str, tcp: &str| {
        let session = format!(
            "[sessions.x]\nkind = \"requests\"\nrequests = 3\nresponse = {{ kind = \"constant\", mean = \"1460B\" }}\n\
             connection = \"{connection}\"\n{}",
            TCP.replace("tcp = {", &format!("tcp = {{ connection = \"{tcp}\","))
        );
        let o = run_text(&scenario("1Mbps", &session));
        assert!(column(&o, "slowdown").iter().all(|s| (1.0..1.02).contains(s)));
        column(&o, "least_s")
    };
    let exchange = 0.100 + (350.0 + 40.0 + 1500.0) * 8.0 / 1e6;
    for (tcp, handshakes) in [("one-way", 2.0), ("two-way", 1.0)] {
        let anew = exchange + handshakes * 0.100;
        for (kept, new) in least("keep", tcp).into_iter().zip(least("new", tcp)).skip(1) {
            near(kept, exchange, 1e-9);
            near(new, anew, 1e-9);
        }
        near(least("keep", tcp)[0], anew, 1e-9);
    }
}

/// The sources of the REAL simulator have no handshake and number packets, not bytes.
#[test]
fn transfers_over_other_transports_are_acknowledged_too() {
    let flow = "[flows.f]\ntransport = \"jacobson-karels\"\ntraffic = { kind = \"transfer\", size = \"1000B\" }\n";
    let o = run_text(&scenario("100Gbps", flow));
    near(column(&o, "done_s")[0], 0.050, 1e-4);
    near(column(&o, "acked_s")[0], 0.100, 1e-4);
    near(column(&o, "slowdown")[0], 1.0, 1e-3);
}

/// What is under way at the end has a row without the instants that did not come.
#[test]
fn an_unfinished_transfer_has_no_later_instants() {
    let flow = format!("[flows.f]\nstart = \"9900ms\"\ntraffic = {{ kind = \"transfer\", size = \"1kB\" }}\n{TCP}");
    let o = run_text(&scenario("100Gbps", &flow));
    near(column(&o, "asked_s")[0], 9.9, 1e-9);
    for name in [
        "first_s",
        "done_s",
        "acked_s",
        "completion_s",
        "acked_completion_s",
        "slowdown",
    ] {
        assert!(column(&o, name)[0].is_nan(), "{name}");
    }
    near(column(&o, "least_s")[0], 0.150, 1e-4);
}

/// Completion times by class of sizes: counts, exact quantiles, and what was not finished beside them.
#[test]
fn completions_are_told_by_size() {
    // Ten of a segment (0.15 s), ten of two windows (0.25 s), one that never ends.
    let at: Vec<String> = (0..21).map(|i| format!("{}ms", 100 * i)).collect();
    let sizes = [&["1000B"; 10][..], &["29200B"; 10], &["1GB"]].concat();
    let session = format!("[sessions.x]\nkind = \"schedule\"\nat = {at:?}\nsizes = {sizes:?}\n{TCP}");
    let o = run_text(&scenario("100Mbps", &session));
    let t = &o["completions"];
    let rows: Vec<[String; 3]> = (0..t.rows())
        .map(|i| ["group", "what", "sizes"].map(|c| text(t, c, i)))
        .collect();
    let sizes: Vec<&str> = rows.iter().map(|r| &*r[2]).collect();
    assert_eq!(sizes, ["all", "to 1 kB", "to 100 kB", "over 10 MB"]);
    assert!(rows.iter().all(|r| r[0] == "x" && r[1] == "transfers"));
    let cell = |c: &str| (0..4).map(|i| number(t, c, i)).collect::<Vec<f64>>();
    assert_eq!(cell("count"), [21.0, 10.0, 10.0, 1.0]);
    assert_eq!(cell("unfinished"), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(cell("bytes_mean")[1..], [1000.0, 29_200.0, 1e9]);
    // The times themselves, from the table of transfers.
    let of_size = |bytes: f64| {
        let all = column(&o, "bytes").into_iter().zip(column(&o, "completion_s"));
        let mut times: Vec<f64> = all.filter(|x| x.0 == bytes).map(|x| x.1).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    for (class, bytes) in [(1, 1000.0), (2, 29_200.0)] {
        let times = of_size(bytes);
        near(
            cell("completion_mean_s")[class],
            times.iter().sum::<f64>() / 10.0,
            1e-12,
        );
        near(cell("completion_p50_s")[class], (times[4] + times[5]) / 2.0, 1e-12);
        near(
            cell("completion_p95_s")[class],
            times[8] + 0.55 * (times[9] - times[8]),
            1e-12,
        );
        near(cell("completion_max_s")[class], times[9], 1e-12);
    }
    near(cell("completion_p50_s")[1], 0.150, 1e-3);
    near(cell("acked_completion_mean_s")[1], 0.200, 1e-3);
    near(cell("slowdown_p50")[1], 1.0, 0.01);
    assert!(cell("completion_p50_s")[3].is_nan());
}
