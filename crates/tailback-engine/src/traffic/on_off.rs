//! On-off source: packets at a constant rate during on-times, nothing during off-times; both lengths are drawn, or
//! constant.
//!
//! It begins with an on-time. A packet that would be sent after the end of an on-time is sent at the start of the
//! next.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{Paced, Pacer, Pattern, even_gap, own_rate, rate_param};
use crate::kinds::SOME_TIME;
use tailback_base::{BitRate, Duration, Kind, Model, Param, Stream, Time};

pub static MODEL: Model = Model {
    name: "on-off",
    family: "traffic",
    title: "On-off source",
    summary: "Sends at a constant rate while on, nothing while off.",
    source: "",
    params: &[
        rate_param("The rate of each flow while on."),
        Param::new("mean_on", SOME_TIME, "", "The mean length of a time on.", ""),
        Param::new("mean_off", SOME_TIME, "", "The mean length of a time off.", ""),
        Param::new(
            "distribution",
            Kind::Choice(&["constant", "exponential"]),
            "exponential",
            "How the lengths are distributed.",
            "",
        ),
    ],
    probes: &[],
};

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let on_off = OnOff {
            rate: own_rate(s, &context),
            on: s.time("mean_on"),
            off: s.time("mean_off"),
            exponential: s.text("distribution") == "exponential",
            on_until: Time::NEVER,
        };
        Box::new(Paced::new(on_off, context))
    },
    check: anything,
    offer: |s, packet| {
        let number = |name: &str| s.number(name).unwrap_or(0.0);
        let (rate, on, off) = (number("rate"), number("mean_on"), number("mean_off"));
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
    exponential: bool,
    on_until: Time,
}

impl OnOff {
    fn length(&self, mean: Duration, rng: &mut Stream) -> Duration {
        if self.exponential {
            Duration(rng.exponential(mean.0 as f64) as u64)
        } else {
            mean
        }
    }
}

impl Pattern for OnOff {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        self.on_until = net.now() + self.length(self.on, net.rng()).max(Duration(1));
        self.step(pacer, net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let bytes = pacer.send(net);
        let at = pacer.after(even_gap(f64::from(bytes), self.rate));
        if at < self.on_until {
            return net.wake(at);
        }
        let start = self.on_until + self.length(self.off, net.rng());
        self.on_until = start + self.length(self.on, net.rng()).max(Duration(1));
        pacer.wait_until(start.max(net.now()), net);
    }
}
