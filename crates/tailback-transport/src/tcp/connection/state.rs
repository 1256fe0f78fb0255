//! The states of a connection (RFC 9293 section 3.3.2), and what moves one end from one to the next.
//!
//! ```text
//!                 passive: SYN / SYN+ACK                active: write / SYN
//!        Listen -----------------------> SynReceived <--- SYN / SYN+ACK --- SynSent
//!           ^------- RST, if passive ------|                                  |
//!                                          | ACK of the SYN                   | SYN+ACK / ACK
//!                                          +---------> Established <----------+
//!                               close / FIN  |                | FIN / ACK
//!                                            v                v
//!            FIN / ACK  +---------------- FinWait1        CloseWait
//!                       v   ACK of the FIN   |                | close / FIN
//!                    Closing                 v                v
//!            ACK of     |                FinWait2          LastAck
//!            the FIN    +--> TimeWait <------+ FIN / ACK      | ACK of the FIN
//!                               | 2 MSL                       v
//!                               +------------------------> Closed
//! ```
//!
//! A valid RST leads to Closed from every state but Listen.

use crate::tcp::handshake::Agreed;
use tailback_base::Time;

/// Which end sends the first SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// This end, when its application first writes.
    Active,
    /// The other end. What this end's application writes before that waits.
    Passive,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No connection yet: an active end whose application has not written.
    Idle,
    Listen,
    SynSent,
    /// Both SYNs are known.
    SynReceived {
        /// The options that the other side's SYN requested and this end supports.
        ecn: Agreed,
    },
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait {
        until: Time,
    },
    Closed,
}

impl State {
    /// The application has closed: a FIN follows the data.
    pub fn after_close(self) -> State {
        match self {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        }
    }

    /// Our FIN is acknowledged.
    pub fn after_ack_of_fin(self, time_wait: Time) -> State {
        match self {
            State::FinWait1 => State::FinWait2,
            State::Closing => State::TimeWait { until: time_wait },
            State::LastAck => State::Closed,
            other => other,
        }
    }

    /// The other side's FIN has arrived in order. In TIME-WAIT it arrives again if our ACK of it was lost.
    pub fn after_fin(self, time_wait: Time) -> State {
        match self {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 | State::TimeWait { .. } => State::TimeWait { until: time_wait },
            other => other,
        }
    }
}
