//! The mean rate of everything that lets packets go by tokens or by a clock, at packets from 40 to 65,535 bytes and
//! buckets from 1 kB up: it is the rate, within 1 % over 100 packets, and what left is never more than the bucket, the
//! rate and one packet.

use tailback_base::{BitRate, Duration, Settings, Stream, Time};
use tailback_queue::testing::{Log, TestPacket};
use tailback_queue::{BuildContext, Server, registry};

/// What a case draws: bit/s, and bytes.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    rate: u64,
    depth: u64,
}

fn between(s: &mut Stream, lo: f64, hi: f64) -> f64 {
    lo * (hi / lo).powf(s.uniform())
}

impl Drawn {
    fn new(s: &mut Stream) -> Drawn {
        Drawn {
            rate: between(s, 64e3, 1e8) as u64,
            depth: between(s, 1e3, 1e6) as u64,
        }
    }

    /// A discipline that shapes to this rate. Its line is ten times as fast.
    fn server(self, name: &str) -> Server<TestPacket> {
        let (rate, depth) = (format!("{}bps", self.rate), self.depth.to_string());
        let bytes = format!("{depth}B");
        let given: &[(&str, &str)] = match name {
            "aaqm" => &[
                ("profile", "shape"),
                ("rate", &rate),
                ("bucket", &depth),
                ("buffer", "1000 packets"),
                // The average stays where RED does nothing.
                ("weight", "0"),
            ],
            "cake" => &[("rate", &rate)],
            "htb" => &[("rate", &rate), ("burst", &bytes), ("queue", "droptail")],
            other => panic!("{other} does not shape"),
        };
        let model = registry::find(name).unwrap();
        let settings = given
            .iter()
            .fold(Settings::defaults(model), |s, (key, text)| s.with(key, text));
        let line = BitRate(10 * self.rate);
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: line,
            delay: Duration::ZERO,
        };
        Server::new(registry::build(&settings, context).unwrap(), line)
    }
}

/// Departures of so many packets of these sizes, three of which always wait: when each began, and its bytes.
fn departures(mut server: Server<TestPacket>, packets: u64, mut size: impl FnMut() -> u32) -> Vec<(Time, u32)> {
    let (mut now, mut log, mut left) = (Time::ZERO, Log::default(), vec![]);
    let (mut came, mut gone) = (0, 0);
    while left.len() < packets as usize {
        while came < gone + 3 {
            let sent = server.arrive(TestPacket::new(came, 0, size()), now, &mut log);
            left.extend(sent.map(|s| (s.begin, s.packet.bytes)));
            came += 1;
            gone = left.len() as u64 + log.dropped.len() as u64;
        }
        // What waits for a time that does not come ends here.
        let (at, sent) = server
            .advance(Time::NEVER, &mut log)
            .expect("packets wait, and nothing is to happen");
        now = at;
        left.extend(sent.map(|s| (s.begin, s.packet.bytes)));
        gone = left.len() as u64 + log.dropped.len() as u64;
    }
    left
}

const SHAPERS: [&str; 3] = ["aaqm", "cake", "htb"];

#[test]
fn a_shaper_sends_at_its_rate_whatever_the_size() {
    let mut s = Stream::new(1, "drawn");
    for name in SHAPERS {
        for _ in 0..60 {
            let d = Drawn::new(&mut s);
            let bytes = between(&mut s, 40.0, 65_536.0) as u32;
            // The full bucket first, then what counts.
            let first = d.depth / u64::from(bytes) + 2;
            let left = departures(d.server(name), 2 * first + 101, || bytes);
            let (from, to) = (left[left.len() - 101].0, left[left.len() - 1].0);
            let rate = 100.0 * 8.0 * f64::from(bytes) / to.since(from).seconds();
            let off = rate / d.rate as f64 - 1.0;
            assert!(off.abs() < 0.01, "{name} {d:?} {bytes} B: {rate}");
        }
    }
}

/// What left until any instant: the bucket, what came in this time, and of the last packet what it still owes.
#[test]
fn packets_of_all_sizes_together_leave_at_the_rate() {
    let mut s = Stream::new(2, "drawn");
    for name in SHAPERS {
        for _ in 0..60 {
            let (d, mut sizes) = (Drawn::new(&mut s), s.clone());
            let left = departures(d.server(name), 400, || between(&mut sizes, 40.0, 65_536.0) as u32);
            let mut bytes = 0.0;
            for (at, size) in &left {
                bytes += f64::from(*size);
                let came = d.depth as f64 + d.rate as f64 / 8.0 * at.seconds();
                assert!(
                    bytes <= came + 65_535.0 + 1.0,
                    "{name} {d:?}: {bytes} of {came} bytes by {at:?}"
                );
            }
            let end = left[left.len() - 1].0.seconds();
            let least = d.rate as f64 / 8.0 * end - 65_535.0;
            assert!(bytes >= 0.99 * least, "{name} {d:?}: {bytes} of {least} bytes");
        }
    }
}

/// 64 kb/s, a bucket of 10 kB, packets of 65,535 bytes: the bucket is full again after 1.25 s, but the debt takes 8.19
/// s a packet.
#[test]
fn a_packet_larger_than_the_bucket_does_not_go_at_the_price_of_the_bucket() {
    let d = Drawn {
        rate: 64_000,
        depth: 10_000,
    };
    let left = departures(d.server("aaqm"), 11, || 65_535);
    let gaps = left.windows(2).map(|w| w[1].0.since(w[0].0).seconds());
    assert!(
        gaps.into_iter().all(|g| (g - 65_535.0 / 8000.0).abs() < 1e-6),
        "{left:?}"
    );
}
