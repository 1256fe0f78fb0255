//! Congestion controls that change at random times: no panic, a window of a segment at least, and header prediction is
//! never seen.

use crate::common::{Fate, Path, config, settings};
use proptest::prelude::*;
use tailback_base::model::Value;
use tailback_base::{Duration, Ecn, Settings, Stream, Time};
use tailback_transport::segment::Plain;
use tailback_transport::tcp::congestion::{Controller, list::CONTROLLERS};
use tailback_transport::tcp::{ControlChange, Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

const KINDS: [&[(&str, &str)]; 9] = [
    &[("variant", "tahoe")],
    &[("variant", "reno"), ("inflation", "window")],
    &[("variant", "newreno"), ("exit_window", "flight"), ("prr", "losses")],
    &[("variant", "sack"), ("prr", "losses_and_echoes"), ("dsack", "true")],
    &[("variant", "sack"), ("sack_form", "pipe"), ("congestion_form", "ns3")],
    &[
        ("variant", "sack"),
        ("undo", "full"),
        ("frto", "true"),
        ("timestamps", "true"),
    ],
    &[("profile", "linux"), ("payload", "1000B"), ("timestamps", "true")],
    &[("loss", "rack"), ("undo", "rfc4015"), ("idle_forgets", "all")],
    &[
        ("variant", "newreno"),
        ("max_burst", "3"),
        ("timeout_reaction", "halve"),
    ],
];

/// Those that agree on the same marks.
const CONTROLS: [&str; 8] = [
    "reno",
    "binomial",
    "cubic",
    "vegas",
    "ledbat-plus-plus",
    "copa",
    "bbr",
    "bbr3",
];

fn changes(values: &[(&str, &str)]) -> Vec<ControlChange> {
    let all: Vec<&'static Controller> = CONTROLLERS.iter().collect();
    let settings = settings(values);
    let make = |name: &&str| {
        let hystart = ["reno", "cubic"].contains(name);
        let found = CONTROLLERS.iter().find(|c| c.model.name == *name).unwrap();
        let own = Settings::defaults(found.model);
        let own = if hystart { own.with("hystart", "true") } else { own };
        ControlChange::new(&settings, &Value::Model(Box::new(own)), &[], &all).unwrap()
    };
    CONTROLS.iter().map(make).collect()
}

#[derive(Clone, Debug)]
enum Step {
    /// So many segments back from the highest, with reports above it.
    Ack {
        back: u64,
        echo: bool,
        blocks: Vec<(u64, u64)>,
    },
    Wait(u64),
    Timeouts,
    Write(u64),
    Change(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let blocks = prop::collection::vec((0u64..40, 1u64..6), 0..4);
    let ack = (0u64..30, prop::bool::weighted(0.1), blocks);
    prop_oneof![
        12 => ack.prop_map(|(back, echo, blocks)| Step::Ack { back, echo, blocks }),
        5 => (0u64..500_000_000).prop_map(Step::Wait),
        3 => Just(Step::Timeouts),
        1 => (0u64..100_000).prop_map(Step::Write),
        4 => (0..CONTROLS.len()).prop_map(Step::Change),
    ]
}

fn ack(ack: u64, now: Time, stamped: bool) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: SackBlocks::new(),
        timestamps: stamped.then_some((now, Time(now.0.saturating_sub(30_000_000)))),
        window: None,
        counts: None,
    }
}

fn drain(s: &mut Sender, now: Time, highest: &mut u64) {
    for _ in 0..20_000 {
        match s.poll_transmit(now) {
            Transmit::Segment(x) => *highest = (*highest).max(x.end()),
            _ => return,
        }
    }
    panic!("an endless burst");
}

/// A segment as header prediction words it.
fn plain(s: &Segment, now: Time) -> Plain {
    Plain {
        other: 1,
        seq: s.seq,
        payload: s.payload,
        bytes: s.bytes,
        flags: s.flags,
        ecn: s.ecn,
        sent: now,
        echo: s.timestamps.map_or(Time::NEVER, |t| t.1),
    }
}

/// All that leaves now, and when the pacer lets more go.
fn leaving(s: &mut Sender, now: Time, out: &mut Vec<Plain>) -> Time {
    loop {
        match s.poll_transmit(now) {
            Transmit::Segment(x) => out.push(plain(&x, now)),
            Transmit::NotBefore(t) => return t,
            Transmit::Idle => return Time::NEVER,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_panics_or_takes_the_last_segment(
        which in 0..KINDS.len(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let (cfg, changes) = (config(KINDS[which]), changes(KINDS[which]));
        let (mut sender, _) = new_pair(&cfg);
        let (mut now, mut highest, mut rng) = (Time::ZERO, 1, Stream::new(which as u64, "change"));
        sender.write(Amount::Bytes(300_000), now);
        drain(&mut sender, now, &mut highest);
        now += Duration::from_millis(30);
        let flags = Flags::SYN.with(Flags::ACK).with(Flags::ECE);
        sender.on_segment(&Segment { seq: 0, flags, ..ack(1, now, true) }, now, &mut ());
        drain(&mut sender, now, &mut highest);
        for s in steps {
            match s {
                Step::Ack { back, echo, blocks } => {
                    let to = highest.saturating_sub(back * 1000).max(1);
                    let flags = if echo { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
                    let sack = blocks.iter().map(|(from, n)| (to + from * 1000, to + (from + n) * 1000)).collect();
                    sender.on_segment(&Segment { flags, sack, ..ack(to, now, true) }, now, &mut ());
                }
                Step::Wait(ns) => now += Duration(ns),
                Step::Timeouts => {
                    now = now.max(sender.next_timeout().unwrap_or(now));
                    sender.on_timeout(now, &mut ());
                }
                Step::Write(n) => sender.write(Amount::Bytes(n), now),
                Step::Change(n) => {
                    let before = (sender.cwnd(), sender.in_recovery(), sender.outstanding());
                    prop_assert!(sender.set_congestion(&changes[n], &mut rng, now));
                    prop_assert_eq!(before, (sender.cwnd(), sender.in_recovery(), sender.outstanding()));
                }
            }
            drain(&mut sender, now, &mut highest);
            let (cwnd, ssthresh) = (sender.cwnd(), sender.ssthresh());
            prop_assert!(cwnd > 999.9 && cwnd.is_finite() && ssthresh > 999.9, "{} {}", cwnd, ssthresh);
            for probe in 0..16 {
                sender.read(probe);
            }
            sender.report(now);
        }
    }

    /// Two senders hear the same ACKs, one of them by prediction wherever it may: the same segments leave at the same
    /// times.
    #[test]
    fn prediction_is_right_after_a_change(
        which in 0..KINDS.len(),
        steps in prop::collection::vec(
            (0u64..4, 0u64..40_000_000, prop::option::weighted(0.2, 0..CONTROLS.len())),
            1..150,
        ),
    ) {
        let (cfg, changes) = (config(&[KINDS[which], &[("syn", "false"), ("ecn", "off")]].concat()), {
            changes(&[KINDS[which], &[("syn", "false"), ("ecn", "off")]].concat())
        });
        let mut senders = [(); 2].map(|()| new_pair(&cfg).0);
        let mut rngs = [(); 2].map(|()| Stream::new(which as u64, "change"));
        let (mut now, mut acked, mut highest) = (Time::ZERO, 1, 1);
        for s in &mut senders {
            s.write(Amount::Unlimited, now);
            s.on_timeout(now, &mut ());
        }
        for (segments, wait, to) in steps {
            let mut out = [vec![], vec![]];
            let heard = ack(acked, now, cfg.timestamps);
            let mut wakes = [(Time::ZERO, Time::ZERO); 2];
            for (i, s) in senders.iter_mut().enumerate() {
                if let Some(n) = to {
                    s.set_congestion(&changes[n], &mut rngs[i], now);
                }
                leaving(s, now, &mut out[i]);
                let ack = Plain { seq: acked, ..plain(&heard, now) };
                let wake = if i == 1 { s.predict(&ack, now, &mut out[i]) } else { None };
                wakes[i] = match wake {
                    Some(w) => (w.timeout, w.not_before),
                    None => {
                        s.on_segment(&heard, now, &mut ());
                        let not_before = leaving(s, now, &mut out[i]);
                        (s.next_timeout().unwrap_or(Time::NEVER), not_before)
                    }
                };
            }
            prop_assert_eq!(&out[0], &out[1]);
            prop_assert_eq!(wakes[0], wakes[1]);
            prop_assert_eq!(senders[0].cwnd(), senders[1].cwnd());
            for p in &out[0] {
                highest = highest.max(p.seq + u64::from(p.payload));
            }
            now += Duration(wait);
            acked = (acked + segments * 1000).min(highest);
            if now >= wakes[0].0 {
                senders.iter_mut().for_each(|s| s.on_timeout(now, &mut ()));
            }
        }
    }

    /// Over a path that loses and delays, every byte arrives however often the control changes.
    #[test]
    fn every_byte_arrives(
        which in 0..KINDS.len(),
        seed in any::<u64>(),
        at in prop::collection::vec((1u64..4000, 0..CONTROLS.len()), 0..8),
    ) {
        let values = [KINDS[which], &[("ecn", "off"), ("syn", "false")]].concat();
        let mut p = Path::new(&config(&values), 20);
        let changes = changes(&values);
        let (mut at, mut rng) = (at, Stream::new(seed, "change"));
        at.sort_unstable();
        p.sender.write(Amount::Bytes(80_000), Time::ZERO);
        p.sender.close(Time::ZERO);
        let (mut random, mut other) = (Stream::new(seed, "path"), Stream::new(seed, "acks"));
        let fate = |r: &mut Stream| match r.below(20) {
            0..=1 => Fate::Drop,
            2..=3 => Fate::Late(Duration(r.below(30_000_000))),
            _ => Fate::Pass,
        };
        for (ms, n) in at {
            p.run_with(Time(ms * 1_000_000), &mut |_, _| fate(&mut random), &mut |_, _| fate(&mut other));
            p.sender.set_congestion(&changes[n], &mut rng, p.now);
        }
        p.run_with(Time::from_seconds(20_000.0), &mut |_, _| fate(&mut random), &mut |_, _| fate(&mut other));
        prop_assert!(p.sender.is_closed());
        prop_assert_eq!(p.receiver.received_bytes(), 80_000);
        prop_assert!(p.sender.next_timeout().is_none());
    }
}
