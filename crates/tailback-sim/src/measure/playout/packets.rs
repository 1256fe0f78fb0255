//! Playout of datagrams, such as those of a call.
//!
//! State: the delay of the present talk, two averages (ns), the sending time of the last packet, and two bits for each
//! packet.

use super::{DEVIATIONS, START, WEIGHT, fixed_delay};
use crate::measure::histogram::Histogram;
use crate::measure::numbers::Numbers;
use tailback_base::{Duration, Settings, Time};

/// The rule for the delay of each talk.
#[derive(Clone, Debug)]
struct Adaptive {
    start: f64,
    weight: f64,
    deviations: f64,
    /// The spacing of packets, ns.
    mean: f64,
    deviation: f64,
    /// A longer pause between packets is a silence.
    pause: Duration,
    /// The sending time of the last packet of the present talk.
    sent: Option<Time>,
}

/// The playout of one flow of datagrams.
#[derive(Clone, Debug)]
pub struct PacketPlayout {
    adaptive: Option<Adaptive>,
    /// The time from sending to playing.
    delay: Duration,
    /// The time for which a packet is filled before it is sent. If it is known, the flow is a call.
    filling: Option<Duration>,
    /// Packets that came too late, by number minus the first that counts.
    late: Numbers,
    /// Delays of the packets that were played.
    played: Histogram,
}

impl PacketPlayout {
    /// `filling` is how long a packet of a call is filled.
    pub fn new(s: &Settings, filling: Option<Duration>) -> PacketPlayout {
        let fixed = fixed_delay(s);
        let adaptive = fixed.is_none().then(|| Adaptive {
            start: s.get(&START).0 as f64,
            weight: s.get(&WEIGHT),
            deviations: s.get(&DEVIATIONS),
            mean: 0.0,
            deviation: 0.0,
            pause: Duration(filling.unwrap_or_default().0 * 3 / 2),
            sent: None,
        });
        PacketPlayout {
            adaptive,
            delay: fixed.unwrap_or_default(),
            filling,
            late: Numbers::default(),
            played: Histogram::default(),
        }
    }

    /// Statistics begin; the receiver keeps its averages.
    pub fn restart(&mut self) {
        (self.late, self.played) = (Numbers::default(), Histogram::default());
    }

    /// The first copy of a packet has arrived.
    pub fn arrived(&mut self, number: u64, sent: Time, took: Duration) {
        if let Some(a) = &mut self.adaptive {
            self.delay = a.arrived(self.delay, sent, took.0 as f64);
        }
        if took > self.delay {
            self.late.add(number);
        } else {
            self.played.add(self.delay);
        }
    }

    pub fn is_late(&self, number: u64) -> bool {
        self.late.has(number)
    }

    /// The time from sending to playing, for played packets.
    pub fn played(&self) -> &Histogram {
        &self.played
    }

    /// The time for which a packet is filled; `None` if the flow is no call.
    pub fn filling(&self) -> Option<Duration> {
        self.filling
    }
}

impl Adaptive {
    /// The playout delay of this packet, if that of the talk before was `delay`.
    fn arrived(&mut self, delay: Duration, sent: Time, took: f64) -> Duration {
        let delay = match self.sent {
            None => {
                (self.mean, self.deviation) = (took, self.start / self.deviations.max(1e-9));
                Duration((took + self.start) as u64)
            }
            Some(last) if sent > last + self.pause => Duration((self.mean + self.deviations * self.deviation) as u64),
            Some(_) => delay,
        };
        self.sent = self.sent.max(Some(sent));
        self.mean = self.weight * self.mean + (1.0 - self.weight) * took;
        self.deviation = self.weight * self.deviation + (1.0 - self.weight) * (self.mean - took).abs();
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ADAPTIVE, FIXED};
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn with_a_fixed_delay_what_takes_longer_is_late() {
        let mut p = PacketPlayout::new(&Settings::defaults(&FIXED).with("delay", "60ms"), Some(ms(20)));
        for (n, took) in [59, 60, 61].into_iter().enumerate() {
            p.arrived(n as u64, Time(n as u64), ms(took));
        }
        assert_eq!([0, 1, 2].map(|n| p.is_late(n)), [false, false, true]);
        assert!(p.played().count() == 2 && (p.played().max() - 0.06).abs() < 1e-12);
        p.restart();
        assert!(!p.is_late(2) && p.played().count() == 0);
    }

    /// Talks of 50 packets with silences of a second. Delays alternate between 30 and 50 ms: the mean goes to 40 ms and
    /// the deviation to 10 ms, so that the delay goes to 40 + 4 10 = 80 ms; it is constant within a talk.
    #[test]
    fn the_delay_changes_between_talks() {
        let s = Settings::defaults(&ADAPTIVE).with("weight", "0.98");
        let mut p = PacketPlayout::new(&s, Some(ms(20)));
        let mut delays = vec![];
        for n in 0..1000u64 {
            let sent = Time(ms(20 * n + 1000 * (n / 50)).0);
            p.arrived(n, sent, ms(30 + 20 * (n % 2)));
            delays.push(p.delay);
        }
        assert!(delays.chunks(50).all(|talk| talk.iter().all(|d| *d == talk[0])));
        // 60 ms after the first packet, which took 30.
        assert_eq!(delays[0], ms(90));
        assert!(
            (delays[999].seconds() - 0.080).abs() < 0.001,
            "{}",
            delays[999].seconds()
        );
        assert!((0..1000).all(|n| !p.is_late(n)));
    }

    /// A step of the delay makes a talk late, and the delays of the next talks follow.
    #[test]
    fn a_longer_way_is_late_until_the_next_talks() {
        let s = Settings::defaults(&ADAPTIVE)
            .with("weight", "0.98")
            .with("start", "20ms");
        let mut p = PacketPlayout::new(&s, Some(ms(20)));
        for n in 0..500u64 {
            let sent = Time(ms(20 * n + 1000 * (n / 50)).0);
            p.arrived(n, sent, ms(if n < 50 { 30 } else { 100 }));
        }
        assert!((50..100).all(|n| p.is_late(n)) && (100..500).all(|n| !p.is_late(n)));
    }
}
