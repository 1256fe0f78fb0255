//! __Title__: say in one sentence when its packets leave, and what it stands for.
//!
//! From: the paper or the measurement, with its section.

use super::application::Net;
use super::entry::{Entry, Facts, Offer, Output, anything};
use super::paced::{self, Paced, Pacer, Pattern, even_gap};
use tailback_base::{BitRate, Model, params};

pub static MODEL: Model = Model {
    name: "__name__",
    family: "traffic",
    title: "__Title__",
    summary: "A packet, then a gap that is uniform around the time that the packet takes at the rate.",
    source: "the paper or RFC, with its section",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    RATE: Vec<BitRate> = paced::RATE.with_doc("The mean rate of each flow.");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let rate = s.turn(&RATE, context.index);
        Box::new(Paced::new(__Type__ { rate }, context))
    },
    check: anything,
    offer: |s, packet| Offer::paced(s.number(RATE.name), packet),
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

struct __Type__ {
    rate: BitRate,
}

impl Pattern for __Type__ {
    fn begin(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        self.step(pacer, net);
    }

    fn step(&mut self, pacer: &mut Pacer, net: &mut dyn Net) {
        let mean = even_gap(f64::from(pacer.send(net)), self.rate);
        pacer.wait(2.0 * mean * net.rng().uniform(), net);
    }
}

#[cfg(test)]
mod tests {
    use crate::build::hooks::Hooks;
    use crate::run::run;
    use crate::scenario::load_text;

    #[test]
    fn it_sends_at_its_rate() {
        let text = r#"
            duration = "20s"
            link.a = { from = "a", to = "b", rate = "100Mbps", delay = "1ms", queue = "droptail" }
            [flows.x]
            transport = "udp"
            packet_size = "1000B"
            traffic = { kind = "__name__", rate = "8Mbps" }
        "#;
        let loaded = load_text(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let outcome = run(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
        // A thousand packets a second: in 20 s the standard deviation is half a percent.
        let rate = outcome["flows"].reals("goodput_wire_bps").unwrap()[0];
        assert!((rate / 8e6 - 1.0).abs() < 0.02, "{rate}");
    }
}
