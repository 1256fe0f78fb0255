//! The contract between a transport endpoint and its driver.
//!
//! After every call the driver calls [`Endpoint::poll_transmit`] until it returns no more segments. Then it calls
//! [`Endpoint::next_timeout`] and makes sure that [`Endpoint::on_timeout`] is called at the returned instant, or later.
//! The endpoint checks the time itself.

use crate::segment::{Plain, Segment};
use crate::tcp::ControlChange;
use tailback_base::counters::Extremes;
use tailback_base::{Dscp, Duration, ProbeDef, Request, Stream, Time};

/// How much an application writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    Bytes(u64),
    /// Data that never ends.
    Unlimited,
}

/// The result of [`Endpoint::poll_transmit`].
#[derive(Clone, PartialEq, Debug)]
pub enum Transmit {
    Segment(Segment),
    /// There is something to send, but not before this instant (pacing).
    NotBefore(Time),
    Idle,
}

/// When an endpoint has to be called next, after [`Endpoint::predict`].
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    pub timeout: Time,
    pub not_before: Time,
}

/// The reports of an endpoint to the application above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppEvent {
    /// The handshake is complete.
    Connected,
    /// This many new bytes arrived in order.
    Delivered(u64),
    /// The packet with this number arrived. Only a transport that numbers packets and never repeats a packet reports
    /// this event.
    Packet(u64),
    /// All data written so far are acknowledged.
    AllAcknowledged,
    /// The other side will send no more.
    PeerClosed,
    /// The connection is over.
    Closed,
}

/// The application to which an endpoint reports.
pub trait AppEvents {
    fn event(&mut self, e: AppEvent);
}

/// For endpoints that no application listens to.
impl AppEvents for () {
    fn event(&mut self, _: AppEvent) {}
}

tailback_base::counters! {
    /// The counts of a sender since it was created. The three times add up to the time since its first transmission.
    #[derive(Clone, Copy, PartialEq, Debug, Default)]
    pub struct SenderReport {
        /// Data segments sent, retransmissions included.
        pub sent_packets: u64,
        pub sent_payload_bytes: u64,
        pub retransmitted_packets: u64,
        pub timeouts: u64,
        pub fast_retransmits: u64,
        /// Window reductions in response to an ECN echo.
        pub ecn_reductions: u64,
        /// Time during which the congestion window limited the sender.
        pub limited_by_network: Duration,
        /// Time during which the advertised window or the window cap limited the sender.
        pub limited_by_window_cap: Duration,
        /// Time during which there was nothing to send.
        pub limited_by_application: Duration,
        /// Number of round-trip samples, their sum and extremes, seconds.
        pub rtt_samples: u64,
        pub rtt_sum: f64,
        pub rtt: Extremes,
    }
}

/// How many of the bytes that an application wrote to one end have been sent and acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    pub written: u64,
    /// Sent at least once.
    pub sent: u64,
    /// Acknowledged cumulatively.
    pub acknowledged: u64,
    /// The handshake is not complete, so no data can be sent yet.
    pub opening: bool,
}

impl Wake {
    /// The same instants, but with a timeout no later than `time`.
    #[must_use]
    pub fn or_at(self, time: Option<Time>) -> Wake {
        Wake {
            timeout: self.timeout.min(time.unwrap_or(Time::NEVER)),
            ..self
        }
    }
}

/// One end of a connection.
pub trait Endpoint {
    /// The application writes data.
    fn write(&mut self, n: Amount, now: Time);
    /// No more data will be written. Data already written are still delivered.
    fn close(&mut self, now: Time);
    /// Give up the data not sent yet. Losses of outstanding data are still repaired, and then the connection is over.
    fn abort(&mut self, now: Time) {
        self.close(now);
    }
    /// The application will close this end itself. Without this call a two-way end closes when its peer has closed.
    fn stay_open(&mut self) {}
    /// Set whether the application reads arriving data. While the application does not read, the receive buffer of a
    /// two-way end fills.
    fn set_reading(&mut self, _on: bool, _now: Time) {}
    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents);
    /// Header prediction handles a common segment in one call. The segment has no options except time stamps, the
    /// answer needs no other options either, and there is nothing to report to the application. The effect is the same
    /// as that of [`Endpoint::on_segment`], [`Endpoint::poll_transmit`] until it is idle, and
    /// [`Endpoint::next_timeout`]. Returns `None`, and changes nothing, if this is not such a segment.
    fn predict(&mut self, _s: &Plain, _now: Time, _out: &mut Vec<Plain>) -> Option<Wake> {
        None
    }
    /// The next segment to send. The driver calls this function until it returns no segment.
    fn poll_transmit(&mut self, now: Time) -> Transmit;
    /// Whether this end sets a code point in each of its segments.
    fn colours(&self) -> bool {
        false
    }
    /// The code point of the last segment that this end returned; `None` if this is the code point of the flow.
    fn code_point(&self) -> Option<Dscp> {
        None
    }
    /// Whether this end limits its data in the queue of its own host. Such an end has to be called when data leave the
    /// host.
    fn limits_host(&self) -> bool {
        false
    }
    /// A segment with this much payload will have left the host at this instant, or is lost there. If the end waits for
    /// this instant, [`Endpoint::next_timeout`] returns it.
    fn leaves_host(&mut self, _payload: u32, _at: Time) {}
    fn next_timeout(&self) -> Option<Time>;
    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents);
    /// A router on the path sends a request.
    fn on_request(&mut self, _r: Request, _now: Time) {}
    /// From now on another congestion control controls the data of this end. This control was made for the parameters
    /// of this connection. Its random choices are drawn from `rng`. Returns false, and changes nothing, if the end
    /// cannot change its control.
    fn set_congestion(&mut self, _to: &ControlChange, _rng: &mut Stream, _now: Time) -> bool {
        false
    }
    /// The number of the byte that this end expects next. `Some` only if the connection is open, no data are held out
    /// of order, and the application reads. Then a segment that begins with this byte, without SYN, FIN and RST,
    /// delivers its payload, and the application gets no other events except those about acknowledgements.
    fn expects_next(&self) -> Option<u64> {
        None
    }
    /// New in-order payload received so far, bytes.
    fn received_bytes(&self) -> u64 {
        0
    }
    /// New payload that has arrived, each byte once, in order or not.
    fn arrived_bytes(&self) -> u64 {
        self.received_bytes()
    }
    /// How many of the written bytes have been sent and acknowledged; `None` from an endpoint that does not count these
    /// bytes.
    fn progress(&self) -> Option<Progress> {
        None
    }
    /// Bytes on the wire for this payload, headers included, if each byte is sent once.
    fn wire_bytes(&self, payload: u64) -> u64 {
        payload
    }
    /// Take back this many of the bytes written last, except bytes that have already been sent. `u64::MAX` also takes
    /// back a write without end.
    fn withdraw(&mut self, _bytes: u64) {}
    /// The rate of payload that this end asks its application for, bit/s; `None` from an end that asks for no rate.
    fn target(&self) -> Option<f64> {
        None
    }
    /// The smoothed round-trip time, once there is one (for conditioners on the same host).
    fn srtt(&self) -> Option<Duration> {
        None
    }
    /// Whether the congestion window is below the slow-start threshold (for conditioners on the same host).
    fn in_slow_start(&self) -> bool {
        false
    }
    /// Counters up to `now`.
    fn report(&self, _now: Time) -> SenderReport {
        SenderReport::default()
    }
    /// The values of a connection that Linux's `tcp_info` shows, under its names without the prefix `tcpi_`. The list
    /// is empty for an endpoint that is not a TCP sender.
    fn info(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    /// The values that can be recorded. This function is called when a recording is declared, not during a run.
    fn probes(&self) -> Vec<&'static ProbeDef> {
        vec![]
    }
    /// The present value of the probe with this index.
    fn read(&self, _probe: usize) -> f64 {
        f64::NAN
    }
    /// Whether this end is done. A connection is removed once both ends are done. An end is not done while it still has
    /// data to send, or while it waits in case its last ACK is lost (TIME-WAIT). An end that only answers is always
    /// done.
    fn is_closed(&self) -> bool {
        true
    }
}
