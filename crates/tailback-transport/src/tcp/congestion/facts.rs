//! The needs of a congestion control from its connection and from the path, as declared in its entry of the list.
//!
//! All code that builds, estimates, checks, advises or configures a kernel reads these facts, so no other code depends
//! on the name of a control. The facts are constant for the life of a connection.

use super::{EchoRule, WindowRules};
use tailback_base::{Ecn, Settings};

tailback_base::choice! {
    /// The response of a control to congestion marks.
    pub enum Marks {
        /// Marks are the signal of the control. Without marks it is another control (RFC 8257, RFC 9331).
        Needs = "needs",
        /// A mark is a sign of congestion like a loss (RFC 3168).
        Answers = "answers",
        /// Marks have no effect, so a marking queue does not slow the control.
        Ignores = "ignores",
    }
}

/// Whether a control needs something. This follows from its own parameters and the rules of the window.
pub type Asks = fn(&Settings, &WindowRules) -> bool;

pub fn never(_: &Settings, _: &WindowRules) -> bool {
    false
}

pub fn always(_: &Settings, _: &WindowRules) -> bool {
    true
}

/// The facts about a control, as its fields describe.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub marks: Marks,
    /// How the receiver echoes marks. With [`EchoRule::EveryAck`] no echo is reported as
    /// [`Congestion::Ecn`](super::Congestion::Ecn), because the ACKs carry the echoes.
    pub echo: EchoRule,
    /// The codepoint of the control's ECN-capable packets: ECT(0), or ECT(1) for a scalable control (RFC 9331).
    pub codepoint: Ecn,
    /// Whether the control uses delivery-rate samples, for which the sender records each segment.
    pub records: Asks,
    /// Whether the control is called for [each lost segment](super::CongestionControl::on_lost). If so, it also gets
    /// rate samples.
    pub hears_losses: Asks,
    /// Whether the control is called for [each segment that leaves](super::CongestionControl::sends).
    pub hears_departures: Asks,
    /// Whether a reduction of the window may be spread over a round trip (RFC 9937). It may not be spread if the
    /// control sets window and rate from its own model.
    pub spreads: bool,
    /// Whether the control chooses the code point of each segment in [`sends`](super::CongestionControl::sends), just
    /// before the segment leaves.
    pub colours: bool,
    /// Whether the control ignores losses as signs of congestion.
    pub ignores_losses: bool,
    /// The name of the control in Linux; `None` if Linux has no such control.
    pub linux: Option<&'static str>,
}

impl Facts {
    /// A control that responds to losses and marks, and whose only input is ACKs (RFC 5681, RFC 3168).
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
