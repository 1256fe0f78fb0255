//! The schema of scenarios and the reference of models, as JSON text and as text for people.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_scenario::{describe, schema};
use tailback_sim::library::Library;

/// The JSON schema of a scenario, as JSON text.
#[pyfunction]
fn schema_json() -> String {
    schema::schema().to_string()
}

/// The list of models, or the models of a name or of a family, or profiles, as JSON text.
#[pyfunction]
#[pyo3(signature = (name = None))]
fn describe_json(name: Option<&str>) -> PyResult<String> {
    let Some(name) = name else {
        return Ok(describe::list().to_string());
    };
    let data = describe::data_of(name).map_err(PyValueError::new_err)?;
    Ok(data.to_string())
}

/// The same list as text for people.
#[pyfunction]
#[pyo3(signature = (name = None))]
fn describe_text(name: Option<&str>) -> PyResult<String> {
    match name {
        Some(n) => describe::text_of(n).map_err(PyValueError::new_err),
        None => Ok(describe::list_text()),
    }
}

/// The tables of results and the titles of their columns, as JSON text.
#[pyfunction]
fn tables_json() -> String {
    describe::tables().to_string()
}

/// The own names of the models of a family that a name may stand for. There are several if another program has one name
/// for all of them.
#[pyfunction]
fn models_meant(family: &str, name: &str) -> Vec<&'static str> {
    let meant = Library::standard().catalogue.meant(family, name);
    meant.iter().map(|m| m.name).collect()
}

/// The whole reference in Markdown.
#[pyfunction]
fn reference_markdown() -> String {
    describe::reference()
}

pub fn add(m: &Bound<PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(schema_json, m)?)?;
    m.add_function(wrap_pyfunction!(describe_json, m)?)?;
    m.add_function(wrap_pyfunction!(tables_json, m)?)?;
    m.add_function(wrap_pyfunction!(describe_text, m)?)?;
    m.add_function(wrap_pyfunction!(models_meant, m)?)?;
    m.add_function(wrap_pyfunction!(reference_markdown, m)?)
}
