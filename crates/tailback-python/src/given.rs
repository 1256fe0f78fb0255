//! Checks of arguments of the extension's objects. A wrong argument is refused with its value and with what to give
//! instead.
//!
//! Each function is the `from_py_with` of an argument. A refusal is a `ValueError`, which PyO3 passes on unchanged;
//! PyO3 puts words of its own before a `TypeError`.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The number of letters of a value that are shown.
const SHOWN: usize = 60;

/// The refusal of a wrong value, with what to give instead.
pub fn refused(given: &Bound<PyAny>, wanted: &str) -> PyErr {
    let value_shown = given.repr().map(|r| r.to_string()).unwrap_or_default();
    let value_shown = match value_shown.is_empty() || value_shown.starts_with('<') {
        true => given
            .get_type()
            .name()
            .map_or_else(|_| "this".into(), |name| format!("an object of class {name}")),
        false => value_shown.chars().take(SHOWN).collect(),
    };
    PyValueError::new_err(format!("{value_shown} is not {wanted}"))
}

fn taken<T>(given: &Bound<PyAny>, wanted: &str) -> PyResult<T>
where
    T: for<'py> FromPyObjectOwned<'py>,
{
    given.extract().map_err(|_| refused(given, wanted))
}

pub fn text<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    given.cast::<PyString>().map_err(|_| refused(given, "a text"))?.to_str()
}

pub fn number(given: &Bound<PyAny>) -> PyResult<f64> {
    taken(given, "a number")
}

pub fn number_or_none(given: &Bound<PyAny>) -> PyResult<Option<f64>> {
    taken(given, "a number or None")
}

pub fn count(given: &Bound<PyAny>) -> PyResult<u64> {
    taken(given, "a whole number from 0 on")
}

pub fn count_or_none(given: &Bound<PyAny>) -> PyResult<Option<u64>> {
    taken(given, "a whole number from 0 on, or None")
}

/// A number of 32 bits.
pub fn word(given: &Bound<PyAny>) -> PyResult<u32> {
    taken(given, "a whole number from 0 to 4294967295")
}

pub fn code_point(given: &Bound<PyAny>) -> PyResult<u8> {
    taken(given, "a DiffServ code point, 0 to 63")
}

pub fn switch(given: &Bound<PyAny>) -> PyResult<bool> {
    taken(given, "True or False")
}
