//! Scenario files and everything that reads them.
//!
//! A scenario is text ([`document`]). The `--set` arguments are applied to it ([`overrides`]), and its tables are
//! checked ([`check`]) against their declarations ([`tailback_sim::declare`], and the models of a [`Library`]). Then it
//! becomes a [`Spec`] for the simulator ([`read`]). The JSON schema ([`schema`]) and the reference ([`describe`]) are
//! made from the same declarations. Every mistake in a scenario is a [`ScenarioError`] that says where it is and what
//! to write instead. No input makes this code panic.
//!
//! ```toml
//! duration = "100s"
//! [link.bottleneck]
//! from = "left"
//! to = "right"
//! rate = "500Mbps"
//! delay = "49.5ms"
//! queue = { kind = "droptail", buffer = "1000 packets" }
//! [flows.bulk]
//! count = 100
//! rtt = ["100ms", "200ms"]
//! access_rate = "10Mbps"
//! ```
//!
//! [`memory`] gives an upper bound for the memory of a run. The simulator makes the run:
//!
//! ```
//! use tailback_scenario::load_text;
//! use tailback_sim::build::hooks::Hooks;
//! use tailback_sim::run::run;
//!
//! let text = r#"
//!     duration = "10s"
//!     link.bottleneck = { from = "left", to = "right", rate = "10Mbps", delay = "10ms", queue = "codel" }
//!     flows.bulk = { count = 2, rtt = "50ms" }
//! "#;
//! let loaded = load_text(text, "lab.toml", &[]).unwrap();
//! let outcome = run(&loaded.spec, loaded.spec.seed, &Hooks::default()).unwrap();
//! let used = outcome["links"].reals("utilisation").unwrap()[0];
//! assert!((0.8..=1.0).contains(&used));
//! assert_eq!(outcome["flows"].rows(), 2);
//!
//! // Stop after a tenth.
//! let hooks = Hooks { progress: Some(&|done| done < 0.1), ..Hooks::default() };
//! let e = run(&loaded.spec, 1, &hooks).unwrap_err();
//! assert_eq!(e.problem, "the run was interrupted");
//! ```

mod absent;
mod aliases;
mod canonical;
pub mod check;
pub mod describe;
pub mod document;
pub mod error;
mod file;
pub mod key;
mod linux;
pub mod measures;
pub mod memory;
mod outside;
pub mod overrides;
pub mod read;
pub mod regular;
pub mod schema;

#[cfg(test)]
mod tests;

pub use error::{Problem, ScenarioError};

use document::Document;
use measures::Settled;
use read::layer_loads::LayerLoad;
use std::path::Path;
use tailback_sim::library::Library;
use tailback_sim::spec::Spec;

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub spec: Spec,
    /// Everything as given, after overrides, as JSON with sorted keys.
    pub document: serde_json::Value,
    /// The scenario as TOML: the text as given, or, after overrides or from JSON, written anew.
    pub toml: String,
    /// 32 hexadecimal digits that identify `document` without its seed. The same scenario has the same digest on any
    /// machine.
    pub digest: String,
    /// Warnings: allowed settings that look like mistakes.
    pub warnings: Vec<String>,
    /// Values that depend on the path, such as `"0.5 bdp"`, by key.
    pub settled: Vec<Settled>,
    /// The loads of workloads on each layer of the topology.
    pub loads: Vec<LayerLoad>,
}

/// Read a scenario file: TOML, or JSON if its name ends in `.json`. `overrides` are texts `path=value`, applied in
/// order.
///
/// # Errors
/// A [`ScenarioError`] with every problem found; also for a file that cannot be read.
pub fn load_file(path: impl AsRef<Path>, overrides: &[String]) -> Result<Loaded, ScenarioError> {
    load_file_with(Library::standard(), path, overrides)
}

/// Like [`load_file`], with the models that the caller's library can name.
///
/// # Errors
/// The errors are those of [`load_file`].
pub fn load_file_with(
    library: &Library,
    path: impl AsRef<Path>,
    overrides: &[String],
) -> Result<Loaded, ScenarioError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = file::read_text(path)?;
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
        load_json_with(library, &text, &name, overrides)
    } else {
        load_text_with(library, &text, &name, overrides)
    }
}

/// Read a scenario from TOML text; `name` stands for the file in messages.
///
/// # Errors
/// The errors are those of [`load_file`].
///
/// ```
/// use tailback_scenario::load_text;
///
/// let text = r#"
///     duration = "10s"
///     [link.bottleneck]
///     from = "left"
///     to = "right"
///     rate = "10Mbps"
///     delay = "10ms"
///     queue = "codel"
///     [flows.bulk]
///     count = 2
/// "#;
/// let loaded = load_text(text, "lab.toml", &["flows.bulk.count=4".into()]).unwrap();
/// assert_eq!(loaded.spec.flows[0].count, 4);
///
/// // A mistake is shown with its place and a remedy.
/// let e = load_text(&text.replace("10Mbps", "10MBps"), "lab.toml", &[]).unwrap_err();
/// assert_eq!(e.problems[0].key, "link.bottleneck.rate");
/// assert!(e.to_string().contains("lab.toml:6:12"));
/// ```
pub fn load_text(text: &str, name: &str, overrides: &[String]) -> Result<Loaded, ScenarioError> {
    load_text_with(Library::standard(), text, name, overrides)
}

/// Like [`load_text`], with the models that the caller's library can name.
///
/// # Errors
/// The errors are those of [`load_file`].
pub fn load_text_with(
    library: &Library,
    text: &str,
    name: &str,
    overrides: &[String],
) -> Result<Loaded, ScenarioError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document = Document::from_toml(text, name).map_err(|p| ScenarioError::in_text(name, text, &[], vec![*p]))?;
    load(document, overrides, library)
}

/// Read a scenario from JSON text of the same shape, as the Python builder makes it.
///
/// # Errors
/// The errors are those of [`load_file`]; places are key paths only.
pub fn load_json(text: &str, name: &str, overrides: &[String]) -> Result<Loaded, ScenarioError> {
    load_json_with(Library::standard(), text, name, overrides)
}

/// Like [`load_json`], with the models that the caller's library can name.
///
/// # Errors
/// The errors are those of [`load_json`].
pub fn load_json_with(
    library: &Library,
    text: &str,
    name: &str,
    overrides: &[String],
) -> Result<Loaded, ScenarioError> {
    let document = Document::from_json(text, name).map_err(|p| ScenarioError::in_text(name, "", &[], vec![*p]))?;
    load(document, overrides, library)
}

/// A table of a scenario as TOML on one line; empty if the value is no table.
///
/// ```
/// use serde_json::json;
/// use tailback_scenario::inline;
///
/// assert_eq!(inline(&json!({"kind": "red", "buffer": "60 packets"})), r#"{ kind = "red", buffer = "60 packets" }"#);
/// ```
pub fn inline(table: &serde_json::Value) -> String {
    Document::from_json(&table.to_string(), "").map_or(String::new(), |d| canonical::value(&d.root))
}

fn load(mut document: Document, overrides: &[String], library: &Library) -> Result<Loaded, ScenarioError> {
    overrides::apply(&mut document, overrides)?;
    let sealed = read::named_file::seal(&mut document, library);
    let renamed = aliases::canonical(&mut document.root, &library.catalogue);
    let has_outside = outside::queues_of_files(&mut document.root, &library.catalogue);
    let read::Read {
        spec,
        warnings,
        settled,
        loads,
    } = read::read(&document, library)?;
    let json = canonical::to_json(&document.root);
    let toml = if document.text.is_empty() || !overrides.is_empty() || renamed || sealed || has_outside {
        canonical::to_toml(&document.root)
    } else {
        document.text.clone()
    };
    let toml = canonical::with_settled(toml, &settled);
    let digest = canonical::digest(&json);
    Ok(Loaded {
        spec,
        document: json,
        toml,
        digest,
        warnings,
        settled,
        loads,
    })
}
