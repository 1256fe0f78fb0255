//! Traffic sources of a scenario: bulk and finite transfers, constant rate, Poisson, on/off.
//!
//! Each is an [`Application`] that feeds the one flow the scenario made for it. Over a connection a source writes bytes;
//! over datagrams it sends packets, whose sizes come from [`Sizes`]. Rates count bytes on the wire. All random choices
//! come from the flow's own stream, so that a change of discipline leaves arrivals as they were.

use crate::traffic::application::{AppInput, Application, Net, Side};
use tailback_base::{BitRate, Duration, Settings, Stream, Time, Value};
use tailback_transport::Amount;

/// Smallest and largest packet on the wire, bytes.
pub const PACKET_BYTES: (u32, u32) = (1, 65_535);

/// Where packet sizes come from, bytes on the wire.
#[derive(Clone, Debug)]
pub enum Sizes {
    Fixed(u32),
    /// Exponential with this mean, rounded to whole bytes and held within the range.
    Exponential {
        mean: f64,
        min: u32,
        max: u32,
    },
    /// `large` with probability `share`, else `small`.
    Bimodal {
        small: u32,
        large: u32,
        share: f64,
    },
    /// In turn.
    Listed {
        sizes: Vec<u32>,
        next: usize,
    },
}

impl Sizes {
    pub fn from_settings(s: &Settings) -> Sizes {
        let bytes = |n: u64| n.clamp(u64::from(PACKET_BYTES.0), u64::from(PACKET_BYTES.1)) as u32;
        match s.model.name {
            "exponential" => Sizes::Exponential {
                mean: s.count("mean") as f64,
                min: bytes(s.count("min")),
                max: bytes(s.count("max")),
            },
            "bimodal" => Sizes::Bimodal {
                small: bytes(s.count("small")),
                large: bytes(s.count("large")),
                share: s.real("share"),
            },
            "listed" => {
                let sizes = s
                    .list("bytes")
                    .iter()
                    .map(|v| if let Value::Count(n) = v { bytes(*n) } else { 1 })
                    .collect();
                Sizes::Listed { sizes, next: 0 }
            }
            _ => Sizes::Fixed(bytes(s.count("bytes"))),
        }
    }

    fn draw(&mut self, rng: &mut Stream) -> u32 {
        match self {
            Sizes::Fixed(n) => *n,
            Sizes::Exponential { mean, min, max } => (libm::round(rng.exponential(*mean)) as u32).clamp(*min, *max),
            Sizes::Bimodal { small, large, share } => {
                if rng.chance(*share) {
                    *large
                } else {
                    *small
                }
            }
            Sizes::Listed { sizes, next } => {
                let n = sizes[*next % sizes.len()];
                *next += 1;
                n
            }
        }
    }

    /// Mean size, bytes: what turns a rate into a rate of packets.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(n) => f64::from(*n),
            Sizes::Exponential { mean, .. } => *mean,
            Sizes::Bimodal { small, large, share } => f64::from(*small) * (1.0 - share) + f64::from(*large) * share,
            Sizes::Listed { sizes, .. } => sizes.iter().map(|n| f64::from(*n)).sum::<f64>() / sizes.len() as f64,
        }
    }
}

/// What a source does over time.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Data without end.
    Bulk,
    /// This many bytes, then close.
    Transfer { bytes: u64 },
    /// One packet after another, gaps sized for `rate`; each gap varies uniformly by +-`jitter` of itself.
    Constant { rate: BitRate, jitter: f64 },
    /// Exponential gaps with the mean that gives `rate`.
    Poisson { rate: BitRate },
    /// Poisson packets to an address that is drawn again after exponential times of mean `hold`.
    Churn { rate: BitRate, hold: Option<Duration> },
    /// `rate` while on, silent while off.
    OnOff {
        rate: BitRate,
        on: Duration,
        off: Duration,
        exponential: bool,
    },
}

/// A source and its state.
pub struct Source {
    pattern: Pattern,
    sizes: Sizes,
    header: u32,
    connection: bool,
    /// Exact time of the next packet, ns: rounding each gap would drift.
    next_ns: f64,
    on_until: Time,
}

impl Source {
    /// `header`: bytes of each datagram that are no payload. `connection`: write bytes instead of sending datagrams.
    pub fn new(pattern: Pattern, sizes: Sizes, header: u32, connection: bool) -> Source {
        Source {
            pattern,
            sizes,
            header,
            connection,
            next_ns: 0.0,
            on_until: Time::NEVER,
        }
    }

    fn emit(&mut self, net: &mut dyn Net) -> u32 {
        let Some(flow) = net.own_flow() else { return 0 };
        let bytes = self.sizes.draw(net.rng());
        if self.connection {
            net.write(flow, Side::Source, Amount::Bytes(u64::from(bytes)));
        } else {
            net.datagram(flow, bytes, self.header.min(bytes));
        }
        bytes
    }

    /// Length of the gap after a packet of `bytes`, ns.
    fn gap(&mut self, bytes: u32, rng: &mut Stream) -> f64 {
        match self.pattern {
            Pattern::Constant { rate, jitter } => {
                let even = f64::from(bytes) * 8e9 / rate.bits_per_second();
                if jitter > 0.0 {
                    even * (1.0 + jitter * (2.0 * rng.uniform() - 1.0))
                } else {
                    even
                }
            }
            // Gaps do not depend on the size just drawn: arrivals are Poisson whatever the sizes.
            Pattern::Poisson { rate } => rng.exponential(self.sizes.mean() * 8e9 / rate.bits_per_second()),
            // Packets and new addresses are one Poisson process; a draw says which each event is.
            Pattern::Churn { .. } => rng.exponential(1.0 / self.churn_rates().iter().sum::<f64>()),
            Pattern::OnOff { rate, .. } => f64::from(bytes) * 8e9 / rate.bits_per_second(),
            Pattern::Bulk | Pattern::Transfer { .. } => f64::INFINITY,
        }
    }

    /// Packets and new addresses per nanosecond.
    fn churn_rates(&self) -> [f64; 2] {
        match self.pattern {
            Pattern::Churn { rate, hold } => [
                rate.bits_per_second() / (self.sizes.mean() * 8e9),
                hold.map_or(0.0, |h| 1.0 / h.0 as f64),
            ],
            _ => [0.0; 2],
        }
    }

    /// The next event of a flow with churn: a new address, or a packet.
    fn churn(&mut self, net: &mut dyn Net) -> u32 {
        let [packets, addresses] = self.churn_rates();
        match net.own_flow() {
            Some(flow) if net.rng().chance(addresses / (packets + addresses)) => {
                let label = net.rng().bits() as u32;
                net.relabel(flow, label);
                0
            }
            _ => self.emit(net),
        }
    }

    fn schedule(&mut self, gap: f64, net: &mut dyn Net) {
        self.next_ns += gap;
        let mut at = Time(self.next_ns as u64);
        if let Pattern::OnOff {
            on, off, exponential, ..
        } = self.pattern
        {
            if at >= self.on_until {
                let mut draw = |mean: Duration| {
                    if exponential {
                        Duration(net.rng().exponential(mean.0 as f64) as u64)
                    } else {
                        mean
                    }
                };
                let start = self.on_until + draw(off);
                self.on_until = start + draw(on).max(Duration(1));
                at = start.max(net.now());
                self.next_ns = at.0 as f64;
            }
        }
        net.wake(at);
    }

    fn begin(&mut self, net: &mut dyn Net) {
        let now = net.now();
        self.next_ns = now.0 as f64;
        let flow = net.own_flow();
        match (&self.pattern, flow) {
            (Pattern::Bulk, Some(f)) => net.write(f, Side::Source, Amount::Unlimited),
            (Pattern::Transfer { bytes }, Some(f)) => {
                net.write(f, Side::Source, Amount::Bytes(*bytes));
                net.close(f, Side::Source);
            }
            // A Poisson process has no packet at its start; the others do.
            (Pattern::Poisson { .. } | Pattern::Churn { .. }, _) => {
                let gap = self.gap(0, net.rng());
                self.schedule(gap, net);
            }
            (Pattern::OnOff { on, exponential, .. }, _) => {
                let length = if *exponential {
                    Duration(net.rng().exponential(on.0 as f64) as u64)
                } else {
                    *on
                };
                self.on_until = now + length.max(Duration(1));
                self.step(net);
            }
            _ => self.step(net),
        }
    }

    fn step(&mut self, net: &mut dyn Net) {
        let bytes = match self.pattern {
            Pattern::Churn { .. } => self.churn(net),
            _ => self.emit(net),
        };
        let gap = self.gap(bytes, net.rng());
        self.schedule(gap, net);
    }

    fn stop(&mut self, net: &mut dyn Net) {
        if let Some(flow) = net.own_flow() {
            if self.connection {
                net.close(flow, Side::Source);
            }
        }
        // No wake follows.
        self.pattern = Pattern::Bulk;
    }
}

impl Application for Source {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start => self.begin(net),
            AppInput::Wake if !matches!(self.pattern, Pattern::Bulk | Pattern::Transfer { .. }) => self.step(net),
            AppInput::Stop => self.stop(net),
            _ => {}
        }
    }
}
