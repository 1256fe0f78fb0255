//! Columns: name, unit, meaning and source of the values, declared together.
//!
//! A table's file declares its columns over its own type of row; Python, Parquet and the reference read the
//! declaration.

use super::table::{Column as Stored, Data, Table};
use std::sync::Arc;
use tailback_base::work::counted_as;

/// How a value is read. NaN is "no value" in a column of reals.
enum Get<R> {
    Count(fn(&R) -> u64),
    Real(fn(&R) -> f64),
    Text(fn(&R) -> Arc<str>),
    Word(fn(&R) -> &'static str),
}

/// A column of a table whose rows are made from `R`.
pub struct Column<R> {
    pub name: &'static str,
    /// `s`, `bit/s`, `packets`, `bytes`, `1` for a ratio, empty for names.
    pub unit: &'static str,
    pub doc: &'static str,
    get: Get<R>,
}

impl<R> Column<R> {
    pub const fn count(name: &'static str, unit: &'static str, doc: &'static str, get: fn(&R) -> u64) -> Column<R> {
        let get = Get::Count(get);
        Column { name, unit, doc, get }
    }

    pub const fn real(name: &'static str, unit: &'static str, doc: &'static str, get: fn(&R) -> f64) -> Column<R> {
        let get = Get::Real(get);
        Column { name, unit, doc, get }
    }

    pub const fn text(name: &'static str, doc: &'static str, get: fn(&R) -> Arc<str>) -> Column<R> {
        let (unit, get) = ("", Get::Text(get));
        Column { name, unit, doc, get }
    }

    /// Text of a few words: if it repeats from row to row, it is stored once.
    pub const fn word(name: &'static str, doc: &'static str, get: fn(&R) -> &'static str) -> Column<R> {
        let (unit, get) = ("", Get::Word(get));
        Column { name, unit, doc, get }
    }

    /// The column with room for this many values.
    fn empty(&self, rows: usize) -> Stored {
        Stored {
            name: self.name.into(),
            unit: self.unit.into(),
            doc: self.doc.into(),
            data: match self.get {
                Get::Count(_) => Data::Count(Vec::with_capacity(rows)),
                Get::Real(_) => Data::Real(Vec::with_capacity(rows)),
                Get::Text(_) | Get::Word(_) => Data::Text(Vec::with_capacity(rows)),
            },
        }
    }

    fn extend(&self, rows: &[R], data: &mut Data) {
        match (&self.get, data) {
            (Get::Count(f), Data::Count(v)) => v.extend(rows.iter().map(f)),
            (Get::Real(f), Data::Real(v)) => v.extend(rows.iter().map(f)),
            (Get::Text(f), Data::Text(v)) => v.extend(rows.iter().map(f)),
            (Get::Word(f), Data::Text(v)) => {
                for word in rows.iter().map(f) {
                    let before = v.last().filter(|w| ***w == *word).cloned();
                    v.push(before.unwrap_or_else(|| word.into()));
                }
            }
            _ => unreachable!("column {} was made by its own declaration", self.name),
        }
    }
}

/// The cost of making a row, in units of [`tailback_base::work`].
const UNITS: usize = 128;

/// This many rows are made before their values are taken column by column.
const ROWS_AT_ONCE: usize = 64;

/// The table of these columns, with a row for each item.
pub fn table<R>(name: &str, columns: &[Column<R>], rows: impl IntoIterator<Item = R>) -> Table {
    let mut rows = counted_as(UNITS, rows);
    let expected = rows.size_hint().0;
    let mut stored: Vec<Stored> = columns.iter().map(|c| c.empty(expected)).collect();
    let mut some = Vec::with_capacity(ROWS_AT_ONCE);
    loop {
        some.extend(rows.by_ref().take(ROWS_AT_ONCE));
        if some.is_empty() {
            break;
        }
        for (column, into) in columns.iter().zip(&mut stored) {
            column.extend(&some, &mut into.data);
        }
        some.clear();
    }
    Table {
        name: name.into(),
        columns: stored,
    }
}
