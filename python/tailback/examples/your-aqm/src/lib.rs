//! The rows of this crate, and the extension that has them.

pub mod discipline;

use tailback_sim::library::Library;

/// Every row of this crate, one line each.
pub fn rows(library: &mut Library) {
    library.add(discipline::entry());
}

#[cfg(feature = "python")]
mod extension {
    use tailback_python::pyo3::prelude::*;

    #[pymodule]
    #[pyo3(crate = "tailback_python::pyo3")]
    fn your_aqm(m: &Bound<PyModule>) -> PyResult<()> {
        tailback_python::module_with(m, tailback_sim::own_crate!(), super::rows)
    }
}
