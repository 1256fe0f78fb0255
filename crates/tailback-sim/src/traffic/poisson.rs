//! Poisson arrivals: packets with independent exponential gaps.
//!
//! Gaps do not depend on the size just drawn, so arrivals are Poisson for any sizes. A Poisson process has no packet
//! at its start.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{self, Paced, Pacer, Pattern, even_gap};
use super::superposed::{self, Superposed};
use tailback_base::{BitRate, Model, params};

pub static MODEL: Model = Model {
    name: "poisson",
    family: "traffic",
    title: "Poisson arrivals",
    summary: "Sends packets with independent exponential gaps.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    RATE: Vec<BitRate> = paced::RATE.with_doc("The mean rate of each flow.");
    SUPERPOSED: bool = superposed::SUPERPOSED;
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        if s.get(&SUPERPOSED) {
            return Box::new(Superposed::new(&s.get(&RATE), None, &context));
        }
        let rate = s.turn(&RATE, context.index);
        Box::new(Paced::new(Poisson { rate }, context))
    },
    check: anything,
    offer: |s, packet| Offer::paced(s.number(RATE.name), packet),
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

struct Poisson {
    rate: BitRate,
}

impl Pattern for Poisson {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let mean = even_gap(pacer.mean_size(), self.rate);
        pacer.wait(net.rng().exponential(mean), net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        pacer.send(net);
        self.begin(pacer, net);
    }
}
