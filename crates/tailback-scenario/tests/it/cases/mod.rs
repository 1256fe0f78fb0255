//! Plays the cases of `tests/cases`: a scenario, and what it must give. A test for each file.
//!
//! A file has `scenario`, what its cases have in common, `words`, and cases: `id`, `says` (what has to hold, and its
//! source), `scenario` or `example` (an installed one, by its name), `set` (changes, as `--set` takes them), and what
//! must come of it: `expect` (the language of `expect.rs`, a line or a `;` apart), `refused` (texts that the message
//! has), `warns` (texts of warnings; an empty list where there are none). A case is played once for each row of `with`
//! and each combination of `each`. A name in capitals stands for its value where `$NAME` is written; `words` of a case
//! and its rows come before those of the file. With `runs` a case has several runs, each with words or changes of its
//! own.

mod expect;
mod functions;

use crate::rows::{Pairs, get, label, pairs, rows, text_of};
use expect::Seen;
use std::collections::BTreeMap;
use tailback_scenario::{load_file, load_text};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

files! { "cases":
    accurate_ecn bursts changes code_points controls dual_queue echo edge_stages edges examples home_networks
    keshav_sources large_packets links linux_references marking media media_references rate_controls replays
    requests sessions shapers signals_of_queues small_queues switch tcp_references tfrc topologies transfers
    variants web weights
}

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/tailback/examples");

/// A line that does not hold is said with file, line, row, what was expected, and what is there instead.
#[test]
fn what_does_not_hold_is_said() {
    let text = r#"
scenario = '''
duration = "1s"
link.line = { from = "a", to = "b", rate = "$RATE", delay = "10ms", queue = "codel" }
flows.f = { traffic = { kind = "cbr", rate = "400kbps" }, packet_size = "1000B" }
'''
[[case]]
id = "x"
with = [{ RATE = "8Mbps" }]
expect = '''
flows[f.0].sent_packets = 50
links[line].utilisation > 0.9; flows.rows = 1
'''
"#;
    let said = |line: &str, instead: &str| played("f.toml", &text.replace(line, instead)).1;
    assert_eq!(
        said("= 50", "= 50 +- 1"),
        ["f.toml:12: x, RATE = 8Mbps: expected `links[line].utilisation > 0.9`; it is 0.05, on the right 0.9"]
    );
    for (line, instead, problem) in [
        (
            "links[line].util",
            "links[line].usil",
            "there is no column `usilisation` in links; there are name",
        ),
        ("links[line]", "links[lime]", "there is no such value"),
        (
            "flows.rows = 1",
            "flows.rows, links[lime].utilisation = 1",
            "no such value at place 2",
        ),
        (
            "links[line].util",
            "max(links[line.reverse].wasted - 0) < 1; links[line].util",
            "NaN",
        ),
        ("flows.rows = 1", "flows.rows = 1 +- 2 3", "`3` is too much"),
        ("= 50", "= 50, 50", "2 values beside 1"),
        ("8Mbps", "8MBps", "\"8MBps\""),
        ("$RATE", "$RTAE", "there is no word $RTAE"),
        ("with =", "refused = 'no'\nwith =", "it was taken"),
    ] {
        let all = said(line, instead).join("\n");
        assert!(all.contains(problem) && all.contains("f.toml:"), "{all}");
    }
}

/// How many cases a file has, and what does not hold.
fn played(file: &str, source: &str) -> (usize, Vec<String>) {
    let table = DeTable::parse(source).unwrap_or_else(|e| panic!("{file}: {e}"));
    let table = table.get_ref();
    let (mut count, mut broken) = (0, Vec::new());
    let line = |at: usize| source[..at].matches('\n').count() + 1;
    for case in get(table, "case")
        .and_then(|l| l.get_ref().as_array())
        .into_iter()
        .flatten()
    {
        let at = line(case.span().start);
        let case = case.get_ref().as_table().expect("a case is a table");
        let id = text_of(get(case, "id").unwrap_or_else(|| panic!("{file}:{at}: a case has an id")));
        for row in rows(get(case, "with"), get(case, "each")) {
            count += 1;
            let mut words: BTreeMap<String, String> = pairs(get(table, "words")).into_iter().collect();
            words.extend(pairs(get(case, "words")));
            words.extend(row.clone());
            let one = Case {
                file,
                table,
                case,
                words,
            };
            for (place, what) in one.broken() {
                let at = place.map_or(at, |(start, n)| line(start) + n);
                broken.push(format!("{file}:{at}: {id}{}: {what}", label(&row)));
            }
        }
    }
    (count, broken)
}

struct Case<'t, 'i> {
    file: &'t str,
    table: &'t DeTable<'i>,
    case: &'t DeTable<'i>,
    words: BTreeMap<String, String>,
}

type Broken = Vec<(Option<(usize, usize)>, String)>;

impl Case<'_, '_> {
    /// What does not hold: the place of a text in the file and a line of it, and words.
    fn broken(&self) -> Broken {
        let mut runs: Vec<(String, Pairs, Vec<String>)> = Vec::new();
        match get(self.case, "runs") {
            None => runs.push((String::new(), vec![], vec![])),
            Some(all) => {
                for (name, run) in all.get_ref().as_table().expect("runs is a table") {
                    let (words, set) = match run.get_ref() {
                        DeValue::Table(_) => (pairs(Some(run)), vec![]),
                        _ => (vec![], texts(Some(run))),
                    };
                    runs.push((name.get_ref().to_string(), words, set));
                }
            }
        }
        let mut seen = Seen {
            runs: vec![],
            kept: BTreeMap::new(),
        };
        for (name, own, set) in runs {
            let mut words = self.words.clone();
            words.extend(own);
            match self.run(&words, &set) {
                Ok(outcome) => seen.runs.push((name, outcome)),
                Err(problems) if problems.is_empty() => {}
                Err(problems) => return problems.into_iter().map(|p| (None, format!("{name}{p}"))).collect(),
            }
        }
        let Some(expect) = get(self.case, "expect") else {
            let others = ["refused", "warns"].iter().any(|k| get(self.case, k).is_some());
            return if others {
                vec![]
            } else {
                vec![(None, "nothing is expected".to_string())]
            };
        };
        let mut broken = Vec::new();
        for (n, line) in text_of(expect).lines().enumerate() {
            let place = Some((expect.span().start, n + 1));
            let line = line.split_once(" # ").map_or(line, |(before, _)| before);
            match fill(line, &self.words) {
                Err(problem) => broken.push((place, problem)),
                Ok(line) => {
                    for step in line
                        .split(';')
                        .map(str::trim)
                        .filter(|s| !s.is_empty() && !s.starts_with('#'))
                    {
                        if let Err(problem) = seen.check(step) {
                            broken.push((place, format!("expected `{step}`; {problem}")));
                        }
                    }
                }
            }
        }
        broken
    }

    /// The outcome of a run; or what is not as it should be, which is nothing where a refusal was expected.
    fn run(
        &self,
        words: &BTreeMap<String, String>,
        set: &[String],
    ) -> Result<tailback_sim::results::outcome::Outcome, Vec<String>> {
        let one = |text: &str| fill(text, words).map_err(|e| vec![e]);
        let all = |key: &str| -> Result<Option<Vec<String>>, Vec<String>> {
            get(self.case, key)
                .map(|v| texts(Some(v)).iter().map(|t| one(t)).collect())
                .transpose()
        };
        let mut changes = all("set")?.unwrap_or_default();
        changes.extend(set.iter().map(|s| one(s)).collect::<Result<Vec<_>, _>>()?);
        changes.retain(|c| !c.is_empty());
        let (refused, mut warns) = (all("refused")?, all("warns")?);
        let loaded = if let Some(example) = get(self.case, "example") {
            warns = warns.or(Some(vec![]));
            load_file(format!("{EXAMPLES}/{}.toml", text_of(example)), &changes)
        } else {
            let scenario = get(self.case, "scenario").or_else(|| get(self.table, "scenario"));
            let scenario = scenario.unwrap_or_else(|| panic!("{}: a case has no scenario", self.file));
            load_text(&one(&text_of(scenario))?, "case.toml", &changes)
        };
        let outcome = match loaded {
            Err(e) => Err(e.to_string()),
            Ok(loaded) => {
                let said = &loaded.warnings;
                let missing = warns.iter().flatten().find(|w| !said.iter().any(|s| s.contains(*w)));
                if let Some(missing) = missing {
                    return Err(vec![format!("expected the warning `{missing}`; there are {said:?}")]);
                }
                if warns.is_some_and(|w| w.is_empty()) && !said.is_empty() {
                    return Err(vec![format!("expected no warning; there are {said:?}")]);
                }
                run(&loaded.spec, loaded.spec.seed, &Hooks::default()).map_err(|e| e.to_string())
            }
        };
        match (outcome, refused) {
            (Ok(_), Some(_)) => Err(vec!["expected a refusal; it was taken".to_string()]),
            (Ok(outcome), None) => Ok(outcome),
            (Err(said), None) => Err(vec![said]),
            (Err(said), Some(texts)) => {
                let missing = texts.iter().filter(|t| !said.contains(*t));
                Err(missing
                    .map(|t| format!("expected the refusal `{t}`; it says {said}"))
                    .collect())
            }
        }
    }
}

/// A text or a list of texts.
fn texts(of: Option<&Spanned<DeValue>>) -> Vec<String> {
    match of.map(Spanned::get_ref) {
        None => vec![],
        Some(DeValue::Array(all)) => all.iter().map(text_of).collect(),
        Some(_) => of.map(text_of).into_iter().collect(),
    }
}

/// The text with values for its words, which may have words in them.
fn fill(text: &str, words: &BTreeMap<String, String>) -> Result<String, String> {
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        let value = words.get(name).ok_or(format!("there is no word ${name}"))?;
        filled += &fill(value, words)?;
        filled += rest;
    }
    Ok(filled)
}
