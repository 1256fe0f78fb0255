//! When the receiver acknowledges.

use super::super::choices::{AckRule, DelayedAckClock, DelayedAckCount};
use tailback_base::model::{Key, Kind};
use tailback_base::{Duration, params};

params! {
    pub const PARAMS;

    pub DELAYED_ACK: u32 = Key::new("delayed_ack", Kind::Count { min: 1, max: 64 }, "2",
        "Acknowledge every this many full segments; 1 acknowledges each.", "RFC 5681 section 4.2");
    pub QUICK_ACKS: u32 = Key::new("quick_acks", Kind::Count { min: 0, max: 1000 }, "0",
        "How many segments are acknowledged one by one, at the start of a connection and after a rest longer than \
         `initial_rto`; at most half the advertised window.", "16: Linux");
    pub DELAYED_ACK_TIMEOUT: Duration = Key::new("delayed_ack_timeout", Kind::Time { min: 0.0, max: 10.0 }, "200ms",
        "The longest delay of an acknowledgement.", "RFC 1122 section 4.2.3.2");
    pub DELAYED_ACK_COUNT: DelayedAckCount = Key::choice("delayed_ack_count", "segments",
        "What makes an acknowledgement due before `delayed_ack_timeout`: `delayed_ack` segments, short ones too, or as \
         many bytes as that number of full segments has, since the last one.",
        "RFC 1122 section 4.2.3.2; bytes: 4.4BSD, two-way agents of ns-2.35");
    pub DELAYED_ACK_CLOCK: DelayedAckClock = Key::choice("delayed_ack_clock", "segment",
        "When the timer of a delayed acknowledgement expires: `delayed_ack_timeout` after the first segment it covers, \
         or at the next multiple of that time on the clock of the run.",
        "grid: the fast timer of 4.4BSD, two-way agents of ns-2.35");
    pub ACK_RULE: AckRule = Key::choice("ack_rule", "rfc5681",
        "What may be delayed while nothing is missing: new data, or also a repeat of the last segment received.",
        "RFC 5681 section 4.2; sink: ns-2.35");
}
