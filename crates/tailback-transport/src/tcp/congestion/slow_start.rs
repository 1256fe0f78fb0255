//! A rule that ends slow start before a loss does. It is separate from the control.
//!
//! A control that has a [`CongestionWindow`](super::CongestionWindow) gets a rule when it is made, and applies this
//! rule at each ACK of slow start. There are three rules: HyStart++ (`hystart.rs`), the train of Linux and ns-3
//! (`train.rs`), and SEARCH (`search.rs`).

use super::hystart::HystartPlusPlus;
use super::search::Search;
use super::train::AckTrain;
use super::{AckEvent, ControlForm, Departure};
use tailback_base::Duration;

tailback_base::choice! {
    /// The rules that exist.
    pub enum SlowStartRule {
        /// HyStart++ (RFC 9406).
        Hystart = "hystart",
        /// The train of Linux, or of ns-3.
        Train = "train",
        /// SEARCH (draft-chung-ccwg-search-09).
        Search = "search",
    }
}

impl SlowStartRule {
    pub fn make(self, form: ControlForm) -> Box<dyn SlowStart> {
        match self {
            SlowStartRule::Hystart => Box::<HystartPlusPlus>::default(),
            SlowStartRule::Train if form == ControlForm::Ns3 => Box::new(AckTrain::of_ns3()),
            SlowStartRule::Train => Box::<AckTrain>::default(),
            SlowStartRule::Search => Box::<Search>::default(),
        }
    }
}

/// The inputs of a rule in addition to the ACK. Amounts are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct StartView {
    /// The window before this ACK.
    pub cwnd: f64,
    /// Whether this is the first slow start of the connection, without a threshold.
    pub first: bool,
    /// The least round trip of the connection, if the control keeps one.
    pub least: Option<Duration>,
    /// The payload of a full segment, and the size of this segment on the wire.
    pub segment: f64,
    pub wire: f64,
}

/// How slow start may react to an ACK.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SlowStartAdvice {
    /// The window grows as without the rule.
    Usual,
    /// The window grows by this share of the acknowledged bytes, of which at most `most` segments count.
    Grow { share: f64, most: f64 },
    /// The threshold becomes the present window. If the ACK is not `spent` on this end of slow start, it counts for
    /// avoidance.
    End { spent: bool },
}

pub trait SlowStart: Send {
    /// An ACK that arrives in slow start, whether or not the window may grow on it.
    fn judge(&mut self, a: &AckEvent<'_>, seen: &StartView) -> SlowStartAdvice;
    /// A segment leaves in slow start. This function is called only for a control that [requires
    /// it](super::Facts::hears_departures).
    fn sends(&mut self, _sent: &Departure) {}
    /// A timeout, after which another slow start begins.
    fn restart(&mut self) {}
}
