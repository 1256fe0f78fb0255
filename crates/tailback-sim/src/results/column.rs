//! Columns: name, unit, meaning and source of the values, declared together.
//!
//! A table's file declares its columns over its own type of row; Python, Parquet and the reference read the
//! declaration.

use super::quantity::{Better, Quantity, Stat};
use super::table::{Column as Stored, Data, Table};
use std::sync::Arc;
use tailback_base::work::counted_as;

/// The function that reads a value. NaN is "no value" in a column of reals.
enum Get<R> {
    Count(fn(&R) -> u64),
    Real(fn(&R) -> f64),
    Text(fn(&R) -> Arc<str>),
    Word(fn(&R) -> &'static str),
}

/// A column of a table whose rows are made from `R`.
pub struct Column<R> {
    pub name: &'static str,
    /// `s`, `bit/s`, `packets`, `bytes`, `1` for a ratio, empty for a column of names.
    pub unit: &'static str,
    pub doc: &'static str,
    get: Get<R>,
    /// The title; the column's name if no title is given.
    quantity: Option<(&'static Quantity, Option<Stat>)>,
    /// Whether it identifies a row, alone or with others.
    key: bool,
    shown: Option<Shown>,
    /// Whether the page of a sweep draws it.
    drawn: bool,
}

/// The tables for people that show a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// The tables of pages, which have room.
    OnPages,
    /// The tables of a terminal too.
    Everywhere,
}

/// The words for a column.
#[derive(Clone, Debug)]
pub struct Called {
    pub name: &'static str,
    pub unit: &'static str,
    /// The quantity that the column is a statistic of.
    pub quantity: String,
    /// The title in sentences, on axes and in pages.
    pub title: String,
    /// The word at the head of a column in a terminal.
    pub short: String,
    pub share: bool,
    pub better: Option<Better>,
    pub key: bool,
    pub shown: Option<Shown>,
    pub drawn: bool,
}

/// The words for these columns.
pub fn called_of<R>(columns: &[Column<R>]) -> Vec<Called> {
    columns.iter().map(Column::called).collect()
}

impl<R> Column<R> {
    const fn new(name: &'static str, unit: &'static str, doc: &'static str, get: Get<R>) -> Column<R> {
        Column {
            name,
            unit,
            doc,
            get,
            quantity: None,
            key: false,
            shown: None,
            drawn: false,
        }
    }

    pub const fn count(name: &'static str, unit: &'static str, doc: &'static str, get: fn(&R) -> u64) -> Column<R> {
        Column::new(name, unit, doc, Get::Count(get))
    }

    pub const fn real(name: &'static str, unit: &'static str, doc: &'static str, get: fn(&R) -> f64) -> Column<R> {
        Column::new(name, unit, doc, Get::Real(get))
    }

    pub const fn text(name: &'static str, doc: &'static str, get: fn(&R) -> Arc<str>) -> Column<R> {
        Column::new(name, "", doc, Get::Text(get))
    }

    /// A column of texts of a few words. A text that repeats from row to row is stored once.
    pub const fn word(name: &'static str, doc: &'static str, get: fn(&R) -> &'static str) -> Column<R> {
        Column::new(name, "", doc, Get::Word(get))
    }

    /// Declare that the values of the column are of this quantity.
    pub const fn is(mut self, quantity: &'static Quantity) -> Column<R> {
        self.quantity = Some((quantity, None));
        self
    }

    /// Declare that the values of the column are a statistic of this quantity.
    pub const fn of(mut self, quantity: &'static Quantity, stat: Stat) -> Column<R> {
        self.quantity = Some((quantity, Some(stat)));
        self
    }

    pub const fn key(mut self) -> Column<R> {
        self.key = true;
        self
    }

    pub const fn shown(mut self) -> Column<R> {
        self.shown = Some(Shown::Everywhere);
        self
    }

    pub const fn on_pages(mut self) -> Column<R> {
        self.shown = Some(Shown::OnPages);
        self
    }

    pub const fn drawn(mut self) -> Column<R> {
        self.drawn = true;
        self
    }

    fn called(&self) -> Called {
        let by_name = || self.name.strip_suffix("_s").unwrap_or(self.name).replace('_', " ");
        let (title, short) = match self.quantity {
            Some((quantity, stat)) => (quantity.title_of(stat), quantity.short_of(stat)),
            None => (by_name(), by_name()),
        };
        Called {
            name: self.name,
            unit: self.unit,
            quantity: self.quantity.map_or_else(by_name, |(q, _)| q.title.into()),
            title,
            short,
            share: self.quantity.is_some_and(|(q, _)| q.share),
            better: self.quantity.and_then(|(q, _)| q.better),
            key: self.key,
            shown: self.shown,
            drawn: self.drawn,
        }
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
    let mut piece = Vec::with_capacity(ROWS_AT_ONCE);
    loop {
        piece.extend(rows.by_ref().take(ROWS_AT_ONCE));
        if piece.is_empty() {
            break;
        }
        for (column, into) in columns.iter().zip(&mut stored) {
            column.extend(&piece, &mut into.data);
        }
        piece.clear();
    }
    Table {
        name: name.into(),
        columns: stored,
    }
}
