//! Segmentation offload: new data leave the host in trains, for connections with this option.
//!
//! A host with TSO or GSO gives its network card up to 64 kB at once. These data leave as segments back to back at the
//! rate of the line. The host therefore prefers few large pieces to many small ones. While the window has room for less
//! than a whole piece, the host waits for more acknowledgements. It does not wait if the room is a third of the window,
//! if all data fit, or if nothing is outstanding. The window is therefore used in at most three steps per round trip,
//! and the ACK clock releases trains instead of pairs. Repairs, duplicates and data after a timeout do not wait. A
//! paced sender sends a train of the bytes of a millisecond at its rate, and at least two segments. A gap for the whole
//! train follows.
//!
//! Source: Linux, Documentation/networking/ip-sysctl, `tcp_tso_win_divisor` (3: "what percentage of the congestion
//! window can be consumed by a single TSO frame") and `tcp_min_tso_segs` (2); E. Dumazet, "tcp: TSO packets automatic
//! sizing", 2013: a millisecond of the pacing rate. The 64 kB are the largest IP packet.
//!
//! The state is the longest train, the beginning of the present train, the segments of this train so far, and whether
//! the last event left room unused. A connection without the option has none of this state.
//!
//! Two parts are not modelled: the receiver's side (LRO, GRO), which acknowledges a train at once, and the end of the
//! wait after half a round trip.

use super::ControlBlock;
use super::sequence::NONE;
use tailback_base::Time;

/// The largest number of trains in which a window is used.
const TRAINS_PER_WINDOW: u64 = 3;
/// A paced train is the bytes of the rate in this time, seconds.
const PACED_SECONDS: f64 = 1e-3;
/// The least number of segments of a paced train.
const LEAST_PACED: u64 = 2;

/// The trains of a sender.
pub(super) struct Trains {
    /// Segments of the longest train.
    most: u64,
    began: Time,
    sent: u64,
    /// Whether a train waits for room, so that the window limits the sender.
    waits: bool,
}

impl Trains {
    pub fn new(most: u32) -> Trains {
        Trains {
            most: u64::from(most),
            began: Time::NEVER,
            sent: 0,
            waits: false,
        }
    }

    /// The length of a train. `quantum` is the bytes that the controller allows at once.
    fn length(&self, pace: f64, quantum: Option<f64>, segment: f64) -> u64 {
        if pace == f64::INFINITY {
            return self.most;
        }
        let paced = (quantum.unwrap_or(pace * PACED_SECONDS) / segment) as u64;
        paced.max(LEAST_PACED).min(self.most)
    }
}

impl ControlBlock {
    /// The number of segments that may leave after an event without a wait for a longer train.
    pub(super) fn whole_trains(&mut self, burst: u32) -> u32 {
        let segment = u64::from(self.cfg.payload);
        let Some(t) = &self.offload else { return burst };
        let length = t.length(self.window.pace, self.control.send_quantum(), self.cfg.segment());
        let s = &self.seq;
        let in_order = s.nxt == s.max_sent && s.una < s.max_sent && s.resend == NONE && !s.after_timeout;
        let usual = in_order && self.window.duplicates == 0 && self.sacked_bytes() == 0 && !self.is_spreading();
        let room = self.window.allowed.saturating_sub(s.flight()) / segment;
        let unsent = s.end.saturating_sub(s.nxt).div_ceil(segment);
        let remainder = room % length;
        let waits = usual && unsent > room && remainder * TRAINS_PER_WINDOW * segment < self.window.allowed;
        if let Some(t) = &mut self.offload {
            t.waits = waits;
        }
        match waits {
            true => burst.min((room - remainder).min(u64::from(u32::MAX)) as u32),
            false => burst,
        }
    }

    /// Whether a train waits for room.
    pub fn holds_train(&self) -> bool {
        self.offload.as_ref().is_some_and(|t| t.waits)
    }

    /// Whether the next segment leaves together with those before it, although the time of the pacer is later.
    #[cold]
    pub fn continues_train(&self, now: Time) -> bool {
        let (pace, segment) = (self.window.pace, self.cfg.segment());
        let goes_on = |t: &Trains| t.began == now && t.sent < t.length(pace, self.control.send_quantum(), segment);
        self.offload.as_deref().is_some_and(goes_on)
    }

    /// A segment is sent.
    pub(super) fn count_in_train(&mut self, now: Time) {
        if let Some(t) = &mut self.offload {
            t.sent = if t.began == now { t.sent + 1 } else { 1 };
            t.began = now;
        }
    }
}
