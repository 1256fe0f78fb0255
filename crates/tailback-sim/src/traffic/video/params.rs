//! The parameters of video, and the published shapes.

use super::sizes;
use crate::declare::kinds::{self, TIME};
use crate::traffic::conflict::Conflict;
use tailback_base::model::Profile;
use tailback_base::{BitRate, Duration, Key, Kind, Model, Param, Settings, params};

const PRESETS: &[Profile] = &[
    Profile {
        name: "gop",
        doc: "groups of 30 pictures at 2 Mbit/s: an I frame five times as large as a P frame on average",
        values: &[],
    },
    Profile {
        name: "80211ax",
        doc: "buffered video of IEEE 802.11ax at 2 Mbit/s: Weibull sizes with scale 6950 B and shape 0.8099",
        // The scale is the rate divided by the mean size, 6950 B times Gamma(1 + 1 / 0.8099). The scale follows the
        // rate, as in the source.
        values: &[
            ("fps", "32.025441"),
            ("group", "1"),
            ("frames", "{ kind = weibull, shape = 0.8099 }"),
        ],
    },
    Profile {
        name: "rfc8593",
        doc: "the encoder of RFC 8593 for a sender that adapts: 30 frames a second at 1 Mbit/s, Laplace sizes, and \
              a large frame only where the rate changes",
        values: &[
            ("rate", "1Mbps"),
            ("group", "1000000"),
            ("i_ratio", "1"),
            ("frames", "{ kind = laplace, scale = 0.15 }"),
            ("jitter", "7ms"),
            ("jitter_max", "16ms"),
            ("transient", "8"),
        ],
    },
    Profile {
        name: "xr",
        doc: "extended reality of 3GPP TR 38.838 at 30 Mbit/s: 60 frames a second, sizes within half of their mean",
        values: &[
            ("fps", "60"),
            ("rate", "30Mbps"),
            ("group", "1"),
            ("frames", "{ kind = gaussian, variation = 0.105, min = 0.5, max = 1.5 }"),
            ("jitter", "2ms"),
            ("jitter_max", "4ms"),
        ],
    },
];

pub static MODEL: Model = Model {
    name: "video",
    family: "traffic",
    title: "Video",
    summary: "Sends a frame at even intervals, over datagrams or written to a connection. The table of frames says how \
              long frames take and which fail.",
    source: "IEEE 802.11-14/0571r12; 3GPP TR 38.838",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    PRESET = Param::new("preset", Kind::Profile(PRESETS), "gop",
        "The published model, which supplies the values that are not given here.", "");
    pub RATE: BitRate = Key::new("rate", kinds::RATE, "2Mbps", "The mean rate of all frames, without headers.", "");
    pub FPS: f64 = Key::new("fps", Kind::Real { min: 0.001, max: 10_000.0 }, "30", "Frames a second.", "");
    pub GROUP: u64 = Key::new("group", Kind::Count { min: 1, max: 1_000_000 }, "30",
        "How many frames a group has: its first is an I frame, the others are P frames.", "");
    pub I_RATIO: f64 = Key::new("i_ratio", Kind::Real { min: 0.01, max: 1000.0 }, "5",
        "The mean size of an I frame, divided by the mean size of a P frame.", "");
    pub FRAMES = Param::new("frames", Kind::Model("frame-size"), "log-normal", "How the sizes of frames vary.", "");
    pub JITTER: Duration = Key::new("jitter", TIME, "0s",
        "The standard deviation of the time of a frame around its place; its distribution is normal.", "");
    pub JITTER_MAX: Duration = Key::new("jitter_max", TIME, "4ms",
        "The largest distance of a frame from its place in time; draws beyond it are made again.", "");
    pub PAYLOAD: u64 = Key::new("payload", Kind::Bytes { min: 1, max: 60_000 }, "1200B",
        "The largest payload of a datagram.", "");
    pub HEADERS: u32 = Key::new("headers", Kind::Bytes { min: 0, max: 5_000 }, "40B",
        "How many bytes a datagram has beside its payload: RTP, UDP and IP.", "RFC 3550: 12 + 8 + 20 B");
    pub SPREAD: f64 = Key::new("spread", Kind::Real { min: 0.0, max: 1.0 }, "0",
        "The share of the time to the next frame over which the datagrams of a frame leave evenly; 0 sends them at \
         once.", "");
    pub REACTION: Duration = Key::new("reaction", TIME, "200ms",
        "Over a transport that adapts: the time after which the encoder follows a new target.", "RFC 8593 section 5.1");
    pub TRANSIENT: u64 = Key::new("transient", Kind::Count { min: 0, max: 1000 }, "0",
        "How many frames a change of the rate disturbs: an I frame and then smaller frames. With 0, only the mean \
         size of frames changes.",
        "RFC 8593 section 5.2");
    pub I_FRAME: u64 = Key::new("i_frame", Kind::Bytes { min: 1, max: 10_000_000 }, "13500B",
        "The size of the I frame with which a change of the rate begins.", "RFC 8593 section 5.2");
    pub CHANGE: f64 = Key::new("change", Kind::Real { min: 0.0, max: 1000.0 }, "0.2",
        "A change of the rate by more than this share disturbs frames, as `transient` says.", "");
    pub SKIP: bool = Key::new("skip", Kind::Bool, "false",
        "Over a connection: whether a frame is discarded if none of its bytes has been sent by its deadline.", "");
    pub CHAIN: bool = Key::new("chain", Kind::Bool, "false",
        "Whether, after a frame that failed, the P frames up to the next I frame fail too.", "");
}

/// The largest mean frame, bytes: a hundred thousand packets.
const LARGEST: f64 = 120e6;

/// Whether the settings are consistent.
pub fn check(s: &Settings) -> Result<(), Conflict> {
    let conflict = |param: &'static str, problem: String, remedy: &'static str| {
        Err(Conflict {
            param,
            value: None,
            problem,
            remedy,
        })
    };
    let (interval, jitter, farthest) = (1.0 / s.get(&FPS), s.get(&JITTER), s.get(&JITTER_MAX));
    if jitter.0 > 0 && 2.0 * farthest.seconds() >= interval {
        let problem = format!(
            "frames that are made up to {farthest} before or after their places, which are {:.3} ms apart, can change \
             their order",
            1e3 * interval
        );
        return conflict(
            JITTER_MAX.name,
            problem,
            "give a jitter_max of less than half of the time between frames",
        );
    }
    if jitter.seconds() > 100.0 * farthest.seconds() {
        let problem = format!("hardly any draw of a jitter of {jitter} lies within {farthest}");
        let remedy = "give a larger jitter_max, or a smaller jitter";
        return conflict(JITTER_MAX.name, problem, remedy);
    }
    let uneven = if jitter.0 > 0 { 2.0 * farthest.seconds() } else { 0.0 };
    if s.get(&SPREAD) * interval > interval - uneven {
        let problem = "the datagrams of a frame would still be leaving when the next frame is made early".into();
        return conflict(SPREAD.name, problem, "give a smaller spread, or a smaller jitter_max");
    }
    let mean = s.get(&RATE).bits_per_second() * interval / 8.0;
    if !(1.0..=LARGEST).contains(&mean) {
        let problem = format!("a mean frame has {mean} bytes: rate / fps / 8");
        return conflict(
            RATE.name,
            problem,
            "give a rate and fps that make frames of 1 B to 120 MB",
        );
    }
    sizes::check(s.within(FRAMES.name))
}
