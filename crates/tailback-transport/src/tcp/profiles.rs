//! Profiles: named sets of parameter values, as data.
//!
//! TCP is not one protocol but a family of choices: what starts the window, what is halved, how coarse the clock is.
//! Each study and each simulator made these choices in its own way. A profile writes such a set down once, as names of
//! parameters and the text a user would write. A study brings its own in its folder; nothing here has to know it.
//! Values that a user gives win over the profile's, the profile's over the declared defaults.
//!
//! A profile may build on another: its value for `profile` names the one to start from. Without it, it starts from the
//! declared defaults, which are those of `rfc`.

use tailback_base::model::Profile;

/// The profiles every installation knows.
pub const BUILT_IN: &[Profile] = &[
    Profile {
        name: "rfc",
        doc: "today's standards: SACK, initial window 10, delayed acknowledgements, ECN, timestamps",
        values: &[],
    },
    Profile {
        name: "ns2",
        doc: "the agents of ns-2.35, to the tick of their clock; choose the agent with `variant`",
        values: &[
            ("variant", "newreno"),
            ("payload", "500B"),
            ("initial_window", "2 packets"),
            ("window_cap", "20 packets"),
            ("byte_counting", "0"),
            ("start_at_cap", "true"),
            ("min_rto", "200ms"),
            ("initial_rto", "3s"),
            ("clock_granularity", "10ms"),
            ("rto_form", "ticks"),
            ("delayed_ack", "1"),
            ("delayed_ack_timeout", "100ms"),
            ("ack_rule", "sink"),
            ("ecn", "off"),
            ("ect_on_retransmissions", "true"),
            ("cwr_on_retransmissions", "true"),
            ("halve", "cwnd"),
            ("whole_ssthresh", "true"),
            ("least_window", "none"),
            ("repeated_timeout", "lower"),
            ("grow_when_unused", "true"),
            ("careful", "true"),
            ("grow_on_exit", "true"),
            ("recovery_burst", "2"),
            ("first_segment_exempt", "true"),
            ("timeout_duplicates", "keep"),
            ("partial_ack_excess", "window"),
            ("syn_backoff", "keep"),
            ("echo_rule", "last_cut"),
            ("sack_form", "pipe"),
            ("sack_blocks", "3"),
            ("option_bytes", "sack8"),
            ("syn_loss_lowers_ssthresh", "true"),
            ("syn_retries", "0"),
            ("limited_transmit_form", "per_duplicate"),
            ("timestamps", "false"),
        ],
    },
    Profile {
        name: "ns2-full",
        doc: "the two-way agents with SACK of ns-2.35: connections that open and close, data both ways",
        values: &[
            ("profile", "ns2"),
            ("connection", "two-way"),
            ("variant", "sack"),
            ("payload", "536B"),
            ("limited_transmit", "false"),
            ("syn_loss_window", "initial"),
            ("option_bytes", "sack_unpadded"),
            ("delayed_ack_count", "bytes"),
            ("delayed_ack_clock", "grid"),
            ("ack_rule", "rfc5681"),
            ("nagle", "true"),
            ("nagle_rides", "true"),
            ("acks_ride", "always"),
            ("fin", "apart"),
        ],
    },
    Profile {
        name: "jiang-2006",
        doc: "the trials of the AAQM thesis: NewReno, 500 B on the wire, window cap 64, minimum RTO 0.2 s",
        values: &[
            ("variant", "newreno"),
            ("payload", "460B"),
            ("initial_window", "2 packets"),
            ("window_cap", "64 packets"),
            ("byte_counting", "0"),
            ("min_rto", "200ms"),
            ("delayed_ack", "1"),
            ("timestamps", "false"),
        ],
    },
    Profile {
        name: "kantawala-2005",
        doc: "the multi-queue buffer study: Reno without SACK, window 1 at the start, the window itself is halved",
        values: &[
            ("variant", "reno"),
            ("initial_window", "1 packets"),
            ("min_rto", "200ms"),
            ("clock_granularity", "100ms"),
            ("delayed_ack", "1"),
            ("ecn", "off"),
            ("halve", "cwnd"),
            ("careful", "true"),
            ("limited_transmit", "false"),
            ("byte_counting", "0"),
            ("grow_when_unused", "true"),
            ("idle_after", "0s"),
            ("timestamps", "false"),
            ("syn", "false"),
        ],
    },
];
