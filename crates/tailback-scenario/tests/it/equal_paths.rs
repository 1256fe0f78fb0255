//! Equal paths: which flows, packets and flowlets take which, by hand and by statistics; and that nothing of it is seen
//! by running ahead.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::paths::Path;
use tailback_sim::build::prepare;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::run::run;

/// A network of links by name and ends, all alike.
fn links(all: &[(String, String, String)], rate: &str) -> String {
    let mut text = String::new();
    for (name, from, to) in all {
        let _ = writeln!(
            text,
            "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"5us\"\nqueue = {{ kind = \
             \"droptail\", buffer = \"200 packets\" }}"
        );
    }
    text
}

/// Leaves `l0`.., spines `s0`.., hosts `h0_0`.. at each leaf.
fn leaf_spine(leaves: usize, spines: usize, hosts: usize) -> String {
    let mut all = vec![];
    for l in 0..leaves {
        for s in 0..spines {
            all.push((format!("l{l}s{s}"), format!("l{l}"), format!("s{s}")));
        }
        for h in 0..hosts {
            all.push((format!("h{l}_{h}"), format!("h{l}_{h}"), format!("l{l}")));
        }
    }
    links(&all, "1Gbps")
}

fn paths_of(text: &str) -> Vec<Path> {
    let loaded = load_text(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let prepared = prepare(&loaded.spec, loaded.spec.seed, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
    prepared.built.paths()
}

fn names(path: &Path) -> Vec<&str> {
    path.ports.iter().map(|(name, _)| name.as_str()).collect()
}

fn sent(o: &Outcome, link: &str) -> f64 {
    of(&o["links"], link, "delivered_packets")
}

/// Packets take the four spines in turn: those of two flows together, and of one that begins later.
#[test]
fn spraying_spreads_within_a_packet() {
    let text = format!(
        "duration = \"50ms\"\npaths = \"packet\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\ntransport = \
         \"udp\"\ntraffic = {{ kind = \"poisson\", rate = \"300Mbps\" }}\n[flows.b]\nfrom = \"h0_1\"\nto = \
         \"h2_0\"\ntransport = \"udp\"\nstart = \"7ms\"\ntraffic = {{ kind = \"cbr\", rate = \"200Mbps\" }}\n",
        leaf_spine(3, 4, 2)
    );
    let o = run_text(&text);
    let up: Vec<f64> = (0..4).map(|s| sent(&o, &format!("l0s{s}"))).collect();
    let most = up.iter().copied().fold(0.0, f64::max);
    let least = up.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least > 300.0 && most - least <= 1.0, "{up:?}");
}

/// Pearson's chi square of flows over the paths of four spines.
#[test]
fn a_hash_shares_evenly() {
    let text = format!(
        "duration = \"1ms\"\npaths = \"flow\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\ncount = \
         100000\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"1Mbps\" }}\n",
        leaf_spine(2, 4, 1)
    );
    let mut of_path = BTreeMap::new();
    for path in paths_of(&text) {
        *of_path.entry(names(&path)[1].to_string()).or_insert(0u32) += 1;
    }
    let expected = 25_000.0;
    let chi: f64 = of_path
        .values()
        .map(|n| (f64::from(*n) - expected).powi(2) / expected)
        .sum();
    // 99.9 % of chi square with three degrees of freedom.
    assert!(of_path.len() == 4 && chi < 16.27, "{of_path:?} {chi}");
}

/// Three layers: `a` chooses among b0..b3, and each of these among c0..c3.
fn three_layers(seeds: &str) -> Vec<(String, String)> {
    let mut all = vec![
        ("in".into(), "h".into(), "a".into()),
        ("out".into(), "z".into(), "g".into()),
    ];
    for b in 0..4 {
        all.push((format!("ab{b}"), "a".into(), format!("b{b}")));
        for c in 0..4 {
            all.push((format!("b{b}c{c}"), format!("b{b}"), format!("c{c}")));
        }
        all.push((format!("c{b}z"), format!("c{b}"), "z".into()));
    }
    let text = format!(
        "duration = \"1ms\"\npaths = \"flow\"\npath_seeds = \"{seeds}\"\n{}\n[flows.a]\nfrom = \"h\"\nto = \
         \"g\"\ncount = 400\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"1Mbps\" }}\n",
        links(&all, "1Gbps")
    );
    let of = |p: &Path| (names(p)[1].to_string(), names(p)[2].to_string());
    paths_of(&text).iter().map(of).collect()
}

/// Where all nodes have one seed, the flows that met at the first layer choose alike at the next: 4 of 16 links are
/// used. With seeds of their own all are.
#[test]
fn one_seed_for_all_nodes_leaves_links_empty() {
    let used = |seeds| {
        three_layers(seeds)
            .into_iter()
            .map(|(_, second)| second)
            .collect::<BTreeSet<String>>()
    };
    assert_eq!(used("one").len(), 4);
    assert_eq!(used("own").len(), 16);
}

/// Two leaves send to one host. Their ways consist of the same choices, and each begins at its own leaf.
#[test]
fn ways_from_switches_begin_there() {
    for failure in ["", "[change.cut]\nlink = \"h0_0\"\nup = false\nat = \"1ms\"\n"] {
        let o = run_text(&format!(
            "duration = \"20.5ms\"\npaths = \"packet\"\n{}\n[flows.a]\nfrom = \"l0\"\nto = \"h2_0\"\ntransport = \
             \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"8Mbps\" }}\npacket_size = \"1000B\"\n[flows.b]\nfrom = \
             \"l1\"\nto = \"h2_0\"\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"8Mbps\" \
             }}\npacket_size = \"1000B\"\n{failure}",
            leaf_spine(3, 2, 1)
        ));
        let of_leaf = |leaf: &str| sent(&o, &format!("{leaf}s0")) + sent(&o, &format!("{leaf}s1"));
        assert_eq!((of_leaf("l0"), of_leaf("l1")), (21.0, 21.0), "{failure}");
    }
}

/// The way back has a hash of its own: ACKs of one flow come over another spine than its data, for about three in four.
#[test]
fn acks_choose_for_themselves() {
    let text = format!(
        "duration = \"20ms\"\npaths = \"flow\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\ncount = 1\n",
        leaf_spine(2, 4, 1)
    );
    let mut apart = 0;
    for seed in 1..=40 {
        let loaded = load_text(&text, "test.toml", &[format!("seed={seed}")]).unwrap_or_else(|e| panic!("{e}"));
        let o = run(&loaded.spec, seed, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
        let crossed = |suffix: &str| {
            let links =
                (0..4).filter(|s| sent(&o, &format!("l{suffix}", suffix = suffix.replace('#', &s.to_string()))) > 0.0);
            links.collect::<Vec<i32>>()
        };
        let (data, acks) = (crossed("0s#"), crossed("1s#"));
        assert!(data.len() == 1 && acks.len() == 1, "{data:?} {acks:?}");
        apart += i32::from(data != acks);
    }
    assert!((22..=38).contains(&apart), "{apart} of 40");
}

/// A flow that pauses for 1 ms between packets takes a path anew for each, one that pauses for less never does.
#[test]
fn a_flowlet_ends_with_a_pause() {
    let of_gap = |gap: &str| {
        let o = run_text(&format!(
            "duration = \"200ms\"\npaths = \"flowlet\"\nflowlet_gap = \"{gap}\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \
             \"h1_0\"\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"8Mbps\" }}\npacket_size = \
             \"1000B\"\n",
            leaf_spine(2, 4, 1)
        ));
        let up: Vec<f64> = (0..4).map(|s| sent(&o, &format!("l0s{s}"))).collect();
        up
    };
    let (moved, kept) = (of_gap("999us"), of_gap("1ms"));
    assert!(moved.iter().all(|n| (25.0..=75.0).contains(n)), "{moved:?}");
    assert_eq!(kept.iter().filter(|n| **n > 0.0).count(), 1, "{kept:?}");
}

/// A path that is named is taken, and ACKs take its links back.
#[test]
fn a_path_may_be_named() {
    let text = format!(
        "duration = \"20ms\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\nvia = [\"s2\"]\n",
        leaf_spine(2, 4, 1)
    );
    assert_eq!(
        names(&paths_of(&text)[0]),
        ["h0_0", "l0s2", "l1s2.reverse", "h1_0.reverse"]
    );
    let o = run_text(&text);
    assert!(sent(&o, "l0s2") > 100.0 && sent(&o, "l1s2") > 50.0);
    assert_eq!(sent(&o, "l0s0") + sent(&o, "l1s0"), 0.0);
}

/// What is wrong with a named path is said.
#[test]
fn a_path_that_cannot_be_is_refused() {
    for (wrong, said) in [
        ("via = [\"s9\"]", "no link touches a node \"s9\""),
        ("via = [\"s0\"]\npaths = \"packet\"", "via names the path"),
        ("via = [\"h0_1\"]", "passes l0 twice"),
    ] {
        let text = format!(
            "duration = \"20ms\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\n{wrong}\n",
            leaf_spine(2, 2, 2)
        );
        let e = load_text(&text, "test.toml", &[])
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default();
        assert!(e.contains(said), "{wrong}: {e}");
    }
}

/// Equal paths that stay empty are named, with the remedy.
#[test]
fn unused_equal_paths_are_said() {
    let text = |paths: &str| {
        format!(
            "duration = \"20ms\"\n{paths}\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\n",
            leaf_spine(2, 2, 1)
        )
    };
    let warnings = |paths: &str| {
        load_text(&text(paths), "test.toml", &[])
            .unwrap_or_else(|e| panic!("{e}"))
            .warnings
    };
    let first = warnings("").join("\n");
    assert!(
        first.contains("no flow crosses link l0s1") && first.contains("paths = \"flow\""),
        "{first}"
    );
    assert_eq!(warnings("paths = \"packet\""), Vec::<String>::new());
}

/// What a run shows must not depend on whether it runs ahead: for each rule of paths, with connections, datagrams that
/// are answered, and sessions.
#[test]
fn running_ahead_is_never_seen_over_equal_paths() {
    let mut ahead = 0;
    for (case, paths) in ["first", "flow", "packet", "flowlet"].into_iter().enumerate() {
        for queue in [
            "{ kind = \"droptail\", buffer = \"20 packets\" }",
            "{ kind = \"codel\" }",
        ] {
            let net = leaf_spine(3, 3, 3).replace("{ kind = \"droptail\", buffer = \"200 packets\" }", queue);
            let text = format!(
                "duration = \"40ms\"\nseed = {case}\npaths = \"{paths}\"\nflowlet_gap = \"30us\"\n{net}\n\
                 [flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\ncount = 3\naccess_rate = \"400Mbps\"\n\
                 [flows.b]\nfrom = \"h2_0\"\nto = \"h1_1\"\ncount = 2\n\
                 [flows.c]\nfrom = \"h0_1\"\nto = \"h2_1\"\ntransport = {{ kind = \"udp\", echo = true }}\n\
                 traffic = {{ kind = \"poisson\", rate = \"50Mbps\" }}\n\
                 [flows.d]\nfrom = \"h1_2\"\nto = \"h0_2\"\npaths = \"first\"\n\
                 [sessions.w]\nkind = \"requests\"\nclients = 4\nfrom = \"h2_2\"\nto = \"h0_0\"\nrequest = \
                 \"500B\"\nresponse = {{ kind = \"exponential\", mean = \"40kB\" }}\n"
            );
            let loaded = load_text(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
            let [with, without] = [false, true].map(|one_by_one| run_with_laws(&loaded.spec, 7, one_by_one));
            assert!(shown(&with) == shown(&without), "{paths}, {queue}");
            assert_eq!(with.engine.packet_hops, without.engine.packet_hops);
            ahead += with.engine.handed_ahead;
        }
    }
    assert!(ahead > 1000, "nothing ran ahead: {ahead}");
}

/// A packet each millisecond from `h0_0` to `h1_0` over two spines, and a link that fails and returns.
fn failing(paths: &str, seed: u32) -> Outcome {
    run_text(&format!(
        "duration = \"199.5ms\"\nseed = {seed}\npaths = \"{paths}\"\nroute_delay = \"10ms\"\nflowlet_gap = \
         \"2ms\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", \
         rate = \"8Mbps\" }}\npacket_size = \"1000B\"\n[change.cut]\nlink = \"l0s0\"\nup = [false, true]\nat = \
         [\"50.5ms\", \"120.5ms\"]\n",
        leaf_spine(2, 2, 1)
    ))
}

/// Of the packets at 51 to 60 ms every second one comes to the link that has failed, and is lost: five. From 60.5 ms on
/// routes leave it out, and from 130.5 ms on packets take it again.
#[test]
fn routes_follow_a_link_that_fails_and_returns() {
    let o = failing("packet", 1);
    let received = of(&o["flows"], "a.0", "received_packets");
    assert_eq!(received, 200.0 - 5.0);
    let cut = sent(&o, "l0s0");
    // Half of 51 before, and half of 69 after.
    assert!((59.0..=61.0).contains(&cut), "{cut}");
    assert_eq!(cut + sent(&o, "l0s1"), 195.0);
    assert_eq!(of(&o["links"], "l0s0", "dropped_packets"), 5.0);
    for paths in ["flow", "flowlet"] {
        // A flow that is on the link loses all of these ten, a flow that is not none: by the seed it is the one or the
        // other.
        let mut all = BTreeSet::new();
        for seed in 1..=8 {
            let o = failing(paths, seed);
            all.insert((200.0 - of(&o["flows"], "a.0", "received_packets")) as u32);
            assert!(sent(&o, "l0s1") >= 70.0, "{paths}");
        }
        assert_eq!(all, BTreeSet::from([0, 10]), "{paths}");
    }
    // A flow on the first path waits for the link.
    assert_eq!(
        of(&failing("first", 1)["flows"], "a.0", "received_packets"),
        200.0 - 70.0
    );
}

/// Five packets are on a link of 5 ms when it fails: they are lost, or they still arrive.
#[test]
fn what_is_on_a_link_that_fails_is_lost_or_not() {
    let received = |key: &str| {
        let text = format!(
            "duration = \"99.5ms\"\n{key}\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \"h1_0\"\ntransport = \
             \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"8Mbps\" }}\npacket_size = \"1000B\"\n[change.cut]\nlink = \
             \"l0s0\"\nup = false\nat = \"50.5ms\"\n",
            leaf_spine(2, 1, 1).replacen("5us", "5ms", 1)
        );
        of(&run_text(&text)["flows"], "a.0", "received_packets")
    };
    assert_eq!((received(""), received("on_failure = \"keep\"")), (46.0, 51.0));
}

/// Without another way of the same length packets take a longer one: around a ring of five.
#[test]
fn routes_take_a_detour() {
    let mut all = vec![
        ("in".into(), "h".into(), "r0".into()),
        ("out".into(), "r1".into(), "g".into()),
    ];
    for i in 0..5 {
        all.push((format!("ring{i}"), format!("r{i}"), format!("r{}", (i + 1) % 5)));
    }
    let o = run_text(&format!(
        "duration = \"99.5ms\"\npaths = \"packet\"\n{}\n[flows.a]\nfrom = \"h\"\nto = \"g\"\ntransport = \
         \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"8Mbps\" }}\npacket_size = \"1000B\"\n[change.cut]\nlink = \
         \"ring0\"\nup = [false, true]\nat = [\"20.5ms\", \"60.5ms\"]\n",
        links(&all, "1Gbps")
    ));
    assert_eq!(of(&o["flows"], "a.0", "received_packets"), 100.0);
    assert_eq!((sent(&o, "ring0"), sent(&o, "ring2.reverse")), (60.0, 40.0));
}

/// Connections survive a failure, and the run keeps its laws.
#[test]
fn a_failure_keeps_the_laws() {
    for paths in ["flow", "packet", "flowlet"] {
        let text = format!(
            "duration = \"60ms\"\npaths = \"{paths}\"\nroute_delay = \"1ms\"\n{}\n[flows.a]\nfrom = \"h0_0\"\nto = \
             \"h1_0\"\ncount = 4\ntcp = {{ profile = \"linux\", min_rto = \"5ms\" }}\n[workload.w]\nsizes = {{ kind = \
             \"constant\", mean = \"20kB\" }}\nmean_gap = \"100us\"\ntcp = {{ profile = \"linux\", min_rto = \"5ms\" \
             }}\n[change.cut]\nlink = \"l0s1\"\nup = [false, true]\nat = [\"20ms\", \"40ms\"]\n",
            leaf_spine(3, 2, 2)
        );
        let loaded = load_text(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let o = run_with_laws(&loaded.spec, 5, false);
        assert!(of(&o["flows"], "a.0", "goodput_bps") > 1e7, "{paths}");
    }
}
