//! Workloads: how much they offer, who sends to whom, what a lone flow takes, and what the table of slowdowns says.

use crate::common::*;
use tailback_scenario::{load_json, load_text};
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::Data;

fn leaf_spine(duration: &str, workload: &str) -> String {
    format!(
        "duration = \"{duration}\"\npaths = \"flow\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = \
         2\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\nqueue = {{ kind = \"droptail\", buffer = \"400 packets\" \
         }}\n [workload.w]\n{workload}\ntcp = {{ profile = \"linux\" }}\n"
    )
}

fn column(o: &Outcome, table: &str, name: &str) -> Vec<f64> {
    let table = &o[table];
    let column = table
        .columns
        .iter()
        .find(|c| c.name == name)
        .unwrap_or_else(|| panic!("no {name}"));
    match &column.data {
        Data::Real(values) => values.clone(),
        Data::Count(values) => values.iter().map(|v| *v as f64).collect(),
        other => panic!("{name} has no numbers: {other:?}"),
    }
}

/// What is offered at three loads lies within three standard errors of what was asked for: the number of flows is
/// Poisson, and each has the mean and the mean square of the law.
#[test]
fn the_load_is_what_was_asked_for() {
    // Exponential sizes of 50 kB: the mean square is twice the square of the mean.
    for load in [0.3, 0.5, 0.8] {
        let o = run_text(&leaf_spine(
            "20ms",
            &format!("sizes = {{ kind = \"exponential\", mean = \"50kB\" }}\nload = {load}"),
        ));
        let offered: f64 = column(&o, "transfers", "bytes").iter().sum();
        let expected = load * 16.0 * 10e9 / 8.0 * 0.02;
        let flows: f64 = expected / 50e3;
        let error = 50e3 * (2.0 * flows).sqrt();
        assert!(
            (offered - expected).abs() < 3.0 * error,
            "{load}: {offered} of {expected}, {error}"
        );
    }
}

/// Web-search has the mean of its points.
#[test]
fn presets_have_the_mean_of_their_points() {
    let o = run_text(&leaf_spine("40ms", "sizes = \"web-search\"\nmean_gap = \"20us\"").replace("10Gbps", "1000Gbps"));
    let bytes = column(&o, "transfers", "bytes");
    let mean = bytes.iter().sum::<f64>() / bytes.len() as f64;
    let deviation = (bytes.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / bytes.len() as f64).sqrt();
    assert!(bytes.len() > 1800);
    assert!(
        (mean - 1.711e6).abs() < 3.0 * deviation / (bytes.len() as f64).sqrt(),
        "{mean}"
    );
}

/// A run with a list of one flow, from host 1 to a host at so many hops.
fn alone(bytes: u64, hops: usize, sender: &str) -> Outcome {
    let list = std::env::temp_dir().join(format!("tailback-alone-{bytes}-{hops}-{}", std::process::id()));
    std::fs::write(&list, format!("0 1 {bytes} 0.001\n")).expect("a temporary file");
    let mut text = String::from("duration = \"3s\"\nend = \"sessions\"\n");
    for i in 0..hops {
        // The second link is slower than the others.
        let rate = if i == 1 { "5Gbps" } else { "10Gbps" };
        text += &format!(
            "[link.l{i}]\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"{rate}\"\ndelay = \"2us\"\nqueue = {{ kind = \
             \"droptail\", buffer = \"unlimited\" }}\n",
            i + 1
        );
    }
    text += &format!(
        "[workload.w]\nhosts = [\"n0\", \"n{hops}\"]\nlist = \"{}\"\ntcp = {sender}\n",
        list.display()
    );
    let o = run_text(&text);
    std::fs::remove_file(&list).expect("it was written");
    o
}

/// A flow alone is as fast as the same sender alone, to a part in a thousand; over sizes and paths.
#[test]
fn a_lone_flow_has_a_slowdown_of_one_beside_itself() {
    for hops in 1..=5 {
        for bytes in [1, 100, 1460, 1461, 20_000, 1_000_001, 30_000_000] {
            let o = alone(bytes, hops, "{ profile = \"linux\" }");
            let beside = column(&o, "slowdowns", "slowdown_alone_max");
            assert!(
                (beside[0] - 1.0).abs() < 1e-3,
                "{bytes} B over {hops} links: {}",
                beside[0]
            );
        }
    }
}

/// In closed form: without windows a lone flow takes a round trip for the SYN, and then the ideal.
#[test]
fn without_windows_a_lone_flow_takes_a_handshake_and_the_ideal() {
    for hops in 1..=5 {
        for bytes in [1, 1459, 1461, 50_000, 1_000_001, 100_000_000_u64] {
            let o = alone(
                bytes,
                hops,
                "{ initial_window = \"70000 packets\", window_cap = \"80000 packets\" }",
            );
            let took = column(&o, "transfers", "completion_s")[0];
            let rates: Vec<f64> = (0..hops).map(|i| if i == 1 { 5e9 } else { 10e9 }).collect();
            // SYN and SYN-ACK of 40 B, stored by each link.
            let handshake: f64 = 2.0 * rates.iter().map(|r| 2e-6 + 320.0 / r).sum::<f64>();
            let full = bytes.div_ceil(1460) - 1;
            let last = ((bytes - full * 1460 + 40) * 8) as f64;
            let (mut first, mut slowest, mut end) = (0.0, 0.0_f64, 0.0_f64);
            for r in &rates {
                first += 12_000.0 / r;
                slowest = slowest.max(12_000.0 / r);
                let before = if full > 0 {
                    first + (full - 1) as f64 * slowest
                } else {
                    0.0
                };
                end = end.max(before) + last / r;
            }
            let ideal = end + 2e-6 * hops as f64;
            let expected = handshake + ideal;
            assert!(
                (took / expected - 1.0).abs() < 1e-3,
                "{bytes} B over {hops} links: {took} {expected}"
            );
            let slowdown = column(&o, "slowdowns", "slowdown_ideal_max")[0];
            assert!((slowdown * ideal / took - 1.0).abs() < 1e-3, "{slowdown}");
        }
    }
}

/// Incast: as many flows as it was said arrive at one instant. Permutations and pairs are tested beside their code.
#[test]
fn an_incast_has_its_flows_at_one_instant() {
    let o = run_text(&leaf_spine(
        "10ms",
        "sizes = { kind = \"constant\", mean = \"20kB\" }\nmean_gap = \"1ms\"\npattern = \"incast\"\nfan_in = 5",
    ));
    let asked = column(&o, "transfers", "asked_s");
    assert!(asked.len().is_multiple_of(5) && asked.len() >= 20, "{}", asked.len());
    assert!(asked.chunks(5).all(|c| c.iter().all(|t| *t == c[0])), "{asked:?}");
}

/// An incast of one is a drawn host that sends to another.
#[test]
fn an_incast_of_one_has_two_drawn_ends() {
    let o = run_text(&leaf_spine(
        "20ms",
        "sizes = { kind = \"constant\", mean = \"20kB\" }\nmean_gap = \"100us\"\npattern = \"incast\"\nfan_in = 1",
    ));
    for reverse in [".reverse", ""] {
        // One flow is 20 kB of the 25 MB that a line offers; ACKs are less.
        let used = (1..=16).map(|i| of(&o["links"], &format!("host{i}{reverse}"), "utilisation"));
        assert_eq!(used.filter(|share| *share > 20e3 / 25e6).count(), 16, "host{reverse}");
    }
}

/// A limit of flows ends the workload, and with it the run; nothing is unfinished.
#[test]
fn a_workload_ends_with_its_flows() {
    let text = "end = \"sessions\"\n".to_string()
        + &leaf_spine(
            "10s",
            "sizes = \"web-search\"\nload = 0.3\nflows = 200\narrivals = \"log-normal\"",
        );
    let o = run_text(&text);
    assert_eq!(column(&o, "slowdowns", "count")[0], 200.0);
    assert_eq!(column(&o, "slowdowns", "unfinished")[0], 0.0);
    assert!(column(&o, "slowdowns", "slowdown_ideal_p50").iter().all(|s| *s >= 1.0));
}

/// Rows over all workloads stand first; a workload that is called `all` has rows of its own instead.
#[test]
fn rows_over_all_workloads_have_no_other_s_name() {
    let flows = "sizes = { kind = \"constant\", mean = \"20kB\" }\nmean_gap = \"1ms\"\nflows = 2\n";
    for (name, rows) in [("b", 3), ("all", 2)] {
        let o = run_text(&format!(
            "size_classes = [\"1MB\"]\n{}\n[workload.{name}]\n{flows}",
            leaf_spine("10ms", flows)
        ));
        let counts = column(&o, "slowdowns", "count");
        assert_eq!(counts.len(), 2 * rows, "{name}: all sizes, and those up to 1 MB");
        assert_eq!(counts.iter().filter(|c| **c == 4.0).count(), 2 * (rows - 2), "{name}");
    }
}

/// The same bytes with and without running ahead, and with all laws checked.
#[test]
fn workloads_run_by_events_as_they_do_ahead() {
    for paths in ["first", "flow", "packet", "flowlet"] {
        let text = leaf_spine("4ms", "sizes = \"web-search\"\nload = 0.5").replace("\"flow\"", &format!("\"{paths}\""));
        let loaded = load_text(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let seen = |one_by_one| shown(&run_with_laws(&loaded.spec, 3, one_by_one));
        assert!(seen(false) == seen(true), "{paths}");
    }
}

/// What contradicts itself in a workload is said with a remedy.
#[test]
fn a_workload_that_cannot_be_is_refused() {
    let cdf = std::env::temp_dir().join(format!("tailback-cdf-{}", std::process::id()));
    std::fs::write(&cdf, "0 0\n1000 40\n500 100\n").expect("a temporary file");
    let file = format!("sizes_file = \"{}\"\nload = 0.5", cdf.display());
    let both = format!("sizes = \"web-search\"\n{file}");
    let flows = std::env::temp_dir().join(format!("tailback-flows-{}", std::process::id()));
    std::fs::write(
        &flows,
        "host1 host2 1000 0.0001\nhost1 host2 9999999999999999999 0.0002\n",
    )
    .expect("a temporary file");
    let list = format!("list = \"{}\"", flows.display());
    let layer = format!("{list}\nload_of = \"leaf-spine\"");
    let late = format!("{list}\nstart = \"500us\"");
    let pattern = format!("{list}\npattern = \"incast\"");
    for (workload, said) in [
        ("sizes = \"web-search\"", "nothing says how often flows arrive"),
        (
            "sizes = \"web-search\"\nload = 0.5\nmean_gap = \"1ms\"",
            "both say how often",
        ),
        ("load = 0.5", "sizes"),
        (
            "sizes = \"web-search\"\nmean_gap = \"1ms\"\nload_of = \"leaf-spine\"",
            "load is not given",
        ),
        (
            "sizes = \"web-search\"\nload = 0.5\nload_of = \"leaf-spin\"",
            "did you mean \"leaf-spine\"",
        ),
        (
            "sizes = \"web-search\"\nload = 0.5\npattern = \"incast\"\nfan_in = 16",
            "16 hosts send to one other",
        ),
        (
            "sizes = \"web-search\"\nload = 0.5\nhosts = [\"host1\", \"host99\"]",
            "\"host99\"",
        ),
        (
            "sizes = { kind = \"pareto\", mean = \"10kB\", max = \"1MB\" }\nload = 0.5",
            "give mean_gap",
        ),
        ("sizes = \"web-search\"\nload = 0.5\nshape = 1", "a Poisson process"),
        (
            "sizes = \"web-search\"\nload = 0.5\nfan_in = 4",
            "the pattern is \"all-to-all\"",
        ),
        (file.as_str(), "line 3"),
        (both.as_str(), "both say how large"),
        (list.as_str(), "line 2"),
        (
            "sizes = \"web-search\"\nload = 0.5\ndigest = \"00\"",
            "the table names no file",
        ),
        (layer.as_str(), "load_of belongs to flows that are drawn"),
        (late.as_str(), "start belongs to flows that are drawn"),
        (pattern.as_str(), "pattern belongs to flows that are drawn"),
    ] {
        let text = format!("end = \"sessions\"\n{}", leaf_spine("1ms", workload));
        let e = load_text(&text, "test.toml", &[]).err().map(|e| e.to_string());
        // What is wrong with a workload does not say that there is none.
        let alone = |e: &String| e.contains(said) && !e.contains("there are none");
        assert!(e.as_ref().is_some_and(alone), "{workload}: {e:?}");
    }
    let many = leaf_spine("1ms", "sizes = \"web-search\"\nload = 0.5\nload_of = \"leaf-spine\"");
    let many = many
        .replace("leaves = 4", "leaves = 1001")
        .replace("hosts = 4", "hosts = 1");
    let e = load_text(&many, "test.toml", &[]).err().map(|e| e.to_string());
    assert!(
        e.as_ref().is_some_and(|e| e.contains("more than 1000 switches")),
        "{e:?}"
    );
    for written in [cdf, flows] {
        std::fs::remove_file(&written).expect("it was written");
    }
}

/// What a file has that cannot be is said with the file and the line.
#[test]
fn what_a_file_cannot_have_is_said() {
    let written = std::env::temp_dir().join(format!("tailback-wrong-{}", std::process::id()));
    let name = written.display();
    let sizes = format!("sizes_file = \"{name}\"\nload = 0.5");
    let list = format!("list = \"{name}\"");
    for (workload, text, said) in [
        (&sizes, "0 0\n1e30 100\n", "line 2"),
        (&sizes, "0 0\nnan 100\n", "line 2"),
        (&sizes, "1000 90\n", "the last share is 90"),
        (&sizes, "0 0\n0 1\n", "the mean of cdf is 0"),
        (&list, "host1 host2 1000 0\nhost1 host2 1000 inf\n", "line 2"),
        (&list, "host1 host2 1000 1e300\n", "line 1"),
        (&list, "# nothing\n", "there is no flow in it"),
    ] {
        std::fs::write(&written, text).expect("a temporary file");
        let e = load_text(&leaf_spine("1ms", workload), "test.toml", &[]).err();
        let e = e.map(|e| e.to_string());
        assert!(e.as_ref().is_some_and(|e| e.contains(said)), "{text}: {e:?}");
    }
    std::fs::remove_file(&written).expect("it was written");
}

/// Files of sizes in per cent, as fractions, and with a column between.
#[test]
fn files_of_sizes_have_several_forms() {
    let mut sums = vec![];
    for (i, text) in [
        "0 0\n10000 50\n30000 100\n",
        "0 0\n10000 0.5\n30000 1\n",
        "0 1 0\n10000 1 0.5\n30000 1 1\n",
    ]
    .into_iter()
    .enumerate()
    {
        let file = std::env::temp_dir().join(format!("tailback-sizes-{i}-{}", std::process::id()));
        std::fs::write(&file, text).expect("a temporary file");
        let o = run_text(&leaf_spine(
            "2ms",
            &format!("sizes_file = \"{}\"\nload = 0.2", file.display()),
        ));
        sums.push(column(&o, "transfers", "bytes").iter().sum::<f64>());
        std::fs::remove_file(&file).expect("it was written");
    }
    assert!(sums[0] > 0.0 && sums[0] == sums[1] && sums[1] == sums[2], "{sums:?}");
}

/// A stored scenario names its file of sizes by digest; a file that has changed since is refused.
#[test]
fn a_stored_workload_names_its_file_by_digest() {
    let file = |name: &str, text: &str| {
        let place = std::env::temp_dir().join(format!("tailback-{name}-{}", std::process::id()));
        std::fs::write(&place, text).expect("a temporary file");
        place
    };
    let scenario = |place: &std::path::Path| {
        let workload = format!("sizes_file = \"{}\"\nload = 0.2", place.display());
        load_text(&leaf_spine("1ms", &workload), "test.toml", &[])
    };
    let text = "0 0\n10000 0.5\n30000 1\n";
    let (one, other) = (file("one", text), file("other", text));
    let loaded = scenario(&one).expect("it is right");
    assert_eq!(
        scenario(&other).expect("it is right").digest,
        loaded.digest,
        "elsewhere it is the same"
    );
    let stored = loaded.document.to_string();
    assert_eq!(
        load_json(&stored, "stored", &[]).expect("nothing has changed").digest,
        loaded.digest
    );
    std::fs::write(&one, "0 0\n10000 0.6\n30000 1\n").expect("a temporary file");
    assert_ne!(scenario(&one).expect("it is right").digest, loaded.digest);
    for again in [
        load_json(&stored, "stored", &[]),
        load_text(&loaded.toml, "stored", &[]),
    ] {
        let said = again.expect_err("the file has changed").to_string();
        assert!(said.contains("has changed since the scenario was stored"), "{said}");
    }
    for written in [one, other] {
        std::fs::remove_file(&written).expect("it was written");
    }
}

/// A kept connection has no second handshake: the next flow between the same hosts begins half a round trip earlier,
/// and in a window that has grown.
#[test]
fn a_kept_connection_has_no_handshake() {
    let list = std::env::temp_dir().join(format!("tailback-kept-{}", std::process::id()));
    let lines = "host1 host2 1000 0\nhost1 host2 1000 0.001\nhost2 host1 1000 0.002\nhost1 host2 90000 0.003\n";
    std::fs::write(&list, lines).expect("a temporary file");
    let times = |connection: &str| {
        let o = run_text(&leaf_spine(
            "20ms",
            &format!("list = \"{}\"\nconnection = \"{connection}\"", list.display()),
        ));
        let groups = o["groups"].rows();
        assert_eq!(groups, 1);
        (column(&o, "transfers", "completion_s"), o)
    };
    let (new, _) = times("new");
    let (kept, _) = times("keep");
    std::fs::remove_file(&list).expect("it was written");
    // host1 and host2 are at one leaf: two links of 1 us each way, and a SYN and its answer of 52 bytes at 10 Gb/s.
    let handshake = 4.0 * 1e-6 + 4.0 * 52.0 * 8.0 / 10e9;
    assert!(
        (new[0] - kept[0]).abs() < 1e-12,
        "the first has no connection before it"
    );
    assert!(
        (new[1] - kept[1] - handshake).abs() < 1e-8,
        "{new:?} {kept:?} {handshake}"
    );
    assert!(
        (new[2] - kept[2]).abs() < 1e-12,
        "the other direction has a connection of its own"
    );
    assert!(new[3] - kept[3] >= handshake - 1e-8, "{new:?} {kept:?}");
}

/// Loads of layers by hand: of two leaves with two hosts each, two thirds of all pairs are apart.
#[test]
fn each_layer_has_its_load() {
    let text = |more: &str| {
        format!(
            "duration = \"1ms\"\npaths = \"flow\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
             hosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\nqueue = \"droptail\"\n{more}\n[workload.w]\n\
             sizes = \"web-search\"\n\
             load = 0.6\n"
        )
    };
    for (more, above) in [
        ("", 0.4),
        ("oversubscription = 4", 1.6),
        ("spine_rate = \"40Gbps\"", 0.1),
    ] {
        let loaded = load_text(&text(more), "test.toml", &[]).expect("it is right");
        let loads: Vec<(&str, f64)> = loaded.loads.iter().map(|l| (l.layer.as_str(), l.load)).collect();
        assert_eq!(loads.iter().map(|l| l.0).collect::<Vec<_>>(), ["host", "leaf-spine"]);
        assert!(
            (loads[0].1 - 0.6).abs() < 1e-3 && (loads[1].1 - above).abs() < 1e-3,
            "{more}: {loads:?}"
        );
        let warned = loaded
            .warnings
            .iter()
            .any(|w| w.contains("times what the leaf-spine links carry"));
        assert_eq!(warned, above > 1.0, "{:?}", loaded.warnings);
        // The other way round: as much as loads this layer by 0.3.
        let text = text(more).replace("load = 0.6", "load = 0.3\nload_of = \"leaf-spine\"");
        let loads = load_text(&text, "test.toml", &[]).expect("it is right").loads;
        let host = 0.3 * 0.6 / above;
        assert!(
            (loads[0].load / host - 1.0).abs() < 1e-3 && (loads[1].load - 0.3).abs() < 1e-3,
            "{more}: {loads:?}"
        );
    }
    let fat = "duration = \"1ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
               queue = \"droptail\"\n[workload.w]\nsizes = \"web-search\"\nload = 0.5\n";
    let loaded = load_text(fat, "test.toml", &[]).expect("it is right");
    let load = |layer: &str| {
        loaded
            .loads
            .iter()
            .find(|l| l.layer == layer)
            .map_or(f64::NAN, |l| l.load)
    };
    // Of 15 other hosts one is at the same edge, and 3 in the same pod.
    assert!((load("edge-agg") - 0.5 * 14.0 / 15.0).abs() < 1e-3 && (load("agg-core") - 0.5 * 12.0 / 15.0).abs() < 1e-3);
}

/// The table of layers is that of links, summed.
#[test]
fn layers_are_their_links() {
    let o = run_text(&leaf_spine("2ms", "sizes = \"web-search\"\nload = 0.8"));
    let (layers, links) = (&o["layers"], &o["links"]);
    let names: Vec<String> = (0..layers.rows()).map(|i| text(layers, "layer", i)).collect();
    assert_eq!(names, ["host", "host.reverse", "leaf-spine", "leaf-spine.reverse"]);
    for (i, name) in names.iter().enumerate() {
        let (layer, reverse) = name
            .strip_suffix(".reverse")
            .map_or((name.as_str(), false), |l| (l, true));
        let own = |j: &usize| {
            let link = text(links, "name", *j);
            link.ends_with(".reverse") == reverse && (link.starts_with("host") == (layer == "host"))
        };
        let own: Vec<usize> = (0..links.rows()).filter(own).collect();
        let values = |of: &str| own.iter().map(|j| number(links, of, *j)).collect::<Vec<f64>>();
        let n = own.len() as f64;
        assert_eq!(number(layers, "ports", i), n);
        for of in ["arrived_packets", "dropped_packets", "marked_packets"] {
            assert_eq!(number(layers, of, i), values(of).iter().sum::<f64>(), "{name} {of}");
        }
        for (of, mean) in [
            ("utilisation_mean", "utilisation"),
            ("mean_queue_packets", "mean_queue_packets"),
        ] {
            assert!(
                (number(layers, of, i) - values(mean).iter().sum::<f64>() / n).abs() < 1e-12,
                "{name} {of}"
            );
        }
        let longest = values("sojourn_max_s").into_iter().fold(0.0, f64::max);
        assert_eq!(number(layers, "sojourn_max_s", i), longest);
    }
    let alone = run_text(
        "duration = \"1ms\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"1us\"\nqueue = \
                          \"droptail\"\n[flows.f]\n",
    );
    assert_eq!(alone["layers"].rows(), 0);
}
