//! Edges of a whole network: what they measure, tell each other, and cannot see.

mod common;

use common::*;
use tailback_engine::results::outcome::Outcome;

/// Two aggregates of five TCP flows with round trips of 20 and 100 ms enter at edges of their own and share 10 Mb/s; edges as told.
fn two_edges(edge: &str, exit: &str) -> Outcome {
    let link = |name: &str, from: &str, to: &str, delay: &str, more: &str| {
        format!(
            "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10Mbps\"\ndelay = \"{delay}\"\nqueue = {{ kind = \"droptail\", buffer = \"60 packets\" }}\nreverse_queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n{more}\n"
        )
    };
    let conditioner = format!("conditioner = {edge}");
    let flows = |name: &str, from: &str| {
        format!(
            "[flows.{name}]\nfrom = \"{from}\"\nto = \"sink\"\nsource_edge = \"{from}\"\ndestination_edge = \"exit\"\ncount = 5\nstart = {{ kind = \"uniform\", to = \"1s\" }}\ntcp = {{ profile = \"ns2\", payload = \"960B\", window_cap = \"64 packets\" }}\n"
        )
    };
    let record = |name: &str| {
        format!(
            "[record.{name}]\nedge = \"{name}\"\nprobes = [\"changed\", \"not_applicable\", \"most_flows\", \"round_trip\", \"least_round_trip\", \"weight\", \"feedback_drop\"]\nevery = \"20s\"\n"
        )
    };
    let parts = [
        "duration = \"20s\"\nseed = 1\n".to_string(),
        link("near-in", "near", "a", "9.8ms", ""),
        link("far-in", "far", "b", "49.8ms", ""),
        link("a-core", "a", "core", "0.1ms", &conditioner),
        link("b-core", "b", "core", "0.1ms", &conditioner),
        link("core-sink", "core", "sink", "0.1ms", exit),
        flows("near", "near"),
        flows("far", "far"),
        record("a-core"),
        record("b-core"),
    ];
    run_text(&parts.concat())
}

fn marker(round_trips: &str) -> String {
    format!("{{ kind = \"rtt-aware\", target = \"2Mbps\", round_trips = \"{round_trips}\" }}")
}

#[test]
fn the_oracle_knows_the_paths_and_edges_tell_the_least() {
    let o = two_edges(&format!("{{ kind = \"edge\", marker = {} }}", marker("oracle")), "");
    let read = |edge: &str, probe: &str| last_of(&o, &format!("edge.{edge}"), probe, 0);
    near(read("a-core", "round_trip"), 0.02, 1e-9);
    near(read("b-core", "round_trip"), 0.1, 1e-9);
    near(read("b-core", "least_round_trip"), 0.02, 1e-9);
    near(read("a-core", "weight"), 1.0, 1e-9);
    near(read("b-core", "weight"), 0.04, 1e-9);
}

/// Above the delays of the paths by what queues add, at most that of 60 packets and the sender's own.
#[test]
fn measured_round_trips_have_the_queues_in_them() {
    let o = two_edges(&format!("{{ kind = \"edge\", marker = {} }}", marker("measured")), "");
    let read = |edge: &str, probe: &str| last_of(&o, &format!("edge.{edge}"), probe, 0);
    for (edge, path) in [("a-core", 0.02), ("b-core", 0.1)] {
        let measured = read(edge, "round_trip");
        assert!(measured > path + 0.005 && measured < path + 0.06, "{edge}: {measured}");
    }
    near(read("b-core", "least_round_trip"), read("a-core", "round_trip"), 0.01);
    let lossy = two_edges(
        &format!(
            "{{ kind = \"edge\", exchange_loss = 1, marker = {} }}",
            marker("measured")
        ),
        "",
    );
    assert_eq!(last_of(&lossy, "edge.b-core", "weight", 0), 1.0, "it hears of no other");
}

/// Windows are seen where ACKs pass, and not where data leave by an edge that ACKs do not come back by; datagrams have none.
#[test]
fn small_windows_need_acks() {
    let stages = "{ kind = \"edge\", marker = { kind = \"tsw3cm\", committed_rate = \"2Mbps\", peak_rate = \"3Mbps\" }, stages = [\"small-window\"] }";
    let o = two_edges(stages, "");
    let read = |edge: &str, probe: &str| last_of(&o, &format!("edge.{edge}"), probe, 1);
    assert_eq!(read("a-core", "not_applicable"), 0.0);
    assert_eq!(read("a-core", "most_flows"), 5.0);
    assert!(read("a-core", "changed") > 100.0);

    // The exit marks what it sends to the core, which are ACKs: none of its business.
    let exit = format!(
        "reverse_conditioner = {stages}\n[record.exit]\nedge = \"core-sink.reverse\"\nprobes = [\"changed\", \"most_flows\"]\nevery = \"20s\""
    );
    let o = two_edges(stages, &exit);
    assert_eq!(last_of(&o, "edge.core-sink.reverse", "changed", 1), 0.0);
    assert_eq!(
        last_of(&o, "edge.core-sink.reverse", "most_flows", 1),
        10.0,
        "their SYN-ACKs"
    );
}

/// Far more red than the core lets through: the entries drop it when the exit tells, and only then.
#[test]
fn feedback_moves_drops_to_the_edge() {
    let edge = |stages: &str| {
        format!(
            "{{ kind = \"edge\", marker = {{ kind = \"tsw3cm\", committed_rate = \"1Mbps\", peak_rate = \"2Mbps\" }}, stages = [{stages}] }}"
        )
    };
    let run = |entry: &str, exit: &str| {
        let o = two_edges(&edge(entry), &format!("reverse_conditioner = {}", edge(exit)));
        let at_edges = lost(&o, "a-core", "profile") + lost(&o, "b-core", "profile");
        (at_edges, lost(&o, "core-sink", "overflow"))
    };
    let (none, entry, both) = (
        run("", "\"feedback\""),
        run("\"feedback\"", ""),
        run("\"feedback\"", "\"feedback\""),
    );
    assert_eq!((none.0, entry.0), (0.0, 0.0), "one of them alone does nothing");
    // A drop-tail core loses all colours alike, in bursts: now and then more than entries bear.
    println!("dropped at the edges and in the core: {none:?}, {both:?}");
    assert!(both.0 > 10.0 && both.1 < none.1, "{none:?}, {both:?}");
}
