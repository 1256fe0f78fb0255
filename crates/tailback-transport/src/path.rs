//! The data about its path that an endpoint gets when it is made.
//!
//! Modern endpoints measure their path. The sources of the REAL simulator, however, start from the round trip of an
//! empty path, and a rate control needs the rate of its host's own line.

use smallvec::SmallVec;
use tailback_base::{BitRate, Duration};

/// The lines of one direction.
#[derive(Clone, Debug, Default)]
pub struct OneWay {
    /// Rates of the lines, in order of travel.
    pub lines: SmallVec<[BitRate; 4]>,
    /// The total propagation delay of the lines.
    pub delay: Duration,
}

/// The path of a flow: the direction of its data, and the direction of its acknowledgements.
#[derive(Clone, Debug, Default)]
pub struct Path {
    pub there: OneWay,
    pub back: OneWay,
}

impl OneWay {
    /// Time from the first bit sent to the last bit received when all queues are empty.
    pub fn transit(&self, bytes: u32) -> Duration {
        let line = |r: &BitRate| Duration::from_seconds(f64::from(bytes) * 8.0 / r.bits_per_second());
        self.lines.iter().map(line).fold(self.delay, |sum, d| sum + d)
    }
}

impl Path {
    /// The round trip of a packet and its acknowledgement when all queues are empty.
    pub fn round_trip(&self, packet: u32, ack: u32) -> Duration {
        self.there.transit(packet) + self.back.transit(ack)
    }

    /// The rate of the first line, bit/s; infinite if there is no line.
    pub fn first_line(&self) -> f64 {
        self.there.lines.first().map_or(f64::INFINITY, |r| r.bits_per_second())
    }

    /// The rate of the fastest line in the direction of the data, bit/s; infinite if there is no line.
    pub fn fastest_line(&self) -> f64 {
        let rates = self.there.lines.iter().map(|r| r.bits_per_second());
        rates.reduce(f64::max).unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_path_takes_transmission_and_propagation() {
        let rates: SmallVec<[BitRate; 4]> = SmallVec::from_slice(&[BitRate(800_000), BitRate(80_000)]);
        let way = OneWay {
            lines: rates,
            delay: Duration::from_millis(2000),
        };
        let path = Path {
            there: way.clone(),
            back: way,
        };
        // 0.01 + 0.1 + 2 s for the data, 0.0004 + 0.004 + 2 s for the acknowledgement.
        assert_eq!(path.round_trip(1000, 40), Duration::from_micros(4_114_400));
        assert_eq!((path.first_line(), path.fastest_line()), (800e3, 800e3));
        assert_eq!(Path::default().round_trip(1000, 40), Duration::ZERO);
    }
}
