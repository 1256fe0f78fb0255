//! The parts of a run: nodes, links, flows, applications and conditioners by name, given in any order.
//!
//! [`Network::build`] then numbers everything (see `assemble.rs`).

pub use super::assemble::Built;
use crate::change::{Change, Values};
use crate::declare::impairments::Impairment;
use crate::declare::paths::Paths;
use crate::measure::convergence::ConvergenceMeter;
use crate::sim::flow::Media;
use crate::sim::members::{MakeEnds, TransportMaker};
use crate::sim::names::{LinkName, PrivateEnd};
use crate::spec::PathRules;
use crate::traffic::application::{Application, Ends, NodeId, Side, TransportId};
use crate::wire::keys::{Keys, Tunnel};
use crate::wire::packet::SimPacket;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use tailback_base::{BitRate, Dscp, Duration, Ecn, Named, Size, Stream, Time};
use tailback_conditioner::Conditioner;
use tailback_queue::QueueDiscipline;
use tailback_queue::entry::Arithmetic;
use tailback_queue::rate_trace::Trace;
use tailback_transport::Connection;

/// The work to build a flow, or a port of a private link, in units of [`tailback_base::work`].
pub(super) const UNITS: usize = 256;

/// A link, as returned by [`Network::link`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkId(pub(super) u32);

/// A flow, as returned by [`Network::flow`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FlowHandle(pub(super) u32);

/// The queue before a line.
pub enum QueueChoice {
    /// FIFO drop-tail with this limit, computed rather than simulated.
    DropTail(Size),
    /// A FIFO queue that decides only at arrivals. It is computed too, and its line does not change.
    Computed(Arithmetic),
    Discipline(Box<dyn QueueDiscipline<SimPacket>>),
}

/// One direction of a link.
pub struct Direction {
    pub rate: BitRate,
    pub delay: Duration,
    pub queue: QueueChoice,
    pub impairments: Vec<Impairment>,
    /// The changes during the run; most private links have none.
    pub alters: Option<Box<Alters>>,
    /// Keep a histogram of the time in the queue.
    pub quantiles: bool,
}

/// The changes of one direction of a link.
#[derive(Default)]
pub struct Alters {
    pub changes: Vec<Change>,
    /// The trace that replaces the link's rate.
    pub trace: Option<Arc<Trace>>,
}

impl Alters {
    /// Whether the link may fail.
    pub(super) fn fails(&self) -> bool {
        self.changes.iter().any(|c| matches!(c.to, Values::Up(_)))
    }
}

impl Direction {
    /// An unlimited FIFO.
    pub fn new(rate: BitRate, delay: Duration) -> Direction {
        Direction {
            rate,
            delay,
            queue: QueueChoice::DropTail(Size::Unlimited),
            impairments: Vec::new(),
            alters: None,
            quantiles: false,
        }
    }

    #[must_use]
    pub fn with(mut self, queue: QueueChoice) -> Direction {
        self.queue = queue;
        self.quantiles = true;
        self
    }
}

pub(super) struct LinkDef {
    pub name: LinkName,
    pub from: NodeId,
    pub to: NodeId,
    pub directions: [Option<Direction>; 2],
}

/// The carrier of a flow's data.
pub enum Transport {
    /// A connection that is made for its path once the path is known.
    Described(Connection),
    /// A connection that the caller has made.
    Connection(Ends),
    Datagrams {
        ecn: Ecn,
    },
    /// Datagrams that the destination sends back at once, with this size on the wire or with their own size.
    Echoed {
        ecn: Ecn,
        bytes: Option<u32>,
    },
    /// A flow whose ends are outside the simulator: its packets come by [`Sim::inject`](crate::sim::Sim::inject).
    Injected,
    /// The connections that the application of the row opens during the run.
    Member,
}

pub(super) struct FlowDef {
    pub handle: FlowHandle,
    /// The name of its random stream; the names of its parts' streams begin with this name.
    pub named: Named,
    pub group: u32,
    pub index: u32,
    pub from: NodeId,
    pub to: NodeId,
    pub transport: Transport,
    pub app: Option<AppDef>,
    pub aggregate: [u16; 2],
    pub weight: f64,
    pub meter: Option<Box<ConvergenceMeter>>,
    pub media: Option<Box<Media>>,
    pub label: Option<u32>,
    pub tunnel: Option<Tunnel>,
    pub dscp: Dscp,
    pub paths: Paths,
    /// The nodes that the flow passes, if they are given.
    pub via: Option<Rc<[NodeId]>>,
}

impl FlowDef {
    /// The classification keys of its packets.
    pub fn keys(&self) -> Keys {
        let keys = Keys {
            source: self.from.0,
            destination: self.to.0,
            label: self.label.unwrap_or(self.to.0),
            aggregate: self.aggregate,
            weight: self.weight,
        };
        self.tunnel.map_or(keys, |t| keys.in_tunnel(t))
    }
}

pub(super) struct AppDef {
    pub app: Box<dyn Application>,
    pub start: Time,
    pub stop: Option<Time>,
    pub listens: bool,
    /// The transport of all connections that the application opens, if it is known.
    pub transport: Option<TransportId>,
}

/// The common prefix of the names of some hosts and links; a number follows it.
pub(super) struct Stem {
    /// The place of the prefix in the list.
    place: u32,
    text: String,
    /// The name of some node of a link begins with this prefix.
    is_known: bool,
}

/// A network under construction.
///
/// ```
/// use tailback_base::{BitRate, Duration, Ecn, Size, Time};
/// use tailback_sim::build::network::{Direction, Network, QueueChoice, Transport};
/// use tailback_sim::traffic::application::{AppInput, Application, Net};
///
/// /// Sends ten datagrams of 1500 bytes at once.
/// struct Burst;
///
/// impl Application for Burst {
///     fn on(&mut self, e: AppInput, net: &mut dyn Net) {
///         if let (AppInput::Start, Some(flow)) = (e, net.own_flow()) {
///             (0..10).for_each(|_| net.datagram(flow, 1500, 0));
///         }
///     }
/// }
///
/// let mut net = Network::new(1);
/// let (a, b) = (net.node("a"), net.node("b"));
/// let line = Direction::new(BitRate(12_000_000), Duration::from_millis(5));
/// let queue = QueueChoice::DropTail(Size::Packets(4));
/// let back = Direction::new(BitRate(12_000_000), Duration::from_millis(5));
/// net.link("line", a, b, line.with(queue), back);
/// let group = net.group("bursts");
/// let flow = net.flow(group, 0, a, b, Transport::Datagrams { ecn: Ecn::NotEct });
/// net.feed(flow, Box::new(Burst), Time::ZERO, None, false);
///
/// let mut built = net.build().unwrap();
/// built.sim.run_until(Time::from_seconds(1.0));
/// // One on the line, four in the queue.
/// let [port, _] = built.link_ports[0];
/// assert_eq!(built.sim.conservation(port).dropped, 5);
/// ```
pub struct Network {
    pub(super) seed: u64,
    /// The names of the nodes; the host of one flow has an empty name.
    pub(super) nodes: Vec<String>,
    pub(super) node_by_name: HashMap<String, NodeId>,
    /// The prefixes of the names of links.
    pub(super) stems: Vec<String>,
    pub(super) links: Vec<LinkDef>,
    pub(super) groups: Vec<String>,
    /// The prefixes of the names of the streams of each group's flows.
    group_streams: Vec<Named>,
    pub(super) flows: Vec<FlowDef>,
    pub(super) transports: Vec<TransportMaker>,
    pub(super) edge_numbers: BTreeMap<u32, u16>,
    /// The changes of flows, by the numbers of the flows' handles.
    pub(super) changes: Vec<(Range<u32>, Change, Stream)>,
    pub(super) edges: Vec<(LinkId, bool, Box<dyn Conditioner<SimPacket>>)>,
    pub(super) followers: Vec<(FlowHandle, Side, u32)>,
    pub(super) hearing: Vec<u32>,
    pub(super) rules: PathRules,
    /// The ends of some connections are code from outside.
    pub(super) from_outside: bool,
}

impl Network {
    pub fn new(seed: u64) -> Network {
        Network {
            seed,
            nodes: Vec::new(),
            node_by_name: HashMap::new(),
            stems: Vec::new(),
            links: Vec::new(),
            groups: Vec::new(),
            group_streams: Vec::new(),
            flows: Vec::new(),
            transports: Vec::new(),
            edge_numbers: BTreeMap::new(),
            changes: Vec::new(),
            edges: Vec::new(),
            followers: Vec::new(),
            hearing: Vec::new(),
            rules: PathRules::default(),
            from_outside: false,
        }
    }

    /// The random stream of the component of this name.
    pub fn stream(&self, name: &str) -> Stream {
        Stream::new(self.seed, name)
    }

    /// The node of this name, made if it is new.
    pub fn node(&mut self, name: &str) -> NodeId {
        if let Some(n) = self.node_by_name.get(name) {
            return *n;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(name.to_string());
        self.node_by_name.insert(name.to_string(), id);
        id
    }

    /// Register the common prefix of the names of some hosts and links.
    pub(super) fn stem(&mut self, text: &str) -> Stem {
        self.stems.push(text.to_string());
        Stem {
            place: (self.stems.len() - 1) as u32,
            text: text.to_string(),
            is_known: self.node_by_name.keys().any(|name| name.starts_with(text)),
        }
    }

    /// The host of one flow. Its name is not stored, because no other part looks for it and there may be a million such
    /// hosts. If a link names a node with this name, it is that node.
    pub(super) fn host(&mut self, stem: &Stem, number: u32, end: &str) -> NodeId {
        if stem.is_known
            && let Some(n) = self.node_by_name.get(&format!("{}{number}{end}", stem.text))
        {
            return *n;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(String::new());
        id
    }

    pub fn link(&mut self, name: &str, from: NodeId, to: NodeId, forward: Direction, reverse: Direction) -> LinkId {
        let stem = self.stem(name).place;
        let name = LinkName { stem, private: None };
        self.add_link(name, from, to, [forward, reverse])
    }

    /// The link between a host and the network. The link's name begins with the host's stem.
    pub(super) fn private_link(
        &mut self,
        (stem, number, end): (&Stem, u32, PrivateEnd),
        [from, to]: [NodeId; 2],
        directions: [Direction; 2],
    ) -> LinkId {
        let (stem, private) = (stem.place, Some((number, end)));
        self.add_link(LinkName { stem, private }, from, to, directions)
    }

    fn add_link(&mut self, name: LinkName, from: NodeId, to: NodeId, directions: [Direction; 2]) -> LinkId {
        let directions = directions.map(Some);
        self.links.push(LinkDef {
            name,
            from,
            to,
            directions,
        });
        LinkId((self.links.len() - 1) as u32)
    }

    /// The group of this name, made if it is new.
    pub fn group(&mut self, name: &str) -> u32 {
        if let Some(i) = self.groups.iter().position(|g| g == name) {
            return i as u32;
        }
        let streams = Named::new(self.seed).text("flows.").text(name).text(".");
        self.groups.push(name.to_string());
        self.group_streams.push(streams);
        (self.groups.len() - 1) as u32
    }

    /// Reserve memory for this number of further flows and private links, so that their lists do not grow by doubling.
    pub(super) fn expect(&mut self, flows: usize, links: usize) {
        self.flows.reserve(flows);
        self.links.reserve(links);
        self.nodes.reserve(links);
    }

    /// A flow of a group, with the application that feeds it.
    pub fn flow(&mut self, group: u32, index: u32, from: NodeId, to: NodeId, transport: Transport) -> FlowHandle {
        let handle = FlowHandle(self.flows.len() as u32);
        self.from_outside |= matches!(&transport, Transport::Described(c) if c.is_from_outside());
        self.flows.push(FlowDef {
            handle,
            named: self.group_streams[group as usize].number(index),
            group,
            index,
            from,
            to,
            transport,
            app: None,
            aggregate: [0; 2],
            weight: 1.0,
            meter: None,
            media: None,
            label: None,
            tunnel: None,
            dscp: Dscp::default(),
            paths: Paths::First,
            via: None,
        });
        handle
    }

    /// The name of a flow's random stream.
    pub(super) fn stream_name(&self, flow: FlowHandle) -> Named {
        self.flows[flow.0 as usize].named
    }

    /// Give a flow its application. With `listens`, the application gets every event of the endpoints, not only start
    /// and stop.
    pub fn feed(
        &mut self,
        flow: FlowHandle,
        app: Box<dyn Application>,
        start: Time,
        stop: Option<Time>,
        listens: bool,
    ) {
        self.flows[flow.0 as usize].app = Some(AppDef {
            app,
            start,
            stop,
            listens,
            transport: None,
        });
    }

    /// The application of this member opens all its connections with this transport. No other application uses this
    /// transport.
    pub(super) fn keep_to_transport(&mut self, member: FlowHandle, transport: TransportId) {
        if let Some(app) = &mut self.flows[member.0 as usize].app {
            app.transport = Some(transport);
        }
    }

    /// Measure how soon the flow gets a reserved rate in each interval.
    pub fn measure(&mut self, flow: FlowHandle, meter: ConvergenceMeter) {
        self.flows[flow.0 as usize].meter = Some(Box::new(meter));
    }

    /// Measure how a listener or a viewer is served.
    pub fn measure_media(&mut self, flow: FlowHandle, media: Media) {
        self.flows[flow.0 as usize].media = Some(Box::new(media));
    }

    /// Set the DiffServ code point of all packets that the flow's ends send, or of all packets of a member's
    /// connections.
    pub fn set_dscp(&mut self, flow: FlowHandle, dscp: Dscp) {
        self.flows[flow.0 as usize].dscp = dscp;
    }

    /// Set how nodes choose among equal paths.
    pub fn choose_paths(&mut self, rules: PathRules) {
        self.rules = rules;
    }

    /// Set which of all shortest paths a flow takes, or the nodes that it passes. The default is the first path.
    pub fn set_paths(&mut self, flow: FlowHandle, paths: Paths, via: Option<Rc<[NodeId]>>) {
        let flow = &mut self.flows[flow.0 as usize];
        (flow.paths, flow.via) = (paths, via);
    }

    /// Set which of all shortest paths the connections of this transport take.
    pub fn spread(&mut self, transport: TransportId, paths: Paths, bits: u64) {
        let maker = &mut self.transports[transport.0 as usize];
        (maker.paths, maker.bits) = (paths, bits);
    }

    /// Set the numbers of the edges at which the flow enters and leaves, for queues and conditioners that distinguish
    /// aggregates.
    pub fn set_aggregate(&mut self, flow: FlowHandle, aggregate: [u16; 2]) {
        self.flows[flow.0 as usize].aggregate = aggregate;
    }

    /// Set a node's number among aggregates, for the connections that applications open between such nodes.
    pub fn set_edge_number(&mut self, node: NodeId, number: u16) {
        self.edge_numbers.insert(node.0, number);
    }

    /// Set the destination label that the flow starts with. The default is the number of its destination.
    pub fn set_label(&mut self, flow: FlowHandle, label: u32) {
        self.flows[flow.0 as usize].label = Some(label);
    }

    /// Set the tunnel that a flow is in.
    pub fn set_tunnel(&mut self, flow: FlowHandle, tunnel: Tunnel) {
        self.flows[flow.0 as usize].tunnel = Some(tunnel);
    }

    /// Let a range of flows change during the run. The end of the range is exclusive. `name` is the name of the random
    /// stream from which a new congestion control draws.
    pub fn change(&mut self, flows: Range<FlowHandle>, change: Change, name: &str) {
        let stream = self.stream(name);
        self.changes.push((flows.start.0..flows.end.0, change, stream));
    }

    /// The handle of the next flow.
    pub fn next_flow(&self) -> FlowHandle {
        FlowHandle(self.flows.len() as u32)
    }

    /// Set the flow's share at schedulers that share the line by weight. The default is 1.
    pub fn set_weight(&mut self, flow: FlowHandle, weight: f64) {
        self.flows[flow.0 as usize].weight = weight;
    }

    /// Add an application that opens its own connections. These are counted in the group of this name.
    pub fn application(&mut self, name: &str, app: Box<dyn Application>, start: Time) {
        let group = self.group(name);
        let index = self.flows.iter().filter(|f| f.group == group).count() as u32;
        let stream = Named::new(self.seed).text("application.").text(name);
        let member = self.member(group, index, stream);
        self.feed(member, app, start, None, true);
    }

    /// Add a member to a group: a row for an application that opens its own connections. `stream` is the name of the
    /// application's random stream.
    pub fn member(&mut self, group: u32, index: u32, stream: Named) -> FlowHandle {
        let node = NodeId(0);
        let member = self.flow(group, index, node, node, Transport::Member);
        self.flows[member.0 as usize].named = stream;
        member
    }

    /// Register a way to make connections, for [`crate::traffic::application::Net::open`].
    pub fn transport(&mut self, make: impl Fn() -> Ends + 'static) -> TransportId {
        self.add_transport(Rc::new(move |_, _| make()), Stream::new(self.seed, "transport"))
    }

    /// Register connections of this description. They draw their random numbers from the stream of this name.
    pub fn described_transport(&mut self, connection: Connection, stream: Named) -> TransportId {
        let stream = stream.stream();
        let from_outside = connection.is_from_outside();
        self.from_outside |= from_outside;
        let id = self.add_transport(Rc::new(move |path, rng| connection.ends(path, rng)), stream);
        self.transports[id.0 as usize].from_outside = from_outside;
        id
    }

    fn add_transport(&mut self, make: MakeEnds, stream: Stream) -> TransportId {
        self.transports.push(TransportMaker {
            make,
            stream,
            between: None,
            paths: Paths::First,
            from_outside: false,
            bits: 0,
        });
        TransportId((self.transports.len() - 1) as u32)
    }

    /// All connections of this transport will be between one of these pairs of a source and a destination.
    pub(super) fn keep_between(&mut self, transport: TransportId, pairs: Vec<[NodeId; 2]>) {
        self.transports[transport.0 as usize].between = Some(pairs);
    }

    /// Put a conditioner in front of the queue of a link, or of its reverse direction if `reverse` is set. The
    /// conditioner's number as an edge is the number of conditioners that were added before it.
    pub fn edge(&mut self, link: LinkId, reverse: bool, conditioner: Box<dyn Conditioner<SimPacket>>) -> u32 {
        self.edges.push((link, reverse, conditioner));
        (self.edges.len() - 1) as u32
    }

    /// Let a conditioner follow every sender whose packets pass it.
    pub fn hear(&mut self, edge: u32) {
        self.hearing.push(edge);
    }

    /// Let a conditioner follow the sender at one side of a flow.
    pub fn follow(&mut self, flow: FlowHandle, side: Side, edge: u32) {
        self.followers.push((flow, side, edge));
    }
}
