//! Trace files: rates over time, and Mahimahi's delivery opportunities.
//!
//! Rates are a CSV file whose first line names two columns: `time_s`, `time_ms` or `time`, and `rate_bps`, `rate_kbps`,
//! `rate_mbps` or `rate`. In `time` and `rate` each value carries its unit. Lines that are empty or begin with `#` are
//! skipped. In Mahimahi's files (Netravali et al., USENIX ATC 2015, section 3.2) each line is a time in whole
//! milliseconds at which a packet of 1504 bytes may be delivered; the trace begins again after its last line.

use std::io::Read;
use std::path::{Path, PathBuf};
use tailback_base::quantity::{Refusal, parse_rate, parse_time};
use tailback_base::{BitRate, Time};
use tailback_queue::rate_trace::{Fault, Trace};

/// The largest length of a trace file.
const MOST_BYTES: u64 = 1 << 30;
/// Bytes of an opportunity: a packet of 1500 bytes and the four that Mahimahi's tunnel puts before it.
const OPPORTUNITY_BYTES: u32 = 1504;

/// The form of a trace file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceForm {
    /// Before the first rate of the trace a line has its own rate; a trace that does not wrap keeps its last rate.
    Rates {
        own: BitRate,
        wraps: bool,
    },
    Mahimahi,
}

/// The place of a trace, relative to the scenario that names it, or to the current directory. The path is absolute, so
/// that the file is found from a scenario that is stored elsewhere. The path of a missing file stays as it was given.
/// If a file with an absolute path no longer exists, a file of that name in the folder of the scenario is used.
pub fn place(scenario: &str, file: &str) -> PathBuf {
    let folder = Path::new(scenario).parent();
    let beside_file = |name: &Path| folder.map(|f| f.join(name)).filter(|p| p.is_file());
    let name = Path::new(file);
    let moved = || {
        name.file_name()
            .filter(|_| name.is_absolute())
            .map(Path::new)
            .and_then(beside_file)
    };
    let existing = beside_file(name).or_else(moved).unwrap_or_else(|| name.into());
    std::path::absolute(&existing)
        .ok()
        .filter(|p| p.exists())
        .unwrap_or(existing)
}

/// The bytes of a trace file.
///
/// # Errors
/// A file that does not exist, cannot be read, or is too long.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Refusal> {
    let name = path.display();
    let remedy = match path.is_absolute() {
        true => "put the file back there, or beside the scenario",
        false => "check the path; it counts from the scenario's folder, or from the current directory",
    };
    let fail = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => Refusal::new(format!("there is no file \"{name}\""), remedy),
        _ => Refusal::new(format!("{name} cannot be read: {e}"), remedy),
    };
    // Opening a pipe waits for its writer, and a device may have no end.
    if !path.is_dir() && !path.metadata().map_err(fail)?.is_file() {
        return Err(Refusal::new(
            format!("{name} is a pipe or a device, not a file"),
            "write the trace to a file",
        ));
    }
    let file = std::fs::File::open(path).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len().min(MOST_BYTES + 1);
    let mut bytes = Vec::new();
    // The memory does not grow by doubling.
    bytes
        .try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1))
        .map_err(|_| Refusal::new(format!("{name} is longer than there is memory for"), "cut the trace"))?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(Refusal::new(
            format!("{name} is longer than {} MB", MOST_BYTES >> 20),
            "give a trace, or cut it",
        )),
        false => Ok(bytes),
    }
}

/// The trace that a text describes; `name` is the name of the file.
///
/// # Errors
/// Names file, line and value, and what to write instead.
pub fn parse(text: &str, name: &str, form: TraceForm) -> Result<Trace, Refusal> {
    // Spreadsheets put a byte order mark before the first line.
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    // The line of each step, for messages. A trace has at most one step a line. Memory for all of them is reserved
    // first, as a file may have more steps than fit.
    let most_lines = text.bytes().filter(|b| *b == b'\n').count() + 1;
    let mut places = Vec::new();
    room(&mut places, most_lines, name)?;
    let trace = match form {
        TraceForm::Mahimahi => {
            let mut instants = Vec::new();
            room(&mut instants, most_lines, name)?;
            for (line_number, line) in lines {
                let ms: u64 = line.parse().map_err(|_| {
                    let remedy = "each line has the milliseconds since the beginning, such as 17; `tailback read FILE` \
                                  says what the file is";
                    wrong(name, line_number, line, "a whole number of milliseconds", remedy)
                })?;
                instants.push(Time(ms.saturating_mul(1_000_000)));
                places.push(line_number);
            }
            Trace::opportunities(instants, OPPORTUNITY_BYTES)
        }
        TraceForm::Rates { own, wraps } => {
            let (line_number, first_line) = lines.next().ok_or_else(|| fault(name, &[], form, Fault::Empty))?;
            let columns = Columns::named(first_line).ok_or_else(|| {
                let remedy = match first_line.parse::<u64>() {
                    Ok(_) => "write mahimahi = \"FILE\" for a file of opportunities, a millisecond in each line",
                    Err(_) => {
                        "begin with time_s,rate_bps (or time_ms, time; rate_kbps, rate_mbps, rate); \
                         `tailback read FILE --write trace.csv` writes other forms so"
                    }
                };
                wrong(
                    name,
                    line_number,
                    first_line,
                    "a line with the names of two columns",
                    remedy,
                )
            })?;
            let mut rates = Vec::new();
            room(&mut rates, most_lines, name)?;
            // In addition to the rates, the bits that the line offers before each step are added up.
            room(&mut Vec::<[u64; 4]>::new(), most_lines, name)?;
            for (line_number, line) in lines {
                rates.push(
                    columns
                        .row(line)
                        .map_err(|(value, what, remedy)| wrong(name, line_number, &value, what, &remedy))?,
                );
                places.push(line_number);
            }
            Trace::rates(&rates, own, wraps)
        }
    };
    trace.map_err(|f| fault(name, &places, form, f))
}

/// Reserve memory for this number of values, or refuse.
fn room<T>(values: &mut Vec<T>, most: usize, name: &str) -> Result<(), Refusal> {
    values.try_reserve_exact(most).map_err(|_| {
        let problem = format!("{name} has {most} lines, more than there is memory for");
        Refusal::new(problem, "cut the trace, or raise the limit of memory (ulimit -v)")
    })
}

fn wrong(name: &str, line: usize, value: &str, what: &str, remedy: &str) -> Refusal {
    let shown: String = value.chars().take(40).collect();
    Refusal::new(format!("{name}, line {line}: \"{shown}\" is not {what}"), remedy)
}

fn fault(name: &str, places: &[usize], form: TraceForm, fault: Fault) -> Refusal {
    let rates = form != TraceForm::Mahimahi;
    let (problem, remedy) = match fault {
        Fault::Empty if rates => (
            format!("{name} has no values"),
            "give at least one line with a time and a rate",
        ),
        Fault::Empty => (format!("{name} has no values"), "give at least one line with a time"),
        Fault::Order(step) if rates => (
            format!(
                "{name}, line {}: this time is not later than the one before it",
                places[step]
            ),
            "sort the lines by time, and keep one of two at the same time",
        ),
        Fault::Order(step) => (
            format!(
                "{name}, line {}: this time is earlier than the one before it",
                places[step]
            ),
            "sort the lines by time",
        ),
        Fault::Dead if matches!(form, TraceForm::Rates { wraps: true, .. }) => (
            format!("{name} never lets anything pass"),
            "give a rate above 0 before the last line, and a last line later than 0: the trace begins again there",
        ),
        Fault::Dead if rates => (
            format!("nothing is ever sent after the end of {name}"),
            "end with a rate above 0, or give end = \"wrap\"",
        ),
        Fault::Dead => (
            format!("{name} ends at 0 ms, where it would begin again"),
            "give a last line later than 0",
        ),
    };
    Refusal::new(problem, remedy)
}

/// The two columns of a file of rates, and their units.
struct Columns {
    /// The number of values in a line, and the positions of these two columns.
    all: usize,
    time: usize,
    rate: usize,
    /// The seconds and the bit/s of one unit; without them each value carries its unit.
    seconds: Option<f64>,
    bps: Option<f64>,
}

type Wrong = (String, &'static str, String);

impl Columns {
    fn named(line: &str) -> Option<Columns> {
        let names: Vec<&str> = line.split(',').map(str::trim).collect();
        let find = |units: &[(&str, Option<f64>)]| {
            let column = |(i, name): (usize, &&str)| units.iter().find(|u| u.0 == *name).map(|u| (i, u.1));
            names.iter().enumerate().find_map(column)
        };
        let (time, seconds) = find(&[("time_s", Some(1.0)), ("time_ms", Some(1e-3)), ("time", None)])?;
        let (rate, bps) = find(&[
            ("rate_bps", Some(1.0)),
            ("rate_kbps", Some(1e3)),
            ("rate_mbps", Some(1e6)),
            ("rate", None),
        ])?;
        Some(Columns {
            all: names.len(),
            time,
            rate,
            seconds,
            bps,
        })
    }

    fn row(&self, line: &str) -> Result<(Time, u64), Wrong> {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != self.all {
            let remedy = format!(
                "the first line has {} names, and this one has {} values",
                self.all,
                fields.len()
            );
            return Err((line.to_string(), "a line of the table", remedy));
        }
        let (time, rate) = (fields[self.time], fields[self.rate]);
        let time_ns = match self.seconds {
            Some(unit) => number(time, unit * 1e9, "a time", "write a number from 0 on")?,
            None => parse_time(time).map_err(|e| (time.to_string(), "a time", e.remedy))?.0,
        };
        let bps = match self.bps {
            Some(unit) => number(rate, unit, "a rate", "write a number from 0 on")?,
            None if is_outage(rate) => 0,
            None => parse_rate(rate).map_err(|e| (rate.to_string(), "a rate", e.remedy))?.0,
        };
        Ok((Time(time_ns), bps))
    }
}

/// A rate of 0, with or without its unit.
fn is_outage(rate: &str) -> bool {
    let amount = rate.trim_end_matches(|c: char| c.is_alphabetic() || c == '/' || c == ' ');
    amount.parse() == Ok(0.0)
}

fn number(text: &str, unit: f64, what: &'static str, remedy: &str) -> Result<u64, Wrong> {
    let refused = |remedy: &str| Err((text.to_string(), what, remedy.to_string()));
    let Ok(value) = text.parse::<f64>() else {
        return refused(remedy);
    };
    let rounded = (value * unit).round();
    match rounded {
        _ if !(0.0..=1e18).contains(&rounded) => refused(if value > 0.0 { "write a smaller number" } else { remedy }),
        0.0 if value > 0.0 => refused("write 0, or a larger number"),
        _ => Ok(rounded as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRAPS: TraceForm = TraceForm::Rates {
        own: BitRate(1),
        wraps: true,
    };

    fn said(text: &str, form: TraceForm) -> String {
        let e = parse(text, "t.csv", form).unwrap_err();
        format!("{}: {}", e.problem, e.remedy)
    }

    #[test]
    fn columns_are_found_by_name_and_unit() {
        let trace = parse("time_s,rate_mbps\n0,12\n# cable\n\n1.5,6\n3,0\n", "t.csv", WRAPS).unwrap();
        let b = parse(
            "\u{feff}rate,node,time\n12Mbps,x,0ms\n6000kbps,y,1500ms\n0 Mbps,z,3s\n",
            "t.csv",
            WRAPS,
        )
        .unwrap();
        assert_eq!(trace, b);
        assert_eq!(trace.memory(), 2 * 32);
        let m = parse("1\n1\n5\n", "m", TraceForm::Mahimahi).unwrap();
        assert_eq!(m.memory(), 3 * 8);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert!(said("0,12\n", WRAPS).starts_with("t.csv, line 1: \"0,12\" is not a line with the names"));
        assert!(said("0,12\n", WRAPS).contains("`tailback read FILE --write trace.csv` writes other forms so"));
        assert!(said("1\n1\n", WRAPS).contains("write mahimahi = \"FILE\""));
        assert!(said("time_s,rate_bps\n0,1\n1,fast\n", WRAPS).starts_with("t.csv, line 3: \"fast\" is not a rate"));
        assert!(said("time_s,rate_bps\n0,1\n1\n", WRAPS).contains("line 3: \"1\" is not a line of the table"));
        assert!(said("time_s,rate_bps\n0,5,6\n", WRAPS).contains("has 2 names, and this one has 3 values"));
        assert!(said("time_s,rate_mbps\n0,0.0000001\n", WRAPS).contains("write 0, or a larger number"));
        assert!(said("time_s,rate_mbps\n0,1e300\n", WRAPS).contains("write a smaller number"));
        assert!(said("0\n0\n", TraceForm::Mahimahi).contains("ends at 0 ms"));
        assert!(said("time_s,rate_bps\n0,-1\n", WRAPS).contains("line 2: \"-1\""));
        assert!(said("time_s,rate_bps\n0,1\n0,2\n", WRAPS).contains("line 3: this time is not later"));
        assert!(said("time,rate\n0s,1\n", WRAPS).contains("line 2: \"1\" is not a rate"));
        assert!(said("", WRAPS).contains("has no values"));
        assert!(said("7\n6\n", TraceForm::Mahimahi).contains("line 2"));
        assert!(said("7.5\n", TraceForm::Mahimahi).contains("\"7.5\" is not a whole number"));
        let holds = TraceForm::Rates {
            own: BitRate(1),
            wraps: false,
        };
        assert!(said("time_s,rate_bps\n0,1\n5,0\n", holds).contains("nothing is ever sent after the end"));
    }
}
