//! Parameters that several meters share, including those that say how the colours are used.

use super::meters::Scope;
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Colour, Duration, Key, Kind, params};

pub const BURST: Kind = Kind::Bytes {
    min: 40,
    max: 1_000_000_000,
};
pub const RATE: Kind = Kind::Rate { min: 1.0, max: 1e14 };

tailback_base::choice! {
    /// Whether the colour that a packet arrives with is used.
    pub enum ColourMode { Blind = "blind", Aware = "aware" }

    /// The best colour that is dropped.
    pub enum Police { Red = "red", Yellow = "yellow" }
}

impl ColourMode {
    /// The colour of a packet that arrived with the colour `came` and for which the meter found another one.
    pub fn of(self, came: Colour, found: Colour) -> Colour {
        match self {
            ColourMode::Blind => found,
            ColourMode::Aware => found.max(came),
        }
    }
}

impl Police {
    pub fn colour(self) -> Colour {
        match self {
            Police::Red => Colour::Red,
            Police::Yellow => Colour::Yellow,
        }
    }
}

params! {
    /// The mode of markers that may be used behind another marker.
    pub MODE: ColourMode = Key::choice("mode", "blind",
        "Whether the meter takes account of the colour that a packet arrives with. With `aware` the meter never gives \
         a packet a better colour.",
        "RFC 2697 section 3, RFC 2698 section 3");

    /// The length of a sliding window.
    pub WINDOW: Duration = Key::new("window", Kind::Time { min: 1e-3, max: 1e3 }, "1s",
        "The time over which the rate is estimated.", "RFC 2859 section 3; 1 s in Clark and Fang 1998 section III");

    /// The packets that one meter counts.
    pub PER: Scope = Key::choice("per", "port",
        "Whether there is one meter for all packets, one for each aggregate, or one for each flow. Each of these \
         meters has these values.",
        "RFC 2475 section 2.3.3");

    /// The class whose code points represent the colours.
    pub CLASS: u64 = Key::new("class", Kind::Count { min: 1, max: 4 }, "1",
        "The class of assured forwarding whose code points packets get: in class 1, these are AF11, AF12 and AF13.",
        "RFC 2597 section 6");

    /// The packets that are not let through.
    pub POLICE: Option<Police> = Key::new("police", Kind::Choice(Police::WORDS), "none",
        "Which packets the meter drops at once: red ones, or both yellow and red ones.", "RFC 2475 section 2.3.3.4");
}

/// The two rates of a meter of three colours.
///
/// # Errors
/// The peak rate is below the committed rate.
pub fn two_rates(committed: BitRate, peak: BitRate) -> Result<(BitRate, BitRate), Refusal> {
    if peak.0 < committed.0 {
        return Err(Refusal::new(
            format!("peak_rate {peak} is below committed_rate {committed}"),
            "give a peak rate of at least the committed rate",
        ));
    }
    Ok((committed, peak))
}
