//! The situations of `situations.toml`, put to a stack.

use crate::digest::taken;
use serde::Deserialize;
use std::collections::BTreeMap;
use tailback_path::{Finished, Scenario};

pub struct Stack {
    pub name: &'static str,
    pub hand_over: Box<dyn Fn(Scenario, &str) -> Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Situations {
    line: String,
    pub situation: Vec<Situation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Situation {
    pub name: String,
    scenario: String,
    measure: Measure,
    /// At least and at most.
    between: [f64; 2],
    unit: String,
    /// Why it is not run, by stack.
    #[serde(default)]
    pub empty: BTreeMap<String, String>,
}

#[derive(Deserialize)]
enum Measure {
    #[serde(rename = "rows of series")]
    Series,
    #[serde(rename = "rows of pages")]
    Pages,
    /// Mb/s of all flows.
    #[serde(rename = "goodput")]
    Goodput,
    #[serde(rename = "bytes of a captured packet")]
    Captured,
    #[serde(rename = "different runs")]
    Different,
}

pub fn all() -> Situations {
    toml::from_str(include_str!("../situations.toml")).unwrap_or_else(|e| panic!("situations.toml: {e}"))
}

impl Situations {
    pub fn seen(&self, situation: &Situation, stack: &Stack) -> Result<f64, String> {
        let text = format!("{}{}", self.line, situation.scenario);
        let lab = || (stack.hand_over)(Scenario::parse(&text, &situation.name), "mine");
        let run = |scenario: Scenario| scenario.run().map_err(|e| e.to_string());
        Ok(match situation.measure {
            Measure::Series => rows(&run(lab())?, "series"),
            Measure::Pages => rows(&run(lab())?, "pages"),
            Measure::Goodput => {
                let f = run(lab())?;
                let cross = if text.contains("[flows.cross]") { f.flow("cross", 0, "goodput_bps") } else { 0.0 };
                (f.flow("mine", 0, "goodput_bps") + cross) / 1e6
            }
            Measure::Captured => {
                let path = std::env::temp_dir().join(format!("matrix-{}.pcapng", std::process::id()));
                let f = run(lab().set("warmup", "0s").capture("line", &path))?;
                let bytes = std::fs::metadata(&path).map_err(|e| e.to_string())?.len();
                std::fs::remove_file(&path).map_err(|e| e.to_string())?;
                bytes as f64 / (f.link("line", "arrived_packets") + f.link("line.reverse", "arrived_packets"))
            }
            Measure::Different => {
                let mut digests = vec![];
                for seed in [7, 7, 8] {
                    taken();
                    run(lab().seed(seed))?;
                    digests.push(taken());
                }
                // Two runs of one seed that differ are one too many.
                f64::from(1 + 2 * u8::from(digests[0] != digests[1]) + u8::from(digests[1] != digests[2]))
            }
        })
    }
}

impl Situation {
    /// What a cell says of a value; an error if it is not what must be seen.
    pub fn judged(&self, value: f64) -> Result<String, String> {
        let said = format!("{} {}", (value * 100.0).round() / 100.0, self.unit);
        let [least, most] = self.between;
        if (least..=most).contains(&value) { Ok(said) } else { Err(format!("{said}, not {least} to {most}")) }
    }
}

fn rows(f: &Finished, table: &str) -> f64 {
    f.tables().iter().find(|t| t.name == table).map_or(0, |t| t.rows()) as f64
}
