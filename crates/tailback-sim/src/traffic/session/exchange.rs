//! Exchanges of a client with its server (a request, a time that the server needs, and a response), and the
//! connections that carry them.
//!
//! This is the common part of sessions whose clients request and wait. Over a two-way transport the client opens one
//! connection and the response comes back on it. Kept connections are opened at the first request and serve one
//! exchange after another; otherwise each exchange has its own connection, which the server closes after the
//! response. Over a one-way transport an exchange needs two connections, one for the request and one for the
//! response.
//!
//! Simultaneous exchanges use different connections: the first free one to the server is taken, and a new one is
//! opened if there is no free one. A connection that gives up (its SYN was lost too often) ends the exchange it served.

use super::Context;
pub use crate::declare::kinds::Connections;
use crate::traffic::application::{Net, NodeId, Part, Side, TransferId, TransportId};
use crate::traffic::laws::Draw;
use std::collections::BTreeMap;
use tailback_base::{Duration, FlowId, Key, Kind, Param, Settings, Stream, Time, params};
use tailback_transport::AppEvent;

params! {
    pub REQUEST: u64 = Key::new("request", Kind::Bytes { min: 1, max: 1 << 50 }, "350B",
        "How many bytes a request has.", "");
    pub SERVER_TIME = Param::new("server_time", Kind::Model("pause"), "none",
        "How long the server needs, from the last byte of a request to its answer. Default: no time.", "");
    pub CONNECTION: Connections = Key::choice("connection", "keep",
        "Whether connections are kept from one request to the next, or opened anew for each.", "");
}

/// The connection and the side on which an end writes.
type End = (FlowId, Side);

/// The exchanges of one client.
pub struct Exchanges {
    server: NodeId,
    client: NodeId,
    transport: TransportId,
    two_way: bool,
    keep: bool,
    /// Bytes of a request.
    request: u64,
    /// The time that the server needs for a response.
    server_time: Option<Box<dyn Draw>>,
    server_times: Stream,
    lanes: Vec<Lane>,
    /// The lane of each connection.
    by_flow: BTreeMap<u32, usize>,
}

/// The connections of a lane; they carry one exchange at a time.
struct Lane {
    server: NodeId,
    /// The ends on which the client and the server write, while the connections are open.
    up: Option<End>,
    down: Option<End>,
    present: Option<Present>,
}

/// An exchange in progress.
struct Present {
    transfer: TransferId,
    response: u64,
    /// Bytes of the request that have not reached the server.
    missing: u64,
}

/// An exchange whose server is working.
#[derive(Clone, Copy)]
pub struct PendingAnswer {
    lane: usize,
    transfer: TransferId,
}

/// The effect of a connection's event.
pub enum Step {
    Nothing,
    /// The server responds at this time: call [`Exchanges::answer`] then.
    AnswerAt(Time, PendingAnswer),
    /// An exchange is over, completed or given up.
    Over {
        transfer: TransferId,
        complete: bool,
    },
}

impl Exchanges {
    /// Made for a member, whose kind of session has the parameters above.
    pub fn new(s: &Settings, context: &Context) -> Exchanges {
        Exchanges {
            server: context.server,
            client: context.client,
            transport: context.transport,
            two_way: context.two_way,
            keep: s.get(&CONNECTION) == Connections::Keep,
            request: s.get(&REQUEST),
            server_time: context.law(s, &SERVER_TIME),
            server_times: (context.stream)(SERVER_TIME.name),
            lanes: vec![],
            by_flow: BTreeMap::new(),
        }
    }

    /// The server for later requests.
    pub fn ask_of(&mut self, server: NodeId) {
        self.server = server;
    }

    /// The number of exchanges in progress.
    pub fn under_way(&self) -> usize {
        self.lanes.iter().filter(|l| l.present.is_some()).count()
    }

    /// Request this many bytes now.
    pub fn ask(&mut self, response: u64, net: &mut dyn Net) -> TransferId {
        let transfer = net.ask(response);
        let lane = self.lane();
        self.lanes[lane].present = Some(Present {
            transfer,
            response,
            missing: self.request,
        });
        let (flow, side) = self.lanes[lane].up.unwrap_or_else(|| self.open(lane, net));
        net.send(transfer, flow, side, self.request, Part::Request);
        // A server that responds on the same connection closes it.
        if !self.keep && !self.two_way {
            net.close(flow, side);
        }
        transfer
    }

    /// The index of a lane to the server that carries nothing now. A lane without a connection may go to any server.
    fn lane(&mut self) -> usize {
        let server = self.server;
        let free = |l: &Lane| l.present.is_none() && (l.server == server || (l.up.is_none() && l.down.is_none()));
        if let Some(lane) = self.lanes.iter().position(free) {
            self.lanes[lane].server = server;
            return lane;
        }
        self.lanes.push(Lane {
            server,
            up: None,
            down: None,
            present: None,
        });
        self.lanes.len() - 1
    }

    /// The connection for requests; it also carries the responses if it can. In both cases responses go from source
    /// to destination, so that the table rows count them in the same way.
    fn open(&mut self, lane: usize, net: &mut dyn Net) -> End {
        let server = self.lanes[lane].server;
        let up_lane = if self.two_way {
            let flow = net.open_from_destination(server, self.client, self.transport);
            net.stay_open(flow, Side::Source);
            self.lanes[lane].down = Some((flow, Side::Source));
            (flow, Side::Destination)
        } else {
            (net.open(self.client, server, self.transport), Side::Source)
        };
        self.lanes[lane].up = Some(up_lane);
        self.by_flow.insert(up_lane.0.0, lane);
        up_lane
    }

    /// The server sends its response, unless the client has lost its connection in the meantime.
    pub fn answer(&mut self, to: PendingAnswer, net: &mut dyn Net) {
        let lane = &mut self.lanes[to.lane];
        let Some(present) = lane.present.as_ref().filter(|p| p.transfer == to.transfer) else {
            return;
        };
        let response = present.response;
        let (flow, side) = lane
            .down
            .unwrap_or_else(|| (net.open(lane.server, self.client, self.transport), Side::Source));
        lane.down = Some((flow, side));
        self.by_flow.insert(flow.0, to.lane);
        net.send(to.transfer, flow, side, response, Part::Data);
        if !self.keep {
            net.close(flow, side);
        }
    }

    /// An event of a connection of this client.
    pub fn on(&mut self, flow: FlowId, side: Side, event: AppEvent, net: &mut dyn Net) -> Step {
        let Some(lane) = self.by_flow.get(&flow.0).copied() else {
            return Step::Nothing;
        };
        match event {
            AppEvent::Delivered(bytes) => self.delivered(lane, (flow, side.other()), bytes, net),
            AppEvent::Closed => self.closed(lane, flow),
            AppEvent::Connected | AppEvent::AllAcknowledged | AppEvent::PeerClosed | AppEvent::Packet(_) => {
                Step::Nothing
            }
        }
    }

    fn delivered(&mut self, at: usize, from: End, bytes: u64, net: &mut dyn Net) -> Step {
        let lane = &mut self.lanes[at];
        let Some(present) = &mut lane.present else {
            return Step::Nothing;
        };
        let transfer = present.transfer;
        if lane.up == Some(from) && present.missing > 0 {
            present.missing = present.missing.saturating_sub(bytes);
            if present.missing > 0 {
                return Step::Nothing;
            }
            let answer = PendingAnswer { lane: at, transfer };
            if let Some(law) = &self.server_time {
                let needed = Duration(law.whole(&mut self.server_times));
                return Step::AnswerAt(net.now() + needed, answer);
            }
            self.answer(answer, net);
        } else if lane.down == Some(from) && net.arrived(transfer, bytes).is_some() {
            return self.over(at, transfer, true);
        }
        Step::Nothing
    }

    fn closed(&mut self, at: usize, flow: FlowId) -> Step {
        self.by_flow.remove(&flow.0);
        let lane = &mut self.lanes[at];
        let up = lane.up.take_if(|e| e.0 == flow).is_some();
        let down = lane.down.take_if(|e| e.0 == flow).is_some();
        match &lane.present {
            // A connection that ends before its data have arrived has given up.
            Some(p) if (up && p.missing > 0) || down => {
                let transfer = p.transfer;
                self.over(at, transfer, false)
            }
            _ => Step::Nothing,
        }
    }

    fn over(&mut self, at: usize, transfer: TransferId, complete: bool) -> Step {
        let lane = &mut self.lanes[at];
        lane.present = None;
        if !self.keep {
            for (flow, _) in [lane.up.take(), lane.down.take()].into_iter().flatten() {
                self.by_flow.remove(&flow.0);
            }
        }
        Step::Over { transfer, complete }
    }

    /// The client will request nothing more.
    pub fn close(&mut self, net: &mut dyn Net) {
        for lane in &mut self.lanes {
            for (flow, side) in [lane.up.take(), lane.down.take()].into_iter().flatten() {
                net.close(flow, side);
            }
        }
        self.by_flow.clear();
    }
}
