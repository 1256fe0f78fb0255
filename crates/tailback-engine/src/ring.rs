//! A first-in first-out ring that gives its memory back after a burst.

use std::collections::VecDeque;

/// Smallest capacity worth shrinking, entries.
const KEEP: usize = 32;

#[derive(Clone, Debug)]
pub struct Ring<T>(VecDeque<T>);

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring(VecDeque::new())
    }
}

impl<T: Copy> Ring<T> {
    #[inline]
    pub fn push(&mut self, x: T) {
        self.0.push_back(x);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let x = self.0.pop_front();
        let (len, capacity) = (self.0.len(), self.0.capacity());
        if capacity > KEEP && len < capacity / 8 {
            self.0.shrink_to((2 * len).max(KEEP));
        }
        x
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.0.front()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}
