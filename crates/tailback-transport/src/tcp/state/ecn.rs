//! Congestion marks and the response to them: at most one reduction per window, and the CWR that reports it to the
//! receiver.
//!
//! RFC 3168 section 6.1.2: "TCP should not react to congestion indications more than once every window of data". The
//! rule also covers losses and routers' requests. After any reduction of the window, echoes of marks in the data that
//! were outstanding at that time carry no new information.

use crate::segment::Flags;
use crate::tcp::handshake::Agreed;
use tailback_base::Ecn;

/// The last reason for a cut of the window, for senders that distinguish events by it (ns-2's `last_cwnd_action_`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    None,
    Echo,
    Duplicates,
    Timeout,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    /// The ECN that the last SYN requested; with accurate ECN, that any SYN requested.
    pub asked: Agreed,
    /// Whether ECN was agreed on and the path does not clear the ECN fields.
    pub agreed: bool,
    /// Whether pure ACKs, and a FIN without data, are ECN-capable.
    pub on_acks: bool,
    /// Whether no segment is ECN-capable, because a SYN or SYN-ACK of one of the ends had no ECN flags.
    pub withheld: bool,
    /// Whether marks are echoed without accurate ECN.
    pub echoed: bool,
    /// The flags of each segment of data if this end counts no marks.
    pub ace: Flags,
    /// The codepoint of an ECN-capable segment.
    pub codepoint: Ecn,
    /// Whether segments that are sent again are also ECN-capable.
    pub capable_again: bool,
    /// Echoes up to this unit cause no reduction.
    pub recover: u64,
    /// The last reduction for an echo covers losses below this unit.
    pub reduced: u64,
    /// Whether the next new segment carries CWR.
    pub cwr_pending: bool,
    /// Whether nothing is sent until the timer expires, because an echo arrived at a window of one segment.
    pub held: bool,
    pub last_cut: Cut,
    /// Whether echoes arrive at a window of one segment. Each echo after the first doubles the timeout (ns-2's
    /// `ecn_backoff_`).
    pub at_one: bool,
}

impl EcnState {
    pub fn new(codepoint: Ecn, capable_again: bool) -> EcnState {
        EcnState {
            asked: Agreed::Nothing,
            agreed: false,
            on_acks: false,
            withheld: false,
            echoed: false,
            ace: Flags::NONE,
            codepoint,
            // RFC 9331 section 4.1: with a scalable control repairs are ECN-capable as well.
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
