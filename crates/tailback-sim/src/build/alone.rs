//! A flow's source without a network: the sizes and times of its writes, for code that makes the same writes to a real
//! connection.
//!
//! The source is the object that a simulation drives, with the same random stream. The same scenario and seed therefore
//! write the same bytes at the same instants. This holds for sources that get no events from their connections.
//!
//! State: the source, the instant of its next call, and the writes that the caller has not taken yet.

use super::flows::{stem, times};
use crate::library::Library;
use crate::measure::frames::Fate;
use crate::measure::playout::CompleteFrame;
use crate::spec::{GroupSpec, Spec};
use crate::traffic::application::{
    AppInput, Application, Net, NodeId, PageId, Part, Side, Transfer, TransferId, TransportId,
};
use crate::traffic::entry::{Context, Entry, Output, Streams};
use crate::traffic::superposed;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, FlowId, Named, Stream, Time};
use tailback_transport::Amount;
use tailback_transport::datagram::HEADER;

/// Whether a source of this row needs no events.
pub fn writes_alone(source: &Entry) -> bool {
    !source.facts.listens && !source.facts.own_address && source.facts.output != Output::Stream
}

/// The source of one flow.
pub struct Alone {
    app: Box<dyn Application>,
    net: Paper,
    start: Option<Time>,
    stop: Option<Time>,
}

/// The source of flow `index` of a group; `None` for a source that gets events, and for one that has no end of data.
///
/// # Errors
/// The source is unknown.
pub fn source_alone(spec: &Spec, seed: u64, group: &GroupSpec, index: u32) -> Result<Option<Alone>, Refusal> {
    let library = Library::standard();
    let source = library.source(group.traffic.model)?;
    if !writes_alone(source) {
        return Ok(None);
    }
    let connection = library.transports.connection(&group.transport)?;
    let (starts, stops) = times(group, seed);
    let stream_name = Named::new(seed).text(&stem(&group.name)).number(index);
    let sizes = library.sizes(group.sizes.model)?;
    let context = Context {
        index,
        sizes: &|| (sizes.build)(&group.sizes),
        header: match connection {
            Some(_) => 0,
            None => group.transport.get(&HEADER),
        },
        connection: connection.is_some(),
        segment: connection.as_ref().map_or(1, |c| c.segment_bytes()),
        deadline: Duration(0),
        streams: Streams(stream_name),
        group: &superposed::Shared::default(),
    };
    let end = Time::ZERO + spec.duration;
    Ok(Some(Alone {
        app: (source.build)(&group.traffic, context),
        net: Paper {
            now: Time::ZERO,
            rng: stream_name.stream(),
            wake: None,
            written: vec![],
        },
        start: Some(starts[index as usize]),
        stop: stops.map(|s| s[index as usize]).filter(|t| *t < end),
    }))
}

impl Alone {
    /// The earliest instant at which it may write next.
    pub fn next(&self) -> Option<Time> {
        [self.start, self.net.wake, self.stop].into_iter().flatten().min()
    }

    /// The writes until `now`, in order: the instant and the number of bytes of each. The bytes of a datagram include
    /// its headers.
    pub fn until(&mut self, now: Time) -> Vec<(Time, u64)> {
        while let Some(due) = self.next().filter(|due| *due <= now) {
            self.net.now = due;
            if self.start == Some(due) {
                self.start = None;
                self.app.on(AppInput::Start, &mut self.net);
            } else if self.stop == Some(due) {
                self.stop = None;
                self.app.on(AppInput::Stop, &mut self.net);
                self.net.wake = None;
            } else {
                self.net.wake = None;
                self.app.on(AppInput::Wake, &mut self.net);
            }
        }
        std::mem::take(&mut self.net.written)
    }
}

/// A network that only records writes. Calls that a source without events does not use have no effect.
struct Paper {
    now: Time,
    rng: Stream,
    wake: Option<Time>,
    written: Vec<(Time, u64)>,
}

impl Net for Paper {
    fn now(&self) -> Time {
        self.now
    }
    fn rng(&mut self) -> &mut Stream {
        &mut self.rng
    }
    fn own_flow(&self) -> Option<FlowId> {
        Some(FlowId(0))
    }
    fn wake(&mut self, at: Time) {
        self.wake = Some(at.max(self.now));
    }
    fn write(&mut self, _: FlowId, side: Side, n: Amount) {
        if let (Side::Source, Amount::Bytes(n)) = (side, n) {
            self.written.push((self.now, n));
        }
    }
    fn datagram(&mut self, _: FlowId, bytes: u32, _: u32) {
        self.written.push((self.now, u64::from(bytes)));
    }
    fn next_datagram(&self, _: FlowId) -> u64 {
        self.written.len() as u64
    }
    fn open(&mut self, _: NodeId, _: NodeId, _: TransportId) -> FlowId {
        FlowId(0)
    }
    fn open_from_destination(&mut self, _: NodeId, _: NodeId, _: TransportId) -> FlowId {
        FlowId(0)
    }
    fn ask(&mut self, _: u64) -> TransferId {
        TransferId(0)
    }
    fn arrived(&mut self, _: TransferId, _: u64) -> Option<Transfer> {
        None
    }
    fn begin_page(&mut self, _: u64, _: u64) -> PageId {
        PageId(0)
    }
    fn unsent(&self, _: FlowId, _: Side) -> u64 {
        0
    }
    fn stay_open(&mut self, _: FlowId, _: Side) {}
    fn set_reading(&mut self, _: FlowId, _: Side, _: bool) {}
    fn close(&mut self, _: FlowId, _: Side) {}
    fn abort(&mut self, _: FlowId, _: Side) {}
    fn send(&mut self, _: TransferId, _: FlowId, _: Side, _: u64, _: Part) {}
    fn end_page(&mut self, _: PageId) {}
    fn finished(&mut self) {}
    fn withdraw(&mut self, _: FlowId, _: Side, _: u64) {}
    fn frame_whole(&mut self, _: FlowId, _: CompleteFrame) {}
    fn frame_judged(&mut self, _: FlowId, _: Time, _: u64, _: Fate) {}
    fn burst_over(&mut self, _: FlowId, _: u64, _: Duration) {}
    fn relabel(&mut self, _: FlowId, _: u32) {}
}
