//! Every impairment of a link, met by real transports: the right packets are struck, and the transport notices.

mod common;
use common::*;
use tailback_base::{BitRate, Duration, Ecn, Settings, Size, Time};
use tailback_sim::build::network::{Built, Network, Transport};
use tailback_sim::declare::impairments::{Harm, Impairment};
use tailback_sim::declare::netem;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::traffic::application::{AppInput, Application};
use tailback_transport::Amount;

/// A flow over 100 Mb/s and 10 ms with these impairments before the queue.
fn path(impairments: Vec<Impairment>, transport: Transport, app: Box<dyn Application>) -> Built {
    let mut net = Network::new(7);
    let (a, b) = (net.node("a"), net.node("b"));
    let mut there = drop_tail(mbps(100), ms(10), Size::Unlimited);
    there.impairments = impairments;
    net.link("ab", a, b, there, wire(ms(10)));
    let group = net.group("f");
    let flow = net.flow(group, 0, a, b, transport);
    net.feed(flow, app, Time::ZERO, None, true);
    let mut built = build(net);
    built.sim.run_until(at(60_000));
    check_conservation(&built);
    built
}

/// A transfer of this many segments of 1000 B on the wire.
fn transfer(impairments: Vec<Impairment>, segments: u64, tcp: &[(&str, &str)]) -> Outcome {
    let mut parameters = vec![("payload", "960B"), ("delayed_ack", "1"), ("timestamps", "false")];
    parameters.extend_from_slice(tcp);
    let app = Box::new(Transfer(Amount::Bytes(960 * segments)));
    let built = path(impairments, Transport::Connection(tcp_ends(&parameters)), app);
    let result = outcome(&built, at(60_000));
    let goodput = of(&result["flows"], "f.0", "goodput_bps") * 60.0 / 8.0;
    assert_eq!(goodput.round(), 960.0 * segments as f64, "every byte arrives once");
    result
}

/// Arrivals of `n` datagrams sent each millisecond: (ms since its sending, which is its size less 100, order kept).
fn datagrams(impairments: Vec<Impairment>, ecn: Ecn, n: u64) -> (Vec<(u64, Time)>, Outcome) {
    // A datagram is known by its size.
    let sends = (0..n).map(|i| (at(i + 1), 100 + i as u32)).collect();
    let script = Script::new(sends);
    let heard = script.heard.clone();
    let built = path(impairments, Transport::Datagrams { ecn }, Box::new(script));
    let got = heard
        .borrow()
        .iter()
        .filter_map(|(t, e)| match e {
            AppInput::Datagram { bytes, .. } => Some((u64::from(*bytes) - 100, *t)),
            _ => None,
        })
        .collect();
    (got, outcome(&built, at(60_000)))
}

fn numbers(got: &[(u64, Time)]) -> Vec<u64> {
    got.iter().map(|g| g.0).collect()
}

/// When datagram `i` arrives if nothing happens to it.
fn due(i: u64) -> Time {
    at(i + 1) + BitRate(100_000_000).time_of(100 + i) + ms(10)
}

#[test]
fn losses_by_index_hit_those_packets() {
    let which = vec![Impairment::ByIndex {
        indices: vec![9, 0, 4, 4],
        action: Harm::Drop,
    }];
    let (got, result) = datagrams(which, Ecn::NotEct, 12);
    assert_eq!(numbers(&got), [1, 2, 3, 5, 6, 7, 8, 10, 11]);
    assert!(got.iter().all(|(i, t)| *t == due(*i)), "{got:?}");
    assert_eq!(lost(&result, "ab", "impairment"), 3.0);
    assert_eq!(of(&result["flows"], "f.0", "dropped_packets"), 3.0);

    let every = vec![Impairment::EveryNth {
        n: 5,
        action: Harm::Drop,
    }];
    let (got, _) = datagrams(every, Ecn::NotEct, 12);
    assert_eq!(numbers(&got), [0, 1, 2, 3, 5, 6, 7, 8, 10, 11]);
}

/// Index 0 is the SYN, so index 4 is the fourth segment: it alone is repeated, by fast retransmit.
#[test]
fn tcp_repeats_the_segment_that_was_lost() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        let which = vec![Impairment::ByIndex {
            indices: vec![4],
            action: Harm::Drop,
        }];
        let result = transfer(which, 40, &[("variant", variant)]);
        let f = |c| of(&result["flows"], "f.0", c);
        assert_eq!(
            (f("dropped_packets"), f("timeouts"), f("fast_retransmits")),
            (1.0, 0.0, 1.0),
            "{variant}"
        );
        // Tahoe goes back; the others repeat one.
        assert!(f("retransmitted_packets") == 1.0 || variant == "tahoe", "{variant}");
        assert_eq!(f("sent_packets"), 40.0 + f("retransmitted_packets"));
    }
    // The SYN, and the last segment: nothing comes after it that could tell, so the timer must.
    let result = transfer(
        vec![Impairment::ByIndex {
            indices: vec![0],
            action: Harm::Drop,
        }],
        4,
        &[],
    );
    assert_eq!(of(&result["flows"], "f.0", "timeouts"), 1.0);
    let result = transfer(
        vec![Impairment::ByIndex {
            indices: vec![4],
            action: Harm::Drop,
        }],
        4,
        &[],
    );
    assert_eq!(of(&result["flows"], "f.0", "timeouts"), 1.0);
    assert_eq!(of(&result["flows"], "f.0", "retransmitted_packets"), 1.0);
}

#[test]
fn random_and_bursty_losses_have_their_rates_and_tcp_survives_them() {
    let random = vec![Impairment::Random {
        probability: 0.05,
        action: Harm::Drop,
    }];
    let (got, _) = datagrams(random.clone(), Ecn::NotEct, 1400);
    // 1400 trials: mean 70, standard deviation 8.2.
    let n = 1400 - got.len();
    assert!((40..100).contains(&n), "{n}");
    let result = transfer(random, 500, &[]);
    assert!(of(&result["flows"], "f.0", "retransmitted_packets") >= of(&result["flows"], "f.0", "dropped_packets"));

    let bursts = Impairment::Gilbert {
        to_bad: 0.02,
        to_good: 0.25,
        loss_good: 0.0,
        loss_bad: 1.0,
        action: Harm::Drop,
    };
    let (got, _) = datagrams(vec![bursts.clone()], Ecn::NotEct, 1400);
    let gaps = got.windows(2).filter(|w| w[1].0 > w[0].0 + 1).count() as f64;
    let lost = (1400 - got.len()) as f64;
    // Bad for 0.02 / 0.27 of the time, in bursts of four.
    assert!(
        (40.0..180.0).contains(&lost) && (2.0..7.0).contains(&(lost / gaps)),
        "{lost} in {gaps}"
    );
    transfer(vec![bursts], 300, &[]);
}

#[test]
fn a_mark_halves_the_sender_once() {
    let mark = |indices| {
        vec![Impairment::ByIndex {
            indices,
            action: Harm::Mark,
        }]
    };
    for (indices, reductions) in [
        (vec![], 0.0),
        (vec![30], 1.0),
        (vec![30, 31, 32], 1.0),
        (vec![30, 150], 2.0),
    ] {
        let marks = indices.len() as f64;
        let result = transfer(mark(indices), 300, &[("ecn", "on"), ("initial_ssthresh", "20 packets")]);
        let f = |c| of(&result["flows"], "f.0", c);
        assert_eq!(f("marked_packets"), marks);
        assert_eq!(f("ecn_reductions"), reductions, "once a window");
        assert_eq!(
            (f("retransmitted_packets"), f("timeouts"), f("dropped_packets")),
            (0.0, 0.0, 0.0)
        );
        assert_eq!(of(&result["links"], "ab", "marked_packets"), marks);
    }
    // What is not capable passes unharmed.
    let result = transfer(mark(vec![30]), 100, &[("ecn", "off")]);
    assert_eq!(of(&result["flows"], "f.0", "marked_packets"), 0.0);
    let every = vec![Impairment::EveryNth {
        n: 3,
        action: Harm::Mark,
    }];
    let (got, result) = datagrams(every.clone(), Ecn::Ect0, 30);
    assert_eq!((got.len(), of(&result["flows"], "f.0", "marked_packets")), (30, 10.0));
    assert_eq!(
        of(&datagrams(every, Ecn::NotEct, 30).1["flows"], "f.0", "marked_packets"),
        0.0
    );
}

#[test]
fn duplicates_are_counted_where_they_arrive() {
    let always = vec![Impairment::Duplicate { probability: 1.0 }];
    let (got, result) = datagrams(always.clone(), Ecn::NotEct, 20);
    let twice: Vec<u64> = (0..20).flat_map(|i| [i, i]).collect();
    assert_eq!(numbers(&got), twice);
    let f = |c| of(&result["flows"], "f.0", c);
    assert_eq!((f("sent_packets"), f("received_packets")), (20.0, 40.0));
    assert_eq!(of(&result["links"], "ab", "arrived_packets"), 40.0);
    // TCP takes each byte once. Each copy draws an ACK of its own: duplicate ACKs, but never three of one number.
    let result = transfer(always, 100, &[]);
    let f = |c| of(&result["flows"], "f.0", c);
    assert_eq!(
        (f("sent_packets"), f("received_packets"), f("retransmitted_packets")),
        (100.0, 200.0, 0.0)
    );
    assert_eq!(of(&result["links"], "ab", "arrived_packets"), 2.0 * 101.0);
}

/// netem that sends each packet twice.
fn netem_twice() -> Impairment {
    netem::read(&Settings::defaults(&netem::MODEL).with("duplicate", "1")).unwrap()
}

/// Linux counts what it has of a packet: copied, less one if lost, and only at 0 there is none (sch_netem.c). What
/// loses a packet behind it takes one of the two.
#[test]
fn a_copy_outlives_the_packet_that_it_is_of() {
    let first_of_two = (0..20).map(|i| 2 * i).collect();
    let lost = Impairment::ByIndex {
        indices: first_of_two,
        action: Harm::Drop,
    };
    let (got, result) = datagrams(vec![netem_twice(), lost], Ecn::NotEct, 20);
    assert_eq!(numbers(&got), (0..20).collect::<Vec<u64>>());
    assert_eq!(of(&result["flows"], "f.0", "received_packets"), 20.0);
}

/// Linux clones a packet after it has marked it (sch_netem.c), so that both have the mark.
#[test]
fn a_copy_has_the_mark_of_the_packet_that_it_is_of() {
    let first = Impairment::ByIndex {
        indices: vec![0],
        action: Harm::Mark,
    };
    let (got, result) = datagrams(vec![first.clone(), netem_twice()], Ecn::Ect0, 5);
    assert_eq!(got.len(), 10);
    assert_eq!(of(&result["flows"], "f.0", "marked_packets"), 2.0);
    let (_, result) = datagrams(vec![first, netem_twice()], Ecn::NotEct, 5);
    assert_eq!(of(&result["flows"], "f.0", "marked_packets"), 0.0);
}

#[test]
fn a_reordered_packet_is_late_by_the_delay_and_the_others_are_not() {
    let some = vec![Impairment::Reorder {
        probability: 0.2,
        delay: Duration::from_micros(3500),
    }];
    let (got, _) = datagrams(some, Ecn::NotEct, 200);
    assert_eq!(got.len(), 200);
    let late: Vec<u64> = got.iter().filter(|(i, t)| *t != due(*i)).map(|g| g.0).collect();
    assert!((20..60).contains(&late.len()), "{}", late.len());
    for (i, t) in &got {
        assert!(
            *t == due(*i) || *t == due(*i) + Duration::from_micros(3500),
            "{i} {t:?}"
        );
    }
    // Three packets come in 3.5 ms: each late one is overtaken by those of the three that are not late themselves.
    let overtaken = got.windows(2).filter(|w| w[1].0 < w[0].0).count();
    assert!(
        overtaken >= late.len() / 2 && overtaken <= late.len(),
        "{overtaken} of {}",
        late.len()
    );
    // A delay below the distance of packets reorders nothing.
    let short = vec![Impairment::Reorder {
        probability: 0.5,
        delay: Duration::from_micros(900),
    }];
    assert!(numbers(&datagrams(short, Ecn::NotEct, 200).0).is_sorted());
}

#[test]
fn a_black_hole_loses_what_is_larger_than_its_mtu() {
    // Datagrams of 100, 101, 102 B and so on.
    let (got, _) = datagrams(vec![Impairment::BlackHole { mtu: 149 }], Ecn::NotEct, 100);
    assert_eq!(numbers(&got), (0..50).collect::<Vec<_>>());
}

#[test]
fn a_send_delay_keeps_the_order_and_its_distribution() {
    let delay = |max| {
        vec![Impairment::SendDelay {
            max: Duration::from_micros(max),
        }]
    };
    // Below the distance of packets each wait stands alone: uniform in 0..0.8 ms.
    let (got, _) = datagrams(delay(800), Ecn::NotEct, 1400);
    let waits: Vec<f64> = got.iter().map(|(i, t)| (*t - due(*i)).seconds() * 1e3).collect();
    assert!(numbers(&got).is_sorted() && got.len() == 1400);
    let (mean, below) = (
        waits.iter().sum::<f64>() / 1400.0,
        waits.iter().filter(|w| **w < 0.2).count(),
    );
    // Standard deviations: 0.006 ms, and 16 packets.
    assert!(
        (mean - 0.4).abs() < 0.025 && (below as f64 - 350.0).abs() < 65.0,
        "{mean} {below}"
    );
    assert!(
        waits.iter().all(|w| (0.0..=0.8).contains(w)),
        "no more than the maximum"
    );
    // Far above it, packets push each other along but never past.
    let (got, _) = datagrams(delay(20_000), Ecn::NotEct, 1400);
    assert!(numbers(&got).is_sorted() && got.len() == 1400);
    assert!(got.windows(2).all(|w| w[0].1 <= w[1].1));
    let result = transfer(delay(5000), 200, &[]);
    assert_eq!(of(&result["flows"], "f.0", "retransmitted_packets"), 0.0);
}

/// Impairments act in the order they are listed, and each counts what reaches it.
#[test]
fn stages_follow_each_other() {
    let two = vec![
        Impairment::EveryNth {
            n: 2,
            action: Harm::Drop,
        },
        Impairment::ByIndex {
            indices: vec![0, 1],
            action: Harm::Drop,
        },
    ];
    let (got, _) = datagrams(two, Ecn::NotEct, 8);
    assert_eq!(numbers(&got), [4, 6], "of 0 2 4 6 the first two");
}

/// Losses follow the count of packets, not their times, and no other random choice.
#[test]
fn the_same_packets_are_struck_whatever_their_times() {
    let random = || {
        vec![Impairment::Random {
            probability: 0.3,
            action: Harm::Drop,
        }]
    };
    let sizes = |gap: u64| {
        let script = Script::new((0..300_u64).map(|i| (Time(1 + i * gap), 100 + i as u32)).collect());
        let heard = script.heard.clone();
        path(random(), DATAGRAMS, Box::new(script));
        let heard = heard.borrow();
        heard.iter().map(|h| format!("{:?}", h.1)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(1_000_000), sizes(37));
}
