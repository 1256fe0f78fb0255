//! The persist timer (RFC 9293 section 3.8.6.1): probes a window that is shut, or too small for a segment.
//!
//! ```text
//!           nothing in flight, the window too small for what comes next      timer
//!    Off ---------------------------------------------------------> Waiting ------------> Due
//!       <---------------------------------------------------------         <------------
//!                            the window is wide enough                probe sent, interval doubled
//! ```
//!
//! A probe of a shut window is the next byte. The probe does not count as outstanding. If the receiver refuses it, this
//! is not a loss. If the receiver accepts it, the ACK shows this. Linux probes without data, with the sequence number
//! one below the next byte. A window that is open by less than a segment is filled when the timer expires (the override
//! of RFC 9293 section 3.8.6.2.1), like other data.

use crate::segment::Segment;
use crate::tcp::config::Config;
use crate::tcp::sender::Sender;
use tailback_base::{Duration, Time};

/// RFC 1122 section 4.2.2.17 leaves the longest interval open. 60 s is also the longest retransmission timeout.
const LONGEST: Duration = Duration(60_000_000_000);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Persist {
    #[default]
    Off,
    Waiting {
        at: Time,
        interval: Duration,
        /// Whether the next byte has been sent as a probe.
        probed: bool,
    },
    Due {
        interval: Duration,
        probed: bool,
    },
}

impl Persist {
    pub fn stop(&mut self) {
        *self = Persist::Off;
    }

    /// Called after anything that may have opened or shut the window.
    pub fn look(&mut self, cfg: &Config, sender: &Sender, now: Time) {
        let c = sender.seen();
        let blocked = c.flight() == 0 && c.squeeze().is_some();
        match self {
            Persist::Off if blocked => {
                let interval = c.rto().timeout(cfg).min(LONGEST);
                *self = Persist::Waiting {
                    at: now + interval,
                    interval,
                    probed: false,
                };
            }
            _ if !blocked => *self = Persist::Off,
            _ => {}
        }
    }

    /// When the timer expires; [`Time::NEVER`] if it is off.
    pub fn deadline(&self) -> Time {
        match self {
            Persist::Waiting { at, .. } => *at,
            _ => Time::NEVER,
        }
    }

    pub fn on_timer(&mut self, now: Time) {
        if let Persist::Waiting { at, interval, probed } = *self
            && now >= at
        {
            *self = Persist::Due { interval, probed };
        }
    }

    /// The probe to send, if the timer has expired.
    pub fn probe(&mut self, sender: &mut Sender, now: Time) -> Option<Segment> {
        let Persist::Due { interval, .. } = *self else {
            return None;
        };
        let piece = sender.seen().squeeze()?;
        if sender.seen().window_is_shut() {
            let interval = Duration(2 * interval.0).min(LONGEST);
            *self = Persist::Waiting {
                at: now + interval,
                interval,
                probed: true,
            };
            Some(sender.seen().probe(now))
        } else {
            *self = Persist::Off;
            Some(sender.block().emit(piece, now))
        }
    }

    /// The ACK of an accepted probe advances the sequence space.
    pub fn answered(&mut self, ack: &Segment, sender: &mut Sender) {
        if let Persist::Waiting { probed: true, .. } | Persist::Due { probed: true, .. } = *self
            && ack.ack == sender.seen().max_sent() + 1
        {
            sender.block().probe_taken();
        }
    }
}
