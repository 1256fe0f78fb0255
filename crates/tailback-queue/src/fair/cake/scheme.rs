//! The classes of CAKE, and the code points of each: data, one row for each scheme.
//!
//! From: Høiland-Jørgensen, Täht and Morton 2018, section III.D; the manual of the Linux discipline, tc-cake(8), for
//! shares and code points. Without a shaper the weights are in proportion to the shares.

/// The properties of a class.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// The share of CAKE's rate, as a divisor.
    pub divisor: u64,
    /// Turns if CAKE does not shape.
    pub weight: i64,
}

/// Classes in their own order: best effort is the first.
#[derive(Debug)]
pub struct Scheme {
    pub classes: &'static [Class],
    /// Among the classes that are due, the order of service.
    pub order: &'static [usize],
    /// The code points of each class except best effort, which has all others.
    codes: &'static [(usize, &'static [u8])],
}

pub const BEST_EFFORT: usize = 0;
const BULK: usize = 1;
const VOICE: usize = 2;
const VIDEO: usize = 3;

const ALL: Class = Class { divisor: 1, weight: 16 };
const SIXTEENTH: Class = Class { divisor: 16, weight: 1 };
const QUARTER: Class = Class { divisor: 4, weight: 4 };
const HALF: Class = Class { divisor: 2, weight: 8 };

/// LE and CS1.
const BULK_CODES: &[u8] = &[1, 8];

tailback_base::choice! {
    /// The classes that a scenario can choose.
    pub enum Tins {
        Three = "diffserv3",
        Four = "diffserv4",
        One = "besteffort",
    }
}

impl Tins {
    pub fn scheme(self) -> &'static Scheme {
        match self {
            Tins::Three => &DIFFSERV3,
            Tins::Four => &DIFFSERV4,
            Tins::One => &ONE_CLASS,
        }
    }
}

pub static DIFFSERV3: Scheme = Scheme {
    classes: &[ALL, SIXTEENTH, QUARTER],
    order: &[VOICE, BULK, BEST_EFFORT],
    // The legacy low-delay bit, VOICE-ADMIT, EF, CS6, CS7.
    codes: &[(BULK, BULK_CODES), (VOICE, &[4, 44, 46, 48, 56])],
};

static DIFFSERV4: Scheme = Scheme {
    classes: &[ALL, SIXTEENTH, QUARTER, HALF],
    order: &[VOICE, VIDEO, BULK, BEST_EFFORT],
    codes: &[
        (BULK, BULK_CODES),
        // CS4, CS5, VOICE-ADMIT, EF, CS6, CS7.
        (VOICE, &[32, 40, 44, 46, 48, 56]),
        // The legacy low-delay bit, CS2, AF2x, CS3, AF3x, AF4x.
        (VIDEO, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
    ],
};

static ONE_CLASS: Scheme = Scheme {
    classes: &[ALL],
    order: &[BEST_EFFORT],
    codes: &[],
};

impl Scheme {
    /// The class of a packet with this code point.
    pub fn class_of(&self, code: u8) -> usize {
        let own = self.codes.iter().find(|(_, codes)| codes.contains(&code));
        own.map_or(BEST_EFFORT, |(class, _)| *class)
    }
}
