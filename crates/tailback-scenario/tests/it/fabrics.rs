//! Topologies of a data centre: what they are written out to, counted by hand.

use crate::common::*;
use std::collections::BTreeSet;
use tailback_base::{BitRate, Duration, Size};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::paths::Path;
use tailback_sim::build::prepare;
use tailback_sim::spec::Spec;

fn spec(topology: &str, rest: &str) -> Spec {
    let text =
        format!("duration = \"5ms\"\n{rest}\n[topology]\n{topology}\n[flows.a]\nfrom = \"host1\"\nto = \"host2\"\n");
    load_text(&text, "test.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"))
        .spec
}

fn refused(topology: &str) -> String {
    let text = format!("duration = \"5ms\"\n[topology]\n{topology}\n[flows.a]\nfrom = \"host1\"\nto = \"host2\"\n");
    load_text(&text, "test.toml", &[])
        .err()
        .map(|e| e.to_string())
        .unwrap_or_default()
}

const LEAF_SPINE: &str = "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts = 4\nrate = \"10Gbps\"\ndelay = \
                          \"1us\"\nqueue = { kind = \"droptail\", buffer = \"100 packets\" }";

/// Names, ends, rates and queues of a leaf-spine.
#[test]
fn a_leaf_spine_is_written_out() {
    let s = spec(LEAF_SPINE, "");
    assert_eq!(s.links.len(), 3 * 4 + 3 * 2);
    let link = |name: &str| {
        s.links
            .iter()
            .find(|l| l.name == name)
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let host = link("host6");
    assert_eq!((host.from.as_str(), host.to.as_str()), ("leaf2", "host6"));
    assert_eq!(host.forward.fused_limit(), Some(Size::Packets(100)));
    assert_eq!(host.reverse.queue.model.name, "drr", "connections of a host take turns");
    let up = link("leaf3-spine2");
    // Four hosts of 10 Gb/s over two spines.
    assert_eq!(
        (up.forward.rate, up.forward.delay),
        (BitRate(20_000_000_000), Duration(1000))
    );
    assert_eq!(up.reverse.fused_limit(), Some(Size::Packets(100)));
    let over = spec(
        &format!("{LEAF_SPINE}\noversubscription = 4\nspine_delay = \"3us\""),
        "",
    );
    let up = over.links.iter().find(|l| l.name == "leaf1-spine1").unwrap();
    assert_eq!(
        (up.forward.rate, up.forward.delay),
        (BitRate(5_000_000_000), Duration(3000))
    );
}

/// One word gives each switch a memory; a table of a link or of a switch overrides single values.
#[test]
fn switches_share_memories_by_one_word() {
    let s = spec(
        &format!(
            "{}\nshared_buffer = \"4MB\"\nalpha = 0.5",
            LEAF_SPINE.replace(", buffer = \"100 packets\"", "")
        ),
        "[link.leaf1-spine2]\nrate = \"7Gbps\"\n[switch.spine1]\nalpha = 2\n",
    );
    assert_eq!(s.switches.len(), 5);
    assert!(s.switches.iter().all(|w| w.buffer == Size::Bytes(4_000_000)));
    let alpha = |name: &str| s.switches.iter().find(|w| w.name == name).unwrap().alpha.clone();
    assert_eq!((alpha("leaf1"), alpha("spine1")), (vec![0.5], vec![2.0]));
    let changed = s.links.iter().find(|l| l.name == "leaf1-spine2").unwrap();
    assert_eq!(changed.forward.rate, BitRate(7_000_000_000));
    assert!(changed.forward.switch.is_some() && changed.reverse.switch.is_some());
    let host = s.links.iter().find(|l| l.name == "host1").unwrap();
    assert!(
        host.forward.switch.is_some() && host.reverse.switch.is_none(),
        "hosts share nothing"
    );
}

fn tree(k: u32, flows: &str) -> Vec<Path> {
    let text = format!(
        "duration = \"1ms\"\npaths = \"flow\"\n{flows}\n[topology]\nkind = \"fat-tree\"\nk = {k}\nrate = \
         \"10Gbps\"\ndelay = \"1us\"\nqueue = \"droptail\"\n"
    );
    let loaded = load_text(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    prepare(&loaded.spec, 1, &Hooks::default())
        .unwrap_or_else(|e| panic!("{e}"))
        .built
        .paths()
}

/// In a fat-tree of k ports two hosts have one path at one edge, k/2 in one pod, and k*k/4 between pods; of 2, 4 and 6
/// links. So many flows find them all.
#[test]
fn a_fat_tree_has_the_paths_that_are_counted() {
    for k in [4, 8, 16_u32] {
        let half = k / 2;
        let far = k * k * k / 4;
        for (to, paths, links) in [(2, 1, 2), (half + 1, half, 4), (far, half * half, 6)] {
            let flows = format!(
                "[flows.a]\nfrom = \"host1\"\nto = \"host{to}\"\ncount = {}\ntransport = \"udp\"\ntraffic = {{ kind = \
                 \"cbr\", rate = \"1Mbps\" }}\n",
                paths * 20
            );
            let all = tree(k, &flows);
            assert!(all.iter().all(|p| p.ports.len() == links), "k = {k}, host{to}");
            let different: BTreeSet<Vec<&str>> = all
                .iter()
                .map(|p| p.ports.iter().map(|(n, _)| n.as_str()).collect())
                .collect();
            assert_eq!(different.len(), paths as usize, "k = {k}, host{to}");
        }
    }
}

/// Hosts, switches and links of a fat-tree are as many as Al-Fares et al. count.
#[test]
fn a_fat_tree_is_as_large_as_counted() {
    for k in [4, 8, 16_u32] {
        let s = spec(
            &format!("kind = \"fat-tree\"\nk = {k}\nrate = \"1Gbps\"\ndelay = \"1us\"\nqueue = \"droptail\""),
            "",
        );
        assert_eq!(s.links.len() as u32, 3 * k * k * k / 4, "k = {k}");
        let nodes: BTreeSet<&str> = s.links.iter().flat_map(|l| [l.from.as_str(), l.to.as_str()]).collect();
        assert_eq!(nodes.len() as u32, k * k * k / 4 + 5 * k * k / 4, "k = {k}");
        // Each switch has k links.
        let mut degree = std::collections::BTreeMap::new();
        for l in &s.links {
            for node in [&l.from, &l.to] {
                *degree.entry(node.as_str()).or_insert(0) += 1;
            }
        }
        assert!(
            degree
                .iter()
                .all(|(n, d)| *d == if n.starts_with("host") { 1 } else { k }),
            "k = {k}"
        );
    }
}

/// What contradicts itself is said with a remedy.
#[test]
fn a_topology_that_cannot_be_is_refused() {
    let tree = |k| format!("kind = \"fat-tree\"\nk = {k}\nrate = \"1Gbps\"\ndelay = \"1us\"\nqueue = \"droptail\"");
    for (topology, said) in [
        (tree(5), "an even number of ports, not 5"),
        (
            format!("{LEAF_SPINE}\noversubscription = 2\nspine_rate = \"1Gbps\""),
            "both spine_rate and oversubscription",
        ),
        (LEAF_SPINE.replace("spines = 2\n", ""), "\"spines\""),
        (format!("{LEAF_SPINE}\nhost_queue = \"codle\""), "codel"),
        (format!("{LEAF_SPINE}\nalpha = 0.5"), "add shared_buffer"),
        (
            LEAF_SPINE.replace("leaves = 3", "leaves = 10000"),
            "10000 leaves with 4 hosts and 2 spines have 60000 links",
        ),
    ] {
        let e = refused(&topology);
        assert!(e.contains(said), "{topology}: {e}");
    }
}

/// A star has one switch, and `--set` changes one of its links.
#[test]
fn a_star_runs() {
    let text = "duration = \"5ms\"\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"1Gbps\"\ndelay = \"10us\"\nqueue \
                = \"droptail\"\n[flows.a]\nfrom = \"host1\"\nto = \"host2\"\n";
    let set = ["link.host2.rate=100Mbps".to_string()];
    let s = load_text(text, "test.toml", &set)
        .unwrap_or_else(|e| panic!("{e}"))
        .spec;
    assert_eq!(s.links[1].forward.rate, BitRate(100_000_000));
    let o = run_text(text);
    assert!(of(&o["links"], "host2", "delivered_packets") > 100.0);
    assert_eq!(of(&o["links"], "host3", "delivered_packets"), 0.0);
}
