//! Bulk transfer: a connection that always has data to send, in one direction or both.

use super::application::{AppInput, Application, Net, Side};
use super::entry::{Entry, Facts, Offer, Output, anything};
use crate::declare::kinds::TIME;
use tailback_base::{Duration, Key, Model, params};
use tailback_transport::Amount;

pub static MODEL: Model = Model {
    name: "bulk",
    family: "traffic",
    title: "Bulk transfer",
    summary: "Always has data to send.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    pub BACK: Option<Duration> = Key::new("back", TIME, "none",
        "Over a two-way connection: the time after the flow's start from which the destination, too, always has \
         data to send. Default: it has no data to send.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, _| Box::new(Bulk { back: s.get(&BACK) }),
    check: anything,
    offer: |_, _| Offer::Elastic,
    facts: Facts {
        output: Output::Stream,
        listens: false,
        own_address: false,
    },
};

struct Bulk {
    back: Option<Duration>,
}

impl Application for Bulk {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start => {
                net.write(flow, Side::Source, Amount::Unlimited);
                if let Some(after) = self.back {
                    net.wake(net.now() + after);
                }
            }
            AppInput::Wake => net.write(flow, Side::Destination, Amount::Unlimited),
            AppInput::Stop => {
                net.close(flow, Side::Source);
                if self.back.is_some() {
                    net.close(flow, Side::Destination);
                }
            }
            _ => {}
        }
    }

    fn keeps_to_source(&self) -> bool {
        self.back.is_none()
    }
}
