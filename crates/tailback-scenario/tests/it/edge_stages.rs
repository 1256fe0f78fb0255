//! Edges of a whole network: what they measure, tell each other, and cannot see.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::Table;
use tailback_sim::run::run;

/// Two aggregates of five TCP flows with round trips of 20 and 100 ms enter at edges of their own and share 10 Mb/s;
/// edges as told.
fn two_edges(edge: &str, exit: &str) -> Outcome {
    run_text(&of_two_edges(edge, exit))
}

fn of_two_edges(edge: &str, exit: &str) -> String {
    let link = |name: &str, from: &str, to: &str, delay: &str, more: &str| {
        format!(
            "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10Mbps\"\ndelay = \"{delay}\"\nqueue = {{ kind \
             = \"droptail\", buffer = \"60 packets\" }}\nreverse_queue = {{ kind = \"droptail\", buffer = \
             \"unlimited\" }}\n{more}\n"
        )
    };
    let conditioner = format!("conditioner = {edge}");
    let flows = |name: &str, from: &str| {
        format!(
            "[flows.{name}]\nfrom = \"{from}\"\nto = \"sink\"\nsource_edge = \"{from}\"\ndestination_edge = \
             \"exit\"\ncount = 5\nstart = {{ kind = \"uniform\", to = \"1s\" }}\ntcp = {{ profile = \"ns2\", payload \
             = \"960B\", window_cap = \"64 packets\" }}\n"
        )
    };
    let record = |name: &str| {
        format!(
            "[record.{name}]\nedge = \"{name}\"\nprobes = [\"changed\", \"not_applicable\", \"most_flows\", \
             \"round_trip\", \"least_round_trip\", \"weight\", \"feedback_drop\"]\nevery = \"20s\"\n"
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
    parts.concat()
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

/// Windows are seen where ACKs pass, and not where data leave by an edge that ACKs do not come back by; datagrams have
/// none.
#[test]
fn small_windows_need_acks() {
    let stages = "{ kind = \"edge\", marker = { kind = \"tsw3cm\", committed_rate = \"2Mbps\", peak_rate = \"3Mbps\" \
                  }, stages = [\"small-window\"] }";
    let o = two_edges(stages, "");
    let read = |edge: &str, probe: &str| last_of(&o, &format!("edge.{edge}"), probe, 1);
    assert_eq!(read("a-core", "not_applicable"), 0.0);
    assert_eq!(read("a-core", "most_flows"), 5.0);
    assert!(read("a-core", "changed") > 100.0);

    // The exit marks what it sends to the core, which are ACKs: none of its business.
    let exit = format!(
        "reverse_conditioner = {stages}\n[record.exit]\nedge = \"core-sink.reverse\"\nprobes = [\"changed\", \
         \"most_flows\"]\nevery = \"20s\""
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
            "{{ kind = \"edge\", marker = {{ kind = \"tsw3cm\", committed_rate = \"1Mbps\", peak_rate = \"2Mbps\" }}, \
             stages = [{stages}] }}"
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

/// Clients of two servers behind an edge, a page of one object after the other; each page draws its server where
/// `servers` are given.
fn pages(servers: &str) -> Outcome {
    let link = |name: &str, from: &str, to: &str, more: &str| {
        format!(
            "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = {{ kind = \
             \"droptail\", buffer = \"unlimited\" }}\nreverse_queue = {{ kind = \"droptail\", buffer = \"unlimited\" \
             }}\n{more}\n"
        )
    };
    let marker = "{ kind = \"tsw3cm\", committed_rate = \"2Mbps\", peak_rate = \"3Mbps\", per = \"aggregate\" }";
    let parts = [
        "duration = \"60s\"\nseed = 1\nend = \"sessions\"\n".to_string(),
        link("one", "s1", "core", ""),
        link("two", "s2", "core", ""),
        link(
            "down",
            "core",
            "reader",
            &format!("conditioner = {{ kind = \"edge\", marker = {marker} }}"),
        ),
        format!(
            "[sessions.pages]\nkind = \"web\"\npreset = \"ns2-small\"\nfrom = \"s1\"\nto = \"reader\"\nclients = \
             20\npages = 10\n{servers}\n"
        ),
        "[record.down]\nedge = \"down\"\nprobes = [\"packets\", \"aggregate_asked\", \"aggregate_marked\"]\nevery = \
         \"1s\"\n"
            .to_string(),
    ];
    run_text(&parts.concat())
}

/// Half of the pages come from each server; what a server sends is its own aggregate, on its own link.
#[test]
fn pages_draw_their_servers_and_each_has_an_aggregate() {
    let both = pages("page_servers = [\"s1\", \"s2\"]");
    let (links, transfers) = (&both["links"], &both["transfers"]);
    assert_eq!(transfers.rows(), 200);
    let sent = |name: &str| of(links, name, "delivered_packets");
    let share = sent("one") / (sent("one") + sent("two"));
    assert!((0.3..0.7).contains(&share), "{share}");
    let of_aggregate =
        |probe: &str, a: u32| -> f64 { (0..3).map(|c| last_of(&both, "edge.down", probe, 3 * a + c)).sum() };
    // What is counted at the edge are data and SYNs of responses; ACKs of requests are not metered.
    assert!(of_aggregate("aggregate_asked", 0) > 100.0 && of_aggregate("aggregate_asked", 1) > 100.0);
    for a in 0..2 {
        assert_eq!(of_aggregate("aggregate_asked", a), of_aggregate("aggregate_marked", a));
    }
    let one = pages("");
    assert_eq!(of(&one["links"], "two", "delivered_packets"), 0.0);
}

/// Typists whose writes are transfers: each row is a write, delivered when its packet is. Nothing else changes.
#[test]
fn writes_of_typists_have_rows_if_asked() {
    let typists = |more: &str| {
        run_text(&format!(
            "duration = \"30s\"\nseed = 1\ntopology = {{ kind = \"dumbbell\", rate = \"1Mbps\", delay = \"20ms\", \
             queue = {{ kind = \"droptail\", buffer = \"100 packets\" }} }}\n[flows.typists]\ncount = 3\ntraffic = {{ \
             kind = \"telnet\"{more} }}\npacket_size = \"960B\"\ntransport = \"tcp\"\ntcp = {{ profile = \"ns2\", \
             payload = \"960B\" }}\n"
        ))
    };
    let (plain, rows) = (typists(""), typists(", transfers = true"));
    assert_eq!(plain["transfers"].rows(), 0);
    let t = &rows["transfers"];
    let flows = |o: &Outcome, column: &str| -> f64 {
        let t = &o["flows"];
        (0..3).map(|i| number(t, column, i)).sum()
    };
    assert!(t.rows() > 30);
    assert_eq!(flows(&plain, "received_packets"), flows(&rows, "received_packets"));
    let delivered = (0..t.rows()).filter(|i| !number(t, "done_s", *i).is_nan()).count();
    // 20 ms and 8 ms on the line at least; a first write waits for the connection too.
    let least = (0..t.rows())
        .map(|i| number(t, "completion_s", i))
        .fold(f64::INFINITY, f64::min);
    near(least, 0.028, 0.003);
    let payload = flows(&rows, "goodput_bps") * 30.0 / 8.0 / 960.0;
    near(delivered as f64, payload, 0.5);
}

/// Senders that are told of red packets slow down without a loss: fewer of their packets are dropped.
#[test]
fn senders_that_are_told_of_marks_lose_less() {
    let with = |stages: &str| {
        let marker = "{ kind = \"tsw3cm\", committed_rate = \"2Mbps\", peak_rate = \"3Mbps\" }";
        let o = two_edges(
            &format!("{{ kind = \"edge\", marker = {marker}, stages = {stages} }}"),
            "",
        );
        let sum = |column: &str| ["near", "far"].iter().map(|g| of(&o["groups"], g, column)).sum::<f64>();
        (sum("dropped_packets"), sum("goodput_bps_sum"))
    };
    let ((plain, all), (told, less)) = (with("[]"), with("[\"tell-sender\"]"));
    assert!(told * 4.0 < plain, "{told} of {plain} drops");
    // About the peak rates of both aggregates.
    assert!(less > 4e6 && less < all, "{less} of {all} bit/s");
}

/// What an edge asks of senders is the same when every packet-hop is an event.
#[test]
fn requests_of_an_edge_do_not_depend_on_running_ahead() {
    let edge = "{ kind = \"edge\", marker = { kind = \"tsw3cm\", committed_rate = \"2Mbps\", peak_rate = \"3Mbps\" }, \
                stages = [\"tell-sender\"] }";
    let loaded = load_text(&of_two_edges(edge, ""), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let tables = |one_by_one: bool| {
        let hooks = Hooks {
            one_by_one,
            ..Hooks::default()
        };
        let o = run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
        let columns = |t: &Table| {
            t.columns
                .iter()
                .map(|c| format!("{} {:?}", c.name, c.data))
                .collect::<String>()
        };
        (
            o.tables.iter().map(columns).collect::<Vec<String>>(),
            o.engine.handed_ahead,
        )
    };
    let ((as_it_is, ahead), (one_by_one, left_ahead)) = (tables(false), tables(true));
    assert!(ahead > 0 && left_ahead == 0, "{ahead} hops ahead");
    assert!(as_it_is == one_by_one);
}
