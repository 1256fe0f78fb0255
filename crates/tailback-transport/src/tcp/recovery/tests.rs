//! A recovery with a timer of its own, which a recovery that judges by time needs.

use super::*;
use crate::tcp::sender::Sender;
use crate::tcp::testing::config;
use crate::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};
use std::sync::Arc;
use tailback_base::{Duration, Ecn};

/// Waits 5 ms after the first duplicate, then considers the first segment lost.
#[derive(Default)]
pub struct Patient {
    due: Option<Time>,
}

impl LossRecovery for Patient {
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, _sack: &[(u64, u64)]) -> Judged {
        self.due = None;
        c.forget_duplicates();
        c.timer_after_ack(a.now);
        without_reports(c, false)
    }
    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        c.count_duplicate();
        self.due.get_or_insert(d.now + Duration::from_millis(5));
        without_reports(c, false)
    }
    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        c.timed_out(c.outstanding(), now);
        c.forget_duplicates();
    }
    fn deadline(&self, _c: &ControlBlock) -> Time {
        self.due.unwrap_or(Time::NEVER)
    }
    fn on_timer(&mut self, c: &mut ControlBlock, now: Time) {
        self.due = None;
        c.reduce(now);
        c.lose_first();
        c.resend_first();
    }
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        c.next_in_order()
    }
    fn undone(&mut self, _c: &mut ControlBlock, _within: bool) {
        self.due = None;
    }
    fn in_recovery(&self) -> bool {
        false
    }
}

#[test]
fn a_recovery_may_have_a_timer_of_its_own() {
    let mut cfg = config(&[
        ("payload", "1000B"),
        ("syn", "false"),
        ("timestamps", "false"),
        ("initial_window", "4 packets"),
    ]);
    cfg.recovery = Algorithm::Patient;
    cfg.repair.keeps = Some(sent::Keep::Records);
    let cfg = Arc::new(cfg);
    let mut s = Sender::new(cfg.clone(), cfg.build_controller());
    let at_ms = |ms: u64| Time(ms * 1_000_000);
    s.write(Amount::Unlimited, at_ms(0));
    while let Transmit::Segment(_) = s.poll_transmit(at_ms(0)) {}
    let duplicate = Segment {
        seq: 1,
        payload: 0,
        ack: 1,
        flags: Flags::ACK,
        ecn: Ecn::NotEct,
        bytes: 40,
        sack: SackBlocks::new(),
        timestamps: None,
        window: None,
        counts: None,
    };
    s.on_segment(&duplicate, at_ms(40), &mut ());
    assert_eq!(s.poll_transmit(at_ms(40)), Transmit::Idle);
    assert_eq!(s.next_timeout(), Some(at_ms(45)));
    s.on_timeout(at_ms(45), &mut ());
    let Transmit::Segment(again) = s.poll_transmit(at_ms(45)) else {
        panic!("the first segment goes out again")
    };
    assert!(again.seq == 1 && again.flags.has(Flags::RETRANSMISSION));
    assert_eq!(s.cwnd(), 2000.0);
    assert_eq!(
        s.next_timeout(),
        Some(at_ms(1000)),
        "the retransmission timer is what is left"
    );
}
