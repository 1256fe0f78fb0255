//! RACK: a segment is lost when a segment sent later has arrived and the reordering window has passed (RFC 8985).
//!
//! ```text
//!            a segment sent before one that arrived is late by more than the window: reduce, recover = max_sent
//!    Open ------------------------------------------------------------------------------------> Recovery
//!         <------------------------------------------------------------------------------------
//!            ACK of `recover`                 timeout: what is late is lost, the rest is judged later
//! ```
//!
//! Time decides, not the number of duplicates. If a repair is lost again, this is therefore found a round trip later,
//! and a segment that is only late is not repaired. While no reordering has been seen, three reported segments make the
//! reordering window zero, so a single loss is found as soon as with the duplicate threshold. Afterwards the window is
//! a quarter of the least round trip, and grows with each D-SACK. In every phase, segments leave as far as the window
//! has room beyond the amount in the network. Lost segments leave first, and new data after them. A probe repairs the
//! end of a flight (`tlp.rs`).
//!
//! The state is 150 bytes in addition to the records of `sent.rs`. An ACK costs one search in these records for each
//! segment that it shows to have arrived and for each segment that may be late. Departure from RFC 8985: the records
//! are also kept in order of sending, so that not all records have to be examined. The description of the parameter
//! `rack_form` says how `"linux"` differs.

use super::sent::SentList;
use super::tlp::{LINUX_SLACK, Tlp};
use super::{Duplicate, LossRecovery, duplicate_report};
use crate::tcp::config::RackForm;
use crate::tcp::congestion::Phase;
use crate::tcp::state::{Ack, ControlBlock, Judged, Piece};
use tailback_base::{Duration, Time};

/// RFC 8985 section 6.2 step 4: "DupThresh" reported segments end the wait if no reordering was seen.
pub const SACKED_ENOUGH: u32 = 3;
/// Section 6.2 step 4: a window opened by D-SACKs lasts for this many recoveries.
const PERSISTENCE: u32 = 16;
/// The most segments that Linux waits for (`tcp_max_reordering`).
pub const MOST_REORDERING: u32 = 300;
/// The time for which a least round trip counts.
const RTT_MEMORY: Duration = Duration::from_millis(300_000);

/// The part of the reordering window that D-SACKs change, in steps of a quarter of the least round trip.
#[derive(Clone, Copy, Debug)]
struct Window {
    reordered: bool,
    steps: u32,
    persist: u32,
    /// No D-SACK counts until this unit is acknowledged, so at most one D-SACK counts per round trip.
    round: Option<u64>,
}

impl Window {
    /// Section 6.2 step 4: "min(RACK.min_RTT / 4 * RACK.reo_wnd_mult, SRTT)".
    fn length(&self, least: Duration, srtt: Duration) -> Duration {
        Duration(u64::from(self.steps) * least.0 / 4).min(srtt)
    }

    /// Adapt the window to an ACK of everything below `una`, while `nxt` is the next byte to send. `duplicate` says
    /// whether the ACK carries a D-SACK that counts. `ended` says whether the ACK ends a recovery.
    fn adapt(&mut self, una: u64, nxt: u64, duplicate: bool, ended: bool) {
        if self.round.is_some_and(|end| una >= end) {
            self.round = None;
        }
        if duplicate && self.round.is_none() {
            self.round = Some(nxt);
            self.steps += 1;
            self.persist = PERSISTENCE;
        } else if ended {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.steps = 1;
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct RackRecovery {
    /// Whether recovery is in progress, and whether the first repair is sent independent of the window.
    recovering: bool,
    first_due: bool,
    /// The time of sending and the end of the segment that was sent last among those that arrived.
    newest: (Time, u64),
    /// The round trip of the segment in `newest`. With `rack_form = "linux"` it is that of the segment acknowledged or
    /// reported last.
    rtt: Duration,
    /// Whether segments have arrived since the last judgement.
    advanced: bool,
    /// The next ACK is that of a late original. Until the event after this ACK nothing is repaired.
    late: bool,
    only_new: bool,
    /// The next ACK is that of an original within a repair.
    original: bool,
    /// The largest distance at which a segment arrived out of order, segments (Linux).
    reordering: u32,
    /// The number of times that a segment arrived out of order.
    reordered: u32,
    /// The least round trip, and the time at which it was measured.
    least: Option<(Duration, Time)>,
    /// The highest end that has arrived.
    forward: u64,
    window: Window,
    /// The time at which segments still on their way are late.
    reorder_at: Time,
    tlp: Tlp,
}

impl Default for RackRecovery {
    fn default() -> RackRecovery {
        RackRecovery {
            recovering: false,
            first_due: false,
            newest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            advanced: false,
            late: false,
            only_new: false,
            original: false,
            reordering: SACKED_ENOUGH,
            reordered: 0,
            least: None,
            forward: 0,
            window: Window {
                reordered: false,
                steps: 1,
                persist: 0,
                round: None,
            },
            reorder_at: Time::NEVER,
            tlp: Tlp::default(),
        }
    }
}

/// The records, which a sender with this recovery always keeps.
fn records(c: &mut ControlBlock) -> &mut SentList {
    c.records().expect("a recovery that judges by time keeps records")
}

impl RackRecovery {
    /// Section 6.2 steps 1 to 3: take the segments that an ACK shows to have arrived.
    fn hear(&mut self, c: &mut ControlBlock, now: Time) {
        // The handshake's round trip also counts, because the whole first flight may be lost.
        self.least = self.least.or_else(|| c.least_rtt().map(|r| (r, now)));
        let echoed = records(c).echo();
        let mut arrivals = std::mem::take(records(c).arrivals());
        match c.cfg().repair.rack_form {
            RackForm::Rfc8985 => arrivals.sort_unstable_by_key(|a| (a.sent, a.end)),
            // The acknowledged segments come in order, before the reported segments.
            RackForm::Linux if arrivals.last().is_none_or(|a| !a.reported) => {}
            RackForm::Linux => arrivals.sort_unstable_by_key(|a| (!a.reported, a.end)),
        }
        let (mut reported, forward, mut lowest) = (0, self.forward, u64::MAX);
        for a in &arrivals {
            reported += if a.reported { a.bytes } else { 0 };
            let trip = now.since(a.sent);
            // An answer to an earlier copy gives no information about this copy. The ACK of a segment that arrived out
            // of order echoes an older stamp in any case (RFC 7323 section 4.3). If no round trip is known, any answer
            // might be one to an earlier copy.
            let of_earlier = !a.reported && echoed.is_some_and(|t| t < a.sent);
            let too_soon = || self.least.is_none_or(|l| trip < l.0);
            if !(a.again && (of_earlier || too_soon())) {
                if self.least.is_none_or(|(l, at)| trip <= l || now.since(at) > RTT_MEMORY) {
                    self.least = Some((trip, now));
                }
                self.rtt = trip;
                self.newest = self.newest.max((a.sent, a.end));
                self.advanced = true;
            }
            // In one ACK, acknowledged data may be below reported data. Acknowledged data are therefore out of order
            // only below data of an earlier ACK.
            let below = if a.reported { self.forward } else { forward };
            if a.end > below {
                self.forward = self.forward.max(a.end);
            } else if !a.again {
                self.window.reordered = true;
                lowest = lowest.min(a.begin());
            }
        }
        arrivals.clear();
        *records(c).arrivals() = arrivals;
        self.measure_reordering(c, lowest);
        c.note_sacked(reported);
    }

    /// Measure the length of reordering. A segment that begins at `lowest` arrived after the highest one reported.
    fn measure_reordering(&mut self, c: &mut ControlBlock, lowest: u64) {
        if lowest == u64::MAX || c.cfg().repair.rack_form == RackForm::Rfc8985 {
            return;
        }
        let top = if records(c).sacked_segments() > 0 {
            self.forward
        } else {
            c.una()
        };
        let segments = top.saturating_sub(lowest).div_ceil(u64::from(c.cfg().payload));
        self.reordering = self.reordering.max(segments.min(u64::from(MOST_REORDERING)) as u32);
        self.reordered += u32::from(segments > 0);
    }

    /// Section 6.2 step 4: how much later than the newest segment a segment may arrive. `open` says that no repair is
    /// in progress.
    fn reordering_window(&self, c: &mut ControlBlock, open: bool) -> Duration {
        let reported = records(c).sacked_segments();
        if !self.window.reordered && (!open || reported >= SACKED_ENOUGH) {
            return Duration::ZERO;
        }
        let least = self.least.map_or(Duration::ZERO, |l| l.0);
        self.window.length(least, c.rto().srtt().unwrap_or(Duration::ZERO))
    }

    fn is_open(&self, c: &ControlBlock) -> bool {
        !self.recovering && (c.phase() == Phase::Open || c.una() >= c.recover())
    }

    /// Section 6.2 step 5 for an ACK. In Linux an ACK that shows no arrival leaves the judgement to the timer.
    fn detect_on_ack(&mut self, c: &mut ControlBlock, now: Time) {
        self.only_new = std::mem::take(&mut self.late);
        if !self.only_new && (self.advanced || c.cfg().repair.rack_form == RackForm::Rfc8985) {
            self.detect(c, now);
        }
    }

    /// Section 6.2 step 5: declare late segments lost.
    fn detect(&mut self, c: &mut ControlBlock, now: Time) {
        self.advanced = false;
        let open = self.is_open(c);
        let limit = self.rtt + self.reordering_window(c, open);
        let due = |sent: Time| sent + limit;
        let timed_out = records(c).judge(self.newest, |sent| (due(sent) > now).then(|| due(sent).since(now)));
        let slack = match c.cfg().repair.rack_form {
            RackForm::Rfc8985 => Duration::ZERO,
            RackForm::Linux => LINUX_SLACK,
        };
        self.reorder_at = timed_out.longest.map_or(Time::NEVER, |w| now + w + slack);
        c.count_lost(timed_out.lost);
        // In Linux a repair that is lost after a timeout begins a recovery.
        let again = timed_out.repeats && !self.recovering && c.cfg().repair.rack_form == RackForm::Linux;
        if (timed_out.lost > 0 && open) || again {
            self.enter(c, now);
        }
    }

    fn enter(&mut self, c: &mut ControlBlock, now: Time) {
        if c.reduce(now) {
            c.remember_recover();
        }
        // Linux starts the timer when the first segment is sent again.
        if c.cfg().repair.rack_form == RackForm::Rfc8985 {
            c.restart_timer(now);
        }
        (self.recovering, self.first_due) = (true, true);
        self.tlp.forget();
    }

    /// In Linux repairs that are still outstanding at the end of a recovery begin another recovery.
    fn go_on_repairing(&mut self, c: &mut ControlBlock, now: Time) {
        if c.cfg().repair.rack_form == RackForm::Linux && records(c).repeats_in_flight() > 0 {
            self.enter(c, now);
            self.first_due = false;
        }
    }

    fn judge(&self, c: &mut ControlBlock, in_recovery: bool) -> Judged {
        // In Linux the ACK that ends a repair already belongs to the time after the repair.
        let over = c.una() >= c.recover() && c.cfg().repair.rack_form == RackForm::Linux;
        let phase = match c.phase() {
            _ if in_recovery => Phase::Recovery,
            Phase::Loss if over => Phase::Open,
            phase => phase,
        };
        let list = records(c);
        Judged {
            phase,
            pipe: list.in_flight(),
        }
    }

    /// Handle D-SACKs and the answers to a probe. `acked` bytes of `flight` are newly acknowledged.
    fn hear_of_repeats(
        &mut self,
        c: &mut ControlBlock,
        sack: &[(u64, u64)],
        (acked, flight): (u64, u64),
        now: Time,
    ) -> bool {
        let duplicate = duplicate_report(c.una(), sack);
        // Data that arrived twice above the ACK number, but below data that arrived before, arrived out of order
        // (Linux).
        if let Some(d) = duplicate.filter(|d| d.1 > c.una() && c.cfg().repair.rack_form == RackForm::Linux) {
            self.window.reordered |= d.1 < self.forward;
        }
        let of_probe = duplicate.is_some_and(|d| self.tlp.was_sent_again(d));
        if self
            .tlp
            .answered(c.una(), acked > 0, of_probe || (acked == 0 && sack.is_empty()))
        {
            c.reduce_without_recovery(flight, now);
        }
        let counts = c.cfg().repair.rack_form == RackForm::Rfc8985 || self.window.reordered;
        duplicate.is_some() && !of_probe && counts
    }
}

impl LossRecovery for RackRecovery {
    #[inline(never)]
    fn on_ack(&mut self, c: &mut ControlBlock, a: &Ack, sack: &[(u64, u64)]) -> Judged {
        let was_recovering = self.recovering;
        self.hear(c, a.now);
        if std::mem::take(&mut self.original) {
            let first = c.una() - a.bytes + u64::from(c.cfg().payload);
            self.measure_reordering(c, first);
        }
        let duplicate = self.hear_of_repeats(c, sack, (a.bytes, a.flight), a.now);
        let repairing = self.recovering || c.phase() == Phase::Loss;
        let ended = repairing && c.una() >= c.recover();
        self.window.adapt(c.una(), c.nxt(), duplicate, ended);
        if self.recovering && ended {
            (self.recovering, self.first_due) = (false, false);
            c.end_recovery(false);
        }
        if ended {
            self.go_on_repairing(c, a.now);
        }
        if records(c).sacked_segments() == 0 {
            c.forget_duplicates();
        }
        self.tlp.heard(a.rtt.is_some(), a.now);
        c.timer_after_ack(a.now);
        self.detect_on_ack(c, a.now);
        let ends = was_recovering && c.cfg().repair.rack_form == RackForm::Rfc8985;
        self.judge(c, ends || self.recovering)
    }

    #[inline(never)]
    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate<'_>) -> Judged {
        self.hear(c, d.now);
        let flight = c.flight();
        let duplicate = self.hear_of_repeats(c, d.sack, (0, flight), d.now);
        self.window.adapt(c.una(), c.nxt(), duplicate, false);
        if !d.sack.is_empty() && !duplicate {
            c.count_duplicate();
        }
        self.detect_on_ack(c, d.now);
        self.judge(c, self.recovering)
    }

    /// Take an ACK while nothing is outstanding. It may still report a duplicate.
    fn on_repeat(&mut self, c: &mut ControlBlock, sack: &[(u64, u64)], now: Time) {
        let duplicate = self.hear_of_repeats(c, sack, (0, 0), now);
        self.window.adapt(c.una(), c.nxt(), duplicate, false);
    }

    /// Section 6.3: the first segment is lost, and so are all segments that are late by now.
    #[inline(never)]
    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        let (window, repairing) = match c.cfg().repair.rack_form {
            RackForm::Rfc8985 => {
                let open = self.is_open(c);
                (self.reordering_window(c, open), false)
            }
            RackForm::Linux => {
                // A timeout after many reports shows that the path reorders less.
                if self.is_open(c) && records(c).sacked_segments() >= SACKED_ENOUGH {
                    self.reordering = SACKED_ENOUGH;
                }
                (Duration::ZERO, self.recovering)
            }
        };
        (self.recovering, self.first_due) = (false, false);
        self.reorder_at = Time::NEVER;
        self.tlp.forget();
        let limit = self.rtt + window;
        let pipe = records(c).in_flight();
        let lost = records(c).lose_late(|sent| sent + limit <= now);
        c.count_lost(lost);
        c.timed_out_with_records(pipe, repairing, now);
        c.forget_duplicates();
    }

    #[inline(never)]
    fn on_timer(&mut self, c: &mut ControlBlock, now: Time) {
        self.only_new = false;
        let judges = now >= self.reorder_at;
        if judges {
            self.reorder_at = Time::NEVER;
            let was_recovering = self.recovering;
            self.detect(c, now);
            c.judged_by_timer(self.recovering && !was_recovering);
        } else {
            self.tlp.fire(c);
        }
        if !judges || c.cfg().repair.rack_form == RackForm::Rfc8985 {
            c.restart_timer(now);
        }
    }

    #[inline(never)]
    fn deadline(&self, c: &ControlBlock) -> Time {
        if self.reorder_at != Time::NEVER || !self.is_open(c) {
            return self.reorder_at;
        }
        self.tlp.deadline(c)
    }

    fn late(&mut self) {
        (self.late, self.original, self.window.reordered) = (true, true, true);
    }

    fn undone(&mut self, c: &mut ControlBlock, within: bool) {
        // In Linux an original that arrives during a repair shows reordering, as does an original before the repair.
        self.original = within && self.recovering && c.cfg().repair.rack_form == RackForm::Linux;
        self.window.reordered |= self.original;
        (self.recovering, self.first_due) = (false, false);
        let rfc = c.cfg().repair.rack_form == RackForm::Rfc8985;
        if rfc {
            // A repeat seemed to have arrived, and the segments sent before it seemed late. In fact the original had
            // arrived.
            self.newest = (Time::ZERO, 0);
            self.reorder_at = Time::NEVER;
        }
        // In Linux segments that were judged lost leave the order of sending, and the timer continues.
        records(c).none_lost(rfc);
    }

    /// Everything outstanding at the timeout is lost.
    fn all_lost(&mut self, c: &mut ControlBlock) {
        let edge = c.recover();
        let lost = records(c).lose_originals(edge);
        c.count_lost(lost);
    }

    #[inline(never)]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        if let Some(probe) = self.tlp.next(c) {
            return Some(probe);
        }
        let pipe = records(c).in_flight();
        let due = std::mem::take(&mut self.first_due);
        if !due && (c.burst_is_spent() || !c.has_room(pipe)) {
            return None;
        }
        let piece = match records(c).first_lost().filter(|_| !self.only_new) {
            Some((seq, end)) => c.between(seq, end),
            None => {
                let piece = c.next_within_limit()?;
                if !self.recovering && records(c).sacked_segments() > 0 {
                    // As in limited transmit, this segment does not count as outstanding at the loss.
                    c.count_beyond(piece.len);
                }
                piece
            }
        };
        if !due {
            c.spend_burst();
        }
        Some(piece)
    }

    fn sacked(&self, c: &ControlBlock) -> u64 {
        c.sacked_bytes()
    }

    fn in_recovery(&self) -> bool {
        self.recovering
    }

    fn reports_open(&self) -> bool {
        self.reordering > SACKED_ENOUGH
    }

    fn reordering(&self, _c: &ControlBlock) -> (u32, u32) {
        (self.reordering, self.reordered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least round trip is 40 ms, the smoothed one is 45 ms, and there is one D-SACK per round. The window is then
    /// 10, 20, 30 and 40 ms, and after that at most 45 ms. It is 10 ms again after the 16th recovery without a D-SACK.
    /// A second D-SACK in a round does not count.
    #[test]
    fn duplicates_widen_the_window_and_sixteen_recoveries_close_it() {
        let ms = Duration::from_millis;
        let mut w = RackRecovery::default().window;
        let length = |w: &Window| w.length(ms(40), ms(45));
        let mut lengths = vec![length(&w)];
        for round in 1..=5 {
            w.adapt(round * 100, round * 100 + 100, true, false);
            w.adapt(round * 100 + 50, round * 100 + 150, true, false);
            lengths.push(length(&w));
        }
        assert_eq!(lengths, [10, 20, 30, 40, 45, 45].map(ms));
        for _ in 0..15 {
            w.adapt(1000, 1100, false, true);
            assert_eq!(length(&w), ms(45));
        }
        w.adapt(1000, 1100, false, true);
        assert_eq!(length(&w), ms(10));
    }

    #[test]
    fn a_duplicate_is_reported_first_and_below_or_inside_the_second_block() {
        assert_eq!(duplicate_report(100, &[(50, 60), (200, 300)]), Some((50, 60)));
        assert_eq!(duplicate_report(100, &[(210, 220), (200, 300)]), Some((210, 220)));
        assert_eq!(duplicate_report(100, &[(200, 300), (400, 500)]), None);
        assert_eq!(duplicate_report(100, &[]), None);
    }
}
