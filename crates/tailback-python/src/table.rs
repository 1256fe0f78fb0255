//! A table of results: columns with units, readable by numpy without a copy and by polars, pandas and pyarrow through
//! Arrow's C interface.
//!
//! The columns are Arrow arrays from the start, and every reader shares their memory. The Python code in
//! `tailback/show/report/shown_table.py` shows a table (text, HTML) and turns it into a data frame.

use crate::batch::{from_batch, to_batch};
use crate::column::{ColumnBuffer, Numbers};
use crate::given;
use crate::json_rows::json_rows;
use crate::os_error::os_error;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PySlice, PyString, PyTuple};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tailback_base::model::nearest;
use tailback_plan::parquet;
use tailback_plan::store;
use tailback_sim::results::{self, Data};

/// A table of results: columns are numpy arrays, rows are dicts.
///
/// >>> flows = tb.dumbbell(flows=2, queue="codel").run(duration="2s").flows
/// >>> flows["goodput_bps"].shape, flows.units["goodput_bps"]
/// ((2,), 'bit/s')
/// >>> flows[0]["group"]
/// 'bulk'
#[pyclass(frozen, module = "tailback._core")]
pub struct Table {
    name: String,
    batch: RecordBatch,
}

/// A column in a pickle.
type Pickled<'py> = (String, String, String, String, Bound<'py, PyAny>);

fn internal(e: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(e.to_string())
}

impl Table {
    /// The table in the engine's form.
    pub fn to_engine(&self) -> results::Table {
        from_batch(&self.name, &self.batch)
    }

    pub fn rows_count(&self) -> usize {
        self.batch.num_rows()
    }

    /// Take over the memory of a table of the engine.
    pub fn new(table: results::Table) -> PyResult<Table> {
        Ok(Table {
            name: table.name.clone(),
            batch: to_batch(table).map_err(internal)?,
        })
    }

    fn meta<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for f in self.batch.schema_ref().fields() {
            dict.set_item(f.name(), f.metadata().get(key).map_or("", String::as_str))?;
        }
        Ok(dict)
    }

    fn index(&self, name: &str) -> PyResult<usize> {
        let schema = self.batch.schema_ref();
        schema.index_of(name).map_err(|_| {
            let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            let hint = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("it has {}", names.join(", ")),
            };
            PyKeyError::new_err(format!("the table {} has no column \"{name}\"; {hint}", self.name))
        })
    }

    fn cell<'py>(&self, py: Python<'py>, column: usize, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let array = self.batch.column(column).as_any();
        Ok(if let Some(x) = array.downcast_ref::<UInt64Array>() {
            x.value(row).into_pyobject(py)?.into_any()
        } else if let Some(x) = array.downcast_ref::<Float64Array>() {
            x.value(row).into_pyobject(py)?.into_any()
        } else if let Some(x) = array.downcast_ref::<StringArray>() {
            PyString::new(py, x.value(row)).into_any()
        } else {
            py.None().into_bound(py)
        })
    }

    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (i, f) in self.batch.schema_ref().fields().iter().enumerate() {
            dict.set_item(PyString::intern(py, f.name()), self.cell(py, i, row)?)?;
        }
        Ok(dict)
    }

    fn values<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyAny>> {
        let a = self.batch.column(column).as_any();
        let numbers = if let Some(x) = a.downcast_ref::<UInt64Array>() {
            Numbers::Count(x.clone())
        } else if let Some(x) = a.downcast_ref::<Float64Array>() {
            Numbers::Real(x.clone())
        } else {
            let texts = self.list(py, column)?;
            let kwargs = PyDict::new(py);
            kwargs.set_item("dtype", "O")?;
            return py.import("numpy")?.getattr("array")?.call((texts,), Some(&kwargs));
        };
        let buffer = Bound::new(py, ColumnBuffer::new(numbers))?;
        py.import("numpy")?.getattr("asarray")?.call1((buffer,))
    }

    /// A column in a pickle: name, unit, meaning, kind of values, values (numbers as little-endian bytes).
    fn pickled<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Pickled<'py>> {
        let schema = self.batch.schema();
        let field = schema.field(column);
        let meta = |key: &str| field.metadata().get(key).cloned().unwrap_or_default();
        let array = self.batch.column(column).as_any();
        let (kind, values) = if let Some(x) = array.downcast_ref::<UInt64Array>() {
            let bytes: Vec<u8> = x.values().iter().flat_map(|v| v.to_le_bytes()).collect();
            ("count", PyBytes::new(py, &bytes).into_any())
        } else if let Some(x) = array.downcast_ref::<Float64Array>() {
            let bytes: Vec<u8> = x.values().iter().flat_map(|v| v.to_le_bytes()).collect();
            ("real", PyBytes::new(py, &bytes).into_any())
        } else {
            ("text", self.list(py, column)?.into_any())
        };
        Ok((
            field.name().clone(),
            meta("unit"),
            meta("doc"),
            kind.to_string(),
            values,
        ))
    }

    fn list<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyList>> {
        let rows = self.batch.num_rows();
        if let Some(strings) = self.batch.column(column).as_any().downcast_ref::<StringArray>() {
            // Rows repeat a few names. No name is interned, but a row shares the object of the row above.
            let mut last_text: Option<Bound<PyString>> = None;
            let out = PyList::empty(py);
            for i in 0..rows {
                let same = i > 0 && strings.value(i) == strings.value(i - 1);
                let text = match last_text.take() {
                    Some(t) if same => t,
                    _ => PyString::new(py, strings.value(i)),
                };
                out.append(&text)?;
                last_text = Some(text);
            }
            return Ok(out);
        }
        PyList::new(
            py,
            (0..rows)
                .map(|i| self.cell(py, column, i))
                .collect::<PyResult<Vec<_>>>()?,
        )
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch
            .schema_ref()
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .collect()
    }

    /// The unit of each column, by the column's name; empty if the column has names.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.meta(py, "unit")
    }

    /// One sentence about each column, by name.
    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.meta(py, "doc")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.batch.schema_ref().index_of(name).is_ok()
    }

    /// A column by name (a numpy array, read-only, with shared memory; texts as an object array), rows by slice, or a
    /// row (dict) by number.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.extract::<String>() {
            return self.values(py, self.index(&name)?);
        }
        let rows = self.batch.num_rows();
        if let Ok(slice) = key.cast::<PySlice>() {
            let s = slice.indices(rows as isize)?;
            if s.step != 1 {
                return Err(PyTypeError::new_err(
                    "a table is sliced in steps of one; use where() to choose rows",
                ));
            }
            let batch = self.batch.slice(s.start as usize, s.slicelength);
            return Ok(Bound::new(
                py,
                Table {
                    name: self.name.clone(),
                    batch,
                },
            )?
            .into_any());
        }
        let i: isize = key.extract().map_err(|_| {
            let rule = "a table is indexed by a column's name, a row's number or a slice, not";
            let shown = key.repr().map(|r| r.to_string()).unwrap_or_default();
            PyTypeError::new_err(format!("{rule} {shown}"))
        })?;
        let index = if i < 0 { i + rows as isize } else { i };
        if index < 0 || index >= rows as isize {
            return Err(PyIndexError::new_err(format!(
                "the table {} has {rows} rows, there is no row {i}",
                self.name
            )));
        }
        Ok(self.row(py, index as usize)?.into_any())
    }

    /// The rows, each a dict.
    fn rows(slf: Bound<Self>) -> Rows {
        Rows {
            table: slf.unbind(),
            next: 0,
        }
    }

    fn __iter__(slf: Bound<Self>) -> Rows {
        Table::rows(slf)
    }

    /// A column as a list of Python objects.
    fn to_list<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = given::text)] column: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.index(column)?)
    }

    /// The rows as a JSON list of objects with these columns, in this order; NaN and infinities are null.
    fn json_rows(&self, columns: Vec<String>) -> PyResult<String> {
        let columns: Vec<usize> = columns.iter().map(|name| self.index(name)).collect::<PyResult<_>>()?;
        json_rows(&self.batch, &columns).map_err(internal)
    }

    /// The rows whose columns have these values: `where(link="bottleneck")`, `where(group=["a", "b"])`.
    #[pyo3(signature = (**labels))]
    fn r#where(&self, py: Python, labels: Option<&Bound<PyDict>>) -> PyResult<Table> {
        let mut keep = vec![true; self.batch.num_rows()];
        for (name, wanted) in labels.into_iter().flatten() {
            let column = self.index(&name.extract::<String>()?)?;
            let any_of = wanted.cast::<PyList>().is_ok() || wanted.cast::<PyTuple>().is_ok();
            let text = self.batch.column(column).as_any().downcast_ref::<StringArray>();
            let as_text: Option<String> = if any_of { None } else { wanted.extract().ok() };
            for (row, k) in keep.iter_mut().enumerate().filter(|(_, k)| **k) {
                *k = match (text, &as_text) {
                    (Some(x), Some(t)) => x.value(row) == t,
                    _ => {
                        let cell = self.cell(py, column, row)?;
                        if any_of {
                            wanted.contains(cell)?
                        } else {
                            wanted.eq(cell)?
                        }
                    }
                };
            }
        }
        // Consecutive rows that are kept are slices of shared memory. Only a table of several such slices is copied.
        let mut runs: Vec<(usize, usize)> = vec![];
        for (i, _) in keep.iter().enumerate().filter(|(_, k)| **k) {
            match runs.last_mut() {
                Some((from, n)) if *from + *n == i => *n += 1,
                _ => runs.push((i, 1)),
            }
        }
        let batch = match runs.as_slice() {
            [] => self.batch.slice(0, 0),
            [(from, n)] => self.batch.slice(*from, *n),
            many => {
                let mut t = from_batch(&self.name, &self.batch.slice(0, 0));
                for (from, n) in many {
                    t.append(from_batch(&self.name, &self.batch.slice(*from, *n)));
                }
                return Table::new(t);
            }
        };
        Ok(Table {
            name: self.name.clone(),
            batch,
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(internal)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows the producer to ignore the requested type; the reader then casts.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// Equal names, columns (with units and meanings) and values; a missing number equals a missing number.
    fn __eq__(&self, other: &Table) -> bool {
        self.name == other.name && self.batch == other.batch
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, Vec<Pickled<'py>>))> {
        let make = py.import("tailback._core")?.getattr("make_table")?;
        let columns = (0..self.batch.num_columns())
            .map(|i| self.pickled(py, i))
            .collect::<PyResult<Vec<_>>>()?;
        Ok((make, (self.name.clone(), columns)))
    }

    /// A pandas data frame.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("tailback.show.report.shown_table")?
            .getattr("to_pandas")?
            .call1((slf,))
    }

    /// A polars data frame.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("tailback.show.report.shown_table")?
            .getattr("to_polars")?
            .call1((slf,))
    }

    fn __repr__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("tailback.show.report.shown_table")?
            .getattr("text")?
            .call1((slf,))
    }

    fn _repr_html_<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("tailback.show.report.shown_table")?
            .getattr("html")?
            .call1((slf,))
    }
}

/// Iterator over rows.
#[pyclass(module = "tailback._core")]
pub struct Rows {
    table: Py<Table>,
    next: usize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<Self>) -> PyRef<Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let t = self.table.get();
        if self.next >= t.batch.num_rows() {
            return Ok(None);
        }
        self.next += 1;
        t.row(py, self.next - 1).map(Some)
    }
}

/// A table from its columns, as stored in pickles.
#[pyfunction]
pub fn make_table(name: String, columns: Vec<Pickled>) -> PyResult<Table> {
    let columns_of = columns.into_iter().map(|(name, unit, doc, kind, values)| {
        let data = match kind.as_str() {
            "count" => Data::Count(words(&values)?.map(u64::from_le_bytes).collect()),
            "real" => Data::Real(words(&values)?.map(f64::from_le_bytes).collect()),
            "text" => Data::Text(values.extract::<Vec<String>>()?.into_iter().map(Arc::from).collect()),
            other => return Err(PyTypeError::new_err(format!("there is no kind of column {other:?}"))),
        };
        let [name, unit, doc] = [name, unit, doc].map(Into::into);
        Ok(results::table::Column { name, unit, doc, data })
    });
    let columns = columns_of.collect::<PyResult<Vec<_>>>()?;
    Table::new(results::Table { name, columns })
}

/// Values of eight bytes each.
fn words<'v>(values: &'v Bound<'_, PyAny>) -> PyResult<impl Iterator<Item = [u8; 8]> + 'v> {
    let (words, rest) = values.cast::<PyBytes>()?.as_bytes().as_chunks::<8>();
    if !rest.is_empty() {
        return Err(PyTypeError::new_err("numbers are eight bytes each"));
    }
    Ok(words.iter().copied())
}

/// Read one Parquet file that tailback wrote.
///
/// >>> tb.dumbbell(flows=2, queue="codel").run(duration="2s").save("out/mine")
/// >>> tb.read_parquet("out/mine/flows.parquet").name
/// 'flows'
#[pyfunction]
pub fn read_parquet(py: Python, path: PathBuf) -> PyResult<Table> {
    let name = path
        .file_stem()
        .and_then(|n| n.to_str())
        .unwrap_or_default()
        .to_string();
    let dir = path.parent().map(Path::to_path_buf).unwrap_or_default();
    // The table of a store is first compared with its checksum.
    if path.extension().is_some_and(|e| e == "parquet") {
        return Table::new(py.detach(|| store::read_table(&dir, &name))?);
    }
    Table::new(py.detach(|| parquet::read(&path))?)
}

/// Some columns of a Parquet file that tailback wrote, with a table for each row group. A store has one row group for
/// each chunk of runs. Memory holds one table at a time.
#[pyclass(module = "tailback._core")]
pub struct RowGroups {
    file: parquet::RowGroups,
}

#[pymethods]
impl RowGroups {
    #[new]
    fn new(py: Python, path: PathBuf, columns: Vec<String>) -> PyResult<RowGroups> {
        let file = py.detach(|| parquet::RowGroups::open(&path, &columns));
        let file = file.map_err(|e| os_error(py, e, Some(path.clone())))?;
        Ok(RowGroups { file })
    }

    fn __iter__(slf: PyRef<Self>) -> PyRef<Self> {
        slf
    }

    fn __next__(&mut self, py: Python) -> PyResult<Option<Table>> {
        let file = &mut self.file;
        let next = py.detach(|| file.take()).map_err(|e| os_error(py, e, None))?;
        next.map(Table::new).transpose()
    }
}

/// The table of a Parquet file that tailback wrote, without its rows: names, units and meanings of its columns.
#[pyfunction]
pub fn parquet_columns(py: Python, path: PathBuf) -> PyResult<Table> {
    let table = py.detach(|| parquet::columns(&path));
    Table::new(table.map_err(|e| os_error(py, e, Some(path.clone())))?)
}

/// Write a table as one Parquet file. It is first written next to its final place, so that a failure does not change
/// the old file.
#[pyfunction]
pub fn write_parquet(py: Python, table: &Bound<Table>, path: PathBuf) -> PyResult<()> {
    let t = table.get();
    let (name, batch) = (t.name.clone(), t.batch.clone());
    py.detach(|| parquet::write(&path, &from_batch(&name, &batch)))
        .map_err(|e| os_error(py, e, Some(path.clone())))
}
