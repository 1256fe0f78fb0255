//! A table in columns, each with its unit and meaning.
//!
//! Columns are declared once ([`ColumnDef`]); the Parquet metadata, the notebook's header and the reference page read
//! the declaration.

use std::borrow::Cow;
use std::sync::Arc;

/// A column's declaration.
#[derive(Debug, PartialEq)]
pub struct ColumnDef {
    pub name: &'static str,
    /// `s`, `bit/s`, `packets`, `bytes`, `1` for a ratio, empty for a column of names.
    pub unit: &'static str,
    pub doc: &'static str,
    pub kind: ColumnKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    Count,
    Real,
    Text,
}

impl ColumnDef {
    pub const fn count(name: &'static str, unit: &'static str, doc: &'static str) -> ColumnDef {
        ColumnDef {
            name,
            unit,
            doc,
            kind: ColumnKind::Count,
        }
    }
    pub const fn real(name: &'static str, unit: &'static str, doc: &'static str) -> ColumnDef {
        ColumnDef {
            name,
            unit,
            doc,
            kind: ColumnKind::Real,
        }
    }
    pub const fn text(name: &'static str, doc: &'static str) -> ColumnDef {
        ColumnDef {
            name,
            unit: "",
            doc,
            kind: ColumnKind::Text,
        }
    }
}

/// The values of a column. NaN is "no value" in a column of reals.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Count(Vec<u64>),
    Real(Vec<f64>),
    Text(Vec<Arc<str>>),
}

/// The name, unit or meaning of a column. If the column is declared, this is a reference to its declaration, so that
/// the results of many runs share one copy.
pub type Words = Cow<'static, str>;

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: Words,
    pub unit: Words,
    pub doc: Words,
    pub data: Data,
}

impl Column {
    /// The column without its values.
    fn described(&self) -> Column {
        Column {
            name: self.name.clone(),
            unit: self.unit.clone(),
            doc: self.doc.clone(),
            data: Data::Real(vec![]),
        }
    }
}

/// One value of a row being added.
#[derive(Clone, Debug)]
pub enum Cell {
    Count(u64),
    Real(f64),
    Text(Arc<str>),
}

impl From<u64> for Cell {
    fn from(x: u64) -> Cell {
        Cell::Count(x)
    }
}
impl From<f64> for Cell {
    fn from(x: f64) -> Cell {
        Cell::Real(x)
    }
}
impl From<&str> for Cell {
    fn from(x: &str) -> Cell {
        Cell::Text(x.into())
    }
}
impl From<&Arc<str>> for Cell {
    fn from(x: &Arc<str>) -> Cell {
        Cell::Text(x.clone())
    }
}

/// A table.
///
/// ```
/// use tailback_sim::results::Outcome;
///
/// // The tables of a run have the columns of those of a run of nothing.
/// let links = &Outcome::empty()["links"];
/// let column = links.column("utilisation").unwrap();
/// assert_eq!((links.rows(), &*column.unit), (0, "1"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
}

impl Data {
    pub fn len(&self) -> usize {
        match self {
            Data::Count(v) => v.len(),
            Data::Real(v) => v.len(),
            Data::Text(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A cell of the wrong type becomes the column's "no value".
    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Data::Count(v), Cell::Count(x)) => v.push(x),
            (Data::Real(v), Cell::Real(x)) => v.push(x),
            (Data::Real(v), Cell::Count(x)) => v.push(x as f64),
            (Data::Text(v), Cell::Text(x)) => v.push(x),
            (Data::Count(v), _) => v.push(0),
            (Data::Real(v), _) => v.push(f64::NAN),
            (Data::Text(v), c) => v.push(format!("{c:?}").into()),
        }
    }

    fn append(&mut self, other: Data) {
        match (self, other) {
            (Data::Count(a), Data::Count(b)) => a.extend(b),
            (Data::Real(a), Data::Real(b)) => a.extend(b),
            (Data::Text(a), Data::Text(b)) => a.extend(b),
            (a, b) => (0..b.len()).for_each(|i| a.push(b.cell(i))),
        }
    }

    pub fn cell(&self, row: usize) -> Cell {
        match self {
            Data::Count(v) => Cell::Count(v[row]),
            Data::Real(v) => Cell::Real(v[row]),
            Data::Text(v) => Cell::Text(v[row].clone()),
        }
    }
}

impl Table {
    pub fn new(name: &str, defs: &'static [ColumnDef]) -> Table {
        let columns = defs
            .iter()
            .map(|column_def| Column {
                name: column_def.name.into(),
                unit: column_def.unit.into(),
                doc: column_def.doc.into(),
                data: match column_def.kind {
                    ColumnKind::Count => Data::Count(vec![]),
                    ColumnKind::Real => Data::Real(vec![]),
                    ColumnKind::Text => Data::Text(vec![]),
                },
            })
            .collect();
        Table {
            name: name.into(),
            columns,
        }
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.data.len())
    }

    /// Add a row; cells in the order of the columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut n = 0;
        for (c, cell) in self.columns.iter_mut().zip(cells) {
            c.data.push(cell);
            n += 1;
        }
        debug_assert_eq!(n, self.columns.len(), "a row of {} needs a cell a column", self.name);
    }

    /// Add the rows of another table of the same columns.
    pub fn append(&mut self, other: Table) {
        if self.columns.is_empty() {
            self.columns = other.columns;
            return;
        }
        for (a, b) in self.columns.iter_mut().zip(other.columns) {
            a.data.append(b.data);
        }
    }

    /// Drops spare capacity, and the columns if there are no rows.
    pub fn shrink(&mut self) {
        if self.rows() == 0 {
            self.columns = Vec::new();
        }
        for c in &mut self.columns {
            match &mut c.data {
                Data::Count(v) => v.shrink_to_fit(),
                Data::Real(v) => v.shrink_to_fit(),
                Data::Text(v) => v.shrink_to_fit(),
            }
        }
    }

    /// Add a column with one repeated value in front.
    pub fn prefix(&mut self, name: impl Into<Words>, doc: &'static str, value: Cell) {
        let n = self.rows();
        let data = match value {
            Cell::Count(x) => Data::Count(vec![x; n]),
            Cell::Real(x) => Data::Real(vec![x; n]),
            Cell::Text(x) => Data::Text(vec![x; n]),
        };
        self.columns.insert(
            0,
            Column {
                name: name.into(),
                unit: Words::default(),
                doc: doc.into(),
                data,
            },
        );
    }

    /// Rows from `from` (inclusive) to `to` (exclusive).
    pub fn rows_between(&self, from: usize, to: usize) -> Table {
        let columns = self.columns.iter().map(|column| Column {
            data: match &column.data {
                Data::Count(v) => Data::Count(v[from..to].to_vec()),
                Data::Real(v) => Data::Real(v[from..to].to_vec()),
                Data::Text(v) => Data::Text(v[from..to].to_vec()),
            },
            ..column.described()
        });
        Table {
            name: self.name.clone(),
            columns: columns.collect(),
        }
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// The values of a column of reals or counts, as reals.
    pub fn reals(&self, name: &str) -> Option<Vec<f64>> {
        match &self.column(name)?.data {
            Data::Real(v) => Some(v.clone()),
            Data::Count(v) => Some(v.iter().map(|x| *x as f64).collect()),
            Data::Text(_) => None,
        }
    }

    /// The values of a column of texts.
    pub fn texts(&self, name: &str) -> Option<&[Arc<str>]> {
        match &self.column(name)?.data {
            Data::Text(v) => Some(v),
            Data::Real(_) | Data::Count(_) => None,
        }
    }

    /// One row as JSON; NaN is null.
    pub fn row_json(&self, row: usize) -> serde_json::Map<String, serde_json::Value> {
        self.columns
            .iter()
            .map(|column| {
                let json = match &column.data {
                    Data::Count(v) => v[row].into(),
                    Data::Real(v) => serde_json::Number::from_f64(v[row]).map_or(serde_json::Value::Null, Into::into),
                    Data::Text(v) => v[row].to_string().into(),
                };
                (column.name.to_string(), json)
            })
            .collect()
    }

    /// All rows as a JSON list.
    pub fn json(&self) -> serde_json::Value {
        (0..self.rows())
            .map(|i| serde_json::Value::Object(self.row_json(i)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[ColumnDef] = &[
        ColumnDef::text("name", "who"),
        ColumnDef::count("drops", "packets", "how many"),
        ColumnDef::real("rtt", "s", "how long"),
    ];

    /// A count keeps all its digits, and a missing value is null.
    #[test]
    fn rows_are_json_by_the_names_of_columns() {
        let mut t = Table::new("flows", COLUMNS);
        t.row(["a".into(), Cell::Count(u64::MAX), 0.25.into()]);
        t.row(["b".into(), Cell::Count(0), f64::NAN.into()]);
        let expected = serde_json::json!([
            { "name": "a", "drops": u64::MAX, "rtt": 0.25 },
            { "name": "b", "drops": 0, "rtt": null },
        ]);
        assert_eq!(t.json(), expected);
    }
}
