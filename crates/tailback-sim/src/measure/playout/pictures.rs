//! Playout of video: the times at which frames are shown, and how long the picture freezes.
//!
//! A frame is shown at the later of two times: its own time plus the playout delay, and the time at which it is
//! complete. Frames are shown in their order. A frame that is complete only after a later frame was shown is missing. A
//! frame that needs the frame before it is missing too if that frame is missing.
//!
//! Freezes and pauses are those of W3C's webrtc-stats. Let m be the mean time between the last 30 frames shown. A frame
//! that is shown max(3 m, m + 150 ms) or more after the frame before it ends a freeze, which lasted for that time. A
//! time of more than 5 s is a pause. The mean needs at least five times, as in libwebrtc.
//!
//! State: the frames that are complete and not yet shown, and the last 30 times between frames.

use crate::measure::histogram::Histogram;
use std::collections::VecDeque;
use tailback_base::{Duration, Time};

/// The largest and the smallest number of times between frames that make a mean.
const MEAN_OF: usize = 30;
const LEAST_OF: usize = 5;
/// The least excess of a freeze over the mean gap, and the length of a pause.
const LONGER: f64 = 0.150;
const TIMES: f64 = 3.0;
const PAUSE: f64 = 5.0;

/// A frame whose last packet has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompleteFrame {
    /// The number of the frame in the order of creation, from 0.
    pub number: u64,
    pub made: Time,
    /// Payload.
    pub bytes: u64,
    /// Whether it needs the frame before it.
    pub needs_previous: bool,
}

/// The playout of one source of video.
#[derive(Clone, Debug)]
pub struct PicturePlayout {
    delay: Duration,
    from: Time,
    /// The frames that are complete and not shown yet, by number, with the time at which each is shown.
    waiting: VecDeque<(Time, CompleteFrame)>,
    /// The last frame shown, and the time at which it was shown.
    last: Option<(u64, Time)>,
    /// Seconds between frames, the newest last.
    between: VecDeque<f64>,
    /// The first frame that counts, and the last whose time has come.
    first: Option<u64>,
    due: Option<u64>,
    /// The number of frames that were reported; of these, those that are not yet due.
    told: u64,
    coming: VecDeque<(u64, Time)>,
    pub shown: u64,
    pub shown_bytes: u64,
    /// The time from creation to display.
    pub latency: Histogram,
    pub freezes: u64,
    /// Seconds.
    pub frozen: f64,
    pub longest: f64,
    pub pauses: u64,
}

impl PicturePlayout {
    pub fn new(delay: Duration) -> PicturePlayout {
        PicturePlayout {
            delay,
            from: Time::ZERO,
            waiting: VecDeque::new(),
            last: None,
            between: VecDeque::new(),
            first: None,
            due: None,
            told: 0,
            coming: VecDeque::new(),
            shown: 0,
            shown_bytes: 0,
            latency: Histogram::default(),
            freezes: 0,
            frozen: 0.0,
            longest: 0.0,
            pauses: 0,
        }
    }

    /// Statistics begin: earlier frames do not count. The display continues.
    pub fn restart(&mut self, now: Time) {
        *self = PicturePlayout {
            from: now,
            waiting: std::mem::take(&mut self.waiting),
            last: self.last,
            between: std::mem::take(&mut self.between),
            told: self.told,
            ..PicturePlayout::new(self.delay)
        };
    }

    /// The next frame was made; this is called some time later.
    pub fn made(&mut self, made: Time, now: Time) {
        let picture = self.told;
        self.told += 1;
        self.show_until(now);
        if made >= self.from {
            self.first = Some(self.first.map_or(picture, |n| n.min(picture)));
            self.coming.push_back((picture, made));
        }
        self.count_due(now);
    }

    /// A frame is complete.
    pub fn complete(&mut self, frame: CompleteFrame, now: Time) {
        self.show_until(now);
        if self.last.is_some_and(|(number, _)| number > frame.number) {
            return;
        }
        if frame.made >= self.from {
            self.first = Some(self.first.map_or(frame.number, |n| n.min(frame.number)));
        }
        let shown_at = now.max(frame.made + self.delay);
        let place = self.waiting.partition_point(|(_, f)| f.number < frame.number);
        self.waiting.insert(place, (shown_at, frame));
        self.show_until(now);
    }

    /// Show the frames that are due until now.
    pub fn show_until(&mut self, now: Time) {
        // The order of numbers is the order of times: a late frame is shown at once.
        while self.waiting.front().is_some_and(|(at, _)| *at <= now)
            && let Some((at, frame)) = self.waiting.pop_front()
        {
            self.show(&frame, at);
        }
        self.count_due(now);
    }

    fn count_due(&mut self, now: Time) {
        while let Some((number, _)) = self.coming.front().filter(|(_, made)| *made + self.delay <= now) {
            self.due = self.due.max(Some(*number));
            self.coming.pop_front();
        }
    }

    fn show(&mut self, frame: &CompleteFrame, at: Time) {
        let is_cut_off = match self.last {
            Some((last, _)) => frame.number != last + 1,
            None => frame.number > 0,
        };
        if frame.needs_previous && is_cut_off {
            return;
        }
        let counts = frame.made >= self.from;
        if let Some((_, before)) = self.last.replace((frame.number, at)) {
            self.note((at - before).seconds(), counts);
        }
        if counts {
            self.shown += 1;
            self.shown_bytes += frame.bytes;
            self.latency.add(at - frame.made);
            self.due = self.due.max(Some(frame.number));
        }
    }

    fn note(&mut self, time: f64, counts: bool) {
        if counts && self.between.len() >= LEAST_OF {
            let mean = self.between.iter().sum::<f64>() / self.between.len() as f64;
            if time >= (TIMES * mean).max(mean + LONGER) {
                self.freezes += 1;
                self.frozen += time;
                self.longest = self.longest.max(time);
            }
        }
        self.pauses += u64::from(counts && time > PAUSE);
        self.between.push_back(time);
        if self.between.len() > MEAN_OF {
            self.between.pop_front();
        }
    }

    /// Frames that should have been shown and were not.
    pub fn missing(&self) -> u64 {
        match (self.first, self.due) {
            (Some(first), Some(due)) => (due + 1).saturating_sub(first + self.shown),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    fn frame(number: u64) -> CompleteFrame {
        CompleteFrame {
            number,
            made: ms(40 * number),
            bytes: 1000,
            needs_previous: false,
        }
    }

    /// There is a frame each 40 ms, which is complete 20 ms later and shown after 50 ms. Frames with some numbers are
    /// never complete.
    fn shown(lost: impl Fn(u64) -> bool, needs_previous: bool) -> PicturePlayout {
        let mut p = PicturePlayout::new(Duration::from_millis(50));
        for number in 0..100 {
            p.made(ms(40 * number), ms(40 * number));
            if !lost(number) {
                p.complete(
                    CompleteFrame {
                        needs_previous,
                        ..frame(number)
                    },
                    ms(40 * number + 20),
                );
            }
        }
        p.show_until(ms(10_000));
        p
    }

    #[test]
    fn frames_are_shown_at_their_time() {
        let p = shown(|_| false, false);
        assert_eq!((p.shown, p.shown_bytes, p.missing(), p.freezes), (100, 100_000, 0, 0));
        assert!((p.latency.max() - 0.05).abs() < 1e-9);
    }

    /// The mean is 40 ms. Four missing frames make 200 ms, which is at least 190 ms; three make 160 ms, which is no
    /// freeze.
    #[test]
    fn a_freeze_is_that_of_webrtc_stats() {
        let three = shown(|n| (50..53).contains(&n), false);
        assert_eq!((three.missing(), three.freezes), (3, 0));
        let four = shown(|n| (50..54).contains(&n), false);
        assert_eq!((four.missing(), four.freezes, four.pauses), (4, 1, 0));
        assert!((four.frozen - 0.2).abs() < 1e-9 && (four.longest - 0.2).abs() < 1e-9);
        // Before five times are known there is no mean.
        assert_eq!(shown(|n| (2..30).contains(&n), false).freezes, 0);
    }

    /// Every frame that builds on a missing frame is missing.
    #[test]
    fn a_frame_that_needs_a_missing_one_is_missing() {
        let p = shown(|n| n == 50, true);
        assert_eq!((p.shown, p.missing()), (50, 50));
    }

    /// Frame 1 is complete after frame 2 was shown; frame 4 before frame 5 is shown.
    #[test]
    fn frames_are_shown_in_order() {
        let mut p = PicturePlayout::new(Duration::from_millis(50));
        p.complete(frame(0), ms(20));
        p.complete(frame(2), ms(100));
        p.complete(frame(1), ms(140));
        p.complete(frame(5), ms(205));
        p.complete(frame(4), ms(240));
        p.show_until(ms(1000));
        assert_eq!((p.shown, p.missing()), (4, 2));
        assert!((p.latency.max() - 0.08).abs() < 1e-9);
    }

    #[test]
    fn six_seconds_are_a_pause_and_a_freeze() {
        let mut p = shown(|_| false, false);
        p.complete(
            CompleteFrame {
                made: ms(16_000),
                ..frame(100)
            },
            ms(16_010),
        );
        p.show_until(ms(17_000));
        assert_eq!((p.freezes, p.pauses), (1, 1));
    }

    #[test]
    fn what_was_made_before_the_measured_time_does_not_count() {
        let mut p = shown(|n| n == 10, false);
        p.restart(ms(4000));
        assert_eq!((p.shown, p.missing()), (0, 0));
        p.made(ms(4000), ms(4000));
        p.complete(frame(100), ms(4010));
        p.show_until(ms(5000));
        assert_eq!((p.shown, p.missing(), p.freezes), (1, 0, 0));
    }
}
