//! Details in which senders of the same name differ: what the RFCs say, as packet dialogues.

mod common;

use common::{Fate, PAYLOAD, Path, config, lose, number};
use tailback_base::{Ecn, Time};
use tailback_transport::tcp::{Receiver, Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

/// The first byte of segment `n`.
fn seq(n: u64) -> u64 {
    1 + (n - 1) * PAYLOAD
}

/// An ACK of all up to segment `n`, with reports of whole segments `from..=to`.
fn ack(n: u64, reports: &[(u64, u64)]) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack: seq(n + 1),
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: reports.iter().map(|(from, to)| (seq(*from), seq(to + 1))).collect(),
        timestamps: None,
        window: None,
    }
}

fn data(n: u64, ecn: Ecn, flags: Flags) -> Segment {
    Segment {
        seq: seq(n),
        payload: PAYLOAD as u32,
        ack: 1,
        flags,
        ecn,
        bytes: PAYLOAD as u32 + 40,
        sack: SackBlocks::new(),
        timestamps: None,
        window: None,
    }
}

fn at(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// Numbers of the segments that may be sent now.
fn sent(s: &mut Sender, now: Time) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Transmit::Segment(s) = s.poll_transmit(now) {
        numbers.push(number(&s));
    }
    numbers
}

/// What an ACK releases.
fn answer(s: &mut Sender, a: &Segment, now: Time) -> Vec<u64> {
    s.on_segment(a, now, &mut ());
    sent(s, now)
}

/// A sender without handshake whose first window has been sent, with unlimited data.
fn started(values: &[(&str, &str)]) -> Sender {
    let base = [("syn", "false"), ("ecn", "off")];
    let all: Vec<(&str, &str)> = base.iter().chain(values).copied().collect();
    let (mut s, _) = new_pair(&config(&all));
    s.write(Amount::Unlimited, at(0));
    sent(&mut s, at(0));
    s
}

/// RFC 6675 section 5: an ACK with new SACK information is a duplicate although it moves the cumulative point; step
/// (2) uses IsLost. The ACKs of segments 6 to 8 were lost, that of 9 comes first.
#[test]
fn an_ack_that_moves_and_reports_may_show_a_loss() {
    let mut s = started(&[("variant", "sack"), ("initial_window", "10 packets")]);
    assert_eq!(answer(&mut s, &ack(4, &[(6, 9)]), at(40))[0], 5);
    assert!(s.in_recovery());
    // Two segments above are not enough: "more than (DupThresh - 1) * SMSS bytes".
    let mut s = started(&[("variant", "sack"), ("initial_window", "10 packets")]);
    assert!(!answer(&mut s, &ack(4, &[(6, 7)]), at(40)).contains(&5));
    assert!(!s.in_recovery());
}

/// RFC 5681 section 3.1: "to count the number of bytes that have been acknowledged", so that delayed ACKs also open
/// the window by one segment per round trip. From 10 segments, ten round trips of 100 ms.
#[test]
fn delayed_acks_do_not_halve_the_growth_of_the_window() {
    let after = |byte_counting: &[(&str, &str)]| {
        let base = [
            ("initial_window", "10 packets"),
            ("initial_ssthresh", "10 packets"),
            ("delayed_ack", "2"),
            ("syn", "false"),
        ];
        let all: Vec<(&str, &str)> = base.iter().chain(byte_counting).copied().collect();
        let mut p = Path::new(&config(&all), 50);
        p.sender.write(Amount::Unlimited, Time::ZERO);
        p.run(1.05, &mut common::pass);
        p.cwnd()
    };
    let (bytes, acks) = (after(&[]), after(&[("byte_counting", "0")]));
    // Slightly less than 20: an ACK adds MSS * acknowledged / cwnd, and the ACK of a last odd segment waits 200 ms.
    assert!((bytes - 19.5).abs() < 0.5, "{bytes}");
    assert!((acks - 15.0).abs() < 0.5, "{acks}");
}

/// In slow start an ACK opens the window by at most one segment: "min (N, SMSS)" (RFC 5681 equation 2).
#[test]
fn in_slow_start_an_ack_opens_the_window_by_one_segment() {
    let mut s = started(&[("initial_window", "10 packets")]);
    answer(&mut s, &ack(2, &[]), at(40));
    assert_eq!(s.cwnd(), 11.0 * PAYLOAD as f64);
}

/// The repair is lost, and new data is sent for ten round trips until the timer expires: the threshold depends on
/// what is in the network (RFC 6675 `pipe`), not on everything between the hole and the last segment sent.
#[test]
fn a_timeout_in_sack_recovery_halves_the_pipe() {
    let cfg = config(&[
        ("variant", "sack"),
        ("initial_window", "20 packets"),
        ("initial_ssthresh", "20 packets"),
        ("ecn", "off"),
    ]);
    let mut p = Path::new(&cfg, 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    let mut hand = lose(&[7, 7]);
    p.run(0.9, &mut hand);
    let (window, outstanding) = (p.cwnd(), p.sender.outstanding() / PAYLOAD);
    assert!(p.sender.in_recovery() && outstanding > 60, "{outstanding}");
    while p.sender.report(p.now).timeouts == 0 {
        p.run(p.now.seconds() + 0.01, &mut hand);
    }
    assert!(
        p.ssthresh() <= window / 2.0 + 1.0,
        "{} of {window}, {outstanding} out",
        p.ssthresh()
    );
}

/// After a timeout, data declared lost is not in flight: another segment's timeout halves what was sent since.
#[test]
fn a_timeout_while_going_back_halves_what_was_sent_since() {
    let mut s = started(&[("variant", "newreno"), ("initial_window", "20 packets")]);
    s.on_timeout(at(1000), &mut ());
    assert_eq!((s.read(1), sent(&mut s, at(1000))), (10.0, vec![1]));
    assert_eq!(answer(&mut s, &ack(1, &[]), at(1100)), [2, 3]);
    s.on_timeout(s.next_timeout().unwrap(), &mut ());
    // Two segments, the minimum, although the ACK is 19 segments behind the last one sent.
    assert_eq!(s.read(1), 2.0);
}

/// RFC 6582 section 3.2 step 3: a partial ACK deflates the window by what it acknowledges, even if that is more than
/// the inflation by duplicates. Ten out and two by limited transmit; segments 1 and 9 are lost, and all but three of
/// the duplicates. 5 + 3 - 8 + 1: the window holds one segment, the repair.
#[test]
fn a_partial_ack_deflates_by_all_it_acknowledges() {
    let mut s = started(&[("variant", "newreno"), ("initial_window", "10 packets")]);
    assert_eq!(answer(&mut s, &ack(0, &[]), at(40)), [11]);
    assert_eq!(answer(&mut s, &ack(0, &[]), at(41)), [12]);
    assert_eq!(answer(&mut s, &ack(0, &[]), at(42)), [1]);
    assert_eq!(answer(&mut s, &ack(8, &[]), at(82)), [9]);
    assert_eq!(s.cwnd(), 5.0 * PAYLOAD as f64, "the window itself stays");
    // Four are out, and each duplicate opens a window of one: the fourth releases the first new segment.
    for (n, expected) in [(1, vec![]), (2, vec![]), (3, vec![]), (4, vec![13])] {
        assert_eq!(answer(&mut s, &ack(8, &[]), at(90 + n)), expected, "duplicate {n}");
    }
}

/// RFC 3042 section 2 allows "previously unsent data" on the first two duplicates, and no repeats.
#[test]
fn limited_transmit_sends_new_data_only() {
    let after_timeout = |form: &str| {
        let mut s = started(&[
            ("variant", "newreno"),
            ("initial_window", "6 packets"),
            ("limited_transmit_form", form),
        ]);
        s.on_timeout(at(1000), &mut ());
        assert_eq!(sent(&mut s, at(1000)), [1]);
        answer(&mut s, &ack(0, &[]), at(1010))
    };
    assert!(after_timeout("rfc3042").is_empty());
    assert_eq!(after_timeout("per_duplicate"), [2], "as ns-2 does");
}

/// RFC 3168 section 6.1.2: an echo and a loss of one window cause one reduction. But the loss of the retransmission
/// is another sign of congestion, and the timeout lowers the threshold.
#[test]
fn a_lost_retransmission_after_an_echo_is_a_new_event() {
    let threshold = |lost: &'static [u64]| {
        let cfg = config(&[
            ("variant", "newreno"),
            ("initial_window", "20 packets"),
            ("initial_ssthresh", "20 packets"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(20 * PAYLOAD), Time::ZERO);
        let mut hand = lose(lost);
        p.run(10.0, &mut |s, i| match hand(s, i) {
            Fate::Pass if number(s) == 2 => Fate::Mark,
            fate => fate,
        });
        let r = p.sender.report(p.now);
        assert_eq!((r.ecn_reductions, r.fast_retransmits), (1, 1));
        (r.timeouts, p.ssthresh())
    };
    // 19 of 20 were out at the echo of the second.
    assert_eq!(threshold(&[5]), (0, 9.5));
    let (timeouts, lowered) = threshold(&[5, 5]);
    assert_eq!(timeouts, 1);
    assert!(lowered < 9.0, "{lowered}");
}

/// RFC 3168 section 6.1.3: with delayed ACKs the echo is set "if the CE codepoint is set in any of the data packets
/// being acknowledged": CWR on the second of two packets answers an earlier mark, not that of the first.
#[test]
fn a_mark_before_cwr_in_one_delayed_ack_is_echoed() {
    let cfg = config(&[("delayed_ack", "2"), ("syn", "false")]);
    let (_, mut r): (_, Receiver) = new_pair(&cfg);
    let mut echoes = |first: (u64, Ecn, Flags), second: (u64, Ecn, Flags)| {
        for (n, ecn, flags) in [first, second] {
            r.on_segment(&data(n, ecn, flags), at(n), &mut ());
        }
        let Transmit::Segment(a) = r.poll_transmit(at(9)) else {
            panic!("every second is acknowledged")
        };
        a.flags.has(Flags::ECE)
    };
    let (plain, cwr) = (Flags::ACK, Flags::ACK.with(Flags::CWR));
    assert!(echoes((1, Ecn::Ce, plain), (2, Ecn::Ect0, cwr)));
    assert!(
        echoes((3, Ecn::Ect0, plain), (4, Ecn::Ect0, plain)),
        "until CWR answers it"
    );
    assert!(!echoes((5, Ecn::Ect0, plain), (6, Ecn::Ect0, cwr)));
    assert!(echoes((7, Ecn::Ect0, cwr), (8, Ecn::Ce, plain)));
}

/// RFC 3168 section 6.1.2: an echo on the ACK that ends recovery belongs to the window for which the loss caused the
/// reduction.
#[test]
fn an_echo_on_the_ack_that_ends_recovery_is_ignored() {
    for variant in ["reno", "newreno"] {
        let mut s = started(&[("variant", variant), ("initial_window", "10 packets"), ("ecn", "on")]);
        for _ in 0..3 {
            answer(&mut s, &ack(0, &[]), at(40));
        }
        assert_eq!((s.in_recovery(), s.read(0)), (true, 5.0));
        let mut last = ack(12, &[]);
        last.flags = last.flags.with(Flags::ECE);
        answer(&mut s, &last, at(80));
        assert_eq!((s.in_recovery(), s.read(0)), (false, 5.0), "{variant}");
        // The echo of the next window does not.
        let mut next = ack(13, &[]);
        next.flags = next.flags.with(Flags::ECE);
        answer(&mut s, &next, at(120));
        assert!(s.read(0) < 5.0, "{variant}");
    }
}

/// RFC 6582 section 4: with k losses in a window the impatient timer, restarted at the first partial ACK, has to be
/// longer than the other k - 1 round trips of 100 ms.
#[test]
fn the_impatient_timer_outlasts_all_repairs_or_not() {
    let timeouts = |min_rto: &str| {
        let cfg = config(&[
            ("variant", "newreno"),
            ("initial_window", "20 packets"),
            ("min_rto", min_rto),
            ("initial_rto", min_rto),
            ("syn", "false"),
        ]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(20 * PAYLOAD), Time::ZERO);
        p.run(10.0, &mut lose(&[5, 7, 9, 11, 13]));
        assert_eq!(p.receiver.received_bytes(), 20 * PAYLOAD);
        p.sender.report(p.now).timeouts
    };
    assert_eq!((timeouts("450ms"), timeouts("350ms")), (0, 1));
}

/// ns-2's limit to what one ACK releases in recovery is NewReno's: with SACK one report releases many.
#[test]
fn the_burst_in_recovery_is_newrenos() {
    let mut s = started(&[
        ("variant", "sack"),
        ("initial_window", "20 packets"),
        ("recovery_burst", "1"),
    ]);
    answer(&mut s, &ack(0, &[(2, 4)]), at(40));
    assert!(s.in_recovery());
    assert!(answer(&mut s, &ack(0, &[(2, 18)]), at(41)).len() > 1);
}

/// RFC 6675 section 5: the rescue (rule 4) is allowed once per episode: if it is lost as well, it waits for the
/// timer.
#[test]
fn a_rescue_that_is_lost_waits_for_the_timer() {
    for (lost, timeouts, repeated) in [
        (&[5, 12, 20][..], 0, vec![5, 12, 20]),
        (&[5, 12, 20, 20], 1, vec![5, 12, 20, 20]),
    ] {
        let cfg = config(&[("variant", "sack"), ("initial_window", "20 packets"), ("syn", "false")]);
        let mut p = Path::new(&cfg, 50);
        p.sender.write(Amount::Bytes(20 * PAYLOAD), Time::ZERO);
        let mut left = lost.to_vec();
        p.run(
            10.0,
            &mut |s, _| match left.iter().position(|n| *n == number(s) && s.payload > 0) {
                Some(i) => {
                    left.remove(i);
                    Fate::Drop
                }
                None => Fate::Pass,
            },
        );
        assert_eq!((p.sender.report(p.now).timeouts, p.repeated()), (timeouts, repeated));
        assert_eq!(p.receiver.received_bytes(), 20 * PAYLOAD);
    }
}

/// RFC 6675 section 5: an episode lasts until `RecoveryPoint` is acknowledged; a loss in it is repaired without another
/// reduction, one beyond it begins another.
#[test]
fn an_episode_ends_at_its_recovery_point_and_the_next_may_begin() {
    let mut s = started(&[
        ("variant", "sack"),
        ("initial_window", "10 packets"),
        ("limited_transmit", "false"),
    ]);
    for to in 2..=4 {
        answer(&mut s, &ack(0, &[(2, to)]), at(40 + to));
    }
    assert!(s.in_recovery());
    let window = s.cwnd();
    // Segment 6 of the same window is lost too.
    let repairs = answer(&mut s, &ack(0, &[(7, 10), (2, 5)]), at(50));
    assert!(repairs.contains(&6), "{repairs:?}");
    assert_eq!((s.report(at(50)).fast_retransmits, s.cwnd()), (1, window));
    let mut last = answer(&mut s, &ack(10, &[]), at(90));
    assert!(!s.in_recovery());
    last.extend(repairs);
    // What was sent since then is beyond the point: its first segment is lost.
    let first = *last.iter().filter(|n| **n > 10).min().unwrap();
    assert_eq!(first, 11);
    answer(&mut s, &ack(10, &[(12, 14)]), at(140));
    assert!(s.in_recovery());
    assert_eq!(s.report(at(140)).fast_retransmits, 2);
    assert!(s.cwnd() < window);
}
