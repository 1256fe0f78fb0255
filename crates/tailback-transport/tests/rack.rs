//! RACK-TLP (RFC 8985): what time shows about losses, and the probe at the end of a flight.

mod common;

use common::{Fate, PAYLOAD, Path, config, lose, number, pass};
use tailback_base::{Duration, Ecn, Time};
use tailback_transport::tcp::{Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

const BY_TIME: &[(&str, &str)] = &[
    ("variant", "sack"),
    ("loss", "rack"),
    ("syn", "false"),
    ("ecn", "off"),
    ("initial_window", "20 packets"),
];

fn with<'a>(values: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    BY_TIME.iter().chain(values).copied().collect()
}

/// An ACK of `acked` segments that reports these half-open ranges, numbered from 1.
fn ack(acked: u64, blocks: &[(u64, u64)]) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack: 1 + acked * PAYLOAD,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: blocks
            .iter()
            .map(|(a, b)| (1 + (a - 1) * PAYLOAD, 1 + (b - 1) * PAYLOAD))
            .collect::<SackBlocks>(),
        timestamps: None,
        window: None,
    }
}

fn sent(s: &mut Sender, now: Time) -> Vec<u64> {
    let mut out = Vec::new();
    while let Transmit::Segment(x) = s.poll_transmit(now) {
        out.push(number(&x));
    }
    out
}

fn answer(s: &mut Sender, a: &Segment, now: Time) -> Vec<u64> {
    s.on_segment(a, now, &mut ());
    sent(s, now)
}

/// Segments 1 to n are sent a millisecond apart, and the ACKs of 1 and 2 come 40 ms later.
fn ten_apart(n: u64, values: &[(&str, &str)]) -> Sender {
    let cfg = config(&with(values));
    let (mut s, _) = new_pair(&cfg);
    for i in 0..n {
        s.write(Amount::Bytes(PAYLOAD), ms(i));
        assert_eq!(sent(&mut s, ms(i)), [i + 1]);
    }
    for i in 1..=2 {
        answer(&mut s, &ack(i, &[]), ms(39 + i));
    }
    s
}

/// Segment 3 of 10 is lost. The report of 4 at 43 ms gives it 9 ms more, that of 5 at 44 ms 8 ms. The report of 6 is
/// the third one, after which only a round trip counts.
#[test]
fn three_reports_end_the_wait() {
    let mut s = ten_apart(10, &[]);
    assert!(answer(&mut s, &ack(2, &[(4, 5)]), ms(43)).is_empty());
    assert_eq!(s.next_timeout(), Some(ms(52)));
    assert!(answer(&mut s, &ack(2, &[(4, 6)]), ms(44)).is_empty());
    assert_eq!(s.next_timeout(), Some(ms(52)), "8 ms more");
    assert!(!s.in_recovery());
    assert_eq!(answer(&mut s, &ack(2, &[(4, 7)]), ms(45)), [3]);
    assert!(s.in_recovery());
}

/// With 1 to 5 only, the timer finds it at 52 ms; as Linux has it, 2 ms later.
#[test]
fn without_three_reports_the_timer_finds_it() {
    for (form, at) in [("rfc8985", 52), ("linux", 54)] {
        let mut s = ten_apart(5, &[("rack_form", form)]);
        answer(&mut s, &ack(2, &[(4, 5)]), ms(43));
        answer(&mut s, &ack(2, &[(4, 6)]), ms(44));
        assert_eq!(s.next_timeout(), Some(ms(at)), "{form}");
        s.on_timeout(ms(at), &mut ());
        assert_eq!(sent(&mut s, ms(at)), [3]);
        assert!(s.in_recovery());
        assert_eq!(s.report(ms(at)).timeouts, 0);
    }
}

/// The repair, sent at 45 ms, is lost as well. A segment sent at 46 ms is reported at 86 ms: so the repair is lost,
/// which is found without a timeout. With the duplicate threshold it waits for the timer.
#[test]
fn a_repair_that_is_lost_again_is_found_a_round_trip_later() {
    for (loss, again) in [("rack", vec![3]), ("dupthresh", vec![])] {
        let mut s = ten_apart(10, &[("loss", loss)]);
        for (at, to) in [(43, 5), (44, 6)] {
            answer(&mut s, &ack(2, &[(4, to)]), ms(at));
        }
        assert_eq!(answer(&mut s, &ack(2, &[(4, 7)]), ms(45)), [3], "{loss}");
        s.write(Amount::Bytes(PAYLOAD), ms(46));
        let mut late = sent(&mut s, ms(46));
        for (n, to) in [(46, 8), (47, 9), (48, 10), (49, 11)] {
            late.extend(answer(&mut s, &ack(2, &[(4, to)]), ms(n)));
        }
        assert_eq!(late, [11], "{loss}");
        // Sent at 46 ms, because the window had room.
        assert_eq!(answer(&mut s, &ack(2, &[(4, 12)]), ms(86)), again, "{loss}");
        assert_eq!(s.report(ms(86)).timeouts, 0);
        assert_eq!(s.report(ms(86)).fast_retransmits, 1, "no second reduction");
    }
}

/// Once reordering has been seen, a segment that is 9 ms late, less than a quarter of the round trip, is not
/// repaired. With the duplicate threshold it is repaired, because more than three have overtaken it.
#[test]
fn reordering_by_time_is_waited_for() {
    for (loss, repeated) in [("rack", vec![]), ("dupthresh", vec![50])] {
        let cfg = config(&with(&[("loss", loss), ("initial_ssthresh", "20 packets")]));
        let mut p = Path::new(&cfg, 20);
        p.sender.write(Amount::Unlimited, Time::ZERO);
        // Segments a millisecond apart; two overtake the fifth, nine overtake the 50th.
        p.run(0.4, &mut |s, i| match number(s) {
            5 => Fate::Late(Duration::from_micros(4000 + 2500)),
            50 => Fate::Late(Duration::from_millis(9)),
            _ if i < 20 => Fate::Late(Duration::from_millis(i as u64)),
            _ => Fate::Pass,
        });
        assert_eq!(p.repeated(), repeated, "{loss}");
    }
}

fn path(values: &[(&str, &str)]) -> Path {
    let base = [
        ("syn", "true"),
        ("min_rto", "200ms"),
        ("initial_window", "10 packets"),
        ("delayed_ack", "1"),
    ];
    let all: Vec<(&str, &str)> = BY_TIME.iter().chain(&base).chain(values).copied().collect();
    Path::new(&config(&all), 20)
}

fn times_of(p: &Path, n: u64) -> Vec<u64> {
    p.sent
        .iter()
        .filter(|(_, s)| s.payload > 0 && number(s) == n)
        .map(|(t, _)| t.0 / 1_000_000)
        .collect()
}

/// srtt 40 ms, RTO 200 ms, the last two of ten lost, last ACK at 80 ms: the probe (10) is sent at 160 ms, its report
/// at 200 ms shows that 9 is lost, and everything is acknowledged at 240 ms. One reduction, no timeout.
#[test]
fn a_lost_tail_is_probed() {
    let mut p = path(&[]);
    p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
    p.run(2.0, &mut lose(&[9, 10]));
    assert_eq!((times_of(&p, 10), times_of(&p, 9)), (vec![40, 160], vec![40, 200]));
    assert_eq!(p.acks.last().unwrap().0, ms(220));
    let r = p.sender.report(p.now);
    assert_eq!((r.timeouts, r.fast_retransmits), (0, 1));
    // Linux: 2 ms later, and with more than one segment out.
    let mut p = path(&[("rack_form", "linux")]);
    p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
    p.run(2.0, &mut lose(&[9, 10]));
    assert_eq!(times_of(&p, 10), [40, 162]);
    // Without probes: the timer.
    let mut p = path(&[("tlp", "false")]);
    p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
    p.run(2.0, &mut lose(&[9, 10]));
    assert_eq!((p.sender.report(p.now).timeouts, times_of(&p, 9)[1]), (1, 280));
}

/// Only the last of ten is lost: the probe repairs it, which costs a reduction but no recovery.
#[test]
fn a_probe_that_repairs_costs_a_reduction() {
    let mut p = path(&[]);
    p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
    let mut hand = lose(&[10]);
    p.run(0.4, &mut hand);
    // A single segment may wait for a delayed ACK: 2 * 40 + 200 ms, but not longer than the timer.
    assert_eq!((times_of(&p, 10), p.sender.outstanding()), (vec![40, 280], 0));
    let before = p.ssthresh();
    // The next ACK is beyond what had been sent before the probe.
    p.sender.write(Amount::Bytes(PAYLOAD), p.now);
    p.run(1.0, &mut hand);
    let r = p.sender.report(p.now);
    assert_eq!((before, r.fast_retransmits, r.timeouts), (f64::INFINITY, 0, 0));
    assert!(p.ssthresh() <= 10.0, "{}", p.ssthresh());
    assert_eq!(times_of(&p, 11).len(), 1);
}

/// The probe was spurious, and the receiver reports it: nothing is reduced.
#[test]
fn a_spurious_probe_costs_nothing() {
    let mut p = path(&[("dsack", "true")]);
    p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
    // All ACKs of the flight are delayed by 90 ms, so that the probe is sent first.
    let late = Duration::from_millis(90);
    p.run_with(ms(400), &mut pass, &mut |_, i| {
        if i > 0 && i < 11 { Fate::Late(late) } else { Fate::Pass }
    });
    assert_eq!(times_of(&p, 10).len(), 2);
    p.sender.write(Amount::Bytes(PAYLOAD), p.now);
    p.run(1.0, &mut pass);
    assert_eq!((p.ssthresh(), p.sender.report(p.now).timeouts), (f64::INFINITY, 0));
}

/// New data, if there is any, is the probe; a single segment waits for its delayed ACK, but not longer than the
/// timer.
#[test]
fn what_a_probe_is_and_when() {
    let mut p = path(&[("window_cap", "11 packets"), ("initial_window", "10 packets")]);
    p.sender.write(Amount::Bytes(30 * PAYLOAD), Time::ZERO);
    // Nothing of the flight arrives: two round trips after it the 11th segment is sent.
    p.run(0.15, &mut |s, i| {
        if s.payload > 0 && i <= 10 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    assert_eq!((times_of(&p, 11), p.repeated()), (vec![120], vec![]));
    // 2 * 40 + 200 ms is more than the timeout of 200 ms.
    let mut p = path(&[]);
    p.sender.write(Amount::Bytes(PAYLOAD), Time::ZERO);
    p.run(1.0, &mut lose(&[1]));
    assert_eq!((times_of(&p, 1), p.sender.report(p.now).timeouts), (vec![40, 240], 0));
}

/// Whatever is lost of a short transfer, it ends, and earlier than with the timer alone.
#[test]
fn every_loss_of_a_short_transfer_is_repaired() {
    let cases: Vec<Vec<u64>> = (0..256u64)
        .map(|mask| (1..=8).filter(|n| mask >> (n - 1) & 1 == 1).collect())
        .collect();
    let mut sums = [0.0; 2];
    for lost in &cases {
        for (i, loss) in ["rack", "dupthresh"].into_iter().enumerate() {
            let mut p = path(&[("loss", loss)]);
            p.sender.write(Amount::Bytes(7 * PAYLOAD + 10), Time::ZERO);
            let mut left = lost.clone();
            p.run(
                60.0,
                &mut |s, _| match left.iter().position(|n| *n == number(s) && s.payload > 0) {
                    Some(i) => {
                        left.remove(i);
                        Fate::Drop
                    }
                    None => Fate::Pass,
                },
            );
            assert_eq!(p.receiver.received_bytes(), 7 * PAYLOAD + 10, "{loss}: {lost:?}");
            sums[i] += p.acks.last().unwrap().0.seconds() / cases.len() as f64;
        }
    }
    println!("mean time: rack {:.3} s, dupthresh {:.3} s", sums[0], sums[1]);
    assert!(sums[0] < sums[1] - 0.02, "{sums:?}");
}

/// The last three of twenty are lost. The report of the probe is out of order, so its ACK echoes the stamp of an older
/// segment (RFC 7323 section 4.3); it starts the repair all the same.
#[test]
fn with_time_stamps_a_reported_probe_starts_the_repair() {
    for form in ["rfc8985", "linux"] {
        for timestamps in ["false", "true"] {
            let mut p = path(&[
                ("timestamps", timestamps),
                ("rack_form", form),
                ("initial_window", "20 packets"),
            ]);
            p.sender.write(Amount::Bytes(20 * PAYLOAD), Time::ZERO);
            p.run(2.0, &mut lose(&[18, 19, 20]));
            let r = p.sender.report(p.now);
            assert_eq!(
                (r.timeouts, p.receiver.received_bytes()),
                (0, 20 * PAYLOAD),
                "{form} {timestamps}"
            );
            let probed = if form == "linux" { 162 } else { 160 };
            assert_eq!(times_of(&p, 20), [40, probed], "{form} {timestamps}");
            assert_eq!(times_of(&p, 18), [40, probed + 40], "{form} {timestamps}");
        }
    }
}

/// 7 and 8 of ten are lost, and the repair of 7 is lost again. Nothing new is sent: only the report of the repair of 8
/// can show it.
#[test]
fn with_time_stamps_a_repair_that_is_lost_again_is_found() {
    for timestamps in ["false", "true"] {
        let mut p = path(&[("timestamps", timestamps), ("initial_window", "10 packets")]);
        p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
        p.run(2.0, &mut lose(&[7, 7, 8]));
        assert_eq!(
            (p.sender.report(p.now).timeouts, times_of(&p, 7).len()),
            (0, 3),
            "{timestamps}"
        );
    }
}

/// All copies of a first flight are lost. No segment of data has measured the round trip then, but the handshake has:
/// the probe, reported a round trip after it left, is no answer to the first copy.
#[test]
fn the_probe_of_a_lost_first_flight_starts_the_repair() {
    for form in ["rfc8985", "linux"] {
        let mut p = path(&[("rack_form", form)]);
        p.sender.write(Amount::Bytes(10 * PAYLOAD), Time::ZERO);
        p.run(2.0, &mut lose(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
        assert_eq!(p.sender.report(p.now).timeouts, 0, "{form}");
        let probed = if form == "linux" { 122 } else { 120 };
        assert_eq!(
            (times_of(&p, 10), times_of(&p, 1)),
            (vec![40, probed], vec![40, probed + 40]),
            "{form}"
        );
    }
}

/// An open sender of the profile `linux` behind a handshake of 60 ms, without time stamps and probes.
fn opened() -> Sender {
    let values = [
        ("profile", "linux"),
        ("payload", "1000B"),
        ("timestamps", "false"),
        ("tlp", "false"),
    ];
    let (mut s, _) = new_pair(&config(&values));
    s.write(Amount::Bytes(0), ms(0));
    sent(&mut s, ms(0));
    let mut syn_ack = ack(0, &[]);
    (syn_ack.seq, syn_ack.ack) = (0, 1);
    syn_ack.flags = Flags::ACK.with(Flags::SYN);
    assert!(answer(&mut s, &syn_ack, ms(60)).is_empty());
    s
}

fn at_timer(s: &mut Sender, at: u64) -> Vec<u64> {
    assert_eq!(s.next_timeout(), Some(ms(at)));
    s.on_timeout(ms(at), &mut ());
    sent(s, ms(at))
}

/// The report of 10 shows 3 to 5 lost, sent 110 ms before it, and one of them goes again. 6 to 9 left with it: 15 ms
/// and the kernel's 2 ms later they are lost too. The window is still what that ACK left, so five may be under way.
#[test]
fn what_the_timer_finds_during_a_repair_is_sent_at_once() {
    let mut s = opened();
    s.write(Amount::Bytes(5 * PAYLOAD), ms(60));
    assert_eq!(sent(&mut s, ms(60)), [1, 2, 3, 4, 5]);
    answer(&mut s, &ack(2, &[]), ms(120));
    s.write(Amount::Bytes(5 * PAYLOAD), ms(170));
    assert_eq!(sent(&mut s, ms(170)), [6, 7, 8, 9, 10]);
    assert_eq!(answer(&mut s, &ack(2, &[(10, 11)]), ms(235)), [3]);
    assert_eq!(at_timer(&mut s, 252), [4, 5, 6, 7]);
    assert_eq!(s.report(ms(252)).timeouts, 0);
}

/// Two reports wait for the timer, which finds 3 to 8 lost. The ACK of the first repair shows nothing lost beyond that,
/// so it lets two go (RFC 9937 section 6.2).
#[test]
fn what_the_timer_has_found_is_no_news_of_the_next_ack() {
    let mut s = opened();
    s.write(Amount::Bytes(10 * PAYLOAD), ms(60));
    sent(&mut s, ms(60));
    assert!(answer(&mut s, &ack(2, &[(9, 10)]), ms(120)).is_empty());
    assert!(answer(&mut s, &ack(2, &[(9, 11)]), ms(120)).is_empty());
    assert_eq!(at_timer(&mut s, 137), [3]);
    assert_eq!(answer(&mut s, &ack(3, &[(9, 11)]), ms(207)), [4, 5]);
    assert_eq!(answer(&mut s, &ack(5, &[(9, 11)]), ms(277)), [6, 7, 8]);
}
