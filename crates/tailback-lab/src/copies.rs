//! A state as text to copy: a scenario file, Python, a command.

use crate::state::{LabRefusal, PAGE, ScenarioReader, State, watched};
use serde_json::{Value, json};
use tailback_scenario::inline;
use tailback_sim::declare::tables::{link, top};

/// The same state in three forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    pub toml: String,
    pub python: String,
    pub command: String,
}

impl Copies {
    /// # Errors
    /// The state is not a scenario.
    pub fn of(state: &State, reader: &ScenarioReader) -> Result<Copies, LabRefusal> {
        let loaded = reader.load(&state.document, PAGE)?;
        let toml = format!("{}\n", loaded.toml.trim_end_matches('\n'));
        let mut copies = Copies {
            python: format!(
                "import tailback as tb\n\nscenario = \"\"\"\n{}\"\"\"\nfirst = tb.run(scenario)\n",
                within_quotes(&toml)
            ),
            command: format!("tailback run - <<'END'\n{toml}END\n"),
            toml,
        };
        if let Some(beside) = &state.beside {
            let queue = inline(&Value::Object(beside.clone()));
            let place = format!(
                "{}.{}.{}",
                top::LINKS.name,
                watched(&loaded.spec).name,
                link::QUEUE.name
            );
            let change = format!("{place}={queue}");
            copies.python += &format!("second = tb.run(scenario, overrides=[{}])\n", python_text(&change));
            copies.command += &format!(
                "tailback run - --set {} <<'END'\n{}END\n",
                shell_word(&change),
                copies.toml
            );
            copies.toml = format!("# Beside it: {place} = {queue}\n{}", copies.toml);
        }
        Ok(copies)
    }

    pub fn as_json(&self) -> Value {
        json!({"toml": self.toml, "python": self.python, "command": self.command})
    }
}

fn within_quotes(toml: &str) -> String {
    toml.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"")
}

/// A text as Python writes it.
fn python_text(text: &str) -> String {
    match text.contains(|c: char| c == '\'' || c == '\\' || c.is_control()) {
        true => json!(text).to_string(),
        false => format!("'{text}'"),
    }
}

/// A word that a POSIX shell takes unchanged.
fn shell_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}
