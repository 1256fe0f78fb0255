//! Fabrics that are drawn: their runs keep the laws of a run, and show the same again, with hops computed ahead and
//! without.

use crate::common::*;
use tailback_base::Stream;
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;

/// One of these.
fn one<'a>(rng: &mut Stream, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

/// The text of a scenario: a topology, its queues, one or two workloads, and now and then a link that fails.
fn drawn(rng: &mut Stream) -> String {
    let (shape, switches_link) = match rng.below(3) {
        0 => {
            let [leaves, spines, hosts] = [2, 1, 1].map(|least| least + rng.below(3));
            let shape = format!("kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts = {hosts}");
            let over = one(rng, &["", "oversubscription = 2", "spine_rate = \"4Gbps\""]);
            (format!("{shape}\n{over}"), "leaf1-spine1")
        }
        1 => ("kind = \"fat-tree\"\nk = 4".into(), "edge1-agg1"),
        _ => (format!("kind = \"star\"\nhosts = {}", 3 + rng.below(6)), "host1"),
    };
    let queues = [
        "\"droptail\"",
        "{ kind = \"droptail\", buffer = \"12 packets\" }",
        "{ kind = \"red\", profile = \"step\", buffer = \"100 packets\" }",
        "{ kind = \"fq-codel\" }",
        "{ kind = \"drr\", buffer = \"40 packets\" }",
        "{ kind = \"dualpi2\" }",
    ];
    let queue = one(rng, &queues);
    let memory = one(
        rng,
        &["", "shared_buffer = \"60kB\"", "shared_buffer = \"300kB\"\nalpha = 2"],
    );
    let own = one(
        rng,
        &["", "host_queue = \"droptail\"", "host_queue = { kind = \"fq-codel\" }"],
    );
    let paths = one(rng, &["first", "flow", "packet", "flowlet"]);
    let mut text = format!(
        "duration = \"8ms\"\npaths = \"{paths}\"\nflowlet_gap = \"20us\"\nroute_delay = \"500us\"\n\
         [topology]\n{shape}\n\
         rate = \"1Gbps\"\ndelay = \"{}us\"\nqueue = {queue}\n{memory}\n{own}\n",
        1 + rng.below(20)
    );
    for name in ["a", "b"].into_iter().take(1 + rng.below(2) as usize) {
        let sizes = one(
            rng,
            &[
                "{ kind = \"exponential\", mean = \"20kB\" }",
                "{ kind = \"constant\", mean = \"3kB\" }",
            ],
        );
        let patterns = [
            "\"all-to-all\"",
            "\"permutation\"",
            "\"pairs\"",
            "\"incast\"\nfan_in = 2",
        ];
        let pattern = one(rng, &patterns);
        let load = 0.2 + 0.1 * rng.below(7) as f64;
        let senders = [
            "{ profile = \"linux\", congestion = \"dctcp\", ecn = \"on\", min_rto = \"2ms\" }",
            "{ min_rto = \"2ms\" }",
        ];
        let (sender, connection) = (one(rng, &senders), one(rng, &["new", "keep"]));
        text += &format!(
            "[workload.{name}]\nsizes = {sizes}\nload = {load}\npattern = {pattern}\nconnection = \"{connection}\"\n\
             tcp = {sender}\n"
        );
    }
    if rng.below(4) == 0 {
        text += &format!("[change.cut]\nlink = \"{switches_link}\"\nup = [false, true]\nat = [\"3ms\", \"5ms\"]\n");
    }
    text
}

#[test]
fn drawn_fabrics_keep_the_laws_and_show_the_same_again() {
    let (mut flows, mut marks, mut drops) = (0.0, 0.0, 0.0);
    for seed in 0..60 {
        let text = drawn(&mut Stream::new(seed, "fabrics"));
        let loaded = load_text(&text, "drawn.toml", &[]).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let plain = run(&loaded.spec, seed, &Hooks::default()).unwrap_or_else(|e| panic!("{text}\n{e}"));
        for (one_by_one, what) in [(false, "laws"), (true, "one event a hop")] {
            let o = run_with_laws(&loaded.spec, seed, one_by_one);
            assert!(shown(&o) == shown(&plain), "{what} changes a result\n{text}");
        }
        let layers = &plain["layers"];
        flows += plain["transfers"].rows() as f64;
        marks += (0..layers.rows())
            .map(|i| number(layers, "marked_packets", i))
            .sum::<f64>();
        drops += (0..layers.rows())
            .map(|i| number(layers, "dropped_packets", i))
            .sum::<f64>();
    }
    assert!(
        flows > 10_000.0 && marks > 1000.0 && drops > 1000.0,
        "{flows} {marks} {drops}"
    );
}
