//! The quality of datagrams for a listener: how many are lost, in which runs, how many come too late, and how much
//! delays vary.
//!
//! Jitter is that of RFC 3550 section 6.4.1: starting at 0, J moves towards |d(i) - d(i-1)| by a sixteenth of the
//! difference, in the order of arrival. Losses are counted by sequence number; datagrams still on their way at the
//! end are not lost. A copy that arrives after the first is counted as such and nowhere else.
//!
//! State: two bits per datagram, and a few numbers. At 50 packets a second, two bits are 45 kB per hour.

use super::histogram::Histogram;
use tailback_base::Duration;

/// The default deadline, for traffic that somebody listens to or watches: 150 ms, up to which most applications are
/// served well (ITU-T G.114).
pub const DEADLINE: Duration = Duration::from_millis(150);

/// A set of sequence numbers.
#[derive(Clone, Debug, Default)]
struct Numbers(Vec<u64>);

impl Numbers {
    /// Add a number; returns whether it is new.
    fn add(&mut self, n: u64) -> bool {
        let (word, bit) = ((n / 64) as usize, 1 << (n % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    fn has(&self, n: u64) -> bool {
        self.0.get((n / 64) as usize).is_some_and(|w| w >> (n % 64) & 1 == 1)
    }
}

/// What is known about the datagrams of one flow that were sent in the measured time.
#[derive(Clone, Debug)]
pub struct Quality {
    deadline: Duration,
    /// The first number that counts.
    first: u64,
    /// By number, minus `first`.
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
    pub fn new(deadline: Duration) -> Quality {
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
        }
    }

    /// Statistics begin: datagrams sent before this number do not count.
    pub fn restart(&mut self, next: u64) {
        *self = Quality {
            first: next,
            ..Quality::new(self.deadline)
        };
    }

    pub fn deliver(&mut self, number: u64, delay: Duration) {
        if number < self.first {
            return;
        }
        if !self.arrived.add(number - self.first) {
            self.copies += 1;
            return;
        }
        self.received += 1;
        self.late += u64::from(delay > self.deadline);
        self.delay.add(delay);
        if let Some(last) = self.last.replace(delay) {
            let change = (delay.seconds() - last.seconds()).abs();
            self.jitter += (change - self.jitter) / 16.0;
        }
        self.jitter_sum += self.jitter;
        self.jitter_max = self.jitter_max.max(self.jitter);
    }

    /// A copy of a datagram will not arrive.
    pub fn lose(&mut self, number: u64) {
        if number >= self.first {
            self.dropped.add(number - self.first);
        }
    }

    /// The losses among the datagrams before the number `next`.
    pub fn losses(&self, next: u64) -> Losses {
        let mut all = Losses::default();
        let mut run = 0;
        for n in 0..next.saturating_sub(self.first) {
            if self.dropped.has(n) && !self.arrived.has(n) {
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

    /// How many datagrams before the number `next` count.
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

    /// Alternating delays of 20 and 30 ms: J = 10 ms (1 - (15/16)^n) after n differences, 6.44 ms after 16.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut q = Quality::new(DEADLINE);
        for n in 0..=40u64 {
            q.deliver(n, ms(20 + 10 * (n % 2)));
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
        let mut q = Quality::new(DEADLINE);
        for n in 0..10 {
            match n + 1 {
                3 | 4 | 5 | 9 => q.lose(n),
                _ => q.deliver(n, ms(10)),
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
        let mut q = Quality::new(ms(150));
        q.lose(0);
        q.deliver(0, ms(150));
        q.deliver(0, ms(400));
        q.deliver(1, Duration(150_000_001));
        assert_eq!((q.received, q.late, q.copies, q.losses(2).lost), (2, 1, 1, 0));
        assert!((q.delay.max() - 0.150_000_001).abs() < 1e-15);
    }

    #[test]
    fn what_was_sent_before_the_measured_time_does_not_count() {
        let mut q = Quality::new(DEADLINE);
        q.deliver(0, ms(10));
        q.lose(1);
        q.restart(3);
        q.deliver(2, ms(500));
        q.lose(2);
        q.deliver(3, ms(10));
        q.lose(4);
        assert_eq!((q.sent(5), q.received, q.late), (2, 1, 0));
        assert_eq!((q.losses(5).lost, q.losses(5).runs), (1, 1));
        assert!(Quality::new(DEADLINE).jitter()[0].is_nan());
    }
}
