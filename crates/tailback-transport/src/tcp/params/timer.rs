//! The retransmission timer and the clock that measures round trips.

use super::super::choices::{BackoffEnds, SynBackoff};
use super::super::config::RtoForm;
use super::TIME;
use tailback_base::model::{Key, Kind};
use tailback_base::{Duration, params};

params! {
    pub const PARAMS;

    pub MIN_RTO: Duration = Key::new("min_rto", TIME, "1s", "The least retransmission timeout.", "RFC 6298 rule 2.4");
    pub INITIAL_RTO: Duration = Key::new("initial_rto", TIME, "1s",
        "The retransmission timeout before the first sample.", "RFC 6298 rule 2.1");
    pub MAX_RTO: Duration = Key::new("max_rto", TIME, "60s",
        "The largest retransmission timeout.",
        "RFC 6298 rule 2.5");
    pub SYN_BACKOFF: SynBackoff = Key::choice("syn_backoff", "clear",
        "Whether the backoff of a lost SYN ends with the handshake or lasts until a round trip of data is measured.",
        "clear: RFC 6298 rule 5.7; keep: ns-2.35");
    pub BACKOFF_ENDS: BackoffEnds = Key::choice("backoff_ends", "sample",
        "What ends the backoff of the timeout: a round trip of data that were sent once, or any acknowledgement of new \
         data.", "sample: RFC 6298 section 5; ack: two-way agents of ns-2.35");
    pub CLOCK_GRANULARITY: Duration = Key::new("clock_granularity", TIME, "1ms",
        "Granularity G of the clock that measures round trips.", "RFC 6298 section 4");
    pub RTO_FORM: RtoForm = Key::choice("rto_form", "rfc6298",
        "How the retransmission timeout is computed: in real arithmetic with G as a floor of the variance term; with \
         the greatest deviation of a round trip instead, never below `min_rto`; or in whole ticks of the clock in \
         fixed point.",
        "RFC 6298 section 2; linux: Linux, P. Sarolahti, A. Kuznetsov, USENIX 2002; ticks: BSD, ns-2.35");
    pub CLOCK_PHASE: Option<Duration> = Key::new("clock_phase", Kind::Time { min: 0.0, max: 3600.0 }, "none",
        "For `rto_form` in ticks: how long before time 0 the clock ticked last. Default: each sender draws its own, \
         uniform in a tick.", "boot_time_ of ns-2.35");
    pub TIMESTAMPS: bool = Key::new("timestamps", Kind::Bool, "true",
        "Whether every ACK gives a round-trip sample, also that of a retransmission.", "RFC 7323");
}
