//! The handshake, the two ways of a connection, and its end.

use super::super::choices::{AcksRide, ConnectionForm, Fin};
use tailback_base::model::{Key, Kind};
use tailback_base::{Duration, params};

params! {
    pub const PARAMS;

    pub CONNECTION: ConnectionForm = Key::choice("connection", "one-way",
        "One way: a sender and a receiver that only acknowledges, no FIN. Two ways: the whole connection of RFC 9293, \
         data and acknowledgements in both directions, opened and closed by both ends.",
        "two-way: RFC 9293 section 3.3.2");
    pub NAGLE: bool = Key::new("nagle", Kind::Bool, "false",
        "Two-way: a segment that is not full waits while anything is outstanding.", "RFC 1122 section 4.2.3.4");
    pub NAGLE_RIDES: bool = Key::new("nagle_rides", Kind::Bool, "false",
        "Whether data that Nagle's rule holds back leave with an acknowledgement that is due.",
        "4.4BSD, two-way agents of ns-2.35");
    pub ACKS_RIDE: AcksRide = Key::choice("acks_ride", "in_order",
        "Two-way: which acknowledgements ride on data: those of segments in order, while the window lets data leave, \
         so that the others count as duplicates; or all of them. In the second form, while a pipe counter repairs a \
         loss, each acknowledgement takes a segment along whatever the window says.",
        "in_order: RFC 5681 section 2; always: ns-2.35");
    pub FIN: Fin = Key::choice("fin", "with_data",
        "Two-way: whether a FIN rides on the last data and on the ACK of the other side's FIN, or is a segment of its \
         own, sent when all data are acknowledged (on data only if nothing else is outstanding) and behind that ACK.",
        "RFC 9293 section 3.6; apart: ns-2.35");
    pub MSL: Duration = Key::new("msl", Kind::Time { min: 0.0, max: 3600.0 }, "1s",
        "Two-way: the end that closes first stays in TIME-WAIT for twice this time.",
        "RFC 9293 section 3.4.2, which has 2 minutes");
    pub SYN: bool = Key::new("syn", Kind::Bool, "true", "Exchange a SYN before data.", "RFC 9293 section 3.5");
    pub SYN_RETRIES: u32 = Key::new("syn_retries", Kind::Count { min: 0, max: 1000 }, "6",
        "Give up after this many repeated SYNs; 0 never gives up.", "RFC 9293 section 3.8.3");
}
