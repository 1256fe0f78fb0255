//! The classes of CAKE and the code points of each class, as tables for each scheme.
//!
//! From: Høiland-Jørgensen, Täht and Morton 2018, section III.D; the manual of the Linux discipline, tc-cake(8), for
//! shares and code points of three and four classes; net/sched/sch_cake.c for those of eight classes. There each class
//! has seven eighths of the share and of the weight of the class before it. The weights, which are used without a
//! shaper, are whole numbers in proportion to the shares.

use tailback_base::BitRate;

/// The properties of a class.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// The share of CAKE's rate, as a fraction.
    pub share: (u64, u64),
    /// The weight of a turn, if CAKE does not shape.
    pub weight: i64,
}

impl Class {
    /// The rate at which this class is due, if CAKE has the rate `of`.
    pub fn rate(&self, of: BitRate) -> BitRate {
        let (part, whole) = (u128::from(self.share.0), u128::from(self.share.1));
        let rate = u128::from(of.0) * part / whole;
        BitRate(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }
}

/// The classes in the order of their numbers.
#[derive(Debug)]
pub struct Scheme {
    pub classes: &'static [Class],
    /// The order in which classes that are due are served.
    pub order: &'static [usize],
    /// The class of code points that no other class has.
    pub rest: usize,
    /// The code points of each other class.
    codes: &'static [(usize, &'static [u8])],
}

/// The numbers of the classes in the schemes with three and four classes.
pub const BEST_EFFORT: usize = 0;
const BULK: usize = 1;
const VOICE: usize = 2;
const VIDEO: usize = 3;

const ALL: Class = share(1, 1, 256);
const SIXTEENTH: Class = share(1, 16, 16);
const QUARTER: Class = share(1, 4, 64);
const HALF: Class = share(1, 2, 128);

const fn share(part: u64, whole: u64, weight: i64) -> Class {
    Class {
        share: (part, whole),
        weight,
    }
}

/// The shares of eight classes: powers of seven eighths.
const LADDER: [Class; 8] = {
    let mut classes = [ALL; 8];
    let mut i = 1;
    while i < 8 {
        let ((part, whole), weight) = (classes[i - 1].share, classes[i - 1].weight);
        classes[i] = share(part * 7, whole * 8, weight * 7 / 8);
        i += 1;
    }
    classes
};
const FROM_THE_LAST: &[usize] = &[7, 6, 5, 4, 3, 2, 1, 0];

/// The code points LE and CS1.
const BULK_CODES: &[u8] = &[1, 8];

tailback_base::choice! {
    /// The classes that a scenario can choose.
    pub enum Tins {
        Three = "diffserv3",
        Four = "diffserv4",
        Eight = "diffserv8",
        Precedence = "precedence",
        One = "besteffort",
    }
}

impl Tins {
    pub fn scheme(self) -> &'static Scheme {
        match self {
            Tins::Three => &DIFFSERV3,
            Tins::Four => &DIFFSERV4,
            Tins::Eight => &DIFFSERV8,
            Tins::Precedence => &PRECEDENCE,
            Tins::One => &ONE_CLASS,
        }
    }
}

pub static DIFFSERV3: Scheme = Scheme {
    classes: &[ALL, SIXTEENTH, QUARTER],
    order: &[VOICE, BULK, BEST_EFFORT],
    rest: BEST_EFFORT,
    // The code points are the legacy low-delay bit, VOICE-ADMIT, EF, CS6, CS7.
    codes: &[(BULK, BULK_CODES), (VOICE, &[4, 44, 46, 48, 56])],
};

static DIFFSERV4: Scheme = Scheme {
    classes: &[ALL, SIXTEENTH, QUARTER, HALF],
    order: &[VOICE, VIDEO, BULK, BEST_EFFORT],
    rest: BEST_EFFORT,
    codes: &[
        (BULK, BULK_CODES),
        // The code points are CS4, CS5, VOICE-ADMIT, EF, CS6, CS7.
        (VOICE, &[32, 40, 44, 46, 48, 56]),
        // The code points are the legacy low-delay bit, CS2, AF2x, CS3, AF3x, AF4x.
        (VIDEO, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
    ],
};

/// The classes are background, high throughput, best effort, video, low latency, interactive, least latency, and
/// network control.
static DIFFSERV8: Scheme = Scheme {
    classes: &LADDER,
    order: FROM_THE_LAST,
    rest: 2,
    codes: &[
        // LE.
        (0, &[1]),
        // The legacy high-throughput bit, CS1, AF1x.
        (1, &[2, 8, 10, 12, 14]),
        // CS3, AF3x, AF4x.
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        // The legacy low-delay bit, AF2x.
        (4, &[4, 18, 20, 22]),
        // CS2.
        (5, &[16]),
        // CS4, CS5, VOICE-ADMIT, EF.
        (6, &[32, 40, 44, 46]),
        // CS6, CS7.
        (7, &[48, 56]),
    ],
};

/// The precedence of RFC 791: the first three bits of the code point.
static PRECEDENCE: Scheme = Scheme {
    classes: &LADDER,
    order: FROM_THE_LAST,
    rest: 0,
    codes: &[
        (1, &[8, 9, 10, 11, 12, 13, 14, 15]),
        (2, &[16, 17, 18, 19, 20, 21, 22, 23]),
        (3, &[24, 25, 26, 27, 28, 29, 30, 31]),
        (4, &[32, 33, 34, 35, 36, 37, 38, 39]),
        (5, &[40, 41, 42, 43, 44, 45, 46, 47]),
        (6, &[48, 49, 50, 51, 52, 53, 54, 55]),
        (7, &[56, 57, 58, 59, 60, 61, 62, 63]),
    ],
};

static ONE_CLASS: Scheme = Scheme {
    classes: &[ALL],
    order: &[BEST_EFFORT],
    rest: BEST_EFFORT,
    codes: &[],
};

impl Scheme {
    /// The class of a packet with this code point.
    pub fn class_of(&self, code: u8) -> usize {
        let with_code = self.codes.iter().find(|(_, codes)| codes.contains(&code));
        with_code.map_or(self.rest, |(class, _)| *class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates are powers of seven eighths, of a rate for which they are whole numbers. The weights are rounded down
    /// at each step.
    #[test]
    fn eight_classes_have_seven_eighths_of_the_one_before() {
        let eighths: u64 = 8 << 18;
        let rates = |tins: Tins| -> Vec<u64> {
            let classes = tins.scheme().classes.iter();
            classes.map(|c| c.rate(BitRate(1000 * eighths)).0).collect()
        };
        let powers = [
            2_097_152, 1_835_008, 1_605_632, 1_404_928, 1_229_312, 1_075_648, 941_192, 823_543,
        ];
        assert_eq!(rates(Tins::Eight), powers.map(|p: u64| 1000 * p));
        assert_eq!(rates(Tins::Precedence), rates(Tins::Eight));
        let weights: Vec<i64> = LADDER.iter().map(|c| c.weight).collect();
        assert_eq!(weights, [256, 224, 196, 171, 149, 130, 113, 98]);
        // The shares of the other schemes are those of tc-cake(8): 6.25 %, 25 % and 50 %.
        let tenths = |tins: Tins| -> Vec<u64> {
            let classes = tins.scheme().classes.iter();
            classes.map(|c| c.rate(BitRate(10_000)).0).collect()
        };
        assert_eq!(tenths(Tins::Three), [10_000, 625, 2500]);
        assert_eq!(tenths(Tins::Four), [10_000, 625, 2500, 5000]);
    }

    /// In this table a row stands for a precedence (the first three bits of the code point), and a column for the last
    /// three bits.
    #[test]
    fn code_points_of_eight_classes() {
        let classes = [
            [2, 0, 1, 2, 4, 2, 2, 2],
            [1, 2, 1, 2, 1, 2, 1, 2],
            [5, 2, 4, 2, 4, 2, 4, 2],
            [3, 2, 3, 2, 3, 2, 3, 2],
            [6, 2, 3, 2, 3, 2, 3, 2],
            [6, 2, 2, 2, 6, 2, 6, 2],
            [7, 2, 2, 2, 2, 2, 2, 2],
            [7, 2, 2, 2, 2, 2, 2, 2],
        ];
        for code in 0..64_u8 {
            let (row, column) = (usize::from(code >> 3), usize::from(code & 7));
            assert_eq!(DIFFSERV8.class_of(code), classes[row][column], "{code}");
            assert_eq!(PRECEDENCE.class_of(code), row, "{code}");
        }
    }
}
