//! The needs of a congestion control from its connection and from the path, as its row declares them.
//!
//! Whoever builds, estimates, checks, advises or talks to a kernel reads these facts, so that no other place knows a
//! control by its name. They hold for the life of a connection.

use super::{EchoRule, WindowRules};
use tailback_base::{Ecn, Settings};

tailback_base::choice! {
    /// The response of a control to congestion marks.
    pub enum Marks {
        /// Marks are its signal: without them it is another control (RFC 8257, RFC 9331).
        Needs = "needs",
        /// A mark is a sign of congestion like a loss (RFC 3168).
        Answers = "answers",
        /// Marks have no effect, so a marking queue does not slow it.
        Ignores = "ignores",
    }
}

/// Whether a control asks for something, from its own parameters and the rules of the window.
pub type Asks = fn(&Settings, &WindowRules) -> bool;

pub fn never(_: &Settings, _: &WindowRules) -> bool {
    false
}

pub fn always(_: &Settings, _: &WindowRules) -> bool {
    true
}

/// See the fields.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub marks: Marks,
    /// How the receiver is to echo marks. With [`EchoRule::EveryAck`] no echo is reported as
    /// [`Congestion::Ecn`](super::Congestion::Ecn), because the ACKs carry them.
    pub echo: EchoRule,
    /// The codepoint of its ECN-capable packets: ECT(0), or ECT(1) for a scalable control (RFC 9331).
    pub codepoint: Ecn,
    /// Whether it uses delivery-rate samples, for which the sender records each segment.
    pub records: Asks,
    /// Whether it hears of [each lost segment](super::CongestionControl::on_lost); then it gets rate samples too.
    pub hears_losses: Asks,
    /// Whether it hears of [each segment that leaves](super::CongestionControl::sends).
    pub hears_departures: Asks,
    /// Whether a reduction of its window may be spread over a round trip (RFC 9937). Not for a control that sets window
    /// and rate from its own model.
    pub spreads: bool,
    /// It chooses the code point of each segment in [`sends`](super::CongestionControl::sends), just before the
    /// segment.
    pub colours: bool,
    /// A loss is no sign of congestion for it.
    pub ignores_losses: bool,
    /// Its name in Linux; `None` if Linux has no such control.
    pub linux: Option<&'static str>,
}

impl Facts {
    /// A control that responds to losses and marks and gets only ACKs (RFC 5681, RFC 3168).
    pub const CLASSIC: Facts = Facts {
        marks: Marks::Answers,
        echo: EchoRule::Rfc3168,
        codepoint: Ecn::Ect0,
        records: never,
        hears_losses: never,
        hears_departures: never,
        spreads: true,
        colours: false,
        ignores_losses: false,
        linux: None,
    };
    /// A control whose window follows the share of marked data (RFC 8257).
    pub const PROPORTIONAL: Facts = Facts {
        marks: Marks::Needs,
        echo: EchoRule::EveryAck,
        ..Facts::CLASSIC
    };
}
