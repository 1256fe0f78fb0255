//! The states of BBR (section 4.3 of the draft).

use tailback_base::Time;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Time,
    },
    /// `done` is the time at which this state may end. It is set once the window has been small enough. `round` says
    /// whether a round trip has passed since then.
    ProbeRtt {
        done: Option<Time>,
        round: bool,
    },
}

impl Mode {
    /// The number of this state in its probe.
    pub fn number(&self) -> f64 {
        match self {
            Mode::Startup => 0.0,
            Mode::Drain => 1.0,
            Mode::ProbeBw { .. } => 2.0,
            Mode::ProbeRtt { .. } => 3.0,
        }
    }
}
