//! Named random streams and the samplers the models use.
//!
//! Every component draws from its own stream, seeded by the run's seed and the component's name. If one discipline is
//! changed, every arrival process therefore stays the same (common random numbers), and a new component does not change
//! the others. The generator is PCG-64 (O'Neill 2014). The samplers are written here, so that results do not change
//! when a library changes its algorithm. They use `libm`, so that every machine gives the same bits.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// A named stream of random numbers: 16 bytes of state, a few instructions per draw.
///
/// ```
/// use tailback_base::Stream;
///
/// let mut drops = Stream::new(1, "link.bottleneck");
/// let first = drops.uniform();
/// assert!((0.0..1.0).contains(&first));
/// // The same seed and name give the same numbers; another name gives others.
/// assert_eq!(Stream::new(1, "link.bottleneck").uniform(), first);
/// assert_ne!(Stream::new(1, "flows.bulk").uniform(), first);
/// ```
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

/// The seed of a run and the beginning of a component's name. The name is hashed part by part, so that the million
/// flows of a group need no strings.
///
/// ```
/// use tailback_base::{Named, Stream};
///
/// let mut seventh = Named::new(1).text("flows.bulk.").number(7).stream();
/// assert_eq!(seventh.bits(), Stream::new(1, "flows.bulk.7").bits());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Named {
    seed: u64,
    hash: u64,
}

impl Named {
    /// An empty name.
    pub fn new(seed: u64) -> Named {
        let hash = 0xcbf2_9ce4_8422_2325;
        Named { seed, hash }
    }

    /// Append this to the name.
    #[must_use]
    pub fn text(self, part: &str) -> Named {
        part.bytes().fold(self, Named::byte)
    }

    /// Append this number, in decimal, to the name.
    #[must_use]
    pub fn number(self, n: u32) -> Named {
        digits(n).fold(self, Named::byte)
    }

    /// Add a byte to the hash (FNV-1a).
    fn byte(self, b: u8) -> Named {
        let hash = (self.hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        Named { hash, ..self }
    }

    /// The stream of the component with this name. SplitMix64 spreads seed and name over the 128-bit state.
    pub fn stream(self) -> Stream {
        let mut x = self.seed ^ self.hash.rotate_left(32);
        let hi = split_mix(&mut x);
        x ^= self.hash;
        let lo = split_mix(&mut x);
        Stream(Pcg64Mcg::new((u128::from(hi) << 64) | u128::from(lo)))
    }
}

impl Stream {
    /// The stream of the component called `name` in the run with this `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        Named::new(seed).text(name).stream()
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`; draws nothing if the result is certain (`p` <= 0 or >= 1).
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.uniform() < p)
    }

    /// Uniform in 0..n (Lemire's multiply-shift with rejection); 0 when n is 0 or 1.
    pub fn below(&mut self, n: u64) -> u64 {
        if n <= 1 {
            return 0;
        }
        let reject_under = n.wrapping_neg() % n;
        loop {
            let m = u128::from(self.bits()) * u128::from(n);
            if m as u64 >= reject_under {
                return (m >> 64) as u64;
            }
        }
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller 1958). The second number of the pair is not kept,
    /// so that a draw always takes two uniforms.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// Exponential with this mean, in the mean's unit.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
}

/// The decimal digits of a number.
pub fn digits(n: u32) -> impl Iterator<Item = u8> {
    let mut unit = 1;
    while n / unit > 9 {
        unit *= 10;
    }
    std::iter::from_fn(move || {
        let digit = n.checked_div(unit)? % 10;
        unit /= 10;
        Some(b'0' + digit as u8)
    })
}

/// A number from which each bit of `x` is equally likely to change each bit: one step of SplitMix64 (Steele, Lea and
/// Flood 2014).
pub fn mixed(mut x: u64) -> u64 {
    split_mix(&mut x)
}

fn split_mix(x: &mut u64) -> u64 {
    *x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *x;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let draw = |seed, name| Stream::new(seed, name).bits();
        assert_eq!(draw(1, "link.a"), draw(1, "link.a"));
        assert_ne!(draw(1, "link.a"), draw(1, "link.b"));
        assert_ne!(draw(1, "link.a"), draw(2, "link.a"));
    }

    #[test]
    fn a_name_may_be_said_in_parts() {
        for n in [0, 7, 10, 305, u32::MAX] {
            let mut parts = Named::new(3).text("flows.a.").number(n).text(".address").stream();
            let mut whole = Stream::new(3, &format!("flows.a.{n}.address"));
            assert_eq!(parts.bits(), whole.bits());
        }
    }

    #[test]
    fn samplers_have_their_means() {
        let mut s = Stream::new(7, "test");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || s.uniform()) - 0.5).abs() < 0.005);
        let mut s = Stream::new(7, "test");
        assert!((mean(&mut || s.exponential(3.0)) - 3.0).abs() < 0.05);
        let mut s = Stream::new(7, "test");
        assert!((mean(&mut || s.below(11) as f64) - 5.0).abs() < 0.05);
    }

    #[test]
    fn certainty_draws_nothing() {
        let mut a = Stream::new(1, "x");
        let mut b = Stream::new(1, "x");
        assert!(!a.chance(0.0) && a.chance(1.0));
        assert_eq!(a.bits(), b.bits());
    }
}
