//! A growing set of small numbers with fast access to its lowest and its highest number.
//!
//! The set is stored in words of 64 bits. Above these there are levels of summary words, whose bits say which words of
//! the level below are not zero, up to a single word. Three levels cover 262,144 numbers. Setting or clearing a number
//! and finding the lowest or the highest number scan one word per level. The set grows to the largest number in it.
//!
//! Schedulers of operating systems also use bitmaps with summary words.

/// A set of `u32`.
#[derive(Clone, Debug, Default)]
pub struct BitTree {
    /// `levels[0]` contains the numbers; the last level is one word. The vector is empty until the first number is set.
    levels: Vec<Vec<u64>>,
}

impl BitTree {
    /// Add a number.
    pub fn set(&mut self, n: u32) {
        let mut i = n as usize;
        if self.levels.first().is_none_or(|l| l.len() <= i / 64) {
            self.grow(i / 64 + 1);
        }
        for level in &mut self.levels {
            let word = &mut level[i / 64];
            let was = *word;
            *word |= 1 << (i % 64);
            if was != 0 {
                return;
            }
            i /= 64;
        }
    }

    /// Remove a number. No effect if it is not in the set.
    pub fn clear(&mut self, n: u32) {
        let mut i = n as usize;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(i / 64) else { return };
            *word &= !(1 << (i % 64));
            if *word != 0 {
                return;
            }
            i /= 64;
        }
    }

    pub fn lowest(&self) -> Option<u32> {
        self.descend(|word| word.trailing_zeros())
    }

    pub fn highest(&self) -> Option<u32> {
        self.descend(|word| 63 - word.leading_zeros())
    }

    fn descend(&self, choose: impl Fn(u64) -> u32) -> Option<u32> {
        if *self.levels.last()?.first()? == 0 {
            return None;
        }
        Some(
            self.levels
                .iter()
                .rev()
                .fold(0, |i, level| i * 64 + choose(level[i as usize])),
        )
    }

    /// Make room for this number of words at the lowest level by doubling the size, and build the summary words again.
    fn grow(&mut self, words: usize) {
        let mut numbers = self.levels.drain(..).next().unwrap_or_default();
        numbers.resize(words.next_power_of_two(), 0);
        self.levels.push(numbers);
        while let Some(lower_level) = self.levels.last().filter(|l| l.len() > 1) {
            let bits = |chunk: &[u64]| {
                chunk
                    .iter()
                    .rev()
                    .fold(0, |bits, word| bits << 1 | u64::from(*word != 0))
            };
            let above = lower_level.chunks(64).map(bits).collect();
            self.levels.push(above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), prop_oneof![0u32..200, 0u32..300_000]), 0..300)) {
            let mut tree = BitTree::default();
            let mut naive = BTreeSet::new();
            for (add, n) in steps {
                if add {
                    tree.set(n);
                    naive.insert(n);
                } else {
                    // In most cases, clear a number that is in the set.
                    let n = naive.range(n..).next().copied().unwrap_or(n);
                    tree.clear(n);
                    naive.remove(&n);
                }
                prop_assert_eq!(tree.lowest(), naive.first().copied());
                prop_assert_eq!(tree.highest(), naive.last().copied());
            }
        }
    }
}
