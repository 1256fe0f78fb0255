//! A histogram of times with quantiles accurate to 3 %.
//!
//! The bins are log-linear: each power of two is divided into 32 equal bins (as in HdrHistogram). Only the range that
//! occurs is stored, so a flow whose delays lie within one power of two takes a few dozen counters.

use tailback_base::Duration;

const BITS: u32 = 5;
const SUB: u64 = 1 << BITS;
/// Times are counted in units of 2^7 ns; shorter times fall into the first bins, which are 128 ns wide.
const UNIT: u32 = 7;

/// The number of bins that are added at once: an eighth of a power of two.
const BLOCK: usize = 4;

/// Counts of times, with an exact sum and maximum. No count is lost in the longest possible run, because the overflow
/// of a word is carried.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    first: u32,
    /// The number of times that `sum_ns` has wrapped.
    carried: u32,
    bins: Vec<u32>,
    count: u64,
    sum_ns: u64,
    max_ns: u64,
    /// The bins that have wrapped, one entry for each time. The box takes one word, a vector would take three.
    #[expect(clippy::box_collection)]
    wrapped: Option<Box<Vec<u32>>>,
}

#[inline]
fn bin_of(ns: u64) -> u32 {
    let v = ns >> UNIT;
    if v < SUB {
        return v as u32;
    }
    let octave = 63 - v.leading_zeros() - BITS;
    (octave + 1) * SUB as u32 + ((v >> octave) - SUB) as u32
}

/// Lower edge of a bin, ns.
fn edge(bin: u32) -> f64 {
    let (octave, sub) = (u64::from(bin) / SUB, u64::from(bin) % SUB);
    let v = if octave == 0 {
        sub as f64
    } else {
        (SUB + sub) as f64 * libm::exp2((octave - 1) as f64)
    };
    v * f64::from(1u32 << UNIT)
}

impl Histogram {
    #[inline]
    pub fn add(&mut self, d: Duration) {
        self.count += 1;
        let (sum, wraps) = self.sum_ns.overflowing_add(d.0);
        (self.sum_ns, self.carried) = (sum, self.carried + u32::from(wraps));
        self.max_ns = self.max_ns.max(d.0);
        let bin = bin_of(d.0);
        let i = bin.wrapping_sub(self.first) as usize;
        match self.bins.get_mut(i) {
            Some(c) => {
                *c = c.wrapping_add(1);
                if *c == 0 {
                    self.wrap(bin);
                }
            }
            None => self.grow(bin),
        }
    }

    /// Add this number of times of zero length.
    pub fn add_nothing(&mut self, times: u64) {
        if times == 0 {
            return;
        }
        self.count += times;
        let room = self.room(0);
        let sum = u64::from(*room) + times;
        *room = sum as u32;
        for _ in 0..sum >> 32 {
            self.wrap(0);
        }
    }

    #[cold]
    fn wrap(&mut self, bin: u32) {
        self.wrapped.get_or_insert_default().push(bin);
    }

    fn sum(&self) -> f64 {
        self.sum_ns as f64 + f64::from(self.carried) * 2f64.powi(64)
    }

    /// The number of times in the i-th stored bin.
    fn in_bin(&self, i: usize) -> f64 {
        let wrapped = self.wrapped.iter().flat_map(|w| w.iter());
        let wraps = wrapped.filter(|bin| **bin == self.first + i as u32).count();
        f64::from(self.bins[i]) + wraps as f64 * 2f64.powi(32)
    }

    #[cold]
    fn grow(&mut self, bin: u32) {
        if self.bins.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            let added = ((self.first - bin) as usize)
                .next_multiple_of(BLOCK)
                .min(self.first as usize);
            let bin = self.first - added as u32;
            self.bins.splice(0..0, std::iter::repeat_n(0, added));
            self.first = bin;
        }
        let i = (bin - self.first) as usize;
        if i >= self.bins.len() {
            let bins = (i + 1).next_multiple_of(BLOCK);
            self.bins.reserve_exact(bins - self.bins.len());
            self.bins.resize(bins, 0);
        }
        self.bins[i] += 1;
    }

    /// The count of a bin; the bin is stored from now on.
    fn room(&mut self, bin: u32) -> &mut u32 {
        if self.bins.get(bin.wrapping_sub(self.first) as usize).is_none() {
            self.grow(bin);
            self.bins[(bin - self.first) as usize] -= 1;
        }
        &mut self.bins[(bin - self.first) as usize]
    }

    /// Add all counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (i, &count) in other.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let bin = other.first + i as u32;
            let stored = self.room(bin);
            let (sum, wraps) = stored.overflowing_add(count);
            *stored = sum;
            if wraps {
                self.wrap(bin);
            }
        }
        for bin in other.wrapped.iter().flat_map(|w| w.iter()) {
            self.room(*bin);
            self.wrap(*bin);
        }
        let (sum, wraps) = self.sum_ns.overflowing_add(other.sum_ns);
        (self.sum_ns, self.carried) = (sum, self.carried + other.carried + u32::from(wraps));
        self.count += other.count;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn clear(&mut self) {
        *self = Histogram::default();
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Seconds; NaN if nothing was counted.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.sum() * 1e-9 / self.count as f64
        }
    }

    /// The mean with this number of times of zero length in addition, seconds.
    pub fn mean_beside(&self, times: u64) -> f64 {
        self.sum() * 1e-9 / (self.count + times) as f64
    }

    /// Seconds; NaN if nothing was counted.
    pub fn max(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.max_ns as f64 * 1e-9
        }
    }

    /// The q-quantile (0..=1), seconds, interpolated inside its bin; NaN if nothing was counted.
    pub fn quantile(&self, q: f64) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        let rank = q * self.count as f64;
        let mut counted_below = 0.0;
        for i in 0..self.bins.len() {
            let c = self.in_bin(i);
            if c > 0.0 && counted_below + c >= rank {
                let bin = self.first + i as u32;
                let ns = edge(bin) + (edge(bin + 1) - edge(bin)) * ((rank - counted_below) / c);
                return ns.min(self.max_ns as f64) * 1e-9;
            }
            counted_below += c;
        }
        self.max()
    }

    /// The bins that have counts, in order: lower edge and upper edge in seconds, and the number of times between them.
    pub fn filled(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let bins = (0..self.bins.len()).map(|i| (self.first + i as u32, self.in_bin(i) as u64));
        let filled = bins.filter(|(_, count)| *count > 0);
        filled.map(|(bin, count)| (edge(bin) * 1e-9, edge(bin + 1) * 1e-9, count))
    }

    /// Used memory, bytes.
    pub fn memory(&self) -> usize {
        self.bins.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_three_percent() {
        let mut h = Histogram::default();
        for i in (1..=100_000u64).rev() {
            h.add(Duration(i * 1_000));
        }
        for q in [0.05, 0.5, 0.95, 0.99] {
            let x = h.quantile(q);
            assert!((x / (q * 0.1) - 1.0).abs() < 0.03, "{q}: {x}");
        }
        assert_eq!(h.max(), 0.1);
        assert!((h.mean() - 0.0500005).abs() < 1e-9);
    }

    #[test]
    fn times_of_no_length_are_counted_together() {
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        for ns in [300, 5_000_000, 70] {
            a.add(Duration(ns));
            b.add(Duration(ns));
        }
        let mean = a.mean_beside(1000);
        a.add_nothing(1000);
        (0..1000).for_each(|_| b.add(Duration::ZERO));
        assert_eq!((a.mean(), mean, a.max()), (b.mean(), b.mean(), b.max()));
        assert!(a.filled().eq(b.filled()) && a.quantile(0.999) == b.quantile(0.999));
        a.add_nothing(1 << 33);
        assert_eq!(a.filled().next().map(|f| f.2), Some(1001 + (1 << 33)));
    }

    #[test]
    fn what_is_merged_is_counted_as_if_at_once() {
        let times = |from: u64| (from..from + 1000).map(|i| Duration(i * i * 77));
        let (mut a, mut b, mut merged) = (Histogram::default(), Histogram::default(), Histogram::default());
        times(5000).for_each(|d| a.add(d));
        times(10).for_each(|d| b.add(d));
        times(5000).chain(times(10)).for_each(|d| merged.add(d));
        a.merge(&b);
        a.merge(&Histogram::default());
        assert_eq!(
            (a.count, a.sum_ns, a.max_ns),
            (merged.count, merged.sum_ns, merged.max_ns)
        );
        for q in [0.0, 0.01, 0.3, 0.5, 0.7, 1.0] {
            assert_eq!(a.quantile(q), merged.quantile(q));
        }
    }

    #[test]
    fn what_wraps_is_carried() {
        let mut h = Histogram::default();
        h.add(Duration(1_000_000));
        h.add(Duration(9_000_000));
        // The state after 2^32 more of the first time, each with its share of the sum.
        let mut long = h.clone();
        let bin = bin_of(1_000_000);
        long.bins[(bin - long.first) as usize] = u32::MAX;
        long.count += u64::from(u32::MAX) - 1;
        long.sum_ns = u64::MAX - 400_000;
        long.add(Duration(1_000_000));
        assert_eq!((long.carried, long.sum_ns), (1, 599_999));
        assert!((long.mean() - (2f64.powi(64) + 6e5) * 1e-9 / (2f64.powi(32) + 1.0)).abs() < 1e-3);
        assert!((long.quantile(0.5) / 0.001 - 1.0).abs() < 0.03);
        assert_eq!(long.max_ns, 9_000_000);
    }

    #[test]
    fn filled_bins_hold_every_time_once() {
        let mut h = Histogram::default();
        assert_eq!(h.filled().count(), 0);
        let times = [0, 100, 130, 1_000_000, 1_000_001, 77_000_000];
        times.iter().for_each(|t| h.add(Duration(*t)));
        let bins: Vec<_> = h.filled().collect();
        assert_eq!(bins.iter().map(|b| b.2).sum::<u64>(), 6);
        assert_eq!(bins.iter().map(|b| b.2).collect::<Vec<_>>(), [2, 1, 2, 1]);
        for t in times {
            let s = t as f64 * 1e-9;
            assert_eq!(bins.iter().filter(|b| b.0 <= s && s < b.1).count(), 1, "{t}");
        }
        assert!(bins.iter().all(|b| b.1 / b.0.max(1e-6) < 1.04));
    }

    #[test]
    fn bins_follow_each_other_without_gap() {
        let mut last_bin = 0;
        for ns in 0..200_000 {
            let b = bin_of(ns);
            assert!(b == last_bin || b == last_bin + 1, "{ns}");
            assert!(edge(b) <= ns as f64 && (ns as f64) < edge(b + 1));
            last_bin = b;
        }
    }
}
