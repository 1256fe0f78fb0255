//! Tables to Arrow and Parquet, and back.
//!
//! Units and meanings travel in the metadata of each column (`unit`, `doc`). The bytes of a file depend on nothing but
//! the table: no time stamp, fixed writer settings. A file is written beside its place and moved there when complete, so
//! that a reader never sees half a file and a full disk loses nothing that was there before.

use crate::results::table::{Column, Data, Table};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A table as an Arrow record batch. NaN stays NaN.
pub fn to_batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for c in &table.columns {
        let (kind, array): (DataType, ArrayRef) = match &c.data {
            Data::Count(v) => (DataType::UInt64, Arc::new(UInt64Array::from(v.clone()))),
            Data::Real(v) => (DataType::Float64, Arc::new(Float64Array::from(v.clone()))),
            Data::Text(v) => (
                DataType::Utf8,
                Arc::new(StringArray::from_iter_values(v.iter().map(|s| s.as_ref()))),
            ),
        };
        let meta = HashMap::from([("unit".to_string(), c.unit.clone()), ("doc".to_string(), c.doc.clone())]);
        fields.push(Field::new(&c.name, kind, false).with_metadata(meta));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// Read an Arrow batch made by [`to_batch`].
pub fn from_batch(name: &str, batch: &RecordBatch) -> Table {
    let schema = batch.schema();
    let columns = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(f, a)| {
            let any = a.as_any();
            let data = if let Some(x) = any.downcast_ref::<UInt64Array>() {
                Data::Count(x.values().to_vec())
            } else if let Some(x) = any.downcast_ref::<Float64Array>() {
                Data::Real(x.values().to_vec())
            } else if let Some(x) = any.downcast_ref::<StringArray>() {
                let mut last: Option<Arc<str>> = None;
                Data::Text(
                    (0..x.len())
                        .map(|i| {
                            // Neighbouring rows often say the same: share the text.
                            let s = x.value(i);
                            match &last {
                                Some(l) if **l == *s => l.clone(),
                                _ => last.insert(s.into()).clone(),
                            }
                        })
                        .collect(),
                )
            } else {
                Data::Real(vec![f64::NAN; a.len()])
            };
            let meta = |k: &str| f.metadata().get(k).cloned().unwrap_or_default();
            Column {
                name: f.name().clone(),
                unit: meta("unit"),
                doc: meta("doc"),
                data,
            }
        })
        .collect();
    Table {
        name: name.into(),
        columns,
    }
}

fn fail(e: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(e)
}

/// Write a file beside its place, then move it there.
///
/// # Errors
/// Whatever the file system says; a partial file is removed, and a file that was there before is untouched.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    let partial = path.with_file_name(name);
    let done = File::create(&partial)
        .and_then(|mut f| write(&mut f).and_then(|()| f.sync_all()))
        .and_then(|()| std::fs::rename(&partial, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    done
}

/// Write the rows of several tables of the same columns, in order, as one Parquet file.
///
/// # Errors
/// Of the file system, named by the caller's path.
pub fn write(path: &Path, tables: &mut dyn Iterator<Item = io::Result<Table>>) -> io::Result<u64> {
    let mut rows = 0;
    write_whole(path, |file| {
        let mut writer: Option<ArrowWriter<File>> = None;
        for t in tables {
            let t = t?;
            rows += t.rows() as u64;
            let batch = to_batch(&t).map_err(fail)?;
            let w = match &mut writer {
                Some(w) => w,
                None => {
                    let properties = WriterProperties::builder()
                        .set_compression(Compression::SNAPPY)
                        .set_created_by("tailback".to_string())
                        .build();
                    writer.insert(
                        ArrowWriter::try_new(file.try_clone()?, batch.schema(), Some(properties)).map_err(fail)?,
                    )
                }
            };
            w.write(&batch).map_err(fail)?;
        }
        if let Some(w) = writer {
            w.close().map_err(fail)?;
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Read a Parquet file written by [`write`].
///
/// # Errors
/// A file that is missing, not Parquet, or not readable.
pub fn read(path: &Path) -> io::Result<Table> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).map_err(fail)?;
    let schema = reader.schema().clone();
    let mut table = from_batch(&name, &RecordBatch::new_empty(schema));
    for batch in reader.with_batch_size(65_536).build().map_err(fail)? {
        table.append(from_batch(&name, &batch.map_err(fail)?));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::table::{Cell, ColumnDef};

    static DEFS: [ColumnDef; 3] = [
        ColumnDef::text("flow", "which"),
        ColumnDef::count("sent", "packets", "how many"),
        ColumnDef::real("goodput", "bit/s", "how fast"),
    ];

    #[test]
    fn a_table_survives_the_file_and_its_bytes_repeat() {
        let mut t = Table::new("flows", &DEFS);
        for i in 0..1000u64 {
            t.row([
                Cell::from(if i < 500 { "a" } else { "b" }),
                i.into(),
                (i as f64 * 0.5).into(),
            ]);
        }
        let dir = std::env::temp_dir().join(format!("tailback-parquet-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (a, b) = (dir.join("flows.parquet"), dir.join("again.parquet"));
        write(&a, &mut [Ok(t.clone())].into_iter()).unwrap();
        write(&b, &mut [Ok(t.clone())].into_iter()).unwrap();
        assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
        assert_eq!(read(&a).unwrap(), t);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let dir = std::env::temp_dir().join(format!("tailback-partial-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("x");
        std::fs::write(&path, "before").unwrap();
        let e = write_whole(&path, |_| Err(io::Error::other("disk full"))).unwrap_err();
        assert_eq!(e.to_string(), "disk full");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
