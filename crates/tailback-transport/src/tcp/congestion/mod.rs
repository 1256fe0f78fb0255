//! Congestion control: how much may be outstanding, and how fast it may leave.
//!
//! Loss recovery decides *what* to send and *that* something was lost; a controller decides the window. Every ACK goes
//! in as one [`AckEvent`], after recovery has judged it, every sign of congestion as one [`CongestionEvent`]; window
//! and pacing rate come out. A controller knows nothing of segments and timers, so that another one is one new file
//! here, with its parameters, and one row in [`list`].
//!
//! Windows are real numbers of bytes: growth in congestion avoidance is a fraction of a segment, and the recorded
//! window shows it. The sender rounds down to whole segments by sending only what fits.

pub mod bbr;
pub mod binomial;
pub mod cubic;
mod cubic_linux;
pub mod dctcp;
mod hystart;
pub mod list;
pub mod prague;
pub mod reno;
pub mod round;
pub mod scalable;
#[cfg(test)]
mod testing;
mod train;
pub mod vegas;
mod whole;
mod window;

use crate::limit::Limit;
use std::sync::Arc;
use tailback_base::model::{Alias, Registered};
use tailback_base::{BitRate, Duration, Ecn, Model, Settings, Stream, Time};

/// What loss recovery is doing, as the ACK at hand found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Open,
    /// Fast recovery; also the ACK that ends it, unless the profile lets that one grow the window (`grow_on_exit`).
    Recovery,
    /// Slow start after a timeout, until what was outstanding then is acknowledged.
    Loss,
}

/// An ACK, new or duplicate, after recovery has judged it. Amounts are bytes.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    pub now: Time,
    /// Newly acknowledged by the ACK number; 0 for a duplicate.
    pub acked: u64,
    /// Newly reported by SACK.
    pub sacked: u64,
    /// Newly judged lost.
    pub lost: u64,
    /// Outstanding before this ACK.
    pub flight: u64,
    /// In the network after it, as recovery estimates it (RFC 6675 `pipe`).
    pub pipe: u64,
    /// The round trip this ACK measured.
    pub rtt: Option<Duration>,
    pub srtt: Option<Duration>,
    /// The ACK carries ECE. Under [`EchoRule::EveryAck`] all it acknowledges was marked.
    pub ecn_echo: bool,
    pub phase: Phase,
    /// Whether the window was full before this ACK, so that growth means something (RFC 7661).
    pub window_limited: bool,
    pub limit: Limit,
    /// Lowest unacknowledged after it, and next to send before anything answers it: what a [`Round`](round::Round) goes
    /// by.
    pub una: u64,
    pub nxt: u64,
    /// For controllers that [want rates](CongestionControl::wants_rate).
    pub rate: Option<&'a RateSample>,
}

/// Signs of congestion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Congestion {
    /// A segment was found lost without a timeout: once an episode.
    Loss,
    /// An ECN echo that may be acted on: once a window (RFC 3168 section 6.1.2).
    Ecn,
    /// A router asks for less: once a window, never during recovery. `level` counts from 0; `keep` is the share of the
    /// window that the router's rule leaves.
    Request { level: u32, keep: f64 },
    /// The retransmission timer expired. `again`: for a segment that had timed out before, so that the threshold stays
    /// (RFC 5681 section 3.1).
    Timeout { again: bool },
    /// The SYN was lost, where the profile counts that as a loss at a window of one segment.
    LostSyn,
}

/// A sign of congestion, and when.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionEvent {
    pub now: Time,
    /// Outstanding, without what limited transmit sent (RFC 5681 section 3.2), bytes.
    pub flight: u64,
    pub what: Congestion,
}

/// Why the window is set without a sign of congestion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reset {
    /// One segment: Tahoe's start of every repair, and what the timer gives back after an echo left less.
    OneSegment,
    /// So many bytes more: less for what a partial ACK took beyond the inflation, the inflation itself before an echo
    /// halves both.
    Shift { bytes: f64 },
    /// No more than so many bytes: what a needless or a doubtful timeout leaves.
    AtMost { bytes: f64 },
    /// Fast recovery ended. With `at_most` the window is no more than the threshold and so many bytes (RFC 6582 section
    /// 3.2 step 3, option 1); without, it stays where the reduction put it.
    RecoveryEnd { at_most: Option<f64> },
    /// The connection rested: no more than the initial window (RFC 5681 section 4.1).
    Idle,
    /// It rested so many timeouts: halved for each, not below the initial window, and the threshold is three quarters
    /// of what the window was.
    IdleHalves { times: u32 },
    /// The connection rested, and goes on as if it were new, with the threshold.
    Restart,
    /// The handshake lost a SYN: one segment (RFC 5681 section 3.1), or what the parameters say.
    LostSyn,
}

/// What a control finds that takes over an open connection from another. Windows are bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Handover {
    pub now: Time,
    pub cwnd: f64,
    pub ssthresh: f64,
    /// None before data are acknowledged.
    pub srtt: Option<Duration>,
    /// The least round trip of the connection so far.
    pub least_rtt: Option<Duration>,
    pub phase: Phase,
    /// Next to send: where a [`Round`](round::Round) that begins now ends.
    pub nxt: u64,
    /// Delivered in all, as the next [`RateSample`] counts it, bytes.
    pub delivered: u64,
}

/// How the receiver echoes congestion marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EchoRule {
    /// From a mark until the sender answers with CWR (RFC 3168 section 6.1.3).
    #[default]
    Rfc3168,
    /// Each ACK says whether what it acknowledges was marked; where that changes, an ACK goes out at once (RFC 8257
    /// section 3.2).
    EveryAck,
}

/// One delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation), for model-based controllers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// Delivered over the interval, bytes.
    pub delivered: u64,
    /// Delivered in all, and by this ACK; bytes.
    pub total: u64,
    pub newly: u64,
    /// In the network after this ACK, before what it lets recovery judge lost is taken out; bytes.
    pub in_flight: u64,
    /// Judged lost over the interval, bytes.
    pub lost: u64,
    pub interval: Duration,
    /// Until the pacer lets the next segment go.
    pub until_next: Duration,
    /// Of the segment the sample is from; none if it was sent more than once.
    pub rtt: Option<Duration>,
    pub application_limited: bool,
}

/// A congestion controller of one connection.
pub trait CongestionControl: Send {
    /// An ACK arrived; called once for each, after recovery has judged it and before anything is sent.
    fn on_ack(&mut self, a: &AckEvent<'_>);
    fn on_congestion(&mut self, e: &CongestionEvent);
    /// Sending begins, for the first time or after a rest: nothing was outstanding.
    fn sending_begins(&mut self, _now: Time, _srtt: Option<Duration>) {}
    /// What it leaves to chance, drawn once, when the connection is made.
    fn draw(&mut self, _rng: &mut Stream) {}
    fn window_reset(&mut self, why: Reset);
    /// This control replaces another in an open connection. Window and threshold stay as they are: a slow start in
    /// progress goes on up to the threshold, above it this control's avoidance begins, and what recovery repairs goes
    /// on being repaired at the reduced window. Called once, after [`CongestionControl::draw`] and before any other
    /// event, unless nothing was sent so far. A connection without a round trip has no data acknowledged, and its
    /// window may be what a lost SYN left.
    fn take_over(&mut self, from: &Handover);
    /// The threshold that a control finds which takes over from this one: finite where this one has found the capacity
    /// of the path without a threshold, so that no slow start looks for it again.
    fn ssthresh_left(&self) -> f64 {
        self.ssthresh()
    }
    /// The last reduction was a mistake (RFC 4015): what it took comes back.
    fn undo(&mut self) {}
    /// How marks are to be echoed; the same for the life of the connection. With [`EchoRule::EveryAck`] no echo comes
    /// as a [`Congestion::Ecn`]: the ACKs tell of them.
    fn echo(&self) -> EchoRule {
        EchoRule::Rfc3168
    }
    /// What its segments say of ECN: ECT(0), or ECT(1) for a scalable control (RFC 9331); the same for the life of the
    /// connection.
    fn codepoint(&self) -> Ecn {
        Ecn::Ect0
    }
    /// How often it has reduced the window for marks that came with ACKs.
    fn own_reductions(&self) -> u64 {
        0
    }
    /// Whether delivery-rate samples are worth taking; asked once, when the connection is made.
    fn wants_rate(&self) -> bool {
        false
    }
    /// Whether a reduction of its window may be spread over a round trip (RFC 9937): not where it sets window and rate
    /// by a model of its own.
    fn spreads_reductions(&self) -> bool {
        true
    }
    /// Whether it sends less than it could on purpose, so that delivery rates say nothing of the path.
    fn limits_itself(&self) -> bool {
        false
    }
    /// Congestion window, bytes.
    fn cwnd(&self) -> f64;
    /// Slow-start threshold, bytes; infinite when there is none.
    fn ssthresh(&self) -> f64;
    /// The rate to pace at, of bytes on the wire; `None` sends as the window allows.
    fn pacing(&self) -> Option<BitRate> {
        None
    }
    /// The present value of the i-th probe of the controller's model.
    fn read(&self, _probe: usize) -> f64 {
        f64::NAN
    }
}

tailback_base::choice! {
    /// What a loss halves.
    pub enum Halve {
        /// The bytes outstanding (RFC 5681 equation 4).
        Flight = "flight",
        /// The congestion window up to the cap (ns-2).
        Cwnd = "cwnd",
    }
}

/// When the window grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// On ACKs that arrive while the window holds the sender back (RFC 7661).
    WhenUsed,
    /// On each ACK (ns-2).
    Always,
}

tailback_base::choice! {
    /// How a control is computed that has a form of its own in Linux and in ns-3.
    pub enum ControlForm {
        /// As its standard has it.
        Standard = "standard",
        Linux = "linux",
        Ns3 = "ns3",
    }

    /// What a timeout leaves.
    pub enum AfterTimeout {
        /// One segment, slow start, and everything outstanding is sent again (RFC 5681 section 3.1).
        SlowStart = "slow-start",
        /// Half the window, and only the missing segment is sent again.
        Halve = "halve",
    }
}

/// What the parameters of `tcp` say of the window, for any controller, shared by all flows of a group. Windows are
/// bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowRules {
    /// Payload of a full segment.
    pub segment: f64,
    /// A full segment on the wire, which is what pacing counts.
    pub wire: f64,
    pub initial_window: f64,
    /// Infinite when unlimited.
    pub initial_ssthresh: f64,
    /// Infinite without a cap.
    pub cap: f64,
    /// Segments; 0 counts ACKs.
    pub byte_counting: u32,
    pub growth: Growth,
    pub form: ControlForm,
    pub halve: Halve,
    /// The threshold is rounded down to whole segments.
    pub whole_ssthresh: bool,
    /// What a reduction leaves at least, bytes.
    pub least: f64,
    /// The window after a handshake that lost a SYN, bytes.
    pub after_lost_syn: f64,
    pub after_timeout: AfterTimeout,
    /// What an ECN echo leaves of the window, whatever the controller would.
    pub ecn_decrease: Option<f64>,
}

impl Registered for Controller {
    const FAMILY: &'static str = "congestion";
    const WHAT: &'static str = "congestion control";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// A controller a scenario can name: its declaration, and how one is made from its own parameters.
#[derive(Debug)]
pub struct Controller {
    pub model: &'static Model,
    /// What other programs call it.
    pub also: &'static [Alias],
    pub build: fn(&Settings, &Arc<WindowRules>) -> Box<dyn CongestionControl>,
}
