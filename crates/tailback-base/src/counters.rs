//! Counters: numbers that only grow, declared once with their sum and their difference.
//!
//! A struct of counters is written with [`counters!`](macro@crate::counters); a new counter is one more field. Sums add
//! up the counts of several things; differences of two totals give the counts between two instants.
//!
//! ```
//! use tailback_base::counters::Counter;
//!
//! tailback_base::counters! {
//!     /// What a line has sent.
//!     #[derive(Clone, Debug, Default, PartialEq)]
//!     pub struct Sent {
//!         pub packets: u64,
//!         pub seconds: f64,
//!     }
//! }
//! let before = Sent { packets: 3, seconds: 0.5 };
//! let after = Sent { packets: 10, seconds: 2.0 };
//! assert_eq!(after.since(&before), Sent { packets: 7, seconds: 1.5 });
//! let mut both = before;
//! both.add(&after);
//! assert_eq!(both.packets, 13);
//! ```

use crate::time::Duration;

/// Something that adds up counts.
pub trait Counter {
    /// Add the counts of another one.
    fn add(&mut self, other: &Self);
    /// The counts since an earlier total.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;
}

impl Counter for u64 {
    fn add(&mut self, other: &u64) {
        *self += other;
    }
    fn since(&self, earlier: &u64) -> u64 {
        self - earlier
    }
}

impl Counter for f64 {
    fn add(&mut self, other: &f64) {
        *self += other;
    }
    fn since(&self, earlier: &f64) -> f64 {
        self - earlier
    }
}

impl Counter for Duration {
    fn add(&mut self, other: &Duration) {
        *self += *other;
    }
    fn since(&self, earlier: &Duration) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// Counters that only few things have.
impl<T: Counter + Clone + Default> Counter for Option<Box<T>> {
    fn add(&mut self, other: &Self) {
        if let Some(other) = other {
            self.get_or_insert_default().add(other);
        }
    }
    fn since(&self, earlier: &Self) -> Self {
        let now = self.as_deref()?;
        Some(Box::new(match earlier {
            Some(earlier) => now.since(earlier),
            None => now.clone(),
        }))
    }
}

/// The least and the greatest value so far. A difference keeps those of the whole time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extremes {
    pub least: f64,
    pub greatest: f64,
}

impl Default for Extremes {
    fn default() -> Extremes {
        Extremes {
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
        }
    }
}

impl Extremes {
    pub fn note(&mut self, value: f64) {
        self.add(&Extremes {
            least: value,
            greatest: value,
        });
    }
}

impl Counter for Extremes {
    fn add(&mut self, other: &Extremes) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }
    fn since(&self, _: &Extremes) -> Extremes {
        *self
    }
}

/// A struct all of whose fields are [`Counter`]s.
#[macro_export]
macro_rules! counters {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident { $($(#[$about:meta])* $field_vis:vis $field:ident: $type:ty),+ $(,)? }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$about])* $field_vis $field: $type),+
        }

        impl $crate::counters::Counter for $name {
            #[inline]
            fn add(&mut self, other: &Self) {
                $($crate::counters::Counter::add(&mut self.$field, &other.$field);)+
            }
            #[inline]
            fn since(&self, earlier: &Self) -> Self {
                $name { $($field: $crate::counters::Counter::since(&self.$field, &earlier.$field)),+ }
            }
        }
    };
}
