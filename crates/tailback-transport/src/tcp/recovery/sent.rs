//! A record for each outstanding segment: when it was sent, and whether it was reported, judged lost or sent again.
//!
//! Records are kept only if something needs them: a controller that [asks for them], a recovery that judges by time
//! (`rack.rs`), or one that looks for spurious retransmissions (`undo.rs`). Delivery-rate samples come from the records
//! (draft-cheng-iccrg-delivery-rate-estimation-00): each record has the amount delivered when its segment was sent, and
//! the time. The ACK or SACK of the segment gives a sample. This is the amount delivered since then, divided by the
//! longer of the times for sending and for acknowledging. A sample taken while the application limited the sender is
//! marked as such.
//!
//! The state is 64 bytes for each outstanding segment, in order of their ends and without overlap, plus 16 if segments
//! are judged by time. An ACK costs one step for each segment that it covers or that its SACK blocks newly report.
//!
//! [asks for them]: crate::tcp::congestion::Facts::records

mod counted;
mod losses;
mod reported;

use crate::segment::SackBlocks;
use crate::tcp::congestion::RateSample;
use losses::{LossesBySegment, low, short, since};
use std::collections::{BTreeSet, VecDeque};
use tailback_base::work::{counted_as, done_if_long};
use tailback_base::{Duration, Time};

#[derive(Clone, Copy, Debug)]
struct SentSegment {
    /// First unit, and one past the last unit.
    seq: u64,
    end: u64,
    /// When the segment was sent last.
    sent: Time,
    /// Sent more than once.
    again: bool,
    sacked: bool,
    /// Judged lost, and not sent again since.
    lost: bool,
    /// Bytes delivered, lost and counted as marked when the segment was sent, and the time of the last delivery before
    /// that.
    delivered_before: u64,
    lost_before: u32,
    marked_before: u32,
    delivered_at: Time,
    /// When the first segment of the interval was sent.
    first_sent: Time,
    /// Bytes in the network just after the segment was sent.
    in_flight: u32,
    application_limited: bool,
}

impl SentSegment {
    fn len(&self) -> u64 {
        self.end - self.seq
    }

    fn is_in_flight(&self) -> bool {
        !self.sacked && !self.lost
    }
}

/// A segment that an ACK has just shown to have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    pub sent: Time,
    pub end: u64,
    pub bytes: u64,
    /// Sent more than once.
    pub again: bool,
    /// Shown by SACK, not by the ACK number.
    pub reported: bool,
}

impl Arrived {
    pub fn begin(&self) -> u64 {
        self.end - self.bytes
    }
}

/// The result of a judgement by time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimedOut {
    /// Newly lost, bytes.
    pub lost: u64,
    /// Whether repeats are among the lost.
    pub repeats: bool,
    /// The longest time that any of the others may still take.
    pub longest: Option<Duration>,
}

/// The number of segments in each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub outstanding: u64,
    pub sacked: u64,
    /// Judged lost, and not sent again since.
    pub lost: u64,
    /// Sent again, and not reported or judged lost since.
    pub again: u64,
}

/// The data kept in addition to the records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub enum Keep {
    Records,
    /// The segments that each ACK shows to have arrived.
    Arrivals,
    /// Also the segments that are lost and not yet sent again.
    Lost,
    /// Also the order of sending.
    Order,
}

#[derive(Clone, Debug)]
pub struct SentList {
    /// The records in order of `end`.
    outstanding: VecDeque<SentSegment>,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    /// Counted as marked by ACKs, bytes.
    marked: u64,
    /// Bytes sent that are neither delivered nor lost.
    in_flight: u64,
    first_sent: Time,
    /// A segment sent before this much was delivered gives a sample that is limited by the application.
    limited_until: u64,
    keep: Keep,
    /// The sending time of the segment that the last ACK answers, from its time stamp.
    echo: Option<Time>,
    /// Arrivals shown by the last ACK.
    arrivals: Vec<Arrived>,
    /// Time and end of each segment, in order of sending. Segments that have arrived or were sent again stay until
    /// they are examined.
    order: VecDeque<(Time, u64)>,
    /// The ends of segments that are lost and not yet sent again.
    waiting: BTreeSet<u64>,
    sacked_segments: u32,
    sacked_bytes: u64,
    /// The SACK blocks of the last ACK. The segments in them are marked as reported.
    known: SackBlocks,
    /// Linux counts a segment that is reported as a duplicate as delivered once more, unless more duplicates are
    /// reported than were sent.
    duplicates: Option<Duplicates>,
    /// Without SACK: segments for which duplicates stand, and their bytes.
    counted: (u32, u64),
    /// Losses not yet reported to the controller.
    losses: Option<Box<LossesBySegment>>,
    /// The segments that the last ACK acknowledged by number, and the bytes that it delivered.
    acked_segments: u32,
    newly: u64,
    /// The sending time of the first segment that the last ACK newly acknowledges, unless it acknowledges a repeat, and
    /// of the first that it newly reports, among those sent once.
    first_acked: Option<Time>,
    first_reported: Option<Time>,
}

/// Repeats, and segments reported as duplicates.
#[derive(Clone, Copy, Debug, Default)]
struct Duplicates {
    sent: u64,
    reported: u64,
}

impl Default for SentList {
    fn default() -> SentList {
        SentList::keeping(Keep::Records)
    }
}

impl SentList {
    pub fn keeping(keep: Keep) -> SentList {
        SentList {
            outstanding: VecDeque::new(),
            delivered: 0,
            delivered_at: Time::ZERO,
            lost: 0,
            marked: 0,
            in_flight: 0,
            first_sent: Time::ZERO,
            limited_until: 0,
            keep,
            echo: None,
            arrivals: Vec::new(),
            order: VecDeque::new(),
            waiting: BTreeSet::new(),
            sacked_segments: 0,
            sacked_bytes: 0,
            known: SackBlocks::new(),
            duplicates: None,
            counted: (0, 0),
            losses: None,
            acked_segments: 0,
            newly: 0,
            first_acked: None,
            first_reported: None,
        }
    }

    /// Segments that are reported as duplicates count as delivered.
    pub fn counting_duplicates(mut self, so: bool) -> SentList {
        self.duplicates = so.then(Duplicates::default);
        self
    }

    /// The units `[seq, end)` are sent.
    #[inline(never)]
    pub fn sent(&mut self, seq: u64, end: u64, again: bool, now: Time) {
        if self.outstanding.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = SentSegment {
            seq,
            end,
            sent: now,
            again,
            sacked: false,
            lost: false,
            delivered_before: self.delivered,
            lost_before: low(self.lost),
            marked_before: low(self.marked),
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            in_flight: short(self.in_flight() + end - seq),
            application_limited: self.limited_until > self.delivered,
        };
        self.in_flight += record.len();
        if let Some(d) = self.duplicates.as_mut().filter(|_| again) {
            d.sent += 1;
        }
        if self.keep == Keep::Order {
            self.order.push_back((now, end));
        }
        if self.outstanding.back().is_none_or(|r| r.end <= seq) {
            self.outstanding.push_back(record);
            return;
        }
        // Repeats are no longer reported.
        self.known.clear();
        let i = self.first_behind(seq);
        if let Some(r) = self
            .outstanding
            .get(i)
            .filter(|r| (r.seq, r.end) == (seq, end))
            .copied()
        {
            self.forget(&r);
            self.outstanding[i] = record;
        } else {
            let i = self.make_room(i, seq, end);
            self.outstanding.insert(i, record);
        }
    }

    /// The units `[seq, end)`, above all others, were sent before there were records, at unknown times. They give no
    /// round trip, and their rate counts deliveries from now on.
    pub fn found(&mut self, seq: u64, end: u64, sacked: bool, lost: bool, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
        let record = SentSegment {
            seq,
            end,
            sent: now,
            again: true,
            sacked,
            lost,
            delivered_before: self.delivered,
            lost_before: low(self.lost),
            marked_before: low(self.marked),
            delivered_at: now,
            first_sent: now,
            in_flight: short(self.in_flight() + end - seq),
            application_limited: false,
        };
        self.remember(&record);
        self.outstanding.push_back(record);
    }

    /// Delivered so far, bytes.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A record of these units is removed.
    fn forget(&mut self, r: &SentSegment) {
        if r.is_in_flight() {
            self.in_flight -= r.len();
        }
        if r.sacked {
            self.sacked_segments -= 1;
            self.sacked_bytes -= r.len();
        }
        if r.lost {
            self.waiting.remove(&r.end);
        }
    }

    /// Make room in case segments are cut differently when they are sent again: from the i-th record on, no record
    /// covers `[seq, end)` any more. Returns the index for the new record.
    fn make_room(&mut self, i: usize, seq: u64, end: u64) -> usize {
        let mut index = i;
        while let Some(r) = self.outstanding.get(index).copied().filter(|r| r.seq < end) {
            self.forget(&r);
            self.outstanding.remove(index);
            for (from, to) in [(r.seq, seq.min(r.end)), (end.max(r.seq), r.end)] {
                if from < to {
                    let second_part = SentSegment {
                        seq: from,
                        end: to,
                        ..r
                    };
                    self.remember(&second_part);
                    self.outstanding.insert(index, second_part);
                    index += 1;
                }
            }
        }
        self.first_behind(seq)
    }

    /// A part of a record counts like the whole record.
    fn remember(&mut self, r: &SentSegment) {
        if r.is_in_flight() {
            self.in_flight += r.len();
        }
        if r.sacked {
            self.sacked_segments += 1;
            self.sacked_bytes += r.len();
        }
        if r.lost {
            self.waiting.insert(r.end);
        }
        if self.keep == Keep::Order {
            self.order.push_front((r.sent, r.end));
        }
    }

    /// The window has room, but there are no data to send.
    pub fn application_limited(&mut self) {
        self.limited_until = self.delivered + self.in_flight + 1;
    }

    /// Bytes sent that are neither delivered nor lost.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.saturating_sub(self.counted.1)
    }

    /// Number of segments reported above the ACK number.
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    pub fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Everything that ends at or below `edge` and was not reported is lost.
    pub fn lose_below(&mut self, edge: u64) {
        let n = self.first_behind(edge);
        done_if_long(4 * n);
        for i in 0..n {
            self.lose(i);
        }
    }

    fn lose(&mut self, i: usize) -> u64 {
        let r = &mut self.outstanding[i];
        if !r.is_in_flight() {
            return 0;
        }
        r.lost = true;
        self.lost += r.len();
        self.in_flight -= r.len();
        if let Some(losses) = &mut self.losses {
            losses.note(r, self.lost);
        }
        if self.keep >= Keep::Lost {
            self.waiting.insert(r.end);
        }
        r.len()
    }

    /// Take an ACK up to `una` with these SACK blocks. Returns the sample of the last-sent segment among those it
    /// delivers.
    #[inline(never)]
    pub fn acked(&mut self, una: u64, blocks: &[(u64, u64)], now: Time) -> Option<RateSample> {
        self.arrivals.clear();
        (self.first_acked, self.first_reported) = (None, None);
        let mut repeated = false;
        let mut newest: Option<SentSegment> = None;
        let delivered_before = self.delivered;
        let mut steps = self.outstanding.len();
        while self.outstanding.front().is_some_and(|r| r.end <= una)
            && let Some(r) = self.outstanding.pop_front()
        {
            self.forget(&r);
            repeated |= r.again;
            if !r.sacked {
                if !r.again {
                    self.first_acked.get_or_insert(r.sent);
                }
                self.deliver(&r, false, &mut newest);
            }
        }
        self.first_acked = self.first_acked.filter(|_| !repeated);
        if let Some(r) = self.outstanding.front().copied().filter(|r| r.seq < una) {
            self.split_first(r, una, &mut newest);
        }
        steps -= self.outstanding.len();
        self.acked_segments = steps as u32;
        if self.counted.0 > 0 && steps > 0 {
            self.take_back_counted(delivered_before);
        }
        steps += self.report(blocks, &mut newest);
        done_if_long(steps);
        self.count_duplicate(una, blocks);
        self.newly = self.delivered - delivered_before;
        let r = newest?;
        self.delivered_at = now;
        self.first_sent = r.sent;
        let interval = r.sent.since(r.first_sent).max(now.since(r.delivered_at));
        Some(RateSample {
            delivered: self.delivered - r.delivered_before,
            total: self.delivered,
            newly: self.newly,
            in_flight: self.in_flight(),
            lost: since(self.lost, r.lost_before),
            marked: since(self.marked, r.marked_before),
            in_flight_at_send: u64::from(r.in_flight),
            interval,
            until_next: Duration::ZERO,
            rtt: (!r.again).then(|| now.since(r.sent)),
            application_limited: r.application_limited,
        })
    }

    /// The first record that ends above `end`.
    fn first_behind(&self, end: u64) -> usize {
        self.outstanding.partition_point(|r| r.end <= end)
    }

    /// Split the first record: only its part below `una` is acknowledged.
    #[cold]
    fn split_first(&mut self, r: SentSegment, una: u64, newest: &mut Option<SentSegment>) {
        let unacknowledged = SentSegment { seq: una, ..r };
        self.forget(&r);
        self.outstanding[0] = unacknowledged;
        self.remember(&unacknowledged);
        if !r.sacked {
            self.deliver(&SentSegment { end: una, ..r }, false, newest);
        }
    }

    #[inline]
    fn deliver(&mut self, r: &SentSegment, reported: bool, newest: &mut Option<SentSegment>) {
        self.delivered += r.len();
        if newest.is_none_or(|n| (r.delivered_before, r.sent) >= (n.delivered_before, n.sent)) {
            *newest = Some(*r);
        }
        if self.keep != Keep::Records {
            self.arrivals.push(Arrived {
                sent: r.sent,
                end: r.end,
                bytes: r.len(),
                again: r.again,
                reported,
            });
        }
    }

    pub fn set_echo(&mut self, echo: Option<Time>) {
        self.echo = echo;
    }

    pub fn echo(&self) -> Option<Time> {
        self.echo
    }

    /// The segments that the last ACK showed to have arrived.
    pub fn arrivals(&mut self) -> &mut Vec<Arrived> {
        &mut self.arrivals
    }

    // ---- for a recovery that judges by time

    /// Judge the segments sent before `newest`, in order of sending. `left` says how much longer a segment sent at a
    /// given time may still be on its way, or `None` if it is lost.
    pub fn judge(&mut self, newest: (Time, u64), left: impl Fn(Time) -> Option<Duration>) -> TimedOut {
        let (mut timed_out, mut kept_order) = (TimedOut::default(), Vec::new());
        let waiting = self.order.len();
        let una = self.outstanding.front().map_or(u64::MAX, |r| r.seq);
        while let Some((sent_at, end)) = self.order.front().copied().filter(|o| *o < newest) {
            self.order.pop_front();
            if end <= una {
                continue;
            }
            let i = self.outstanding.partition_point(|r| r.end < end);
            let sent_last = self.outstanding.get(i).filter(|r| (r.sent, r.end) == (sent_at, end));
            if !sent_last.is_some_and(SentSegment::is_in_flight) {
                continue;
            }
            match left(sent_at) {
                None => {
                    timed_out.repeats |= self.outstanding[i].again;
                    timed_out.lost += self.lose(i);
                }
                Some(wait) => {
                    timed_out.longest = timed_out.longest.max(Some(wait));
                    kept_order.push((sent_at, end));
                }
            }
        }
        done_if_long(8 * (waiting - self.order.len()));
        kept_order.into_iter().rev().for_each(|o| self.order.push_front(o));
        timed_out
    }

    /// The first unreported segment is lost, and each segment whose sending time `late` accepts. Returns the lost
    /// bytes.
    pub fn lose_late(&mut self, late: impl Fn(Time) -> bool) -> u64 {
        let n = self.outstanding.len();
        done_if_long(4 * n);
        (0..n)
            .filter(|i| *i == 0 || late(self.outstanding[*i].sent))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|i| self.lose(i))
            .sum()
    }

    /// The segments below `edge` that were not sent again are lost. Returns the newly lost bytes.
    pub fn lose_originals(&mut self, edge: u64) -> u64 {
        let mut bytes = 0;
        for i in counted_as(4, 0..self.first_behind(edge)) {
            if !self.outstanding[i].again {
                bytes += self.lose(i);
            }
        }
        bytes
    }

    /// The lost segments that wait to be sent again are in the network after all. With `judged` they may be judged
    /// again by their old times. Otherwise only a timeout finds them lost.
    pub fn none_lost(&mut self, judged: bool) {
        for i in counted_as(4, 0..self.outstanding.len()) {
            let r = self.outstanding[i];
            if r.lost {
                self.waiting.remove(&r.end);
                self.outstanding[i].lost = false;
                self.in_flight += r.len();
                if judged && self.keep == Keep::Order {
                    self.order.push_front((r.sent, r.end));
                }
            }
        }
    }

    /// The lowest segment that is lost and was not sent again: its first unit, and one past its last.
    pub fn first_lost(&self) -> Option<(u64, u64)> {
        let end = *self.waiting.first()?;
        let i = self.outstanding.partition_point(|r| r.end < end);
        self.outstanding.get(i).map(|r| (r.seq, r.end))
    }

    /// The lowest and the highest segment outstanding.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.outstanding.front().map(|r| (r.seq, r.end))
    }

    pub fn last(&self) -> Option<(u64, u64)> {
        self.outstanding.back().map(|r| (r.seq, r.end))
    }

    /// The number of repeats that have not arrived.
    pub fn repeats_in_flight(&self) -> u32 {
        done_if_long(self.outstanding.len());
        self.outstanding.iter().filter(|r| r.again && r.is_in_flight()).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Duration;

    /// A line of 1000 B/ms, 10 ms away, kept busy by a window of 20 segments.
    #[test]
    fn a_busy_line_is_measured_exactly() {
        let mut s = SentList::default();
        let at_ms = |ms: u64| Time(ms * 1_000_000);
        for n in 1..=20 {
            s.sent((n - 1) * 1000, n * 1000, false, at_ms(n));
        }
        for n in 1..=40 {
            let sample = s.acked(n * 1000, &[], at_ms(n + 20)).unwrap();
            if n > 20 {
                assert_eq!((sample.delivered, sample.interval), (20_000, Duration::from_millis(20)));
                assert_eq!(sample.rtt, Some(Duration::from_millis(20)));
                assert!(!sample.application_limited);
            }
            s.sent((n + 19) * 1000, (n + 20) * 1000, false, at_ms(n + 20));
        }
    }

    #[test]
    fn repeats_give_no_round_trip_and_a_silent_application_is_noted() {
        let mut s = SentList::default();
        s.sent(0, 1000, false, Time(0));
        s.sent(0, 1000, true, Time(5));
        s.application_limited();
        s.sent(1000, 2000, false, Time(6));
        let sample = s.acked(1000, &[], Time(10)).unwrap();
        assert!(sample.rtt.is_none() && !sample.application_limited);
        assert!(s.acked(2000, &[], Time(16)).unwrap().application_limited);
        assert!(s.acked(3000, &[], Time(17)).is_none());
    }

    /// One segment per millisecond on a path of 40 ms, with ACKs in groups of twenty. The time of sending limits the
    /// rate, so no sample exceeds one segment per millisecond.
    #[test]
    fn acks_that_come_at_once_do_not_look_fast() {
        let mut s = SentList::default();
        let at_ms = |ms: u64| Time(ms * 1_000_000);
        let mut fastest: f64 = 0.0;
        for n in 1..=400 {
            s.sent((n - 1) * 1000, n * 1000, false, at_ms(n));
            if n > 40 && n % 20 == 0 {
                let held = (n - 59).max(1)..=n - 40;
                for una in held {
                    let sample = s.acked(una * 1000, &[], at_ms(n)).unwrap();
                    fastest = fastest.max(sample.delivered as f64 / sample.interval.seconds());
                }
            }
        }
        assert!((fastest - 1e6).abs() < 1.0, "{fastest} B/s");
    }

    /// Through losses and repairs, the amount in the network is the amount sent that neither arrived nor was lost.
    #[test]
    fn what_is_in_flight_is_counted() {
        let mut s = SentList::default();
        for n in 1..=4 {
            s.sent((n - 1) * 1000, n * 1000, false, Time(n));
        }
        assert_eq!(s.in_flight(), 4000);
        let sample = s.acked(0, &[(1000, 3000)], Time(10)).unwrap();
        assert_eq!((sample.in_flight, sample.newly, sample.total), (2000, 2000, 2000));
        s.lose_below(1000);
        assert_eq!(s.in_flight(), 1000);
        s.sent(0, 1000, true, Time(12));
        s.sent(0, 1000, true, Time(13));
        assert_eq!(s.in_flight(), 2000);
        let sample = s.acked(4000, &[], Time(20)).unwrap();
        assert_eq!((sample.in_flight, sample.newly, sample.total), (0, 2000, 4000));
    }

    #[test]
    fn a_reported_segment_is_delivered_once_and_a_lost_one_counted_once() {
        let mut s = SentList::default();
        for n in 1..=4 {
            s.sent((n - 1) * 1000, n * 1000, false, Time(n));
        }
        assert_eq!(s.acked(0, &[(1000, 3000)], Time(10)).unwrap().delivered, 2000);
        assert!(s.acked(0, &[(1000, 3000)], Time(11)).is_none(), "nothing new");
        s.lose_below(1000);
        s.lose_below(2000);
        let sample = s.acked(0, &[(1000, 4000)], Time(12)).unwrap();
        assert_eq!((sample.delivered, sample.lost), (3000, 1000));
        s.sent(0, 1000, true, Time(13));
        assert_eq!(s.acked(4000, &[], Time(20)).unwrap().delivered, 1000);
    }

    /// Data is sent again in other pieces than before. Nothing is counted twice, and every unit has one record.
    #[test]
    fn pieces_that_are_cut_anew_do_not_overlap() {
        for keep in [Keep::Records, Keep::Order] {
            let mut s = SentList::keeping(keep);
            for (from, to) in [(0, 100), (100, 1100), (1100, 2100), (2100, 2500)] {
                s.sent(from, to, false, Time(1));
            }
            s.lose_below(2500);
            assert_eq!(s.in_flight(), 0);
            s.sent(0, 1000, true, Time(2));
            s.sent(1000, 2000, true, Time(3));
            assert_eq!(s.in_flight(), 2000);
            s.sent(2000, 2500, true, Time(4));
            assert_eq!((s.in_flight(), s.outstanding.len()), (2500, 3));
            let sample = s.acked(500, &[(1000, 2000)], Time(9)).unwrap();
            assert_eq!((sample.newly, s.in_flight(), s.sacked_bytes()), (1500, 1000, 1000));
            let sample = s.acked(2500, &[], Time(10)).unwrap();
            assert_eq!((sample.total, s.in_flight(), s.sacked_segments()), (2500, 0, 0));
        }
    }
}
