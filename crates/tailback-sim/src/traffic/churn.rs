//! Poisson arrivals with changing addresses: each flow sends to a random destination label and draws a new one after
//! exponential times. One flow therefore ends and another begins, while the number of sources is constant.
//!
//! The model is that of Kantawala and Turner, WUCSE-2005-11, chapter 5. Packets and address changes form one Poisson
//! process whose rate is the sum of both rates; a draw decides the type of each event.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{self, Paced, Pacer, Pattern};
use super::superposed::{self, Superposed};
use crate::declare::kinds::LONGEST_SECONDS;
use tailback_base::{BitRate, Duration, Key, Kind, Model, params};

pub static MODEL: Model = Model {
    name: "churn",
    family: "traffic",
    title: "Poisson arrivals with changing addresses",
    summary: "Sends packets with independent exponential gaps. Each flow has its own address: a random label. Queues \
              that hash by label use it as the destination. With `mean_hold` a new address is drawn after each such \
              time, so one flow ends and another begins.",
    source: "Kantawala and Turner, WUCSE-2005-11, chapter 5",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    RATE: Vec<BitRate> = paced::RATE.with_doc("The mean rate of each flow.");
    pub MEAN_HOLD: Option<Duration> = Key::new("mean_hold", Kind::Time { min: 1e-6, max: LONGEST_SECONDS }, "none",
        "Mean of the exponential time for which an address is kept. Default: the whole run.",
        "thesis chapter 5: 0.5 to 5 s");
    SUPERPOSED: bool = superposed::SUPERPOSED;
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        if s.get(&SUPERPOSED) {
            return Box::new(Superposed::new(&s.get(&RATE), s.get(&MEAN_HOLD), &context));
        }
        let churn = Churn {
            rate: s.turn(&RATE, context.index),
            hold: s.get(&MEAN_HOLD),
        };
        Box::new(Paced::new(churn, context))
    },
    check: anything,
    offer: |s, packet| Offer::paced(s.number(RATE.name), packet),
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: true,
    },
};

struct Churn {
    rate: BitRate,
    /// Mean time an address is kept.
    hold: Option<Duration>,
}

impl Churn {
    /// Packets and new addresses per nanosecond.
    fn rates(&self, pacer: &Pacer) -> [f64; 2] {
        [
            self.rate.bits_per_second() / (pacer.mean_size() * 8e9),
            self.hold.map_or(0.0, |h| 1.0 / h.0 as f64),
        ]
    }
}

impl Pattern for Churn {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let mean = 1.0 / self.rates(pacer).iter().sum::<f64>();
        pacer.wait(net.rng().exponential(mean), net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let [packets, addresses] = self.rates(pacer);
        match net.own_flow() {
            Some(flow) if net.rng().chance(addresses / (packets + addresses)) => {
                let label = net.rng().bits() as u32;
                net.relabel(flow, label);
            }
            _ => {
                pacer.send(net);
            }
        }
        self.begin(pacer, net);
    }
}
