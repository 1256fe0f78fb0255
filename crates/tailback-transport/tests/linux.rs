//! The profile `linux`, setting by setting.

mod common;

use common::Fate;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Settings, Time};
use tailback_transport::tcp::{Config, MODEL, Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

const MSS: u64 = 1448;

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

fn linux(values: &[(&str, &str)]) -> Arc<Config> {
    let base = Settings::defaults(&MODEL).with("profile", "linux");
    let s = values.iter().fold(base, |s, (n, v)| s.with(n, v));
    Arc::new(Config::resolve(&s, &[]).unwrap())
}

/// An ACK of this many segments, in answer to what was sent at `echoed`.
fn ack(segments: u64, echoed: Time) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack: 1 + segments * MSS,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 52,
        sack: SackBlocks::new(),
        timestamps: Some((Time::ZERO, echoed)),
        window: None,
    }
}

fn sent(s: &mut Sender, now: Time) -> u64 {
    let mut n = 0;
    while let Transmit::Segment(_) = s.poll_transmit(now) {
        n += 1;
    }
    n
}

/// A sender whose SYN took `rtt` ms, at that time.
fn open(rtt: u64, values: &[(&str, &str)]) -> Sender {
    let (mut s, _) = new_pair(&linux(values));
    s.write(Amount::Unlimited, ms(0));
    sent(&mut s, ms(0));
    let mut syn_ack = ack(0, ms(0));
    syn_ack.seq = 0;
    syn_ack.flags = Flags::ACK.with(Flags::SYN);
    s.on_segment(&syn_ack, ms(rtt), &mut ());
    s
}

/// With a constant round trip R the timeout is srtt + max(2 R, 200 ms) at first; then the 2 R falls by a quarter of
/// the difference per round, down to srtt + 200 ms. 40 ms: 240 ms from the first sample on; 100 ms: 300 ms; 200 ms:
/// 600 ms at first.
#[test]
fn the_timeout_is_200_ms_more_than_a_constant_round_trip() {
    for (rtt, first, last) in [(40, 240.0, 240.0), (100, 300.0, 300.0), (200, 600.0, 400.0)] {
        let mut s = open(rtt, &[("congestion", "reno"), ("initial_ssthresh", "10 packets")]);
        assert!((s.read(4) * 1e3 - first).abs() < 1e-3, "{rtt}: {}", s.read(4));
        let (mut now, mut acked) = (ms(rtt), 0);
        for _ in 0..60 {
            let out = s.outstanding() / MSS + sent(&mut s, now);
            let at = now;
            now += Duration::from_millis(rtt);
            acked += out;
            s.on_segment(&ack(acked, at), now, &mut ());
        }
        assert!((s.read(4) * 1e3 - last).abs() < 1.0, "{rtt}: {}", s.read(4));
    }
}

/// srtt 40 ms: a probe 82 ms after the last of several segments; for a single segment at the timeout, 240 ms.
#[test]
fn probes_come_two_milliseconds_later() {
    for (segments, probe) in [(5, 82), (1, 240)] {
        let (mut s, _) = new_pair(&linux(&[]));
        s.write(Amount::Bytes(segments * MSS), ms(0));
        sent(&mut s, ms(0));
        let mut syn_ack = ack(0, ms(0));
        syn_ack.seq = 0;
        syn_ack.flags = Flags::ACK.with(Flags::SYN);
        s.on_segment(&syn_ack, ms(40), &mut ());
        assert_eq!(sent(&mut s, ms(40)), segments);
        assert_eq!(s.next_timeout(), Some(ms(40 + probe)));
    }
}

/// A window is a whole number of segments: half of 135 is 67, and CUBIC's 717 / 1024 of 100 is 70. In avoidance 67
/// acknowledged segments add one.
#[test]
fn windows_are_whole_segments() {
    for (congestion, window, left) in [
        ("reno", "135 packets", 67.0),
        ("cubic", "100 packets", 70.0),
        ("cubic", "3 packets", 2.0),
    ] {
        let mut s = open(40, &[("congestion", congestion), ("initial_window", window)]);
        sent(&mut s, ms(40));
        let mut lost = ack(0, ms(40));
        lost.sack = [(1 + MSS, 1 + 20 * MSS)].into_iter().collect();
        if window == "3 packets" {
            lost.sack = [(1 + MSS, 1 + 3 * MSS)].into_iter().collect();
        }
        s.on_segment(&lost, ms(90), &mut ());
        while !s.in_recovery() {
            s.on_timeout(s.next_timeout().unwrap(), &mut ());
        }
        assert_eq!((s.read(0), s.read(1)), (left, left), "{congestion} {window}");
    }
    let mut s = open(
        40,
        &[
            ("congestion", "reno"),
            ("initial_window", "10 packets"),
            ("initial_ssthresh", "10 packets"),
        ],
    );
    sent(&mut s, ms(40));
    let windows: Vec<f64> = (1..=22)
        .map(|n| {
            s.on_segment(&ack(n, ms(40)), ms(80 + n), &mut ());
            sent(&mut s, ms(80 + n));
            s.read(0)
        })
        .collect();
    assert_eq!(windows[8..10], [10.0, 11.0], "{windows:?}");
    assert_eq!(windows[19..21], [11.0, 12.0], "{windows:?}");
}

/// A timeout leaves one segment more than is in the network, where segments younger than a round trip count.
#[test]
fn a_timeout_leaves_what_is_in_the_network() {
    let mut s = open(40, &[("congestion", "reno"), ("tlp", "false")]);
    assert_eq!(sent(&mut s, ms(40)), 10);
    s.on_segment(&ack(1, ms(40)), ms(80), &mut ());
    // Two more leave at 80 ms; when the timer expires at 320 ms, all are older than a round trip.
    assert_eq!(sent(&mut s, ms(80)), 2);
    let at = s.next_timeout().unwrap();
    assert_eq!(at, ms(320));
    s.on_timeout(at, &mut ());
    assert_eq!((s.read(0), s.read(1)), (1.0, 5.0));
}

/// One lost SYN has no effect on the initial window; two reduce it to one segment.
#[test]
fn two_lost_syns_cost_the_initial_window() {
    for (lost, window) in [(0, 10), (1, 10), (2, 1)] {
        let (mut s, _) = new_pair(&linux(&[]));
        s.write(Amount::Unlimited, ms(0));
        assert_eq!(sent(&mut s, ms(0)), 1);
        for _ in 0..lost {
            let at = s.next_timeout().unwrap();
            s.on_timeout(at, &mut ());
            assert_eq!(sent(&mut s, at), 1);
        }
        let now = ms(5000);
        let mut syn_ack = ack(0, ms(4960));
        syn_ack.seq = 0;
        syn_ack.flags = Flags::ACK.with(Flags::SYN);
        s.on_segment(&syn_ack, now, &mut ());
        assert_eq!(sent(&mut s, now), window, "{lost} lost");
    }
}

/// An idle period of n timeouts halves the window n times, not below the initial one; the threshold becomes three
/// quarters of the old window.
#[test]
fn a_rest_halves_the_window_for_each_timeout() {
    for (rest_ms, window) in [(230, 41.0), (250, 20.0), (490, 10.0), (5000, 10.0)] {
        let cfg = linux(&[("congestion", "reno"), ("initial_ssthresh", "40 packets")]);
        let (mut s, _) = new_pair(&cfg);
        s.write(Amount::Bytes(70 * MSS), ms(0));
        sent(&mut s, ms(0));
        let mut syn_ack = ack(0, ms(0));
        syn_ack.seq = 0;
        syn_ack.flags = Flags::ACK.with(Flags::SYN);
        s.on_segment(&syn_ack, ms(40), &mut ());
        let (mut now, mut acked) = (ms(40), 0);
        while s.outstanding() > 0 || acked < 70 {
            let (out, at) = (s.outstanding() / MSS + sent(&mut s, now), now);
            now += Duration::from_millis(40);
            for _ in 0..out {
                acked += 1;
                s.on_segment(&ack(acked, at), now, &mut ());
            }
        }
        // 10, 20, 40, which the transfer fills; the acknowledgements of the last 40 add one.
        assert_eq!(s.read(0), 41.0);
        let last = Time(now.0 - 40_000_000);
        let later = last + Duration::from_millis(rest_ms);
        s.write(Amount::Bytes(MSS), later);
        assert_eq!(sent(&mut s, later), 1);
        assert_eq!(s.read(0), window, "{rest_ms} ms");
        assert!(s.read(1) >= 30.0);
    }
}

/// A download of 20 segments: the first 16 get an ACK each, then one ACK per two segments. After more than a second
/// of idle time it is as at the start. At most half the advertised window.
#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let acks = |rwnd: &str, segments: u64, gap: Duration| {
        let (_, mut r) = new_pair(&linux(&[("syn", "false"), ("rwnd", rwnd)]));
        let mut now = ms(0);
        let mut n = 0;
        for i in 0..segments {
            now += if i == 20 { gap } else { Duration::from_micros(600) };
            let s = Segment {
                seq: 1 + i * MSS,
                payload: MSS as u32,
                ack: 1,
                flags: Flags::ACK,
                ecn: Ecn::NotEct,
                bytes: 1500,
                sack: SackBlocks::new(),
                timestamps: Some((now, Time::ZERO)),
                window: None,
            };
            r.on_segment(&s, now, &mut ());
            while let Transmit::Segment(_) = r.poll_transmit(now) {
                n += 1;
            }
        }
        n
    };
    let short = Duration::from_micros(600);
    assert_eq!(acks("unlimited", 16, short), 16);
    assert_eq!(acks("unlimited", 20, short), 18);
    assert_eq!(acks("unlimited", 36, short), 26);
    assert_eq!(acks("unlimited", 36, Duration::from_millis(1001)), 34);
    assert_eq!(acks("14480B", 20, short), 5 + 7);
}

/// All settings together over a path that loses and reorders: what arrives is right, and the settings do what the
/// transfer needs.
#[test]
fn a_transfer_over_a_bad_path_ends() {
    for congestion in ["reno", "cubic", "bbr"] {
        let cfg = linux(&[("congestion", congestion)]);
        let mut p = common::Path::new(&cfg, 20);
        p.sender.write(Amount::Bytes(300 * MSS + 7), Time::ZERO);
        let mut n = 0u64;
        p.run(60.0, &mut |s, _| {
            n += 1;
            match n % 23 {
                7 if s.payload > 0 => Fate::Drop,
                11 => Fate::Late(Duration::from_millis(9)),
                _ => Fate::Pass,
            }
        });
        assert_eq!(p.receiver.received_bytes(), 300 * MSS + 7, "{congestion}");
        assert_eq!(p.sender.report(p.now).timeouts, 0, "{congestion}");
    }
}
