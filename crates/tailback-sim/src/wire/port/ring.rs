//! A first-in first-out ring that gives its memory back after a burst.
//!
//! State: the slots, the position of the oldest entry, the number of entries. A push or pop costs two comparisons and a
//! copy. Growing and shrinking copy everything. The ring grows by a half when all slots are taken. It shrinks if it is
//! under an eighth of the capacity at the end of a round (the oldest entry is in the first slot again) or, in a long
//! ring, when it is empty. The ring of a private link, which bursts now and then, therefore does not keep the memory of
//! its largest burst, and pays for that at most once a round.

/// Smallest capacity that is kept, entries.
const KEEP: usize = 8;

#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring {
            slots: Box::default(),
            head: 0,
            len: 0,
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// The slot of a position of less than two rounds.
    #[inline]
    fn wrapped(&self, at: usize) -> usize {
        if at < self.slots.len() {
            at
        } else {
            at - self.slots.len()
        }
    }

    #[inline]
    pub fn push(&mut self, x: T) {
        if self.len() == self.slots.len() {
            self.resize((self.len() + self.len() / 2).max(KEEP));
        }
        let at = self.wrapped((self.head + self.len) as usize);
        self.slots[at] = x;
        self.len += 1;
    }

    /// Push two entries, one after the other.
    #[inline]
    pub fn push_two(&mut self, x: T, y: T) {
        if self.len() + 2 > self.slots.len() {
            self.resize((self.len() + self.len() / 2).max(KEEP));
        }
        let index = self.wrapped((self.head + self.len) as usize);
        let next = self.wrapped(index + 1);
        self.slots[index] = x;
        self.slots[next] = y;
        self.len += 2;
    }

    /// The oldest entry, and the content of the slot behind it.
    #[inline]
    pub fn front_two(&self) -> Option<(&T, &T)> {
        if self.len == 0 {
            return None;
        }
        let at = self.head as usize;
        Some((self.slots.get(at)?, self.slots.get(self.wrapped(at + 1))?))
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let x = self.slots[self.head as usize];
        self.skip(1);
        Some(x)
    }

    /// Remove the `n` oldest entries; the ring has at least `n` entries.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        let index = self.head as usize + n;
        let round = index >= self.slots.len();
        self.head = self.wrapped(index) as u32;
        self.len -= n as u32;
        // This is checked once a round and when a long ring runs empty, not at every pop.
        if (round || self.len == 0) && self.slots.len() > KEEP && self.len() < self.slots.len() / 8 {
            self.shrink(round);
        }
    }

    #[cold]
    fn shrink(&mut self, round: bool) {
        if self.slots.len() > 8 * KEEP {
            self.resize((2 * self.len()).max(KEEP));
        } else if round {
            self.resize((self.slots.len() / 2).max(KEEP));
        }
    }

    /// Move the entries to `capacity` slots. The empty slots get default values and not the present entry, so that this
    /// entry can stay in registers.
    #[cold]
    fn resize(&mut self, capacity: usize) {
        let mut slots = Vec::with_capacity(capacity);
        slots.extend(self.iter().copied());
        slots.resize(capacity, T::default());
        self.slots = slots.into_boxed_slice();
        self.head = 0;
    }

    pub fn clear(&mut self) {
        *self = Ring::default();
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            None
        } else {
            self.slots.get(self.head as usize)
        }
    }

    /// The entry `k` places behind the oldest.
    #[inline]
    pub fn peek(&self, k: usize) -> Option<&T> {
        if k < self.len() {
            self.slots.get(self.wrapped(self.head as usize + k))
        } else {
            None
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (begin, end) = (self.head as usize, (self.head + self.len) as usize);
        let second = end.saturating_sub(self.slots.len());
        let end = end.min(self.slots.len());
        self.slots[begin..end].iter().chain(self.slots[..second].iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Compared with the library's deque, under any interleaving.
        #[test]
        fn first_in_first_out(ops in prop::collection::vec(prop::bool::weighted(0.6), 1..600)) {
            let (mut ring, mut model, mut n) = (Ring::default(), VecDeque::new(), 0u32);
            for push in ops {
                if push {
                    ring.push(n);
                    model.push_back(n);
                    n += 1;
                } else {
                    prop_assert_eq!(ring.pop(), model.pop_front());
                }
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.front(), model.front());
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }

    #[test]
    fn a_short_queue_keeps_little() {
        let mut r = Ring::default();
        (0..50).for_each(|i| r.push(i));
        while r.pop().is_some() {}
        assert_eq!(r.slots.len(), 60, "kept for the next burst");
        for i in 0..120 {
            r.push(i);
            r.pop();
        }
        assert_eq!(r.slots.len(), KEEP);
    }

    #[test]
    fn memory_comes_back_after_a_burst() {
        let mut r = Ring::default();
        (0..100_000).for_each(|i| r.push(i));
        while r.pop().is_some() {}
        assert!(r.slots.len() <= 8 * KEEP);
    }
}
