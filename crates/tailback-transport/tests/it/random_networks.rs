//! Two-way connections over networks that randomly lose, reorder, repeat and delay segments, with windows that shut.
//! None stalls, none delivers data that was not written or delivers it twice, none sends outside the window, all
//! close.
//!
//! `TAILBACK_CASES` is the number of networks (default: 100,000), `TAILBACK_SEED` the number of the first one. A
//! failure prints its seed.

use crate::common::config;
use crate::common::two_way::{A, B, Fate, TwoWay};
use std::sync::Arc;
use tailback_base::{Duration, Stream, Time};
use tailback_transport::tcp::Config;
use tailback_transport::tcp::connection::{ConnectionEnd, Opening, State};
use tailback_transport::{Amount, AppEvent, Endpoint, Flags};

/// The random values of a network.
struct Network {
    loss: f64,
    reorder: f64,
    repeat: f64,
    mark: f64,
    /// Delay of up to this, seconds.
    late: f64,
    /// From a certain time on, every segment is delayed by this: a change of the path.
    longer: (f64, f64),
}

fn settings(rng: &mut Stream) -> Arc<Config> {
    let mut pick = |words: &[&'static str]| words[(rng.uniform() * words.len() as f64) as usize];
    let values = [
        ("connection", "two-way"),
        ("syn_retries", "0"),
        ("max_rto", "4s"),
        ("profile", pick(&["rfc", "linux", "ns2", "ns2-full", "ns3"])),
        ("congestion", pick(&["reno", "cubic", "bbr", "bbr3"])),
        ("variant", pick(&["tahoe", "reno", "newreno", "sack", "sack"])),
        ("rwnd", pick(&["1000B", "1500B", "3000B", "20000B", "unlimited"])),
        ("delayed_ack", pick(&["1", "2"])),
        ("timestamps", pick(&["true", "false"])),
        ("loss", pick(&["dupthresh", "rack"])),
        ("rack_form", pick(&["rfc8985", "linux"])),
        ("prr_bound", pick(&["auto", "crb", "ssrb"])),
        ("dsack", pick(&["true", "false"])),
        ("nagle", pick(&["true", "false"])),
        ("ecn", pick(&["on", "off"])),
        ("limited_transmit", pick(&["true", "false"])),
        ("initial_window", pick(&["1 packets", "4 packets", "10 packets"])),
        ("min_rto", pick(&["200ms", "1s"])),
        ("window_cap", pick(&["unlimited", "5 packets"])),
        ("max_burst", pick(&["0", "1", "4"])),
    ];
    // Contradictions are avoided: Tahoe has no recovery to spread, and ns-2's pipe counter has its own rule.
    let spread = pick(&["off", "losses", "losses_and_echoes"]);
    let of = |name: &str| values.iter().find(|v| v.0 == name).map_or("", |v| v.1);
    let counts_pipe = of("profile").starts_with("ns2") && of("loss") == "dupthresh" && of("variant") == "sack";
    let prr = if of("variant") == "tahoe" || counts_pipe {
        "off"
    } else {
        spread
    };
    // Only a connection that takes reductions back tests its timeouts.
    let undo = pick(&["off", "full", "rfc4015"]);
    let frto = if undo == "off" {
        "false"
    } else {
        pick(&["true", "false"])
    };
    let drawn = [
        ("prr", prr),
        ("undo", undo),
        ("frto", frto),
        ("ecn_syns", pick(&["0", "1"])),
    ];
    let all: Vec<(&str, &str)> = values.iter().copied().chain(drawn).collect();
    config(&all)
}

fn network(rng: &mut Stream) -> Network {
    let mut some = |most: f64| if rng.uniform() < 0.4 { 0.0 } else { rng.uniform() * most };
    Network {
        loss: some(0.3),
        reorder: some(0.5),
        repeat: some(0.2),
        mark: some(0.2),
        late: some(0.4),
        longer: (some(5.0), some(2.0)),
    }
}

/// What an application does at its end.
#[derive(Clone, Copy)]
enum Act {
    Write(u64),
    Close,
    Read(bool),
}

/// Some writes at random times, reading stopped and resumed, and a close after all of them.
fn plan(rng: &mut Stream, end: usize) -> (Vec<(Time, usize, Act)>, u64) {
    let mut at = |seconds: f64| Time::from_seconds(rng.uniform() * seconds);
    let mut acts = Vec::new();
    let mut written = 0;
    let writes = (at(4.0).seconds()) as u64;
    for _ in 0..writes {
        let when = at(5.0);
        let bytes = match at(4.0).seconds() as u64 {
            0 => 1,
            1 => 100,
            2 => 5_000,
            _ => (at(40.0).seconds() * 1000.0) as u64,
        };
        written += bytes;
        acts.push((when, end, Act::Write(bytes)));
    }
    if at(1.0).seconds() < 0.5 {
        let from = at(5.0);
        acts.push((from, end, Act::Read(false)));
        acts.push((from + Duration::from_seconds(at(8.0).seconds()), end, Act::Read(true)));
    }
    acts.push((
        Time::from_seconds(5.0) + Duration::from_seconds(at(5.0).seconds()),
        end,
        Act::Close,
    ));
    (acts, written)
}

/// Run one network, from its seed; returns the number of segments sent.
fn run(seed: u64) -> usize {
    let mut rng = Stream::new(seed, "two-way");
    let cfg = settings(&mut rng);
    let path = network(&mut rng);
    let both_open = rng.uniform() < 0.1;
    let second = if both_open { Opening::Active } else { Opening::Passive };
    let ends = [Opening::Active, second].map(|o| ConnectionEnd::new(cfg.clone(), cfg.build_controller(), o));
    let mut net = TwoWay::between(ends, 1 + (rng.uniform() * 100.0) as u64);
    let mut written = [0; 2];
    let mut acts = vec![(Time::ZERO, A, Act::Write(0))];
    for end in [A, B] {
        let (own, bytes) = plan(&mut rng, end);
        acts.extend(own);
        written[end] = bytes;
        net.ends[end].stay_open();
    }
    if both_open {
        acts.push((Time::ZERO, B, Act::Write(0)));
    }
    acts.sort_by_key(|a| a.0);
    let rwnd = cfg.rwnd.min(cfg.window.cap);
    let mut hand_rng = Stream::new(seed, "path");
    // What each end has told the other that it has received: nothing beyond this plus the window may be sent.
    let mut told = [1u64; 2];
    let mut hand = |from: usize, s: &tailback_transport::Segment, n: usize| {
        if s.flags.has(Flags::ACK) && !s.flags.has(Flags::RST) {
            told[from] = told[from].max(s.ack);
        }
        let edge = told[1 - from] as f64 + rwnd;
        let probe = f64::from(s.payload == 1);
        let end = s.seq as f64 + f64::from(s.payload);
        assert!(
            s.payload == 0 || end <= edge + probe,
            "outside the window: {s:?}, {edge}"
        );
        // A path that loses without end would never deliver.
        let loss = if n > 3000 { 0.0 } else { path.loss };
        let mut late = || Duration::from_seconds(hand_rng.uniform() * path.late);
        let (a, b) = (late(), late());
        let moved = Duration::from_seconds(path.longer.1);
        let dice = hand_rng.uniform();
        if dice < loss {
            Fate::Drop
        } else if dice < loss + path.reorder * 0.5 {
            Fate::Late(a)
        } else if dice < loss + path.reorder * 0.5 + path.repeat {
            Fate::Twice(b)
        } else if dice > 1.0 - path.mark && s.payload > 0 && s.ecn != tailback_base::Ecn::NotEct {
            Fate::Mark
        } else if n as f64 > 50.0 * path.longer.0 && path.longer.0 > 0.0 {
            Fate::Late(moved)
        } else {
            Fate::Pass
        }
    };
    for (at, end, act) in acts {
        while net.step(at, &mut hand) {}
        net.now = net.now.max(at);
        let now = net.now;
        match act {
            Act::Write(bytes) => net.ends[end].write(Amount::Bytes(bytes), now),
            Act::Close => net.ends[end].close(now),
            Act::Read(on) => net.ends[end].set_reading(on, now),
        }
    }
    let until = Time::from_seconds(3000.0);
    let mut steps = 0;
    while net.step(until, &mut hand) {
        steps += 1;
        assert!(
            steps < 1_000_000,
            "seed {seed}: it goes on for ever: {:?}",
            net.states()
        );
    }
    assert_eq!(
        net.states(),
        [State::Closed, State::Closed],
        "seed {seed}: it stalls at {:?}",
        net.now
    );
    for end in [A, B] {
        assert_eq!(net.delivered(1 - end), written[end], "seed {seed}: written at {end}");
        assert_eq!(net.ends[1 - end].received_bytes(), written[end], "seed {seed}");
        for event in [AppEvent::Connected, AppEvent::PeerClosed, AppEvent::Closed] {
            let times = net.heard[end].iter().filter(|e| e.1 == event).count();
            assert_eq!(times, 1, "seed {seed}: end {end} heard {event:?}");
        }
    }
    net.sent.len()
}

#[test]
fn random_networks_neither_stall_nor_lie() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |v| v.parse().expect("a number"));
    let (first, cases) = (number("TAILBACK_SEED", 0), number("TAILBACK_CASES", 100_000));
    let mut segments = 0;
    for seed in first..first + cases {
        segments += std::panic::catch_unwind(|| run(seed)).unwrap_or_else(|e| {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(e)
        });
    }
    println!("seeds {first} to {}: {segments} segments", first + cases - 1);
    assert!(
        segments as u64 > 10 * cases,
        "{segments} segments are too few to mean anything"
    );
}
