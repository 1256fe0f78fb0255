//! Packets at given instants, for the replay of a capture or of a list of packets.
//!
//! A packet is sent at each instant, whatever the network does with earlier ones. With
//! `packet_size = { kind = "listed", bytes = [...] }` each packet has its own size, in turn. Over a connection each
//! packet is a write of that size.

use super::application::Net;
use super::conflict::Conflict;
use super::entry::{Entry, Facts, Offer, Output};
use super::paced::{Paced, Pacer, Pattern};
use crate::declare::kinds::TIME;
use tailback_base::{Duration, Key, Kind, Model, Settings, Time, params};

pub static MODEL: Model = Model {
    name: "instants",
    family: "traffic",
    title: "Packets at given instants",
    summary: "Sends a packet at each listed instant, such as those of a capture.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    AT: Vec<Duration> = Key::new("at", Kind::List(&TIME), "",
        "When packets are sent, counted from the flow's start, in order.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        Box::new(Paced::new(
            Instants {
                at: s.get(&AT),
                next: 0,
                start: Time::ZERO,
            },
            context,
        ))
    },
    check: in_order,
    // Each flow sends as many packets as it has instants, whatever its rate.
    offer: |s, packet| Offer::Portions {
        bytes: s.get(&AT).len() as f64 * packet,
        pause: f64::INFINITY,
        once: true,
    },
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

fn in_order(s: &Settings) -> Result<(), Conflict> {
    let instants = s.get(&AT);
    let Some(wrong) = instants.windows(2).position(|pair| pair[1] < pair[0]) else {
        return Ok(());
    };
    Err(Conflict {
        param: AT.name,
        value: Some(format!("{}ns", instants[wrong + 1].0)),
        problem: format!("instant {} is earlier than the one before it", wrong + 2),
        remedy: "sort the instants, with their packet sizes",
    })
}

struct Instants {
    at: Vec<Duration>,
    next: usize,
    start: Time,
}

impl Pattern for Instants {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        self.start = net.now();
        self.step(pacer, net);
    }

    /// Send the packets that are due. The first call may come before the first instant.
    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        while let Some(offset) = self.at.get(self.next) {
            let due = self.start + *offset;
            if due > net.now() {
                pacer.wait_until(due, net);
                return;
            }
            pacer.send(net);
            self.next += 1;
        }
    }
}
