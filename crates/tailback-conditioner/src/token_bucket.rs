//! Token bucket: what a rate and a burst allow is "in", the rest is "out".
//!
//! A bucket fills at `rate` up to `depth`. A packet that finds its size in tokens takes them and is in profile; another
//! leaves the bucket as it is and is out of profile. What is in profile gets the code point AF11, what is not AF12, which
//! a queue that knows colours drops first; or it is dropped at once, which makes the marker a policer.
//!
//! From: the single rate marker of RFC 2697 section 3 in its colour-blind mode, with an excess burst size of zero (so that
//! two colours remain), which is the tagger at the edge of Clark and Fang, "Explicit allocation of best-effort packet
//! delivery service", 1998, section III. Code points: RFC 2597 section 6.
//!
//! State: a [`Bucket`], exact. Tokens come continuously, not in ticks as in RFC 2697, whose tick is at most a byte long.
//! The bucket starts full. A packet larger than the depth is never in profile.
//!
//! Cost: a few integer operations a packet.

use crate::conditioner::{Conditioner, EdgeOut, Header};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Bucket, DropReason, Dscp, Kind, Model, Packet, Param, ProbeDef, Settings, Time};

pub static MODEL: Model = Model {
    name: "token-bucket",
    family: "conditioner",
    title: "Token bucket marker",
    summary: "Packets within a rate and a burst are marked AF11, the others AF12, or dropped.",
    source: "RFC 2697 section 3 with an excess burst size of zero; Clark and Fang 1998",
    params: &[
        Param::new(
            "rate",
            Kind::Rate { min: 1.0, max: 1e14 },
            "",
            "The rate that is in profile; headers count.",
            "RFC 2697 section 2 (CIR)",
        ),
        Param::new(
            "depth",
            Kind::Bytes {
                min: 40,
                max: 1_000_000_000,
            },
            "",
            "How much may come at once; at least the largest packet, which would never be in profile else.",
            "RFC 2697 section 2 (CBS)",
        ),
        Param::new(
            "excess",
            Kind::Choice(&["mark", "drop"]),
            "mark",
            "What becomes of packets out of profile: AF12, or nothing.",
            "RFC 2475 section 2.3.3",
        ),
    ],
    probes: PROBES,
};

const PROBES: &[ProbeDef] = &[ProbeDef {
    name: "tokens",
    unit: "bytes",
    doc: "What may come at once now.",
    per: "",
}];

pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: build::<P>,
        facts: Facts {
            stands: Stands::Anywhere,
        },
    }
}

/// Code points of assured forwarding class 1, low and medium drop precedence.
pub const IN_PROFILE: Dscp = Dscp(10);
pub const OUT_OF_PROFILE: Dscp = Dscp(12);

/// The marker.
pub struct TokenBucket {
    rate: BitRate,
    bucket: Bucket,
    drop: bool,
}

fn build<P: Packet + 'static>(s: &Settings, _: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    Ok(Box::new(TokenBucket {
        rate: s.rate("rate"),
        bucket: Bucket::full(s.count("depth")),
        drop: s.text("excess") == "drop",
    }))
}

impl<P: Packet> Conditioner<P> for TokenBucket {
    fn forward(&mut self, mut p: P, _seen: &Header, now: Time, out: &mut dyn EdgeOut<P>) {
        self.bucket.fill(self.rate, now);
        if self.bucket.take(p.bytes()) {
            p.set_dscp(IN_PROFILE);
            out.send(p);
        } else if self.drop {
            out.dropped(p, DropReason::Profile);
        } else {
            p.set_dscp(OUT_OF_PROFILE);
            out.send(p);
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        PROBES
    }

    fn read(&self, _probe: usize, _index: u32, now: Time) -> f64 {
        self.bucket.bytes_at(self.rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditioner::EdgeId;
    use crate::testing::{Plain, Seen};
    use tailback_base::Stream;

    fn bucket(excess: &str) -> Box<dyn Conditioner<Plain>> {
        let settings = Settings::defaults(&MODEL)
            .with("rate", "8Mbps")
            .with("depth", "3000B")
            .with("excess", excess);
        let context = BuildContext {
            stream: Stream::new(1, "edge"),
            rate: BitRate(1),
            edge: EdgeId(0),
            edges: &|_| Ok(EdgeId(0)),
        };
        entry().build(&settings, context).unwrap_or_else(|e| panic!("{e}"))
    }

    fn offer(c: &mut dyn Conditioner<Plain>, out: &mut Seen, at: u64, bytes: u32) {
        c.forward(Plain(bytes, Dscp(0)), &Header::default(), Time(at), out);
    }

    #[test]
    fn a_burst_of_the_depth_is_in_and_tokens_come_back_at_the_rate() {
        let (mut c, mut out) = (bucket("mark"), Seen::default());
        for _ in 0..3 {
            offer(&mut *c, &mut out, 0, 1500);
        }
        // 1500 bytes are back after 1.5 ms, and not a nanosecond before.
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
        // 12 Mb/s for 10 s: 8 Mb/s of it, and the depth once.
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
