//! Proportional rate reduction (RFC 9937) as counts and times of what is sent; see `tests/dialogues/prr.toml`, too.

use crate::common::{Fate, Path, config, lose, number};
use tailback_base::{Duration, Time};
use tailback_transport::{Amount, Endpoint, Flags, Segment};

/// Twenty (or this many) segments out, some of them lost; each segment is a millisecond after the previous one.
fn started(values: &[(&str, &str)], window: &str) -> Path {
    let base = [
        ("initial_window", window),
        ("initial_ssthresh", window),
        ("syn", "false"),
        ("ecn", "off"),
        ("prr", "losses"),
        ("min_rto", "2s"),
        ("initial_rto", "2s"),
        ("option_bytes", "uncounted"),
    ];
    let all: Vec<(&str, &str)> = base.iter().chain(values).copied().collect();
    let mut p = Path::new(&config(&all), 100);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p
}

/// The first window sends one segment per millisecond, and segments sent together later arrive one by one.
fn spaced(window: usize, mut hand: impl FnMut(&Segment, usize) -> Fate) -> impl FnMut(&Segment, usize) -> Fate {
    move |s, i| match hand(s, i) {
        Fate::Pass if i < window => Fate::Late(Duration::from_millis(i as u64)),
        Fate::Pass => Fate::Late(Duration::from_micros(i as u64 % 2 * 20)),
        fate => fate,
    }
}

/// Sending times from the first repair to the end of recovery.
fn of_recovery(p: &mut Path, hand: &mut dyn FnMut(&Segment, usize) -> Fate) -> (Vec<f64>, f64) {
    let (mut begun, mut over) = (0, f64::NAN);
    for step in 1..200_000 {
        let t = f64::from(step) * 1e-5;
        let before = p.sent.len();
        let was = p.sender.in_recovery();
        p.run(t, hand);
        if !was && p.sender.in_recovery() {
            begun = before;
        }
        if was && !p.sender.in_recovery() {
            over = t;
            break;
        }
    }
    let times = p.sent[begun..].iter().map(|(t, _)| t.seconds()).collect();
    (times, over)
}

/// Segments 1 to 15 of 20 are lost: what is in the network is below the threshold at once, and the bound decides how
/// fast the repairs are sent. Round trips from the first repair to the full ACK, and segments sent in this time.
#[test]
fn after_heavy_losses_the_bound_decides() {
    let most = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    for (bound, round_trips, sent) in [("auto", 3.0, 24), ("crb", 4.0, 19), ("ssrb", 2.0, 24)] {
        let mut p = started(&[("variant", "sack"), ("prr_bound", bound)], "20 packets");
        let mut hand = spaced(20, lose(most));
        let (times, over) = of_recovery(&mut p, &mut hand);
        let took = (over - times[0]) / 0.2;
        let meanwhile = times.iter().filter(|t| **t < over - 1e-5).count();
        println!("{bound}: {took:.2} round trips, {meanwhile} segments");
        assert!(
            (took - round_trips).abs() < 0.2,
            "{bound}: {took} round trips, {times:?}"
        );
        assert_eq!(meanwhile, sent, "{bound}: {times:?}");
        assert_eq!(p.sender.report(p.now).timeouts, 0);
        assert_eq!(p.cwnd(), 10.0);
    }
}

/// Rate-halving: 20 out and one lost, every second ACK releases a segment as with proportional reduction. With 15 lost
/// the few that arrive release half of them, where proportional reduction fills up to the threshold of 10; recovery
/// ends with the window that is then out, and slow start leads back to the threshold.
#[test]
fn rate_halving_keeps_to_half_of_what_arrives() {
    for variant in ["sack", "newreno"] {
        let mut p = started(&[("variant", variant), ("prr_bound", "rate_halving")], "20 packets");
        let (times, over) = of_recovery(&mut p, &mut spaced(20, lose(&[1])));
        let sent = times.iter().filter(|t| **t < over - 1e-5).count();
        assert!((9..=10).contains(&sent), "{variant}: {times:?}");
        assert_eq!(p.ssthresh(), 10.0);
        assert!((9.0..=10.0).contains(&p.cwnd()), "{variant}: {}", p.cwnd());
        assert_eq!(p.sender.report(p.now).timeouts, 0);
    }
    let most = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let first_round = |bound: &str| {
        let mut p = started(&[("variant", "sack"), ("prr_bound", bound)], "20 packets");
        let (times, _) = of_recovery(&mut p, &mut spaced(20, lose(most)));
        times.iter().filter(|t| **t < times[0] + 0.19).count()
    };
    assert!(first_round("rate_halving") < first_round("crb"));
}

/// CUBIC keeps 0.7: with 100 outstanding and one lost, 0.7 segments for each delivered one.
#[test]
fn the_share_is_the_controllers() {
    let mut p = started(&[("variant", "sack"), ("congestion", "cubic")], "100 packets");
    let mut hand = spaced(100, lose(&[1]));
    let (times, _) = of_recovery(&mut p, &mut hand);
    for (acks, sent) in [(10, 7), (20, 14), (30, 21)] {
        let until = 0.203 + 0.001 * f64::from(acks - 1) + 0.0002;
        assert_eq!(
            times.iter().filter(|t| **t < until).count(),
            sent,
            "{acks} ACKs: {times:?}"
        );
    }
}

/// An echo spread over the round trip: every second ACK after it releases a segment, with nothing lost.
#[test]
fn an_echo_may_be_spread_too() {
    let gaps = |prr: &str| {
        let mut p = started(&[("variant", "sack"), ("ecn", "on"), ("prr", prr)], "20 packets");
        let mut hand = spaced(
            20,
            |s: &Segment, _| if number(s) == 2 { Fate::Mark } else { Fate::Pass },
        );
        let mut marked = |s: &Segment, i: usize| match hand(s, i) {
            Fate::Mark => Fate::Mark,
            fate => fate,
        };
        p.run(0.2185, &mut marked);
        let cut = p.sent.iter().position(|(_, s)| s.flags.has(Flags::CWR)).unwrap();
        assert_eq!(p.sender.report(p.now).ecn_reductions, 1);
        let since: Vec<f64> = p.sent[cut..].iter().map(|(t, _)| t.seconds()).collect();
        (since, p.cwnd())
    };
    // The echo comes at 0.2 s with 20 out, and 17 ACKs follow until 0.2185 s.
    let (times, window) = gaps("losses_and_echoes");
    assert_eq!((times.len(), window), (9, 10.0), "{times:?}");
    assert!(times.windows(2).all(|w| w[1] - w[0] > 0.0015), "{times:?}");
    let (times, window) = gaps("losses");
    assert_eq!((times.len(), window), (8, 10.0));
    assert!(times[0] > 0.21, "{times:?}");
}

/// A controller with a model of the path decides itself how much may leave.
#[test]
fn a_model_of_the_path_is_not_spread() {
    let run = |prr: &str| {
        let mut p = started(
            &[("variant", "sack"), ("congestion", "bbr"), ("prr", prr)],
            "20 packets",
        );
        let mut hand = spaced(20, lose(&[3]));
        // The path has no rate, so the window doubles in each of these ten round trips.
        p.run(1.0, &mut hand);
        p.sent.iter().map(|(t, s)| (t.0, s.seq)).collect::<Vec<_>>()
    };
    assert_eq!(run("losses"), run("off"));
}
