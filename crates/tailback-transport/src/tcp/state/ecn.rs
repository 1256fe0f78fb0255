//! Congestion marks and the answers to them: at most one reduction a window, and what says so to the receiver.
//!
//! RFC 3168 section 6.1.2: "TCP should not react to congestion indications more than once every window of data". The
//! rule covers losses and routers' requests as well: whatever reduced the window last, echoes of marks in what was
//! outstanding then say nothing new.

use tailback_base::Ecn;

/// What cut the window last, for senders that tell events apart by it (ns-2's `last_cwnd_action_`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    None,
    Echo,
    Duplicates,
    Timeout,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    /// The last SYN asked for ECN.
    pub asked: bool,
    /// ECN was agreed on.
    pub agreed: bool,
    /// What a capable segment carries.
    pub codepoint: Ecn,
    /// Segments that are sent again are capable, too.
    pub capable_again: bool,
    /// No echo up to here is acted on.
    pub recover: u64,
    /// The last reduction for an echo covers losses below this.
    pub reduced: u64,
    /// The next new segment carries CWR.
    pub cwr_pending: bool,
    /// An echo came at a window of one segment: nothing is sent before the timer expires.
    pub held: bool,
    pub last_cut: Cut,
    /// Echoes come at a window of one segment: each but the first doubles the timeout (ns-2's `ecn_backoff_`).
    pub at_one: bool,
}

impl EcnState {
    pub fn new(agreed: bool, codepoint: Ecn, capable_again: bool) -> EcnState {
        EcnState {
            asked: false,
            agreed,
            codepoint,
            // RFC 9331 section 4.1: a scalable control marks repairs as well.
            capable_again: capable_again || codepoint == Ecn::Ect1,
            recover: 0,
            reduced: 0,
            cwr_pending: false,
            held: false,
            last_cut: Cut::None,
            at_one: false,
        }
    }
}
