//! `manifest.json`: what a folder of results is, so that it explains itself and can be run again from itself; and
//! `times.jsonl`, which holds what runs cost until the manifest does.
//!
//! Times stand only here: the tables are the same on every machine.

use super::Keep;
use crate::plan::{Plan, RunReport, Status};
use crate::results::file::write_text;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

pub const FILE: &str = "manifest.json";
const TIMES: &str = "times.jsonl";

/// What the caller has to say about a plan: versions, the command line, the machine.
pub type About = Map<String, Value>;

pub struct Manifest {
    /// What stands before the runs.
    head: About,
    points: Vec<Value>,
    scenarios: BTreeMap<String, String>,
    /// Counts the executions that wrote here.
    call: u64,
    /// What runs cost when they were simulated, by key.
    costs: HashMap<String, RunReport>,
    /// Keys that this execution has simulated.
    fresh: HashSet<String>,
    /// What the finished tables hold, as it stands in the file.
    pub store: Value,
}

impl Manifest {
    /// The manifest of a plan, in a folder where `before` was found.
    pub fn new(keep: &Keep, plan: &Plan, before: &Value, times: &Times) -> Manifest {
        let mut head = keep.about.clone();
        head.insert("started".into(), now().into());
        let points = plan.points.iter().map(|p| {
            let labels: Map<String, Value> = p.labels.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect();
            json!({ "labels": labels, "part": p.part, "scenario": p.loaded.digest })
        });
        let mut costs = HashMap::new();
        for r in before["runs"].as_array().into_iter().flatten() {
            if let (Some(key), Some(cpu_s)) = (r["key"].as_str(), r["cost_s"].as_f64()) {
                costs.insert(key.to_string(), cost_of(r, cpu_s));
            }
        }
        costs.extend(times.lines.iter().map(|(_, key, cost)| (key.clone(), cost.clone())));
        Manifest {
            head,
            points: points.collect(),
            scenarios: plan
                .points
                .iter()
                .map(|p| (p.loaded.digest.clone(), p.loaded.toml.clone()))
                .collect(),
            call: before["call"].as_u64().unwrap_or(0).max(times.last_call()) + 1,
            costs,
            fresh: HashSet::new(),
            store: before["store"].clone(),
        }
    }

    /// Remember what runs cost, on disk too: before the chunk they are in, so that no stored run is without.
    pub fn note(&mut self, dir: &Path, runs: &[(String, RunReport)]) -> io::Result<()> {
        let mut text = String::new();
        for (key, cost) in runs {
            let line = json!({
                "call": self.call,
                "key": key,
                "cpu_s": round(cost.cpu_s),
                "packet_hops": cost.packet_hops,
                "events": cost.events,
            });
            text += &format!("{line}\n");
        }
        self.remember(runs);
        let mut file = OpenOptions::new().create(true).append(true).open(dir.join(TIMES))?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    /// Remember what runs cost, for a manifest that is about to be written.
    pub fn remember(&mut self, runs: &[(String, RunReport)]) {
        for (key, cost) in runs {
            self.fresh.insert(key.clone());
            self.costs.insert(key.clone(), cost.clone());
        }
    }

    /// The text of the file. `status` of the plan; `run` tells a run's status, where it has one.
    pub fn text(&self, plan: &Plan, status: &str, elapsed_s: f64, run: &dyn Fn(&str) -> Option<Status>) -> String {
        let mut all = Map::new();
        all.insert("format".into(), 1.into());
        all.extend(self.head.clone());
        all.insert("status".into(), status.into());
        all.insert("call".into(), self.call.into());
        if status != "running" {
            all.insert("finished".into(), now().into());
            all.insert("elapsed_s".into(), elapsed_s.into());
        }
        all.insert("points".into(), self.points.clone().into());
        all.insert("scenarios".into(), json!(self.scenarios));
        let runs = plan.runs.iter().map(|r| {
            let mut v = json!({ "point": r.point, "replication": r.replication, "seed": r.seed, "key": r.key });
            if let Some(s) = run(&r.key) {
                let cost = self.costs.get(&r.key).cloned().unwrap_or_default();
                let kept = !self.fresh.contains(&r.key);
                v["status"] = if s == Status::Done { "done" } else { "failed" }.into();
                v["kept"] = kept.into();
                v["cpu_s"] = if kept { 0.0 } else { round(cost.cpu_s) }.into();
                v["cost_s"] = round(cost.cpu_s).into();
                v["packet_hops"] = cost.packet_hops.into();
                v["events"] = cost.events.into();
            }
            v
        });
        all.insert("runs".into(), runs.collect());
        all.insert("store".into(), self.store.clone());
        lines(&all)
    }

    pub fn write(&self, dir: &Path, text: &str) -> io::Result<()> {
        write_text(&dir.join(FILE), text)
    }
}

/// JSON with a line for each entry, and for each item of a list of objects.
fn lines(all: &Map<String, Value>) -> String {
    let entries = all.iter().map(|(k, v)| {
        let text = match v {
            Value::Array(items) if items.first().is_some_and(Value::is_object) => {
                let items: Vec<String> = items.iter().map(|i| format!("    {i}")).collect();
                format!("[\n{}\n  ]", items.join(",\n"))
            }
            other => other.to_string(),
        };
        format!("  {}: {text}", Value::from(k.as_str()))
    });
    format!("{{\n{}\n}}\n", entries.collect::<Vec<_>>().join(",\n"))
}

/// What runs cost, of chunks that no manifest speaks of yet.
#[derive(Default)]
pub struct Times {
    /// Execution, key, cost.
    pub lines: Vec<(u64, String, RunReport)>,
}

impl Times {
    /// Every line that is whole; a kill may have cut the last one.
    pub fn read(dir: &Path) -> Times {
        let text = std::fs::read(dir.join(TIMES)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let line = |l: &str| -> Option<(u64, String, RunReport)> {
            let v: Value = serde_json::from_str(l).ok()?;
            let cpu_s = v["cpu_s"].as_f64()?;
            Some((v["call"].as_u64()?, v["key"].as_str()?.to_string(), cost_of(&v, cpu_s)))
        };
        Times {
            lines: text.lines().filter_map(line).collect(),
        }
    }

    fn last_call(&self) -> u64 {
        self.lines.iter().map(|(call, ..)| *call).max().unwrap_or(0)
    }

    pub fn remove(dir: &Path) -> io::Result<()> {
        match std::fs::remove_file(dir.join(TIMES)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

fn cost_of(v: &Value, cpu_s: f64) -> RunReport {
    RunReport {
        cpu_s,
        packet_hops: v["packet_hops"].as_u64().unwrap_or(0),
        events: v["events"].as_u64().unwrap_or(0),
    }
}

/// Tenths of milliseconds are more than a clock is good for.
fn round(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}

/// The time of day in UTC, as ISO 8601 writes it.
fn now() -> String {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let (days, seconds) = (since / 86_400, since % 86_400);
    // Days from 0000-03-01, in eras of 400 years; months are counted from March, so that leap days come last.
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let date = in_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 {
        (month + 3, year + era * 400)
    } else {
        (month - 9, year + era * 400 + 1)
    };
    format!(
        "{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}+00:00",
        seconds / 3600,
        seconds % 3600 / 60,
        seconds % 60
    )
}
