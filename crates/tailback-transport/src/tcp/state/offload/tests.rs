//! When trains leave, and how long they are, by hand: a window of 30 segments in congestion avoidance.

use crate::endpoint::{Amount, Endpoint, Transmit};
use crate::segment::{Flags, SackBlocks, Segment};
use crate::tcp::Sender;
use crate::tcp::testing::config;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Time};

const SEGMENT: u64 = 960;

fn sender(values: &[(&str, &str)]) -> Sender {
    let fixed = [
        ("payload", "960B"),
        ("syn", "false"),
        ("timestamps", "false"),
        ("initial_window", "30 packets"),
        ("initial_ssthresh", "2 packets"),
    ];
    let cfg = Arc::new(config(&[&fixed[..], values].concat()));
    let control = cfg.build_controller();
    Sender::new(cfg, control)
}

fn ack(segments: u64) -> Segment {
    Segment {
        seq: 1,
        payload: 0,
        ack: 1 + segments * SEGMENT,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: SackBlocks::new(),
        timestamps: None,
        window: None,
    }
}

/// Segments that leave at this instant, and when the next may, if a pacer holds it.
fn leave(s: &mut Sender, now: Time) -> (u64, Option<Time>) {
    let mut n = 0;
    loop {
        match s.poll_transmit(now) {
            Transmit::Segment(_) => n += 1,
            Transmit::NotBefore(t) => return (n, Some(t)),
            Transmit::Idle => return (n, None),
        }
    }
}

/// What each of the ACKs for two segments more releases.
fn released(s: &mut Sender, acks: u64) -> Vec<u64> {
    let at = |i: u64| Time::ZERO + Duration::from_millis(10 + i);
    (1..=acks)
        .map(|i| {
            s.on_segment(&ack(2 * i), at(i), &mut ());
            leave(s, at(i)).0
        })
        .collect()
}

#[test]
fn without_the_option_each_ack_releases_what_it_acknowledges() {
    let mut s = sender(&[]);
    s.write(Amount::Unlimited, Time::ZERO);
    assert_eq!(leave(&mut s, Time::ZERO).0, 30);
    assert_eq!(released(&mut s, 6), [2; 6]);
}

#[test]
fn a_train_waits_for_room_for_all_of_it() {
    // Eight segments; the window of 30 is above three of them.
    let mut s = sender(&[("offload", "7680B")]);
    s.write(Amount::Unlimited, Time::ZERO);
    assert_eq!(leave(&mut s, Time::ZERO).0, 30, "nothing is outstanding");
    assert_eq!(released(&mut s, 8), [0, 0, 0, 8, 0, 0, 0, 8]);
}

#[test]
fn a_third_of_the_window_is_enough() {
    let mut s = sender(&[("offload", "64KB")]);
    s.write(Amount::Unlimited, Time::ZERO);
    leave(&mut s, Time::ZERO);
    // Congestion avoidance has added less than a segment.
    assert_eq!(released(&mut s, 6), [0, 0, 0, 0, 0, 12], "30.3 / 3 is more than 10");
    // A window that a train does not fill still counts as used, and grows by a segment in a round trip.
    assert!(
        (s.cwnd() / SEGMENT as f64 - 30.4).abs() < 0.05,
        "{}",
        s.cwnd() / SEGMENT as f64
    );
}

#[test]
fn the_end_of_the_data_does_not_wait() {
    let mut s = sender(&[("offload", "64KB")]);
    s.write(Amount::Bytes(32 * SEGMENT), Time::ZERO);
    leave(&mut s, Time::ZERO);
    assert_eq!(released(&mut s, 1), [2]);
}

#[test]
fn duplicates_do_not_wait() {
    let mut s = sender(&[("offload", "64KB")]);
    s.write(Amount::Unlimited, Time::ZERO);
    leave(&mut s, Time::ZERO);
    let at = |i: u64| Time::ZERO + Duration::from_millis(10 + i);
    s.on_segment(&ack(2), at(1), &mut ());
    assert_eq!(leave(&mut s, at(1)).0, 0, "a train waits");
    let mut repeat = ack(2);
    repeat.sack.push((1 + 3 * SEGMENT, 1 + 4 * SEGMENT));
    s.on_segment(&repeat, at(2), &mut ());
    assert!(leave(&mut s, at(2)).0 >= 2, "limited transmit, and what waited");
}
