//! Profiles: named sets of parameter values, as data.
//!
//! TCP leaves many choices open, such as the initial window, the amount that is halved, and the granularity of the
//! clock. Each study and each simulator made these choices in its own way. A profile is such a set of choices, stored
//! as names of parameters with the text that a user would write. A study has its own profiles in its folder, and no
//! code here depends on these profiles. A user's values override those of the profile, and the values of the profile
//! override the declared defaults.
//!
//! A profile may extend another profile, which its value for `profile` names. Without this value it starts from the
//! declared defaults, which are those of `rfc`.

use tailback_base::model::Profile;

/// The profiles that are always available.
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
            ("ecn", "where_needed"),
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
            ("idle_forgets", "timer"),
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
            ("idle_forgets", "window"),
            ("backoff_ends", "ack"),
            ("partial_ack_timer", "slow_but_steady"),
            ("inflation", "window"),
            ("syn_loss_window", "initial"),
            ("option_bytes", "sack_unpadded"),
            ("delayed_ack_count", "bytes"),
            ("delayed_ack_clock", "grid"),
            ("ack_rule", "rfc5681"),
            ("nagle", "true"),
            ("nagle_rides", "true"),
            ("sack_form", "pipe-eager"),
            ("acks_ride", "always"),
            ("fin", "apart"),
        ],
    },
    Profile {
        name: "ns2-2000-timers",
        doc: "the timers of ns-2 from November 2000 to April 2001, before `minrto_` came: a clock of 0.1 s, a timeout \
              of two ticks at least, 6 s before the first sample; lacks `maxrto_` 100000, since a timeout here ends at \
              an hour, and a timer that is armed before the round trip is measured",
        values: &[
            ("clock_granularity", "100ms"),
            ("rto_form", "ticks"),
            ("min_rto", "200ms"),
            ("initial_rto", "6s"),
            ("max_rto", "3600s"),
        ],
    },
    Profile {
        name: "ns2-2000",
        doc: "the one-way agents of ns-2 in November 2000: its timers (`ns2-2000-timers`), no limited transmit \
              (`singledup_` 0), every partial ACK restarts the timer (`newreno_changes1_` 0); lacks \
              `partial_window_deflation_` 0 and `precisionReduce_` 0, which leave the inflation at a partial ACK and \
              the whole part of half the window at a cut; exchanges SYNs, which `syn_` false left out",
        values: &[
            ("profile", "ns2"),
            ("clock_granularity", "100ms"),
            ("rto_form", "ticks"),
            ("min_rto", "200ms"),
            ("initial_rto", "6s"),
            ("max_rto", "3600s"),
            ("limited_transmit", "false"),
            ("partial_ack_timer", "slow_but_steady"),
        ],
    },
    Profile {
        name: "ns3",
        doc: "the sockets of ns-3.37 with SACK and proportional rate reduction: the ACK that ends a recovery grows \
              the window by all it acknowledges, two or three segments",
        values: &[
            ("congestion_form", "ns3"),
            ("halve", "cwnd"),
            ("grow_on_exit", "true"),
            ("grow_when_unused", "true"),
            ("prr", "losses_and_echoes"),
            ("min_rto", "200ms"),
            ("initial_rto", "3s"),
            ("delayed_ack", "1"),
            ("ecn", "where_needed"),
        ],
    },
    Profile {
        name: "linux",
        doc: "a host with Linux 6 as it comes: CUBIC, RACK-TLP, spurious repairs taken back, time stamps, whole \
              segments",
        values: &[
            ("congestion", "cubic"),
            ("congestion_form", "linux"),
            ("payload", "1448B"),
            ("option_bytes", "tcp"),
            ("initial_window", "10 packets"),
            ("halve", "cwnd"),
            ("loss", "rack"),
            ("rack_form", "linux"),
            ("prr", "losses_and_echoes"),
            ("dsack", "true"),
            ("undo", "full"),
            ("frto", "true"),
            ("rto_form", "linux"),
            ("min_rto", "200ms"),
            ("max_rto", "120s"),
            ("timeout_window", "pipe"),
            ("syn_loss_window", "segment_after_two"),
            ("idle_forgets", "halves"),
            ("delayed_ack_timeout", "40ms"),
            ("quick_acks", "16"),
            ("ecn", "where_needed"),
            ("ect_on_control", "all_where_needed"),
        ],
    },
    Profile {
        name: "linux-2026",
        doc: "a host with Linux as it comes since February 2026: as `linux`, but connections ask for accurate ECN in \
              both directions (`tcp_ecn` 3), its option included",
        values: &[
            ("profile", "linux"),
            ("ecn", "where_answered"),
            ("accurate_ecn", "option"),
            ("accurate_ecn_form", "linux"),
            ("ecn_syns", "2"),
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
            ("ecn", "where_needed"),
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
