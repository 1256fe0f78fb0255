//! What one more run costs in memory when its results are stored: plans of 1,000 and 10,000 short runs, every
//! allocation counted. Rows are on disk; what stays is the plan, the keys, where their rows are, and what each run
//! cost.
//!
//! A counting allocator sees everything, so nothing else may run in this process: one test.

#[path = "../../tailback-sim/tests/counting/mod.rs"]
mod counting;

use std::path::Path;
use std::sync::Arc;
use tailback_plan::{Execution, Keep, Plan, Point};
use tailback_scenario::load_text;

const SHORT: &str = r#"
duration = "1ms"
topology = { kind = "dumbbell", rate = "1Mbps", delay = "1ms", queue = { kind = "droptail", buffer = "4 packets" } }
[flows.bulk]
count = 1
"#;

/// What a plan holds, in bytes: at most, and when its runs are done.
struct Held {
    peak: f64,
    left: f64,
}

/// Make and execute a plan of `runs` runs, of which `reused` are stored already.
fn held(runs: u64, keep: Option<&Path>, reused: usize) -> Held {
    let loaded = Arc::new(load_text(SHORT, "short.toml", &[]).unwrap_or_else(|e| panic!("{e}")));
    let before = counting::from_here();
    let point = Point {
        labels: vec![("load".into(), "0.5".into())],
        part: String::new(),
        loaded,
    };
    let plan = Plan::new(vec![point], runs, "source");
    let r = plan.execute(Execution {
        keep: keep.map(Keep::at),
        jobs: 2,
        ..Execution::new(&mut |_| true)
    });
    assert!(r.failure.is_none() && r.store_error.is_none(), "{:?}", r.store_error);
    assert_eq!(r.report.reused, reused);
    Held {
        peak: (counting::peak() - before) as f64,
        left: (counting::live() - before) as f64,
    }
}

#[test]
fn a_run_more_costs_little_memory_once_it_is_stored() {
    const FEW: u64 = 1_000;
    const MANY: u64 = 10_000;
    let dir = std::env::temp_dir().join(format!("tailback-memory-of-a-plan-{}", std::process::id()));
    let at = |runs: u64| {
        let dir = dir.join(runs.to_string());
        [0, runs as usize].map(|reused| held(runs, Some(&dir), reused))
    };
    let (few, many) = (at(FEW), at(MANY));
    let _ = std::fs::remove_dir_all(&dir);
    let each = |what: &str, few: f64, many: f64| {
        let each = (many - few) / (MANY - FEW) as f64;
        println!("{what}: {few:.0} B with {FEW} runs, {many:.0} B with {MANY}, {each:.0} B a run");
        assert!(each < 600.0, "{what}: a run more costs {each:.0} B");
    };
    each("left when all are stored", few[0].left, many[0].left);
    each("most when all were stored before", few[1].peak, many[1].peak);
    // How many rows wait for the disk depends on its speed: less than half of all, or they are not written as they
    // come.
    let in_memory = held(MANY, None, 0).peak;
    println!(
        "most while {MANY} are stored: {:.0} B; kept in memory: {in_memory:.0} B",
        many[0].peak
    );
    assert!(many[0].peak < in_memory / 2.0);
}
