//! The runs of a state: its scenarios, with recordings of the data that the page draws instead of their own recordings.

use crate::digits::{rounded, time};
use crate::state::{LabRefusal, PAGE, ScenarioReader, ScenarioTable, State, watched};
use serde_json::{Value, json};
use std::sync::Arc;
use tailback_base::model::ProbeDef;
use tailback_scenario::Loaded;
use tailback_sim::declare::tables::{SOJOURN_PERCENTILES, WAITING_PACKETS, record, top};
use tailback_sim::spec::Spec;
use tailback_transport::tcp::probes::CWND;

/// The number of samples of the queue in a run. A page shows the least and the greatest sample of each column of
/// pixels.
const SAMPLES: f64 = 6000.0;
/// The number of points of each window, which are drawn unchanged.
const COARSE_WINDOW_POINTS: f64 = 200.0;
const FULL_WINDOW_POINTS: f64 = 400.0;
/// The number of intervals of the time in the queue.
const INTERVALS: f64 = 240.0;
/// The largest number of flows whose windows are recorded.
const MOST_WINDOWS: u32 = 200;
/// The approximate number of packets that a coarse run sends over the link.
const COARSE_PACKETS: f64 = 10_000.0;
/// The bits of a packet for that number.
pub const PACKET_BITS: f64 = 12_000.0;
/// A coarse run is not shorter than this, seconds.
const LEAST_COARSE_S: f64 = 1.0;
/// The name of the probe with the average of a discipline, if it has one.
const AVERAGE: &str = "average";

/// The part of a scenario that is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunMode {
    /// The first seconds, while a value is dragged.
    Coarse,
    Full,
}

impl RunMode {
    /// The mode of a message: `coarse`, or full for any other word.
    pub fn of(word: &str) -> RunMode {
        if word == RunMode::Coarse.word() {
            RunMode::Coarse
        } else {
            RunMode::Full
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            RunMode::Coarse => "coarse",
            RunMode::Full => "full",
        }
    }

    fn window_points(self) -> f64 {
        match self {
            RunMode::Coarse => COARSE_WINDOW_POINTS,
            RunMode::Full => FULL_WINDOW_POINTS,
        }
    }
}

/// A requested run: its scenario, and the series that are read from it.
#[derive(Clone, Debug)]
pub struct ScreenRun {
    pub loaded: Arc<Loaded>,
    pub link: String,
    /// The name of the discipline.
    pub queue: &'static str,
    /// Simulated seconds.
    pub seconds: f64,
    /// The probes that are drawn.
    pub probes: Vec<&'static str>,
}

/// The runs of a state.
///
/// # Errors
/// The message that a file with this scenario gets.
pub fn asked(state: &State, mode: RunMode, reader: &ScenarioReader) -> Result<Vec<ScreenRun>, LabRefusal> {
    let documents = state.documents(reader)?;
    documents.iter().map(|d| recorded(d, mode, reader)).collect()
}

/// The probes with one value that a model has.
pub fn with_one_value(probes: &'static [ProbeDef]) -> impl Iterator<Item = &'static ProbeDef> {
    probes.iter().filter(|p| p.per.is_empty())
}

fn seconds_of(spec: &Spec, mode: RunMode) -> f64 {
    let duration_s = spec.duration.seconds();
    // Two digits are enough, because the number is shown.
    let few = rounded(
        COARSE_PACKETS * PACKET_BITS / watched(spec).forward.rate.bits_per_second(),
        2,
    );
    match mode {
        RunMode::Coarse => duration_s.min(few.max(LEAST_COARSE_S)),
        RunMode::Full => duration_s,
    }
}

/// The document without its recordings, `interval` and `log_drops`, which the page sets.
pub fn without_recordings(document: &ScenarioTable) -> ScenarioTable {
    let own = [top::RECORDINGS.name, top::INTERVAL.name, top::LOG_DROPS.name];
    let kept = document.iter().filter(|(key, _)| !own.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn recorded(document: &ScenarioTable, mode: RunMode, reader: &ScenarioReader) -> Result<ScreenRun, LabRefusal> {
    let spec = reader.load(document, PAGE)?.spec;
    let link = watched(&spec);
    let queue = link.forward.queue.model;
    let seconds = seconds_of(&spec, mode);
    let mut table = without_recordings(document);
    table.insert(top::DURATION.name.into(), time(seconds).into());
    table.insert(top::INTERVAL.name.into(), time(seconds / INTERVALS).into());
    let warmup = spec.warmup.seconds();
    if warmup > 0.0 {
        // A coarse run is cut, so it may end before the warm-up does.
        let most = if mode == RunMode::Full { seconds } else { seconds / 5.0 };
        table.insert(top::WARMUP.name.into(), time(warmup.min(most)).into());
    }
    let average = with_one_value(queue.probes)
        .map(|p| p.name)
        .find(|name| *name == AVERAGE);
    let mut probes = vec![WAITING_PACKETS.name];
    probes.extend(average);
    let row = |of: &str, whose: &str, probes: &[&str], every: f64| {
        let (what, when) = (record::PROBES.name, record::EVERY.name);
        json!({of: whose, what: probes, when: time(every)})
    };
    let of_link = record::LINK.name;
    let mut rows = ScenarioTable::new();
    rows.insert("lab-queue".into(), row(of_link, &link.name, &probes, seconds / SAMPLES));
    let percentiles = [SOJOURN_PERCENTILES.name];
    rows.insert("lab-sojourn".into(), row(of_link, &link.name, &percentiles, seconds));
    let mut left = MOST_WINDOWS;
    for group in &spec.flows {
        let has_window = with_one_value(group.transport.model.probes).any(|p| p.name == CWND.name);
        if has_window && group.count <= left {
            left -= group.count;
            let windows = row(
                record::FLOWS.name,
                &group.name,
                &[CWND.name],
                seconds / mode.window_points(),
            );
            rows.insert(format!("lab-cwnd-{}", group.name), windows);
        }
    }
    table.insert(top::RECORDINGS.name.into(), Value::Object(rows));
    probes.extend([CWND.name, SOJOURN_PERCENTILES.name]);
    Ok(ScreenRun {
        loaded: Arc::new(reader.load(&table, PAGE)?),
        link: link.name.clone(),
        queue: queue.name,
        seconds,
        probes,
    })
}
