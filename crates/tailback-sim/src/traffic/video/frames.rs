//! The frames of one source that are incomplete or not yet judged, as their receiver sees them.

use super::sizes::Sort;
use crate::measure::frames::Fate;
use crate::measure::playout::CompleteFrame;
use std::collections::VecDeque;
use tailback_base::Time;

/// The number of judged frames that are still stored, so that a frame that is completed late still has a delay.
const REMEMBERED: usize = 1000;

/// The largest memory of a source that has made this many frames, bytes. Its ring doubles, and each frame has a list.
pub fn remembered_bytes(made: f64) -> f64 {
    let ring = made.min(2.0 * REMEMBERED as f64) * size_of::<Frame>() as f64;
    ring + made.min(2.0 * REMEMBERED as f64) * 48.0
}

/// A frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The number of the frame in the order of making.
    number: u64,
    pub made: Time,
    pub sort: Sort,
    /// Payload.
    pub bytes: u64,
    /// Its datagrams: the number of the first, and how many there are; no datagrams over a connection.
    first: u64,
    packets: u64,
    /// Packets that have arrived, by number minus `first`.
    arrived: Vec<u64>,
    missing: u64,
    whole: bool,
    skipped: bool,
}

/// The frames of one source, oldest first.
#[derive(Default)]
pub struct Frames {
    /// Whether P frames need the frames before them.
    chain: bool,
    made: u64,
    all: VecDeque<Frame>,
    /// The number of frames, counted from the first, that have been judged.
    judged: usize,
    /// Bytes of a connection that have arrived after the last complete frame.
    beyond: u64,
    /// The number of frames, counted from the first, that are complete or skipped, for a connection.
    read: usize,
    /// A frame that other frames need was not shown.
    broken: bool,
}

impl Frame {
    fn complete(&self, chain: bool) -> CompleteFrame {
        CompleteFrame {
            number: self.number,
            made: self.made,
            bytes: self.bytes,
            needs_previous: chain && self.sort == Sort::P,
        }
    }
}

impl Frames {
    /// With `chain` P frames need the frames before them.
    pub fn new(chain: bool) -> Frames {
        Frames {
            chain,
            ..Frames::default()
        }
    }

    /// A frame is made, to be sent in this number of datagrams starting at a number, or in no datagrams.
    pub fn make(&mut self, made: Time, sort: Sort, bytes: u64, (first, packets): (u64, u64)) {
        self.all.push_back(Frame {
            number: self.made,
            made,
            sort,
            bytes,
            first,
            packets,
            arrived: vec![0; packets.div_ceil(64) as usize],
            missing: packets,
            whole: false,
            skipped: false,
        });
        self.made += 1;
    }

    /// A packet has arrived; returns its frame if that is complete now.
    pub fn packet(&mut self, number: u64) -> Option<CompleteFrame> {
        let after = self.all.partition_point(|f| f.first <= number);
        let frame = self.all.get_mut(after.checked_sub(1)?)?;
        let n = number - frame.first;
        if n >= frame.packets {
            return None;
        }
        let (word, bit) = ((n / 64) as usize, 1 << (n % 64));
        if frame.arrived[word] & bit != 0 {
            return None;
        }
        frame.arrived[word] |= bit;
        frame.missing -= 1;
        frame.whole = frame.missing == 0;
        frame.whole.then(|| frame.complete(self.chain))
    }

    /// Bytes of a connection have arrived; returns the frames that are complete now.
    pub fn bytes(&mut self, bytes: u64) -> Vec<CompleteFrame> {
        self.beyond += bytes;
        let mut complete = vec![];
        while let Some(frame) = self.all.get_mut(self.read) {
            if !frame.skipped {
                if frame.bytes > self.beyond {
                    break;
                }
                self.beyond -= frame.bytes;
                frame.whole = true;
                complete.push(frame.complete(self.chain));
            }
            self.read += 1;
        }
        complete
    }

    /// The oldest frame that is not judged yet.
    pub fn next(&self) -> Option<&Frame> {
        self.all.get(self.judged)
    }

    /// Bytes of the frames after the oldest frame that is not judged.
    pub fn behind_next(&self) -> u64 {
        self.all.iter().skip(self.judged + 1).map(|f| f.bytes).sum()
    }

    /// The sender has taken back the oldest frame that is not judged.
    pub fn skip_next(&mut self) {
        if let Some(frame) = self.all.get_mut(self.judged) {
            frame.skipped = true;
        }
    }

    /// Judge the oldest frame that is not judged, at its deadline.
    pub fn judge(&mut self) -> Option<(Frame, Fate)> {
        let frame = self.all.get(self.judged)?.clone();
        self.broken &= frame.sort == Sort::P;
        let fate = if frame.skipped {
            Fate::Skipped
        } else if !frame.whole {
            Fate::Failed
        } else if self.chain && self.broken {
            Fate::Chained
        } else {
            Fate::Shown
        };
        self.broken |= fate != Fate::Shown;
        self.judged += 1;
        self.forget();
        Some((frame, fate))
    }

    fn forget(&mut self) {
        while self.judged > 0
            && let Some(f) = self.all.front()
            && (self.read > 0 || (f.packets > 0 && (f.whole || self.judged > REMEMBERED)))
        {
            self.all.pop_front();
            self.judged -= 1;
            self.read = self.read.saturating_sub(1);
        }
    }
}
