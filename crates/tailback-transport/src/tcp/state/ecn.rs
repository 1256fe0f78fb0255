//! Congestion marks and the answers to them: at most one reduction a window, and what says so to the receiver.
//!
//! RFC 3168 section 6.1.2: "TCP should not react to congestion indications more than once every window of data". The
//! rule covers losses and routers' requests as well: whatever reduced the window last, echoes of marks in what was
//! outstanding then say nothing new.

use tailback_base::Ecn;

#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    /// ECN was agreed on.
    pub agreed: bool,
    /// What a capable segment carries.
    pub codepoint: Ecn,
    /// No echo up to here is acted on.
    pub recover: u64,
    /// The last reduction for an echo covers losses below this.
    pub reduced: u64,
    /// The next new segment carries CWR.
    pub cwr_pending: bool,
    /// An echo came at a window of one segment: nothing is sent before the timer expires.
    pub held: bool,
}

impl EcnState {
    pub fn new(agreed: bool, codepoint: Ecn) -> EcnState {
        EcnState {
            agreed,
            codepoint,
            recover: 0,
            reduced: 0,
            cwr_pending: false,
            held: false,
        }
    }
}
