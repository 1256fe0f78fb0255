//! The result of a run.

use crate::path::{LINE, OWN};
use tailback_engine::results::outcome::Outcome;
use tailback_engine::results::table::{Data, Table};

/// A finished run: both ends in their final state, and what the path counted.
pub struct Run<S, R> {
    /// The pairs, in the given order.
    pub ends: Vec<(S, R)>,
    pub(crate) outcome: Outcome,
}

impl<S, R> Run<S, R> {
    /// A figure of the bottleneck: `utilisation`, `loss_rate`, `sojourn_p99_s`, `mean_queue_packets`, `marked_packets`,
    /// and whatever else the table of links has.
    ///
    /// # Panics
    /// There is no such column.
    pub fn line(&self, column: &str) -> f64 {
        value(&self.outcome["links"], column, ("name", LINE), 0)
    }

    /// A figure of the n-th pair: `goodput_bps` (from [`crate::Endpoint::delivered`]), `sent_packets`,
    /// `delay_mean_s`, `dropped_packets`, and whatever else the table of flows has.
    ///
    /// # Panics
    /// There is no such column, or no such pair.
    pub fn pair(&self, n: usize, column: &str) -> f64 {
        value(&self.outcome["flows"], column, ("group", OWN), n)
    }

    /// A figure of a group of other traffic: `goodput_bps_mean`, `goodput_bps_sum`, and whatever else the table of
    /// groups has.
    ///
    /// # Panics
    /// There is no such column, or no such group.
    pub fn beside(&self, group: &str, column: &str) -> f64 {
        value(&self.outcome["groups"], column, ("group", group), 0)
    }

    /// All tables of the run.
    pub fn tables(&self) -> &[Table] {
        &self.outcome.tables
    }
}

/// The value of a column in the n-th row whose `key` is this word.
fn value(table: &Table, column: &str, (key, word): (&str, &str), n: usize) -> f64 {
    let find = |name: &str| table.columns.iter().find(|c| c.name == name);
    let Some(Data::Text(words)) = find(key).map(|c| &c.data) else {
        panic!("the table {} has no column of words \"{key}\"", table.name);
    };
    let mut rows = words.iter().enumerate().filter(|(_, w)| &***w == word).map(|(i, _)| i);
    let row = rows
        .nth(n)
        .unwrap_or_else(|| panic!("the table {} has no row {n} of \"{word}\"", table.name));
    match find(column).map(|c| &c.data) {
        Some(Data::Real(v)) => v[row],
        Some(Data::Count(v)) => v[row] as f64,
        _ => {
            let known: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            panic!(
                "the table {} has no column \"{column}\" of numbers; columns are {}",
                table.name,
                known.join(", ")
            )
        }
    }
}
