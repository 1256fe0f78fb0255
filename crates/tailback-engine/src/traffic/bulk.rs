//! Bulk transfer: a connection that always has data to send.

use super::application::{AppInput, Application, Net, Side};
use super::entry::{Entry, Facts, Output, anything};
use tailback_base::Model;
use tailback_transport::Amount;

pub static MODEL: Model = Model {
    name: "bulk",
    family: "traffic",
    title: "Bulk transfer",
    summary: "Always has data to send.",
    source: "",
    params: &[],
    probes: &[],
};

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |_, _| Box::new(Bulk),
    check: anything,
    facts: Facts {
        output: Output::Stream,
        listens: false,
        own_address: false,
    },
};

struct Bulk;

impl Application for Bulk {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start => net.write(flow, Side::Source, Amount::Unlimited),
            AppInput::Stop => net.close(flow, Side::Source),
            _ => {}
        }
    }
}
