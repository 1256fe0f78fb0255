//! Sets of sequence numbers, a bit for each.

/// A set of sequence numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(Vec<u64>);

impl Numbers {
    /// Add a number; returns whether it is new.
    pub fn add(&mut self, n: u64) -> bool {
        let (word, bit) = ((n / 64) as usize, 1 << (n % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    pub fn has(&self, n: u64) -> bool {
        self.0.get((n / 64) as usize).is_some_and(|w| w >> (n % 64) & 1 == 1)
    }
}
