//! The measures of media, for Python.

use pyo3::prelude::*;
use tailback_sim::measure::e_model as engine;

/// The E-model: the reduction of R by a delay from mouth to ear (s), and by a share of lost packets with this burst
/// ratio; R itself, and its mean opinion score.
#[pyfunction]
#[pyo3(signature = (one_way, share, burst_ratio = 1.0))]
fn e_model(one_way: f64, share: f64, burst_ratio: f64) -> (f64, f64, f64, f64) {
    let rating = engine::rating(one_way, share, burst_ratio);
    (
        engine::delay_impairment(one_way),
        engine::loss_impairment(share, burst_ratio),
        rating,
        engine::opinion(rating),
    )
}

pub fn add(m: &Bound<PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(e_model, m)?)
}
