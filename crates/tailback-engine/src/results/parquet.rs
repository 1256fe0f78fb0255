//! Tables to Arrow and Parquet, and back.
//!
//! Units and meanings travel in the metadata of each column (`unit`, `doc`). The bytes of a file depend on nothing but
//! the table: no time stamp, fixed writer settings.
//!
//! A file of a store has one row group for each chunk of runs, and the store remembers a checksum of each, so that damage
//! is found before the file is decoded, and costs no more than the runs of that row group.

use crate::results::file::{sums, write_whole};
use crate::results::footer;
use crate::results::table::{Column, Data, Table};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
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

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        // Least and greatest value of a row group. A page is hardly smaller, and what is known of pages stays in memory
        // until the file is complete.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by("tailback".to_string())
}

/// What a store remembers of a file with one row group for each chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Rows of each chunk; one without rows has no row group.
    pub rows: Vec<u64>,
    /// Where each chunk's bytes end, and at last the file.
    pub ends: Vec<u64>,
    /// CRC-32 of the bytes up to each end.
    pub sums: Vec<u32>,
}

/// What of a file is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Whole,
    /// The chunks that are not.
    Damaged(Vec<usize>),
    /// The file is missing, cut, or its footer is damaged: nothing in it can be read.
    Lost,
}

impl Layout {
    /// Hold a file against what is remembered of it.
    pub fn check(&self, path: &Path) -> Condition {
        let length = std::fs::metadata(path).map_or(0, |m| m.len());
        let found = match sums(path, &self.ends) {
            Ok(found) if self.ends.last() == Some(&length) => found,
            _ => return Condition::Lost,
        };
        if found.last() != self.sums.last() {
            return Condition::Lost;
        }
        let bad: Vec<usize> = (0..self.rows.len()).filter(|g| found[*g] != self.sums[*g]).collect();
        if bad.is_empty() {
            Condition::Whole
        } else {
            Condition::Damaged(bad)
        }
    }
}

/// Writes one row group for each chunk of runs.
pub struct ChunkWriter {
    path: PathBuf,
    writer: Option<ArrowWriter<File>>,
    file: File,
    layout: Layout,
}

impl ChunkWriter {
    /// # Errors
    /// A file that cannot be made.
    pub fn create(path: PathBuf) -> io::Result<ChunkWriter> {
        let file = File::create(&path)?;
        Ok(ChunkWriter {
            path,
            writer: None,
            file,
            layout: Layout::default(),
        })
    }

    /// # Errors
    /// Of the file system.
    pub fn chunk(&mut self, table: &Table) -> io::Result<()> {
        let batch = to_batch(table).map_err(fail)?;
        let writer = match &mut self.writer {
            Some(w) => w,
            None => {
                let properties = properties().set_max_row_group_row_count(None).build();
                self.writer.insert(
                    ArrowWriter::try_new(self.file.try_clone()?, batch.schema(), Some(properties)).map_err(fail)?,
                )
            }
        };
        if batch.num_rows() > 0 {
            writer.write(&batch).map_err(fail)?;
            writer.flush().map_err(fail)?;
        }
        self.layout.rows.push(batch.num_rows() as u64);
        self.layout.ends.push(writer.bytes_written() as u64);
        Ok(())
    }

    /// Rows of all chunks.
    pub fn rows(&self) -> u64 {
        self.layout.rows.iter().sum()
    }

    /// # Errors
    /// Of the file system.
    pub fn close(self) -> io::Result<Layout> {
        self.finish(None)
    }

    /// Close a file whose footer is to say something: `text` is made of the layout of the rows.
    ///
    /// # Errors
    /// Of the file system; a file without a chunk.
    pub fn close_saying(mut self, text: &dyn Fn(&Layout) -> String) -> io::Result<Layout> {
        let start = self.layout.ends.last().copied().unwrap_or(0);
        if let Some(w) = &mut self.writer {
            w.sync()?;
            self.layout.sums = sums(&self.path, &self.layout.ends)?;
            let entry = footer::entry(&text(&self.layout), start);
            w.append_key_value_metadata(KeyValue::new("tailback".to_string(), entry));
        }
        self.finish(Some(start))
    }

    fn finish(mut self, seal: Option<u64>) -> io::Result<Layout> {
        if let Some(w) = self.writer {
            w.close().map_err(fail)?;
        }
        if let Some(start) = seal {
            footer::seal(&self.path, start)?;
        }
        self.file.sync_all()?;
        self.layout.ends.push(self.file.metadata()?.len());
        self.layout.sums = sums(&self.path, &self.layout.ends)?;
        Ok(self.layout)
    }
}

/// Read one chunk of a file whose condition has been checked.
///
/// # Errors
/// A file that is missing or not readable.
pub fn read_chunk(path: &Path, name: &str, layout: &Layout, chunk: usize) -> io::Result<Table> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).map_err(fail)?;
    let mut table = from_batch(name, &RecordBatch::new_empty(reader.schema().clone()));
    if layout.rows[chunk] > 0 {
        let group = layout.rows[..chunk].iter().filter(|n| **n > 0).count();
        let batches = reader.with_row_groups(vec![group]).with_batch_size(65_536);
        for batch in batches.build().map_err(fail)? {
            table.append(from_batch(name, &batch.map_err(fail)?));
        }
    }
    Ok(table)
}

/// Rows of some columns, chunk after chunk, of the chunks that are `whole`. `take` is told the chunk, and some of its rows.
///
/// # Errors
/// A file that is missing or not readable.
pub fn read_columns(
    path: &Path,
    names: &[&str],
    layout: &Layout,
    whole: &[bool],
    take: &mut dyn FnMut(usize, Table),
) -> io::Result<()> {
    let file = File::open(path)?;
    let reader = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(fail)?;
    let chunks = (0..layout.rows.len()).filter(|c| layout.rows[*c] > 0);
    for (group, chunk) in chunks.enumerate().filter(|(_, c)| whole[*c]) {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.try_clone()?, reader.clone());
        let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
        let builder = builder.with_row_groups(vec![group]).with_projection(mask);
        for batch in builder.build().map_err(fail)? {
            take(chunk, from_batch("", &batch.map_err(fail)?));
        }
    }
    Ok(())
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
                    let properties = properties().build();
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

/// Read a Parquet file written by [`write()`].
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
    fn a_flipped_bit_costs_one_chunk_and_a_cut_the_file() {
        let dir = std::env::temp_dir().join(format!("tailback-chunks-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("flows.parquet");
        let table = |n: u64| {
            let mut t = Table::new("flows", &DEFS);
            (0..n).for_each(|i| t.row([Cell::from("a"), i.into(), 0.5.into()]));
            t
        };
        let mut w = ChunkWriter::create(path.clone()).unwrap();
        for n in [3, 0, 500] {
            w.chunk(&table(n)).unwrap();
        }
        let layout = w.close().unwrap();
        assert_eq!(layout.rows, [3, 0, 500]);
        assert_eq!(layout.check(&path), Condition::Whole);
        for (g, n) in [3, 0, 500].into_iter().enumerate() {
            assert_eq!(read_chunk(&path, "flows", &layout, g).unwrap(), table(n));
        }
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            let expected = match at as u64 {
                x if x < layout.ends[0] => Condition::Damaged(vec![0]),
                x if x < layout.ends[2] => Condition::Damaged(vec![2]),
                _ => Condition::Lost,
            };
            assert_eq!(layout.check(&path), expected, "byte {at}");
        }
        std::fs::write(&path, &good[..good.len() - 1]).unwrap();
        assert_eq!(layout.check(&path), Condition::Lost);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
