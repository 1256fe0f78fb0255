//! The result of a run over a path.

use crate::Finished;
use crate::path::{LINE, OWN};
use tailback_sim::results::table::Table;

/// A finished run: both ends in their final state, and the counts of the path.
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
    pub(crate) results: Finished,
}

impl<S, R> Run<S, R> {
    /// A figure of the bottleneck, as in [`Finished::link`].
    ///
    /// # Panics
    /// There is no such column.
    pub fn line(&self, column: &str) -> f64 {
        self.results.link(LINE, column)
    }

    /// A figure of the n-th pair, as in [`Finished::flow`].
    ///
    /// # Panics
    /// There is no such column, or no such pair.
    pub fn pair(&self, n: usize, column: &str) -> f64 {
        self.results.flow(OWN, n, column)
    }

    /// A figure of a group of other traffic, as in [`Finished::group`].
    ///
    /// # Panics
    /// There is no such column, or no such group.
    pub fn beside(&self, group: &str, column: &str) -> f64 {
        self.results.group(group, column)
    }

    /// All tables of the run.
    pub fn tables(&self) -> &[Table] {
        self.results.tables()
    }
}
