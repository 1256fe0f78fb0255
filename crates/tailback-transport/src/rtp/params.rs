//! The declaration of `rtp` with all its parameters and probes.

use super::Config;
use super::control::{RateController, Terms};
use crate::entry::Connection;
use crate::segment::MOST_HEADER;
use std::sync::Arc;
use tailback_base::model::{self, Key, Kind, Model, Param, ProbeDef, Settings, Value};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Ecn, choice, params};

pub static MODEL: Model = Model {
    name: "rtp",
    family: "transport",
    title: "Media over RTP with a rate control",
    summary: "Media over datagrams. The receiver reports the arrival of each packet. A rate control sets the \
              encoder's rate, how fast packets leave, and how much is in flight. Lost packets are not sent again.",
    source: "RFC 3550; RFC 8888",
    params: PARAMS,
    probes: &[TARGET, PACING, RTT, WAITING, LOST],
};

choice! {
    /// The ECN code point of data packets.
    pub enum CodePoint {
        Off = "off",
        Ect0 = "ect0",
        Ect1 = "ect1",
    }
}

impl CodePoint {
    pub fn code_point(self) -> Ecn {
        match self {
            CodePoint::Off => Ecn::NotEct,
            CodePoint::Ect0 => Ecn::Ect0,
            CodePoint::Ect1 => Ecn::Ect1,
        }
    }
}

const RATE: Kind = Kind::Rate { min: 1000.0, max: 1e12 };

params! {
    const PARAMS;

    CONTROL = Param::new("control", Kind::Model("rate-control"), "nada", "The rate control, which sets the rate.", "");
    PAYLOAD: u32 = Key::new("payload", Kind::Bytes { min: 1, max: 65_000 }, "1200B",
        "Payload of a full packet. A frame is cut into such packets; no packet has parts of two frames.", "");
    HEADER: u32 = Key::new("header", Kind::Bytes { min: 0, max: MOST_HEADER as u64 }, "40B",
        "How many bytes a data packet has on the wire beside its payload: IP, UDP and RTP.", "RFC 3550: 20 + 8 + 12 B");
    pub ECN: CodePoint = Key::choice("ecn", "off",
        "The ECN code point of data packets. With ect1, L4S queues mark them from a short queue on.",
        "RFC 3168; RFC 9331");
    MIN_RATE: BitRate = Key::new("min_rate", RATE, "150kbps", "The least rate on the wire.", "RFC 8698 section 4.2");
    START_RATE: BitRate = Key::new("start_rate", RATE, "300kbps", "The rate on the wire before the first report.", "");
    MAX_RATE: BitRate = Key::new("max_rate", RATE, "2500kbps",
        "The largest rate on the wire. NADA keeps a queue in proportion to it.", "");
}

const fn probe(name: &'static str, unit: &'static str, doc: &'static str) -> ProbeDef {
    ProbeDef {
        name,
        unit,
        doc,
        per: "",
    }
}

const TARGET: ProbeDef = probe("target", "bit/s", "target rate of the encoder, counted on the wire");
const PACING: ProbeDef = probe("pacing", "bit/s", "rate at which the pacer sends while packets wait");
const RTT: ProbeDef = probe(
    "rtt",
    "s",
    "round trip of the last reported packet, without the wait for the report",
);
const WAITING: ProbeDef = probe("waiting", "bytes", "payload that waits in the pacer");
const LOST: ProbeDef = probe("lost", "packets", "total number of packets reported as lost");

/// The probes of the source. The probes of its rate control follow after these.
pub const SOURCE_PROBES: &[ProbeDef] = &[TARGET, PACING, RTT, WAITING, LOST];

/// The parameters that these settings describe.
///
/// # Errors
/// The rates contradict each other, or the rate control is not in the list.
pub fn config(s: &Settings, controllers: &model::Registry<&'static RateController>) -> Result<Config, Refusal> {
    let (controller, settings) = match s.value(CONTROL.name) {
        Value::Model(m) => {
            // Several rate controls may have one name, if a class of Python was defined again.
            let own = controllers.iter().find(|c| std::ptr::eq(c.model, m.model));
            let controller = own.map_or_else(|| controllers.row(m.model.name), Ok)?;
            (*controller, (**m).clone())
        }
        // The setting is a default value.
        Value::Text(name) => {
            let controller = *controllers.row(name)?;
            (controller, Settings::defaults(controller.model))
        }
        _ => (*controllers.row("")?, s.clone()),
    };
    let [min, start, max] = [MIN_RATE, START_RATE, MAX_RATE].map(|key| s.get(&key).bits_per_second());
    if !(min <= start && start <= max) {
        return Err(Refusal::new(
            format!("min_rate, start_rate and max_rate are {min}, {start} and {max} bit/s"),
            "give a start_rate between min_rate and max_rate",
        ));
    }
    let ecn = s.get(&ECN).code_point();
    Ok(Config {
        payload: s.get(&PAYLOAD),
        header: s.get(&HEADER),
        ecn,
        terms: Terms { min, start, max, ecn },
        rule: controller.rule,
        controller,
        settings,
    })
}

/// The connection that these settings describe.
///
/// # Errors
/// The errors are those of [`config`].
pub fn connection(s: &Settings, controllers: &model::Registry<&'static RateController>) -> Result<Connection, Refusal> {
    Ok(Connection::new(Arc::new(config(s, controllers)?)))
}
