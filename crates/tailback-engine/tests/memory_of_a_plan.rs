//! What one more run costs in memory when its results are stored: plans of 1,000 and 10,000 short runs, every
//! allocation counted. Rows are on disk; what stays is the plan, the keys, where their rows are, and what each run
//! cost.
//!
//! A counting allocator sees everything, so nothing else may run in this process: one test.

mod counting;

use std::path::Path;
use std::sync::Arc;
use tailback_engine::plan::{Execution, Keep, Plan, Point};
use tailback_engine::scenario::load_text;

const SHORT: &str = r#"
duration = "1ms"
topology = { kind = "dumbbell", rate = "1Mbps", delay = "1ms", queue = { kind = "droptail", buffer = "4 packets" } }
[flows.bulk]
count = 1
"#;

/// The most that making and executing a plan of so many runs holds, bytes: first all of it, then all of it again.
fn peak(runs: u64, dir: &Path) -> [f64; 2] {
    let loaded = Arc::new(load_text(SHORT, "short.toml", &[]).unwrap_or_else(|e| panic!("{e}")));
    [0, runs as usize].map(|reused| {
        let before = counting::from_here();
        let point = Point {
            labels: vec![("load".into(), "0.5".into())],
            part: String::new(),
            loaded: loaded.clone(),
        };
        let plan = Plan::new(vec![point], runs, "source");
        let r = plan.execute(Execution {
            keep: Some(Keep::at(dir)),
            jobs: 2,
            ..Execution::new(&mut |_| true)
        });
        assert!(r.failure.is_none() && r.store_error.is_none(), "{:?}", r.store_error);
        assert_eq!(r.report.reused, reused);
        (counting::peak() - before) as f64
    })
}

#[test]
fn a_run_more_costs_little_memory_once_it_is_stored() {
    let dir = std::env::temp_dir().join(format!("tailback-memory-of-a-plan-{}", std::process::id()));
    let at = |runs: u64| {
        let dir = dir.join(runs.to_string());
        peak(runs, &dir)
    };
    let (few, many) = (at(1_000), at(10_000));
    let _ = std::fs::remove_dir_all(&dir);
    for (what, few, many) in [("first", few[0], many[0]), ("again", few[1], many[1])] {
        let each = (many - few) / 9_000.0;
        println!("{what}: {few:.0} B with 1,000 runs, {many:.0} B with 10,000, {each:.0} B a run");
        assert!(each < 600.0, "{what}: a run more costs {each:.0} B");
    }
}
