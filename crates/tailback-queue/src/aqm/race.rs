//! A small simulation for tests: senders that halve their window at a loss and senders with a constant rate share one
//! line.
//!
//! The senders with a window are a model of TCP in congestion avoidance, without timeouts. An acknowledgement adds
//! 1/window, or 1 in slow start, and a loss halves the window once per round trip. The engine's TCP is tested
//! elsewhere. Here it is enough that flows respond to losses.

use crate::contract::discipline::QueueDiscipline;
use crate::contract::testing::{Bench, TestPacket};
use std::collections::BTreeMap;
use tailback_base::{Duration, Stream, Time};

enum Sender {
    Window {
        rtt: Duration,
        window: f64,
        threshold: f64,
        outstanding: u32,
        reduced: Time,
    },
    Constant(Duration),
}

enum Event {
    /// A packet of this flow is sent and arrives at the same time.
    Arrives(u32),
    LineFree,
    Acked(u32),
    /// The source of this flow is informed that the packet sent at this time was lost.
    Lost(u32, Time),
}

pub struct Race<D> {
    pub bench: Bench<D>,
    senders: Vec<Sender>,
    events: BTreeMap<(Time, u64), Event>,
    made: u64,
    /// The time that a packet takes on the line.
    packet: Duration,
    busy: bool,
    jitter: Stream,
    /// The number of packets sent for each flow.
    pub sent: Vec<u64>,
}

impl<D: QueueDiscipline<TestPacket>> Race<D> {
    /// A race with packets of 500 bytes on a line of 10 Mb/s.
    pub fn new(queue: D) -> Race<D> {
        Race {
            bench: Bench::new(queue),
            senders: vec![],
            events: BTreeMap::new(),
            made: 0,
            packet: Duration(400_000),
            busy: false,
            jitter: Stream::new(1, "race"),
            sent: vec![],
        }
    }

    fn at(&mut self, t: Time, e: Event) {
        self.made += 1;
        self.events.insert((t, self.made), e);
    }

    fn flow(&mut self, s: Sender) -> u32 {
        self.senders.push(s);
        self.sent.push(0);
        let flow = self.senders.len() as u32 - 1;
        self.at(Time::ZERO, Event::Arrives(flow));
        flow
    }

    pub fn tcp(&mut self, rtt_ms: u64) -> u32 {
        self.flow(Sender::Window {
            rtt: Duration::from_millis(rtt_ms),
            window: 2.0,
            threshold: 50.0,
            outstanding: 1,
            reduced: Time::ZERO,
        })
    }

    /// Add a sender with a constant rate, this share of the line.
    pub fn constant(&mut self, share: f64) -> u32 {
        self.flow(Sender::Constant(Duration((self.packet.0 as f64 / share) as u64)))
    }

    pub fn run(&mut self, until: Time) {
        while let Some(((now, _), event)) = self.events.pop_first() {
            if now > until {
                self.at(now, event);
                break;
            }
            self.bench.until(now);
            match event {
                Event::Arrives(flow) => self.arrives(flow, now),
                Event::LineFree => self.busy = false,
                Event::Acked(flow) => self.answers(flow, now, None),
                Event::Lost(flow, sent) => self.answers(flow, now, Some(sent)),
            }
            self.serve(now);
        }
        self.bench.until(until);
    }

    fn arrives(&mut self, flow: u32, now: Time) {
        let dropped_before = self.bench.log.dropped.len();
        let p = TestPacket {
            sequence: now.0,
            ..TestPacket::new(self.made, flow, 500)
        };
        self.bench.arrive(p);
        if let Sender::Constant(gap) = self.senders[flow as usize] {
            self.at(now + gap, Event::Arrives(flow));
        }
        let lost: Vec<TestPacket> = self.bench.log.dropped[dropped_before..].iter().map(|d| d.0).collect();
        for p in lost {
            if let Sender::Window { rtt, .. } = self.senders[p.flow as usize] {
                self.at(now + rtt, Event::Lost(p.flow, Time(p.sequence)));
            }
        }
    }

    fn serve(&mut self, now: Time) {
        if self.busy {
            return;
        }
        if let Some(p) = self.bench.take() {
            self.busy = true;
            self.sent[p.flow as usize] += 1;
            self.at(now + self.packet, Event::LineFree);
            if let Sender::Window { rtt, .. } = self.senders[p.flow as usize] {
                self.at(now + self.packet + rtt, Event::Acked(p.flow));
            }
        }
    }

    /// The sender receives an acknowledgement, or is informed of the loss of a packet that was sent at `lost`.
    fn answers(&mut self, flow: u32, now: Time, lost: Option<Time>) {
        let mut sends = 0;
        if let Sender::Window {
            window,
            threshold,
            outstanding,
            reduced,
            ..
        } = &mut self.senders[flow as usize]
        {
            *outstanding -= 1;
            match lost {
                None if *window < *threshold => *window += 1.0,
                None => *window += 1.0 / *window,
                Some(sent) if sent >= *reduced => {
                    *threshold = (*window / 2.0).max(1.0);
                    (*window, *reduced) = (*threshold, now);
                }
                Some(_) => {}
            }
            sends = (*window as u32).saturating_sub(*outstanding);
            *outstanding += sends;
        }
        for _ in 0..sends {
            let t = now + Duration(self.jitter.below(self.packet.0));
            self.at(t, Event::Arrives(flow));
        }
    }
}
