//! Policer: packets above a rate and a burst are dropped, and the other packets pass unchanged.
//!
//! Measure: tokens, which arrive at `rate` and are kept up to `burst`; with a peak rate there are also tokens of that
//! rate, kept up to `mtu`. Function: a packet conforms if there are tokens of both kinds for all its bytes. Action: a
//! packet that conforms takes the tokens; other packets are dropped (profile) and take no tokens. There is no queue and
//! so no delay, and a sender that sends in bursts at the speed of the line gets less than the rate.
//!
//! From: RFC 2475 section 2.3.3.4 (dropper); Linux's action `police`, tc-police(8).
//!
//! State: the exact number of tokens of each rate. A packet larger than the burst or larger than `mtu` never conforms.
//!
//! Cost of a packet: a few integer operations.

use crate::conditioner::{Conditioner, EdgeOut, Header};
use crate::entry::{BuildContext, Entry, Facts, Stands};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Bucket, DropReason, Key, Kind, Model, Packet, ProbeDef, Settings, Time, params};

pub static MODEL: Model = Model {
    name: "policer",
    family: "conditioner",
    title: "Policer",
    summary: "Drops packets beyond a rate and a burst, and does not change the others.",
    source: "tc-police(8); RFC 2475 section 2.3.3.4",
    params: PARAMS,
    probes: &PROBES,
};

const PROBES: [ProbeDef; 1] = [ProbeDef {
    name: "tokens",
    unit: "bytes",
    doc: "The largest burst that would conform now.",
    per: "",
}];

const RATES: Kind = Kind::Rate { min: 1.0, max: 1e13 };

params! {
    const PARAMS;

    RATE: BitRate = Key::new("rate", RATES, "", "Packets within this rate conform.", "tc-police(8)");
    BURST: u64 = Key::new("burst", Kind::Bytes { min: 1, max: 1_000_000_000_000 }, "",
        "How many bytes may arrive at once. Give at least the size of the largest packet.", "tc-police(8)");
    PEAK_RATE: Option<BitRate> = Key::new("peak_rate", RATES, "none",
        "The rate at which a burst may arrive. A peak rate needs `mtu`.", "tc-police(8), peakrate");
    MTU: Option<u64> = Key::new("mtu", Kind::Bytes { min: 1, max: 1_000_000 }, "none",
        "The size of the largest packet that conforms. This size is also the burst of the peak rate.", "tc-police(8)");
    OVERHEAD: u64 = Key::new("overhead", Kind::Bytes { min: 0, max: 1000 }, "0B",
        "How many bytes are counted in addition to those of each packet; Linux counts the 14 B of Ethernet.",
        "tc-police(8)");
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: build::<P>,
        facts: Facts {
            stands: Stands::Anywhere,
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext<'_>) -> Result<Box<dyn Conditioner<P>>, Refusal> {
    let mtu = s.get(&MTU);
    let peak = match (s.get(&PEAK_RATE), mtu) {
        (Some(_), None) => {
            let e = Refusal::new(
                "a peak rate needs the size of the largest packet",
                "give mtu = \"1514B\"",
            );
            return Err(e.within(PEAK_RATE.name));
        }
        (Some(rate), Some(mtu)) => Some((rate, Bucket::full(mtu))),
        (None, _) => None,
    };
    Ok(Box::new(Policer {
        rate: s.get(&RATE),
        bucket: Bucket::full(s.get(&BURST)),
        peak,
        mtu: mtu.unwrap_or(u64::MAX),
        overhead: s.get(&OVERHEAD) as u32,
    }))
}

/// The policer.
struct Policer {
    rate: BitRate,
    bucket: Bucket,
    peak: Option<(BitRate, Bucket)>,
    mtu: u64,
    overhead: u32,
}

impl Policer {
    fn conforms(&mut self, bytes: u32, now: Time) -> bool {
        let length = bytes + self.overhead;
        self.bucket.fill(self.rate, now);
        if let Some((rate, bucket)) = &mut self.peak {
            bucket.fill(*rate, now);
            if !bucket.holds(length) {
                return false;
            }
        }
        if u64::from(length) > self.mtu || !self.bucket.take(length) {
            return false;
        }
        if let Some((_, bucket)) = &mut self.peak {
            bucket.charge(length);
        }
        true
    }
}

impl<P: Packet> Conditioner<P> for Policer {
    fn forward(&mut self, p: P, _seen: &Header, now: Time, out: &mut dyn EdgeOut<P>) {
        match self.conforms(p.bytes(), now) {
            true => out.send(p),
            false => out.dropped(p, DropReason::Profile),
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, _probe: usize, _index: u32, now: Time) -> f64 {
        self.bucket.bytes_at(self.rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Plain, Seen, built};
    use tailback_base::Dscp;

    /// The arrival times of the packets that pass, if a packet of 1000 B with EF arrives at each of these times in
    /// microseconds.
    fn passed(with: &[(&str, &str)], at: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let settings = with.iter().fold(Settings::defaults(&MODEL), |s, (k, v)| s.with(k, v));
        let mut policer = built(&settings).unwrap();
        let mut passed = vec![];
        for us in at {
            let mut out = Seen::default();
            policer.forward(
                Plain::new(1000, Dscp(46)),
                &Header::default(),
                Time(1000 * us),
                &mut out,
            );
            assert!(out.colours.iter().all(|c| *c == Dscp(46)), "the code point stays");
            if !out.colours.is_empty() {
                passed.push(us);
            }
        }
        passed
    }

    /// A token for a byte arrives in a microsecond. So three packets pass at once, and then one in each millisecond.
    #[test]
    fn a_burst_and_then_the_rate() {
        let settings = [("rate", "8Mbps"), ("burst", "3000B")];
        assert_eq!(
            passed(&settings, [0, 0, 0, 0, 999, 1000, 1001, 2000]),
            [0, 0, 0, 1000, 2000]
        );
        // Dropped packets take no tokens. So if a packet arrives every 0.4 ms, four in ten pass.
        let many = passed(&settings, (0..10_000).map(|i| 400 * i)).len();
        assert!((many as i64 - 4003).abs() <= 3, "{many}");
        assert_eq!(passed(&[("rate", "8Mbps"), ("burst", "999B")], [0, 5000]), [0_u64; 0]);
        // If each packet counts 250 B more, two packets fit into the burst.
        let more = [("rate", "8Mbps"), ("burst", "3000B"), ("overhead", "250B")];
        assert_eq!(passed(&more, [0, 0, 0, 1000]), [0, 0, 1000]);
    }

    #[test]
    fn a_peak_rate_spaces_a_burst() {
        let settings = [
            ("rate", "8Mbps"),
            ("burst", "5000B"),
            ("peak_rate", "80Mbps"),
            ("mtu", "1000B"),
        ];
        assert_eq!(passed(&settings, [0, 0, 99, 100, 150, 200]), [0, 100, 200]);
        assert_eq!(
            passed(&[("rate", "8Mbps"), ("burst", "5000B"), ("mtu", "999B")], [0]),
            [0_u64; 0]
        );
    }
}
