//! The congestion control of an open connection changes: window and threshold stay, and what follows is the avoidance
//! of the new control.

use crate::common::{Fate, Path, config, lose, pass, settings};
use tailback_base::model::Value;
use tailback_base::{Duration, Settings, Stream, Time};
use tailback_transport::Registry;
use tailback_transport::registry::TRANSPORTS;
use tailback_transport::tcp::ControlChange;
use tailback_transport::tcp::congestion::{Controller, list::CONTROLLERS};
use tailback_transport::{Amount, Carries, Endpoint};

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn all() -> Vec<&'static Controller> {
    CONTROLLERS.iter().collect()
}

/// A value of `congestion`.
fn control(name: &str, own: Pairs) -> Value {
    let found = CONTROLLERS.iter().find(|c| c.model.name == name).unwrap();
    let given = Settings::defaults(found.model);
    Value::Model(Box::new(own.iter().fold(given, |s, (n, v)| s.with(n, v))))
}

/// For connections with these parameters.
fn to(values: Pairs, name: &str, own: Pairs) -> ControlChange {
    ControlChange::new(&settings(values), &control(name, own), &[], &all()).unwrap()
}

fn change(p: &mut Path, to: &ControlChange) {
    assert!(p.sender.set_congestion(to, &mut Stream::new(1, "change"), p.now));
}

/// Avoidance from the start with a window of 20 segments, an endless transfer and a round trip of 100 ms, so far for a
/// second.
const AVOIDANCE: [(&str, &str); 3] = [
    ("initial_window", "20 packets"),
    ("initial_ssthresh", "20 packets"),
    ("ecn", "off"),
];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    AVOIDANCE.iter().chain(more).copied().collect()
}

fn running(values: Pairs) -> Path {
    let mut p = Path::new(&config(values), 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(1.0, &mut pass);
    p
}

/// How much the window grows in so many seconds, segments.
fn growth(p: &mut Path, seconds: f64) -> f64 {
    let (before, until) = (p.cwnd(), p.now.seconds() + seconds);
    p.run(until, &mut pass);
    p.cwnd() - before
}

fn probe(p: &Path, name: &str) -> f64 {
    let i = p.sender.probes().iter().position(|d| d.name == name).unwrap();
    p.sender.read(i)
}

#[test]
fn window_and_threshold_stay_whatever_takes_over() {
    for form in ["standard", "linux", "ns3"] {
        for old in CONTROLLERS {
            for new in CONTROLLERS {
                let values = with(&[("congestion", old.model.name), ("congestion_form", form)]);
                let mut p = running(&values);
                let before = (p.cwnd(), p.ssthresh());
                change(&mut p, &to(&values, new.model.name, &[]));
                let pair = (old.model.name, new.model.name);
                let up = if new.model.name == "prague" { 1.0 } else { 0.0 };
                assert!((0.0..=up).contains(&(p.cwnd() - before.0)), "{pair:?} {form}: window");
                // BBR and Copa leave their window instead of no threshold, once they have found the path full.
                if !old.model.name.starts_with("bbr") && old.model.name != "copa" {
                    assert_eq!(p.ssthresh(), before.1, "{pair:?} {form}: threshold");
                }
            }
        }
    }
}

/// Without its Reno-friendly estimate CUBIC stays near its maximum, here the window at the change, for a second or two:
/// 0.4 t^3. Reno adds a segment each round trip.
#[test]
fn growth_is_that_of_the_new_control() {
    let values = with(&[]);
    let mut p = running(&values);
    assert!((8.0..=10.5).contains(&growth(&mut p, 1.0)));
    let flat = to(&values, "cubic", &[("reno_friendly", "false")]);
    change(&mut p, &flat);
    let grown = growth(&mut p, 2.0);
    assert!((2.5..4.5).contains(&grown), "{grown} by CUBIC");
    change(&mut p, &to(&values, "reno", &[]));
    let grown = growth(&mut p, 1.0);
    assert!((8.0..=10.5).contains(&grown), "{grown} by Reno");
    change(&mut p, &to(&values, "binomial", &[("law", "iiad")]));
    assert!(growth(&mut p, 1.0) < 1.0);
}

/// With the estimate it grows as Reno from the window at the change, not by 0.53 of that.
#[test]
fn cubic_begins_an_epoch_at_its_maximum() {
    let values = with(&[("congestion", "cubic")]);
    let mut p = running(&values);
    change(&mut p, &to(&values, "reno", &[]));
    assert!(
        probe(&p, "w_max").is_nan() && probe(&p, "k").is_nan(),
        "Reno has no such probes"
    );
    change(&mut p, &to(&values, "cubic", &[("c", "0.1")]));
    assert_eq!(probe(&p, "w_max"), p.cwnd());
    let grown = growth(&mut p, 1.0);
    assert!((8.0..=10.5).contains(&grown), "{grown}");
    assert_eq!(probe(&p, "k"), 0.0);
}

/// A window of 20 and 100 ms: BBR sends a window a round trip, a quarter more or less, and not 2.885 of them.
#[test]
fn bbr_begins_with_a_window_a_round_trip_and_without_startup() {
    let values = with(&[("congestion", "bbr")]);
    let mut p = Path::new(&config(&values), 50);
    change(&mut p, &to(&values, "reno", &[]));
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(1.0, &mut pass);
    let window = p.cwnd();
    change(&mut p, &to(&values, "bbr", &[]));
    assert_eq!((p.cwnd(), probe(&p, "mode")), (window, 2.0));
    let rate = |p: &Path| probe(p, "bottleneck_rate") / (window * 8000.0 / 0.1);
    assert!((rate(&p) - 1.0).abs() < 1e-9 && (probe(&p, "min_rtt") - 0.1).abs() < 1e-9);
    // The ACKs of the last burst of Reno.
    p.run(1.11, &mut pass);
    let sent = p.sent.len();
    p.run(1.21, &mut pass);
    let of_a_window = (p.sent.len() - sent) as f64 / window;
    assert!(
        (0.7..1.35).contains(&of_a_window),
        "{of_a_window} windows in a round trip"
    );
    // Its window is twice the product and three segments.
    p.run(1.4, &mut pass);
    assert!(p.cwnd() > 1.9 * window && p.cwnd() < 2.6 * window + 3.0, "{}", p.cwnd());
    assert!((0.99..1.3).contains(&rate(&p)), "{}", rate(&p));
}

#[test]
fn after_bbr_no_slow_start_looks_for_the_path_again() {
    let values = with(&[]);
    let mut p = running(&values);
    change(&mut p, &to(&values, "bbr", &[]));
    p.run(1.5, &mut pass);
    let window = p.cwnd();
    change(&mut p, &to(&values, "cubic", &[("reno_friendly", "false")]));
    assert_eq!((p.cwnd(), p.ssthresh()), (window, window));
    // What was paced is not any more, so that the window is full.
    let grown = growth(&mut p, 2.0);
    assert!((2.0..4.5).contains(&grown), "{grown}");
    // In Startup there is no threshold yet: slow start goes on.
    let values = with(&[("congestion", "bbr")]);
    let mut p = Path::new(&config(&values), 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    p.run(0.25, &mut pass);
    assert_eq!(probe(&p, "mode"), 0.0);
    change(&mut p, &to(&values, "reno", &[]));
    assert!(p.ssthresh().is_infinite() && growth(&mut p, 0.2) > 20.0);
}

/// What waited in the first queue is part of the path for Vegas when it begins again.
#[test]
fn vegas_measures_its_base_anew() {
    let values = with(&[("congestion", "vegas")]);
    let mut p = running(&values);
    assert!((probe(&p, "base_rtt") - 0.1).abs() < 1e-9);
    p.delay = Duration::from_millis(60);
    p.run(1.5, &mut pass);
    // A sixth of the window seems to be queued.
    assert!(growth(&mut p, 1.0) < 1.0);
    change(&mut p, &to(&values, "reno", &[]));
    assert!(probe(&p, "base_rtt").is_nan());
    change(&mut p, &to(&values, "vegas", &[]));
    let grown = growth(&mut p, 1.2);
    assert!((probe(&p, "base_rtt") - 0.12).abs() < 1e-9);
    assert!((7.0..=10.5).contains(&grown), "{grown}");
}

/// Three segments of a window are lost. Each is repaired once, the reduction of the control that was there is the only
/// one, and no byte is missing.
#[test]
fn recovery_goes_on_at_the_reduced_window() {
    let kinds: [Pairs; 6] = [
        &[("variant", "sack")],
        &[("variant", "sack"), ("prr", "losses")],
        &[("variant", "sack"), ("sack_form", "pipe")],
        &[
            ("variant", "sack"),
            ("loss", "rack"),
            ("timestamps", "true"),
            ("undo", "full"),
        ],
        &[("variant", "newreno")],
        &[("variant", "newreno"), ("prr", "losses")],
    ];
    for kind in kinds {
        for (old, new) in [
            ("reno", "cubic"),
            ("cubic", "reno"),
            ("reno", "bbr"),
            ("bbr", "reno"),
            ("reno", "vegas"),
        ] {
            let values = with(&[kind, &[("congestion", old)]].concat());
            let mut p = Path::new(&config(&values), 50);
            let mut hand = lose(&[41, 44, 46]);
            p.sender.write(Amount::Bytes(400_000), Time::ZERO);
            p.sender.close(Time::ZERO);
            while !p.sender.in_recovery() {
                let until = p.now.seconds() + 0.001;
                p.run(until, &mut hand);
            }
            let until = p.now.seconds() + 0.03;
            p.run(until, &mut hand);
            assert!(p.sender.in_recovery());
            let window = p.cwnd();
            change(&mut p, &to(&values, new, &[]));
            let case = format!("{kind:?}, {old} to {new}");
            assert!(p.sender.in_recovery() && p.cwnd() == window, "{case}");
            while p.sender.in_recovery() {
                let until = p.now.seconds() + 0.001;
                p.run(until, &mut hand);
                // BBR's own window is twice what it takes for the path; without SACK it does not see what arrives when.
                let most = match new {
                    "bbr" if kind[0].1 == "newreno" => f64::INFINITY,
                    "bbr" => 2.0 * window + 4.0,
                    _ => window.max(p.ssthresh()) + 1.0,
                };
                assert!(p.cwnd() <= most, "{case}: {} after {window}", p.cwnd());
            }
            p.run(60.0, &mut hand);
            let report = p.sender.report(p.now);
            assert_eq!((report.fast_retransmits, report.timeouts), (1, 0), "{case}");
            assert_eq!(p.repeated(), [41, 44, 46], "{case}");
            assert_eq!(p.receiver.received_bytes(), 400_000, "{case}");
        }
    }
}

/// What was reported before there were records counts as delivered before: the rate is not above the window's.
#[test]
fn records_that_begin_in_recovery_measure_no_more_than_arrives() {
    for variant in ["sack", "newreno"] {
        let values = with(&[("congestion", "bbr"), ("variant", variant)]);
        let mut p = Path::new(&config(&values), 50);
        change(&mut p, &to(&values, "reno", &[]));
        p.sender.write(Amount::Unlimited, Time::ZERO);
        let mut hand = lose(&[61, 62, 63, 64, 65]);
        while !p.sender.in_recovery() {
            let until = p.now.seconds() + 0.001;
            p.run(until, &mut hand);
        }
        let window = p.cwnd();
        change(&mut p, &to(&values, "bbr", &[]));
        let of_a_window = |p: &Path| probe(p, "bottleneck_rate") / (window * 8000.0 / 0.1);
        assert!((of_a_window(&p) - 1.0).abs() < 1e-9);
        let until = p.now.seconds() + 0.35;
        p.run(until, &mut hand);
        // What was in flight at the loss is up to twice the window that the loss left.
        assert!(of_a_window(&p) < 2.1, "{variant}: {}", of_a_window(&p));
    }
}

/// Marks that a scalable control has answered by itself stay counted, and it takes over from another such.
#[test]
fn reductions_stay_counted() {
    let values = [("congestion", "prague"), ("initial_window", "20 packets")];
    let mut p = Path::new(&config(&values), 50);
    p.sender.write(Amount::Unlimited, Time::ZERO);
    let mut every_tenth =
        |_: &tailback_transport::Segment, n: usize| if n.is_multiple_of(10) { Fate::Mark } else { Fate::Pass };
    p.run(2.0, &mut every_tenth);
    let before = p.sender.report(p.now).ecn_reductions;
    let alpha = probe(&p, "alpha");
    assert!(before > 0 && alpha > 0.0);
    change(&mut p, &to(&values, "scalable", &[]));
    assert_eq!(p.sender.report(p.now).ecn_reductions, before);
    assert!(probe(&p, "alpha").is_nan());
    p.run(3.0, &mut every_tenth);
    assert!(p.sender.report(p.now).ecn_reductions > before);
}

/// As the operating system has it, asking for what is there changes nothing.
#[test]
fn a_change_to_what_is_there_changes_nothing() {
    let values = with(&[("congestion", "cubic")]);
    let mut p = running(&values);
    let before: Vec<f64> = (0..12).map(|i| p.sender.read(i)).collect();
    change(&mut p, &to(&values, "cubic", &[]));
    assert_eq!((0..12).map(|i| p.sender.read(i)).collect::<Vec<f64>>(), before);
}

/// Before it is open a connection takes the control as if it had been made with it.
#[test]
fn a_connection_that_is_not_open_begins_with_the_new_control() {
    for new in CONTROLLERS.iter().map(|c| c.model.name) {
        let changed = [("congestion", "reno"), ("ecn", "off")];
        let made = [("congestion", new), ("ecn", "off")];
        let sent = [(&changed, true), (&made, false)].map(|(values, changes)| {
            let mut p = Path::new(&config(values), 50);
            if changes {
                change(&mut p, &to(values, new, &[]));
            }
            p.sender.write(Amount::Bytes(300_000), Time::ZERO);
            p.run(5.0, &mut lose(&[70]));
            p.sent
        });
        assert!(sent[0] == sent[1], "{new}");
    }
}

#[test]
fn what_an_open_connection_cannot_change_is_refused() {
    let refusal = |values: Pairs, name: &str| {
        ControlChange::new(&settings(values), &control(name, &[]), &[], &all())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal(&[], "dctcp"),
        "\"dctcp\" needs other ECN marks or echoes than \"reno\", but a connection agrees on them when it opens; give \
         ecn = \"off\" to these flows, or change to one of \"binomial\", \"cubic\", \"vegas\", \"ledbat-plus-plus\", \
         \"copa\", \"bbr\", \"bbr3\", \"two-windows\""
    );
    assert!(refusal(&[("congestion", "prague")], "cubic").ends_with("or change to one of \"scalable\""));
    assert!(refusal(&[("congestion", "dctcp")], "prague").ends_with("give ecn = \"off\" to these flows"));
    to(&[("ecn", "off")], "dctcp", &[]);
    to(&[("congestion", "prague")], "scalable", &[]);
    let text = |name: &str| Value::Text(name.into());
    let e = ControlChange::new(&settings(&[]), &text("cubik"), &[], &all()).unwrap_err();
    assert!(e.problem.contains("\"cubik\"") && e.remedy.contains("\"cubic\""), "{e}");
    let udp = Settings::defaults(tailback_transport::datagram::ENTRY.model);
    let e = ControlChange::new(&udp, &text("cubic"), &[], &all()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "the transport \"udp\" has no congestion control to change; name flows whose transport is \"tcp\""
    );
}

#[test]
fn only_ends_that_send_by_tcp_can_change() {
    let cubic = to(&[], "cubic", &[]);
    let path = tailback_transport::path::Path::default();
    for e in TRANSPORTS {
        let settings = Settings::defaults(e.model);
        let made = match e.carries {
            Carries::Stream(make) => make(&settings, &all()).unwrap(),
            Carries::Lossy(make) => make(&settings).unwrap(),
            Carries::Adapting(make) => make(&settings, &Registry::standard().rate_controllers).unwrap(),
            Carries::Datagrams => continue,
        };
        let mut rng = Stream::new(1, "ends");
        let can = made
            .ends(|| path.clone(), &mut rng)
            .map(|mut end| end.set_congestion(&cubic, &mut rng, Time::ZERO));
        assert_eq!(can, [e.model.name == "tcp", false], "{}", e.model.name);
    }
}
