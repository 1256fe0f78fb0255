//! A folder of results survives kills, damage, a second process, another plan, and growth.

use crate::plans::{Folder, assert_same, files};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tailback_plan::execute::Results;
use tailback_plan::lock::Lock;
use tailback_plan::store::{Finish, LOCK, Others, Stored, status};
use tailback_plan::{Axis, Combination, Execution, Keep, Key, Plan, Point, Report};
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_scenario::load_text;
use tailback_sim::results::Data;

/// Short runs whose estimated work lets a plan of a few dozen have several chunks.
const SHORT: &str = r#"
duration = "DURATION"
interval = "10ms"
log_drops = true
topology = { kind = "dumbbell", rate = "1Gbps", delay = "1ms", queue = { kind = "red", buffer = "40 packets" } }
[flows.bulk]
count = 2
rtt = "8ms"
start = { kind = "uniform", to = "1ms" }
[record.queue]
link = "bottleneck"
probes = ["queue"]
every = "2ms"
"#;

fn points(buffers: &[u64], duration: &str) -> Vec<Combination> {
    let values: Vec<String> = buffers.iter().map(|b| format!("{b} packets")).collect();
    let mut all = Axis::of_values("buffer", &["topology.queue.buffer".into()], &values).0;
    all.iter_mut()
        .for_each(|c| c.overrides.push(format!("duration={duration}")));
    all
}

fn plan_of(buffers: &[u64], replications: u64, duration: &str) -> Plan {
    let text = SHORT.replace("DURATION", "20ms");
    Plan::of_combinations(&text, "short.toml", &points(buffers, duration), replications, "source")
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Sixty runs in several chunks.
fn plan() -> Plan {
    plan_of(&[20, 40, 80], 20, "200ms")
}

fn execute(plan: &Plan, keep: Keep, jobs: usize, progress: &mut dyn FnMut(&Report) -> bool) -> Results {
    plan.execute(Execution {
        keep: Some(keep),
        jobs,
        ..Execution::new(progress)
    })
}

fn whole(plan: &Plan, keep: Keep) -> Results {
    let r = execute(plan, keep, 2, &mut |_| true);
    assert!(r.failure.is_none() && !r.interrupted, "{:?}", r.failure);
    assert!(r.store_error.is_none(), "{:?}", r.store_error);
    r
}

fn chunked(dir: &Path) -> Keep {
    Keep {
        finish: Finish::Chunks,
        build: "source".into(),
        ..Keep::at(dir)
    }
}

fn stored(dir: &Path) -> Vec<Key> {
    let all = status(dir).runs.into_iter().filter(|r| r.stored);
    all.map(|r| r.key).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for (name, bytes) in files(from) {
        let path = to.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    if from.join("manifest.json").is_file() {
        std::fs::copy(from.join("manifest.json"), to.join("manifest.json")).expect("a manifest");
    }
}

fn manifest(dir: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(dir.join("manifest.json")).expect("a manifest");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// Stop a plan when this many runs are done. The folder is then as the stop has left it.
fn stopped(plan: &Plan, dir: &Path, after: usize) {
    for _ in 0..50 {
        let r = execute(plan, chunked(dir), 2, &mut |r| r.done < after);
        assert!(r.store_error.is_none(), "{:?}", r.store_error);
        if status(dir).runs.iter().any(|r| !r.stored) {
            return;
        }
        std::fs::remove_dir_all(dir).expect("a folder");
    }
    panic!("the plan was always done before it was stopped");
}

/// What a child of this test process does: run the plan into the folder it is told.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os("TAILBACK_STORE_CHILD") {
        let finish = if std::env::var_os("TAILBACK_STORE_CHUNKS").is_some() {
            Finish::Chunks
        } else {
            Finish::Tables
        };
        let keep = Keep {
            finish,
            build: "source".into(),
            ..Keep::at(dir)
        };
        whole(&plan(), keep);
    }
}

fn start(dir: &Path, finish: Finish) -> std::process::Child {
    let mut c = Command::new(std::env::current_exe().expect("this program"));
    c.args(["--exact", "store::child", "--test-threads", "1"])
        .env("TAILBACK_STORE_CHILD", dir);
    if finish == Finish::Chunks {
        c.env("TAILBACK_STORE_CHUNKS", "1");
    }
    c.stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    c.spawn().expect("a child")
}

/// Wait until a chunk is stored, or the process has ended.
fn wait_for_chunk(dir: &Path, c: &mut std::process::Child) {
    let there = || {
        let inside = std::fs::read_dir(dir.join("chunks")).into_iter().flatten().flatten();
        inside.map(|e| e.path()).any(|p| p.extension().is_none())
    };
    while !there() && c.try_wait().is_ok_and(|ended| ended.is_none()) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(unix)]
#[test]
fn kills_at_any_moment_lose_no_stored_run_and_the_end_is_the_same() {
    for finish in [Finish::Tables, Finish::Chunks] {
        let reference = Folder::new(&format!("uninterrupted-{finish:?}"));
        let keep = |dir: &Path| Keep { finish, ..chunked(dir) };
        let began = std::time::Instant::now();
        whole(&plan(), keep(&reference.0));
        let took = began.elapsed().as_secs_f64();
        let mut met = 0;
        for n in 0..12u32 {
            let f = Folder::new(&format!("killed-{finish:?}-{n}"));
            let mut before: Vec<Key> = Vec::new();
            // Moments spread over the whole run, and moments after a chunk was stored; two kills in a row.
            for again in 0..2u32 {
                let mut c = start(&f.0, finish);
                if n % 2 == 0 {
                    std::thread::sleep(Duration::from_secs_f64(took * f64::from(n * 2 + again) / 24.0));
                } else {
                    wait_for_chunk(&f.0, &mut c);
                    std::thread::sleep(Duration::from_millis(u64::from(n + again)));
                }
                c.kill().expect("a kill");
                c.wait().expect("an end");
                let now = stored(&f.0);
                assert!(before.iter().all(|k| now.contains(k)), "a kill lost stored runs");
                before = now;
            }
            let unfinished = before.len() < 60;
            met += usize::from(unfinished && !before.is_empty());
            let r = whole(&plan(), keep(&f.0));
            assert_eq!(r.report.reused, before.len(), "what is stored is not run again");
            let kept = status(&f.0).runs.iter().filter(|r| r.kept).count();
            assert_eq!(kept, before.len(), "and status says so");
            assert_same(&reference.0, &f.0, &format!("{finish:?}, kill {n}"));
        }
        assert!(met > 0, "no kill met a stored run: this proves nothing");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for finish in [Finish::Tables, Finish::Chunks] {
        let (a, b) = (Folder::new("one-thread"), Folder::new("five-threads"));
        for (f, jobs) in [(&a, 1), (&b, 5)] {
            let r = execute(
                &plan(),
                Keep {
                    finish,
                    ..chunked(&f.0)
                },
                jobs,
                &mut |_| true,
            );
            assert!(r.store_error.is_none() && !r.interrupted);
        }
        assert_same(&a.0, &b.0, &format!("{finish:?}"));
    }
}

/// Every file of a folder is damaged in every way. It is named, intact runs are not run again, and the results are the
/// same in the end.
#[test]
fn damage_is_named_and_only_what_is_damaged_runs_again() {
    for finish in [Finish::Tables, Finish::Chunks] {
        let good = Folder::new(&format!("undamaged-{finish:?}"));
        let keep = |dir: &Path| Keep { finish, ..chunked(dir) };
        whole(&plan(), keep(&good.0));
        let names: Vec<PathBuf> = files(&good.0).into_keys().collect();
        for (n, name) in names.iter().enumerate() {
            let f = Folder::new(&format!("damaged-{finish:?}-{n}"));
            copy(&good.0, &f.0);
            let path = f.0.join(name);
            let mut bytes = std::fs::read(&path).expect("a file");
            let at = bytes.len() / 3;
            match n % 4 {
                // Early, where the values of the first chunk are: most of a small table is its footer.
                0 => bytes[100] ^= 1,
                1 => bytes.truncate(at),
                2 => bytes.clear(),
                _ => std::fs::remove_file(&path).expect("a file"),
            }
            if n % 4 < 3 {
                std::fs::write(&path, bytes).expect("a file");
            }
            let before = status(&f.0);
            assert!(
                before.damaged.contains(&path),
                "{} is named: {:?}",
                path.display(),
                before.damaged
            );
            let left = stored(&f.0).len();
            assert!(left < 60);
            // A bit costs one chunk; so does a file of a chunk.
            assert!(
                left > 0 || (finish == Finish::Tables && n % 4 > 0),
                "{}",
                path.display()
            );
            let r = whole(&plan(), keep(&f.0));
            assert_eq!(r.report.reused, left);
            assert!(r.damaged.contains(&path));
            assert_same(&good.0, &f.0, &format!("{} repaired", name.display()));
            assert!(status(&f.0).damaged.is_empty());
        }
    }
}

/// The tables say themselves what they hold: intact runs are not run again because a manifest is missing or damaged.
#[test]
fn a_damaged_manifest_is_named_and_costs_no_run() {
    for finish in [Finish::Tables, Finish::Chunks] {
        let good = Folder::new(&format!("good-manifest-{finish:?}"));
        let keep = |dir: &Path| Keep { finish, ..chunked(dir) };
        whole(&plan(), keep(&good.0));
        let text = std::fs::read(good.0.join("manifest.json")).expect("a manifest");
        let mut damages: Vec<Option<Vec<u8>>> = vec![None, Some(Vec::new()), Some(b"{".to_vec()), Some(vec![0xff; 99])];
        damages.push(Some(text[..text.len() / 2].to_vec()));
        for at in (0..text.len()).step_by(text.len() / 12) {
            let mut bytes = text.clone();
            bytes[at] ^= 1;
            damages.push(Some(bytes));
        }
        for (n, damage) in damages.into_iter().enumerate() {
            let f = Folder::new(&format!("bad-manifest-{finish:?}-{n}"));
            copy(&good.0, &f.0);
            let path = f.0.join("manifest.json");
            match damage {
                Some(bytes) => std::fs::write(&path, bytes).expect("a file"),
                None => std::fs::remove_file(&path).expect("a file"),
            }
            let s = status(&f.0);
            assert_eq!(s.damaged, std::slice::from_ref(&path), "damage {n} is named");
            assert_eq!(s.runs.iter().filter(|r| r.stored).count(), 60, "damage {n}");
            let r = whole(&plan(), keep(&f.0));
            assert_eq!((r.report.reused, r.damaged), (60, vec![path]), "damage {n}");
            assert_same(&good.0, &f.0, &format!("damage {n} repaired"));
            let again = status(&f.0);
            assert_eq!((again.status.as_str(), again.damaged.len()), ("done", 0));
            assert_eq!(manifest(&f.0)["scenarios"], manifest(&good.0)["scenarios"]);
        }
    }
}

#[test]
fn a_second_process_is_refused_with_the_first_ones_number() {
    let f = Folder::new("locked");
    std::fs::create_dir_all(&f.0).expect("a folder");
    let lock = Lock::take(&f.0, LOCK).expect("a lock");
    assert_eq!(status(&f.0).in_use_by, Some(std::process::id()));
    let r = execute(&plan(), chunked(&f.0), 2, &mut |_| true);
    let e = r.store_error.expect("refused").to_string();
    assert!(e.contains(&format!("in use by process {}", std::process::id())), "{e}");
    assert!(Lock::take(&f.0, "shard-1").is_ok(), "another lock is free");
    drop(lock);
    // What a dead process left is no obstacle.
    std::fs::write(f.0.join(LOCK), "999999999").expect("a file");
    assert_eq!(status(&f.0).in_use_by, None);
    whole(&plan(), chunked(&f.0));
    assert!(!f.0.join(LOCK).exists());
}

#[test]
fn another_plan_is_kept_beside_unless_it_is_to_be_replaced() {
    let (one, other) = (plan_of(&[20], 5, "20ms"), plan_of(&[30], 4, "20ms"));
    let f = Folder::new("beside");
    whole(&one, Keep::at(&f.0));
    let tables = files(&f.0);
    whole(&other, Keep::at(&f.0));
    assert_eq!(stored(&f.0).len(), 9);
    assert_eq!(whole(&other, Keep::at(&f.0)).report.reused, 4);
    let r = whole(&one, Keep::at(&f.0));
    assert_eq!((r.report.reused, r.replaced, stored(&f.0).len()), (5, 0, 9));
    for (name, bytes) in &tables {
        assert!(files(&f.0)[name] == *bytes, "{}", name.display());
    }
    let replace = Keep {
        others: Others::Replace,
        ..Keep::at(&f.0)
    };
    assert_eq!(whole(&one, replace).replaced, 4);
    assert_eq!(files(&f.0), tables);
}

#[test]
fn a_plan_that_grows_redoes_nothing() {
    let f = Folder::new("grown");
    whole(&plan_of(&[20], 10, "200ms"), Keep::at(&f.0));
    assert_eq!(
        whole(&plan_of(&[20, 80], 15, "200ms"), Keep::at(&f.0)).report.reused,
        10
    );
    assert_eq!(whole(&plan(), Keep::at(&f.0)).report.reused, 30);
    let at_once = Folder::new("at-once");
    whole(&plan(), Keep::at(&at_once.0));
    assert_same(&at_once.0, &f.0, "grown");

    // As chunks: those of the smaller plan stay as they are.
    let f = Folder::new("grown-chunks");
    whole(&plan_of(&[20], 10, "200ms"), chunked(&f.0));
    let first = files(&f.0);
    assert_eq!(whole(&plan_of(&[20], 30, "200ms"), chunked(&f.0)).report.reused, 10);
    let now = files(&f.0);
    assert!(first.iter().all(|(name, bytes)| now[name] == *bytes));
    assert_eq!(stored(&f.0).len(), 30);
}

#[test]
fn a_stopped_plan_keeps_what_is_finished_and_ends_the_same() {
    let reference = Folder::new("never-stopped");
    whole(&plan(), chunked(&reference.0));
    let f = Folder::new("stopped");
    stopped(&plan(), &f.0, 7);
    let kept = stored(&f.0).len();
    assert!(kept > 0);
    assert_eq!(whole(&plan(), chunked(&f.0)).report.reused, kept);
    assert_same(&reference.0, &f.0, "stopped and resumed");
}

#[test]
fn parts_have_folders_and_labels_of_their_own_inside_the_folder_of_results() {
    let point = |part: &str, label: &str| Point {
        labels: vec![(label.into(), "1".into())],
        part: part.into(),
        loaded: std::sync::Arc::new(
            load_text(&SHORT.replace("DURATION", "20ms"), "s", &[]).unwrap_or_else(|e| panic!("{e}")),
        ),
    };
    let mut points = vec![point("sb", "queue"), point("../../up", "load")];
    std::sync::Arc::make_mut(&mut points[1].loaded).spec.seed = 77;
    let plan = Plan::with_replications(points, &[2, 1], "source");
    let f = Folder::new("parts");
    whole(&plan, chunked(&f.0));
    let names: Vec<String> = files(&f.0).keys().map(|p| p.display().to_string()).collect();
    assert_eq!(names.iter().filter(|n| n.starts_with("sb/")).count(), 11, "{names:?}");
    assert_eq!(
        names.iter().filter(|n| n.starts_with("_.._up/")).count(),
        11,
        "{names:?}"
    );
    let mut all = Stored::open(&f.0);
    let key = &plan.runs[1].key.to_string();
    let flows = all.table(key, "flows").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(flows.rows(), 2);
    assert!(all.table(key, "series").is_ok_and(|t| t.rows() > 5));
    assert!(all.table("nobody", "flows").is_err() && all.table(key, "nothing").is_err());
}

#[test]
fn a_finished_folder_explains_itself() {
    let f = Folder::new("explained");
    let plan = plan_of(&[20, 40], 2, "20ms");
    let keep = || Keep {
        about: [("command".to_string(), "test".into())].into_iter().collect(),
        ..Keep::at(&f.0)
    };
    let r = whole(&plan, keep());
    let m = manifest(&f.0);
    assert_eq!(
        (m["status"].as_str(), m["command"].as_str()),
        (Some("done"), Some("test"))
    );
    assert!(m["runs"][0]["cpu_s"].as_f64().is_some_and(|s| s > 0.0));
    assert!(r.reports[0].cpu_s > 0.0);
    // The plan again, from what the manifest says of it.
    let points = m["points"].as_array().expect("points").iter().map(|p| {
        let text = m["scenarios"][p["scenario"].as_str().expect("a digest")]
            .as_str()
            .expect("a text");
        Point {
            labels: vec![("buffer".into(), p["labels"]["buffer"].as_str().expect("a label").into())],
            part: String::new(),
            loaded: std::sync::Arc::new(load_text(text, "again", &[]).unwrap_or_else(|e| panic!("{e}"))),
        }
    });
    let again = Plan::new(points.collect(), 2, "source");
    assert_eq!(again.runs, plan.runs);
    assert_eq!(whole(&again, keep()).report.reused, 4);
    let m = manifest(&f.0);
    assert_eq!(m["runs"][0]["cpu_s"].as_f64(), Some(0.0));
    assert!(
        m["runs"][0]["cost_s"].as_f64().is_some_and(|s| s > 0.0),
        "what it cost is not forgotten"
    );
}

#[test]
fn a_failed_run_is_a_row_and_is_tried_again() {
    let text = SHORT.replace("DURATION", "20ms");
    let plan = Plan::of_combinations(&text, "s", &points(&[20], "20ms"), 3, "source").unwrap_or_else(|e| panic!("{e}"));
    let f = Folder::new("failed");
    let made = std::sync::atomic::AtomicUsize::new(0);
    // A discipline from outside that cannot be made for the second run.
    let maker = |_: tailback_sim::build::hooks::PortContext| -> Box<dyn tailback_queue::QueueDiscipline<_>> {
        if made.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            panic!("out of order");
        }
        Box::new(Fifo::new(tailback_base::Size::Packets(20), DropTail))
    };
    let queues = [(
        "bottleneck".to_string(),
        &maker as tailback_sim::build::hooks::QueueMaker,
    )];
    let r = plan.execute(Execution {
        keep: Some(Keep::at(&f.0)),
        jobs: 1,
        queues: queues.into_iter().collect(),
        ..Execution::new(&mut |_| true)
    });
    let (run, why) = r.failure.as_ref().expect("a failure");
    assert_eq!((run.replication, why.as_str()), (1, "the engine stopped: out of order"));
    let runs = r.table("runs").unwrap_or_else(|e| panic!("{e}"));
    match &runs.column("status").expect("a column").data {
        Data::Text(v) => assert_eq!(v.iter().map(|s| &**s).collect::<Vec<_>>(), ["done", "failed", "done"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(stored(&f.0).len(), 2);
    assert_eq!(whole(&plan, Keep::at(&f.0)).report.reused, 2);
    assert_eq!(stored(&f.0).len(), 3);
}

/// If the folder or one of its files is removed while runs go on, a message says so: what is missing does not count as
/// done.
#[test]
fn what_is_removed_while_runs_go_on_is_missed() {
    for finish in [Finish::Tables, Finish::Chunks] {
        for buffers in [vec![20], vec![20, 40, 80]] {
            for left in [vec![], vec!["chunks", "manifest.json"]] {
                let dir = Folder::new("removed");
                let plan = plan_of(&buffers, 20, "200ms");
                let keep = Keep {
                    finish,
                    ..Keep::at(&dir.0)
                };
                let total = plan.runs.len();
                let mut removed = false;
                let results = execute(&plan, keep.clone(), 2, &mut |r| {
                    if !removed && r.done >= total * 2 / 3 {
                        for entry in std::fs::read_dir(&dir.0).into_iter().flatten().flatten() {
                            // Like `rm -r`, except for what it is told to leave.
                            if left.iter().any(|n| entry.file_name() == *n) {
                                let chunks = std::fs::read_dir(entry.path()).into_iter().flatten().flatten();
                                chunks.for_each(|c| drop(std::fs::remove_file(c.path().join("links.parquet"))));
                            } else if entry.path().is_dir() {
                                let _ = std::fs::remove_dir_all(entry.path());
                            } else {
                                let _ = std::fs::remove_file(entry.path());
                            }
                        }
                        if left.is_empty() {
                            let _ = std::fs::remove_dir(&dir.0);
                        }
                        removed = true;
                    }
                    true
                });
                assert!(removed);
                let whole = status(&dir.0).runs.iter().filter(|r| r.stored).count() == total;
                assert!(
                    whole || results.store_error.is_some(),
                    "{finish:?}, {buffers:?}, {left:?}: {} of {total} stored, and not a word",
                    status(&dir.0).runs.iter().filter(|r| r.stored).count()
                );
                // Executing the same plan again repairs it.
                let again = execute(&plan, keep, 2, &mut |_| true);
                assert!(again.store_error.is_none(), "{:?}", again.store_error);
                assert_eq!(status(&dir.0).runs.iter().filter(|r| r.stored).count(), total);
            }
        }
    }
}
