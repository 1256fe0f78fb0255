//! The context of a discipline when it is built, in addition to its own settings.

use tailback_base::{BitRate, Duration, Stream};

/// The place for which a discipline is built.
#[derive(Clone, Debug)]
pub struct BuildContext {
    /// The random stream of the discipline, named after its link.
    pub stream: Stream,
    /// The rate of the line after the discipline.
    pub rate: BitRate,
    /// The propagation delay of that line.
    pub delay: Duration,
}
