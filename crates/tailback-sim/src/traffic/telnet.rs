//! Telnet: people who type. Packets are sent at their times, whatever the network does with earlier ones; the gaps
//! come from measurements.
//!
//! The gaps are those of originators in tcplib: half of them are below 0.24 s, one in a hundred above 20 s. They are
//! drawn by inversion of 26 quantiles. The interpolation is linear in the gap up to the median, and linear in its
//! logarithm above the median. Their mean is 1.12 s; that of the measured table itself is 1.09 s.
//! `gaps = "exponential"` uses independent gaps of 1 s instead.
//!
//! From: Danzig and Jamin, "tcplib: A library of TCP internetwork traffic characteristics", USC-CS-SYS-91-01, 1991.
//!
//! Over a connection each packet is a write of its size; data that the window does not allow wait in the sender. With
//! `transfers = true` the table of transfers includes that wait.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{Paced, Pacer, Pattern};
use tailback_base::{Key, Kind, Model, Stream, choice, params};

pub static MODEL: Model = Model {
    name: "telnet",
    family: "traffic",
    title: "Telnet",
    summary: "Sends a packet after each gap between keystrokes, as was measured with people at terminals.",
    source: "Danzig and Jamin 1991",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    GAPS: PacketGaps = Key::choice("gaps", "tcplib",
        "What gaps are drawn from: the measured table, of mean 1.12 s, or an exponential law of mean 1 s.",
        "Danzig and Jamin 1991");
    pub TRANSFERS: bool = Key::new("transfers", Kind::Bool, "false",
        "Whether each write over a connection has a row in the table of transfers: when it was written, and when it \
         was delivered.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let source = Paced::new(Telnet { gaps: s.get(&GAPS) }, context);
        Box::new(if s.get(&TRANSFERS) { source.with_rows() } else { source })
    },
    check: anything,
    // About one packet per second.
    offer: |_, packet| Offer::paced(Some(8.0 * packet), packet),
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

/// Shares, and the gap that this share of all gaps does not exceed, seconds.
#[rustfmt::skip]
const QUANTILES: [(f64, f64); 26] = [
    (0.0, 0.00061), (0.01, 0.00117), (0.05, 0.0204), (0.1, 0.068), (0.2, 0.1125), (0.3, 0.1563), (0.4, 0.1938),
    (0.5, 0.2364), (0.6, 0.3029), (0.7, 0.4215), (0.8, 0.7259), (0.85, 0.9929), (0.9, 1.566), (0.92, 2.045),
    (0.94, 2.798), (0.95, 3.488), (0.96, 4.485), (0.97, 5.415), (0.98, 8.391), (0.985, 10.74), (0.99, 20.04),
    (0.995, 36.96), (0.999, 59.86), (0.9995, 89.67), (0.9998, 137.7), (1.0, 209.9),
];

/// The gap that this share of all gaps does not exceed, seconds.
fn quantile(share: f64) -> f64 {
    let above = QUANTILES
        .partition_point(|q| q.0 <= share)
        .clamp(1, QUANTILES.len() - 1);
    let ((p0, x0), (p1, x1)) = (QUANTILES[above - 1], QUANTILES[above]);
    let between = (share - p0) / (p1 - p0);
    if p0 < 0.5 {
        x0 + between * (x1 - x0)
    } else {
        x0 * libm::pow(x1 / x0, between)
    }
}

choice! {
    enum PacketGaps {
        Tcplib = "tcplib",
        Exponential = "exponential",
    }
}

impl PacketGaps {
    /// A draw in nanoseconds.
    fn draw(self, rng: &mut Stream) -> f64 {
        match self {
            PacketGaps::Tcplib => 1e9 * quantile(rng.uniform()),
            PacketGaps::Exponential => rng.exponential(1e9),
        }
    }
}

struct Telnet {
    gaps: PacketGaps,
}

impl Pattern for Telnet {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let gap = self.gaps.draw(net.rng());
        pacer.wait(gap, net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        pacer.send(net);
        self.begin(pacer, net);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_those_of_the_table() {
        for (share, gap) in QUANTILES {
            assert!((quantile(share) - gap).abs() < 1e-9 * gap, "{share}");
        }
        // Shares half way between two quantiles give the mean of the gaps below the median, and the mean of their
        // logarithms above it.
        assert!((quantile(0.45) - (0.1938 + 0.2364) / 2.0).abs() < 1e-9);
        assert!((quantile(0.75) - (0.4215_f64 * 0.7259).sqrt()).abs() < 1e-9);
    }

    /// The mean from the integral of the quantiles, and from draws.
    #[test]
    fn the_mean_gap_is_a_bit_above_a_second() {
        let n = 1_000_000_u32;
        let integral = (0..n)
            .map(|i| quantile((f64::from(i) + 0.5) / f64::from(n)))
            .sum::<f64>()
            / f64::from(n);
        assert!((integral - 1.12).abs() < 0.01, "{integral}");
        let mut rng = Stream::new(1, "telnet");
        let mean = (0..n).map(|_| PacketGaps::Tcplib.draw(&mut rng)).sum::<f64>() / f64::from(n) / 1e9;
        assert!((mean - integral).abs() < 0.03, "{mean}");
    }
}
