//! Whatever segments arrive, no endpoint panics, sends without end or loses a byte.

use crate::common::{Fate, Path, config};
use proptest::prelude::*;
use tailback_base::{Duration, Ecn, Time};
use tailback_transport::tcp::{Receiver, Sender, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

const VARIANTS: [&[(&str, &str)]; 7] = [
    &[("variant", "tahoe")],
    &[("variant", "reno")],
    &[
        ("variant", "reno"),
        ("timeout_reaction", "halve"),
        ("byte_counting", "2"),
    ],
    &[("variant", "newreno"), ("exit_window", "flight"), ("max_burst", "3")],
    &[
        ("variant", "sack"),
        ("timestamps", "true"),
        ("dsack", "true"),
        ("option_bytes", "tcp"),
    ],
    &[
        ("profile", "ns2"),
        ("variant", "sack"),
        ("payload", "1000B"),
        ("window_cap", "50 packets"),
    ],
    &[
        ("profile", "ns2"),
        ("variant", "newreno"),
        ("payload", "1000B"),
        ("ecn", "on"),
        ("syn", "false"),
    ],
];

/// A sequence number near a plausible one, or far from it.
fn sequence() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0u64..60).prop_map(|n| n * 1000 + 1),
        3 => 0u64..60_000,
        1 => Just(0),
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ]
}

fn segment() -> impl Strategy<Value = Segment> {
    let blocks = prop::collection::vec((sequence(), sequence()), 0..5);
    let stamps = prop::option::of((any::<u32>(), any::<u64>()));
    let payload = prop_oneof![3 => Just(1000u32), 1 => 0u32..3000, 1 => Just(u32::MAX)];
    (sequence(), payload, sequence(), any::<u8>(), 0u8..4, blocks, stamps).prop_map(
        |(seq, payload, ack, flags, ecn, blocks, stamps)| Segment {
            seq,
            payload,
            ack,
            flags: Flags(flags),
            ecn: Ecn::from_bits(ecn),
            bytes: 40,
            sack: blocks.into_iter().collect::<SackBlocks>(),
            timestamps: stamps.map(|(v, e)| (Time(u64::from(v)), Time(e))),
            window: None,
            counts: None,
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    ToSender(Segment),
    /// An ACK of what is outstanding, so that the run makes progress.
    Ack {
        back: u64,
        echo: bool,
        blocks: Vec<(u64, u64)>,
    },
    ToReceiver(Segment),
    Wait(u64),
    Timeouts,
    Write(u64),
    Unlimited,
    Close,
    Abort,
}

fn step() -> impl Strategy<Value = Step> {
    let blocks = prop::collection::vec((0u64..40, 1u64..6), 0..4);
    prop_oneof![
        4 => segment().prop_map(Step::ToSender),
        12 => (0u64..30, any::<bool>(), blocks).prop_map(|(back, echo, blocks)| Step::Ack { back, echo, blocks }),
        6 => segment().prop_map(Step::ToReceiver),
        4 => (0u64..3_000_000_000).prop_map(Step::Wait),
        6 => Just(Step::Timeouts),
        1 => (0u64..100_000).prop_map(Step::Write),
        1 => Just(Step::Unlimited),
        1 => prop_oneof![Just(Step::Close), Just(Step::Abort)],
    ]
}

/// Poll until idle; returns the number of segments, which must be finite.
fn drain(e: &mut dyn Endpoint, now: Time, highest: &mut u64) -> usize {
    for n in 0..20_000 {
        match e.poll_transmit(now) {
            Transmit::Segment(s) => *highest = (*highest).max(s.end()),
            _ => return n,
        }
    }
    panic!("an endless burst");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_segments_and_timeouts_panics(
        which in 0..VARIANTS.len(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let (mut sender, mut receiver): (Sender, Receiver) = new_pair(&config(VARIANTS[which]));
        let (mut now, mut highest, mut answers) = (Time::ZERO, 1u64, 0u64);
        sender.write(Amount::Bytes(200_000), now);
        drain(&mut sender, now, &mut highest);
        sender.on_segment(&Segment {
            seq: 0, payload: 0, ack: 1, flags: Flags::SYN.with(Flags::ACK).with(Flags::ECE), ecn: Ecn::NotEct,
            bytes: 40, sack: SackBlocks::new(), timestamps: Some((now, now)), window: None,
            counts: None,
        }, now, &mut ());
        drain(&mut sender, now, &mut highest);
        for s in steps {
            match s {
                Step::ToSender(s) => sender.on_segment(&s, now, &mut ()),
                Step::Ack { back, echo, blocks } => {
                    let ack = highest.saturating_sub(back * 1000).max(1);
                    let flags = if echo { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
                    let sack = blocks.iter().map(|(from, n)| (ack + from * 1000, ack + (from + n) * 1000)).collect();
                    let s = Segment {
                        seq: 1, payload: 0, ack, flags, ecn: Ecn::NotEct,
                        bytes: 40, sack, timestamps: Some((now, now)), window: None,
                        counts: None,
                    };
                    sender.on_segment(&s, now, &mut ());
                }
                Step::ToReceiver(s) => receiver.on_segment(&s, now, &mut ()),
                Step::Wait(ns) => now += Duration(ns),
                Step::Timeouts => {
                    now = now.max(sender.next_timeout().unwrap_or(now)).max(receiver.next_timeout().unwrap_or(now));
                    sender.on_timeout(now, &mut ());
                    receiver.on_timeout(now, &mut ());
                }
                Step::Write(n) => sender.write(Amount::Bytes(n), now),
                Step::Unlimited => sender.write(Amount::Unlimited, now),
                Step::Close => sender.close(now),
                Step::Abort => sender.abort(now),
            }
            drain(&mut sender, now, &mut highest);
            drain(&mut receiver, now, &mut answers);
            // Echoes may leave ns-2's window below one segment, until the timer expires.
            let least = if VARIANTS[which][0].1 == "ns2" { 0.0 } else { 999.9 };
            prop_assert!(sender.cwnd() > least && sender.ssthresh() >= 1999.9, "{} \
                {}", sender.cwnd(), sender.ssthresh());
            for probe in 0..12 {
                sender.read(probe);
            }
            sender.report(now);
        }
    }

    /// A path on which losses, marks, delays and copies end at some time: every byte arrives, and the sender knows
    /// it.
    #[test]
    fn every_byte_arrives_over_a_bad_path(which in 0..VARIANTS.len(), seed in any::<u64>(), bytes in 1u64..80_000) {
        let mut p = Path::new(&config(VARIANTS[which]), 20);
        p.sender.write(Amount::Bytes(bytes), Time::ZERO);
        p.sender.close(Time::ZERO);
        let mut random = tailback_base::Stream::new(seed, "path");
        let mut other = tailback_base::Stream::new(seed, "acks");
        let fate = |r: &mut tailback_base::Stream| match r.below(20) {
            0..=2 => Fate::Drop,
            3 => Fate::Mark,
            4..=6 => Fate::Late(Duration(r.below(30_000_000))),
            _ => Fate::Pass,
        };
        p.run_with(Time::from_seconds(20_000.0), &mut |_, _| fate(&mut random), &mut |_, _| fate(&mut other));
        prop_assert!(p.sender.is_closed());
        if p.at_sender.0.contains(&tailback_transport::AppEvent::Connected) {
            prop_assert_eq!(p.receiver.received_bytes(), bytes);
        }
        prop_assert!(p.sender.next_timeout().is_none());
    }
}

/// Memory of an idle flow: both ends, without the configuration, which flows share.
#[test]
fn a_flow_is_small() {
    let (sender, receiver) = (std::mem::size_of::<Sender>(), std::mem::size_of::<Receiver>());
    println!("sender {sender} B, receiver {receiver} B");
    // And some 100 B for the congestion controller behind its pointer.
    assert!(sender + receiver + 100 < 1500, "{sender} + {receiver}");
}
