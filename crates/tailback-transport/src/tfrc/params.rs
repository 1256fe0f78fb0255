//! The declaration of `tfrc` with all its parameters and probes.

use super::Config;
use crate::entry::Connection;
use crate::segment::MOST_HEADER;
use std::sync::Arc;
use tailback_base::model::{Key, Kind, Model, ProbeDef, Settings};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Ecn, params};

pub static MODEL: Model = Model {
    name: "tfrc",
    family: "transport",
    title: "TCP-friendly rate control",
    summary: "Sends datagrams at the rate that TCP would have with the measured loss event rate and round trip, but \
              without TCP's halvings; made for media. Lost datagrams are not sent again.",
    source: "RFC 5348",
    params: PARAMS,
    probes: &[RATE, RECEIVE_RATE, LOSS_EVENT_RATE, RTT, MEAN_INTERVAL, OPEN_INTERVAL],
};

params! {
    const PARAMS;

    PAYLOAD: u32 = Key::new("payload", Kind::Bytes { min: 1, max: 65_000 }, "1460B",
        "Payload of a full packet, the s of the equation. A longer write is cut into such packets. A shorter write is \
         a packet of its own, and takes as much time as a full packet.", "RFC 5348 section 3.1");
    HEADER: u32 = Key::new("header", Kind::Bytes { min: 0, max: MOST_HEADER as u64 }, "40B",
        "How many bytes a data packet has on the wire beside its payload: IP, UDP, and 12 B of its own.",
        "RFC 5348 section 3.2.1");
    REPORT: u32 = Key::new("report", Kind::Bytes { min: 1, max: 255 }, "44B",
        "Size of a report on the wire: IP, UDP, and 16 B of its own.", "RFC 5348 section 3.2.2");
    pub ECN: bool = Key::new("ecn", Kind::Bool, "false",
        "Packets are ECN-capable (ECT(0)); a mark counts as a loss.", "RFC 5348 section 5.1");
    HISTORY_DISCOUNTING: bool = Key::new("history_discounting", Kind::Bool, "false",
        "Let older intervals count less when no loss event has come for more than twice the mean interval.",
        "RFC 5348 section 5.5");
    RTT_DAMPING: bool = Key::new("rtt_damping", Kind::Bool, "false",
        "Multiply the rate by the mean of the square roots of the round trips, divided by the square root of the last \
         round trip. This reduces oscillation at queues that are several round trips long.", "RFC 5348 section 4.5");
    MIN_RTO: Duration = Key::new("min_rto", Kind::Time { min: 0.0, max: 60.0 }, "0s",
        "The least retransmission timeout in the equation, which is otherwise four round trips; TCP has 1s.",
        "RFC 5348 section 3.1");
}

const fn probe(name: &'static str, unit: &'static str, doc: &'static str) -> ProbeDef {
    ProbeDef {
        name,
        unit,
        doc,
        per: "",
    }
}

const RATE: ProbeDef = probe("rate", "bit/s", "allowed rate of payload (X)");
const RECEIVE_RATE: ProbeDef = probe(
    "receive_rate",
    "bit/s",
    "rate of received payload in the last report (X_recv)",
);
const LOSS_EVENT_RATE: ProbeDef = probe("loss_event_rate", "1", "loss event rate in the last report (p)");
const RTT: ProbeDef = probe("rtt", "s", "smoothed round-trip time (R)");
const MEAN_INTERVAL: ProbeDef = probe(
    "mean_interval",
    "packets",
    "mean loss interval in the last report; at the destination (flows.NAME.reverse), the present mean",
);
const OPEN_INTERVAL: ProbeDef = probe(
    "open_interval",
    "packets",
    "packets since the beginning of the last loss event, only at the destination (flows.NAME.reverse)",
);

/// The probes of the source, and those of the destination.
pub const SOURCE_PROBES: &[ProbeDef] = &[RATE, RECEIVE_RATE, LOSS_EVENT_RATE, RTT, MEAN_INTERVAL];
pub const DESTINATION_PROBES: &[ProbeDef] = &[MEAN_INTERVAL, OPEN_INTERVAL];

/// The connection that these settings describe. The largest packet, 65255 B, fits in a packet of the simulator.
///
/// # Errors
/// There are no errors, because no parameters contradict each other.
pub fn connection(s: &Settings) -> Result<Connection, Refusal> {
    Ok(Connection::new(Arc::new(Config {
        payload: s.get(&PAYLOAD),
        header: s.get(&HEADER),
        report: s.get(&REPORT),
        ecn: if s.get(&ECN) { Ecn::Ect0 } else { Ecn::NotEct },
        discount: s.get(&HISTORY_DISCOUNTING),
        damping: s.get(&RTT_DAMPING),
        least_rto: s.get(&MIN_RTO),
    })))
}
