//! The extension module `tailback._core`: the engine for Python, and nothing more.
//!
//! A crate with rows of its own makes a module that replaces `_core`, with [`module_with`].
//!
//! Each file binds one idea. Everything that can be written in Python (formatting, statistics, the builder, the command
//! line) is written in Python, in `python/tailback`.

mod batch;
mod by_hand;
mod capture;
mod column;
mod control;
mod counting;
mod dialogues;
mod discipline;
mod given;
mod here;
mod inside;
mod json_rows;
mod lab;
#[cfg(target_os = "linux")]
mod live;
mod mark;
mod media;
mod os_error;
mod outlet;
mod packet;
mod plan;
mod quantities;
mod reference;
mod results;
mod routes;
mod scenario;
mod stack;
mod steps;
mod table;
mod timer_wheel;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tailback_sim::library::Library;
use tailback_sim::library::own::{self, OwnCrate};

pub use pyo3;

/// Make a module that can take the place of `tailback._core`, with the rows that `rows` adds.
///
/// # Errors
/// The library refuses the rows: an `ImportError` with the remedy.
pub fn module_with(m: &Bound<PyModule>, of: OwnCrate, rows: fn(&mut Library)) -> PyResult<()> {
    own::install(of, rows).map_err(|e| PyImportError::new_err(e.to_string()))?;
    fill(m)
}

#[pymodule]
fn _core(m: &Bound<PyModule>) -> PyResult<()> {
    fill(m)
}

fn fill(m: &Bound<PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<table::Table>()?;
    m.add_class::<column::ColumnBuffer>()?;
    m.add_class::<table::RowGroups>()?;
    m.add_class::<by_hand::SenderByHand>()?;
    m.add_class::<by_hand::SegmentByHand>()?;
    m.add_class::<scenario::Scenario>()?;
    m.add_class::<plan::Plan>()?;
    m.add_class::<plan::Inbox>()?;
    m.add_class::<results::Results>()?;
    m.add_class::<results::RunTables>()?;
    m.add_class::<results::StoredRuns>()?;
    m.add_class::<packet::Packet>()?;
    m.add_class::<outlet::Out>()?;
    m.add_class::<outlet::Line>()?;
    m.add_class::<outlet::Wait>()?;
    m.add_class::<by_hand::DrivenQueue>()?;
    m.add_class::<control::ControlRules>()?;
    m.add_class::<control::ControlStart>()?;
    m.add_class::<control::ControlAck>()?;
    m.add_class::<control::ControlRate>()?;
    m.add_class::<control::ControlLost>()?;
    m.add_class::<control::ControlDeparture>()?;
    m.add_class::<control::ControlSign>()?;
    m.add_class::<control::ControlReset>()?;
    m.add_class::<control::ControlTakeover>()?;
    m.add_class::<by_hand::DrivenControl>()?;
    m.add_class::<by_hand::DrivenRateControl>()?;
    m.add_class::<control::media::MediaTerms>()?;
    m.add_class::<control::media::MediaPacket>()?;
    m.add_class::<control::media::MediaFeedback>()?;
    m.add_class::<control::media::MediaFrame>()?;
    m.add_class::<control::media::MediaDeparture>()?;
    m.add_class::<steps::PathFeatures>()?;
    m.add_class::<steps::StepEnv>()?;
    m.add_class::<steps::StepEnvs>()?;
    m.add_function(wrap_pyfunction!(steps::load_steered, m)?)?;
    m.add_function(wrap_pyfunction!(control::register_control, m)?)?;
    m.add_function(wrap_pyfunction!(control::control_facts, m)?)?;
    m.add_class::<stack::StackPair>()?;
    m.add_function(wrap_pyfunction!(capture::write_pcapng, m)?)?;
    m.add("DialogueFault", m.py().get_type::<dialogues::DialogueFault>())?;
    m.add_function(wrap_pyfunction!(dialogues::read_dialogue, m)?)?;
    m.add_function(wrap_pyfunction!(dialogues::read_packetdrill, m)?)?;
    m.add_function(wrap_pyfunction!(dialogues::read_packetdrill_commands, m)?)?;
    m.add("ScenarioError", m.py().get_type::<scenario::ScenarioError>())?;
    m.add_function(wrap_pyfunction!(scenario::load, m)?)?;
    m.add_function(wrap_pyfunction!(scenario::toml_line, m)?)?;
    m.add_function(wrap_pyfunction!(mark::mark, m)?)?;
    m.add_function(wrap_pyfunction!(capture::capture, m)?)?;
    m.add_function(wrap_pyfunction!(capture::trace, m)?)?;
    m.add_function(wrap_pyfunction!(routes::routes, m)?)?;
    m.add_function(wrap_pyfunction!(results::read_results, m)?)?;
    m.add_function(wrap_pyfunction!(results::status, m)?)?;
    m.add("source", tailback_plan::source())?;
    m.add("own_crate", own::installed().map(|i| (i.of.name, i.of.version)))?;
    m.add("own_rows", own::installed().map_or(vec![], |i| i.rows.clone()))?;
    let tables: Vec<&str> = tailback_plan::tables::names().collect();
    let tables = PyTuple::new(m.py(), tables)?;
    m.add("TABLES", tables)?;
    m.add_function(wrap_pyfunction!(results::cores, m)?)?;
    m.add_function(wrap_pyfunction!(results::peak_rss_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(results::make_results, m)?)?;
    m.add_function(wrap_pyfunction!(table::make_table, m)?)?;
    m.add_function(wrap_pyfunction!(table::read_parquet, m)?)?;
    m.add_function(wrap_pyfunction!(table::parquet_columns, m)?)?;
    m.add_function(wrap_pyfunction!(table::write_parquet, m)?)?;
    m.add_function(wrap_pyfunction!(plan::columns, m)?)?;
    m.add_function(wrap_pyfunction!(plan::combine, m)?)?;
    m.add_function(wrap_pyfunction!(plan::combine_by, m)?)?;
    m.add_function(wrap_pyfunction!(plan::make_plan, m)?)?;
    #[cfg(target_os = "linux")]
    live::add(m)?;
    counting::add(m)?;
    lab::add(m)?;
    media::add(m)?;
    reference::add(m)?;
    quantities::add(m)
}
