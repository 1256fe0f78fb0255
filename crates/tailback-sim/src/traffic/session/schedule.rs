//! Transfers at given instants: each opens a connection, sends its bytes from the server to the client, and closes.
//!
//! With `at` no transfer waits: each begins at its instant, whether the earlier ones have ended or not. With `after`
//! each transfer waits for the previous one and a pause, like a source that is on and off. This is the way to replay a
//! recorded list of transfers.

use super::{Asks, Context, Entry, ServersAsked};
use crate::declare::kinds::TIME;
use crate::traffic::application::{AppInput, Application, Net, NodeId, Part, Side, TransferId, TransportId};
use crate::traffic::conflict::Conflict;
use tailback_base::{Duration, FlowId, Key, Kind, Model, Settings, Time, params};
use tailback_transport::AppEvent;

pub static MODEL: Model = Model {
    name: "schedule",
    family: "session",
    title: "Transfers at given instants",
    summary: "Each member sends transfers of the listed sizes at the listed instants, or one after another with the \
              listed \
              pauses, each over a connection of its own.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    AT: Vec<Duration> = Key::new("at", Kind::List(&TIME), "none",
        "When the transfers begin, counted from the member's start.", "");
    AFTER: Vec<Duration> = Key::new("after", Kind::List(&TIME), "none",
        "In place of `at`: how long each transfer waits after the last byte of the previous transfer was \
         acknowledged. For the first transfer it is the time after the member's start.", "");
    SIZES: Vec<u64> = Key::new("sizes", Kind::List(&Kind::Bytes { min: 1, max: 1 << 50 }), "",
        "How many bytes the transfers have; the values are taken in turn.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    servers: ServersAsked::One,
    build: |s, context| Box::new(Schedule::new(s, &context)),
    check: one_of_both,
    asks: |s| {
        let [at, after] = [AT, AFTER].map(|key| s.get(&key).len() as f64);
        let at_instants = at > 0.0;
        let transfers = at + after;
        Asks {
            gap: f64::INFINITY,
            open: at_instants,
            most: 1.0,
            transfers,
            at_once: if at_instants { transfers } else { 1.0 },
            bytes: s.number(SIZES.name).unwrap_or(1.0),
            new_connections: true,
        }
    },
};

fn one_of_both(s: &Settings) -> Result<(), Conflict> {
    let problem = match (s.get(&AT).is_empty(), s.get(&AFTER).is_empty()) {
        (true, true) => "`at` and `after` are missing, so it is not known when the transfers begin",
        (false, false) => {
            "`at` and `after` are both given: with `at` transfers begin at instants, with `after` one after \
             another"
        }
        _ => return Ok(()),
    };
    Err(Conflict {
        param: AT.name,
        value: None,
        problem: problem.into(),
        remedy: "give one of the two, such as at = [\"1s\", \"1.5s\"]",
    })
}

struct Schedule {
    server: NodeId,
    client: NodeId,
    transport: TransportId,
    /// The time of each transfer's beginning, counted from `since`, and its bytes.
    transfers: Vec<(Duration, u64)>,
    next: usize,
    /// The start, or with `after` the end of the previous transfer.
    since: Time,
    /// The transfer that the next one waits for, with `after`.
    waits_for: Option<FlowId>,
    in_turn: bool,
    /// Transfers in progress.
    open: Vec<(FlowId, TransferId)>,
    stopped: bool,
}

impl Schedule {
    fn new(s: &Settings, context: &Context) -> Schedule {
        let instants = s.get(&AT);
        let in_turn = instants.is_empty();
        let times = if in_turn { s.get(&AFTER) } else { instants };
        let mut transfers: Vec<_> = times.into_iter().zip(s.get(&SIZES).into_iter().cycle()).collect();
        if !in_turn {
            // The sort is stable: transfers of one instant stay in the listed order.
            transfers.sort_by_key(|t| t.0);
        }
        Schedule {
            server: context.server,
            client: context.client,
            transport: context.transport,
            transfers,
            next: 0,
            since: Time::ZERO,
            waits_for: None,
            in_turn,
            open: vec![],
            stopped: false,
        }
    }

    fn send_due(&mut self, net: &mut dyn Net) {
        while self.waits_for.is_none()
            && let Some((offset, bytes)) = self.transfers.get(self.next).copied()
        {
            let due = self.since + offset;
            if due > net.now() {
                net.wake(due);
                return;
            }
            self.next += 1;
            let transfer = net.ask(bytes);
            let flow = net.open(self.server, self.client, self.transport);
            self.open.push((flow, transfer));
            self.waits_for = self.in_turn.then_some(flow);
            net.send(transfer, flow, Side::Source, bytes, Part::Data);
            net.close(flow, Side::Source);
        }
    }

    fn end_if_done(&mut self, net: &mut dyn Net) {
        if self.open.is_empty() && (self.stopped || self.next == self.transfers.len()) {
            net.finished();
        }
    }
}

impl Application for Schedule {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start if !self.stopped => {
                self.since = net.now();
                self.send_due(net);
            }
            AppInput::Wake if !self.stopped => self.send_due(net),
            AppInput::Stop => {
                self.stopped = true;
                self.end_if_done(net);
            }
            AppInput::Transport { flow, side, event } => {
                let ended = matches!(event, AppEvent::AllAcknowledged | AppEvent::Closed) && side == Side::Source;
                if ended && self.waits_for == Some(flow) {
                    (self.waits_for, self.since) = (None, net.now());
                    if !self.stopped {
                        self.send_due(net);
                    }
                }
                let Some(i) = self.open.iter().position(|o| o.0 == flow) else {
                    return;
                };
                let is_over = match event {
                    AppEvent::Delivered(bytes) => net.arrived(self.open[i].1, bytes).is_some(),
                    // The connection ended before its data arrived, so it has given up.
                    AppEvent::Closed => true,
                    AppEvent::Connected | AppEvent::AllAcknowledged | AppEvent::PeerClosed | AppEvent::Packet(_) => {
                        false
                    }
                };
                if is_over {
                    self.open.swap_remove(i);
                    self.end_if_done(net);
                }
            }
            _ => {}
        }
    }
}
