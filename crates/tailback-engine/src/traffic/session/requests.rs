//! Requests and responses: a client asks for something, waits for all of it, thinks, and asks again.
//!
//! A closed loop, as of people with a browser or of programs that call each other: the next request waits for the
//! response before it. The time of a transfer runs from the request to the last byte of the response, on one clock; the
//! opening of connections counts where there is one.
//!
//! Over a two-way transport the client opens one connection and the response comes back on it. With
//! `connection = "keep"` it is opened at the first request and stays; with `"new"` each request has its own, which the
//! server closes behind the response. Over a one-way transport a member has two connections, one for requests and one for
//! responses, and with `"new"` two for each request, which costs a handshake each.
//!
//! State: where the present request stands. Sizes and pauses are drawn from streams of their own. A connection that
//! gives up (its SYN was lost too often) ends the request it served; the client goes on with the next.

use super::{Context, Entry};
use crate::traffic::application::{AppInput, Application, Net, NodeId, Part, Side, TransferId, TransportId};
use crate::traffic::laws::Draw;
use tailback_base::{Duration, FlowId, Kind, Model, Param, Settings, Stream};
use tailback_transport::AppEvent;

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
    response: Box<dyn Draw>,
    think: Option<Box<dyn Draw>>,
    keep: bool,
    /// How many requests are left to make; none for no limit.
    left: Option<u64>,
    sizes: Stream,
    pauses: Stream,
    two_way: bool,
    /// Where the client and the server write, while the connections are open.
    up: Option<(FlowId, Side)>,
    down: Option<(FlowId, Side)>,
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
            response: context
                .law(s, "response")
                .unwrap_or_else(|| unreachable!("`response` has no default")),
            think: context.law(s, "think"),
            keep: s.text("connection") == "keep",
            left: (!s.is_none("requests")).then(|| s.count("requests")),
            sizes: (context.stream)("response"),
            pauses: (context.stream)("think"),
            two_way: context.two_way,
            up: None,
            down: None,
            waiting: None,
            stopped: false,
        }
    }

    fn ask(&mut self, net: &mut dyn Net) {
        self.left = self.left.map(|n| n - 1);
        let response = self.response.whole(&mut self.sizes);
        let transfer = net.ask(response);
        self.waiting = Some(Waiting {
            transfer,
            response,
            missing: self.request,
        });
        let (flow, side) = match self.up {
            Some(up) => up,
            None => self.open(net),
        };
        net.send(transfer, flow, side, self.request, Part::Request);
        // A server that answers on the same connection closes it.
        if !self.keep && !self.two_way {
            net.close(flow, side);
        }
    }

    /// The connection for requests; it also carries the responses if it can. Either way responses go from source to
    /// destination, so that the rows count them alike.
    fn open(&mut self, net: &mut dyn Net) -> (FlowId, Side) {
        let up = if self.two_way {
            let flow = net.open_from_destination(self.server, self.client, self.transport);
            net.stay_open(flow, Side::Source);
            self.down = Some((flow, Side::Source));
            (flow, Side::Destination)
        } else {
            (net.open(self.client, self.server, self.transport), Side::Source)
        };
        self.up = Some(up);
        up
    }

    fn answer(&mut self, transfer: TransferId, response: u64, net: &mut dyn Net) {
        let down = self
            .down
            .unwrap_or_else(|| (net.open(self.server, self.client, self.transport), Side::Source));
        self.down = Some(down);
        let (flow, side) = down;
        net.send(transfer, flow, side, response, Part::Data);
        if !self.keep {
            net.close(flow, side);
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
        for (flow, side) in [self.up.take(), self.down.take()].into_iter().flatten() {
            net.close(flow, side);
        }
        net.finished();
    }

    fn delivered(&mut self, flow: FlowId, side: Side, bytes: u64, net: &mut dyn Net) {
        let Some(w) = &mut self.waiting else { return };
        let from = Some((flow, side.other()));
        if self.up == from && w.missing > 0 {
            w.missing = w.missing.saturating_sub(bytes);
            if w.missing == 0 {
                let (transfer, response) = (w.transfer, w.response);
                self.answer(transfer, response, net);
            }
        } else if self.down == from && net.arrived(w.transfer, bytes).is_some() {
            self.go_on(net);
        }
    }

    fn closed(&mut self, flow: FlowId, net: &mut dyn Net) {
        let is = |end: Option<(FlowId, Side)>| end.is_some_and(|e| e.0 == flow);
        let (up, down) = (is(self.up), is(self.down));
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
            AppInput::Transport { flow, side, event } => match event {
                AppEvent::Delivered(bytes) => self.delivered(flow, side, bytes, net),
                AppEvent::Closed => self.closed(flow, net),
                AppEvent::Connected | AppEvent::AllAcknowledged | AppEvent::PeerClosed => {}
            },
            _ => {}
        }
    }
}
