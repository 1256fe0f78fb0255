//! Explicit congestion notification: who asks for it, what is marked, how an echo is read.

use super::super::choices::{AccurateEcnUse, CwrAfter, EchoEvents, EcnUse, EctOnControl};
use super::super::config::AccurateForm;
use tailback_base::model::{Key, Kind};
use tailback_base::params;

params! {
    pub const PARAMS;

    pub ECN: EcnUse = Key::choice("ecn", "where_answered",
        "When explicit congestion notification is on: unless the congestion control ignores marks; if it needs them; \
         always (on); or never (off). `ignore` sends as if no echo came, `no_echo` is a receiver that hides marks.",
        "RFC 3168 section 6.1; where_needed: Linux without `tcp_ecn`");
    pub ACCURATE_ECN: AccurateEcnUse = Key::choice("accurate_ecn", "off",
        "Whether the receiver counts marks, where the connection uses ECN: it says how many packets were marked in the \
         flags of each segment (ace), or how many bytes too, in an option of 12 B. `dctcp` and `prague` use the counts \
         instead of an echo with each ACK.",
        "RFC 9768");
    pub ACCURATE_ECN_FORM: AccurateForm = Key::choice("accurate_ecn_form", "rfc9768",
        "How the flags of an ACK of more than seven packets are read without the option: as all marks that they may \
         mean, or as few where ACKs are thinned on average. With linux pure ACKs and retransmissions are ECN-capable \
         too, and each change of the codepoint is acknowledged at once.",
        "rfc9768: RFC 9768 section 3.2.2.5.2; linux: since February 2026");
    pub ECN_SYNS: u32 = Key::new("ecn_syns", Kind::Count { min: 0, max: 1000 }, "0",
        "After this many SYNs without an answer the next asks for no ECN, in case the path drops those that do; 0 goes \
         on asking.", "RFC 3168 section 6.1.1.1");
    pub ECHO_RULE: EchoEvents = Key::choice("echo_rule", "rfc3168",
        "Which signs of congestion belong to one event: those of one window; or those of what was outstanding at the \
         last reduction, unless this was a timeout. The second form also reacts to echoes in recovery.",
        "rfc3168: RFC 3168 section 6.1.2; last_cut: ns-2.35");
    pub ECT_ON_CONTROL: EctOnControl = Key::choice("ect_on_control", "handshake_where_needed",
        "Which packets without new data are ECN-capable: SYN, SYN-ACK and RST (handshake); these, pure \
         acknowledgements and retransmissions (all); or no such packet (off). With where_needed they are so only if \
         the congestion control needs marks.",
        "handshake_where_needed: RFC 8257 section 3.5; off: RFC 3168 section 6.1.1; all_where_needed: Linux");
    pub ECT_ON_RETRANSMISSIONS: bool = Key::new("ect_on_retransmissions", Kind::Bool, "false",
        "Retransmissions are ECN-capable too.", "off: RFC 3168 section 6.1.5; on: ns-2.35");
    pub CWR_ON_RETRANSMISSIONS: bool = Key::new("cwr_on_retransmissions", Kind::Bool, "false",
        "CWR is set on the first segment after a reduction, also if it is a retransmission or the flow has no ECN.",
        "off: RFC 3168 section 6.1.2; on: ns-2.35");
    pub CWR_WITHOUT_ECN: bool = Key::new("cwr_without_ecn", Kind::Bool, "false",
        "CWR stands on the first new segment after a reduction in connections without ECN too, for edges that look at \
         it.", "Habib, Fahmy and Bhargava 2000");
    pub CWR_AFTER: CwrAfter = Key::choice("cwr_after", "any_reduction",
        "Which reductions of the window the next new segment answers with CWR: losses and timeouts too, or only ECN \
         echoes.", "any_reduction: RFC 3168 section 6.1.2");
    pub ECN_DECREASE: Option<f64> = Key::new("ecn_decrease", Kind::Real { min: 0.1, max: 1.0 }, "none",
        "The share of the window that an ECN echo leaves. Default: what the congestion control says, as a rule as much \
         as a loss leaves.", "RFC 3168 section 6.1.2; 0.8: RFC 8511");
}
