//! The counts of a run, and the final state of its ends.

use std::any::Any;
use std::collections::BTreeMap;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::{Data, Table};

/// A finished run of a [`Scenario`](crate::Scenario).
pub struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) ends: BTreeMap<String, Box<dyn Any>>,
}

impl Finished {
    /// Both ends of each connection of a group in their final state, in the order of [`number`](crate::Pair::number).
    ///
    /// # Panics
    /// There is no such group, or its ends have other types.
    pub fn ends<S: 'static, R: 'static>(&self, group: &str) -> &[(S, R)] {
        let ends = self.ends.get(group).and_then(|e| e.downcast_ref::<Vec<(S, R)>>());
        ends.unwrap_or_else(|| panic!("{}", self.no_ends(group)))
    }

    /// Like [`Finished::ends`], but the caller gets the ends to keep.
    ///
    /// # Panics
    /// The panics are those of [`Finished::ends`].
    pub fn take_ends<S: 'static, R: 'static>(&mut self, group: &str) -> Vec<(S, R)> {
        let ends = self.ends.remove(group).and_then(|e| e.downcast::<Vec<(S, R)>>().ok());
        *ends.unwrap_or_else(|| panic!("{}", self.no_ends(group)))
    }

    fn no_ends(&self, group: &str) -> String {
        let known: Vec<&str> = self.ends.keys().map(String::as_str).collect();
        format!(
            "no ends of these types were given for \"{group}\"; given: {}",
            known.join(", ")
        )
    }

    /// A figure of a link: `utilisation`, `loss_rate`, `sojourn_p99_s`, `mean_queue_packets`, `marked_packets`, or any
    /// other column of the table of links.
    ///
    /// # Panics
    /// There is no such link or column.
    pub fn link(&self, link: &str, column: &str) -> f64 {
        value(&self.outcome["links"], column, ("name", link), 0)
    }

    /// A figure of the n-th flow of a group: `goodput_bps` (for a stack, of the bytes that
    /// [`delivered`](crate::Endpoint::delivered) returns), `delay_mean_s`, `dropped_packets`, or any other column of
    /// the table of flows. Of the columns that senders report, a stack has only `sent_packets`; the others are 0.
    ///
    /// # Panics
    /// There is no such flow or column.
    pub fn flow(&self, group: &str, n: usize, column: &str) -> f64 {
        value(&self.outcome["flows"], column, ("group", group), n)
    }

    /// A figure of a group: `goodput_bps_mean`, `goodput_bps_sum`, or any other column of the table of groups.
    ///
    /// # Panics
    /// There is no such group or column.
    pub fn group(&self, group: &str, column: &str) -> f64 {
        value(&self.outcome["groups"], column, ("group", group), 0)
    }

    /// The points that `[record.NAME]` has recorded of a probe: times in seconds, and values, of all flows or ports
    /// that it names.
    pub fn series(&self, probe: &str) -> Vec<(f64, f64)> {
        let table = &self.outcome["series"];
        let find = |name: &str| table.columns.iter().find(|c| c.name == name).map(|c| &c.data);
        let (Some(Data::Text(probes)), Some(Data::Real(times)), Some(Data::Real(values))) =
            (find("probe"), find("time_s"), find("value"))
        else {
            unreachable!("the table of series has these columns");
        };
        let rows = probes.iter().zip(times.iter().zip(values));
        rows.filter(|(p, _)| &***p == probe)
            .map(|(_, (t, v))| (*t, *v))
            .collect()
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
            let names: Vec<&str> = table.columns.iter().map(|c| &*c.name).collect();
            panic!(
                "the table {} has no column \"{column}\" of numbers; columns are {}",
                table.name,
                names.join(", ")
            )
        }
    }
}
