//! The contract of determinism, through plans and the files they store.
//!
//! * Scenario and seed decide every byte: stored folders are equal however many threads ran them, whether the work was
//!   interrupted, killed in the middle of writing, or grew out of a smaller plan.
//! * Common random numbers: every discipline at the bottleneck meets the same packets at the same instants.
//! * Locality: links and flows elsewhere, whatever their names, change nothing in the tables of the others. (Not so
//!   with `mapper = "hash"`: it hashes the numbers of nodes and flows, and more of them elsewhere means other numbers
//!   here.)

use crate::plans::{Folder, assert_same, files, plan, point, table, values};
use std::path::Path;
use tailback_plan::execute::Results;
use tailback_plan::{Execution, Keep, Plan, Report};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::{Outcome, Table};
use tailback_sim::run::run;

/// Something of everything: TCP and datagrams, random sizes, starts, losses, delays and drops; every kind of table.
const LAB: &str = r#"
duration = "4s"
warmup = "1s"
interval = "500ms"
log_drops = true
[link.entry]
from = "hosts"
to = "left"
rate = "100Mbps"
delay = "1ms"
queue = { kind = "droptail", buffer = "unlimited" }
[link.bottleneck]
from = "left"
to = "right"
rate = "10Mbps"
delay = "10ms"
queue = { kind = "red", buffer = "60 packets" }
impair = [{ kind = "random", probability = 0.001 }]
reverse_queue = { kind = "droptail", buffer = "unlimited" }
[flows.bulk]
from = "left"
to = "right"
count = 5
access_rate = "20Mbps"
access_delay = ["1ms", "4ms", "7ms"]
send_delay = "100us"
start = { kind = "uniform", to = "500ms" }
tcp = { profile = "ns2", payload = "1460B", window_cap = "100 packets" }
[flows.modern]
from = "left"
to = "right"
count = 2
access_rate = "20Mbps"
access_delay = "2ms"
[flows.calls]
from = "hosts"
to = "right"
count = 3
transport = "udp"
traffic = { kind = "poisson", rate = "1Mbps" }
sizes = { kind = "exponential", mean = "400B", min = "40B", max = "1500B" }
[flows.bursts]
from = "hosts"
to = "right"
transport = "udp"
traffic = { kind = "on-off", rate = "3Mbps", mean_on = "100ms", mean_off = "200ms" }
start = { kind = "uniform", to = "500ms" }
[record.queue]
link = "bottleneck"
probes = ["queue"]
on_change = true
[record.arrivals]
link = "entry"
probes = ["queue_bytes", "delivered_bytes"]
on_change = true
[record.windows]
flows = "bulk"
probes = ["cwnd"]
every = "100ms"
"#;

/// The queues to compare, as overrides.
const QUEUES: [(&str, &str); 9] = [
    ("droptail", r#"{ kind = "droptail", buffer = "60 packets" }"#),
    ("random-drop", r#"{ kind = "random-drop", buffer = "60 packets" }"#),
    ("front-drop", r#"{ kind = "front-drop", buffer = "60 packets" }"#),
    ("red", r#"{ kind = "red", buffer = "60 packets" }"#),
    ("blue", r#"{ kind = "blue", buffer = "60 packets" }"#),
    ("codel", r#"{ kind = "codel", buffer = "60 packets" }"#),
    ("drr", r#"{ kind = "drr", buffer = "60 packets" }"#),
    ("tdrr", r#"{ kind = "tdrr", buffer = "60 packets" }"#),
    ("qsdrr", r#"{ kind = "qsdrr", buffer = "60 packets" }"#),
];

fn queue(spec: &str) -> String {
    format!("link.bottleneck.queue={spec}")
}

fn store(plan: &Plan, dir: &Path, jobs: usize, progress: &mut dyn FnMut(&Report) -> bool) -> Results {
    let r = plan.execute(Execution {
        keep: Some(Keep::at(dir)),
        jobs,
        ..Execution::new(progress)
    });
    assert!(
        r.failure.is_none() && r.store_error.is_none(),
        "{:?} {:?}",
        r.failure,
        r.store_error
    );
    r
}

fn whole(plan: &Plan, dir: &Path, jobs: usize) -> Results {
    let r = store(plan, dir, jobs, &mut |_| true);
    assert!(!r.interrupted);
    r
}

fn points(names: &[&str]) -> Vec<tailback_plan::Combination> {
    QUEUES
        .iter()
        .filter(|(n, _)| names.contains(n))
        .map(|(n, q)| point(n, &[queue(q)]))
        .collect()
}

#[test]
fn stored_results_are_the_same_bytes_however_they_came_about() {
    let study = plan(LAB, &points(&["droptail", "red", "codel", "qsdrr"]), 4);
    let reference = Folder::new("reference");
    let r = whole(&study, &reference.0, 1);
    assert_eq!((r.report.done, r.report.reused), (16, 0));
    assert!(files(&reference.0).len() >= 8, "one file a table");
    for name in [
        "runs",
        "flows",
        "groups",
        "links",
        "losses",
        "intervals",
        "series",
        "log",
    ] {
        assert!(table(&r, name).rows() >= 16, "{name} says something");
    }

    for jobs in [1, 2, 7] {
        let again = Folder::new(&format!("jobs{jobs}"));
        whole(&study, &again.0, jobs);
        assert_same(&reference.0, &again.0, &format!("{jobs} threads"));
    }

    // Complete already: nothing is run, nothing is changed.
    let r = whole(&study, &reference.0, 2);
    assert_eq!(r.report.reused, 16);

    // Stopped, stopped again, and killed while a chunk was being written.
    let broken = Folder::new("broken");
    let mut done = 0;
    for _ in 0..2 {
        let before = done;
        // The first report may come before the first run is over.
        while done == before {
            let r = store(&study, &broken.0, 2, &mut |_| false);
            assert!(r.interrupted && r.report.done < 16, "{:?}", r.report);
            done = r.report.done;
        }
    }
    let partial = broken.0.join("chunks/000777-89abcdef.partial");
    std::fs::create_dir_all(&partial).expect("a folder");
    std::fs::write(partial.join("runs.parquet"), b"PAR1 and then the power went").expect("a file");
    let r = whole(&study, &broken.0, 2);
    assert!(
        (2..16).contains(&r.report.reused),
        "what was finished is not run again: {:?}",
        r.report
    );
    assert_same(&reference.0, &broken.0, "interrupted and resumed");

    // Grown from fewer points and replications.
    let grown = Folder::new("grown");
    whole(&plan(LAB, &points(&["red"]), 2), &grown.0, 2);
    whole(&plan(LAB, &points(&["red", "qsdrr"]), 3), &grown.0, 2);
    let r = whole(&study, &grown.0, 2);
    assert_eq!(r.report.reused, 6);
    assert_same(&reference.0, &grown.0, "extended");
}

fn outcome(text: &str, overrides: &[String]) -> Outcome {
    let loaded = load_text(text, "lab.toml", overrides).unwrap_or_else(|e| panic!("{e}"));
    run(&loaded.spec, 7, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Time and value of every point of a probe.
fn series(t: &Table, what: &str, probe: &str) -> Vec<(u64, u64)> {
    let given = [("what", what), ("probe", probe)];
    let bits = |c: &str| values(t, c, &given).into_iter().map(f64::to_bits).collect::<Vec<_>>();
    bits("time_s").into_iter().zip(bits("value")).collect()
}

/// Packets of `calls` and `bursts` reach the link `entry` when they are born; its backlog, point by point, tells when
/// that was and how long they were.
#[test]
fn every_discipline_meets_the_same_packets() {
    let all: Vec<Outcome> = QUEUES.iter().map(|(_, q)| outcome(LAB, &[queue(q)])).collect();
    let first = &all[0];
    let arrivals = series(&first["series"], "link.entry", "delivered_bytes");
    assert!(arrivals.len() > 2000, "{}", arrivals.len());
    for ((name, _), o) in QUEUES.iter().zip(&all).skip(1) {
        for probe in ["queue_bytes", "delivered_bytes"] {
            let same = series(&o["series"], "link.entry", probe) == series(&first["series"], "link.entry", probe);
            assert!(same, "{name}: other arrivals than under droptail");
        }
        assert_eq!(
            values(&o["flows"], "start_s", &[]),
            values(&first["flows"], "start_s", &[]),
            "{name}: starts"
        );
        for group in ["calls", "bursts"] {
            let sent = |o: &Outcome| values(&o["flows"], "sent_packets", &[("group", group)]);
            assert_eq!(sent(o), sent(first), "{name}: {group}");
        }
        // And they do something else with them.
        let goodput = |o: &Outcome| values(&o["flows"], "goodput_bps", &[("group", "bulk")]);
        assert_ne!(goodput(o), goodput(first), "{name} does what droptail does");
    }
}

/// Another part of the network, before or after the laboratory in every order of names.
fn elsewhere(prefix: &str) -> String {
    format!(
        r#"
[link.{prefix}way]
from = "{prefix}here"
to = "{prefix}there"
rate = "7Mbps"
delay = "3ms"
queue = {{ kind = "red", buffer = "20 packets" }}
[flows.{prefix}other]
from = "{prefix}here"
to = "{prefix}there"
count = 3
access_rate = "10Mbps"
access_delay = "1ms"
start = {{ kind = "uniform", to = "1s" }}
[flows.{prefix}noise]
from = "{prefix}here"
to = "{prefix}there"
transport = "udp"
traffic = {{ kind = "poisson", rate = "1Mbps" }}
"#
    )
}

/// The rows of a table whose first column names nothing of elsewhere, as text; by bits, so that NaN equals NaN.
fn own_rows(t: &Table, prefix: &str) -> Vec<String> {
    let foreign = |v: &serde_json::Value| {
        v.as_str()
            .is_some_and(|s| s.split('.').any(|part| part.starts_with(prefix)))
    };
    (0..t.rows())
        .map(|i| t.row_json(i))
        .filter(|row| !row.values().any(foreign))
        .map(|row| serde_json::Value::Object(row).to_string())
        .collect()
}

#[test]
fn what_happens_elsewhere_changes_nothing_here() {
    for (name, q) in QUEUES {
        let alone = outcome(LAB, &[queue(q)]);
        for prefix in ["aa-", "zz-"] {
            // Written first, so that its nodes and streams are made first, too.
            let at = LAB.find("[link.entry]").expect("the first table");
            let text = format!("{}{}{}", &LAB[..at], elsewhere(prefix), &LAB[at..]);
            let both = outcome(&text, &[queue(q)]);
            assert!(
                both["flows"].rows() == alone["flows"].rows() + 4,
                "the others are there"
            );
            for (a, b) in alone.tables.iter().zip(&both.tables) {
                assert!(
                    own_rows(a, prefix) == own_rows(b, prefix),
                    "{name}: table {} with {prefix} elsewhere",
                    a.name
                );
            }
        }
    }
}
