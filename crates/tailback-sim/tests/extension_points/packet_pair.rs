//! A sender that probes with pairs: two packets back to back are pulled apart by the slowest line on the way, and the
//! spacing of their acknowledgements tells its rate (Keshav 1991).
//!
//! Shows: an endpoint of a user's own, paced with `Transmit::NotBefore`, and a receiver that acknowledges each packet.

use crate::common::*;
use tailback_base::{BitRate, Duration, Time};
use tailback_sim::build::network::{Direction, Network, Transport};
use tailback_transport::{Amount, AppEvents, Endpoint, Flags, Segment, Transmit};

/// Sends a pair every `period`; keeps (time of the second ACK, rate in bit/s).
struct PairSender {
    period: Duration,
    packets: u64,
    sent: u64,
    pair_at: Time,
    first_ack: Option<(u64, Time)>,
    estimates: Log<(Time, f64)>,
}

impl Endpoint for PairSender {
    fn write(&mut self, n: Amount, now: Time) {
        if let Amount::Bytes(n) = n {
            (self.packets, self.pair_at) = (n / 1000, now);
        }
    }
    fn close(&mut self, _now: Time) {}
    fn on_segment(&mut self, s: &Segment, now: Time, _up: &mut dyn AppEvents) {
        match self.first_ack.take() {
            Some((seq, at)) if s.ack == seq + 1 && s.ack % 2 == 1 => {
                self.estimates.borrow_mut().push((now, 8000.0 / (now - at).seconds()));
            }
            _ => self.first_ack = Some((s.ack, now)),
        }
    }
    fn poll_transmit(&mut self, now: Time) -> Transmit {
        if self.sent == self.packets {
            return Transmit::Idle;
        }
        if now < self.pair_at {
            return Transmit::NotBefore(self.pair_at);
        }
        self.sent += 1;
        if self.sent.is_multiple_of(2) {
            self.pair_at = now + self.period;
        }
        Transmit::Segment(segment(self.sent - 1, 1000))
    }
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {}
}

/// Acknowledges every packet by its number.
#[derive(Default)]
struct Echo(Option<u64>);

impl Endpoint for Echo {
    fn write(&mut self, _n: Amount, _now: Time) {}
    fn close(&mut self, _now: Time) {}
    fn on_segment(&mut self, s: &Segment, _now: Time, _up: &mut dyn AppEvents) {
        self.0 = Some(s.seq);
    }
    fn poll_transmit(&mut self, _now: Time) -> Transmit {
        let Some(ack) = self.0.take() else {
            return Transmit::Idle;
        };
        Transmit::Segment(Segment {
            ack,
            flags: Flags::ACK,
            payload: 0,
            bytes: 40,
            ..segment(0, 0)
        })
    }
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {}
}

#[test]
fn the_spacing_of_the_acknowledgements_is_the_rate_of_the_bottleneck() {
    let estimates = log();
    let sender = PairSender {
        period: ms(50),
        packets: 0,
        sent: 0,
        pair_at: Time::ZERO,
        first_ack: None,
        estimates: estimates.clone(),
    };
    let mut net = Network::new(1);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n));
    for (name, from, to, rate) in [("ab", a, b, 50), ("bc", b, c, 10), ("cd", c, d, 40)] {
        net.link(
            name,
            from,
            to,
            Direction::new(mbps(rate), ms(5)),
            Direction::new(mbps(rate), ms(5)),
        );
    }
    // From two seconds on, somebody else's packets of 500 B fall between some pairs at the bottleneck.
    let group = net.group("pairs");
    let flow = net.flow(
        group,
        0,
        a,
        d,
        Transport::Connection([Box::new(sender), Box::<Echo>::default()]),
    );
    net.feed(flow, Box::new(Transfer(Amount::Bytes(200_000))), at(100), None, false);
    let other = net.group("other");
    let cross = net.flow(other, 0, b, d, DATAGRAMS);
    net.feed(
        cross,
        Box::new(Script::regular(at(2000), ms(1), 3000, 500)),
        Time::ZERO,
        None,
        false,
    );
    let mut built = build(net);
    built.sim.run_until(at(10_000));

    let estimates = estimates.borrow();
    assert_eq!(estimates.len(), 100);
    // Both packets of 1000 B: 160 us on ab, 800 us on bc, 200 us on cd; 40 B back: 8, 32 and 6.4 us; 30 ms of wire.
    let first = at(100) + Duration(160_000 + 800_000 + 800_000 + 200_000 + 8_000 + 32_000 + 6_400) + ms(30);
    assert_eq!(estimates[0].0, first);
    for (when, rate) in estimates.iter().take_while(|e| e.0 < at(2000)) {
        assert!((rate - 10e6).abs() < 1e-3, "{when:?}: {rate}");
    }
    // The cross traffic (4 Mb/s) can only pull a pair further apart, by its 400 us, or queue ahead of both.
    assert!(estimates.iter().all(|e| e.1 < 10e6 + 1.0));
    assert!(BitRate(10_000_000).time_of(1000) == Duration(800_000));
    check_conservation(&built);
}
