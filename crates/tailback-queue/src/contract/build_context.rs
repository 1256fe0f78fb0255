//! What a discipline may know when it is built, beside its own settings.

use tailback_base::{BitRate, Duration, Stream};

/// Where a discipline is built.
#[derive(Clone, Debug)]
pub struct BuildContext {
    /// The stream the discipline draws from, named after its link.
    pub stream: Stream,
    /// The rate of the line behind it.
    pub rate: BitRate,
    /// The propagation delay of that line.
    pub delay: Duration,
}
