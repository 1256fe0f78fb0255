//! The one parser of units, for Python: results in bit/s, seconds, bytes and packets.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_base::quantity::{self, Level, Refusal, Size};

fn refused(r: Refusal) -> PyErr {
    PyValueError::new_err(r.to_string())
}

/// "500Mbps" to bit/s.
///
/// >>> tb.parse_rate("500Mbps")
/// 500000000.0
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<f64> {
    quantity::parse_rate(text).map(|r| r.bits_per_second()).map_err(refused)
}

/// "50ms" to seconds.
///
/// >>> tb.parse_time("50ms")
/// 0.05
/// >>> tb.parse_time("50m")
/// Traceback (most recent call last):
/// ValueError: the unit "m" is ambiguous; write "ms" for milliseconds or "min" for minutes
#[pyfunction]
fn parse_time(text: &str) -> PyResult<f64> {
    quantity::parse_time(text).map(|d| d.seconds()).map_err(refused)
}

/// "64KB" to bytes.
///
/// >>> tb.parse_bytes("64KB")
/// 64000
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    quantity::parse_bytes(text).map_err(refused)
}

/// "1000 packets" to (1000, "packets"), "64KB" to (64000, "bytes"), "unlimited" to (None, "unlimited").
///
/// >>> tb.parse_size("1000 packets"), tb.parse_size("64KB"), tb.parse_size("unlimited")
/// ((1000, 'packets'), (64000, 'bytes'), (None, 'unlimited'))
#[pyfunction]
fn parse_size(text: &str) -> PyResult<(Option<u64>, &'static str)> {
    Ok(match quantity::parse_size(text).map_err(refused)? {
        Size::Packets(n) => (Some(n), "packets"),
        Size::Bytes(n) => (Some(n), "bytes"),
        Size::Unlimited => (None, "unlimited"),
    })
}

/// "20%" to (0.2, "of buffer"), "5 packets" to (5.0, "packets"), "30KB" to (30000.0, "bytes").
///
/// >>> tb.parse_level("20%"), tb.parse_level("5 packets"), tb.parse_level("30KB")
/// ((0.2, 'of buffer'), (5.0, 'packets'), (30000.0, 'bytes'))
#[pyfunction]
fn parse_level(text: &str) -> PyResult<(f64, &'static str)> {
    Ok(match quantity::parse_level(text).map_err(refused)? {
        Level::Packets(n) => (n, "packets"),
        Level::Bytes(n) => (n, "bytes"),
        Level::OfBuffer(x) => (x, "of buffer"),
    })
}

pub fn add(m: &Bound<PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(parse_rate, m)?)?;
    m.add_function(wrap_pyfunction!(parse_time, m)?)?;
    m.add_function(wrap_pyfunction!(parse_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(parse_size, m)?)?;
    m.add_function(wrap_pyfunction!(parse_level, m)?)
}
