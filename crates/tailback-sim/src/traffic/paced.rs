//! The common part of sources that send packet after packet: a size drawn for each packet, a datagram or a write for
//! it, and a wake when the gap after it is over.
//!
//! Rates count bytes on the wire. All random choices come from the flow's own stream, so a change of discipline does
//! not change arrivals.

use super::application::{AppInput, Application, Net, Part, Side, TransferId};
use super::entry::Context;
use super::packet_sizes::Sizes;
use crate::declare::kinds;
use std::collections::VecDeque;
use tailback_base::{BitRate, Key, Kind, Per, Time};
use tailback_transport::{Amount, AppEvent};

/// The parameter that every such source has; most sources describe it in their own words.
pub const RATE: Key<Vec<BitRate>> = Key::new(
    "rate",
    Kind::Each(Per::Flow, &kinds::RATE),
    "",
    "The rate of each flow.",
    "",
);

/// The pattern of one kind of source: when its packets are sent.
pub trait Pattern {
    /// The flow starts.
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net);
    /// The wake has come.
    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net);
}

/// A source of packets: the application of its flow.
pub struct Paced<P> {
    pattern: P,
    pacer: Pacer,
}

/// Sends packets and keeps the time.
pub struct Pacer {
    sizes: Box<dyn Sizes>,
    header: u32,
    connection: bool,
    /// Exact time of the next packet, ns, because rounded gaps would make the source drift.
    next_ns: f64,
    stopped: bool,
    /// Writes that have rows in the table of transfers and have not fully arrived, with the missing bytes of each.
    rows: Option<VecDeque<(TransferId, u64)>>,
}

impl<P: Pattern> Paced<P> {
    pub fn new(pattern: P, context: Context) -> Paced<P> {
        Paced {
            pattern,
            pacer: Pacer {
                sizes: (context.sizes)(),
                header: context.header,
                connection: context.connection,
                next_ns: 0.0,
                stopped: false,
                rows: None,
            },
        }
    }

    /// Over a connection, each write is a transfer, which lasts from the write to the delivery of its last byte.
    pub fn with_rows(mut self) -> Paced<P> {
        self.pacer.rows = self.pacer.connection.then(VecDeque::new);
        self
    }
}

impl<P: Pattern> Application for Paced<P> {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start if !self.pacer.stopped => {
                self.pacer.next_ns = net.now().0 as f64;
                self.pattern.begin(&mut self.pacer, net);
            }
            AppInput::Wake if !self.pacer.stopped => self.pattern.step(&mut self.pacer, net),
            AppInput::Stop => self.pacer.stop(net),
            AppInput::Transport {
                side: Side::Destination,
                event: AppEvent::Delivered(bytes),
                ..
            } => self.pacer.arrived(bytes, net),
            _ => {}
        }
    }

    fn listens(&self) -> bool {
        self.pacer.rows.is_some()
    }

    fn keeps_to_source(&self) -> bool {
        true
    }
}

impl Pacer {
    /// Send one packet now; returns its size.
    pub fn send(&mut self, net: &mut dyn Net) -> u32 {
        let Some(flow) = net.own_flow() else { return 0 };
        let bytes = self.sizes.draw(net.rng());
        if let Some(rows) = &mut self.rows {
            let id = net.ask(u64::from(bytes));
            rows.push_back((id, u64::from(bytes)));
            net.send(id, flow, Side::Source, u64::from(bytes), Part::Data);
        } else if self.connection {
            net.write(flow, Side::Source, Amount::Bytes(u64::from(bytes)));
        } else {
            net.datagram(flow, bytes, self.header.min(bytes));
        }
        bytes
    }

    /// Bytes have been delivered, in the order they were written.
    fn arrived(&mut self, mut bytes: u64, net: &mut dyn Net) {
        let Some(rows) = &mut self.rows else { return };
        while let Some((id, missing)) = rows.front_mut().filter(|_| bytes > 0) {
            let part = bytes.min(*missing);
            net.arrived(*id, part);
            *missing -= part;
            bytes -= part;
            if *missing == 0 {
                rows.pop_front();
            }
        }
    }

    /// Mean size of a packet, bytes.
    pub fn mean_size(&self) -> f64 {
        self.sizes.mean()
    }

    /// Wake after `gap` nanoseconds, counted from the exact time of the last packet.
    pub fn wait(&mut self, gap: f64, net: &mut dyn Net) {
        let at = self.after(gap);
        net.wake(at);
    }

    /// The time at which such a gap is over.
    pub fn after(&mut self, gap: f64) -> Time {
        self.next_ns += gap;
        Time(self.next_ns as u64)
    }

    /// Wake at this instant instead.
    pub fn wait_until(&mut self, at: Time, net: &mut dyn Net) {
        self.next_ns = at.0 as f64;
        net.wake(at);
    }

    fn stop(&mut self, net: &mut dyn Net) {
        if self.connection
            && let Some(flow) = net.own_flow()
        {
            net.close(flow, Side::Source);
        }
        self.stopped = true;
    }
}

/// The time that a packet takes at a rate, ns.
pub fn even_gap(bytes: f64, rate: BitRate) -> f64 {
    bytes * 8e9 / rate.bits_per_second()
}
