//! Opening a connection: the states of the sending end, and what SYN and SYN-ACK say about ECN.
//!
//! ```text
//!             write            SYN+ACK                 closed and all acknowledged
//!    Idle ------------> Syn ------------> Open ----------------------------------> Closed
//!      \                 ^ \ timer                                                  ^
//!       \                 \_/  ----------- too many SYNs --------------------------/
//!        `---- write, `syn` off -------> Open
//! ```
//!
//! The receiving end answers each SYN. There is no separate third segment of the handshake, because the first data
//! segment says the same.

use crate::segment::Flags;

/// The state of a sender's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connecting {
    /// Nothing has been written yet.
    Idle,
    /// A SYN is out, or due.
    Syn {
        tries: u32,
        due: bool,
    },
    Open,
    Closed,
}

/// The flags of a SYN. RFC 3168 section 6.1.1: an ECN-setup SYN has both ECE and CWR.
pub fn syn_flags(ecn: bool) -> Flags {
    let flags = Flags::SYN;
    if ecn {
        flags.with(Flags::ECE).with(Flags::CWR)
    } else {
        flags
    }
}

/// Whether this SYN asks for ECN.
pub fn asks_for_ecn(syn: Flags) -> bool {
    syn.has(Flags::ECE) && syn.has(Flags::CWR)
}

/// The flags of the answer. RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE only.
pub fn syn_ack_flags(ecn: bool) -> Flags {
    let flags = Flags::ACK.with(Flags::SYN);
    if ecn { flags.with(Flags::ECE) } else { flags }
}

/// Whether this SYN-ACK grants ECN.
pub fn grants_ecn(syn_ack: Flags) -> bool {
    syn_ack.has(Flags::ECE) && !syn_ack.has(Flags::CWR)
}
