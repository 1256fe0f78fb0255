//! Tests of the mean rate of every meter, with packets of 40 to 65,535 bytes and buckets of 1 kB or more.
//!
//! In a meter with buckets, at most as many bytes conform as the depth of the bucket plus the tokens that arrive at its
//! rate, whatever traffic arrives. If the packets fit into the bucket, this amount does conform, within 1 % over 100
//! packets. If they do not fit, no packets conform according to RFC 2697 and RFC 2698 (section 3). A sliding window has
//! no bucket: a share of the packets conforms, and for evenly spaced packets the rate of this share is the committed
//! rate at any packet size.

use crate::conditioner::{Conditioner, Header};
use crate::registry;
use crate::testing::{Plain, Seen, built};
use tailback_base::{Dscp, Settings, Stream, Time};

/// The number of packets that arrive for each packet that conforms.
const OFFERED: u64 = 250;
const GREEN: u8 = 10;
const YELLOW: u8 = 12;

/// The random values of a case, in bit/s and in bytes.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    rate: u64,
    depth: u64,
    bytes: u32,
}

/// A random value between `lo` and `hi`, for which each decade is equally likely.
fn between(s: &mut Stream, lo: f64, hi: f64) -> f64 {
    lo * (hi / lo).powf(s.uniform())
}

impl Drawn {
    fn new(s: &mut Stream, fastest: f64) -> Drawn {
        Drawn {
            rate: between(s, 64e3, fastest) as u64,
            depth: between(s, 1e3, 1e6) as u64,
            bytes: between(s, 40.0, 65_536.0) as u32,
        }
    }

    /// The arrival time of the i-th packet if packets arrive evenly spaced at `times` the rate.
    fn at(&self, i: u64, times: u64) -> Time {
        let bits = u128::from(i) * u128::from(self.bytes) * 8;
        Time((bits * 1_000_000_000 / u128::from(self.rate * times)) as u64)
    }

    fn settings(&self, model: &'static tailback_base::Model) -> Settings {
        let (rate, depth) = (format!("{}bps", self.rate), format!("{}B", self.depth));
        let settings: &[(&str, &str)] = match model.name {
            "token-bucket" => &[("rate", &rate), ("depth", &depth)],
            "srtcm" => &[
                ("committed_rate", &rate),
                ("committed_burst", &depth),
                ("excess_burst", &depth),
            ],
            "trtcm" => &[
                ("committed_rate", &rate),
                ("committed_burst", &depth),
                ("peak_rate", &rate),
                ("peak_burst", &depth),
            ],
            "atbtc" => &[("committed_rate", &rate), ("peak_rate", &rate), ("min_depth", &depth)],
            "tsw2cm" => &[("committed_rate", &rate), ("window", "100ms")],
            "tsw3cm" => &[("committed_rate", &rate), ("peak_rate", &rate), ("window", "100ms")],
            other => panic!("{other} is no meter of this test: say here what its rate is"),
        };
        settings
            .iter()
            .fold(Settings::defaults(model), |s, (name, text)| s.with(name, text))
    }
}

/// The meters that are conditioners by themselves. Four conditioners are not included: one has no rate, one gives no
/// colours, one has the rate of the network instead of the green rate, and one contains the others.
fn meters() -> Vec<&'static tailback_base::Model> {
    let models = registry::entries::<Plain>().models().into_iter();
    models
        .filter(|m| !["code-point", "policer", "marking-engine", "edge"].contains(&m.name))
        .collect()
}

struct Metered {
    meter: Box<dyn Conditioner<Plain>>,
    seen: Seen,
}

impl Metered {
    fn new(d: Drawn, model: &'static tailback_base::Model) -> Metered {
        let meter = built(&d.settings(model)).unwrap_or_else(|e| panic!("{d:?}: {e}"));
        Metered {
            meter,
            seen: Seen::default(),
        }
    }

    /// The colour of a packet.
    fn offer(&mut self, bytes: u32, at: Time) -> u8 {
        self.seen.colours.clear();
        self.meter
            .forward(Plain::new(bytes, Dscp(0)), &Header::default(), at, &mut self.seen);
        self.seen.colours[0].0
    }
}

#[test]
fn the_rate_of_a_bucket_is_its_rate_where_packets_fit_it() {
    let mut s = Stream::new(1, "drawn");
    for model in meters().into_iter().filter(|m| !m.name.starts_with("tsw")) {
        for _ in 0..25 {
            let case = Drawn::new(&mut s, 1e9);
            let mut metered = Metered::new(case, model);
            let fits = u64::from(case.bytes) <= case.depth;
            let mut green: Vec<u64> = vec![];
            // First packets for the full bucket arrive at once. Then a hundred conforming packets are measured, after
            // one that starts the count.
            let burst_packets = case.depth / u64::from(case.bytes);
            for i in 0..burst_packets + 102 * OFFERED {
                let arrival = case.at(i.saturating_sub(burst_packets), OFFERED);
                let colour = metered.offer(case.bytes, arrival);
                assert!(
                    fits || colour != GREEN,
                    "{} {case:?}: larger than the bucket",
                    model.name
                );
                if colour == GREEN {
                    green.push(arrival.0);
                    let most_green = case.depth as f64 + case.rate as f64 / 8e9 * arrival.0 as f64;
                    let passed = green.len() as f64 * f64::from(case.bytes);
                    assert!(
                        passed <= most_green + 1e-3,
                        "{} {case:?}: {passed} of {most_green} bytes",
                        model.name
                    );
                }
            }
            if fits {
                let (last, before) = (green[green.len() - 1], green[green.len() - 101]);
                let rate = 100.0 * 8e9 * f64::from(case.bytes) / (last - before) as f64;
                let off = rate / case.rate as f64 - 1.0;
                assert!(off.abs() < 0.01, "{} {case:?}: {rate}", model.name);
            }
        }
    }
}

/// Packets of all sizes, some larger than the bucket, in bursts.
#[test]
fn no_more_conforms_than_a_bucket_and_a_rate_allow() {
    let mut s = Stream::new(2, "drawn");
    for model in meters().into_iter().filter(|m| !m.name.starts_with("tsw")) {
        for _ in 0..25 {
            let case = Drawn::new(&mut s, 1e9);
            let mut metered = Metered::new(case, model);
            let (mut arrival, mut passed) = (Time::ZERO, [0.0; 2]);
            for _ in 0..4000 {
                let bytes = between(&mut s, 40.0, 65_536.0) as u32;
                let gap = s.exponential(8e9 * f64::from(bytes) / (2.0 * case.rate as f64));
                arrival.0 += if s.chance(0.7) { 0 } else { (4.0 * gap) as u64 };
                let colour = metered.offer(bytes, arrival);
                passed[0] += f64::from(u8::from(colour == GREEN)) * f64::from(bytes);
                passed[1] += f64::from(u8::from(colour == GREEN || colour == YELLOW)) * f64::from(bytes);
                let arrived_tokens = case.rate as f64 / 8e9 * arrival.0 as f64;
                // For the marker with one rate, yellow packets are those of a second bucket. For the marker with two
                // colours, all packets that are not green are yellow.
                let yellow = match model.name {
                    "srtcm" => 2.0 * case.depth as f64,
                    "token-bucket" => f64::INFINITY,
                    _ => case.depth as f64,
                };
                assert!(
                    passed[0] <= case.depth as f64 + arrived_tokens + 1e-3,
                    "{} {case:?}: green",
                    model.name
                );
                assert!(
                    passed[1] <= yellow + arrived_tokens + 1e-3,
                    "{} {case:?}: yellow",
                    model.name
                );
            }
        }
    }
}

/// If packets arrive at twice the rate, half of them are green, at any size. 60,000 draws have a standard deviation of
/// 0.4 % of this half.
#[test]
fn the_share_of_a_sliding_window_is_its_rate_at_any_size() {
    const PACKETS: u64 = 60_000;
    let mut s = Stream::new(3, "drawn");
    for model in meters().into_iter().filter(|m| m.name.starts_with("tsw")) {
        for _ in 0..12 {
            let case = Drawn::new(&mut s, 1e7);
            let mut metered = Metered::new(case, model);
            // The estimate settles after some windows.
            let begin = (0..).find(|i| case.at(*i, 2).0 > 1_000_000_000).unwrap_or(0);
            (0..begin).for_each(|i| _ = metered.offer(case.bytes, case.at(i, 2)));
            let green = (begin..begin + PACKETS).filter(|i| metered.offer(case.bytes, case.at(*i, 2)) == GREEN);
            let share = 2.0 * green.count() as f64 / PACKETS as f64;
            assert!(
                (share - 1.0).abs() < 0.015,
                "{} {case:?}: {share} of the rate",
                model.name
            );
        }
    }
}
