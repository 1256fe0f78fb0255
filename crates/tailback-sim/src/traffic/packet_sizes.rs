//! The distributions of packet sizes, bytes on the wire: the models of the family `sizes`, and a row for each.

use super::conflict::Conflict;
use crate::declare::kinds::PROBABILITY;
use tailback_base::model::Registered;
use tailback_base::{Key, Kind, Model, Settings, Stream, params};

/// Smallest and largest packet on the wire, bytes.
pub const PACKET_BYTES: (u32, u32) = (1, 65_535);

const PACKET: Kind = Kind::Bytes {
    min: PACKET_BYTES.0 as u64,
    max: PACKET_BYTES.1 as u64,
};

params! {
    pub BYTES: u32 = Key::new("bytes", PACKET, "1500B", "The size.", "");
    MEAN: u32 = Key::new("mean", PACKET, "", "The mean of the law, before cutting.", "");
    MIN: u32 = Key::new("min", PACKET, "40B", "Smaller draws become this.", "");
    MAX: u32 = Key::new("max", PACKET, "65535B", "Larger draws become this.", "");
    SMALL: u32 = Key::new("small", PACKET, "", "The small size.", "");
    LARGE: u32 = Key::new("large", PACKET, "", "The large size.", "");
    SHARE: f64 = Key::new("share", PROBABILITY, "", "The share of large packets, by number.", "");
    EACH_BYTES: Vec<u32> = Key::new(BYTES.param.name, Kind::List(&PACKET), "", "The sizes.", "");
}

/// The sizes of one flow's packets.
pub trait Sizes {
    /// The size of the next packet.
    fn draw(&mut self, rng: &mut Stream) -> u32;
    /// Mean size, bytes; it converts a bit rate into a packet rate.
    fn mean(&self) -> f64;
    /// The smallest size that can be drawn, bytes.
    fn smallest(&self) -> u32;
    /// The largest size that can be drawn, bytes.
    fn largest(&self) -> u32;
}

/// A model of sizes, and how it is made.
pub struct Entry {
    pub model: &'static Model,
    pub build: fn(&Settings) -> Box<dyn Sizes>,
    /// Finds values that contradict each other.
    pub check: fn(&Settings) -> Result<(), Conflict>,
}

impl Registered for Entry {
    const FAMILY: &'static str = "sizes";
    const WHAT: &'static str = "model of packet sizes";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// Every model of sizes, in the order of the reference page.
pub static SIZES: &[&Entry] = &[&FIXED, &EXPONENTIAL, &BIMODAL, &LISTED];

/// `small` must not be more than `large`.
fn in_order(s: &Settings, small: &Key<u32>, large: &Key<u32>) -> Result<(), Conflict> {
    let (a, b) = (s.get(small), s.get(large));
    if a <= b {
        return Ok(());
    }
    Err(Conflict {
        param: small.name,
        value: None,
        problem: format!("{} = {a}B is more than {} = {b}B", small.name, large.name),
        remedy: "swap the two",
    })
}

pub static FIXED: Entry = Entry {
    model: &Model {
        name: "fixed",
        family: "sizes",
        title: "One size",
        summary: "All packets have this size.",
        source: "",
        params: &[BYTES.param],
        probes: &[],
    },
    build: |s| Box::new(Fixed(s.get(&BYTES))),
    check: |_| Ok(()),
};

/// All packets have this size.
pub struct Fixed(pub u32);

impl Sizes for Fixed {
    fn draw(&mut self, _: &mut Stream) -> u32 {
        self.0
    }
    fn mean(&self) -> f64 {
        f64::from(self.0)
    }
    fn smallest(&self) -> u32 {
        self.0
    }
    fn largest(&self) -> u32 {
        self.0
    }
}

pub static EXPONENTIAL: Entry = Entry {
    model: &Model {
        name: "exponential",
        family: "sizes",
        title: "Exponential sizes",
        summary: "Sizes drawn from an exponential distribution, rounded to whole bytes and cut at both ends. A source \
                  has the rate that is given: its gaps are computed from the mean size after the cuts. With a Poisson \
                  source, a line and a drop-tail queue this is the M/M/1 queue.",
        source: "Kleinrock, Queueing Systems, volume 1, 1975, section 3.2 (M/M/1)",
        params: &[MEAN.param, MIN.param, MAX.param],
        probes: &[],
    },
    build: |s| {
        Box::new(Exponential {
            mean: f64::from(s.get(&MEAN)),
            min: s.get(&MIN),
            max: s.get(&MAX),
        })
    },
    check: |s| in_order(s, &MIN, &MAX),
};

/// The sizes are rounded to whole bytes and limited to the range.
struct Exponential {
    mean: f64,
    min: u32,
    max: u32,
}

impl Sizes for Exponential {
    fn draw(&mut self, rng: &mut Stream) -> u32 {
        (libm::round(rng.exponential(self.mean)) as u32).clamp(self.min, self.max)
    }
    /// The mean is min + the sum of P(size >= k) over k above min, for whole bytes after the limits are applied.
    fn mean(&self) -> f64 {
        let (min, max) = (f64::from(self.min), f64::from(self.max));
        let above = |bytes: f64| libm::exp(-bytes / self.mean);
        min + above(min + 0.5) * libm::expm1(-(max - min) / self.mean) / libm::expm1(-1.0 / self.mean)
    }
    fn smallest(&self) -> u32 {
        self.min
    }
    fn largest(&self) -> u32 {
        self.max
    }
}

pub static BIMODAL: Entry = Entry {
    model: &Model {
        name: "bimodal",
        family: "sizes",
        title: "Two sizes",
        summary: "Each packet is large with probability `share`, otherwise small.",
        source: "",
        params: &[SMALL.param, LARGE.param, SHARE.param],
        probes: &[],
    },
    build: |s| {
        Box::new(Bimodal {
            small: s.get(&SMALL),
            large: s.get(&LARGE),
            share: s.get(&SHARE),
        })
    },
    check: |s| in_order(s, &SMALL, &LARGE),
};

struct Bimodal {
    small: u32,
    large: u32,
    share: f64,
}

impl Sizes for Bimodal {
    fn draw(&mut self, rng: &mut Stream) -> u32 {
        if rng.chance(self.share) { self.large } else { self.small }
    }
    fn mean(&self) -> f64 {
        f64::from(self.small) * (1.0 - self.share) + f64::from(self.large) * self.share
    }
    fn smallest(&self) -> u32 {
        self.small
    }
    fn largest(&self) -> u32 {
        self.large
    }
}

pub static LISTED: Entry = Entry {
    model: &Model {
        name: "listed",
        family: "sizes",
        title: "Listed sizes",
        summary: "Sizes taken from a list: packet after packet, in turn.",
        source: "",
        params: &[EACH_BYTES.param],
        probes: &[],
    },
    build: |s| {
        Box::new(ListedSizes {
            sizes: s.get(&EACH_BYTES),
            next: 0,
        })
    },
    check: |_| Ok(()),
};

struct ListedSizes {
    sizes: Vec<u32>,
    next: usize,
}

impl Sizes for ListedSizes {
    fn draw(&mut self, _: &mut Stream) -> u32 {
        let n = self.sizes[self.next % self.sizes.len()];
        self.next += 1;
        n
    }
    fn mean(&self) -> f64 {
        self.sizes.iter().map(|n| f64::from(*n)).sum::<f64>() / self.sizes.len() as f64
    }
    fn smallest(&self) -> u32 {
        self.sizes.iter().copied().min().unwrap_or(PACKET_BYTES.0)
    }
    fn largest(&self) -> u32 {
        self.sizes.iter().copied().max().unwrap_or(PACKET_BYTES.1)
    }
}
