//! An encoder that follows a target rate (RFC 8593 section 5, the statistical model).
//!
//! A new target takes effect `reaction` after it was set. Of the targets that come meanwhile only the last one counts.
//! Between changes a frame's mean size is the rate divided by the frame rate. A change by more than a share of the rate
//! is a transient: its first frame is an I frame of a stated size. The frames after it share the rest of the mean size
//! of all frames of the transient, and each has at least a fifth of a mean frame.
//!
//! State: the rate in effect, the change that is due, and how many frames of a transient are left, with their factor.
//! Departure: the RFC leaves open which change begins a transient; here this is a parameter.

use super::params::{CHANGE, I_FRAME, REACTION, TRANSIENT};
use super::sizes::Sort;
use tailback_base::{Duration, Settings, Time};

/// The least size of a frame of a transient, as a share of the mean.
const LEAST: f64 = 0.2;

/// The kind of the next frame.
pub(super) struct NextFrame {
    pub sort: Option<Sort>,
    /// Its mean size, as a share of the mean size at the nominal rate.
    pub factor: f64,
}

pub(super) struct Encoder {
    reaction: Duration,
    /// The number of frames of a transient, the bytes of its first frame, and the share of the rate by which a change
    /// begins a transient.
    frames: u64,
    i_frame: f64,
    change: f64,
    /// The mean frame at the nominal rate, bytes.
    nominal: f64,
    /// The rate in effect, as a share of the nominal rate.
    scale: Option<f64>,
    due: Option<Time>,
    /// Frames of the present transient that are left after its first, and their factor.
    left: (u64, f64),
}

impl Encoder {
    /// `nominal` is the mean frame without a target, bytes.
    pub fn new(s: &Settings, nominal: f64) -> Encoder {
        Encoder {
            reaction: s.get(&REACTION),
            frames: s.get(&TRANSIENT),
            i_frame: s.get(&I_FRAME) as f64,
            change: s.get(&CHANGE),
            nominal,
            scale: None,
            due: None,
            left: (0, 1.0),
        }
    }

    /// The next frame, when the target is this multiple of the nominal rate.
    pub fn next(&mut self, target: f64, now: Time) -> NextFrame {
        let mut scale = *self.scale.get_or_insert(target);
        if target != scale && self.due.is_none() {
            self.due = Some(now + self.reaction);
        }
        if self.due.is_some_and(|t| t <= now) {
            self.due = None;
            self.scale = Some(target);
            if self.frames > 1 && (target / scale - 1.0).abs() > self.change {
                return self.begin(target);
            }
            scale = target;
        }
        if self.left.0 > 0 {
            self.left.0 -= 1;
            let (sort, factor) = (Some(Sort::P), scale * self.left.1);
            return NextFrame { sort, factor };
        }
        NextFrame {
            sort: None,
            factor: scale,
        }
    }

    fn begin(&mut self, scale: f64) -> NextFrame {
        let all = self.frames as f64 * scale * self.nominal;
        let rest = (all - self.i_frame) / (self.frames - 1) as f64 / (scale * self.nominal);
        self.left = (self.frames - 1, rest.max(LEAST));
        NextFrame {
            sort: Some(Sort::I),
            factor: self.i_frame / self.nominal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MODEL;
    use super::*;

    /// The rate is 2 Mbit/s at 25 frames a second: 10 kB a frame. The target is then halved, which begins a transient
    /// of eight frames.
    #[test]
    fn a_step_shows_after_the_reaction_with_its_mean_kept() {
        let s = Settings::defaults(&MODEL)
            .with("transient", "8")
            .with("i_frame", "13500B");
        let mut e = Encoder::new(&s, 10_000.0);
        let frame = Duration::from_millis(40);
        let mut now = Time::ZERO;
        let mut sizes = vec![];
        for n in 0..20 {
            let next = e.next(if n < 2 { 1.0 } else { 0.5 }, now);
            sizes.push(10_000.0 * next.factor);
            now += frame;
        }
        // The target is set at 80 ms and takes effect at 280 ms, at the eighth frame.
        assert_eq!(sizes[..7], [10_000.0; 7]);
        let transient = &sizes[7..15];
        assert!((transient[0] - 13_500.0).abs() < 1e-9 && (transient.iter().sum::<f64>() - 40_000.0).abs() < 1e-6);
        assert!(sizes[15..].iter().all(|x| (x - 5_000.0).abs() < 1e-9));
    }

    /// An I frame that takes nearly all of the size leaves a fifth of a mean frame to each other frame.
    #[test]
    fn frames_of_a_transient_have_a_least_size() {
        let s = Settings::defaults(&MODEL)
            .with("transient", "3")
            .with("i_frame", "13500B")
            .with("reaction", "0s");
        let mut e = Encoder::new(&s, 10_000.0);
        e.next(1.0, Time::ZERO);
        let sizes: Vec<f64> = (1..4).map(|n| 10_000.0 * e.next(0.2, Time(n)).factor).collect();
        let expected = [13_500.0, 400.0, 400.0];
        assert!(
            sizes.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9),
            "{sizes:?}"
        );
    }
}
