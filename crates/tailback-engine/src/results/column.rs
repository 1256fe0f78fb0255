//! Columns: name, unit, sentence and where the value comes from, together.
//!
//! A table's file declares its columns over a row of its own; Python, Parquet and the reference read the declaration.

use super::table::{Column as Stored, Data, Table};
use std::sync::Arc;
use tailback_base::work::counted_as;

/// Where a value comes from. NaN is "no value" in a column of reals.
enum Get<R> {
    Count(fn(&R) -> u64),
    Real(fn(&R) -> f64),
    Text(fn(&R) -> Arc<str>),
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

    fn empty(&self) -> Stored {
        Stored {
            name: self.name.into(),
            unit: self.unit.into(),
            doc: self.doc.into(),
            data: match self.get {
                Get::Count(_) => Data::Count(vec![]),
                Get::Real(_) => Data::Real(vec![]),
                Get::Text(_) => Data::Text(vec![]),
            },
        }
    }

    fn push(&self, row: &R, data: &mut Data) {
        match (&self.get, data) {
            (Get::Count(f), Data::Count(v)) => v.push(f(row)),
            (Get::Real(f), Data::Real(v)) => v.push(f(row)),
            (Get::Text(f), Data::Text(v)) => v.push(f(row)),
            _ => unreachable!("column {} was made by its own declaration", self.name),
        }
    }
}

/// What it takes to make a row, as units of [`tailback_base::work`].
const UNITS: usize = 128;

/// The table of these columns, a row for each.
pub fn table<R>(name: &str, columns: &[Column<R>], rows: impl IntoIterator<Item = R>) -> Table {
    let mut stored: Vec<Stored> = columns.iter().map(Column::empty).collect();
    for row in counted_as(UNITS, rows) {
        for (column, into) in columns.iter().zip(&mut stored) {
            column.push(&row, &mut into.data);
        }
    }
    Table {
        name: name.into(),
        columns: stored,
    }
}
