//! Tables to Arrow and Parquet, and back.
//!
//! Units and meanings travel in the metadata of each column (`unit`, `doc`). The bytes of a file depend on nothing but
//! the table: no time stamp, fixed writer settings.
//!
//! A file of a store has one row group for each chunk of runs, and the store remembers a checksum of each, so that damage
//! is found before the file is decoded, and costs no more than the runs of that row group. Every file also has the checksums
//! of its own bytes in its footer, so that one that is read by itself is held against them too. (Checksums of pages would
//! leave out the headers of the pages and the footer, and the parquet crate writes none.)

use crate::results::file::{open_new, sums, sums_from, write_whole};
use crate::results::footer::{self, Said};
use crate::results::quiet::quietly;
use crate::results::table::{Column, Data, Table};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A table as an Arrow record batch, which takes over its memory. A number that does not apply (NaN) is null.
///
/// # Errors
/// Columns of unequal length.
pub fn to_batch(table: Table) -> Result<RecordBatch, ArrowError> {
    let rows = table.rows();
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for c in table.columns {
        let (array, nullable): (ArrayRef, bool) = match c.data {
            Data::Count(v) => (Arc::new(UInt64Array::from(v)), false),
            Data::Real(v) => (Arc::new(reals(v)), true),
            Data::Text(v) => (
                Arc::new(StringArray::from_iter_values(v.iter().map(|s| s.as_ref()))),
                false,
            ),
        };
        let meta = HashMap::from([("unit".to_string(), c.unit), ("doc".to_string(), c.doc)]);
        fields.push(Field::new(c.name, array.data_type().clone(), nullable).with_metadata(meta));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}

/// Under a null stands NaN, for readers of the numbers alone.
fn reals(values: Vec<f64>) -> Float64Array {
    let nulls = values
        .iter()
        .any(|x| x.is_nan())
        .then(|| NullBuffer::new(BooleanBuffer::collect_bool(values.len(), |i| !values[i].is_nan())));
    Float64Array::new(values.into(), nulls)
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
                Data::Real(match x.null_count() {
                    0 => x.values().to_vec(),
                    _ => x.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
                })
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

/// The one place where the reader of others is called. Bytes that no writer has made may stop it where it should say so:
/// that is damage as well.
fn decoded<T>(path: &Path, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let said = || damaged(path);
    match quietly(read) {
        Ok(Err(e)) if e.kind() == io::ErrorKind::NotFound => Err(e),
        Ok(done) => done,
        Err(_) => Err(said()),
    }
}

fn damaged(path: &Path) -> io::Error {
    io::Error::other(format!(
        "{} is damaged: it is not what was written; run again what made it, or copy it anew",
        path.display()
    ))
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

/// Under this key a file says what it knows of itself, where it lists no others.
pub const OWN: &str = "own";

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
    /// As a footer has it, under the name of the table.
    pub fn to_json(&self) -> Value {
        json!({ "rows": self.rows, "ends": self.ends, "sums": self.sums })
    }

    pub fn from_json(v: &Value) -> Option<Layout> {
        let numbers = |v: &Value| -> Option<Vec<u64>> { v.as_array()?.iter().map(Value::as_u64).collect() };
        let sums = numbers(v.get("sums")?)?;
        Some(Layout {
            rows: numbers(v.get("rows")?)?,
            ends: numbers(v.get("ends")?)?,
            sums: sums.into_iter().map(|s| u32::try_from(s).ok()).collect::<Option<_>>()?,
        })
    }

    /// What a file's own footer says of its rows; what stands behind them was added when it was closed.
    fn own(text: &str, end: u64, sum: u32) -> Option<Layout> {
        let said: Value = serde_json::from_str(text).ok()?;
        let own = match said.get(OWN) {
            Some(own) => own,
            // The list of a place, with its own file first.
            None => said.get("files")?.as_object()?.iter().next()?.1,
        };
        let mut layout = Layout::from_json(own)?;
        layout.ends.push(end);
        layout.sums.push(sum);
        (layout.ends.len() == layout.sums.len()).then_some(layout)
    }

    /// All rows as one stretch: as much as a file has to know of itself.
    fn as_one(&self) -> Layout {
        let mut sum = crc32fast::Hasher::new();
        let mut at = 0;
        for (end, s) in self.ends.iter().zip(&self.sums) {
            sum.combine(&crc32fast::Hasher::new_with_initial_len(*s, end - at));
            at = *end;
        }
        Layout {
            rows: vec![self.rows.iter().sum()],
            ends: vec![at],
            sums: vec![sum.finalize()],
        }
    }

    /// Hold a file against what is remembered of it.
    pub fn check(&self, path: &Path) -> Condition {
        let length = std::fs::metadata(path).map_or(0, |m| m.len());
        let found = match File::open(path).and_then(|mut f| sums(&mut f, &self.ends)) {
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
    writer: Option<ArrowWriter<File>>,
    file: File,
    layout: Layout,
}

impl ChunkWriter {
    /// # Errors
    /// A file that cannot be made.
    pub fn create(path: &Path) -> io::Result<ChunkWriter> {
        let file = open_new(path)?;
        Ok(ChunkWriter {
            writer: None,
            file,
            layout: Layout::default(),
        })
    }

    /// # Errors
    /// Of the file system.
    pub fn chunk(&mut self, table: &Table) -> io::Result<()> {
        let batch = to_batch(table.clone()).map_err(fail)?;
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

    /// Close a file that says no more of itself than the checksums of its bytes.
    ///
    /// # Errors
    /// Of the file system.
    pub fn close(self) -> io::Result<Layout> {
        self.close_saying(&own_text)
    }

    /// Close a file whose footer is to say something: `text` is made of the layout of the rows.
    ///
    /// # Errors
    /// Of the file system; a file without a chunk.
    pub fn close_saying(mut self, text: &dyn Fn(&Layout) -> String) -> io::Result<Layout> {
        let start = self.layout.ends.last().copied().unwrap_or(0);
        if let Some(mut w) = self.writer {
            w.sync()?;
            self.layout.sums = sums(&mut self.file, &self.layout.ends)?;
            let entry = footer::entry(&text(&self.layout), start);
            w.append_key_value_metadata(KeyValue::new("tailback".to_string(), entry));
            w.close().map_err(fail)?;
            footer::seal(&mut self.file, start)?;
        }
        self.file.sync_all()?;
        let end = self.file.metadata()?.len();
        self.layout.ends.push(end);
        self.layout.sums.extend(sums_from(&mut self.file, start, &[end])?);
        Ok(self.layout)
    }
}

/// What the footer of a table's file says if nothing else is to be said in it.
fn own_text(own: &Layout) -> String {
    json!({ OWN: own.as_one().to_json() }).to_string()
}

/// Read one chunk of a file whose condition has been checked.
///
/// # Errors
/// A file that is missing or not readable.
pub fn read_chunk(path: &Path, name: &str, layout: &Layout, chunk: usize) -> io::Result<Table> {
    decoded(path, || {
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
    })
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
    decoded(path, || {
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
    })
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
            let batch = to_batch(t).map_err(fail)?;
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
        if let Some(mut w) = writer {
            w.flush().map_err(fail)?;
            w.sync()?;
            let start = w.bytes_written() as u64;
            let own = Layout {
                rows: vec![rows],
                ends: vec![start],
                sums: sums(file, &[start])?,
            };
            let entry = footer::entry(&own_text(&own), start);
            w.append_key_value_metadata(KeyValue::new("tailback".to_string(), entry));
            w.close().map_err(fail)?;
            footer::seal(file, start)?;
        }
        Ok(())
    })?;
    Ok(rows)
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Read a Parquet file; one that was written here is held against its own checksums first.
///
/// # Errors
/// A file that is missing, damaged, not Parquet, or not readable.
pub fn read(path: &Path) -> io::Result<Table> {
    let own = match footer::read(path)? {
        Said::Text { text, end, sum } => Layout::own(&text, end, sum),
        Said::Nothing => None,
        Said::Damaged => {
            return Err(io::Error::other(format!(
                "{} is damaged, or not a file of Parquet: it does not end as one; run again what made it, or copy it anew",
                path.display()
            )));
        }
    };
    if own.is_some_and(|layout| layout.check(path) != Condition::Whole) {
        return Err(damaged(path));
    }
    let name = name_of(path);
    decoded(path, || {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).map_err(fail)?;
        let schema = reader.schema().clone();
        let mut table = from_batch(&name, &RecordBatch::new_empty(schema));
        for batch in reader.with_batch_size(65_536).build().map_err(fail)? {
            table.append(from_batch(&name, &batch.map_err(fail)?));
        }
        Ok(table)
    })
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
        assert!(std::fs::read(&a).unwrap() == std::fs::read(&b).unwrap());
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
        let mut w = ChunkWriter::create(&path).unwrap();
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

    /// Whatever bit changes in a file that is read by itself: its table, or an error. Never other numbers, never a panic.
    #[test]
    fn a_flipped_bit_is_an_error_and_never_another_number() {
        let dir = std::env::temp_dir().join(format!("tailback-flips-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut t = Table::new("flows", &DEFS);
        for i in 0..40u64 {
            let goodput = if i % 7 == 0 { f64::NAN } else { i as f64 * 0.5 };
            t.row([Cell::from(if i < 20 { "a" } else { "b" }), i.into(), goodput.into()]);
        }
        let (whole, chunked, bad) = (
            dir.join("flows.parquet"),
            dir.join("chunks.parquet"),
            dir.join("bad.parquet"),
        );
        write(
            &whole,
            &mut [Ok(t.rows_between(0, 15)), Ok(t.rows_between(15, 40))].into_iter(),
        )
        .unwrap();
        let mut w = ChunkWriter::create(&chunked).unwrap();
        w.chunk(&t.rows_between(0, 15)).unwrap();
        w.chunk(&t.rows_between(15, 40)).unwrap();
        w.close().unwrap();
        for file in [whole, chunked] {
            let good = std::fs::read(&file).unwrap();
            let mut refused = 0;
            for at in 0..good.len() * 8 {
                let mut bytes = good.clone();
                bytes[at / 8] ^= 1 << (at % 8);
                std::fs::write(&bad, &bytes).unwrap();
                match read(&bad) {
                    Ok(found) => assert_eq!(shown(&found), shown(&t), "bit {at} of {}", file.display()),
                    Err(_) => refused += 1,
                }
            }
            // A changed mark of the checksums themselves is all that may pass.
            assert!(refused + 8 * 18 >= good.len() * 8, "{refused} of {}", good.len() * 8);
            assert_eq!(shown(&read(&file).unwrap()), shown(&t));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// Of two texts, unlike of two numbers, NaN equals NaN.
    fn shown(t: &Table) -> String {
        format!("{:?}", t.columns)
    }

    /// A file of an older version, which has no checksums, with a bit that stops the reader of others.
    #[test]
    fn what_stops_the_reader_is_damage() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/damaged/stops-the-reader.parquet");
        let said = read(&file).unwrap_err().to_string();
        assert!(said.contains("stops-the-reader.parquet is damaged"), "{said}");
    }

    #[test]
    fn a_number_that_does_not_apply_is_null_to_others_and_nan_here() {
        let mut t = Table::new("flows", &DEFS);
        t.row([Cell::from("a"), 1u64.into(), f64::NAN.into()]);
        t.row([Cell::from("a"), 2u64.into(), 0.5.into()]);
        let batch = to_batch(t).unwrap();
        assert_eq!(batch.column(2).null_count(), 1);
        assert!(batch.column(2).is_null(0));
        let Data::Real(back) = &from_batch("flows", &batch).columns[2].data else {
            panic!("no numbers")
        };
        assert!(back[0].is_nan() && back[1] == 0.5);
    }
}
