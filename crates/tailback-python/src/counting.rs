//! Counts flows per queue, without packets.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_base::Stream;
use tailback_queue::pieces::classify::bloom::counting::{self, Spread};
use tailback_queue::pieces::classify::bloom::filters::FilterShape;

pub fn add(m: &Bound<PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(spread_ratios, m)?)?;
    m.add_function(wrap_pyfunction!(spread_occupancy, m)?)?;
    m.add_function(wrap_pyfunction!(spread_drift, m)?)?;
    m.add_function(wrap_pyfunction!(filter_shape, m)?)
}

/// `how` is "hash", "groups" or "perfect"; `shape` is a filter of m bits, k hash functions and c counter bits. The
/// default shape is that of a port for this number of flows.
fn spread(how: &str, flows: u32, groups: u32, shape: Option<(u32, u32, u32)>) -> PyResult<Spread> {
    let usual = FilterShape::for_flows(groups, flows.div_ceil(groups.max(1)));
    Ok(match how {
        "hash" => Spread::Hash,
        "perfect" => Spread::Perfect { groups },
        "groups" => Spread::Groups(shape.map_or(usual, |(bits, hashes, counter_bits)| FilterShape {
            groups,
            bits,
            hashes,
            counter_bits,
        })),
        _ => {
            return Err(PyValueError::new_err(format!(
                "\"{how}\" is not a way to spread flows; there are hash, groups, perfect"
            )));
        }
    })
}

fn at_least_one(values: &[(&str, u32)]) -> PyResult<()> {
    match values.iter().find(|(_, n)| *n == 0) {
        Some((name, _)) => Err(PyValueError::new_err(format!("{name} is 0; give at least 1"))),
        None => Ok(()),
    }
}

/// The flows of the fullest queue divided by those of the emptiest, for `draws` independent draws of all addresses.
#[pyfunction]
#[pyo3(signature = (how, flows, queues, groups=1, shape=None, draws=1, seed=1))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
fn spread_ratios(
    py: Python,
    how: &str,
    flows: u32,
    queues: u32,
    groups: u32,
    shape: Option<(u32, u32, u32)>,
    draws: u32,
    seed: u64,
) -> PyResult<Vec<f64>> {
    at_least_one(&[("flows", flows), ("queues", queues), ("groups", groups)])?;
    let how = spread(how, flows, groups, shape)?;
    let mut stream = Stream::new(seed, "counting");
    Ok(py.detach(|| {
        (0..draws)
            .map(|_| counting::ratio(flows, queues, how, &mut stream))
            .collect()
    }))
}

/// Flows of each queue, for one draw.
#[pyfunction]
#[pyo3(signature = (how, flows, queues, groups=1, shape=None, seed=1))]
fn spread_occupancy(
    how: &str,
    flows: u32,
    queues: u32,
    groups: u32,
    shape: Option<(u32, u32, u32)>,
    seed: u64,
) -> PyResult<Vec<u32>> {
    at_least_one(&[("flows", flows), ("queues", queues), ("groups", groups)])?;
    let how = spread(how, flows, groups, shape)?;
    Ok(counting::occupancy(
        flows,
        queues,
        how,
        &mut Stream::new(seed, "counting"),
    ))
}

/// The ratio while flows change their addresses and no flow is moved: samples every `step`, mean over time, extremes.
#[pyfunction]
#[pyo3(signature = (how, flows, queues, groups=1, shape=None, hold_s=2.0, length_s=200.0, step_s=0.1, seed=1))]
#[allow(clippy::too_many_arguments)]
fn spread_drift(
    py: Python,
    how: &str,
    flows: u32,
    queues: u32,
    groups: u32,
    shape: Option<(u32, u32, u32)>,
    hold_s: f64,
    length_s: f64,
    step_s: f64,
    seed: u64,
) -> PyResult<(Vec<f64>, f64, f64, f64)> {
    at_least_one(&[("flows", flows), ("queues", queues), ("groups", groups)])?;
    if !(hold_s > 0.0 && length_s > 0.0 && step_s > 0.0) {
        return Err(PyValueError::new_err("hold, length and step must be above 0 s"));
    }
    let how = spread(how, flows, groups, shape)?;
    let mut stream = Stream::new(seed, "counting");
    let drift = py.detach(|| counting::drift(flows, queues, how, hold_s, length_s, step_s, &mut stream));
    Ok((drift.samples, drift.mean, drift.max, drift.min))
}

/// The bits of a filter, the hash functions and the counter bits for this number of flows in a group: see
/// `FilterShape::for_flows`.
#[pyfunction]
fn filter_shape(flows_in_group: u32) -> (u32, u32, u32) {
    let s = FilterShape::for_flows(1, flows_in_group);
    (s.bits, s.hashes, s.counter_bits)
}
