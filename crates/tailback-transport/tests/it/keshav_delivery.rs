//! Whatever the path does (losses, marks, copies, late packets, in both directions), a REAL source delivers every
//! byte once, respects its window, and closes.

use proptest::prelude::*;
use tailback_base::model::{Model, Settings};
use tailback_base::{Duration, Ecn, Stream, Time};
use tailback_transport::Registry;
use tailback_transport::keshav::params::{DECBIT, GENERIC, JACOBSON_KARELS, PACKET_PAIR};
use tailback_transport::path::Path;
use tailback_transport::{Amount, AppEvent, AppEvents, Endpoint, Segment, Transmit};

#[derive(Default)]
struct Delivered(u64);

impl AppEvents for Delivered {
    fn event(&mut self, e: AppEvent) {
        if let AppEvent::Delivered(n) = e {
            self.0 += n;
        }
    }
}

struct World {
    ends: [Box<dyn Endpoint>; 2],
    /// (due, order, towards the sink, segment)
    flying: Vec<(Time, u64, bool, Segment)>,
    order: u64,
    rng: Stream,
    /// Probability of each kind of harm.
    harm: f64,
    wmax: f64,
    outstanding: usize,
}

impl World {
    fn new(model: &'static Model, values: &[(&str, String)], harm: f64, seed: u64) -> World {
        let settings = values
            .iter()
            .fold(Settings::defaults(model), |s, (name, text)| s.with(name, text));
        let connection = Registry::standard()
            .connection(&settings)
            .expect("good parameters")
            .expect("a connection");
        let mut rng = Stream::new(seed, "path");
        let ends = connection.ends(Path::default, &mut rng);
        let outstanding = ends[0].probes().iter().position(|p| p.name == "outstanding").unwrap();
        World {
            ends,
            flying: vec![],
            order: 0,
            rng,
            harm,
            wmax: settings.count("wmax") as f64,
            outstanding,
        }
    }

    fn fly(&mut self, now: Time, forward: bool, mut s: Segment) {
        if self.rng.chance(self.harm) {
            return;
        }
        let copies = 1 + u32::from(self.rng.chance(self.harm));
        if self.rng.chance(self.harm) && s.ecn == Ecn::Ect0 {
            s.ecn = Ecn::Ce;
        }
        for _ in 0..copies {
            let late = if self.rng.chance(self.harm) { 500 } else { 0 };
            self.order += 1;
            let due = now + Duration::from_millis(50 + late);
            self.flying.push((due, self.order, forward, s.clone()));
        }
    }

    /// Pump both ends; returns the earliest time at which one of them wants to be called again.
    fn pump(&mut self, now: Time) -> Time {
        let mut next = Time::NEVER;
        for side in [0, 1] {
            for sent in 0.. {
                assert!(sent < 1000, "it does not stop sending");
                match self.ends[side].poll_transmit(now) {
                    Transmit::Segment(s) => self.fly(now, side == 0, s),
                    Transmit::NotBefore(t) => {
                        assert!(t > now);
                        next = next.min(t);
                        break;
                    }
                    Transmit::Idle => break,
                }
            }
            let timer = self.ends[side].next_timeout().unwrap_or(Time::NEVER);
            next = next.min(timer.max(now + Duration(1)));
        }
        assert!(self.ends[0].read(self.outstanding) <= self.wmax);
        next
    }

    /// Write `n` times `bytes` and close; returns what the sink has delivered when the source is closed.
    fn transfer(&mut self, n: u32, bytes: u64) -> (u64, u64) {
        let mut up = Delivered::default();
        for _ in 0..n {
            self.ends[0].write(Amount::Bytes(bytes), Time::ZERO);
        }
        self.ends[0].close(Time::ZERO);
        let mut now = Time::ZERO;
        for _ in 0..200_000 {
            let wake = self.pump(now);
            if self.ends[0].is_closed() {
                return (up.0, self.ends[1].received_bytes());
            }
            let arrival = (0..self.flying.len()).min_by_key(|i| (self.flying[*i].0, self.flying[*i].1));
            match arrival.filter(|i| self.flying[*i].0 <= wake) {
                Some(i) => {
                    let (due, _, forward, s) = self.flying.remove(i);
                    now = due.max(now);
                    self.ends[usize::from(forward)].on_segment(&s, now, &mut up);
                }
                None => {
                    assert_ne!(wake, Time::NEVER, "nothing is left to happen, and it is not closed");
                    now = wake;
                    for e in &mut self.ends {
                        if e.next_timeout().is_some_and(|t| t <= now) {
                            e.on_timeout(now, &mut up);
                        }
                    }
                }
            }
        }
        panic!("it never ends");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_byte_arrives_once(
        model in prop::sample::select(vec![&GENERIC, &JACOBSON_KARELS, &DECBIT, &PACKET_PAIR]),
        wmax in 2u32..40,
        n in 1u32..60,
        bytes in 1u64..3000,
        harm in prop::sample::select(vec![0.0, 0.02, 0.1, 0.25]),
        use_echo: bool,
        tick in prop::sample::select(vec!["0s", "500ms"]),
        seed: u64,
    ) {
        let values = [
            ("wmax", wmax.to_string()),
            ("use_echo", use_echo.to_string()),
            ("tick", tick.to_string()),
            ("packet", "1000B".to_string()),
        ];
        let total = u64::from(n) * bytes;
        let mut w = World::new(model, &values, harm, seed);
        prop_assert_eq!(w.transfer(n, bytes), (total, total));
    }
}
