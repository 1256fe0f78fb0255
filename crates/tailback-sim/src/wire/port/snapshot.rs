//! The totals of a port at one instant; differences give the values of an interval.

use super::{Port, Queue};
use tailback_base::Time;
use tailback_queue::DropReason;

tailback_base::counters! {
    /// Counted since the start of statistics.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct PortSnapshot {
        pub arrived_packets: u64,
        pub delivered_packets: u64,
        pub delivered_bytes: u64,
        pub dropped: u64,
        /// The drops for [`DropReason::Early`] among all drops.
        pub dropped_early: u64,
        pub marked: u64,
        /// The used capacity of the line: seconds, or bits if its rate changes.
        pub used: f64,
        /// The offered capacity in bits; NaN for a line with a constant rate, which offers its time.
        pub offered: f64,
        /// Integral of the waiting packets, packet-seconds.
        pub queue: f64,
        /// Packets whose transmission started, and the sum of their times in the queue, seconds.
        pub started: u64,
        pub waited: f64,
    }
}

impl PortSnapshot {
    /// The used share of the line's capacity in an interval of this many seconds; NaN if the line had no capacity.
    pub fn utilisation(&self, seconds: f64) -> f64 {
        match self.offered.is_nan() {
            true => self.used / seconds,
            // A transmission ends at a whole nanosecond, which may be less than a bit too early.
            false if self.used > self.offered && self.used - self.offered < 1.0 => 1.0,
            false if self.offered > 0.0 => self.used / self.offered,
            false => f64::NAN,
        }
    }
}

impl Port {
    /// The totals at `now`.
    pub fn snapshot(&self, now: Time) -> PortSnapshot {
        let s = &self.stats;
        let drops = s.losses.iter().flat_map(|l| &l.colours).flat_map(|(_, c)| &c.drops);
        let dropped_early = drops.map(|place| place[DropReason::Early as usize].packets).sum();
        let (mut started, mut waited) = match &s.sojourn {
            Some(h) if h.count() + s.at_once > 0 => {
                let started = h.count() + s.at_once;
                (started, h.mean_beside(s.at_once) * started as f64)
            }
            _ => (0, 0.0),
        };
        if let Queue::Fused(f) = &self.queue {
            for w in f.waiting.iter().take_while(|w| w.start <= now) {
                started += 1;
                waited += (w.start - w.arrived).seconds();
            }
        }
        let (used, offered) = self.carried(now).unwrap_or((self.busy_seconds(now), f64::NAN));
        PortSnapshot {
            arrived_packets: s.arrived_packets,
            delivered_packets: s.delivered_packets,
            delivered_bytes: s.delivered_bytes,
            dropped: s.dropped(),
            dropped_early,
            marked: s.marked(),
            used,
            offered,
            queue: self.queue_seconds(now),
            started,
            waited,
        }
    }
}
