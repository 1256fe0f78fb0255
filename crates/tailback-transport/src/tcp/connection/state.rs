//! The states of a connection (RFC 9293 section 3.3.2), and the events that move an end from one state to the next.
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
//! A valid RST leads to Closed from every state except Listen.

use crate::tcp::handshake::Agreed;
use tailback_base::Time;

/// Which end sends the first SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// This end sends the first SYN, when its application first writes.
    Active,
    /// The other end sends the first SYN. Data that this end's application writes before this SYN arrives wait.
    Passive,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// There is no connection yet. The end is active, and its application has not written.
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
    /// The state after the application has closed. A FIN follows the data.
    pub fn after_close(self) -> State {
        match self {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        }
    }

    /// The state after our FIN is acknowledged.
    pub fn after_ack_of_fin(self, time_wait: Time) -> State {
        match self {
            State::FinWait1 => State::FinWait2,
            State::Closing => State::TimeWait { until: time_wait },
            State::LastAck => State::Closed,
            other => other,
        }
    }

    /// The state after the other side's FIN has arrived in order. In TIME-WAIT the FIN arrives again if our ACK of the
    /// FIN was lost.
    pub fn after_fin(self, time_wait: Time) -> State {
        match self {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 | State::TimeWait { .. } => State::TimeWait { until: time_wait },
            other => other,
        }
    }
}
