//! The quality of datagrams for a listener: how many are lost, in which runs, how many come too late, and how much
//! delays vary. If the destination answers, the length of round trips and the number of lost answers are measured, too.
//!
//! Jitter is that of RFC 3550 section 6.4.1. It starts at 0. In the order of arrival, J moves towards |d(i) - d(i-1)|
//! by a sixteenth of the difference. Losses are counted by sequence number; datagrams still on their way at the end are
//! not lost. A copy that arrives after the first arrival is counted only as a copy. Answers are counted by the number
//! of their datagram in the same way.
//!
//! State: two bits per datagram, two more if it is answered, and a few numbers. At 50 packets a second, two bits are
//! 45 kB per hour.

use super::histogram::Histogram;
use super::numbers::Numbers;
use super::playout::PacketPlayout;
use tailback_base::{Duration, Time};

/// The default deadline, for traffic with a listener or a viewer: 150 ms. Up to this delay most applications are served
/// well (ITU-T G.114).
pub const DEADLINE: Duration = Duration::from_millis(150);

/// The fate of the answers to these datagrams.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    heard: Numbers,
    dropped: Numbers,
    count: u64,
    round_trip: Histogram,
}

/// The counts of the datagrams of one flow that were sent in the measured time.
#[derive(Clone, Debug)]
pub struct Quality {
    /// The delay above which a datagram is late.
    deadline: Option<Duration>,
    /// The first number that counts.
    first: u64,
    /// The datagrams that arrived, by number minus `first`.
    arrived: Numbers,
    dropped: Numbers,
    pub delay: Histogram,
    last: Option<Duration>,
    /// Seconds.
    jitter: f64,
    jitter_sum: f64,
    jitter_max: f64,
    pub received: u64,
    pub late: u64,
    pub copies: u64,
    answers: Option<Box<Answers>>,
    playout: Option<Box<PacketPlayout>>,
}

/// The datagrams that never arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    pub lost: u64,
    /// Runs of consecutive numbers that are all lost.
    pub runs: u64,
    pub longest: u64,
}

impl Quality {
    pub fn new(deadline: Option<Duration>) -> Quality {
        Quality {
            deadline,
            first: 0,
            arrived: Numbers::default(),
            dropped: Numbers::default(),
            delay: Histogram::default(),
            last: None,
            jitter: 0.0,
            jitter_sum: 0.0,
            jitter_max: 0.0,
            received: 0,
            late: 0,
            copies: 0,
            answers: None,
            playout: None,
        }
    }

    /// The same measurements for a destination that answers.
    #[must_use]
    pub fn answered(self) -> Quality {
        let answers = Some(Box::default());
        Quality { answers, ..self }
    }

    /// The same measurements for datagrams that are played.
    #[must_use]
    pub fn played(self, playout: PacketPlayout) -> Quality {
        let playout = Some(Box::new(playout));
        Quality { playout, ..self }
    }

    /// Statistics begin: datagrams sent before this number do not count.
    pub fn restart(&mut self, next: u64) {
        let mut playout = self.playout.take();
        if let Some(playout) = &mut playout {
            playout.restart();
        }
        *self = Quality {
            first: next,
            answers: self.answers.is_some().then(Box::default),
            playout,
            ..Quality::new(self.deadline)
        };
    }

    /// A datagram that was sent at `sent` has arrived.
    pub fn deliver(&mut self, number: u64, sent: Time, delay: Duration) {
        if number < self.first {
            return;
        }
        if !self.arrived.add(number - self.first) {
            self.copies += 1;
            return;
        }
        self.received += 1;
        self.late += u64::from(self.deadline.is_some_and(|d| delay > d));
        self.delay.add(delay);
        if let Some(last) = self.last.replace(delay) {
            let change = (delay.seconds() - last.seconds()).abs();
            self.jitter += (change - self.jitter) / 16.0;
        }
        self.jitter_sum += self.jitter;
        self.jitter_max = self.jitter_max.max(self.jitter);
        if let Some(playout) = &mut self.playout {
            playout.arrived(number - self.first, sent, delay);
        }
    }

    pub fn playout(&self) -> Option<&PacketPlayout> {
        self.playout.as_deref()
    }

    /// Whether a datagram that counts has arrived.
    pub fn has_arrived(&self, number: u64) -> bool {
        number >= self.first && self.arrived.has(number - self.first)
    }

    /// A copy of a datagram will not arrive.
    pub fn lose(&mut self, number: u64) {
        if number >= self.first {
            self.dropped.add(number - self.first);
        }
    }

    /// The answer to a datagram is back.
    pub fn hear(&mut self, number: u64, round_trip: Duration) {
        if let Some(answers) = &mut self.answers
            && number >= self.first
            && answers.heard.add(number - self.first)
        {
            answers.count += 1;
            answers.round_trip.add(round_trip);
        }
    }

    /// An answer will not arrive.
    pub fn lose_answer(&mut self, number: u64) {
        if let Some(answers) = &mut self.answers
            && number >= self.first
        {
            answers.dropped.add(number - self.first);
        }
    }

    /// The number of datagrams before the number `next` that have been answered, and the number of those whose answer
    /// is lost; `None` if the destination does not answer.
    pub fn answers(&self, next: u64) -> Option<[u64; 2]> {
        let a = self.answers.as_ref()?;
        let numbers = 0..next.saturating_sub(self.first);
        let lost = numbers.filter(|n| a.dropped.has(*n) && !a.heard.has(*n)).count();
        Some([a.count, lost as u64])
    }

    pub fn round_trip(&self) -> Option<&Histogram> {
        Some(&self.answers.as_ref()?.round_trip)
    }

    /// Whether a datagram can be late.
    pub fn has_deadline(&self) -> bool {
        self.deadline.is_some()
    }

    /// The losses among the datagrams before the number `next`.
    pub fn losses(&self, next: u64) -> Losses {
        self.runs(next, |n| self.is_lost(n))
    }

    /// The datagrams that were not played: lost or too late. `None` if nothing is played.
    pub fn missing(&self, next: u64) -> Option<Losses> {
        let playout = self.playout.as_ref()?;
        Some(self.runs(next, |n| self.is_lost(n) || playout.is_late(n)))
    }

    fn is_lost(&self, n: u64) -> bool {
        self.dropped.has(n) && !self.arrived.has(n)
    }

    fn runs(&self, next: u64, counts: impl Fn(u64) -> bool) -> Losses {
        let mut all = Losses::default();
        let mut run = 0;
        for n in 0..next.saturating_sub(self.first) {
            if counts(n) {
                all.lost += 1;
                all.runs += u64::from(run == 0);
                run += 1;
                all.longest = all.longest.max(run);
            } else {
                run = 0;
            }
        }
        all
    }

    /// The number of datagrams before the number `next` that count.
    pub fn sent(&self, next: u64) -> u64 {
        next.saturating_sub(self.first)
    }

    /// J at the end, its mean over arrivals and its maximum, seconds; NaN if nothing arrived.
    pub fn jitter(&self) -> [f64; 3] {
        if self.received == 0 {
            return [f64::NAN; 3];
        }
        [self.jitter, self.jitter_sum / self.received as f64, self.jitter_max]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Delays alternate between 20 and 30 ms: J = 10 ms (1 - (15/16)^n) after n differences, 6.44 ms after 16.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut q = Quality::new(Some(DEADLINE));
        for n in 0..=40u64 {
            q.deliver(n, Time::ZERO, ms(20 + 10 * (n % 2)));
            let expected = 0.010 * (1.0 - libm::pow(15.0 / 16.0, n as f64));
            assert!((q.jitter()[0] - expected).abs() < 1e-12, "{n}");
            if n == 16 {
                assert!((q.jitter()[0] - 0.00644).abs() < 5e-6);
            }
        }
        assert!(q.jitter()[2] == q.jitter()[0] && q.jitter()[1] < q.jitter()[0]);
    }

    /// Of the datagrams 1 to 10, the datagrams 3, 4, 5 and 9 are lost: two runs, of length two on average and three
    /// at most.
    #[test]
    fn losses_come_in_runs() {
        let mut q = Quality::new(Some(DEADLINE));
        for n in 0..10 {
            match n + 1 {
                3 | 4 | 5 | 9 => q.lose(n),
                _ => q.deliver(n, Time::ZERO, ms(10)),
            }
        }
        let losses = q.losses(10);
        assert_eq!((losses.lost, losses.runs, losses.longest), (4, 2, 3));
        assert_eq!(losses.lost as f64 / losses.runs as f64, 2.0);
        assert_eq!((q.sent(10), q.received, q.late), (10, 6, 0));
        // Datagrams that were sent and neither arrived nor were dropped are still on their way.
        assert_eq!(q.losses(20), losses);
    }

    /// A datagram of which a copy arrives is not lost, and only its first arrival counts; late means after the
    /// deadline.
    #[test]
    fn copies_and_late_ones_are_counted_apart() {
        let mut q = Quality::new(Some(ms(150)));
        q.lose(0);
        q.deliver(0, Time::ZERO, ms(150));
        q.deliver(0, Time::ZERO, ms(400));
        q.deliver(1, Time::ZERO, Duration(150_000_001));
        assert_eq!((q.received, q.late, q.copies, q.losses(2).lost), (2, 1, 1, 0));
        assert!((q.delay.max() - 0.150_000_001).abs() < 1e-15);
    }

    #[test]
    fn what_was_sent_before_the_measured_time_does_not_count() {
        let mut q = Quality::new(Some(DEADLINE));
        q.deliver(0, Time::ZERO, ms(10));
        q.lose(1);
        q.restart(3);
        q.deliver(2, Time::ZERO, ms(500));
        q.lose(2);
        q.deliver(3, Time::ZERO, ms(10));
        q.lose(4);
        assert_eq!((q.sent(5), q.received, q.late), (2, 1, 0));
        assert_eq!((q.losses(5).lost, q.losses(5).runs), (1, 1));
        assert!(Quality::new(Some(DEADLINE)).jitter()[0].is_nan());
    }

    /// Of five datagrams one is lost on its way, one answer is lost, and one is on its way; two copies of an answer,
    /// one of them lost, are one answer.
    #[test]
    fn answers_are_counted_by_datagram() {
        let mut q = Quality::new(None).answered();
        q.lose(0);
        for n in 1..5 {
            q.deliver(n, Time::ZERO, ms(10));
        }
        q.lose_answer(1);
        q.hear(2, ms(25));
        q.lose_answer(3);
        q.hear(3, ms(35));
        q.hear(3, ms(45));
        assert_eq!((q.answers(5), q.losses(5).lost), (Some([2, 1]), 1));
        let times = q.round_trip().expect("they are answered");
        assert_eq!((times.count(), times.max()), (2, 0.035));
        assert!(q.late == 0 && !q.has_deadline());
        // Datagrams sent before the measured time have no answer in it.
        q.restart(5);
        q.hear(4, ms(25));
        q.hear(5, ms(15));
        assert_eq!(q.answers(6), Some([1, 0]));
        assert_eq!(Quality::new(None).answers(6), None);
    }
}
