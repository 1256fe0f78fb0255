//! The picture of a state: the drawn data from the tables of its runs.

use crate::controls::controls;
use crate::frames::{FrameNumbers, frame};
use crate::screen_runs::{RunMode, ScreenRun, with_one_value};
use crate::state::{LabRefusal, ScenarioReader, State};
use serde_json::{Value, json};
use std::sync::Arc;
use tailback_base::model::ProbeDef;
use tailback_sim::declare::tables::{LINK_PROBES, SOJOURN_PERCENTILES};
use tailback_sim::library::Library;
use tailback_sim::results::column::Called;
use tailback_sim::results::outcome::TABLES;
use tailback_sim::results::screen::lines;
use tailback_sim::results::table::Table;

/// The largest number of flows with a bar of their own.
const MOST_BARS: usize = 400;
/// The number of columns of a picture: a screen of 2560 pixels has two panels in a row.
const COLUMNS: std::ops::RangeInclusive<usize> = 50..=1280;

/// The request of a page.
#[derive(Clone, Debug)]
pub struct PictureOrder {
    /// The number of the input that requests the picture. The picture has this number, too.
    pub input: Value,
    pub mode: RunMode,
    /// The width of the picture, pixels.
    pub columns: usize,
}

/// A run that is over, with its tables.
pub struct DoneRun<'a> {
    pub asked: &'a ScreenRun,
    pub tables: &'a [Table],
}

/// The data that a page gets in addition to the picture.
#[derive(Clone, Copy, Default)]
pub struct PictureExtras {
    /// The time that the runs took, ms. Without this time equal runs give equal pictures.
    pub took_ms: Option<f64>,
    /// The controls of the state.
    pub controls: bool,
}

/// The frame of the runs of a state, or of some of them.
///
/// # Errors
/// The controls cannot be made, because the state is not a scenario.
pub fn picture(
    order: &PictureOrder,
    state: &State,
    runs: &[DoneRun],
    extras: PictureExtras,
    reader: &ScenarioReader,
) -> Result<Vec<u8>, LabRefusal> {
    let mut frame_numbers = FrameNumbers::default();
    let columns = order.columns.clamp(*COLUMNS.start(), *COLUMNS.end());
    let drawn_runs: Vec<Value> = runs
        .iter()
        .map(|r| of_run(r, columns, &mut frame_numbers, reader.library))
        .collect();
    let Some(first) = runs.first().map(|r| r.asked) else {
        return Err(LabRefusal::Page("there is no run".into()));
    };
    let mut header = json!({
        "do": "picture",
        "input": order.input,
        "mode": order.mode.word(),
        "seconds": first.seconds,
        "warmup": first.loaded.spec.warmup.seconds(),
        "seed": first.loaded.spec.seed,
        "link": first.link,
        "measures": measures(),
        "warnings": first.loaded.warnings,
        "runs": drawn_runs,
    });
    if let Some(ms) = extras.took_ms {
        header["took_ms"] = json!(ms);
    }
    if extras.controls {
        header["controls"] = Value::Array(controls(state, reader)?);
    }
    Ok(frame(&header, &frame_numbers))
}

/// The rows of the table of numbers: the title, the unit, and the place in a run of each.
fn measures() -> Vec<Value> {
    let row = |c: &Called, at: &[&str]| json!({"title": c.title, "unit": shown_unit(c), "at": at});
    let of_link = called("links").into_iter().filter(|c| c.shown.is_some());
    let mut rows: Vec<Value> = of_link.map(|c| row(&c, &["link", c.name])).collect();
    let groups = called("groups");
    let named = |name: &str| groups.iter().find(|c| c.name == name);
    rows.extend(named("goodput_bps_mean").map(|c| row(c, &["flows", "fair"])));
    rows.extend(named("jain_index").map(|c| row(c, &["jain"])));
    rows
}

fn called(table: &str) -> Vec<Called> {
    TABLES.iter().find(|t| t.name == table).map_or(vec![], |t| (t.called)())
}

/// `%` for a share, and an empty text for a number without a unit.
fn shown_unit(c: &Called) -> &'static str {
    match c.unit {
        _ if c.share => "%",
        "1" => "",
        unit => unit,
    }
}

/// A table of a run.
struct RunTable<'a>(&'a Table);

impl<'a> RunTable<'a> {
    fn of(run: &DoneRun<'a>, name: &str) -> RunTable<'a> {
        let table = run.tables.iter().find(|t| t.name == name);
        RunTable(table.expect("a run has every table"))
    }

    fn reals(&self, column: &str) -> Vec<f64> {
        self.0.reals(column).unwrap_or_default()
    }

    fn texts(&self, column: &str) -> &'a [Arc<str>] {
        self.0.texts(column).unwrap_or_default()
    }

    /// The rows whose column has this text.
    fn rows_of(&self, column: &str, text: &str) -> Vec<usize> {
        let all = self.texts(column).iter().enumerate();
        all.filter(|(_, t)| &***t == text).map(|(i, _)| i).collect()
    }
}

fn of_run(run: &DoneRun, columns: usize, numbers: &mut FrameNumbers, library: &Library) -> Value {
    let series = RunTable::of(run, "series").0;
    let wanted = |probe: &str| run.asked.probes.contains(&probe);
    let (percentiles, drawn): (Vec<_>, Vec<_>) = lines(series, columns, &wanted)
        .into_iter()
        .partition(|l| &*l.probe == SOJOURN_PERCENTILES.name);
    let mut series_drawn = vec![];
    for l in drawn {
        let unit = unit_of(&l.probe, run.asked, library);
        let (t, v) = (numbers.add(l.times), numbers.add(l.values));
        series_drawn
            .push(json!({"what": &*l.what, "probe": &*l.probe, "index": l.index, "unit": unit, "t": t, "v": v}));
    }
    let last_values: Vec<(u64, f32)> = percentiles
        .iter()
        .filter_map(|l| Some((l.index, *l.values.last()?)))
        .collect();
    let delay = last_values.iter().any(|(_, seconds)| seconds.is_finite()).then(|| {
        let share = numbers.add(
            last_values
                .iter()
                .map(|(per_cent, _)| (*per_cent as f64 / 100.0) as f32),
        );
        json!({"share": share, "seconds": numbers.add(last_values.iter().map(|(_, seconds)| *seconds))})
    });
    let links = RunTable::of(run, "links");
    let link = links.rows_of("name", &run.asked.link);
    json!({
        "queue": run.asked.queue,
        "link": link.first().map(|row| links.0.row_json(*row)),
        "series": series_drawn,
        "sojourn": sojourn(run, numbers),
        "decisions": decisions(run, numbers),
        "delay": delay,
        "flows": flows(run, numbers),
        "losses": losses(run),
    })
}

/// The unit of a probe of the link, of its discipline, or of a transport.
fn unit_of(probe: &str, run: &ScreenRun, library: &Library) -> &'static str {
    let spec = &run.loaded.spec;
    let queue = library.catalogue.find("queue", run.queue).map_or(&[][..], |m| m.probes);
    let transports = spec.flows.iter().flat_map(|g| with_one_value(g.transport.model.probes));
    let mut probes = LINK_PROBES.iter().chain(with_one_value(queue)).chain(transports);
    probes.find(|p: &&ProbeDef| p.name == probe).map_or("", |p| p.unit)
}

/// The numbers of dropped and marked packets of the link, by intervals, at the end of each interval.
fn decisions(run: &DoneRun, numbers: &mut FrameNumbers) -> Value {
    let table = RunTable::of(run, "link_intervals");
    let rows = table.rows_of("name", &run.asked.link);
    let mut of = |column: &str| {
        let all = table.reals(column);
        numbers.add(rows.iter().map(|i| all[*i] as f32))
    };
    json!({"t": of("to_s"), "drops": of("dropped_packets"), "marks": of("marked_packets")})
}

/// The mean time in the queue, by intervals.
fn sojourn(run: &DoneRun, numbers: &mut FrameNumbers) -> Value {
    let table = RunTable::of(run, "link_intervals");
    let (from, to, mean) = (
        table.reals("from_s"),
        table.reals("to_s"),
        table.reals("sojourn_mean_s"),
    );
    let rows = table.rows_of("name", &run.asked.link);
    let t = numbers.add(rows.iter().map(|i| ((from[*i] + to[*i]) / 2.0) as f32));
    json!({"t": t, "v": numbers.add(rows.iter().map(|i| mean[*i] as f32))})
}

fn flows(run: &DoneRun, numbers: &mut FrameNumbers) -> Value {
    let table = RunTable::of(run, "flows");
    let mut goodput = table.reals("goodput_bps");
    goodput.truncate(MOST_BARS);
    let rates: Vec<f64> = goodput.iter().copied().filter(|x| !x.is_nan()).collect();
    let fair = if rates.is_empty() {
        0.0
    } else {
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    let first_bars = |column| -> Vec<&str> { table.texts(column).iter().take(MOST_BARS).map(|t| &**t).collect() };
    json!({
        "ids": first_bars("id"),
        "groups": first_bars("group"),
        "goodput": numbers.add(goodput.iter().map(|x| *x as f32)),
        "fair": fair,
        "more": table.0.rows().saturating_sub(MOST_BARS),
    })
}

/// The event, the reason and the number of packets of each loss at the link.
fn losses(run: &DoneRun) -> Vec<Value> {
    let table = RunTable::of(run, "losses");
    let (events, reasons, packets) = (table.texts("event"), table.texts("reason"), table.reals("packets"));
    let mut counts: Vec<(&str, &str, u64)> = vec![];
    for row in table.rows_of("link", &run.asked.link) {
        let (event, reason, n) = (&*events[row], &*reasons[row], packets[row] as u64);
        match counts.iter_mut().find(|f| (f.0, f.1) == (event, reason)) {
            Some(f) => f.2 += n,
            None if n > 0 => counts.push((event, reason, n)),
            None => {}
        }
    }
    counts.iter().map(|f| json!(f)).collect()
}
