//! Data that the application wrote and the source has not sent yet.
//!
//! Each write stays separate, so a packet never holds parts of two writes. A keystroke of 40 bytes is therefore a
//! packet of 40 bytes. A write longer than a packet is cut into several packets. The state is one number for each
//! waiting write, and the sum of these numbers.

use crate::endpoint::Amount;
use std::collections::VecDeque;

/// The number that stands for a write without end.
const ENDLESS: u64 = u64::MAX;

#[derive(Default)]
pub struct Backlog {
    /// Bytes left of each write, oldest first.
    writes: VecDeque<u64>,
    /// Bytes left of all writes, except a write without end.
    bytes: u64,
}

impl Backlog {
    pub fn write(&mut self, n: Amount) {
        match n {
            Amount::Bytes(0) => {}
            Amount::Bytes(n) => {
                self.writes.push_back(n);
                self.bytes += n;
            }
            Amount::Unlimited => self.writes.push_back(ENDLESS),
        }
    }

    /// The number of writes that wait, in part or whole.
    pub fn writes(&self) -> usize {
        self.writes.len()
    }

    /// Bytes that wait, except those of a write without end.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the next packet belongs to a write without end.
    pub fn is_endless(&self) -> bool {
        self.writes.front() == Some(&ENDLESS)
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Whether at least two packets of at most `most` bytes wait.
    pub fn has_two(&self, most: u32) -> bool {
        self.writes.len() > 1 || self.writes.front().is_some_and(|n| *n > u64::from(most))
    }

    /// Take the next packet. Returns its size in bytes.
    pub fn take(&mut self, most: u32) -> Option<u32> {
        let bytes_left = self.writes.front_mut()?;
        let n = (*bytes_left).min(u64::from(most));
        if *bytes_left != ENDLESS {
            *bytes_left -= n;
            self.bytes -= n;
            if *bytes_left == 0 {
                self.writes.pop_front();
            }
        }
        Some(n as u32)
    }

    /// Drop the write without end. Writes of a given length stay.
    pub fn end(&mut self) {
        self.writes.retain(|n| *n != ENDLESS);
    }

    pub fn clear(&mut self) {
        self.writes.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_never_holds_parts_of_two_writes() {
        let mut b = Backlog::default();
        for n in [40, 0, 40, 2500] {
            b.write(Amount::Bytes(n));
        }
        assert!(b.has_two(1000));
        assert_eq!(b.bytes(), 2580);
        let taken: Vec<u32> = std::iter::from_fn(|| b.take(1000)).collect();
        assert_eq!((taken, b.bytes()), (vec![40, 40, 1000, 1000, 500], 0));
        b.write(Amount::Unlimited);
        assert!(b.has_two(1000) && b.take(1000) == Some(1000) && b.bytes() == 0);
        b.end();
        assert!(b.is_empty());
    }
}
