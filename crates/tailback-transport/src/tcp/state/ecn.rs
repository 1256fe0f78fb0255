//! Congestion marks and the response to them: at most one reduction per window, and the CWR that tells the receiver.
//!
//! RFC 3168 section 6.1.2: "TCP should not react to congestion indications more than once every window of data". The
//! rule also covers losses and routers' requests: whatever reduced the window last, echoes of marks in the data
//! outstanding then carry no new information.

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
    /// The request of the last SYN; with accurate ECN, that of any SYN.
    pub asked: Agreed,
    /// Whether ECN was agreed on and the path does not clear it.
    pub agreed: bool,
    /// Pure ACKs are ECN-capable, and a FIN without data.
    pub on_acks: bool,
    /// A SYN or SYN-ACK of this end or the other said nothing of ECN: no segment is ECN-capable.
    pub withheld: bool,
    /// It is not accurate ECN.
    pub echoed: bool,
    /// What each segment of data says where this end counts nothing.
    pub ace: Flags,
    /// The codepoint of an ECN-capable segment.
    pub codepoint: Ecn,
    /// Segments that are sent again are ECN-capable, too.
    pub capable_again: bool,
    /// No echo up to here causes a reduction.
    pub recover: u64,
    /// The last reduction for an echo covers losses below this.
    pub reduced: u64,
    /// The next new segment carries CWR.
    pub cwr_pending: bool,
    /// An echo came at a window of one segment: nothing is sent until the timer expires.
    pub held: bool,
    pub last_cut: Cut,
    /// Echoes arrive at a window of one segment: each one after the first doubles the timeout (ns-2's
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
