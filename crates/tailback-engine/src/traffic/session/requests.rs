//! Requests and responses: a client asks for something, waits for all of it, thinks, and asks again.
//!
//! A closed loop, as of people with a browser or of programs that call each other: the next request waits for the
//! response before it. The time of a transfer runs from the request to the last byte of the response, on one clock; the
//! opening of connections counts where there is one.
//!
//! TCP here carries data one way, so a member has two connections: one for requests, one for responses. With
//! `connection = "keep"` both are opened at the first request and stay; with `"new"` each request and each response has
//! its own, which costs a handshake each.
//!
//! State: where the present request stands. Sizes and pauses are drawn from streams of their own. A connection that
//! gives up (its SYN was lost too often) ends the request it served; the client goes on with the next.

use super::{Context, Entry};
use crate::traffic::application::{AppInput, Application, Net, NodeId, Side, TransferId, TransportId};
use crate::traffic::laws::{self, Law};
use tailback_base::{Duration, FlowId, Kind, Model, Param, Settings, Stream};
use tailback_transport::{Amount, AppEvent};

pub static MODEL: Model = Model {
    name: "requests",
    family: "session",
    title: "Requests and responses",
    summary: "Each client sends a request, waits for the whole response, pauses, and does so again. A transfer is a \
              response; its time begins with the request.",
    source: "",
    params: &[
        Param::new(
            "request",
            Kind::Bytes { min: 1, max: 1 << 50 },
            "350B",
            "How many bytes a request has.",
            "",
        ),
        Param::new(
            "response",
            Kind::Model("transfer-size"),
            "",
            "How many bytes a response has.",
            "",
        ),
        Param::new(
            "think",
            Kind::Model("pause"),
            "none",
            "How long a client waits after a response; without it, not at all.",
            "",
        ),
        Param::new(
            "requests",
            Kind::Count { min: 1, max: 1 << 32 },
            "none",
            "How many requests each client makes; without it, as many as it can until it stops.",
            "",
        ),
        Param::new(
            "connection",
            Kind::Choice(&["keep", "new"]),
            "keep",
            "Whether connections are kept from one request to the next, or opened anew for each.",
            "",
        ),
    ],
    probes: &[],
};

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| Box::new(Requests::new(s, &context)),
    check: |_| Ok(()),
};

/// One client, and the server that answers it.
struct Requests {
    server: NodeId,
    client: NodeId,
    transport: TransportId,
    request: u64,
    response: Box<dyn Law>,
    think: Option<Box<dyn Law>>,
    keep: bool,
    /// How many requests are left to make; none for no limit.
    left: Option<u64>,
    sizes: Stream,
    pauses: Stream,
    /// The connections for requests and for responses, while they are open.
    up: Option<FlowId>,
    down: Option<FlowId>,
    waiting: Option<Waiting>,
    stopped: bool,
}

/// A request that is not answered yet.
struct Waiting {
    transfer: TransferId,
    response: u64,
    /// Bytes of the request that the server has not got.
    missing: u64,
}

impl Requests {
    fn new(s: &Settings, context: &Context) -> Requests {
        Requests {
            server: context.server,
            client: context.client,
            transport: context.transport,
            request: s.count("request"),
            response: laws::of(s, "response").unwrap_or_else(|| unreachable!("`response` has no default")),
            think: laws::of(s, "think"),
            keep: s.text("connection") == "keep",
            left: (!s.is_none("requests")).then(|| s.count("requests")),
            sizes: (context.stream)("response"),
            pauses: (context.stream)("think"),
            up: None,
            down: None,
            waiting: None,
            stopped: false,
        }
    }

    fn ask(&mut self, net: &mut dyn Net) {
        self.left = self.left.map(|n| n - 1);
        let response = self.response.whole(&mut self.sizes);
        self.waiting = Some(Waiting {
            transfer: net.ask(response),
            response,
            missing: self.request,
        });
        let flow = match self.up {
            Some(flow) => flow,
            None => net.open(self.client, self.server, self.transport),
        };
        self.up = Some(flow);
        self.send(flow, self.request, net);
    }

    fn answer(&mut self, response: u64, net: &mut dyn Net) {
        let flow = match self.down {
            Some(flow) => flow,
            None => net.open(self.server, self.client, self.transport),
        };
        self.down = Some(flow);
        self.send(flow, response, net);
    }

    fn send(&mut self, flow: FlowId, bytes: u64, net: &mut dyn Net) {
        net.write(flow, Side::Source, Amount::Bytes(bytes));
        if !self.keep {
            net.close(flow, Side::Source);
        }
    }

    /// The present request is over.
    fn go_on(&mut self, net: &mut dyn Net) {
        self.waiting = None;
        if !self.keep {
            (self.up, self.down) = (None, None);
        }
        if self.stopped || self.left == Some(0) {
            return self.end(net);
        }
        match &self.think {
            Some(law) => {
                let pause = Duration(law.whole(&mut self.pauses));
                let now = net.now();
                net.wake(now + pause);
            }
            None => self.ask(net),
        }
    }

    fn end(&mut self, net: &mut dyn Net) {
        for flow in [self.up.take(), self.down.take()].into_iter().flatten() {
            net.close(flow, Side::Source);
        }
        net.finished();
    }

    fn delivered(&mut self, flow: FlowId, bytes: u64, net: &mut dyn Net) {
        let Some(w) = &mut self.waiting else { return };
        if self.up == Some(flow) && w.missing > 0 {
            w.missing = w.missing.saturating_sub(bytes);
            if w.missing == 0 {
                let response = w.response;
                self.answer(response, net);
            }
        } else if self.down == Some(flow) && net.arrived(w.transfer, bytes).is_some() {
            self.go_on(net);
        }
    }

    fn closed(&mut self, flow: FlowId, net: &mut dyn Net) {
        let (up, down) = (self.up == Some(flow), self.down == Some(flow));
        if up {
            self.up = None;
        }
        if down {
            self.down = None;
        }
        // A connection that is over before its data have arrived has given up.
        if self.waiting.as_ref().is_some_and(|w| (up && w.missing > 0) || down) {
            self.go_on(net);
        }
    }
}

impl Application for Requests {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start | AppInput::Wake if !self.stopped && self.waiting.is_none() => self.ask(net),
            AppInput::Stop => {
                self.stopped = true;
                // A response that is under way is still delivered.
                if self.waiting.is_none() {
                    self.end(net);
                }
            }
            AppInput::Transport { flow, event, .. } => match event {
                AppEvent::Delivered(bytes) => self.delivered(flow, bytes, net),
                AppEvent::Closed => self.closed(flow, net),
                AppEvent::Connected | AppEvent::AllAcknowledged | AppEvent::PeerClosed => {}
            },
            _ => {}
        }
    }
}
