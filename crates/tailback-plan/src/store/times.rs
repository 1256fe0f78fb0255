//! `times.jsonl`: the costs of runs until they are in a manifest.

use crate::report::RunReport;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use tailback_scenario::key::Key;
use tailback_scenario::regular::{open, regular};

const FILE: &str = "times.jsonl";
/// The longest line that the file can have, bytes.
const LONGEST_LINE: u64 = 1 << 12;

/// The contents of the file.
#[derive(Default)]
pub struct Times {
    /// Execution, key, cost.
    pub lines: Vec<(u64, Key, RunReport)>,
}

impl Times {
    /// Read every complete line; a kill may have cut the last line.
    pub fn read(dir: &Path) -> Times {
        let mut lines = Vec::new();
        if let Ok(file) = open(&dir.join(FILE)) {
            let mut from = BufReader::new(file);
            let mut text = Vec::new();
            // Text that was not written here may have no line end.
            while from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text).is_ok() && text.ends_with(b"\n") {
                lines.extend(line(&text));
                text.clear();
            }
        }
        Times { lines }
    }

    pub fn last_call(&self) -> u64 {
        self.lines.iter().map(|(call, ..)| *call).max().unwrap_or(0)
    }

    /// Add the costs of runs of an execution; they are on disk when this returns.
    pub fn add(dir: &Path, call: u64, runs: &[(Key, RunReport)]) -> io::Result<()> {
        let mut text = String::new();
        for (key, cost) in runs {
            let call_line = json!({
                "call": call,
                "key": key.to_string(),
                "cpu_s": round(cost.cpu_s),
                "packet_hops": cost.packet_hops,
                "events": cost.events,
            });
            text += &format!("{call_line}\n");
        }
        let path = dir.join(FILE);
        if path.exists() {
            regular(&path)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    pub fn remove(dir: &Path) -> io::Result<()> {
        match std::fs::remove_file(dir.join(FILE)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

fn line(text: &[u8]) -> Option<(u64, Key, RunReport)> {
    let v: Value = serde_json::from_slice(text).ok()?;
    let cost = cost(&v, "cpu_s")?;
    Some((v["call"].as_u64()?, Key::parse(v["key"].as_str()?)?, cost))
}

/// A cost in its JSON form; `None` if there is no time.
pub fn cost(v: &Value, time: &str) -> Option<RunReport> {
    Some(RunReport {
        cpu_s: v[time].as_f64()?,
        packet_hops: v["packet_hops"].as_u64().unwrap_or(0),
        events: v["events"].as_u64().unwrap_or(0),
    })
}

/// The time rounded to tenths of milliseconds; clocks are not more accurate.
pub fn round(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}
