//! Packet dialogues, in which the colour of each segment depends on the two windows.

use super::*;
use crate::tcp::congestion::Phase;
use crate::tcp::congestion::testing::{acked, sign};
use crate::tcp::testing::config;

/// Segments of 1000 B of payload and 1040 on the wire.
fn control(target: &str, window: &str) -> Box<dyn CongestionControl> {
    let own_settings = Settings::defaults(&MODEL).with("target", target).with("window", "1s");
    let settings = [
        ("payload", "1000B"),
        ("initial_window", window),
        ("initial_ssthresh", "1000B"),
    ];
    build(&own_settings, &config(&settings).window)
}

/// The source from the side of the network, with segments numbered from 0.
struct Dialogue {
    c: Box<dyn CongestionControl>,
    next: u64,
    una: u64,
    ms: u64,
}

impl Dialogue {
    fn new(target: &str, window: &str) -> Dialogue {
        Dialogue {
            c: control(target, window),
            next: 0,
            una: 0,
            ms: 0,
        }
    }

    fn colour(&mut self, segment: u64, again: bool) -> char {
        let seq = 1 + 1000 * segment;
        self.c.sends(&Departure {
            now: Time::ZERO,
            seq,
            end: seq + 1000,
            again,
        });
        match self.c.colour() {
            Some(Dscp(10)) => 'M',
            Some(Dscp(12)) => '-',
            other => panic!("{other:?}"),
        }
    }

    /// All segments that the window allows: `M` for a marked segment, `-` for any other.
    fn sends(&mut self) -> String {
        let mut colours = String::new();
        while ((self.next - self.una + 1) * 1000) as f64 <= self.c.cwnd() {
            colours.push(self.colour(self.next, false));
            self.next += 1;
        }
        colours
    }

    fn repeats(&mut self) -> char {
        self.colour(self.una, true)
    }

    /// Acknowledge this many segments one by one, this many milliseconds apart.
    fn acks(&mut self, segments: u64, apart: u64) {
        for _ in 0..segments {
            self.una += 1;
            self.ms += apart;
            self.c.on_ack(&AckEvent {
                una: 1 + 1000 * self.una,
                now: Time(self.ms * 1_000_000),
                flight: 1000 * (self.next - self.una + 1),
                ..acked(1000)
            });
        }
    }

    fn loses(&mut self) {
        self.c
            .on_congestion(&sign(Congestion::Loss, 1000 * (self.next - self.una)));
    }

    /// The marked window, in segments.
    fn marked(&self) -> f64 {
        self.c.read(0) / 1000.0
    }

    fn window(&self) -> f64 {
        self.c.cwnd() / 1000.0
    }
}

/// Below the target every round trip adds all growth, and one segment of the other window, to the marked window.
#[test]
fn below_the_target_the_marked_window_takes_over() {
    let mut dialogue = Dialogue::new("100Mbps", "4 packets");
    assert_eq!(dialogue.sends(), "----");
    dialogue.acks(4, 25);
    assert_eq!(dialogue.sends(), "M---");
    assert!((1.5..2.0).contains(&dialogue.marked()), "{}", dialogue.marked());
    // Two more segments are marked for each acknowledged window: one by which the window grows, and one of the other
    // window.
    for _ in 0..3 {
        let (out, before) = (dialogue.next - dialogue.una, dialogue.marked());
        dialogue.acks(out, 25);
        dialogue.sends();
        let more = (dialogue.marked() - before) * dialogue.window() / out as f64;
        assert!((1.9..2.3).contains(&more), "{more} after {before}");
    }
    for _ in 0..8 {
        let out = dialogue.next - dialogue.una;
        dialogue.acks(out, 25);
        dialogue.sends();
    }
    assert_eq!(dialogue.marked(), dialogue.window());
    let out = dialogue.next - dialogue.una;
    dialogue.acks(out, 25);
    assert!(!dialogue.sends().contains('-'));
}

/// Above the target the other window takes these segments back, and the whole window grows as Reno's.
#[test]
fn above_the_target_the_marks_go() {
    let mut dialogue = Dialogue::new("100Mbps", "10 packets");
    for _ in 0..20 {
        dialogue.sends();
        let out = dialogue.next - dialogue.una;
        dialogue.acks(out, 25);
    }
    let reno = dialogue.window();
    assert!((reno - 30.0).abs() < 1.0 && dialogue.marked() == reno);
    // 1040 B in 10 us is 832 Mb/s. Within a round trip the rate, a mean over a second, is therefore far above the
    // target.
    let mut dialogue = Dialogue {
        c: control("8kbps", "10 packets"),
        next: 0,
        una: 0,
        ms: 0,
    };
    for _ in 0..20 {
        dialogue.sends();
        let out = dialogue.next - dialogue.una;
        dialogue.acks(out, 1);
    }
    assert!((dialogue.window() - reno).abs() < 1e-9 && dialogue.marked() == 0.0);
    assert!(!dialogue.sends().contains('M'));
}

fn half_marked() -> Dialogue {
    let mut dialogue = Dialogue::new("100Mbps", "8 packets");
    for _ in 0..2 {
        dialogue.sends();
        let out = dialogue.next - dialogue.una;
        dialogue.acks(out, 25);
    }
    assert_eq!(dialogue.sends(), "MMM-------"[..dialogue.window() as usize].to_string());
    dialogue
}

#[test]
fn a_lost_segment_without_a_mark_halves_the_other_window_alone() {
    let mut dialogue = half_marked();
    dialogue.acks(3, 25);
    let (marked, unmarked) = (dialogue.marked(), dialogue.window() - dialogue.marked());
    dialogue.loses();
    let flight = (dialogue.next - dialogue.una) as f64;
    let window_left = flight * (0.5 + 0.5 * marked / (marked + unmarked));
    assert!(
        (dialogue.window() - window_left).abs() < 1e-6 && dialogue.marked() == marked,
        "{}",
        dialogue.window()
    );
    // The three marked segments have arrived, so the marked window has room for the repeat.
    assert_eq!(dialogue.repeats(), 'M');
}

#[test]
fn a_lost_segment_with_a_mark_halves_both() {
    let mut dialogue = half_marked();
    let (marked, flight) = (dialogue.marked(), (dialogue.next - dialogue.una) as f64);
    dialogue.loses();
    assert!((dialogue.window() - flight / 2.0).abs() < 1e-6 && (dialogue.marked() - marked / 2.0).abs() < 1e-6);
    // One and a half segments may be marked. The two other outstanding segments take this room.
    assert_eq!(dialogue.repeats(), '-');
}

#[test]
fn after_a_timeout_one_segment_is_left_with_its_share() {
    let mut dialogue = half_marked();
    let share = dialogue.marked() / dialogue.window();
    let flight = 1000 * (dialogue.next - dialogue.una);
    dialogue
        .c
        .on_congestion(&sign(Congestion::Timeout { again: false }, flight));
    assert_eq!(dialogue.window(), 1.0);
    assert!((dialogue.marked() - share).abs() < 1e-9);
    dialogue.c.undo(Mistaken::Recovery);
    assert!((dialogue.marked() / dialogue.window() - share).abs() < 1e-9);
}

/// Duplicates and recovery open neither window. The segments that a partial ACK covers are no longer outstanding.
#[test]
fn recovery_leaves_both_windows() {
    let mut dialogue = half_marked();
    dialogue.loses();
    let state_before = (dialogue.window(), dialogue.marked());
    dialogue.c.on_ack(&AckEvent {
        una: 1 + 1000 * dialogue.una,
        phase: Phase::Recovery,
        acked: 0,
        ..acked(0)
    });
    dialogue.c.on_ack(&AckEvent {
        una: 1 + 1000 * dialogue.una + 500,
        phase: Phase::Recovery,
        ..acked(500)
    });
    assert_eq!((dialogue.window(), dialogue.marked()), state_before);
    assert_eq!(dialogue.c.read(1), 2500.0);
}
