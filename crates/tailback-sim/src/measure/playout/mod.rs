//! Playout: the times at which data that have arrived are played or shown.
//!
//! A receiver holds data until a playout delay has passed since they were made, so that jitter is not heard. Late data
//! and lost data are then counted together as missing. A longer delay makes less data missing, and a conversation
//! harder.
//!
//! * `fixed`: the delay is the same for the whole run;
//! * `adaptive`: each talk has its own delay, the smoothed delay of packets plus four times its smoothed deviation
//!   (Ramjee, Kurose, Towsley and Schulzrinne, INFOCOM 1994, algorithm 1). The delay does not change within a talk,
//!   because a change would be heard.
//!
//! `packets` plays datagrams; `pictures` shows the frames of video.

mod packets;
mod pictures;

pub use packets::PacketPlayout;
pub use pictures::{CompleteFrame, PicturePlayout};

use crate::declare::kinds::TIME;
use tailback_base::{Duration, Key, Kind, Model, Settings, params};

pub static FIXED: Model = Model {
    name: "fixed",
    family: "playout",
    title: "Fixed playout delay",
    summary: "Everything is played at a fixed delay after it was made, and what arrives later is missing. A frame of \
              video that is complete later is shown at once.",
    source: "",
    params: FIXED_PARAMS,
    probes: &[],
};

params! {
    const FIXED_PARAMS;

    pub DELAY: Duration = Key::new("delay", TIME, "100ms", "The time from making to playing.", "");
}

pub static ADAPTIVE: Model = Model {
    name: "adaptive",
    family: "playout",
    title: "Playout delay by talk",
    summary: "Each talk is played with its own delay: the smoothed delay of packets plus a multiple of the smoothed \
              deviation. For voice with silences.",
    source: "Ramjee, Kurose, Towsley and Schulzrinne 1994, algorithm 1",
    params: ADAPTIVE_PARAMS,
    probes: &[],
};

params! {
    const ADAPTIVE_PARAMS;

    pub START: Duration = Key::new("start", TIME, "60ms",
        "The time from the arrival of the first packet until the first talk is played.", "");
    pub WEIGHT: f64 = Key::new("weight", Kind::Real { min: 0.0, max: 0.999_999 }, "0.998002",
        "The weight of the old value in both averages, which each packet updates.", "Ramjee et al. 1994");
    pub DEVIATIONS: f64 = Key::new("deviations", Kind::Real { min: 0.0, max: 100.0 }, "4",
        "How many deviations the delay is above the mean.", "Ramjee et al. 1994");
}

/// Every model, in the order of the reference page.
pub fn models() -> Vec<&'static Model> {
    vec![&FIXED, &ADAPTIVE]
}

/// The delay, if it is the same for the whole run.
pub fn fixed_delay(s: &Settings) -> Option<Duration> {
    std::ptr::eq(s.model, &FIXED).then(|| s.get(&DELAY))
}
