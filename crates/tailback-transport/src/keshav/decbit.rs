//! The DECbit source: a window controlled by the congestion bit.
//!
//! The source is Ramakrishnan and Jain's scheme, as used in Keshav's thesis, chapter 6. Switches set a bit in data
//! packets, and the sink copies this bit into the acknowledgement. The source changes its window once every two
//! windows:
//!
//! ```text
//! after each change from W_old to W_new:   ignore the acknowledgements of floor(W_old) packets,
//!                                          count the bits in the next floor(W_new):
//!    at least `threshold` of them set:     win = max(1, `decrease` x win)
//!    fewer:                                win = min(wmax, win + `increase`)
//! ```
//!
//! Every acknowledgement counts, including duplicates. The sources leave some points open, and the choices are ours
//! (see `docs/decisions/keshav-sources.md`). A timeout sets the window to `timeout_window`. It begins a new cycle that
//! ignores as many acknowledgements as packets are outstanding. At exactly the threshold the window shrinks. A new
//! cycle begins even if the window cannot grow. Timers are those of [`super::timers`].
//!
//! The state is the window, the number of acknowledgements to ignore, and the number of acknowledgements to count. An
//! acknowledgement costs a few operations.

use super::config::{Config, DecBitConfig};
use super::generic::{read_window, send_within};
use super::params::WINDOW_PROBES;
use super::sender::FlowControl;
use super::state::{AckSeen, SenderState};
use super::timers::PacketTimers;
use crate::endpoint::Transmit;
use tailback_base::{Duration, ProbeDef, Time};

/// The window and its cycle.
pub struct BitWindow {
    own: DecBitConfig,
    wmax: f64,
    /// The window in packets, a real number.
    win: f64,
    /// The number of acknowledgements still to be ignored, and the number to be counted after these.
    ignore: u64,
    count: u64,
    counted: u64,
    set: u64,
}

impl BitWindow {
    pub fn new(own: &DecBitConfig, wmax: f64) -> BitWindow {
        let mut w = BitWindow {
            own: *own,
            wmax,
            win: own.initial_window.min(wmax),
            ignore: 0,
            count: 0,
            counted: 0,
            set: 0,
        };
        w.begin(0.0);
        w
    }

    pub fn window(&self) -> f64 {
        self.win
    }

    /// Begin a new cycle after a change of the window from `old`.
    fn begin(&mut self, old: f64) {
        self.ignore = old as u64;
        self.count = self.win as u64;
        (self.counted, self.set) = (0, 0);
    }

    pub fn on_ack(&mut self, bit: bool) {
        if self.ignore > 0 {
            self.ignore -= 1;
            return;
        }
        self.counted += 1;
        self.set += u64::from(bit);
        if self.counted < self.count {
            return;
        }
        let old = self.win;
        self.win = if self.set as f64 >= self.own.threshold * self.counted as f64 {
            (self.own.decrease * old).max(1.0)
        } else {
            (old + self.own.increase).min(self.wmax)
        };
        self.begin(old);
    }

    /// A timeout with `outstanding` packets in the network.
    pub fn on_timeout(&mut self, outstanding: usize) {
        self.win = self.own.timeout_window.min(self.wmax);
        self.begin(outstanding as f64);
    }
}

pub struct DecBit {
    window: BitWindow,
    timers: PacketTimers,
}

impl DecBit {
    pub fn new(cfg: &Config, own: &DecBitConfig, base: Duration) -> DecBit {
        DecBit {
            window: BitWindow::new(own, f64::from(cfg.wmax)),
            timers: PacketTimers::new(cfg, base),
        }
    }
}

impl FlowControl for DecBit {
    const PROBES: &'static [ProbeDef] = WINDOW_PROBES;

    fn on_ack(&mut self, a: &AckSeen, state: &mut SenderState, now: Time) {
        self.timers.on_ack(a, state, now);
        self.window.on_ack(a.bit);
    }

    fn next(&mut self, state: &mut SenderState, now: Time) -> Transmit {
        send_within(self.window.window(), &mut self.timers, state, now)
    }

    fn deadline(&self) -> Time {
        self.timers.earliest()
    }

    fn on_timer(&mut self, state: &mut SenderState, now: Time) {
        if self.timers.expire(state, now) {
            self.window.on_timeout(state.sent.len());
        }
    }

    fn window(&self) -> f64 {
        self.window.window()
    }

    fn round_trip(&self) -> Duration {
        Duration::from_seconds(self.timers.rtt())
    }

    fn read(&self, state: &SenderState, probe: &str) -> f64 {
        read_window(self.window(), self.timers.estimate(), state, probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(wmax: f64) -> BitWindow {
        let own_config = DecBitConfig {
            initial_window: 1.0,
            increase: 1.0,
            decrease: 0.875,
            threshold: 0.5,
            timeout_window: 1.0,
        };
        BitWindow::new(&own_config, wmax)
    }

    /// The window after each acknowledgement.
    fn trace(w: &mut BitWindow, bits: &[u8]) -> Vec<f64> {
        bits.iter()
            .map(|b| {
                w.on_ack(*b == 1);
                w.window()
            })
            .collect()
    }

    #[test]
    fn one_change_in_two_windows() {
        let mut w = window(5.0);
        // With W_old = 0 and W_new = 1, the first acknowledgement counts. Then 1 is ignored and 2 count, then 2 and 3,
        // then 3 and 4, then 4 and 5.
        let up = trace(&mut w, &[0; 1 + 3 + 5 + 7]);
        let mut expected = vec![2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 4.0];
        expected.extend([4.0; 6]);
        expected.push(5.0);
        assert_eq!(up, expected);
        // At the cap the cycle continues: 4 are ignored and 5 counted, and then 5 are ignored and 5 counted.
        assert_eq!(trace(&mut w, &[0; 9 + 10]), [5.0; 19]);
        assert_eq!(trace(&mut w, &[1, 1, 1, 1, 1, 0, 0, 1, 1, 1]).last(), Some(&4.375));
    }

    #[test]
    fn half_of_the_bits_is_enough_and_ignored_ones_do_not_count() {
        let mut w = window(9.0);
        trace(&mut w, &[0]);
        // With a window of 2 one acknowledgement is ignored, so its bit has no effect. Then one of two bits is set, and
        // the window decreases to 1.75.
        assert_eq!(trace(&mut w, &[1, 0, 1]), [2.0, 2.0, 1.75]);
        // 2 are ignored. Then 1 (1.75 rounded down) is counted with a clear bit, and the window is 2.75. Then 1 is
        // ignored and 2 are counted, and the window is 3.75.
        assert_eq!(trace(&mut w, &[1, 1, 0]), [1.75, 1.75, 2.75]);
        assert_eq!(trace(&mut w, &[1, 0, 0]), [2.75, 2.75, 3.75]);
    }

    #[test]
    fn marked_at_a_window_of_one_it_stays_at_one() {
        let mut w = window(5.0);
        assert_eq!(trace(&mut w, &[1; 20]), [1.0; 20]);
        // With a window of one, acknowledgements are ignored and counted in turn, and the very first was counted. 20 is
        // even, so the last of these was ignored. The next one is counted, and its clear bit opens the window.
        assert_eq!(trace(&mut w, &[0]), [2.0]);
    }

    #[test]
    fn a_timeout_begins_anew_at_one() {
        let mut w = window(5.0);
        trace(&mut w, &[0; 1 + 3 + 5]);
        assert_eq!(w.window(), 4.0);
        w.on_timeout(3);
        assert_eq!(w.window(), 1.0);
        // Three acknowledgements are ignored, because three packets were outstanding.
        assert_eq!(trace(&mut w, &[0, 0, 0, 0]), [1.0, 1.0, 1.0, 2.0]);
    }
}
