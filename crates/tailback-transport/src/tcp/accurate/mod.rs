//! More accurate feedback of congestion marks (RFC 9768): the receiver counts marks, and each of its segments carries
//! the counts.
//!
//! With the echo of RFC 3168 a sender is informed only once per round trip that something was marked. Here the three
//! flags AE, CWR and ECE of each segment are one number, ACE: how many packets have arrived marked, modulo 8. A lost
//! acknowledgement therefore loses no information, and an acknowledgement of many packets still shows how many of these
//! packets were marked. In addition a TCP option may carry the number of bytes that arrived with each codepoint.
//!
//! ```text
//!   data, marked            r.cep += 1 ; r.ceb += payload         at the receiver: `received.rs`
//!   each segment it sends   ACE = r.cep mod 8 ; option: e1b, ceb, e0b mod 2^24
//!   an ACK of n packets     d = (ACE - s.cep) mod 8               at the sender: `delivered.rs`
//!                           n <= 7: d are newly marked; more: d, d + 8, d + 16, ... would say the same
//! ```
//!
//! Both ends agree in the handshake (`handshake.rs`). Counters begin at values that show whether something on the path
//! clears them: 5 for packets, 1 for bytes of ECT(0) and ECT(1).
//!
//! Departures: only the first ACE is tested for lost, reordered or altered feedback. If the first ACE is zero, the path
//! clears the flags, and no later packet is sent ECN-capable. The option has order 1 (kind 174). Its unchanged tail is
//! left out if there is no room. An end puts the option on every segment once the other end has sent one. In one-way
//! connections, the sender's own segments say that nothing was marked.

mod delivered;
mod received;

pub use delivered::{Arrivals, Delivered};
pub use received::{Received, padded};

/// Where `r.cep` and `s.cep` begin (RFC 9768 section 3.2.1).
pub const FIRST_ACE: u8 = 5;
/// Where the counters of bytes with ECT(0) and ECT(1) begin (section 3.2.1). The counter of CE begins at 0.
const FIRST_BYTES: u32 = 1;
/// A field of the option has 24 bits.
const MASK: u32 = 0xff_ffff;
