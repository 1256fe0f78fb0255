//! Congestion control: how much may be outstanding, and how fast data may leave.
//!
//! Loss recovery decides *what* to send and *that* something was lost. A controller decides the window. It gets one
//! [`AckEvent`] for every ACK, after recovery has judged the ACK, and one [`CongestionEvent`] for every sign of
//! congestion. A controller that requires this in its [`Facts`] also gets delivery rates, each lost segment, and each
//! segment that leaves. The outputs of a controller are the window, the pacing rate and the size of a train. A
//! controller has nothing to do with timers. A new controller therefore needs only one new file here, with its
//! parameters, and one entry in [`list`].
//!
//! Windows are real numbers of bytes, because growth in congestion avoidance is a fraction of a segment. The recorded
//! window shows this fraction. The sender rounds the window down to whole segments by sending only segments that fit.

pub mod bbr;
pub mod bbr3;
pub mod binomial;
pub mod copa;
pub mod cubic;
mod cubic_linux;
pub mod dctcp;
pub mod facts;
mod greatest;
mod hystart;
pub mod ledbat_plus_plus;
pub mod list;
pub mod prague;
pub mod reno;
pub mod round;
pub mod scalable;
mod search;
pub mod slow_start;
#[cfg(test)]
mod testing;
mod train;
pub mod two_windows;
pub mod vegas;
mod whole;
mod window;

pub use facts::{Asks, Facts, Marks, always, never};
pub use window::{CongestionWindow, real};

use crate::limit::Limit;
use std::sync::Arc;
use tailback_base::model::{Alias, Registered};
use tailback_base::{BitRate, Dscp, Duration, Model, Settings, Stream, Time};

/// The state of loss recovery when it handled the present ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Open,
    /// Fast recovery. It includes the ACK that ends it, unless the profile lets this ACK grow the window
    /// (`grow_on_exit`).
    Recovery,
    /// Slow start after a timeout, until the data that were outstanding at the timeout are acknowledged.
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
    /// Bytes judged lost since the last ACK.
    pub lost: u64,
    /// The part of the lost bytes that a timer found before this ACK.
    pub lost_by_timer: u64,
    /// Outstanding before this ACK.
    pub flight: u64,
    /// Bytes in the network after this ACK, as recovery estimates them (RFC 6675 `pipe`).
    pub pipe: u64,
    /// The round trip this ACK measured.
    pub rtt: Option<Duration>,
    pub srtt: Option<Duration>,
    /// The ACK carries ECE. Under [`EchoRule::EveryAck`] this means that all data that the ACK acknowledges was marked.
    /// With accurate ECN (RFC 9768) it means that the counts of the ACK have grown.
    pub ecn_echo: bool,
    /// The marked data that this ACK reports, in bytes and packets. Under [`EchoRule::EveryAck`] this is all data that
    /// the ACK acknowledges, if the ACK carries ECE. Under [`EchoRule::Rfc3168`] it is 0, because this echo counts
    /// nothing. With accurate ECN it is the newly counted data, under both rules.
    pub marked: u64,
    pub marked_packets: u32,
    pub phase: Phase,
    /// Whether the window was full before this ACK, so that the window may grow (RFC 7661).
    pub window_limited: bool,
    /// Whether SACKed data open the window in the same way as acknowledged data (Linux, on a path that reorders).
    pub reports_open: bool,
    pub limit: Limit,
    /// The lowest unacknowledged unit, and the next unit to send, after this ACK and before this end sends again. A
    /// [`Round`](round::Round) uses both.
    pub una: u64,
    pub nxt: u64,
    /// The delivery-rate sample, for controllers that [record deliveries](Facts::records).
    pub rate: Option<&'a RateSample>,
}

/// A segment that is judged lost, by an ACK or by a timer. Amounts are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    pub now: Time,
    /// The first unit of the segment, and the number of its units.
    pub seq: u64,
    pub bytes: u64,
    /// The bytes in the network just after the segment was sent, including the segment itself.
    pub in_flight_at_send: u64,
    /// The bytes judged lost since the segment was sent, including the segment itself.
    pub lost_since_send: u64,
    /// The bytes delivered in total by now.
    pub delivered: u64,
    /// Whether the application limited the sender when the segment was sent.
    pub application_limited: bool,
    /// Whether the segment does not continue the last range that was judged lost.
    pub new_range: bool,
    /// Whether a tail loss probe repaired the segment, so that the segment itself was never judged lost.
    pub by_probe: bool,
}

/// A segment that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    pub now: Time,
    /// The first unit of the segment, and one past its last unit.
    pub seq: u64,
    pub end: u64,
    /// Whether the segment was sent before.
    pub again: bool,
}

/// Signs of congestion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Congestion {
    /// A segment was found lost without a timeout. This sign is reported once per episode.
    Loss,
    /// An ECN echo to which the control may respond. This sign is reported once per window (RFC 3168 section 6.1.2).
    Ecn,
    /// A router requests a lower rate. This sign is reported once per window, and never during recovery. `level` counts
    /// from 0. `keep` is the share of the window that the router's rule leaves.
    Request { level: u32, keep: f64 },
    /// The retransmission timer expired. With `again` the segment had timed out before, so the threshold stays (RFC
    /// 5681 section 3.1).
    Timeout { again: bool },
    /// The SYN was lost, and the profile counts this as a loss at a window of one segment.
    LostSyn,
}

/// A sign of congestion, and its time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionEvent {
    pub now: Time,
    /// Outstanding bytes, except those that limited transmit sent (RFC 5681 section 3.2).
    pub flight: u64,
    /// Bytes in the network, as far as records or `flight` show. Bytes that are judged lost, in particular by this
    /// timeout, are not included.
    pub in_flight: u64,
    pub what: Congestion,
}

/// The kind of repair that proves to be a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistaken {
    /// Fast recovery. No segment was lost, but one arrived late.
    Recovery,
    Timeout,
}

/// Reasons to set the window other than a sign of congestion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reset {
    /// One segment. This is the start of every repair in Tahoe, and the window that the timer restores if an echo left
    /// less.
    OneSegment,
    /// This many bytes more. The number is negative if a partial ACK took more than the inflation. It is positive for
    /// the inflation itself, before an echo halves window and inflation.
    Shift { bytes: f64 },
    /// The largest window in bytes after a spurious or doubtful timeout.
    AtMost { bytes: f64 },
    /// Fast recovery ended. With `at_most` the window is limited to the threshold and to this many bytes (RFC 6582
    /// section 3.2 step 3, option 1). With `None` it keeps the value that the reduction set.
    RecoveryEnd { at_most: Option<f64> },
    /// The connection was idle. The window becomes at most the initial window (RFC 5681 section 4.1).
    Idle,
    /// The connection was idle for this many timeouts. The window is halved for each, but not below the initial window,
    /// and the threshold becomes three quarters of the old window.
    IdleHalves { times: u32 },
    /// The connection was idle and continues like a new one, but keeps the threshold.
    Restart,
    /// The handshake lost a SYN. The window becomes one segment (RFC 5681 section 3.1), or the value of the parameters.
    LostSyn,
}

/// The state that a control gets when it takes over an open connection. Windows are in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Handover {
    pub now: Time,
    pub cwnd: f64,
    pub ssthresh: f64,
    /// The smoothed round trip; `None` before data are acknowledged.
    pub srtt: Option<Duration>,
    /// The least round trip of the connection so far.
    pub least_rtt: Option<Duration>,
    pub phase: Phase,
    /// The next unit to send. A [`Round`](round::Round) that begins now ends there.
    pub nxt: u64,
    /// The bytes delivered in total, as the next [`RateSample`] counts them.
    pub delivered: u64,
}

/// How the receiver echoes congestion marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EchoRule {
    /// The echo is sent from a mark until the sender answers with CWR (RFC 3168 section 6.1.3).
    #[default]
    Rfc3168,
    /// Each ACK says whether the data that it acknowledges was marked. When this changes, an ACK is sent at once (RFC
    /// 8257 section 3.2).
    EveryAck,
}

/// One delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation), for model-based controllers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// Delivered over the interval, bytes.
    pub delivered: u64,
    /// Bytes delivered in total, and by this ACK.
    pub total: u64,
    pub newly: u64,
    /// Bytes in the network after this ACK, including those that recovery will judge lost because of this ACK.
    pub in_flight: u64,
    /// Judged lost over the interval, bytes.
    pub lost: u64,
    /// Counted as [marked](AckEvent::marked) over the interval, bytes.
    pub marked: u64,
    /// Bytes in the network just after the segment that gave the sample was sent, including this segment.
    pub in_flight_at_send: u64,
    pub interval: Duration,
    /// The time until the pacer allows the next segment.
    pub until_next: Duration,
    /// The round trip of the segment that gave the sample; `None` if it was sent more than once.
    pub rtt: Option<Duration>,
    pub application_limited: bool,
}

impl RateSample {
    /// Whether a segment gave the sample. Without SACK, a duplicate shows that something was delivered, but not which
    /// segment.
    pub fn has_data(&self) -> bool {
        self.delivered > 0
    }

    /// The bytes delivered in total when the segment that gave the sample was sent.
    pub fn delivered_at_send(&self) -> u64 {
        self.total - self.delivered
    }
}

/// A congestion controller of one connection.
pub trait CongestionControl: Send {
    /// An ACK arrived. This function is called once for each ACK, after recovery has judged the ACK and before anything
    /// is sent.
    fn on_ack(&mut self, a: &AckEvent<'_>);
    fn on_congestion(&mut self, e: &CongestionEvent);
    /// A segment is judged lost. This function is called only for a control that [requires it](Facts::hears_losses).
    /// The call comes before the sign of congestion that may follow, and before the ACK that shows the loss. A tail
    /// that a probe has repaired counts as one segment.
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Sending begins, for the first time or after an idle period. Nothing was outstanding, because the application had
    /// nothing to send. This function is called before the segment leaves.
    fn sending_begins(&mut self, _now: Time, _srtt: Option<Duration>) {}
    /// Draw the random values of the control. This function is called once, when the connection is made.
    fn draw(&mut self, _rng: &mut Stream) {}
    /// A segment leaves. This function is called only for a control that [requires it](Facts::hears_departures).
    fn sends(&mut self, _sent: &Departure) {}
    /// The code point of the segment of the last call of `sends`; `None` from a control that leaves the code point to
    /// the flow.
    fn colour(&self) -> Option<Dscp> {
        None
    }
    fn window_reset(&mut self, why: Reset);
    /// This control replaces another one in an open connection. Window and threshold stay the same. A slow start in
    /// progress continues up to the threshold, and above it this control's avoidance begins. A repair in progress
    /// continues at the reduced window. This function is called once, after [`CongestionControl::draw`] and before any
    /// other event, unless nothing was sent so far. A connection without a round trip has no data acknowledged, and its
    /// window may be the one that a lost SYN left.
    fn take_over(&mut self, from: &Handover);
    /// The threshold for a control that takes over from this one. It is finite if this control has found the capacity
    /// of the path without a threshold, so that no slow start searches for this capacity again.
    fn ssthresh_left(&self) -> f64 {
        self.ssthresh()
    }
    /// The last reduction was a mistake (RFC 4015). Restore the values from before this reduction.
    fn undo(&mut self, _why: Mistaken) {}
    /// How often this control has reduced the window because of marks reported by ACKs.
    fn own_reductions(&self) -> u64 {
        0
    }
    /// Whether this control deliberately sends less than it could, so that delivery rates do not show the capacity of
    /// the path.
    fn limits_itself(&self) -> bool {
        false
    }
    /// Congestion window, bytes.
    fn cwnd(&self) -> f64;
    /// Slow-start threshold, bytes; infinite without a threshold.
    fn ssthresh(&self) -> f64;
    /// The pacing rate, counting bytes on the wire; `None` sends as soon as the window allows.
    fn pacing(&self) -> Option<BitRate> {
        None
    }
    /// The most bytes that leave at once if segments leave in trains (`offload`); `None`: the bytes of the pacing rate
    /// in a millisecond.
    fn send_quantum(&self) -> Option<f64> {
        None
    }
    /// The present value of the probe with this index in the controller's model.
    fn read(&self, _probe: usize) -> f64 {
        f64::NAN
    }
}

tailback_base::choice! {
    /// The amount that a loss halves.
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
    /// On ACKs that arrive while the window limits the sender (RFC 7661).
    WhenUsed,
    /// On each ACK (ns-2).
    Always,
}

tailback_base::choice! {
    /// How a control is computed if Linux and ns-3 each have their own form of this control.
    pub enum ControlForm {
        /// As in its standard.
        Standard = "standard",
        Linux = "linux",
        Ns3 = "ns3",
    }

    /// The phase after a timeout.
    pub enum AfterTimeout {
        /// Slow start from one segment. Everything outstanding is sent again (RFC 5681 section 3.1).
        SlowStart = "slow-start",
        /// Half the window. Only the missing segment is sent again.
        Halve = "halve",
    }
}

/// The parameters of `tcp` that concern the window of any controller. All flows of a group share these parameters.
/// Windows are in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowRules {
    /// Payload of a full segment.
    pub segment: f64,
    /// The size of a full segment on the wire, which pacing uses.
    pub wire: f64,
    pub initial_window: f64,
    /// Infinite when unlimited.
    pub initial_ssthresh: f64,
    /// Infinite without a cap.
    pub cap: f64,
    /// The most segments by which one ACK grows the window in slow start; 0: growth counts ACKs.
    pub byte_counting: u32,
    pub growth: Growth,
    pub form: ControlForm,
    pub halve: Halve,
    /// The threshold is rounded down to whole segments.
    pub whole_ssthresh: bool,
    /// The smallest window that a reduction leaves, bytes.
    pub least: f64,
    /// The window after a handshake that lost a SYN, bytes.
    pub after_lost_syn: f64,
    pub after_timeout: AfterTimeout,
    /// The share of the window after an ECN echo. It overrides the controller's own share.
    pub ecn_decrease: Option<f64>,
    /// The receiver reports the data that it holds out of order, so that more than one loss per round trip is found.
    pub sack: bool,
}

impl Registered for Controller {
    const FAMILY: &'static str = "congestion";
    const WHAT: &'static str = "congestion control";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// A controller that a scenario can name: its declaration, its needs, and the function that makes one from its own
/// parameters.
#[derive(Debug)]
pub struct Controller {
    pub model: &'static Model,
    /// The names that other programs use for this controller.
    pub also: &'static [Alias],
    pub facts: Facts,
    pub build: fn(&Settings, &Arc<WindowRules>) -> Box<dyn CongestionControl>,
}
