//! A state: a scenario as its document, and the queue that is compared with the scenario's own.

use serde_json::{Map, Value, json};
use std::fmt;
use tailback_scenario::{Loaded, ScenarioError, load_json_with};
use tailback_sim::declare::tables::{link, top};
use tailback_sim::library::Library;
use tailback_sim::spec::{LinkSpec, Spec};

/// The name, in messages, of a scenario from the page.
pub const PAGE: &str = "the page";
/// The longest state that a page shows, bytes.
pub const LONGEST: usize = 200_000;
/// JavaScript keeps whole numbers up to this one.
const MOST_WHOLE: u64 = (1 << 53) - 1;
/// The key of a queue table that names the discipline.
pub const KIND: &str = "kind";
/// The keys of a state.
const DOCUMENT: &str = "document";
const BESIDE: &str = "beside";

/// A table of a scenario.
pub type ScenarioTable = Map<String, Value>;

/// The reason why something is not done.
#[derive(Debug)]
pub enum LabRefusal {
    /// The scenario is wrong.
    Scenario(ScenarioError),
    /// A request of the page cannot be done. The text gives the reason and the remedy.
    Page(String),
}

impl fmt::Display for LabRefusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            LabRefusal::Scenario(e) => e.fmt(f),
            LabRefusal::Page(text) => text.fmt(f),
        }
    }
}

impl From<ScenarioError> for LabRefusal {
    fn from(e: ScenarioError) -> LabRefusal {
        LabRefusal::Scenario(e)
    }
}

/// The options for reading scenarios.
#[derive(Clone, Copy)]
pub struct ScenarioReader<'a> {
    pub library: &'a Library,
    /// The reason why the page cannot show a scenario that can be run elsewhere.
    pub unfit: fn(&Spec) -> Option<String>,
}

impl Default for ScenarioReader<'static> {
    fn default() -> Self {
        ScenarioReader {
            library: Library::standard(),
            unfit: |_| None,
        }
    }
}

impl ScenarioReader<'_> {
    /// The scenario of a document. `name` stands for the file in messages.
    ///
    /// # Errors
    /// The message that a file gets, or the reason why the page cannot show the scenario.
    pub fn load(&self, document: &ScenarioTable, name: &str) -> Result<Loaded, LabRefusal> {
        let text = Value::Object(document.clone()).to_string();
        let loaded = load_json_with(self.library, &text, name, &[])?;
        match (self.unfit)(&loaded.spec) {
            Some(why) => Err(LabRefusal::Page(why)),
            None => Ok(loaded),
        }
    }
}

/// A scenario, and the queue that replaces that of its link in the second run.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub document: ScenarioTable,
    pub beside: Option<ScenarioTable>,
}

impl State {
    /// A state as a page sends it.
    ///
    /// # Errors
    /// The value is not a state.
    pub fn of(given: &Value) -> Result<State, LabRefusal> {
        let refused = |text: &str| Err(LabRefusal::Page(text.to_string()));
        let Some(document) = given[DOCUMENT].as_object() else {
            return refused("a state is an object with a `document`, the scenario, and `beside`, a queue or null");
        };
        let beside = match &given[BESIDE] {
            Value::Null => None,
            Value::Object(queue) => Some(queue.clone()),
            _ => return refused("`beside` is a queue such as {\"kind\": \"codel\"}, or null"),
        };
        if let Some(number) = lost_in_a_page(given) {
            let problem =
                format!("the whole number {number} is beyond {MOST_WHOLE}, the largest that a page keeps exactly");
            return refused(&format!(
                "{problem}; choose a smaller one, or run it with `tailback run`"
            ));
        }
        if given.to_string().len() > LONGEST {
            let most = LONGEST / 1000;
            return refused(&format!(
                "the scenario is longer than {most} kB; run it with `tailback run`"
            ));
        }
        Ok(State {
            document: document.clone(),
            beside,
        })
    }

    pub fn as_json(&self) -> Value {
        json!({DOCUMENT: self.document, BESIDE: self.beside})
    }

    /// The scenarios of the runs. The scenarios differ in the queue of the watched link, and have the same seed.
    ///
    /// # Errors
    /// The document is not a scenario.
    pub fn documents(&self, reader: &ScenarioReader) -> Result<Vec<ScenarioTable>, LabRefusal> {
        let first_document = self.document.clone();
        let Some(beside) = &self.beside else {
            return Ok(vec![first_document]);
        };
        let loaded = reader.load(&first_document, PAGE)?;
        let mut second = first_document.clone();
        let of_link = table_in(table_in(&mut second, top::LINKS.name), &watched(&loaded.spec).name);
        of_link.insert(link::QUEUE.name.into(), Value::Object(beside.clone()));
        // The second discipline may lack the probes that are recorded of the first; the page has recordings of its own.
        if second.contains_key(top::RECORDINGS.name) && reader.load(&second, PAGE).is_err() {
            second.shift_remove(top::RECORDINGS.name);
        }
        Ok(vec![first_document, second])
    }
}

/// A whole number that a page would change, because it is too large for JavaScript.
fn lost_in_a_page(value: &Value) -> Option<&Value> {
    match value {
        Value::Number(n) => n
            .as_u64()
            .or(n.as_i64().map(i64::unsigned_abs))
            .filter(|n| *n > MOST_WHOLE)
            .map(|_| value),
        Value::Array(all) => all.iter().find_map(lost_in_a_page),
        Value::Object(all) => all.values().find_map(lost_in_a_page),
        _ => None,
    }
}

/// The document with the queue of the watched link as a table at the link itself, where a page changes it.
///
/// # Errors
/// The document is not a scenario.
pub fn explicit(document: &ScenarioTable, name: &str, reader: &ScenarioReader) -> Result<ScenarioTable, LabRefusal> {
    let loaded = reader.load(document, name)?;
    let watched = &watched(&loaded.spec).name;
    let queue = queue_of(document, watched);
    let mut copied = document.clone();
    table_in(table_in(&mut copied, top::LINKS.name), watched).insert(link::QUEUE.name.into(), Value::Object(queue));
    Ok(copied)
}

/// The link whose queue is shown: the link called `bottleneck`, or else the first link of the lowest rate.
pub fn watched(spec: &Spec) -> &LinkSpec {
    let named = spec.links.iter().find(|l| l.name == "bottleneck");
    let slowest = || spec.links.iter().min_by_key(|l| l.forward.rate);
    named.or_else(slowest).expect("a scenario has a link")
}

/// The queue of a link, as a table.
pub fn queue_of(document: &ScenarioTable, of: &str) -> ScenarioTable {
    let own = at(document, &[top::LINKS.name, of, link::QUEUE.name]);
    let queue = own.or_else(|| at(document, &[top::TOPOLOGY.name, link::QUEUE.name]));
    match queue {
        Some(Value::Object(queue)) => queue.clone(),
        other => ScenarioTable::from_iter([(KIND.to_string(), other.cloned().unwrap_or_default())]),
    }
}

/// The value at a path, if it is not null.
pub fn at<'a>(document: &'a ScenarioTable, path: &[&str]) -> Option<&'a Value> {
    let (outer_key, inner_path) = path.split_first()?;
    let value = document.get(*outer_key)?;
    let value = inner_path.iter().try_fold(value, |inner, key| inner.get(*key))?;
    (!value.is_null()).then_some(value)
}

/// The table under a key. A model that is given by its name becomes a table with this kind; anything else becomes
/// empty.
pub fn table_in<'a>(table: &'a mut ScenarioTable, key: &str) -> &'a mut ScenarioTable {
    let inner = table.entry(key).or_insert_with(|| json!({}));
    match inner {
        Value::Object(_) => {}
        Value::String(kind) => *inner = json!({KIND: kind}),
        _ => *inner = json!({}),
    }
    inner.as_object_mut().expect("it was made a table")
}
