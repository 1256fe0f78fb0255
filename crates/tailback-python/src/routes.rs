//! The data about a scenario that theory needs: the routes of its flows, and the rates that their conditioners promise.

use crate::scenario::Scenario;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tailback_base::{Settings, Value};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::prepare;

/// The name, the group, the ports with their rates in bit/s, and the committed and the peak rate.
type Row = (String, String, Vec<(String, u64)>, Option<(f64, f64)>);

/// For each flow its name, its group, and the ports that its data pass with their rates. The row also has the rates
/// that its source's conditioner promises: committed and peak, in bit/s; None without a conditioner that has rates.
#[pyfunction]
pub fn routes(py: Python, scenario: &Scenario) -> PyResult<Vec<Row>> {
    let spec = &scenario.loaded.spec;
    let paths = py.detach(|| prepare(spec, spec.seed, &Hooks::default()).map(|p| p.built.paths()));
    let paths = paths.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    let rows = paths.into_iter().map(|path| {
        let group = spec.flows.iter().find(|g| g.name == path.group);
        let promised = group.and_then(|g| {
            let weight = g.weight[path.index as usize % g.weight.len()];
            g.conditioner.as_ref().and_then(|c| promise(c, weight))
        });
        let ports = path.ports.into_iter().map(|(name, rate)| (name, rate.0)).collect();
        (path.flow, path.group, ports, promised)
    });
    Ok(rows.collect())
}

/// The committed and the peak rate of a conditioner, or of the marker in it. A conditioner without a peak rate does not
/// use yellow. A conditioner that derives its peak rate uses twice the committed rate.
fn promise(c: &Settings, weight: f64) -> Option<(f64, f64)> {
    let rate = |name: &str| match c.model.param(name).map(|_| c.value(name)) {
        Some(Value::Rate(r)) => Some(r.bits_per_second()),
        _ => None,
    };
    let Some(committed) = rate("committed_rate").or_else(|| rate("rate")) else {
        return nested(c).find_map(|inner| promise(inner, weight));
    };
    let peak = match c.model.param("peak_rate") {
        Some(_) => rate("peak_rate").unwrap_or(2.0 * committed),
        None => committed,
    };
    let by_weight = c.model.param("by_weight").is_some() && c.flag("by_weight");
    let times = if by_weight { weight } else { 1.0 };
    Some((committed * times, peak * times))
}

/// The models inside a model.
fn nested(c: &Settings) -> impl Iterator<Item = &Settings> {
    let names = c.model.params.iter().filter(|p| p.kind.holds_models()).map(|p| p.name);
    names.flat_map(|name| c.nested_list(name))
}
