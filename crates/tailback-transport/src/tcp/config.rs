//! The parameters of a connection, checked and in the units that the endpoints use.
//!
//! One [`Config`] serves every flow of a group: sender and receiver share it behind an [`Arc`], so all parameters
//! together cost a flow only eight bytes. The module `resolve` makes the [`Config`] from the user's settings. Windows
//! are real numbers of bytes, infinite if unlimited.

use super::accurate::padded;
use super::congestion::{CongestionControl, Controller, Marks, WindowRules};
use super::handshake::Agreed;
use super::recovery::Algorithm;
pub use super::recovery::prr::PrrBound;
use super::recovery::sent::Keep;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Settings};

tailback_base::choice! {
    pub enum RtoForm { Rfc6298 = "rfc6298", Linux = "linux", Ticks = "ticks" }

    /// The effect of an idle period on the window.
    pub enum IdleForgets {
        Window = "window",
        All = "all",
        /// The window is halved for each timeout of idle time.
        Halves = "halves",
        /// The window falls to one segment when the retransmission timer expires. The timer continues to run during the
        /// idle period.
        Timer = "timer",
    }

    pub enum OptionBytes {
        Uncounted = "uncounted",
        Tcp = "tcp",
        Sack8 = "sack8",
        SackUnpadded = "sack_unpadded",
    }

    /// The form in which marks are counted and reported: as in the RFC, or as in Linux.
    pub enum AccurateForm { Rfc9768 = "rfc9768", Linux = "linux" }

    pub enum RackForm { Rfc8985 = "rfc8985", Linux = "linux" }

    /// The values that are restored if a repair turns out to be spurious.
    pub enum UndoForm { Off = "off", Full = "full", Rfc4015 = "rfc4015" }

    /// Which reductions of the window are spread over a round trip.
    pub enum PrrUse { Off = "off", Losses = "losses", LossesAndEchoes = "losses_and_echoes" }
}

/// The use of ECN by a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnMode {
    Off,
    On,
    /// Sends ECT and echoes marks, but never reduces its window.
    Ignore,
    /// Sends ECT but does not echo "congestion experienced".
    NoEcho,
}

/// How a connection uses accurate ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccurateEcn {
    pub form: AccurateForm,
    /// Whether the counts of bytes are sent too.
    pub option: bool,
}

/// Why a congestion control and a use of ECN do not fit each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// The congestion control needs marks as its signal, but gets no marks.
    NeedsMarks,
    /// Queues mark packets instead of dropping them, but the congestion control does not slow down.
    IgnoresMarks,
}

/// The rules for detecting losses in addition to duplicates, for the segments that a repair sends, and for undoing a
/// repair.
#[derive(Clone, Copy, Debug)]
pub struct RepairRules {
    /// The records of sent segments that this recovery needs.
    pub keeps: Option<Keep>,
    pub rack_form: RackForm,
    /// Tail loss probes.
    pub tlp: bool,
    pub tlp_ack_delay: Duration,
    /// The values that are restored after a spurious repair.
    pub undo: UndoForm,
    /// Whether timeouts are tested for being spurious.
    pub frto: bool,
    pub prr: PrrUse,
    pub prr_bound: PrrBound,
}

/// The limits of the host of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRules {
    /// The most bytes that a connection may have in the host.
    pub most: Option<u64>,
    /// Whether the host paces senders by their window if the controller sets no rate.
    pub paces: bool,
}

/// The needs of a controller, from its [facts](super::congestion::Facts). They are computed once for all its
/// connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    pub records: bool,
    pub losses: bool,
    pub departures: bool,
}

impl Asked {
    pub fn of(controller: &Controller, own: &Settings, rules: &WindowRules) -> Asked {
        let facts = &controller.facts;
        Asked {
            records: (facts.records)(own, rules),
            losses: (facts.hears_losses)(own, rules),
            departures: (facts.hears_departures)(own, rules),
        }
    }
}

/// The meaning of each field is in [`MODEL`](super::MODEL).
#[derive(Clone, Debug)]
pub struct Config {
    pub recovery: Algorithm,
    pub controller: &'static Controller,
    /// The controller's own parameters.
    pub controller_settings: Settings,
    /// The needs of the controller.
    pub asked: Asked,
    /// The parameters that all controllers share.
    pub window: Arc<WindowRules>,
    /// Bytes.
    pub payload: u32,
    /// Bytes.
    pub header: u32,
    pub option_bytes: OptionBytes,
    /// Bytes, infinite when unlimited.
    pub rwnd: f64,
    /// Segments; `u32::MAX` is no limit.
    pub max_burst: u32,
    /// Segments of a train of segmentation offload.
    pub offload: Option<u32>,
    pub host: HostRules,
    pub idle_restart: bool,
    /// Idle time after which the window restarts; `None`: the RTO.
    pub idle_after: Option<Duration>,
    /// The effect of a restart after an idle period on the window.
    pub idle_forgets: IdleForgets,
    pub syn_loss_lowers_ssthresh: bool,
    /// The number of lost SYNs that reduces the initial window.
    pub syn_losses: u32,
    /// A timeout sets the window to one segment more than is in the network, instead of to one segment.
    pub timeout_keeps_pipe: bool,
    /// Duplicates inflate the window variable itself.
    pub inflates_window: bool,
    /// The backoff of a lost SYN lasts until a round trip of data is measured.
    pub syn_backoff_lasts: bool,
    /// Whether a second timeout of the same segment lowers the threshold again.
    pub repeated_timeout_lowers: bool,
    pub dupack_threshold: u32,
    pub limited_transmit: bool,
    pub limited_transmit_per_duplicate: bool,
    pub careful: bool,
    pub first_segment_exempt: bool,
    /// Tahoe: a timeout does not reset the count of duplicates.
    pub timeout_keeps_duplicates: bool,
    /// NewReno: the excess of a partial ACK is subtracted from the window itself.
    pub excess_from_window: bool,
    pub impatient: bool,
    pub exit_to_flight: bool,
    pub grow_on_exit: bool,
    /// Segments; `u32::MAX` is no limit.
    pub recovery_burst: u32,
    /// The receiver reports the data that it holds out of order.
    pub sack: bool,
    pub sack_blocks: u32,
    pub repair: RepairRules,
    pub dsack: bool,
    pub min_rto: Duration,
    pub initial_rto: Duration,
    pub max_rto: Duration,
    pub clock_granularity: Duration,
    /// `None`: each sender has a random phase.
    pub clock_phase: Option<Duration>,
    pub rto_form: RtoForm,
    /// Any ACK of new data ends the backoff.
    pub ack_ends_backoff: bool,
    pub timestamps: bool,
    pub delayed_ack: u32,
    pub delayed_ack_timeout: Duration,
    /// The number of segments that are acknowledged one by one at the start.
    pub quick_acks: u32,
    /// When an ACK is due depends on the bytes it covers, not on the number of segments.
    pub delayed_ack_by_bytes: bool,
    /// The timer of delayed ACKs expires at multiples of its time.
    pub delayed_ack_on_grid: bool,
    /// The receiver delays ACKs as in ns-2's sink, not as in RFC 5681.
    pub ack_as_sink: bool,
    pub ecn: EcnMode,
    /// The ends request accurate ECN and agree to it. `option` says whether the option is sent too.
    pub accurate: Option<AccurateEcn>,
    /// The number of SYNs, from the first on, that request ECN; 0: all SYNs.
    pub ecn_syns: u32,
    /// Signs of congestion are grouped by the last cut, not by the window.
    pub echo_by_last_cut: bool,
    /// SYN, SYN-ACK and RST are ECN-capable.
    pub ect_on_handshake: bool,
    /// Pure ACKs, and a FIN without data, are ECN-capable.
    pub ect_on_acks: bool,
    pub ect_on_retransmissions: bool,
    pub cwr_on_retransmissions: bool,
    /// Whether new data of connections without ECN also have CWR.
    pub cwr_without_ecn: bool,
    /// CWR follows any reduction, not only a reduction for an echo.
    pub cwr_after_any_reduction: bool,
    /// Both ends send and receive.
    pub two_way: bool,
    /// A short segment waits while anything is outstanding.
    pub nagle: bool,
    /// A segment that Nagle's rule holds back leaves together with an ACK that is due.
    pub nagle_rides: bool,
    /// Every ACK travels with data if possible.
    pub acks_always_ride: bool,
    /// A FIN is a separate segment, sent when all data is acknowledged.
    pub fin_apart: bool,
    /// The maximum segment lifetime, which is half of TIME-WAIT.
    pub msl: Duration,
    pub syn: bool,
    /// 0: never give up.
    pub syn_retries: u32,
}

impl Config {
    /// A new controller.
    pub fn build_controller(&self) -> Box<dyn CongestionControl> {
        (self.controller.build)(&self.controller_settings, &self.window)
    }

    /// The most options that a connection requests and agrees to.
    pub(super) fn able(&self) -> Agreed {
        match (self.ecn, self.accurate) {
            (EcnMode::Off, _) => Agreed::Nothing,
            (_, Some(_)) => Agreed::Accurate,
            (_, None) => Agreed::Classic,
        }
    }

    /// Accurate ECN is agreed on, and pure ACKs and retransmissions are ECN-capable as in Linux.
    pub(super) fn capable_by_counts(&self, agreed: Agreed) -> bool {
        agreed == Agreed::Accurate && self.accurate.is_some_and(|a| a.form == AccurateForm::Linux)
    }

    /// The records of sent segments that recovery, the controller or accurate ECN need.
    pub(super) fn kept(&self) -> Option<Keep> {
        let counts = self.ecn != EcnMode::Off && self.accurate.is_some();
        let recorded = self.asked.records || self.asked.losses || counts;
        self.repair.keeps.or(recorded.then_some(Keep::Records))
    }

    /// Whether a sender keeps a record of each outstanding segment.
    pub fn keeps_records(&self) -> bool {
        self.kept().is_some()
    }

    /// Why the congestion control and the use of ECN do not fit each other; `None` if they do.
    pub fn misfit(&self) -> Option<Misfit> {
        match (self.controller.facts.marks, self.ecn) {
            (Marks::Needs, EcnMode::Off) => Some(Misfit::NeedsMarks),
            (Marks::Ignores, EcnMode::On | EcnMode::NoEcho) => Some(Misfit::IgnoresMarks),
            _ => None,
        }
    }

    /// The codepoint of a packet, which is ECN-capable if `capable` is true.
    pub fn codepoint_if(&self, capable: bool) -> Ecn {
        if capable {
            self.controller.facts.codepoint
        } else {
            Ecn::NotEct
        }
    }

    /// Payload of a full segment as a real number of bytes.
    #[inline]
    pub fn segment(&self) -> f64 {
        f64::from(self.payload)
    }

    /// Size on the wire of a segment with this payload and these options.
    #[inline]
    pub fn wire(&self, payload: u32, sack_blocks: usize, timestamps: bool) -> u32 {
        let blocks = sack_blocks as u32;
        let options = match self.option_bytes {
            OptionBytes::Uncounted => 0,
            OptionBytes::Sack8 => 8 * blocks,
            OptionBytes::SackUnpadded => (if blocks > 0 { 2 } else { 0 }) + 8 * blocks,
            // Timestamps 10 B, SACK 2 + 8n B, each padded with two NOPs to whole words (RFC 7323 appendix A, RFC 2018).
            OptionBytes::Tcp => (if timestamps { 12 } else { 0 }) + if blocks > 0 { 4 + 8 * blocks } else { 0 },
        };
        payload + self.header + options
    }

    /// The bytes of accurate ECN's option on the wire, in a segment with this number of SACK blocks.
    pub fn wire_counts(&self, fields: u8, sack_blocks: usize) -> u32 {
        match self.option_bytes {
            OptionBytes::Uncounted => 0,
            _ => padded(fields, sack_blocks),
        }
    }

    /// Whether `pipe` is counted as in ns-2's two-way agents.
    pub fn eager_pipe(&self) -> bool {
        self.recovery == Algorithm::EagerPipe
    }

    /// The size on the wire of this payload, sent as full segments and one last segment.
    pub fn wire_bytes(&self, payload: u64) -> u64 {
        let (full, last_bytes) = (payload / u64::from(self.payload), payload % u64::from(self.payload));
        let segment = |bytes: u32| u64::from(self.wire(bytes, 0, self.timestamps));
        full * segment(self.payload) + if last_bytes > 0 { segment(last_bytes as u32) } else { 0 }
    }
}
