//! The quality of video frames: how long they take until they are complete, which of them fail, and for how long the
//! picture freezes.
//!
//! A frame fails if it is not complete by its deadline, because a packet was lost or late. Frames are judged in their
//! order, each at its deadline; consecutive failed frames are a freeze.

use super::histogram::Histogram;
use super::playout::{CompleteFrame, PicturePlayout};
use tailback_base::Time;

/// The fate of a frame at its deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The frame was complete, and so were the frames it builds on.
    Shown,
    /// The frame was not complete.
    Failed,
    /// No byte of it had been sent, and it was given up.
    Skipped,
    /// The frame was complete, but a frame it builds on was not.
    Chained,
}

/// The frames of one flow that were made in the measured time.
#[derive(Clone, Debug, Default)]
pub struct FrameStats {
    from: Time,
    pub bytes: u64,
    /// Frames judged.
    pub frames: u64,
    pub failed: u64,
    pub skipped: u64,
    pub chained: u64,
    /// The time from the creation of a frame to the delivery of its last packet, late or not.
    pub delay: Histogram,
    /// Runs of consecutive frames that were not shown.
    pub freezes: u64,
    pub longest: u64,
    run: u64,
    /// The times at which frames are shown, if the scenario asks for them.
    pub playout: Option<Box<PicturePlayout>>,
}

impl FrameStats {
    pub fn new(playout: Option<PicturePlayout>) -> FrameStats {
        FrameStats {
            playout: playout.map(Box::new),
            ..FrameStats::default()
        }
    }

    /// Statistics begin.
    pub fn restart(&mut self, now: Time) {
        let mut playout = self.playout.take();
        if let Some(playout) = &mut playout {
            playout.restart(now);
        }
        *self = FrameStats {
            from: now,
            playout,
            ..FrameStats::default()
        };
    }

    /// A frame is complete.
    pub fn whole(&mut self, frame: CompleteFrame, now: Time) {
        if frame.made >= self.from {
            self.delay.add(now - frame.made);
        }
        if let Some(playout) = &mut self.playout {
            playout.complete(frame, now);
        }
    }

    /// A frame is judged, after all frames created before it.
    pub fn judge(&mut self, (made, now): (Time, Time), bytes: u64, fate: Fate) {
        if let Some(playout) = &mut self.playout {
            playout.made(made, now);
        }
        if made < self.from {
            return;
        }
        self.frames += 1;
        self.bytes += bytes;
        match fate {
            Fate::Shown => {
                self.run = 0;
                return;
            }
            Fate::Failed => self.failed += 1,
            Fate::Skipped => self.skipped += 1,
            Fate::Chained => self.chained += 1,
        }
        self.freezes += u64::from(self.run == 0);
        self.run += 1;
        self.longest = self.longest.max(self.run);
    }

    /// Frames that were not shown.
    pub fn not_shown(&self) -> u64 {
        self.failed + self.skipped + self.chained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freezes_are_runs_of_frames_that_were_not_shown() {
        let mut s = FrameStats::default();
        let complete_frame = |made_ns| CompleteFrame {
            number: 0,
            made: Time(made_ns),
            bytes: 1000,
            needs_previous: false,
        };
        s.judge((Time::ZERO, Time(5)), 1000, Fate::Failed);
        s.restart(Time(5));
        s.judge((Time(4), Time(5)), 1000, Fate::Failed);
        s.whole(complete_frame(4), Time(11));
        let fates = [
            Fate::Shown,
            Fate::Failed,
            Fate::Chained,
            Fate::Skipped,
            Fate::Shown,
            Fate::Failed,
            Fate::Shown,
        ];
        for fate in fates {
            s.judge((Time(5), Time(9)), 1000, fate);
        }
        s.whole(complete_frame(5), Time(12));
        assert_eq!((s.frames, s.bytes, s.not_shown()), (7, 7000, 4));
        assert_eq!((s.failed, s.skipped, s.chained), (2, 1, 1));
        assert_eq!((s.freezes, s.longest, s.delay.count()), (2, 3, 1));
    }
}
