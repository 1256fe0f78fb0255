//! A transfer of a given size: this number of bytes over the flow's connection, which is then closed. It has a row in
//! the table of transfers.

use super::application::{AppInput, Application, Net, Part, Side, TransferId};
use super::entry::{Entry, Facts, Offer, Output, anything};
use tailback_base::{Key, Kind, Model, Per, params};
use tailback_transport::AppEvent;

pub static MODEL: Model = Model {
    name: "transfer",
    family: "traffic",
    title: "Transfer of a given size",
    summary: "Sends `size` bytes, then closes.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    SIZE: Vec<u64> = Key::new("size", Kind::Each(Per::Flow, &Kind::Bytes { min: 1, max: 1 << 50 }), "",
        "How many bytes each flow sends.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let bytes = s.turn(&SIZE, context.index);
        Box::new(Transfer { bytes, id: None })
    },
    check: anything,
    offer: |s, _| Offer::Portions {
        bytes: s.number(SIZE.name).unwrap_or(f64::INFINITY),
        pause: 0.0,
        once: true,
    },
    facts: Facts {
        output: Output::Stream,
        listens: true,
        own_address: false,
    },
};

struct Transfer {
    bytes: u64,
    id: Option<TransferId>,
}

impl Application for Transfer {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start => {
                let id = net.ask(self.bytes);
                self.id = Some(id);
                net.send(id, flow, Side::Source, self.bytes, Part::Data);
                net.close(flow, Side::Source);
            }
            AppInput::Transport {
                side: Side::Destination,
                event: AppEvent::Delivered(bytes),
                ..
            } => {
                if let Some(id) = self.id {
                    net.arrived(id, bytes);
                }
            }
            AppInput::Stop => net.close(flow, Side::Source),
            _ => {}
        }
    }
}
