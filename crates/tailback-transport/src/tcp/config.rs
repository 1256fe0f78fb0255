//! The parameters of a connection, checked and in the units the endpoints use.
//!
//! One [`Config`] serves every flow of a group: sender and receiver share it behind an [`Arc`], so that
//! a flow pays eight bytes for all parameters. It is made from what a user gave in `resolve`.
//! Windows are in bytes as real numbers, infinite when unlimited.

use super::congestion::{CongestionControl, Controller, WindowRules};
use super::recovery::Algorithm;
pub use super::recovery::prr::PrrBound;
use super::recovery::sent::Keep;
use std::sync::Arc;
use tailback_base::{Duration, Settings};

tailback_base::choice! {
    pub enum RtoForm { Rfc6298 = "rfc6298", Linux = "linux", Ticks = "ticks" }

    /// What a rest costs.
    pub enum IdleForgets {
        Window = "window",
        All = "all",
        /// Half the window for each timeout of rest.
        Halves = "halves",
        /// All but a segment of the window, when the retransmission timer expires, which goes on at rest.
        Timer = "timer",
    }

    pub enum OptionBytes {
        Uncounted = "uncounted",
        Tcp = "tcp",
        Sack8 = "sack8",
        SackUnpadded = "sack_unpadded",
    }

    pub enum EcnMode {
        Off = "off",
        On = "on",
        /// Sends ECT and echoes, never reduces.
        Ignore = "ignore",
        /// Sends ECT and hides congestion experienced.
        NoEcho = "no_echo",
    }

    pub enum RackForm { Rfc8985 = "rfc8985", Linux = "linux" }

    /// What a repair that proves needless gives back.
    pub enum UndoForm { Off = "off", Full = "full", Rfc4015 = "rfc4015" }

    /// Which reductions of the window are spread over a round trip.
    pub enum PrrUse { Off = "off", Losses = "losses", LossesAndEchoes = "losses_and_echoes" }
}

/// What tells of losses beside duplicates, and what a repair sends and gives back.
#[derive(Clone, Copy, Debug)]
pub struct RepairRules {
    /// The records of what was sent that this needs.
    pub keeps: Option<Keep>,
    pub rack_form: RackForm,
    /// Tail loss probes.
    pub tlp: bool,
    pub tlp_ack_delay: Duration,
    /// What a needless repair gives back.
    pub undo: UndoForm,
    /// Timeouts are tested.
    pub frto: bool,
    pub prr: PrrUse,
    pub prr_bound: PrrBound,
}

/// See [`MODEL`](super::MODEL) for what each field means.
#[derive(Clone, Debug)]
pub struct Config {
    pub recovery: Algorithm,
    pub controller: &'static Controller,
    /// The controller's own parameters.
    pub controller_settings: Settings,
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
    pub idle_restart: bool,
    /// Rest after which the window restarts, instead of the RTO.
    pub idle_after: Option<Duration>,
    /// What such a restart gives up.
    pub idle_forgets: IdleForgets,
    pub syn_loss_lowers_ssthresh: bool,
    /// So many lost SYNs cost the initial window.
    pub syn_losses: u32,
    /// A timeout leaves a segment more than is in the network, not one alone.
    pub timeout_keeps_pipe: bool,
    /// Duplicates inflate the window itself.
    pub inflates_window: bool,
    /// The backoff of a lost SYN lasts until a round trip of data is measured.
    pub syn_backoff_lasts: bool,
    /// A second timeout of the same segment lowers the threshold again.
    pub repeated_timeout_lowers: bool,
    pub dupack_threshold: u32,
    pub limited_transmit: bool,
    pub limited_transmit_per_duplicate: bool,
    pub careful: bool,
    pub first_segment_exempt: bool,
    /// Tahoe: a timeout keeps the duplicates counted so far.
    pub timeout_keeps_duplicates: bool,
    /// NewReno: a partial ACK's excess comes out of the window itself.
    pub excess_from_window: bool,
    pub impatient: bool,
    pub exit_to_flight: bool,
    pub grow_on_exit: bool,
    /// Segments; `u32::MAX` is no limit.
    pub recovery_burst: u32,
    /// The receiver reports what it holds out of order.
    pub sack: bool,
    pub sack_blocks: u32,
    pub repair: RepairRules,
    pub dsack: bool,
    pub min_rto: Duration,
    pub initial_rto: Duration,
    pub max_rto: Duration,
    pub clock_granularity: Duration,
    /// `None`: each sender has its own.
    pub clock_phase: Option<Duration>,
    pub rto_form: RtoForm,
    /// Any ACK of new data ends the backoff.
    pub ack_ends_backoff: bool,
    pub timestamps: bool,
    pub delayed_ack: u32,
    pub delayed_ack_timeout: Duration,
    /// So many segments are acknowledged one by one first.
    pub quick_acks: u32,
    /// An ACK is due by the bytes it covers, not by the segments.
    pub delayed_ack_by_bytes: bool,
    /// The timer of delayed ACKs ticks at multiples of its time.
    pub delayed_ack_on_grid: bool,
    /// As ns-2's sink delays, not as RFC 5681.
    pub ack_as_sink: bool,
    pub ecn: EcnMode,
    /// So many SYNs ask for it; 0: all.
    pub ecn_syns: u32,
    /// Signs of congestion belong together by the last cut, not by the window.
    pub echo_by_last_cut: bool,
    pub ect_on_retransmissions: bool,
    pub cwr_on_retransmissions: bool,
    /// On new data of connections without ECN too.
    pub cwr_without_ecn: bool,
    /// Not only after an echo.
    pub cwr_after_any_reduction: bool,
    /// Both ends send and receive.
    pub two_way: bool,
    /// A short segment waits while anything is outstanding.
    pub nagle: bool,
    /// It leaves with an ACK that is due.
    pub nagle_rides: bool,
    /// Every ACK rides on data if it can.
    pub acks_always_ride: bool,
    /// A FIN is a segment of its own, behind data that are acknowledged.
    pub fin_apart: bool,
    /// Maximum segment lifetime: half of TIME-WAIT.
    pub msl: Duration,
    pub syn: bool,
    /// 0 never gives up.
    pub syn_retries: u32,
}

impl Config {
    /// A new controller.
    pub fn build_controller(&self) -> Box<dyn CongestionControl> {
        (self.controller.build)(&self.controller_settings, &self.window)
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

    /// The pipe counter of two-way agents.
    pub fn eager_pipe(&self) -> bool {
        self.recovery == Algorithm::EagerPipe
    }

    /// Size on the wire of so much payload in full segments and a last one.
    pub fn wire_bytes(&self, payload: u64) -> u64 {
        let (full, rest) = (payload / u64::from(self.payload), payload % u64::from(self.payload));
        let segment = |bytes: u32| u64::from(self.wire(bytes, 0, self.timestamps));
        full * segment(self.payload) + if rest > 0 { segment(rest as u32) } else { 0 }
    }
}
