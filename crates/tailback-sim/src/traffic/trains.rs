//! Packet trains: trains arrive as a Poisson process, and the packets of one train come at the same instant.
//!
//! Traffic of local networks comes in trains rather than packet by packet: a block of a file, a frame of video. The
//! number of packets in a train is geometric, so every packet has the same probability of being followed by another
//! one of its train.
//!
//! From: Jain and Routhier, "Packet trains: measurements and a new model for computer network traffic", 1986, without
//! gaps between the cars; queueing theory calls this batch arrivals.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{self, Paced, Pacer, Pattern, even_gap};
use tailback_base::work::counted_as;
use tailback_base::{BitRate, Key, Kind, Model, Stream, params};

pub static MODEL: Model = Model {
    name: "trains",
    family: "traffic",
    title: "Packet trains",
    summary: "Sends trains of packets with independent exponential gaps; all packets of a train leave at once.",
    source: "Jain and Routhier 1986",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    RATE: Vec<BitRate> = paced::RATE.with_doc("The mean rate of each flow.");
    MEAN_TRAIN: f64 = Key::new("mean_train", Kind::Real { min: 1.0, max: 1e5 }, "10",
        "The mean number of packets in a train, which has a geometric distribution; 1 is Poisson arrivals.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let trains = Trains {
            rate: s.turn(&RATE, context.index),
            mean_train: s.get(&MEAN_TRAIN),
        };
        Box::new(Paced::new(trains, context))
    },
    check: anything,
    offer: |s, packet| Offer::Paced {
        rate: s.number(RATE.name).unwrap_or(f64::INFINITY),
        at_once: s.get(&MEAN_TRAIN) * packet,
        packet,
    },
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

struct Trains {
    rate: BitRate,
    mean_train: f64,
}

impl Trains {
    /// Geometric on 1, 2, ...: the whole part of an exponential of the right mean, plus one.
    fn cars(&self, rng: &mut Stream) -> u64 {
        if self.mean_train <= 1.0 {
            return 1;
        }
        let follows = 1.0 - 1.0 / self.mean_train;
        1 + rng.exponential(-1.0 / libm::log(follows)) as u64
    }
}

impl Pattern for Trains {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let mean = even_gap(pacer.mean_size() * self.mean_train, self.rate);
        pacer.wait(net.rng().exponential(mean), net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        for _ in counted_as(32, 0..self.cars(net.rng())) {
            pacer.send(net);
        }
        self.begin(pacer, net);
    }
}
