//! The values that a congestion control written in Python gets: plain data, times in seconds, amounts in bytes.

use super::counted::CountedAck;
use super::slow_start::ControlStart;
use pyo3::prelude::*;
use tailback_base::model::Choice;
use tailback_base::{Duration, Time};
use tailback_transport::Limit;
use tailback_transport::tcp::congestion::{
    AckEvent, AfterTimeout, Congestion, CongestionEvent, ControlForm, Departure, Growth, Halve, Handover, Lost, Phase,
    RateSample, Reset, WindowRules,
};

/// A class of Python around a struct of the engine: each attribute is read from the struct.
macro_rules! attributes {
    ($(#[$doc:meta])* $class:ident($of:ty) {
        $($(#[$about:meta])* $name:ident: $type:ty = |$it:ident| $read:expr;)*
    }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "tailback._core")]
        pub struct $class(pub $of);

        #[pymethods]
        impl $class {
            $(
                $(#[$about])*
                #[getter]
                fn $name(&self) -> $type {
                    let $it = &self.0;
                    $read
                }
            )*
        }
    };
}

/// The name of a phase of loss recovery.
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "open",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    }
}

/// An infinite amount, which means no limit, stays infinite: `float("inf")`.
fn seconds(d: Option<Duration>) -> Option<f64> {
    d.map(Duration::seconds)
}

/// The parameters of `tcp` that concern any window. They are the first argument of a control's class.
#[pyclass(frozen, module = "tailback._core")]
pub struct ControlRules {
    /// Payload of a full segment, bytes.
    #[pyo3(get)]
    segment: f64,
    /// A full segment on the wire, bytes.
    #[pyo3(get)]
    wire: f64,
    #[pyo3(get)]
    initial_window: f64,
    #[pyo3(get)]
    initial_ssthresh: f64,
    #[pyo3(get)]
    cap: f64,
    /// The largest number of segments by which an ACK grows the window in slow start; with 0 growth counts ACKs.
    #[pyo3(get)]
    byte_counting: u32,
    /// The window also grows while it does not limit the sender.
    #[pyo3(get)]
    grow_when_unused: bool,
    /// The amount that a loss halves: "flight" or "cwnd".
    #[pyo3(get)]
    halve: &'static str,
    form: ControlForm,
    #[pyo3(get)]
    whole_ssthresh: bool,
    /// The smallest window that a reduction leaves, bytes.
    #[pyo3(get)]
    least: f64,
    #[pyo3(get)]
    after_lost_syn: f64,
    /// The reaction to a timeout: "slow-start" or "halve".
    #[pyo3(get)]
    timeout_reaction: &'static str,
    /// The share of the window that is left after an ECN echo; None: the control decides.
    #[pyo3(get)]
    ecn_decrease: Option<f64>,
    /// The receiver reports the data that it has out of order.
    #[pyo3(get)]
    sack: bool,
}

impl ControlRules {
    pub fn of(r: &WindowRules) -> ControlRules {
        ControlRules {
            segment: r.segment,
            wire: r.wire,
            initial_window: r.initial_window,
            initial_ssthresh: r.initial_ssthresh,
            cap: r.cap,
            byte_counting: r.byte_counting,
            grow_when_unused: r.growth == Growth::Always,
            halve: match r.halve {
                Halve::Flight => "flight",
                Halve::Cwnd => "cwnd",
            },
            form: r.form,
            whole_ssthresh: r.whole_ssthresh,
            least: r.least,
            after_lost_syn: r.after_lost_syn,
            timeout_reaction: match r.after_timeout {
                AfterTimeout::SlowStart => "slow-start",
                AfterTimeout::Halve => "halve",
            },
            ecn_decrease: r.ecn_decrease,
            sack: r.sack,
        }
    }
}

#[pymethods]
impl ControlRules {
    /// "standard", "linux" or "ns3".
    #[getter]
    fn form(&self) -> &'static str {
        self.form.word()
    }

    /// A built-in rule that may end slow start: "hystart", "train" or "search".
    #[pyo3(signature = (name, /))]
    fn slow_start(&self, name: &str) -> PyResult<ControlStart> {
        ControlStart::named(name, self.form, self.segment, self.wire)
    }
}

/// An ACK, new or duplicate, after recovery has judged it.
#[pyclass(frozen, module = "tailback._core")]
pub struct ControlAck {
    #[pyo3(get)]
    pub now: f64,
    /// The time `now` to the nanosecond.
    instant: Time,
    #[pyo3(get)]
    pub acked: u64,
    #[pyo3(get)]
    sacked: u64,
    #[pyo3(get)]
    lost: u64,
    #[pyo3(get)]
    flight: u64,
    #[pyo3(get)]
    pipe: u64,
    rtt: Option<Duration>,
    srtt: Option<Duration>,
    #[pyo3(get)]
    ecn_echo: bool,
    /// The marked bytes and packets that this ACK reports; 0 with the echo of RFC 3168, which counts nothing.
    #[pyo3(get)]
    marked: u64,
    #[pyo3(get)]
    marked_packets: u32,
    phase: Phase,
    #[pyo3(get)]
    window_limited: bool,
    #[pyo3(get)]
    una: u64,
    #[pyo3(get)]
    nxt: u64,
    rate: Option<RateSample>,
}

impl ControlAck {
    pub fn of(a: &AckEvent<'_>) -> ControlAck {
        ControlAck {
            now: a.now.seconds(),
            instant: a.now,
            acked: a.acked,
            sacked: a.sacked,
            lost: a.lost,
            flight: a.flight,
            pipe: a.pipe,
            rtt: a.rtt,
            srtt: a.srtt,
            ecn_echo: a.ecn_echo,
            marked: a.marked,
            marked_packets: a.marked_packets,
            phase: a.phase,
            window_limited: a.window_limited,
            una: a.una,
            nxt: a.nxt,
            rate: a.rate.copied(),
        }
    }
}

impl ControlAck {
    /// The ACK as a rule of slow start reads it, without the values that only other controls use.
    pub fn with_event<T>(&self, f: impl FnOnce(&AckEvent<'_>) -> T) -> T {
        f(&AckEvent {
            now: self.instant,
            acked: self.acked,
            sacked: self.sacked,
            lost: self.lost,
            lost_by_timer: 0,
            flight: self.flight,
            pipe: self.pipe,
            rtt: self.rtt,
            srtt: self.srtt,
            ecn_echo: self.ecn_echo,
            marked: self.marked,
            marked_packets: self.marked_packets,
            phase: self.phase,
            window_limited: self.window_limited,
            reports_open: false,
            limit: Limit::Network,
            una: self.una,
            nxt: self.nxt,
            rate: self.rate.as_ref(),
        })
    }

    /// The counts for the features of an agent.
    pub fn counted(&self) -> CountedAck {
        CountedAck::new(self.rate.as_ref(), self.lost, self.ecn_echo, self.rtt)
    }
}

#[pymethods]
impl ControlAck {
    /// The round trip this ACK measured, seconds; None if it measured no round trip.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        seconds(self.rtt)
    }

    /// The smoothed round trip, seconds.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        seconds(self.srtt)
    }

    /// "open", "recovery" (fast recovery) or "loss" (slow start after a timeout).
    #[getter]
    fn phase(&self) -> &'static str {
        phase_name(self.phase)
    }

    /// The delivery-rate sample; None unless the control has `wants_rate = True`.
    #[getter]
    fn rate(&self) -> Option<ControlRate> {
        self.rate.map(ControlRate)
    }
}

attributes! {
    /// A delivery-rate sample.
    ControlRate(RateSample) {
        /// Bytes delivered over the interval.
        delivered: u64 = |r| r.delivered;
        /// Bytes delivered since the start.
        total: u64 = |r| r.total;
        /// Bytes delivered by this ACK.
        newly: u64 = |r| r.newly;
        in_flight: u64 = |r| r.in_flight;
        /// Bytes judged lost over the interval.
        lost: u64 = |r| r.lost;
        /// Bytes counted as marked over the interval.
        marked: u64 = |r| r.marked;
        /// The bytes in the network just after the segment that gave the sample was sent.
        in_flight_at_send: u64 = |r| r.in_flight_at_send;
        /// Bytes delivered since the start when that segment was sent.
        delivered_at_send: u64 = |r| r.delivered_at_send();
        /// Whether a segment gave the sample; without SACK, duplicate ACKs deliver an unknown amount.
        has_data: bool = |r| r.has_data();
        /// The interval, seconds.
        interval: f64 = |r| r.interval.seconds();
        /// Time until the pacer lets the next segment go, seconds.
        until_next: f64 = |r| r.until_next.seconds();
        rtt: Option<f64> = |r| seconds(r.rtt);
        application_limited: bool = |r| r.application_limited;
    }
}

/// A sign of congestion.
#[pyclass(frozen, module = "tailback._core")]
pub struct ControlSign {
    #[pyo3(get)]
    now: f64,
    /// "loss", "mark", "request", "timeout" or "lost-syn".
    #[pyo3(get)]
    what: &'static str,
    /// Outstanding bytes.
    #[pyo3(get)]
    flight: u64,
    /// Bytes in the network, without data that are judged lost.
    #[pyo3(get)]
    in_flight: u64,
    /// A timeout of a segment that had timed out before: the threshold stays (RFC 5681 section 3.1).
    #[pyo3(get)]
    again: bool,
    /// For a request: its level, and the share of the window that the router's rule leaves.
    #[pyo3(get)]
    level: Option<u32>,
    #[pyo3(get)]
    keep: Option<f64>,
}

impl ControlSign {
    pub fn of(e: &CongestionEvent) -> ControlSign {
        let (kind, level, keep) = match e.what {
            Congestion::Loss => ("loss", None, None),
            Congestion::Ecn => ("mark", None, None),
            Congestion::Request { level, keep } => ("request", Some(level), Some(keep)),
            Congestion::Timeout { .. } => ("timeout", None, None),
            Congestion::LostSyn => ("lost-syn", None, None),
        };
        ControlSign {
            now: e.now.seconds(),
            what: kind,
            flight: e.flight,
            in_flight: e.in_flight,
            again: e.what == Congestion::Timeout { again: true },
            level,
            keep,
        }
    }
}

attributes! {
    /// A segment that is judged lost.
    ControlLost(Lost) {
        now: f64 = |l| l.now.seconds();
        seq: u64 = |l| l.seq;
        bytes: u64 = |l| l.bytes;
        /// Bytes in the network just after it was sent, including the segment itself.
        in_flight_at_send: u64 = |l| l.in_flight_at_send;
        /// Bytes judged lost since it was sent, including the segment itself.
        lost_since_send: u64 = |l| l.lost_since_send;
        /// Bytes delivered in all until now.
        delivered: u64 = |l| l.delivered;
        application_limited: bool = |l| l.application_limited;
        /// Whether it does not continue the last range that was judged lost.
        new_range: bool = |l| l.new_range;
        /// Whether a tail loss probe has repaired it.
        by_probe: bool = |l| l.by_probe;
    }
}

attributes! {
    /// A segment that leaves.
    ControlDeparture(Departure) {
        now: f64 = |d| d.now.seconds();
        /// The number of its first unit.
        seq: u64 = |d| d.seq;
        bytes: u64 = |d| d.end - d.seq;
        /// Whether it was sent before.
        again: bool = |d| d.again;
    }
}

/// A reason to set the window other than a sign of congestion, and the result of the built-in controls.
#[pyclass(frozen, module = "tailback._core")]
pub struct ControlReset {
    /// "one-segment", "shift", "at-most", "recovery-end", "idle", "idle-halves", "restart" or "lost-syn".
    #[pyo3(get)]
    what: &'static str,
    /// The bytes that belong to it, if any.
    #[pyo3(get)]
    bytes: Option<f64>,
    /// For "idle-halves": the number of timeouts for which the connection was idle.
    #[pyo3(get)]
    times: Option<u32>,
    /// The window and threshold that the standard rule leaves, bytes.
    #[pyo3(get)]
    cwnd: f64,
    #[pyo3(get)]
    ssthresh: f64,
}

impl ControlReset {
    pub fn of(why: Reset, cwnd: f64, ssthresh: f64) -> ControlReset {
        let (kind, bytes, times) = match why {
            Reset::OneSegment => ("one-segment", None, None),
            Reset::Shift { bytes } => ("shift", Some(bytes), None),
            Reset::AtMost { bytes } => ("at-most", Some(bytes), None),
            Reset::RecoveryEnd { at_most } => ("recovery-end", at_most, None),
            Reset::Idle => ("idle", None, None),
            Reset::IdleHalves { times } => ("idle-halves", None, Some(times)),
            Reset::Restart => ("restart", None, None),
            Reset::LostSyn => ("lost-syn", None, None),
        };
        ControlReset {
            what: kind,
            bytes,
            times,
            cwnd,
            ssthresh,
        }
    }
}

attributes! {
    /// The state that a control finds when it takes over an open connection from another control.
    ControlTakeover(Handover) {
        now: f64 = |h| h.now.seconds();
        /// The congestion window, bytes.
        cwnd: f64 = |h| h.cwnd;
        /// The slow-start threshold, bytes.
        ssthresh: f64 = |h| h.ssthresh;
        srtt: Option<f64> = |h| seconds(h.srtt);
        /// The least round trip of the connection so far, seconds.
        least_rtt: Option<f64> = |h| seconds(h.least_rtt);
        phase: &'static str = |h| phase_name(h.phase);
        nxt: u64 = |h| h.nxt;
        delivered: u64 = |h| h.delivered;
    }
}
