//! Tests of a sender with other kinds of controllers.

use super::*;
use crate::segment::SackBlocks;
use crate::tcp::config::Asked;
use crate::tcp::congestion::{AckEvent, CongestionEvent, Facts, Handover, RateSample, Reset, reno};
use crate::tcp::new_pair;
use crate::tcp::testing::config;
use std::sync::Mutex;
use tailback_base::{BitRate, Ecn};

/// Behaves like a model-based controller: it paces at its own rate and stores the samples.
struct Paced(Arc<Mutex<Vec<RateSample>>>);

impl CongestionControl for Paced {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        self.0.lock().unwrap().extend(a.rate);
    }
    fn on_congestion(&mut self, _: &CongestionEvent) {}
    fn window_reset(&mut self, _: Reset) {}
    fn take_over(&mut self, _: &Handover) {}
    fn cwnd(&self) -> f64 {
        20_000.0
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn pacing(&self) -> Option<BitRate> {
        Some(BitRate(8_000_000))
    }
}

/// The entry of such a control in the list. The tests make the control itself.
static PACED: Controller = Controller {
    facts: Facts {
        records: |_, _| true,
        ..Facts::CLASSIC
    },
    model: &reno::MODEL,
    also: &[],
    build: reno::build,
};

fn paced(cfg: Config) -> Arc<Config> {
    Arc::new(Config {
        controller: &PACED,
        asked: Asked::of(&PACED, &cfg.controller_settings, &cfg.window),
        ..cfg
    })
}

fn ack(ack: u64, flags: Flags) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack,
        flags: flags.with(Flags::ACK),
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: SackBlocks::new(),
        timestamps: None,
        window: None,
        counts: None,
    }
}

/// With segmentation offload the pacer spaces trains of a millisecond, with at least two segments of 960 B. At 1,000 B
/// per millisecond this is 2 ms for 2,000 B.
#[test]
fn a_paced_sender_spaces_trains() {
    let leaves = |offload: &[(&str, &str)]| {
        let fixed = [("payload", "960B"), ("syn", "false"), ("timestamps", "false")];
        let cfg = config(&[&fixed[..], offload].concat());
        let mut s = Sender::new(paced(cfg), Box::new(Paced(Arc::default())));
        s.write(Amount::Unlimited, Time::ZERO);
        let (mut now, mut trains) = (Time::ZERO, Vec::new());
        for _ in 0..3 {
            let mut n = 0;
            now = loop {
                match s.poll_transmit(now) {
                    Transmit::Segment(_) => n += 1,
                    Transmit::NotBefore(t) => break t,
                    Transmit::Idle => panic!("the window has room"),
                }
            };
            trains.push((n, now.0 / 1_000_000));
        }
        trains
    };
    assert_eq!(leaves(&[]), [(1, 1), (1, 2), (1, 3)]);
    assert_eq!(leaves(&[("offload", "64KB")]), [(2, 2), (2, 4), (2, 6)]);
    assert_eq!(leaves(&[("offload", "960B")]), [(1, 1), (1, 2), (1, 3)]);
}

/// Three segments of 1,000 B exceed a limit of 2,500 B. The next segment leaves when the first has left the host,
/// whether this time was known before or not. If nothing is outstanding, the limit does not apply.
#[test]
fn more_than_the_limit_waits_until_the_host_has_sent_it() {
    let fixed = [("payload", "1000B"), ("syn", "false"), ("timestamps", "false")];
    let own = [("initial_window", "10 packets"), ("small_queues", "2500B")];
    let cfg = Arc::new(config(&[&fixed[..], &own].concat()));
    let mut s = Sender::new(cfg.clone(), cfg.build_controller());
    let sends = |s: &mut Sender, now: Time| {
        let mut n = 0;
        while let Transmit::Segment(_) = s.poll_transmit(now) {
            n += 1;
        }
        n
    };
    let ms = |n: u64| Time(n * 1_000_000);
    assert!(s.limits_host());
    s.write(Amount::Unlimited, Time::ZERO);
    s.on_timeout(Time::ZERO, &mut ());
    assert_eq!(sends(&mut s, Time::ZERO), 3);
    let waits = s.next_timeout();
    assert!(waits > Some(ms(900)), "only the retransmission timer: {waits:?}");
    s.leaves_host(1000, ms(1));
    s.leaves_host(1000, ms(2));
    assert_eq!((s.next_timeout(), sends(&mut s, Time::ZERO)), (Some(ms(1)), 0));
    s.on_timeout(ms(1), &mut ());
    assert_eq!(sends(&mut s, ms(1)), 1);
    assert_eq!((s.next_timeout(), sends(&mut s, ms(2))), (Some(ms(2)), 1));
    // All five segments are acknowledged, and the host reports nothing. Exactly one segment may leave.
    assert_eq!(sends(&mut s, ms(3)), 0);
    s.on_segment(&ack(5001, Flags::NONE), ms(3), &mut ());
    assert_eq!(sends(&mut s, ms(3)), 1);
}

/// A controller of another kind needs only its own file. Pacing spaces the segments, and samples arrive.
#[test]
fn a_controller_may_pace_and_see_rates() {
    let cfg = config(&[("payload", "960B"), ("syn", "false"), ("timestamps", "false")]);
    let samples = Arc::new(Mutex::new(Vec::new()));
    let mut s = Sender::new(paced(cfg), Box::new(Paced(samples.clone())));
    s.write(Amount::Unlimited, Time::ZERO);
    let (mut now, mut acks) = (Time::ZERO, Vec::new());
    for _ in 0..50 {
        match s.poll_transmit(now) {
            Transmit::Segment(d) => acks.push((now + Duration::from_millis(10), d.end())),
            Transmit::NotBefore(t) => {
                // 1000 B at 8 Mb/s.
                assert_eq!(t, now + Duration::from_millis(1));
                now = t;
            }
            Transmit::Idle => panic!("the window is wide enough"),
        }
        if let Some((t, end)) = acks.first().copied().filter(|(t, _)| *t <= now) {
            acks.remove(0);
            s.on_segment(&ack(end, Flags::NONE), t, &mut ());
        }
    }
    let last_sample = *samples.lock().unwrap().last().unwrap();
    let rate = last_sample.delivered as f64 / last_sample.interval.seconds();
    assert!((rate - 960_000.0).abs() < 1.0, "{rate} payload bytes a second");
    assert_eq!(last_sample.rtt, Some(Duration::from_millis(10)));
}

fn segments(s: &mut Sender, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| match s.poll_transmit(now) {
        Transmit::Segment(d) => Some(d),
        _ => None,
    })
    .collect()
}

/// Requests count once per window, and not during recovery. The profile decides which segments carry CWR.
#[test]
fn a_request_takes_its_share_once_a_window() {
    for (cwr_after, cwr) in [("any_reduction", true), ("echo", false)] {
        let settings = [
            ("payload", "1000B"),
            ("syn", "false"),
            ("timestamps", "false"),
            ("initial_window", "60 packets"),
            ("cwr_after", cwr_after),
        ];
        let (mut s, _) = new_pair(&Arc::new(config(&settings)));
        let at_seconds = Time::from_seconds;
        s.write(Amount::Unlimited, at_seconds(0.0));
        assert_eq!(segments(&mut s, at_seconds(0.0)).len(), 60);
        let request = Request::SlowDown { level: 0, of: 15 };
        s.on_request(request, at_seconds(0.1));
        assert_eq!((s.cwnd(), s.ssthresh()), (58_000.0, 58_000.0));
        s.on_request(Request::SlowDown { level: 14, of: 15 }, at_seconds(0.1));
        s.on_request(Request::Other { kind: 4, value: 1.0 }, at_seconds(0.1));
        assert_eq!(s.cwnd(), 58_000.0);
        s.on_segment(&ack(60_001, Flags::NONE), at_seconds(0.2), &mut ());
        let next = segments(&mut s, at_seconds(0.2));
        assert_eq!(next[0].flags.has(Flags::CWR), cwr, "{cwr_after}");
        // After three duplicates recovery starts, and the second request is ignored.
        s.on_segment(&ack(61_001, Flags::NONE), at_seconds(0.25), &mut ());
        s.on_request(request, at_seconds(0.3));
        assert!(s.cwnd() < 58_000.0);
    }
}
