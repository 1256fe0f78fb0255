//! Token bucket: packets within a rate and a burst are "in", and the other packets are "out".
//!
//! A bucket fills at `rate` up to `depth`. A packet that finds tokens for its size takes these tokens and is in
//! profile. Other packets take no tokens and are out of profile. Packets in profile get the code point AF11. Packets
//! out of profile get AF12, which a queue that distinguishes colours drops first. They may also be dropped at once; the
//! marker is then a policer.
//!
//! From: the single rate marker of RFC 2697 section 3 in its colour-blind mode, with an excess burst size of zero, so
//! that two colours remain. This is also the tagger at the edge of Clark and Fang, "Explicit allocation of best-effort
//! packet delivery service", 1998, section III. Code points: RFC 2597 section 6.
//!
//! State: an exact [`Bucket`]. Tokens arrive continuously, and not in ticks of at most one byte as in RFC 2697. The
//! bucket starts full. A packet larger than the depth is never in profile.
//!
//! Cost of a packet: a few integer operations.

use super::params::{BURST, CLASS, PER, RATE};
use super::{Meter, MeterRow};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Bucket, Colour, Key, Model, ProbeDef, Settings, Stream, Time, params};

pub static MODEL: Model = Model {
    name: "token-bucket",
    family: "conditioner",
    title: "Token bucket marker",
    summary: "Packets within a rate and a burst are marked AF11. The others are marked AF12, or dropped.",
    source: "RFC 2697 section 3 with an excess burst size of zero; Clark and Fang 1998",
    params: PARAMS,
    probes: &[ProbeDef {
        name: "tokens",
        unit: "bytes",
        doc: "The largest burst that would be in profile now.",
        per: "",
    }],
};

params! {
    const PARAMS;

    pub TOKEN_RATE: BitRate = Key::new("rate", RATE, "",
        "Packets within this rate are in profile. The rate includes headers.", "RFC 2697 section 2 (CIR)");
    DEPTH: u64 = Key::new("depth", BURST, "15000B",
        "How many bytes may arrive at once. Give at least the size of the largest packet, which otherwise would never \
         be in profile.",
        "ten packets of 1500 B, since at one packet roundings decide; RFC 2697 section 2 (CBS) leaves it open");
    pub EXCESS: OutOfProfile = Key::choice("excess", "mark",
        "What happens to packets out of profile: they are marked AF12, or dropped.", "RFC 2475 section 2.3.3");
    PER;
    CLASS;
}

tailback_base::choice! {
    /// The treatment of packets out of profile.
    pub enum OutOfProfile { Mark = "mark", Drop = "drop" }
}

pub const ROW: MeterRow = MeterRow { model: &MODEL, build };

/// The meter.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate: BitRate,
    bucket: Bucket,
}

fn build(s: &Settings, _: Stream) -> Result<Box<dyn Meter>, Refusal> {
    Ok(Box::new(TokenBucket {
        rate: s.get(&TOKEN_RATE),
        bucket: Bucket::full(s.get(&DEPTH)),
    }))
}

impl Meter for TokenBucket {
    fn colour(&mut self, bytes: u32, _came: Colour, now: Time) -> Colour {
        self.bucket.fill(self.rate, now);
        if self.bucket.take(bytes) {
            Colour::Green
        } else {
            Colour::Yellow
        }
    }

    fn read(&self, _probe: usize, now: Time) -> f64 {
        self.bucket.bytes_at(self.rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditioner::{Conditioner, Header};
    use crate::testing::{Plain, Seen, built};
    use tailback_base::{DropReason, Dscp};

    const IN_PROFILE: Dscp = Dscp(10);
    const OUT_OF_PROFILE: Dscp = Dscp(12);

    fn bucket(excess: &str) -> Box<dyn Conditioner<Plain>> {
        let settings = Settings::defaults(&MODEL)
            .with("rate", "8Mbps")
            .with("depth", "3000B")
            .with("excess", excess);
        built(&settings).unwrap_or_else(|e| panic!("{e}"))
    }

    fn offer(c: &mut dyn Conditioner<Plain>, out: &mut Seen, at: u64, bytes: u32) {
        c.forward(Plain::new(bytes, Dscp(0)), &Header::default(), Time(at), out);
    }

    #[test]
    fn a_burst_of_the_depth_is_in_and_tokens_come_back_at_the_rate() {
        let (mut c, mut out) = (bucket("mark"), Seen::default());
        for _ in 0..3 {
            offer(&mut *c, &mut out, 0, 1500);
        }
        // 1500 bytes of tokens have arrived again after 1.5 ms, and not a nanosecond before.
        offer(&mut *c, &mut out, 1_499_999, 1500);
        offer(&mut *c, &mut out, 1_500_000, 1500);
        let (green, red) = (IN_PROFILE, OUT_OF_PROFILE);
        assert_eq!(out.colours, [green, green, red, red, green]);
        assert_eq!(c.read(0, 0, Time(2_000_000)), 500.0);
        assert_eq!(c.read(0, 0, Time(1_000_000_000)), 3000.0, "no more than the depth");
    }

    #[test]
    fn in_the_long_run_the_rate_is_in_profile() {
        let (mut c, mut out) = (bucket("mark"), Seen::default());
        // 12 Mb/s arrive for 10 s. Of these 8 Mb/s conform, plus the depth of the bucket once.
        for i in 0..10_000 {
            offer(&mut *c, &mut out, i * 1_000_000, 1500);
        }
        let green = out.colours.iter().filter(|c| **c == IN_PROFILE).count();
        assert_eq!(green, (10_000_000 - 1000 + 3000) / 1500);
    }

    #[test]
    fn a_policer_drops_the_rest() {
        let (mut c, mut out) = (bucket("drop"), Seen::default());
        for _ in 0..3 {
            offer(&mut *c, &mut out, 0, 1500);
        }
        assert_eq!(out.colours, [IN_PROFILE; 2]);
        assert_eq!(out.dropped, [DropReason::Profile]);
    }
}
