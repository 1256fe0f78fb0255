//! The time sliding window: an estimate of a rate in which bytes older than about a window no longer count.
//!
//! ```text
//! rate = (rate window + bytes) / (time since the packet before + window)
//! ```
//!
//! From: Clark and Fang, "Explicit allocation of best-effort packet delivery service", 1998, section III; RFC 2859
//! section 3.
//!
//! State: the estimate, bytes/s, which starts at the rate of the profile, and the time of the previous packet, which
//! starts at zero.
//!
//! Cost: a division per packet.

use tailback_base::{BitRate, Duration, Time};

/// The estimate of a rate.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    /// The estimate, bytes per second.
    rate: f64,
    /// The length of the window, seconds.
    window: f64,
    counted: Time,
}

impl SlidingWindow {
    /// An estimate that starts at this rate.
    pub fn new(rate: BitRate, window: Duration) -> SlidingWindow {
        SlidingWindow {
            rate: rate.bits_per_second() / 8.0,
            window: window.seconds(),
            counted: Time::ZERO,
        }
    }

    /// Count this number of bytes that arrive now. Returns the rate, bit/s.
    pub fn count(&mut self, bytes: u32, now: Time) -> f64 {
        let gap = now.since(self.counted).seconds();
        self.rate = (self.rate * self.window + f64::from(bytes)) / (gap + self.window);
        self.counted = now;
        self.bits_per_second()
    }

    /// The rate at the last packet, bit/s.
    pub fn bits_per_second(&self) -> f64 {
        8.0 * self.rate
    }

    /// The rate at time `then` if no more packets arrive, bit/s.
    pub fn at(&self, then: Time) -> f64 {
        let gap = then.since(self.counted).seconds();
        8.0 * self.rate * self.window / (gap + self.window)
    }

    /// Use this window from now on.
    pub fn set_window(&mut self, window: Duration) {
        self.window = window.seconds();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Count packets of `bytes` every `gap` ms until `seconds`. Returns the estimate at the end.
    fn after(window: &mut SlidingWindow, from: u64, seconds: u64, gap: u64, bytes: u32) -> f64 {
        let times = (from * 1000..seconds * 1000).step_by(gap as usize);
        times
            .map(|ms| window.count(bytes, Time(ms * 1_000_000)))
            .last()
            .unwrap_or(f64::NAN)
    }

    #[test]
    fn a_steady_rate_is_found_within_windows() {
        let mut w = SlidingWindow::new(BitRate(1_000_000), Duration::from_millis(500));
        // 1000 bytes every 2 ms are 4 Mb/s. Each packet removes slightly more than the share gap / window of the
        // difference between estimate and rate.
        let early = after(&mut w, 0, 1, 2, 1000);
        let late_rate = after(&mut w, 1, 10, 2, 1000);
        assert!(early > 3.5e6 && early < 3.7e6, "{early}");
        assert!((late_rate - 4e6).abs() < 1.0, "{late_rate}");
    }

    /// The estimate exists from time zero, so it decays until the first packet.
    #[test]
    fn the_first_packet_is_counted_from_zero() {
        let mut w = SlidingWindow::new(BitRate(8_000_000), Duration::from_millis(1000));
        let rate = w.count(1000, Time(500_000_000));
        assert_eq!(rate, 8.0 * (1e6 + 1000.0) / 1.5);
    }
}
