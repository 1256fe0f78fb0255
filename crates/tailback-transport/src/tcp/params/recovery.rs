//! How a lost segment is detected and repaired.

use super::super::choices::{
    ExitWindow, Inflation, LimitedTransmitForm, LossSign, PartialAckExcess, PartialAckTimer, SackForm,
    TimeoutDuplicates,
};
use super::super::config::{PrrBound, PrrUse, RackForm, UndoForm};
use super::{NS2, TIME};
use tailback_base::model::{Key, Kind};
use tailback_base::{Duration, params};

params! {
    pub const PARAMS;

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
}
