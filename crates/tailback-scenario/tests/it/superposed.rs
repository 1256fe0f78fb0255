//! `superposed = true`: the law of flows with Poisson processes of their own, by other draws.

use crate::common::*;
use tailback_sim::results::outcome::Outcome;

/// A line that loses nothing, and what the flows are.
fn arrivals(duration: &str, flows: &str) -> Outcome {
    run_text(&format!(
        r#"
duration = "{duration}"
[link.bottleneck]
from = "a"
to = "b"
rate = "100Gbps"
delay = "0s"
queue = {{ kind = "droptail", buffer = "unlimited" }}
{flows}
"#
    ))
}

/// How many datagrams each flow of the group sent.
fn sent(o: &Outcome) -> Vec<f64> {
    o["flows"].reals("sent_packets").unwrap()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Variance by mean of counts: 1 for Poisson processes.
fn dispersion(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|n| (n - m).powi(2)).sum::<f64>() / (x.len() - 1) as f64 / m
}

/// Each flow of a superposed group is a Poisson process of its own rate, independent of the others: counts have the
/// mean and the dispersion of flows by themselves. 2,000 flows of 100 packets each: the standard error of the mean is
/// 0.22, that of the dispersion sqrt(2 / 1999) = 0.032; both are held to four of these.
#[test]
fn each_flow_has_the_counts_of_a_process_of_its_own() {
    let group = |superposed: bool| {
        format!(
            r#"
[flows.f]
count = 2000
transport = "udp"
packet_size = "1250B"
traffic = {{ kind = "poisson", rate = "1Mbps", superposed = {superposed} }}
"#
        )
    };
    for superposed in [false, true] {
        let n = sent(&arrivals("1s", &group(superposed)));
        assert_eq!(n.len(), 2000);
        assert!((mean(&n) - 100.0).abs() < 0.9, "{superposed}: mean {}", mean(&n));
        assert!((dispersion(&n) - 1.0).abs() < 0.13, "{superposed}: {}", dispersion(&n));
    }
}

/// Flows take unequal rates in turn: 1, 2 and 5 Mb/s. Of 1,000 flows each, 100, 200 and 500 packets.
#[test]
fn unequal_rates_are_kept_flow_by_flow() {
    let n = sent(&arrivals(
        "1s",
        r#"
[flows.f]
count = 3000
transport = "udp"
packet_size = "1250B"
traffic = { kind = "poisson", rate = ["1Mbps", "2Mbps", "5Mbps"], superposed = true }
"#,
    ));
    for (turn, expected) in [(0, 100.0), (1, 200.0), (2, 500.0_f64)] {
        let of: Vec<f64> = n.iter().copied().skip(turn).step_by(3).collect();
        assert!(
            (mean(&of) - expected).abs() < 4.0 * (expected / 1000.0).sqrt(),
            "{}",
            mean(&of)
        );
        assert!((dispersion(&of) - 1.0).abs() < 0.18, "{expected}: {}", dispersion(&of));
    }
}

/// A flow sends from its start to its stop and never else, also when all have stopped before others start: the second
/// half begins at 0.6 s, after all of the first have stopped at 0.5 s.
#[test]
fn flows_join_and_leave() {
    let o = arrivals(
        "1s",
        r#"
[flows.f]
count = 1000
transport = "udp"
packet_size = "1250B"
traffic = { kind = "poisson", rate = "1Mbps", superposed = true }
start = { kind = "at", times = ["0s", "600ms"] }
stop = { kind = "at", times = ["500ms", "900ms"] }
"#,
    );
    let n = sent(&o);
    for (turn, expected) in [(0, 50.0), (1, 30.0_f64)] {
        let of: Vec<f64> = n.iter().copied().skip(turn).step_by(2).collect();
        assert!(
            (mean(&of) - expected).abs() < 4.0 * (expected / 500.0).sqrt(),
            "{}",
            mean(&of)
        );
        assert!((dispersion(&of) - 1.0).abs() < 0.26, "{}", dispersion(&of));
    }
}

/// A group of one flow, and one whose flows have all stopped for good.
#[test]
fn the_smallest_groups() {
    let one = |stop: &str| {
        let text = format!(
            r#"
[flows.f]
transport = "udp"
packet_size = "1250B"
{stop}
traffic = {{ kind = "poisson", rate = "10Mbps", superposed = true }}
"#
        );
        sent(&arrivals("4s", &text))[0]
    };
    assert!((one("") - 4000.0).abs() < 4.0 * 4000.0_f64.sqrt());
    assert!((one("stop = \"1s\"") - 1000.0).abs() < 4.0 * 1000.0_f64.sqrt());
}

/// Writes to connections of which each belongs to one flow: a connection delivers what was written to it.
#[test]
fn connections_are_written_to_in_turn() {
    let o = arrivals(
        "4s",
        r#"
[flows.f]
count = 50
traffic = { kind = "poisson", rate = "1Mbps", superposed = true }
packet_size = "1250B"
rtt = "10ms"
"#,
    );
    let goodput = o["flows"].reals("goodput_bps").unwrap();
    let all: f64 = goodput.iter().sum();
    assert!((all / 50e6 - 1.0).abs() < 0.05, "{all}");
    assert!(goodput.iter().all(|g| (0.7e6..1.3e6).contains(g)), "{goodput:?}");
}
