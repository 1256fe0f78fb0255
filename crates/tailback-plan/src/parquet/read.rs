//! Reads a table from a Parquet file, column by column.
//!
//! Files of other programs are read as far as their columns have the types that are written here; a column of another
//! type gets no values.

use super::{Condition, Layout, arrow_schema, fail};
use crate::parquet::footer::{self, FooterText};
use crate::parquet::quiet::quietly;
use parquet::basic::{ConvertedType, Type as Physical};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tailback_scenario::regular::open;
use tailback_sim::results::table::{Column, Data, Table, Words};

/// The number of values of a column that are in Parquet's form at one time.
const PIECE: usize = 8192;

/// Read a Parquet file. A file that was written here is first compared with its own checksums.
///
/// # Errors
/// A file that is missing, damaged, not Parquet, or not readable.
pub fn read(path: &Path) -> io::Result<Table> {
    whole(path)?;
    decoded(path, || {
        let file = Opened::new(path)?;
        let mut table = file.table(&name_of(path));
        (0..file.reader.num_row_groups()).try_for_each(|group| file.append(group, &mut table))?;
        Ok(table)
    })
}

/// Compare a file with its own checksums, if it has them.
fn whole(path: &Path) -> io::Result<()> {
    let own_layout = match footer::read(path)? {
        FooterText::Text { text, end, sum } => Layout::own(&text, end, sum),
        FooterText::Nothing => None,
        FooterText::Damaged => {
            return Err(io::Error::other(format!(
                "{} is damaged, or not a file of Parquet: it does not end as one; run again what made it, or copy it \
                 anew",
                path.display()
            )));
        }
    };
    match own_layout.is_some_and(|layout| layout.check(path) != Condition::Whole) {
        true => Err(damaged(path)),
        false => Ok(()),
    }
}

/// The columns of a file, without rows.
///
/// # Errors
/// A file that is missing, damaged, or not Parquet.
pub fn columns(path: &Path) -> io::Result<Table> {
    decoded(path, || Ok(Opened::new(path)?.table(&name_of(path))))
}

/// Some columns of a file, read one row group at a time. Memory contains the rows of one row group.
pub struct RowGroups {
    path: PathBuf,
    file: Opened,
    /// The columns, without rows.
    empty: Table,
    next: usize,
}

impl RowGroups {
    /// Open a file, and compare it with its own checksums. Those of the named columns that the file has are read.
    ///
    /// # Errors
    /// The errors are those of [`read`].
    pub fn open(path: &Path, names: &[String]) -> io::Result<RowGroups> {
        whole(path)?;
        let (file, mut empty) = decoded(path, || {
            let file = Opened::new(path)?;
            let empty = file.table(&name_of(path));
            Ok((file, empty))
        })?;
        empty.columns.retain(|c| names.iter().any(|n| *n == c.name));
        let (path, next) = (path.to_path_buf(), 0);
        Ok(RowGroups {
            path,
            file,
            empty,
            next,
        })
    }

    /// The rows of the next row group; `None` after the last one.
    ///
    /// # Errors
    /// A file that is not readable any more.
    pub fn take(&mut self) -> io::Result<Option<Table>> {
        if self.next == self.file.reader.num_row_groups() {
            return Ok(None);
        }
        let mut table = self.empty.clone();
        decoded(&self.path, || self.file.append(self.next, &mut table))?;
        self.next += 1;
        Ok(Some(table))
    }
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Read one chunk of a file whose condition has been checked.
///
/// # Errors
/// A file that is missing or not readable.
pub fn read_chunk(path: &Path, name: &str, layout: &Layout, chunk: usize) -> io::Result<Table> {
    decoded(path, || {
        let file = Opened::new(path)?;
        let mut table = file.table(name);
        if layout.rows[chunk] > 0 {
            let group = layout.rows[..chunk].iter().filter(|n| **n > 0).count();
            file.append(group, &mut table)?;
        }
        Ok(table)
    })
}

/// Read rows of some columns, chunk by chunk, from the chunks that are `whole`. `take` is called with the chunk and
/// its rows.
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
    let (file, mut none) = decoded(path, || {
        let file = Opened::new(path)?;
        let none = file.table("");
        Ok((file, none))
    })?;
    none.columns.retain(|c| names.contains(&&*c.name));
    let chunks = (0..layout.rows.len()).filter(|c| layout.rows[*c] > 0);
    for (group, chunk) in chunks.enumerate().filter(|(_, c)| whole[*c]) {
        let mut table = none.clone();
        decoded(path, || file.append(group, &mut table))?;
        take(chunk, table);
    }
    Ok(())
}

/// The only place that calls the third-party reader. Bytes that no writer has made may cause a panic of that reader
/// instead of an error. Such a panic counts as damage, too.
fn decoded<T>(path: &Path, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match quietly(read) {
        Ok(Err(e)) if e.get_ref().is_some_and(|inner| inner.is::<ParquetError>()) => Err(damaged(path)),
        Ok(done) => done,
        Err(_) => Err(damaged(path)),
    }
}

fn damaged(path: &Path) -> io::Error {
    io::Error::other(format!(
        "{} is damaged: it is not what was written; run again what made it, or copy it anew",
        path.display()
    ))
}

/// A file whose footer has been read.
struct Opened {
    reader: SerializedFileReader<File>,
}

impl Opened {
    fn new(path: &Path) -> io::Result<Opened> {
        let reader = SerializedFileReader::new(open(path)?).map_err(fail)?;
        let file = Opened { reader };
        // Columns are found by their names.
        let mut names: Vec<String> = file.columns().iter().map(|c| c.path().string()).collect();
        names.sort_unstable();
        match names.windows(2).find(|two| two[0] == two[1]) {
            Some(two) => Err(io::Error::other(format!(
                "{} has two columns {}",
                path.display(),
                two[0]
            ))),
            None => Ok(file),
        }
    }

    fn columns(&self) -> &[Arc<ColumnDescriptor>] {
        self.reader.metadata().file_metadata().schema_descr().columns()
    }

    /// Its columns without rows.
    fn table(&self, name: &str) -> Table {
        let mut columns: Vec<Column> = self.columns().iter().map(|c| described(c)).collect();
        let metadata = self.reader.metadata().file_metadata().key_value_metadata();
        let described = metadata.into_iter().flatten().find(|m| m.key == arrow_schema::KEY);
        if let Some(text) = described.and_then(|m| m.value.as_ref()) {
            arrow_schema::decode(text, &mut columns);
        }
        Table {
            name: name.into(),
            columns,
        }
    }

    /// Append the rows of a row group to the columns of a table. Columns are found by their names.
    fn append(&self, group: usize, table: &mut Table) -> io::Result<()> {
        let group = self.reader.get_row_group(group).map_err(fail)?;
        for (i, declared) in self.columns().iter().enumerate() {
            let name = declared.path().string();
            if let Some(c) = table.columns.iter_mut().find(|c| c.name == name) {
                read_values(&*group, i, &mut c.data).map_err(fail)?;
            }
        }
        Ok(())
    }
}

/// A column without values.
fn described(column: &ColumnDescriptor) -> Column {
    let data = match (column.physical_type(), column.converted_type()) {
        _ if is_list(column) => Data::Real(vec![]),
        (Physical::INT64, ConvertedType::UINT_64) => Data::Count(vec![]),
        (Physical::BYTE_ARRAY, ConvertedType::UTF8) => Data::Text(vec![]),
        _ => Data::Real(vec![]),
    };
    Column {
        name: column.path().string().into(),
        unit: Words::default(),
        doc: Words::default(),
        data,
    }
}

fn is_list(column: &ColumnDescriptor) -> bool {
    column.max_rep_level() > 0
}

/// Append the values of a column of a row group.
fn read_values(group: &dyn RowGroupReader, column: usize, data: &mut Data) -> Result<()> {
    let rows = usize::try_from(group.metadata().num_rows())?;
    let declared = group.metadata().column(column).column_descr();
    let rows_before = data.len();
    match data {
        Data::Count(values) => pieces::<Int64Type>(group, column, &mut |piece| {
            values.extend(piece.map(|x| x.map_or(0, |x| x.cast_unsigned())));
            Ok(())
        })?,
        Data::Real(values) if declared.physical_type() == Physical::DOUBLE && !is_list(declared) => {
            pieces::<DoubleType>(group, column, &mut |piece| {
                values.extend(piece.map(|x| x.copied().unwrap_or(f64::NAN)));
                Ok(())
            })?;
        }
        Data::Real(values) => {
            // Only the file itself gives this number of rows, and nothing confirms it.
            let full = |_| ParquetError::General(format!("{rows} rows do not fit in memory"));
            values.try_reserve(rows).map_err(full)?;
            values.resize(rows_before + rows, f64::NAN);
        }
        Data::Text(values) => {
            // Neighbouring rows often have the same text: share it.
            let mut last_text: Arc<str> = "".into();
            pieces::<ByteArrayType>(group, column, &mut |piece| {
                for text in piece {
                    let text = text.map_or(Ok(""), ByteArray::as_utf8)?;
                    if *last_text != *text {
                        last_text = text.into();
                    }
                    values.push(last_text.clone());
                }
                Ok(())
            })?;
        }
    }
    match data.len() - rows_before == rows {
        true => Ok(()),
        false => Err(ParquetError::General("a column of another length than its rows".into())),
    }
}

/// The values of a column of a row group, in pieces; `None` for a null.
fn pieces<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
    take: &mut dyn FnMut(&mut dyn Iterator<Item = Option<&T::T>>) -> Result<()>,
) -> Result<()> {
    let declared = group.metadata().column(column).column_descr_ptr();
    let level_of_value = declared.max_def_level();
    let mut reader = ColumnReaderImpl::<T>::new(declared, group.get_column_page_reader(column)?);
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    loop {
        levels.clear();
        values.clear();
        let (rows, _, _) = reader.read_records(PIECE, Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            return Ok(());
        }
        // A column without nulls has no levels.
        levels.resize(rows, level_of_value);
        let mut values = values.iter();
        take(
            &mut levels
                .iter()
                .map(|l| if *l == level_of_value { values.next() } else { None }),
        )?;
    }
}
