//! The opening of a connection: the states of the sending end, and the ECN flags of SYN and SYN-ACK.
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
//! segment has the same effect.

use crate::segment::Flags;
use tailback_base::Ecn;

/// The state of a sender's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connecting {
    /// Nothing has been written yet.
    Idle,
    /// A SYN is outstanding, or due.
    Syn {
        tries: u32,
        due: bool,
    },
    Open,
    Closed,
}

/// The options that a SYN requests, or that both ends agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Agreed {
    /// No ECN.
    #[default]
    Nothing,
    /// RFC 3168, or RFC 8257 if the congestion control needs it.
    Classic,
    /// RFC 9768.
    Accurate,
}

impl Agreed {
    pub fn is_ecn(self) -> bool {
        self != Agreed::Nothing
    }
}

/// The flags of a SYN. RFC 3168 section 6.1.1: an ECN-setup SYN has both ECE and CWR. RFC 9768 section 3.1.1: it also
/// has AE.
pub fn syn_flags(asked: Agreed) -> Flags {
    match asked {
        Agreed::Nothing => Flags::SYN,
        Agreed::Classic => Flags::SYN.with(Flags::ECE).with(Flags::CWR),
        Agreed::Accurate => Flags::SYN.with(Flags::ACE),
    }
}

/// The options to which the end that gets this SYN agrees, if it supports the options up to `able`. RFC 9768 section
/// 3.1.2: any combination other than 000 and 011 requests accurate ECN.
pub fn agrees(syn: Flags, able: Agreed) -> Agreed {
    match (syn.ace(), able) {
        (_, Agreed::Nothing) | (0b000, _) => Agreed::Nothing,
        (0b011, _) => Agreed::Classic,
        (_, Agreed::Accurate) => Agreed::Accurate,
        // An end that supports only RFC 3168 ignores AE.
        (n, Agreed::Classic) if n & 0b011 == 0b011 => Agreed::Classic,
        (_, Agreed::Classic) => Agreed::Nothing,
    }
}

/// The flags of the answer. RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE only. RFC 9768 table 2: with accurate
/// ECN the flags say with which code point the SYN arrived.
pub fn syn_ack_flags(agreed: Agreed, arrived: Ecn) -> Flags {
    let flags = Flags::ACK.with(Flags::SYN);
    match agreed {
        Agreed::Nothing => flags,
        Agreed::Classic => flags.with(Flags::ECE),
        Agreed::Accurate => flags.with(Flags::of_ace(reflected(arrived))),
    }
}

/// The options to which this SYN-ACK agrees, after a SYN that requested `asked` (RFC 9768 table 2). Section 3.1.3: the
/// reserved combination 101 agrees to accurate ECN. A SYN-ACK that has all flags of the SYN comes from an end that
/// copies the flags.
pub fn granted(syn_ack: Flags, asked: Agreed) -> Agreed {
    match (asked, syn_ack.ace()) {
        (Agreed::Nothing, _) | (Agreed::Accurate, 0b000 | 0b111) => Agreed::Nothing,
        (Agreed::Accurate, 0b001) => Agreed::Classic,
        (Agreed::Accurate, _) => Agreed::Accurate,
        (Agreed::Classic, n) if n & 0b011 == 0b001 => Agreed::Classic,
        (Agreed::Classic, _) => Agreed::Nothing,
    }
}

/// RFC 9768 tables 2 and 3: the number for the code point with which a SYN, or a SYN-ACK, arrived.
pub const fn reflected(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Agreed; 3] = [Agreed::Nothing, Agreed::Classic, Agreed::Accurate];

    /// The rows of table 2 of RFC 9768, from the SYN to the result at the client, for all options that the two ends
    /// support.
    #[test]
    fn two_ends_agree_on_what_both_know() {
        for client in ALL {
            for server in ALL {
                let agreed = agrees(syn_flags(client), server);
                let common = if client == Agreed::Nothing || server == Agreed::Nothing {
                    Agreed::Nothing
                } else if client == server {
                    client
                } else {
                    Agreed::Classic
                };
                assert_eq!(agreed, common, "{client:?} {server:?}");
                for arrived in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                    let answer = syn_ack_flags(agreed, arrived);
                    // A mark on the SYN reads as classic ECN is refused by an end that asked for no more.
                    assert_eq!(granted(answer, client), common, "{client:?} {server:?} {arrived:?}");
                }
            }
        }
    }

    /// The last rows of this table: an end that copies the flags, and the reserved combination.
    #[test]
    fn answers_of_odd_ends_are_read_as_table_2_says() {
        let answer = |n| granted(Flags::ACK.with(Flags::SYN).with(Flags::of_ace(n)), Agreed::Accurate);
        assert_eq!((answer(0b111), answer(0b000)), (Agreed::Nothing, Agreed::Nothing));
        assert_eq!((answer(0b001), answer(0b101)), (Agreed::Classic, Agreed::Accurate));
        for n in [0b001, 0b010, 0b100, 0b101, 0b110] {
            let syn = Flags::SYN.with(Flags::of_ace(n));
            assert_eq!(agrees(syn, Agreed::Accurate), Agreed::Accurate, "{n:03b}");
        }
    }
}
