//! The memory of table rows. This memory is doubled while the tables of a plan are assembled from those of its runs,
//! with the columns that identify runs in front.

use std::sync::OnceLock;
use tailback_sim::results::table::Data;
use tailback_sim::results::{Outcome, Table};

/// Position, replication, seed and key of the run.
const IN_FRONT: f64 = 40.0;
/// A name or a word that belongs to one row only, with its reference counts, bytes.
const OWN_WORD: f64 = 48.0;

/// One copy of a row of the table with this name, bytes.
fn row(name: &str) -> f64 {
    static DECLARED: OnceLock<Vec<Table>> = OnceLock::new();
    let declared = DECLARED.get_or_init(|| Outcome::empty().tables);
    let table = declared.iter().find(|t| t.name == name);
    let columns = table.into_iter().flat_map(|t| &t.columns);
    columns
        .map(|c| match c.data {
            Data::Text(_) => size_of::<std::sync::Arc<str>>() as f64,
            Data::Count(_) | Data::Real(_) => 8.0,
        })
        .sum()
}

/// Words that are made separately for each row.
fn words(name: &str) -> f64 {
    match name {
        "log" => 3.0,
        "flows" | "intervals" | "datagrams" | "frames" | "playout" => 1.0,
        _ => 0.0,
    }
}

/// The memory of this many rows of a table: at most, and after the run, bytes.
pub fn rows(name: &str, rows: f64) -> (f64, f64) {
    let (row, words) = (row(name), words(name) * OWN_WORD);
    (rows * (2.0 * row + IN_FRONT + words), rows * (row + words))
}
