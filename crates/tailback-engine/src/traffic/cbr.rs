//! Constant bit rate: a packet, then a gap as long as the packet's transmission at the source's rate.
//!
//! With `jitter` each gap varies uniformly by that share; without it nothing is random.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{Paced, Pacer, Pattern, even_gap, own_rate, rate_param};
use crate::kinds::PROBABILITY;
use tailback_base::{BitRate, Model, Param};

pub static MODEL: Model = Model {
    name: "cbr",
    family: "traffic",
    title: "Constant bit rate",
    summary: "A packet every size / rate.",
    source: "",
    params: &[
        rate_param("The rate of each flow."),
        Param::new(
            "jitter",
            PROBABILITY,
            "0",
            "Each gap is multiplied by a number uniform in 1 - jitter to 1 + jitter.",
            "",
        ),
    ],
    probes: &[],
};

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let cbr = Cbr {
            rate: own_rate(s, &context),
            jitter: s.real("jitter"),
        };
        Box::new(Paced::new(cbr, context))
    },
    check: anything,
    offer: |s, packet| Offer::paced(s.number("rate"), packet),
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
