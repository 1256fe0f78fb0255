//! The declaration of the model `tcp`: every parameter once, and the probes.
//!
//! The defaults are those of the profile `rfc`. Schema, `tailback describe tcp`, the reference page and the error
//! messages are made from this table; [`Config`](super::Config) holds the values in the units the endpoints use.

use super::choices::*;
use super::config::{AccurateForm, IdleForgets, OptionBytes, PrrBound, PrrUse, RackForm, RtoForm, UndoForm};
use super::congestion::{AfterTimeout, ControlForm, Halve};
use super::probes::PROBES;
use super::profiles::BUILT_IN;
use crate::segment::MOST_HEADER;
use tailback_base::model::{Key, Kind, Model, Param};
use tailback_base::{Duration, Size, params};

const TIME: Kind = Kind::Time { min: 1e-6, max: 3600.0 };
const NS2: &str = "ns-2.35";

pub static MODEL: Model = Model {
    name: "tcp",
    family: "transport",
    title: "Transmission Control Protocol",
    summary: "A TCP connection: loss recovery, congestion control, acknowledgements. One way by default: a sender and \
              a \
              receiver, a SYN exchange unless it is switched off, no FIN; or two ways, with the states of RFC 9293. \
              Sequence numbers count bytes and never wrap.",
    source: "RFC 9293, 5681, 6582, 6675, 6298, 3168",
    params: PARAMS,
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

    // Sizes.
    pub PAYLOAD: u32 = Key::new("payload", Kind::Bytes { min: 1, max: 65_000 }, "1460B",
        "Payload of a full segment.", "RFC 9293 section 3.7.1");
    pub HEADER: u32 = Key::new("header", Kind::Bytes { min: 0, max: MOST_HEADER as u64 }, "40B",
        "How many bytes a segment has on the wire beside its payload; also the size of a SYN and of a pure \
         acknowledgement.",
        "RFC 9293 section 3.1, RFC 791");
    pub OPTION_BYTES: OptionBytes = Key::choice("option_bytes", "uncounted",
        "Whether options lengthen a segment on the wire: never, as the RFCs lay them out, by 8 B per SACK block, or by \
         2 B and 8 B per block.", "RFC 2018 section 3, RFC 7323 section 3; sack8, sack_unpadded: ns-2.35");

    // The window.
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

    // Recovery.
    pub DUPACK_THRESHOLD: u32 = Key::new("dupack_threshold", Kind::Count { min: 1, max: 1000 }, "3",
        "Duplicate ACKs that declare a segment lost.", "RFC 5681 section 3.2");
    pub LIMITED_TRANSMIT: bool = Key::new("limited_transmit", Kind::Bool, "true",
        "Whether each duplicate ACK before `dupack_threshold` releases one new segment.", "RFC 3042");
    pub LIMITED_TRANSMIT_FORM: LimitedTransmitForm = Key::choice("limited_transmit_form", "rfc3042",
        "How far limited transmit may exceed the window: by two segments; or by one for each duplicate so far. In the \
         second form duplicates also count while nothing is outstanding, so that a window below one segment need not \
         wait for the timer.",
        "RFC 3042 section 2; per_duplicate: ns-2.35");
    pub CAREFUL: bool = Key::new("careful", Kind::Bool, "false",
        "Reno: no second fast retransmit before all that was sent at the first is acknowledged.", "bugFix_ of ns-2.35");
    pub FIRST_SEGMENT_EXEMPT: bool = Key::new("first_segment_exempt", Kind::Bool, "false",
        "The first data segment may be retransmitted fast although an earlier episode covers it.",
        "bugfix_ss_ of ns-2.35");
    pub TIMEOUT_DUPLICATES: TimeoutDuplicates = Key::choice("timeout_duplicates", "forget",
        "Tahoe: whether a timeout forgets the duplicate ACKs counted so far.", "keep: ns-2.35");
    pub PARTIAL_ACK_EXCESS: PartialAckExcess = Key::choice("partial_ack_excess", "inflation",
        "NewReno: what a partial ACK is taken from where it covers more than the duplicates before it: the inflation, \
         which may then be negative until recovery ends, or the congestion window itself.",
        "inflation: RFC 6582 section 3.2 step 3; window: ns-2.35");
    pub INFLATION: Inflation = Key::choice("inflation", "apart",
        "Where duplicates count in Reno and NewReno (SACK inflates nothing): apart from the window until recovery \
         ends, or in the window itself. In the second form duplicates beyond the third open the window after a timeout \
         too, a timeout halves the window with them, a partial ACK leaves the threshold, and only the repair answers \
         the third duplicate.",
        "apart: RFC 5681 section 3.2, RFC 6582; window: 4.4BSD, two-way agents of ns-2.35");
    pub PARTIAL_ACK_TIMER: PartialAckTimer = Key::choice("partial_ack_timer", "impatient",
        "NewReno: whether only the first or every partial ACK restarts the retransmission timer.",
        "RFC 6582 section 4");
    pub EXIT_WINDOW: ExitWindow = Key::choice("exit_window", "ssthresh",
        "NewReno: the window after recovery: ssthresh or min(ssthresh, flight + one segment).",
        "RFC 6582 section 3.2 step 3");
    pub GROW_ON_EXIT: bool = Key::new("grow_on_exit", Kind::Bool, "false",
        "The ACK that ends fast recovery of Reno and NewReno also grows the window.", NS2);
    pub RECOVERY_BURST: u32 = Key::new("recovery_burst", Kind::Count { min: 0, max: 10_000 }, "0",
        "NewReno: at most this many segments in answer to one ACK during recovery; 0 is no limit.", "2: ns-2.35");
    pub SACK_FORM: SackForm = Key::choice("sack_form", "rfc6675",
        "How the SACK sender estimates what is in the network: from its scoreboard, or with a counter. With \
         `pipe-eager` more than the first repair may answer the third duplicate, the ACK that ends recovery grows the \
         window, and the next recovery needs an ACK beyond the end of the last.",
        "RFC 6675; pipe: Fall and Floyd 1996, ns-2.35; pipe-eager: its two-way agents");
    pub SACK_BLOCKS: u32 = Key::new("sack_blocks", Kind::Count { min: 1, max: 4 }, "4",
        "The largest number of SACK blocks in an ACK; one less with timestamps.", "RFC 2018 section 3");
    pub LOSS: LossSign = Key::choice("loss", "dupthresh",
        "What tells a SACK sender of a loss: reports of enough later segments, or of one that was sent so much later. \
         Variants without SACK count duplicates either way.", "dupthresh: RFC 6675; rack: RFC 8985");
    pub RACK_FORM: RackForm = Key::choice("rack_form", "rfc8985",
        "With rack: as in the RFC or as in Linux, where timers wait 2 ms longer, a timeout takes segments that are a \
         round trip old as lost, and a D-SACK widens the reordering window only after reordering was seen.",
        "RFC 8985 section 6");
    pub TLP: bool = Key::new("tlp", Kind::Bool, "true",
        "With rack: after two round trips of silence the last segment, or a new one, is sent as a probe.",
        "RFC 8985 section 7");
    pub TLP_ACK_DELAY: Duration = Key::new("tlp_ack_delay", TIME, "200ms",
        "With rack: how much longer the probe waits if one segment is outstanding, whose ACK may be delayed.",
        "RFC 8985 section 7.2");
    pub PRR: PrrUse = Key::choice("prr", "off",
        "Proportional rate reduction: what fast recovery sends is spread over the round trip of the reduction; also \
         what an ECN echo leaves. With `halve = \"cwnd\"` it starts from the window, otherwise from what is in the \
         network.", "RFC 9937");
    pub PRR_BOUND: PrrBound = Key::choice("prr_bound", "auto",
        "How fast proportional rate reduction fills the window again where losses left less than the threshold: by \
         what is delivered (crb), by a segment more (ssrb), or by a segment more where no further loss is seen. With \
         rate_halving it does not fill the window: every second delivered segment releases one, and at the end the \
         window is what is outstanding.",
        "auto: RFC 9937 section 6.2; crb, ssrb: RFC 6937 section 3; rate_halving: draft-mathis-tcp-ratehalving-00");
    pub DSACK: bool = Key::new("dsack", Kind::Bool, "false",
        "The receiver reports duplicate segments in the first SACK block.", "RFC 2883");
    pub UNDO: UndoForm = Key::choice("undo", "off",
        "What a repair that proves spurious gives back: nothing; window and threshold; or the threshold and a window \
         of what is outstanding. Time stamps, D-SACK (with `dsack`) and `frto` are the proofs.",
        "RFC 3522, RFC 3708; full: RFC 9438 section 4.9; rfc4015: RFC 4015");
    pub FRTO: bool = Key::new("frto", Kind::Bool, "false",
        "A timeout first sends one segment again and two new ones, to see whether it was spurious.", "RFC 5682");

    // Timer.
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

    // Receiver.
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

    // ECN.
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

    // Connection.
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
