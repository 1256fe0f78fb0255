//! On-off source: packets at a constant rate during on-times, nothing during off-times; both lengths are drawn, or
//! constant.
//!
//! The source begins with an on-time. A packet that would be sent after the end of an on-time is sent at the start of
//! the next.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::laws::Distribution;
use super::paced::{self, Paced, Pacer, Pattern, even_gap};
use crate::declare::kinds::SOME_TIME;
use tailback_base::{BitRate, Duration, Key, Model, Param, Time, params};

pub static MODEL: Model = Model {
    name: "on-off",
    family: "traffic",
    title: "On-off source",
    summary: "Sends at a constant rate while on, nothing while off.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    RATE: Vec<BitRate> = paced::RATE.with_doc("The rate of each flow while on.");
    MEAN_ON: Duration = Key::new("mean_on", SOME_TIME, "", "The mean length of an on period.", "");
    MEAN_OFF: Duration = Key::new("mean_off", SOME_TIME, "", "The mean length of an off period.", "");
    DISTRIBUTION: Distribution = Key::choice("distribution", "exponential", "How the lengths are distributed.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let on_off = OnOff {
            rate: s.turn(&RATE, context.index),
            on: s.get(&MEAN_ON),
            off: s.get(&MEAN_OFF),
            distribution: s.get(&DISTRIBUTION),
            on_until: Time::NEVER,
        };
        Box::new(Paced::new(on_off, context))
    },
    check: anything,
    offer: |s, packet| {
        let number = |param: &Param| s.number(param.name).unwrap_or(0.0);
        let (rate, on, off) = (number(&RATE), number(&MEAN_ON), number(&MEAN_OFF));
        // Each on-time begins with a packet, however short it is.
        let cycle = (on + off).max(1e-9);
        Offer::Paced {
            rate: (rate * on + 8.0 * packet) / cycle,
            at_once: rate / 8.0 * on + packet,
            packet,
        }
    },
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

struct OnOff {
    rate: BitRate,
    on: Duration,
    off: Duration,
    distribution: Distribution,
    on_until: Time,
}

impl Pattern for OnOff {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        self.on_until = net.now() + self.distribution.draw(self.on, net.rng()).max(Duration(1));
        self.step(pacer, net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let bytes = pacer.send(net);
        let next_send = pacer.after(even_gap(f64::from(bytes), self.rate));
        if next_send < self.on_until {
            return net.wake(next_send);
        }
        let start = self.on_until + self.distribution.draw(self.off, net.rng());
        self.on_until = start + self.distribution.draw(self.on, net.rng()).max(Duration(1));
        pacer.wait_until(start.max(net.now()), net);
    }
}
