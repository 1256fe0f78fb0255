//! BBR's filters for ACKs that come in bursts.

use tailback_base::Time;

/// The bytes that bursts of ACKs acknowledged beyond those that the rate explains (Linux).
#[derive(Clone, Debug, Default)]
pub(super) struct Bursts {
    pub since: Time,
    pub acked: f64,
    /// The greatest amount in the present span of five rounds and in the span before.
    pub most: [f64; 2],
    pub rounds: u32,
}
