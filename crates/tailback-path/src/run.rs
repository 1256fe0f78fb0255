//! The result of a run.

use crate::path::{LINE, OWN};
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::{Data, Table};

/// A finished run: both ends in their final state, and what the path counted.
///
/// ```
/// # use tailback_path::{Datagram, Ecn, Endpoint, Path, Time};
/// # #[derive(Default)]
/// # struct End { left: u32, next: Time }
/// # impl Endpoint for End {
/// #     type Data = ();
/// #     fn receive(&mut self, _data: (), _ecn: Ecn, _now: Time) {}
/// #     fn transmit(&mut self, now: Time) -> Option<Datagram<()>> {
/// #         if self.left == 0 || now < self.next { return None; }
/// #         (self.left, self.next) = (self.left - 1, Time(now.0 + 1_000_000));
/// #         Some(Datagram::new((), 1000))
/// #     }
/// #     fn timeout(&self) -> Option<Time> { (self.left > 0).then_some(self.next) }
/// # }
/// // 1000 bytes each millisecond are 8 Mb/s, for one second of two.
/// let source = End { left: 1000, ..End::default() };
/// let run = Path::new("10Mbps", "40ms").run([(source, End::default())], "2s").unwrap();
/// assert!((run.line("utilisation") - 0.4).abs() < 0.01);
/// assert_eq!(run.pair(0, "dropped_packets"), 0.0);
/// // Half of the round trip, and 0.8 ms on the line.
/// assert!((run.pair(0, "delay_mean_s") - 0.0208).abs() < 1e-6);
/// assert_eq!(run.ends[0].0.left, 0);
/// ```
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

    /// A figure of the n-th pair: `goodput_bps` (of what [`crate::Endpoint::delivered`] says),
    /// `delay_mean_s`, `dropped_packets`, and whatever else the table of flows has. What only a sender of tailback's
    /// own reports, such as `sent_packets`, is 0.
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
            let names: Vec<&str> = table.columns.iter().map(|c| &*c.name).collect();
            panic!(
                "the table {} has no column \"{column}\" of numbers; columns are {}",
                table.name,
                names.join(", ")
            )
        }
    }
}
