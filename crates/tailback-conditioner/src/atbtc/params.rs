//! The parameters of the adaptive token bucket.

use crate::meter::params::{BURST, CLASS, MODE, PER, RATE};
use tailback_base::{BitRate, Duration, Key, Kind, params};

const THESIS: &str = "Liu 2001 chapter 4";

tailback_base::choice! {
    /// The source of the round trip.
    pub enum SrttSource { Sender = "sender", Snoop = "snoop" }
}

params! {
    pub const PARAMS;

    pub COMMITTED_RATE: BitRate = Key::new("committed_rate", RATE, "",
        "The baseline rate of the client. Packets within this rate are green. The rate includes headers.", THESIS);
    pub PEAK_RATE: Option<BitRate> = Key::new("peak_rate", RATE, "none",
        "The higher rate, above which packets are red. Default: twice the committed rate.", THESIS);
    pub MIN_DEPTH: u64 = Key::new("min_depth", BURST, "5000B",
        "The depth of both buckets until the first round-trip time is known, and their least depth later. Give at \
         least the size of the burst that the sender sends at the beginning.",
        "Liu 2001 chapter 4: 5 packets of 1000 bytes");
    pub COLOURS: u64 = Key::new("colours", Kind::Count { min: 2, max: 3 }, "3",
        "How many colours there are. With 2, packets are green or red: packets beyond the committed rate are red.",
        THESIS);
    pub DEPTH_FLOOR: bool = Key::new("depth_floor", Kind::Bool, "true",
        "Whether min_depth is also the least depth after the first round-trip time is known. If false, a short round \
         trip makes the depth smaller than the first window.",
        THESIS);
    pub RETRANSMIT_GREEN: bool = Key::new("retransmit_green", Kind::Bool, "false",
        "Whether every retransmission is green. A retransmission takes tokens for all its bytes or, if there are too \
         few, all tokens that the buckets have.", THESIS);
    pub SLOWSTART_POLICE: bool = Key::new("slowstart_police", Kind::Bool, "false",
        "Drop the first red packet of each slow start, whatever the load is, so that slow start ends.", THESIS);
    pub SLOWSTART_SHAPE: u64 = Key::new("slowstart_shape", Kind::Count { min: 0, max: 1_000_000 }, "0",
        "How many packets of a sender in slow start may wait until they are within the peak rate, instead of leaving \
         red. The first packet beyond this number is dropped, so that slow start ends. With 0 no packet waits.",
        THESIS);
    MODE;
    pub BY_WEIGHT: bool = Key::new("by_weight", Kind::Bool, "false",
        "Whether both rates of a client are multiplied by the sum of the weights of its flows that are present.",
        "");
    pub SRTT_SOURCE: SrttSource = Key::choice("srtt_source", "sender",
        "Where the round trip comes from: the sender reports it, or a router measures it with the time stamps of data \
         and acknowledgements that pass.", THESIS);
    pub REPORT_DELAY: Duration = Key::new("report_delay", Kind::Time { min: 0.0, max: 1e3 }, "0s",
        "The delay after which the marker gets the sender's round-trip time: 0s in the sender's host; on a link, the \
         time that a report takes.",
        THESIS);
    PER;
    CLASS;
}
