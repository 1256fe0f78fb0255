//! Constant bit rate: a packet, then a gap as long as the packet's transmission at the source's rate.
//!
//! With `jitter` each gap varies uniformly by that share; without it nothing is random.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{Paced, Pacer, Pattern, RATE, even_gap};
use crate::declare::kinds::PROBABILITY;
use tailback_base::{BitRate, Key, Model, params};

pub static MODEL: Model = Model {
    name: "cbr",
    family: "traffic",
    title: "Constant bit rate",
    summary: "Sends packets with constant gaps of size / rate.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    RATE;
    JITTER: f64 = Key::new("jitter", PROBABILITY, "0",
        "Each gap is multiplied by a number uniform in 1 - jitter to 1 + jitter.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let cbr = Cbr {
            rate: s.turn(&RATE, context.index),
            jitter: s.get(&JITTER),
        };
        Box::new(Paced::new(cbr, context))
    },
    check: anything,
    offer: |s, packet| Offer::paced(s.number(RATE.name), packet),
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

struct Cbr {
    rate: BitRate,
    jitter: f64,
}

impl Pattern for Cbr {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        self.step(pacer, net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let even = even_gap(f64::from(pacer.send(net)), self.rate);
        let gap = if self.jitter > 0.0 {
            even * (1.0 + self.jitter * (2.0 * net.rng().uniform() - 1.0))
        } else {
            even
        };
        pacer.wait(gap, net);
    }
}
