//! The declaration of the model `tcp`: every parameter once, and the probes.
//!
//! The defaults are those of the profile `rfc`. Schema, `tailback describe tcp`, the reference page and the error
//! messages are made from this table; [`Config`](super::Config) holds the values in the units the endpoints use.

use super::choices::Variant;
use super::config::OptionBytes;
use super::congestion::ControlForm;
use super::probes::PROBES;
use super::profiles::BUILT_IN;
use crate::segment::MOST_HEADER;
use tailback_base::model::{Key, Kind, Model, Param};
use tailback_base::{join, params};

mod connection;
mod ecn;
mod receiver;
mod recovery;
mod timer;
mod window;

pub use connection::*;
pub use ecn::*;
pub use receiver::*;
pub use recovery::*;
pub use timer::*;
pub use window::*;

const TIME: Kind = Kind::Time { min: 1e-6, max: 3600.0 };
const NS2: &str = "ns-2.35";

pub static MODEL: Model = Model {
    name: "tcp",
    family: "transport",
    title: "Transmission Control Protocol",
    summary: "A TCP connection: loss recovery, congestion control, acknowledgements. One way by default: a sender and \
              a receiver, a SYN exchange unless it is switched off, no FIN; or two ways, with the states of RFC 9293. \
              Sequence numbers count bytes and never wrap.",
    source: "RFC 9293, 5681, 6582, 6675, 6298, 3168",
    params: join!(Param: PARAMS, window::PARAMS, recovery::PARAMS, timer::PARAMS, receiver::PARAMS, ecn::PARAMS,
        connection::PARAMS),
    probes: PROBES,
};

/// The longest options: a TCP header has at most 60 B (RFC 9293 section 3.1), and 20 B of them are fixed.
pub const MOST_OPTIONS: u32 = 40;
/// The most segments that may leave at one instant. Each of them needs memory before any has gone anywhere.
pub const MOST_AT_ONCE: f64 = 1e6;

params! {
    const PARAMS;

    pub PROFILE = Param::new("profile", Kind::Profile(BUILT_IN), "rfc",
        "The named set of values to start from, or a [profile.NAME] of the scenario; values given beside it win.", "");
    pub VARIANT: Variant = Key::choice("variant", "sack",
        "How lost segments are detected and repaired.", "Tahoe: Jacobson 1988; RFC 5681, 6582, 6675");
    pub CONGESTION = Param::new("congestion", Kind::Model("congestion"), "reno",
        "How the congestion window grows and shrinks.", "RFC 5681 section 3");
    pub CONGESTION_FORM: ControlForm = Key::choice("congestion_form", "standard",
        "How a congestion control that has several forms is computed. linux: reno and cubic use whole segments, cubic \
         has its own test for the end of slow start, and bbr has room for bursts in its window. ns3: reno and cubic \
         count acknowledged segments, and a reduction does not reset this count; cubic has no Reno-friendly region.",
        "linux: Linux 6; ns3: ns-3.37");
    pub PAYLOAD: u32 = Key::new("payload", Kind::Bytes { min: 1, max: 65_000 }, "1460B",
        "Payload of a full segment.", "RFC 9293 section 3.7.1");
    pub HEADER: u32 = Key::new("header", Kind::Bytes { min: 0, max: MOST_HEADER as u64 }, "40B",
        "How many bytes a segment has on the wire beside its payload; also the size of a SYN and of a pure \
         acknowledgement.",
        "RFC 9293 section 3.1, RFC 791");
    pub OPTION_BYTES: OptionBytes = Key::choice("option_bytes", "uncounted",
        "Whether options lengthen a segment on the wire: never, as the RFCs lay them out, by 8 B per SACK block, or by \
         2 B and 8 B per block.", "RFC 2018 section 3, RFC 7323 section 3; sack8, sack_unpadded: ns-2.35");
}
