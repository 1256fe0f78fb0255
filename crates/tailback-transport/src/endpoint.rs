//! The contract between a transport endpoint and whoever drives it.
//!
//! After every call the driver calls [`Endpoint::poll_transmit`] until it no longer answers a segment, then asks
//! [`Endpoint::next_timeout`] and sees to it that [`Endpoint::on_timeout`] is called at that instant (or later: the
//! endpoint checks).

use crate::segment::{Plain, Segment};
use crate::tcp::ControlChange;
use tailback_base::counters::Extremes;
use tailback_base::{Duration, ProbeDef, Request, Stream, Time};

/// How much an application writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    Bytes(u64),
    /// Data without end.
    Unlimited,
}

/// The answer of [`Endpoint::poll_transmit`].
#[derive(Clone, PartialEq, Debug)]
pub enum Transmit {
    Segment(Segment),
    /// Something is to be sent, but not before this instant (pacing).
    NotBefore(Time),
    Idle,
}

/// When an end wants to be called, after [`Endpoint::predict`].
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    pub timeout: Time,
    pub not_before: Time,
}

/// What an endpoint tells the application above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppEvent {
    /// The handshake is complete.
    Connected,
    /// This many new bytes arrived in order.
    Delivered(u64),
    /// Everything written so far is acknowledged.
    AllAcknowledged,
    /// The other side will send no more.
    PeerClosed,
    /// The connection is over.
    Closed,
}

/// Where an endpoint reports upwards.
pub trait AppEvents {
    fn event(&mut self, e: AppEvent);
}

/// For endpoints that no application listens to.
impl AppEvents for () {
    fn event(&mut self, _: AppEvent) {}
}

tailback_base::counters! {
    /// What a sender counted since it was created. Times sum to the time since its first transmission.
    #[derive(Clone, Copy, PartialEq, Debug, Default)]
    pub struct SenderReport {
        /// Data segments sent, retransmissions included.
        pub sent_packets: u64,
        pub sent_payload_bytes: u64,
        pub retransmitted_packets: u64,
        pub timeouts: u64,
        pub fast_retransmits: u64,
        /// Window reductions that answered an ECN echo.
        pub ecn_reductions: u64,
        /// Time the congestion window was what held the sender back.
        pub limited_by_network: Duration,
        /// Time the advertised window or the window cap was.
        pub limited_by_window_cap: Duration,
        /// Time there was nothing to send.
        pub limited_by_application: Duration,
        /// Round-trip samples taken, and their sum and extremes, seconds.
        pub rtt_samples: u64,
        pub rtt_sum: f64,
        pub rtt: Extremes,
    }
}

/// How far the bytes have come that an application wrote to one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    pub written: u64,
    /// Sent at least once.
    pub sent: u64,
    /// Cumulatively.
    pub acknowledged: u64,
    /// Nothing can be sent before a handshake is over.
    pub opening: bool,
}

/// One end of a connection.
pub trait Endpoint {
    /// The application hands down data.
    fn write(&mut self, n: Amount, now: Time);
    /// No more data will be written; what is written is still delivered.
    fn close(&mut self, now: Time);
    /// Data not sent yet are given up; what is outstanding is still recovered, then the connection is over.
    fn abort(&mut self, now: Time) {
        self.close(now);
    }
    /// The application closes this end itself; without this call a two-way end closes when its peer has.
    fn stay_open(&mut self) {}
    /// Whether the application reads what arrives. While it does not, the receive buffer of a two-way end fills.
    fn set_reading(&mut self, _on: bool, _now: Time) {}
    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents);
    /// Header prediction: a segment without options but time stamps that needs only such in answer, and of which no
    /// application hears, in one call. The same as [`Endpoint::on_segment`], [`Endpoint::poll_transmit`] until it is
    /// idle, and [`Endpoint::next_timeout`]. `None` when it is not such a case: then nothing has changed.
    fn predict(&mut self, _s: &Plain, _now: Time, _out: &mut Vec<Plain>) -> Option<Wake> {
        None
    }
    /// Called until it does not answer a segment.
    fn poll_transmit(&mut self, now: Time) -> Transmit;
    fn next_timeout(&self) -> Option<Time>;
    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents);
    /// A router on the path asks for something.
    fn on_request(&mut self, _r: Request, _now: Time) {}
    /// From now on its data are sent under another congestion control, which was made for the parameters of this
    /// connection; what it leaves to chance is drawn from `rng`. False from an end that cannot: nothing has changed.
    fn set_congestion(&mut self, _to: &ControlChange, _rng: &mut Stream, _now: Time) -> bool {
        false
    }
    /// New in-order payload received so far, bytes.
    fn received_bytes(&self) -> u64 {
        0
    }
    /// How far what was written has come; none from an end that keeps no count of it.
    fn progress(&self) -> Option<Progress> {
        None
    }
    /// So much of this payload makes on the wire, headers included and each byte sent once.
    fn wire_bytes(&self, payload: u64) -> u64 {
        payload
    }
    /// Take back so many of the bytes that were written last, as far as they have not been sent.
    fn withdraw(&mut self, _bytes: u64) {}
    /// The smoothed round-trip time, once there is one (for conditioners on the same host).
    fn srtt(&self) -> Option<Duration> {
        None
    }
    /// Whether its congestion window is below the slow-start threshold (for conditioners on the same host).
    fn in_slow_start(&self) -> bool {
        false
    }
    /// Counters up to `now`.
    fn report(&self, _now: Time) -> SenderReport {
        SenderReport::default()
    }
    /// What can be read of it. Asked when a recording is declared, not during a run.
    fn probes(&self) -> Vec<&'static ProbeDef> {
        vec![]
    }
    /// The present value of the i-th probe.
    fn read(&self, _probe: usize) -> f64 {
        f64::NAN
    }
    /// Whether this end is done. A connection is forgotten once both ends are: one that still has data to send, or
    /// waits lest its last ACK be lost (TIME-WAIT), says no. An end that only answers what it hears is always done.
    fn is_closed(&self) -> bool {
        true
    }
}
