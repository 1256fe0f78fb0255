//! A sender with other kinds of controllers.

use super::*;
use crate::segment::SackBlocks;
use crate::tcp::congestion::{AckEvent, CongestionEvent, Facts, Handover, RateSample, Reset, reno};
use crate::tcp::testing::config;
use crate::tcp::{Receiver, new_pair};
use std::sync::Mutex;
use tailback_base::{BitRate, Ecn};

/// Behaves like a model-based controller: it paces at its own rate and looks at samples.
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

/// The row of such a control; the tests make the control itself.
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
    }
}

/// With segmentation offload the pacer spaces trains of a millisecond, two segments of 960 B at least: 2 ms for 2,000 B
/// at 1,000 B a millisecond.
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

/// A controller of another kind needs only its own file: pacing spaces the segments, and samples arrive.
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
    let last = *samples.lock().unwrap().last().unwrap();
    let rate = last.delivered as f64 / last.interval.seconds();
    assert!((rate - 960_000.0).abs() < 1.0, "{rate} payload bytes a second");
    assert_eq!(last.rtt, Some(Duration::from_millis(10)));
}

fn segments(s: &mut Sender, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| match s.poll_transmit(now) {
        Transmit::Segment(d) => Some(d),
        _ => None,
    })
    .collect()
}

/// Requests count once a window, not during recovery; where CWR appears depends on the profile.
#[test]
fn a_request_takes_its_share_once_a_window() {
    for (cwr_after, cwr) in [("any_reduction", true), ("echo", false)] {
        let values = [
            ("payload", "1000B"),
            ("syn", "false"),
            ("timestamps", "false"),
            ("initial_window", "60 packets"),
            ("cwr_after", cwr_after),
        ];
        let (mut s, _) = new_pair(&Arc::new(config(&values)));
        let at = Time::from_seconds;
        s.write(Amount::Unlimited, at(0.0));
        assert_eq!(segments(&mut s, at(0.0)).len(), 60);
        let request = Request::SlowDown { level: 0, of: 15 };
        s.on_request(request, at(0.1));
        assert_eq!((s.cwnd(), s.ssthresh()), (58_000.0, 58_000.0));
        s.on_request(Request::SlowDown { level: 14, of: 15 }, at(0.1));
        s.on_request(Request::Other { kind: 4, value: 1.0 }, at(0.1));
        assert_eq!(s.cwnd(), 58_000.0);
        s.on_segment(&ack(60_001, Flags::NONE), at(0.2), &mut ());
        let next = segments(&mut s, at(0.2));
        assert_eq!(next[0].flags.has(Flags::CWR), cwr, "{cwr_after}");
        // Three duplicates: recovery starts, and the second request is ignored.
        s.on_segment(&ack(61_001, Flags::NONE), at(0.25), &mut ());
        s.on_request(request, at(0.3));
        assert!(s.cwnd() < 58_000.0);
    }
}

/// After a loss CWR appears on the retransmission as in ns-2, or on the first new segment as in RFC 3168; without ECN
/// only if that is asked for.
#[test]
fn cwr_stands_on_the_retransmission_or_on_new_data() {
    for (on, want) in [
        (("cwr_on_retransmissions", "true"), [true, false]),
        (("cwr_without_ecn", "true"), [false, true]),
        (("cwr_without_ecn", "false"), [false, false]),
    ] {
        let values = [
            ("payload", "1000B"),
            ("syn", "false"),
            ("timestamps", "false"),
            ("variant", "newreno"),
            ("ecn", "off"),
            ("initial_window", "10 packets"),
            on,
        ];
        let (mut s, _) = new_pair(&Arc::new(config(&values)));
        let at = Time::from_seconds;
        s.write(Amount::Unlimited, at(0.0));
        segments(&mut s, at(0.0));
        s.on_segment(&ack(1, Flags::NONE), at(0.1), &mut ());
        let mut sent = vec![];
        for _ in 0..3 {
            s.on_segment(&ack(1, Flags::NONE), at(0.1), &mut ());
            sent.extend(segments(&mut s, at(0.1)));
        }
        for _ in 0..10 {
            s.on_segment(&ack(1, Flags::NONE), at(0.1), &mut ());
            sent.extend(segments(&mut s, at(0.1)));
        }
        let repaired = sent.iter().position(|p| p.seq == 1).expect("the repair");
        // Limited transmit sends new data before the cut.
        let after = &sent[repaired..];
        let new = after.iter().find(|p| p.seq > 10_000).expect("new data");
        let got = [after[0].flags.has(Flags::CWR), new.flags.has(Flags::CWR)];
        assert_eq!(got, want, "{on:?}");
        assert!(after.iter().filter(|p| p.flags.has(Flags::CWR)).count() <= 1);
    }
}

/// RFC 8257: each ACK says whether the data it acknowledges was marked. When that changes, a waiting ACK goes out at
/// once.
#[test]
fn every_ack_may_carry_its_own_mark() {
    let cfg = Arc::new(config(&[
        ("congestion", "dctcp"),
        ("payload", "1000B"),
        ("syn", "false"),
        ("timestamps", "false"),
        ("delayed_ack", "2"),
    ]));
    let mut r = Receiver::new(cfg);
    let marks = [false, false, false, true, true, true, false, false];
    let mut heard = Vec::new();
    for (n, marked) in marks.into_iter().enumerate() {
        let data = Segment {
            seq: 1 + 1000 * n as u64,
            payload: 1000,
            ecn: if marked { Ecn::Ce } else { Ecn::Ect0 },
            ..ack(1, Flags::NONE)
        };
        r.on_segment(&data, Time::ZERO, &mut ());
        while let Transmit::Segment(a) = r.poll_transmit(Time::ZERO) {
            heard.push(((a.ack - 1) / 1000, a.flags.has(Flags::ECE)));
        }
    }
    assert_eq!(heard, [(2, false), (3, false), (5, true), (6, true), (8, false)]);
}
