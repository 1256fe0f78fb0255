//! Writes a table into a Parquet file, column by column.

use super::{Layout, OWN, arrow_schema, fail};
use crate::file::{open_new, sums, sums_from, write_whole};
use crate::parquet::footer;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::json;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tailback_sim::results::table::{Column, Data, Table};

/// The number of values of a column that are converted to Parquet's form at one time.
const PIECE: usize = 8192;
/// Rows of a row group, if a table is not a chunk of a store.
const GROUP_ROWS: usize = 1 << 20;

/// Writes one row group for each chunk of runs.
pub struct ChunkWriter {
    writer: Option<SerializedFileWriter<File>>,
    file: File,
    layout: Layout,
}

impl ChunkWriter {
    /// # Errors
    /// A file that cannot be created.
    pub fn create(path: &Path) -> io::Result<ChunkWriter> {
        Ok(ChunkWriter::over(open_new(path)?))
    }

    fn over(file: File) -> ChunkWriter {
        ChunkWriter {
            writer: None,
            file,
            layout: Layout::default(),
        }
    }

    /// # Errors
    /// An error of the file system.
    pub fn chunk(&mut self, table: &Table) -> io::Result<()> {
        self.rows_between(table, 0, table.rows())
    }

    /// A chunk of some of a table's rows, column by column, each written directly to the file.
    fn rows_between(&mut self, table: &Table, from: usize, to: usize) -> io::Result<()> {
        let writer = match &mut self.writer {
            Some(w) => w,
            None => self
                .writer
                .insert(opened(self.file.try_clone()?, &table.columns).map_err(fail)?),
        };
        if from < to {
            write_group(writer, table, from, to).map_err(fail)?;
        }
        self.layout.rows.push((to - from) as u64);
        self.layout.ends.push(writer.bytes_written() as u64);
        Ok(())
    }

    /// Rows of all chunks.
    pub fn rows(&self) -> u64 {
        self.layout.rows.iter().sum()
    }

    /// Close a file whose footer contains only the checksums of its bytes.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn close(self) -> io::Result<Layout> {
        self.close_saying(&own_text)
    }

    /// Close a file with a text in its footer: `text` makes it from the layout of the rows.
    ///
    /// # Errors
    /// An error of the file system, or a file without a chunk.
    pub fn close_saying(mut self, text: &dyn Fn(&Layout) -> String) -> io::Result<Layout> {
        let start = self.layout.ends.last().copied().unwrap_or(0);
        if let Some(mut w) = self.writer {
            w.flush()?;
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

/// The footer text of a table's file if there is no other text.
fn own_text(own: &Layout) -> String {
    json!({ OWN: own.as_one().to_json() }).to_string()
}

/// Write a table as one Parquet file.
///
/// # Errors
/// An error of the file system, with the caller's path.
pub fn write(path: &Path, table: &Table) -> io::Result<()> {
    write_whole(path, |file| {
        let mut w = ChunkWriter::over(file.try_clone()?);
        let rows = table.rows();
        // A table without rows still has its columns.
        for from in (0..rows.max(1)).step_by(GROUP_ROWS) {
            w.rows_between(table, from, rows.min(from + GROUP_ROWS))?;
        }
        w.close().map(drop)
    })
}

fn opened(file: File, columns: &[Column]) -> Result<SerializedFileWriter<File>> {
    SerializedFileWriter::new(file, schema(columns)?, Arc::new(properties(columns)))
}

fn write_group(writer: &mut SerializedFileWriter<File>, table: &Table, from: usize, to: usize) -> Result<()> {
    let mut group = writer.next_row_group()?;
    for c in &table.columns {
        let mut column = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("a table of other columns".into()))?;
        write_values(&mut column, &c.data, from, to)?;
        column.close()?;
    }
    group.close().map(drop)
}

/// The columns as Parquet declares them.
fn schema(columns: &[Column]) -> Result<TypePtr> {
    let field = |column: &Column| {
        let (physical, logical, repetition) = match column.data {
            Data::Count(_) => (
                Physical::INT64,
                Some(LogicalType::integer(64, false)),
                Repetition::REQUIRED,
            ),
            Data::Real(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
            Data::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    let root = Type::group_type_builder("arrow_schema").with_fields(fields).build()?;
    Ok(Arc::new(root))
}

fn properties(columns: &[Column]) -> WriterProperties {
    let described = KeyValue::new(arrow_schema::KEY.to_string(), arrow_schema::encode(columns));
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        // The statistics are the minimum and maximum of a row group. A page is hardly smaller than a row group, and
        // metadata of pages stays in memory until the file is complete.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(footer::MAKER.to_string())
        .set_key_value_metadata(Some(vec![described]))
        .build()
}

/// The values of a column, starting at a row, as one column of a row group.
fn write_values(writer: &mut SerializedColumnWriter<'_>, data: &Data, from: usize, to: usize) -> Result<()> {
    match data {
        Data::Count(values) => {
            let writer = writer.typed::<Int64Type>();
            for piece in values[from..to].chunks(PIECE) {
                // The same 64 bits as those of the count, which Parquet stores as a signed number.
                let bits: Vec<i64> = piece.iter().map(|x| x.cast_signed()).collect();
                writer.write_batch(&bits, None, None)?;
            }
        }
        Data::Real(values) => {
            let writer = writer.typed::<DoubleType>();
            for piece in values[from..to].chunks(PIECE) {
                let present: Vec<f64> = piece.iter().copied().filter(|x| !x.is_nan()).collect();
                let levels: Vec<i16> = piece.iter().map(|x| i16::from(!x.is_nan())).collect();
                writer.write_batch(&present, Some(&levels), None)?;
            }
        }
        Data::Text(values) => {
            let writer = writer.typed::<ByteArrayType>();
            // Neighbouring rows often have the same text: share the bytes.
            let mut last: Option<(&Arc<str>, ByteArray)> = None;
            for piece in values[from..to].chunks(PIECE) {
                let bytes = piece.iter().map(|text| match &last {
                    Some((l, bytes)) if *l == text => bytes.clone(),
                    _ => last.insert((text, ByteArray::from(&**text))).1.clone(),
                });
                writer.write_batch(&bytes.collect::<Vec<_>>(), None, None)?;
            }
        }
    }
    Ok(())
}
