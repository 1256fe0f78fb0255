//! The congestion window: its start, its bounds, its growth, and what a loss takes from it.

use super::super::choices::{LeastWindow, Pacing, RepeatedTimeout, SynLossWindow, TimeoutWindow};
use super::super::config::IdleForgets;
use super::super::congestion::{AfterTimeout, Halve};
use super::NS2;
use tailback_base::model::{Key, Kind};
use tailback_base::{Duration, Size, params};

params! {
    pub const PARAMS;

    // Growth.
    pub INITIAL_WINDOW: Option<Size> = Key::new("initial_window", Kind::Size, "none",
        "Congestion window at the start. Default: min(10 segments, max(2 segments, 14600 B)).", "RFC 6928 section 2");
    pub INITIAL_SSTHRESH: Size = Key::new("initial_ssthresh", Kind::Size, "unlimited",
        "Slow-start threshold at the start.", "RFC 5681 section 3.1");
    pub START_AT_CAP: bool = Key::new("start_at_cap", Kind::Bool, "false",
        "The slow-start threshold starts at the window cap if that is lower.", NS2);
    pub WINDOW_CAP: Size = Key::new("window_cap", Kind::Size, "unlimited",
        "How much may be outstanding at most, whatever the congestion window says.", NS2);
    pub RWND: Size = Key::new("rwnd", Kind::Size, "unlimited",
        "The window the receiver advertises, constant.", "RFC 9293 section 3.8.6");
    pub BYTE_COUNTING: u32 = Key::new("byte_counting", Kind::Count { min: 0, max: 64 }, "1",
        "Let the window grow by the bytes acknowledged, in slow start by at most this many segments for each ACK; 0 \
         lets it grow by ACKs.",
        "1: RFC 5681 section 3.1; 2: RFC 3465 section 2.2");
    pub GROW_WHEN_UNUSED: bool = Key::new("grow_when_unused", Kind::Bool, "false",
        "Let the window grow on ACKs that arrive while something else than the window holds the sender back.",
        "off: RFC 7661; on: ns-2.35");
    pub MAX_BURST: u32 = Key::new("max_burst", Kind::Count { min: 0, max: 10_000 }, "0",
        "At most this many segments leave in answer to one ACK; 0 is no limit.", "Fall and Floyd 1996");
    pub IDLE_RESTART: bool = Key::new("idle_restart", Kind::Bool, "true",
        "After an idle time longer than the RTO the window falls back to the initial window; the threshold stays.",
        "RFC 5681 section 4.1");
    pub IDLE_AFTER: Option<Duration> = Key::new("idle_after", Kind::Time { min: 0.0, max: 3600.0 }, "none",
        "How long a connection with nothing left to send or acknowledge may rest before `idle_restart` acts. Default: \
         the RTO since the last segment.", "0s: each burst of the multi-queue buffer study starts at one segment");
    pub IDLE_FORGETS: IdleForgets = Key::choice("idle_forgets", "window",
        "What a restart after idle time gives up: the window; the whole state of congestion control with the \
         threshold, as if the connection were new; half the window for each RTO of rest, not below the initial window; \
         or all but one segment of the window, when the retransmission timer expires, which keeps running after the \
         last acknowledgement.",
        "window: RFC 5681 section 4.1; halves: RFC 2861; timer: ns-2.35");

    pub OFFLOAD: Option<u64> = Key::new("offload", Kind::Bytes { min: 1, max: 1 << 20 }, "none",
        "Segmentation offload: new data leave in trains of up to this many bytes of payload, back to back at the rate \
         of the host's line. A train waits until the window has room for it, or for a third of the window. A paced \
         sender spaces trains of a millisecond. Default: each segment leaves by itself.",
        "64KB: Linux, ip-sysctl, tcp_tso_win_divisor and tcp_min_tso_segs");

    pub SMALL_QUEUES: Option<u64> = Key::new("small_queues", Kind::Bytes { min: 1, max: 1 << 30 }, "none",
        "What the connection may have in the queue of its own host, the first port on its way: a millisecond of its \
         rate, at least two segments and at most this. More waits in the sender, and the window does not grow for it. \
         Default: no limit.", "1MB: Linux, ip-sysctl, tcp_limit_output_bytes; E. Dumazet 2012, 2013");
    pub PACING: Pacing = Key::choice("pacing", "control",
        "Which senders are paced: those whose congestion control sets a rate; or all, the others at a window for each \
         round trip, times 2 below half the slow-start threshold and 1.2 above.",
        "window: Linux with `fq`, tcp_pacing_ss_ratio and tcp_pacing_ca_ratio");

    // Reductions.
    pub HALVE: Halve = Key::choice("halve", "flight",
        "What a loss halves: the bytes outstanding, or the congestion window up to the cap.",
        "flight: RFC 5681 equation 4; cwnd: ns-2.35");
    pub WHOLE_SSTHRESH: bool = Key::new("whole_ssthresh", Kind::Bool, "false",
        "Round the slow-start threshold down to whole segments; the window keeps its fraction.", NS2);
    pub LEAST_WINDOW: LeastWindow = Key::choice("least_window", "segment",
        "The least window after a reduction: one segment; or also less, so that nothing leaves before the timer \
         expires.",
        "segment: RFC 3168 section 6.1.2; none: ns-2.35");
    pub TIMEOUT_REACTION: AfterTimeout = Key::choice("timeout_reaction", "slow-start",
        "After a timeout: one segment and slow start, or half the window and only the missing segment again.",
        "RFC 5681 section 3.1; halve: W-DUP of the multi-queue buffer study");
    pub TIMEOUT_WINDOW: TimeoutWindow = Key::choice("timeout_window", "segment",
        "The window after a timeout: one segment; or one segment more than is in the network then, which only RACK \
         estimates.",
        "segment: RFC 5681 section 3.1; pipe: Linux");
    pub REPEATED_TIMEOUT: RepeatedTimeout = Key::choice("repeated_timeout", "keep",
        "What a second timeout of the same segment does to the slow-start threshold: nothing, or it is halved again \
         with the window.", "keep: RFC 5681 section 3.1; lower: ns-2.35");
    pub SYN_LOSS_LOWERS_SSTHRESH: bool = Key::new("syn_loss_lowers_ssthresh", Kind::Bool, "false",
        "A lost SYN counts as a loss at a window of one segment.", NS2);
    pub SYN_LOSS_WINDOW: SynLossWindow = Key::choice("syn_loss_window", "segment",
        "The window after a handshake that lost a SYN: one segment; one segment only if two or more were lost; or the \
         initial window as usual.",
        "segment: RFC 5681 section 3.1; segment_after_two: Linux; initial: two-way agents of ns-2.35");
}
