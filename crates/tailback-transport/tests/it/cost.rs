//! The cost of a segment: `cargo test --release -p tailback-transport --test it cost -- --ignored --nocapture`.

use crate::common::config;
use std::collections::VecDeque;
use tailback_base::{Duration, Settings, Stream, Time};
use tailback_transport::path::Path;
use tailback_transport::registry::{Registry, TRANSPORTS};
use tailback_transport::tcp::new_pair;
use tailback_transport::{Amount, AppEvents, Endpoint, Segment, Transmit};

/// As the engine holds them.
struct Boxed(Box<dyn Endpoint>);

impl Endpoint for Boxed {
    fn write(&mut self, n: Amount, now: Time) {
        self.0.write(n, now);
    }
    fn close(&mut self, now: Time) {
        self.0.close(now);
    }
    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        self.0.on_segment(s, now, up);
    }
    fn poll_transmit(&mut self, now: Time) -> Transmit {
        self.0.poll_transmit(now)
    }
    fn next_timeout(&self) -> Option<Time> {
        self.0.next_timeout()
    }
    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        self.0.on_timeout(now, up);
    }
}

/// Data and ACKs over two plain queues, a window of 100 segments, one ACK a segment or every second.
fn run(mut s: impl Endpoint, mut r: impl Endpoint, segments: u64) -> f64 {
    let (mut data, mut acks): (VecDeque<Segment>, VecDeque<Segment>) = Default::default();
    let mut now = Time::ZERO;
    s.write(Amount::Unlimited, now);
    let start = std::time::Instant::now();
    let mut sent = 0;
    while sent < segments {
        now += Duration(12_000);
        while let Transmit::Segment(x) = s.poll_transmit(now) {
            data.push_back(x);
            sent += 1;
        }
        if let Some(x) = data.pop_front() {
            r.on_segment(&x, now, &mut ());
            while let Transmit::Segment(a) = r.poll_transmit(now) {
                acks.push_back(a);
            }
        }
        // The engine asks for the timers after each call.
        std::hint::black_box((s.next_timeout(), r.next_timeout()));
        if let Some(a) = acks.pop_front() {
            s.on_segment(&a, now, &mut ());
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / segments as f64
}

#[test]
#[ignore = "a measurement"]
fn nanoseconds_a_segment() {
    let cases: [&[(&str, &str)]; 4] = [
        &[("variant", "reno"), ("window_cap", "100 packets")],
        &[("variant", "sack"), ("window_cap", "100 packets")],
        &[
            ("variant", "sack"),
            ("window_cap", "100 packets"),
            ("timestamps", "true"),
            ("delayed_ack", "2"),
        ],
        &[
            ("profile", "ns2"),
            ("variant", "newreno"),
            ("window_cap", "100 packets"),
        ],
    ];
    // Fewer under a counting tool such as callgrind.
    let segments = std::env::var("SEGMENTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(5_000_000);
    for values in cases {
        let (s, r) = new_pair(&config(values));
        println!("{:6.1} ns  {values:?}", run(s, r, segments));
    }
    let registry = Registry::standard();
    for model in TRANSPORTS.iter().map(|e| e.model).filter(|m| m.param("wmax").is_some()) {
        let settings = Settings::defaults(model).with("wmax", "100");
        let connection = registry.connection(&settings).expect("good parameters");
        let connection = connection.expect("sources of packets numbered one by one");
        let [s, r] = connection.ends(Path::default, &mut Stream::new(1, "x"));
        println!("{:6.1} ns  {}", run(Boxed(s), Boxed(r), segments), model.name);
    }
}
