//! `manifest.json`: describes a folder of results, so that the folder explains itself and its plan can be run again.
//!
//! Times are only in this file: the tables are the same on every machine. A plan may have very many runs, so the file
//! is written and read run by run. No result depends on this file, because the tables themselves list the stored runs.

use super::Keep;
use super::times::{Times, cost, round};
use crate::file::{sums, write_whole};
use crate::plan::{Plan, Run};
use crate::report::{RunReport, Status};
use crate::tables::names;
use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tailback_scenario::key::Key;
use tailback_scenario::regular::open;

pub const FILE: &str = "manifest.json";
/// The form that is written here.
const FORMAT: u64 = 1;

/// The caller's data about a plan: versions, the command line, the machine.
pub type About = Map<String, Value>;

pub struct Manifest {
    /// The keys before the runs.
    head: About,
    /// The number of executions that have written here.
    call: u64,
    /// The cost of each run when it was simulated.
    costs: HashMap<Key, Cost>,
}

struct Cost {
    report: RunReport,
    /// This execution has simulated the run.
    fresh: bool,
}

/// The contents of a manifest for a plan.
pub struct Telling<'a> {
    pub plan: &'a Plan,
    pub status: &'a str,
    pub elapsed_s: f64,
    /// Names of the finished tables in the folder.
    pub tables: &'a [&'static str],
    /// The outcome of a run, if it has ended.
    pub run: &'a dyn Fn(Key) -> Option<Status>,
}

impl Manifest {
    /// The manifest of a plan, in a folder in which `before` was found.
    pub fn new(keep: &Keep, before: &Said, times: &Times) -> Manifest {
        let mut head = keep.about.clone();
        head.insert("started".into(), now().into());
        let earlier = before.runs.iter().filter_map(|r| Some((r.key, r.cost.clone()?)));
        let later = times.lines.iter().map(|(_, key, cost)| (*key, cost.clone()));
        Manifest {
            head,
            call: before.call().unwrap_or(0).max(times.last_call()) + 1,
            costs: earlier
                .chain(later)
                .map(|(k, report)| (k, Cost { report, fresh: false }))
                .collect(),
        }
    }

    /// Record the costs of runs, also on disk. This is called before the chunk of these runs is stored, so that every
    /// stored run has a cost.
    pub fn note(&mut self, dir: &Path, runs: &[(Key, RunReport)]) -> io::Result<()> {
        self.remember(runs);
        Times::add(dir, self.call, runs)
    }

    /// Record the costs of runs, for a manifest that is about to be written.
    pub fn remember(&mut self, runs: &[(Key, RunReport)]) {
        for (key, report) in runs {
            let report = report.clone();
            self.costs.insert(*key, Cost { report, fresh: true });
        }
    }

    /// Write the file; it has a temporary name until it is complete.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn write(&self, path: &Path, of: &Telling) -> io::Result<()> {
        write_whole(path, |file| {
            let mut out = Summed::new(BufWriter::new(file));
            self.entries(&mut out, of)?;
            // The checksum of everything before it.
            let sum = out.sum.clone().finalize();
            write!(out, "{}", tail(sum))?;
            out.flush()
        })
    }

    fn entries(&self, out: &mut dyn Write, of: &Telling) -> io::Result<()> {
        write!(out, "{{\n  \"format\": {FORMAT}")?;
        for (name, value) in &self.head {
            entry(out, name, value)?;
        }
        entry(out, "status", &of.status.into())?;
        entry(out, "call", &self.call.into())?;
        if of.status != "running" {
            entry(out, "finished", &now().into())?;
            entry(out, "elapsed_s", &of.elapsed_s.into())?;
        }
        entry(out, "tables", &json!(of.tables))?;
        let points = of.plan.points.iter().map(|p| {
            let labels: Map<String, Value> = p.labels.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect();
            json!({ "labels": labels, "part": p.part, "scenario": p.loaded.digest })
        });
        list(out, "points", points)?;
        let scenarios: BTreeMap<&str, &str> = of
            .plan
            .points
            .iter()
            .map(|p| (p.loaded.digest.as_str(), p.loaded.toml.as_str()))
            .collect();
        entry(out, "scenarios", &json!(scenarios))?;
        list(out, "runs", of.plan.runs.iter().map(|r| self.run(r, (of.run)(r.key))))
    }

    fn run(&self, r: &Run, ended: Option<Status>) -> Value {
        let mut described =
            json!({ "point": r.point, "replication": r.replication, "seed": r.seed, "key": r.key.to_string() });
        let Some(status) = ended else {
            return described;
        };
        let cost = self.costs.get(&r.key);
        let fresh = cost.filter(|c| c.fresh);
        described["status"] = if status == Status::Done { "done" } else { "failed" }.into();
        described["kept"] = fresh.is_none().into();
        described["cpu_s"] = fresh.map_or(0.0, |c| round(c.report.cpu_s)).into();
        // The cost is unknown if a manifest was damaged.
        if let Some(c) = cost {
            described["cost_s"] = round(c.report.cpu_s).into();
            described["packet_hops"] = c.report.packet_hops.into();
            described["events"] = c.report.events.into();
        }
        described
    }
}

fn entry(out: &mut dyn Write, name: &str, value: &Value) -> io::Result<()> {
    write!(out, ",\n  {}: {value}", Value::from(name))
}

/// A list with a line for each item.
fn list(out: &mut dyn Write, name: &str, items: impl Iterator<Item = Value>) -> io::Result<()> {
    write!(out, ",\n  {}: [", Value::from(name))?;
    for (n, item) in items.enumerate() {
        write!(out, "{}\n    {item}", if n == 0 { "" } else { "," })?;
    }
    write!(out, "\n  ]")
}

/// The end of the file, which contains the checksum of the rest.
fn tail(sum: u32) -> String {
    format!(",\n  \"sum\": {sum}\n}}\n")
}

/// Passes bytes on, and computes their checksum.
struct Summed<W> {
    out: W,
    sum: crc32fast::Hasher,
}

impl<W> Summed<W> {
    fn new(out: W) -> Summed<W> {
        let sum = crc32fast::Hasher::new();
        Summed { out, sum }
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.sum.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The contents of a manifest that was read.
#[derive(Default)]
pub struct Said {
    /// Everything except the runs.
    pub head: Map<String, Value>,
    pub runs: Vec<SaidRun>,
}

/// The entry of a run in a manifest.
pub struct SaidRun {
    pub key: Key,
    pub point: Option<usize>,
    pub seed: Option<u64>,
    /// The run was simulated by the execution that wrote the manifest.
    pub fresh: bool,
    pub cost: Option<RunReport>,
}

/// The result of reading a manifest.
pub enum ReadManifest {
    Nothing,
    Damaged,
    Said(Said),
}

/// Refuse the manifest of a newer version, because this version would rewrite it in its own form. The first entry of a
/// manifest is its form.
///
/// # Errors
/// Names the file, its form, and what to do.
pub fn of_this_version(path: &Path) -> io::Result<()> {
    let mut head = String::new();
    if path.is_file() {
        // The bytes may end within a character.
        let mut bytes = vec![];
        File::open(path)?.take(256).read_to_end(&mut bytes)?;
        head = String::from_utf8_lossy(&bytes).into_owned();
    }
    let after = head
        .split_once("\"format\"")
        .and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    let digits: String = after
        .map_or("", str::trim_start)
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    match digits.parse::<u64>() {
        Ok(format) if format > FORMAT => Err(io::Error::other(format!(
            "{} is of a newer version of tailback (format {format}, this one writes {FORMAT}); use that version, or \
             name another folder",
            path.display()
        ))),
        _ => Ok(()),
    }
}

impl Said {
    pub fn read(path: &Path) -> ReadManifest {
        if path.exists() && !path.is_file() {
            return ReadManifest::Damaged;
        }
        let file = match File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return ReadManifest::Nothing,
            Err(_) => return ReadManifest::Damaged,
        };
        let length = file.metadata().map_or(0, |m| m.len());
        let Ok(mut manifest) = serde_json::from_reader::<_, Said>(BufReader::new(file)) else {
            return ReadManifest::Damaged;
        };
        // A manifest that another program has written has no checksum.
        let Some(sum) = manifest.head.remove("sum") else {
            return ReadManifest::Said(manifest);
        };
        let is_whole = sum.as_u64().and_then(|s| u32::try_from(s).ok()).is_some_and(|s| {
            let end = length.saturating_sub(tail(s).len() as u64);
            open(path)
                .and_then(|mut f| sums(&mut f, &[end]))
                .is_ok_and(|found| found == [s])
        });
        if is_whole {
            ReadManifest::Said(manifest)
        } else {
            ReadManifest::Damaged
        }
    }

    pub fn call(&self) -> Option<u64> {
        self.head.get("call")?.as_u64()
    }

    pub fn status(&self) -> Option<&str> {
        self.head.get("status")?.as_str()
    }

    /// The declared tables that it lists as finished.
    pub fn tables_here(&self) -> Vec<&'static str> {
        let listed = self.tables();
        names().filter(|n| listed.contains(n)).collect()
    }

    /// Names of the finished tables in the folder.
    pub fn tables(&self) -> Vec<&str> {
        let all = self.head.get("tables").and_then(Value::as_array);
        all.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Said, D::Error> {
        d.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Said;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a manifest")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Said, A::Error> {
        let mut manifest = Said::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == "runs" {
                manifest.runs = map.next_value::<Rows>()?.0;
            } else {
                manifest.head.insert(name, map.next_value()?);
            }
        }
        Ok(manifest)
    }
}

struct Rows(Vec<SaidRun>);

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Rows, D::Error> {
        d.deserialize_seq(RowsVisitor).map(Rows)
    }
}

struct RowsVisitor;

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = Vec<SaidRun>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of runs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Vec<SaidRun>, A::Error> {
        let mut all = Vec::new();
        while let Some(r) = rows.next_element::<Value>()? {
            let Some(key) = r["key"].as_str().and_then(Key::parse) else {
                continue;
            };
            all.push(SaidRun {
                key,
                point: r["point"].as_u64().map(|p| p as usize),
                seed: r["seed"].as_u64(),
                fresh: r["kept"] == false,
                cost: cost(&r, "cost_s"),
            });
        }
        Ok(all)
    }
}

/// The time of day in UTC, in the format of ISO 8601.
fn now() -> String {
    let epoch_s = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let (days, seconds) = (epoch_s / 86_400, epoch_s % 86_400);
    // Days since 0000-03-01, in eras of 400 years; months are counted from March, so that leap days are at the end.
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
