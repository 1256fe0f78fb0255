//! A flow: its ends, its routes through the network, and its counters.

use crate::measure::convergence::{ConvergenceMeter, ConvergenceTimes};
use crate::measure::frames::FrameStats;
use crate::measure::histogram::Histogram;
use crate::measure::quality::Quality;
use crate::sim::injected::Injected;
use crate::traffic::application::{Ends, Side};
use crate::traffic::bursts::BurstStats;
use crate::wire::keys::Keys;
use crate::wire::packet::WirePacket;
use tailback_base::counters::Counter;
use tailback_base::{Dscp, Ecn, Time};
use tailback_transport::SenderReport;

/// A stretch of the table of routes: ports in order of travel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    pub start: u32,
    pub len: u8,
    /// The code point of the packets that a flow sends along it, in the position that it has in a TOS byte.
    pub tos: u8,
}

impl Route {
    /// The same route for packets of this code point.
    #[must_use]
    pub fn marked(self, dscp: Dscp) -> Route {
        let tos = dscp.0 << 2;
        Route { tos, ..self }
    }
}

/// The carrier of the data.
pub enum Carrier {
    Connection(Ends),
    /// Datagrams, counted where they arrive.
    Datagrams {
        ecn: Ecn,
        echo: Echo,
        next_seq: u64,
    },
    /// A flow without ends of its own: an application that opens connections during the run. Their counters are added
    /// here.
    Member(Box<Closed>),
    /// Ends outside the simulator: packets come by [`Sim::inject`](super::Sim::inject), and the program that drives the
    /// simulator takes them out.
    Injected(Box<Injected>),
    /// A slot whose connection is over. The id may be used again once no packet of the connection is in flight.
    Closed,
}

/// The answer of the destination to each datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Echo {
    Nothing,
    /// An answer of the same size.
    Same,
    /// An answer of this number of bytes.
    Bytes(u32),
}

/// The connections of a member that are over.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    pub connections: u64,
    /// Sum of the lifetimes, seconds.
    pub lifetime: f64,
    /// The packets that the two ends sent, source first.
    pub senders: [SenderReport; 2],
    /// New payload that reached the destinations, and the sources, bytes.
    pub arrived: [u64; 2],
}

impl Closed {
    pub(super) fn add(&mut self, total: &Snapshot) {
        self.senders[0].add(&total.sender);
        self.arrived[0] += total.arrived;
        if let Some(back) = &total.reverse {
            self.senders[1].add(&back.sender);
            self.arrived[1] += back.arrived;
        }
    }
}

/// The events of the flow's ends that its application gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hears {
    /// Only the start and the stop of the flow.
    Nothing,
    /// The last byte of each transfer, bytes that belong to no transfer, and the end of the connection.
    Transfers,
    /// Every event.
    Everything,
}

/// Data of a transfer that one side of a connection waits for. This is only for applications that get events of
/// transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coming {
    /// The number of bytes that have not been delivered; 0 if there is no such transfer, or more than one.
    bytes: u64,
    /// The row of the transfer.
    transfer: u32,
    to: Side,
    /// There was more than one transfer at once. From then on the application gets events of all bytes.
    several: bool,
}

impl Coming {
    pub const NOTHING: Coming = Coming {
        bytes: 0,
        transfer: 0,
        to: Side::Source,
        several: false,
    };

    /// These bytes of a transfer are sent to a side. If another transfer is on its way, the application gets events of
    /// all bytes.
    pub fn add(&mut self, bytes: u64, transfer: u32, to: Side) {
        let several = self.several || self.bytes > 0;
        let bytes = if several { 0 } else { bytes };
        *self = Coming {
            bytes,
            transfer,
            to,
            several,
        };
    }

    /// The number of bytes that this side waits for.
    #[inline]
    pub fn bytes_to(&self, side: Side) -> u64 {
        if self.to == side { self.bytes } else { 0 }
    }

    /// These bytes have arrived, and not the last one. Returns the row of the transfer.
    #[inline]
    pub fn take(&mut self, bytes: u64) -> usize {
        self.bytes -= bytes;
        self.transfer as usize
    }
}

/// No transfer waits for an acknowledgement.
pub const NOTHING_AWAITED: u64 = u64::MAX;

/// No application.
pub const NO_APP: u32 = u32::MAX;

/// The fields are in the order of use: those that every arrival needs fill the first three cache lines.
#[repr(C, align(64))]
pub struct Flow {
    pub carrier: Carrier,
    /// Packets of this flow somewhere in the network.
    pub in_flight: u32,
    pub app: u32,
    /// Times of the pending timer events of source and destination.
    pub timers: [Time; 2],
    /// Until this time its application does not call it.
    pub free_until: Time,
    /// Whether its source and its destination may be called ahead of time (see `sim/ahead.rs`).
    pub runs_ahead: [bool; 2],
    /// Its destination shares the port of its answers with other destinations that run ahead, so the timers of all of
    /// them run in one order.
    pub in_order: bool,
    /// A conditioner follows the state of one of its senders.
    pub followed: bool,
    /// One of its senders sets the code point of each segment.
    pub colours: bool,
    /// One of its senders limits its data in its host.
    pub limits_host: bool,
    pub hears: Hears,
    pub watched: bool,
    /// For its source and its destination: how many of the written bytes have to be acknowledged until the first
    /// transfer is complete; or [`NOTHING_AWAITED`].
    pub awaits: [u64; 2],
    pub stats: FlowStats,
    pub group: u32,
    pub index: u32,
    pub keys: Keys,
    pub opened: Time,
    pub coming: Coming,
    /// The flow is declared in the scenario, and has a row in the results. Applications open other flows during the
    /// run.
    pub declared: bool,
    /// Whether the flow is between its start and its stop, and has been announced to the queues on its way.
    pub present: bool,
}

/// The counters of a flow since the start of statistics, counted where the events happen.
#[derive(Default, Debug, Clone)]
#[repr(C)]
pub struct FlowStats {
    /// Data from the source to the destination.
    pub forward: DataStats,
    /// Data from the destination to the source; `None` for most connections, which carry no such data.
    pub reverse: Option<Box<DataStats>>,
    /// Datagrams sent.
    pub datagrams: u64,
    /// The bursts that ended, if the source sends bursts.
    pub bursts: Option<Box<BurstStats>>,
    /// Measures how a listener or a viewer is served, if the flow has a deadline or is answered.
    pub media: Option<Box<Media>>,
    /// Measures how soon the flow gets the rate reserved for it, if the scenario asks for this.
    pub meter: Option<Box<ConvergenceMeter>>,
}

/// The measurements of single datagrams and frames.
#[derive(Debug, Clone, Default)]
pub struct Media {
    /// The state of a source of datagrams.
    pub quality: Option<Quality>,
    /// The state of a source of video.
    pub frames: Option<FrameStats>,
}

/// The fate of the data of one direction.
#[derive(Default, Debug, Clone)]
#[repr(C)]
pub struct DataStats {
    pub data: DataCounters,
    /// One-way delay of the data packets that arrived.
    pub delay: Histogram,
}

tailback_base::counters! {
    /// Packets and bytes of the data that go one way.
    #[derive(Default, Debug, Clone, Copy)]
    #[repr(C)]
    pub struct DataCounters {
        /// Data packets that arrived, retransmissions included.
        pub received_packets: u64,
        pub received_wire_bytes: u64,
        pub received_payload_bytes: u64,
        /// Packets that were lost on the way, and packets that were marked, except pure ACKs and control packets.
        pub dropped: u64,
        pub marked: u64,
        /// Data packets that arrived and were retransmissions.
        pub repeats: u64,
    }
}

impl FlowStats {
    /// The counters of the direction of a packet.
    #[inline]
    pub fn of(&mut self, p: &WirePacket) -> &mut DataStats {
        if p.is_backward() {
            self.reverse.get_or_insert_default()
        } else {
            &mut self.forward
        }
    }

    /// The counters of video frames.
    pub fn frames(&mut self) -> Option<&mut FrameStats> {
        self.media.as_mut()?.frames.as_mut()
    }

    /// The counters of datagrams, if they have a deadline or are answered.
    #[inline]
    pub fn quality(&mut self) -> Option<&mut Quality> {
        self.media.as_mut()?.quality.as_mut()
    }

    /// Reset all values that are not differences of totals, at the start of statistics.
    pub fn restart(&mut self, now: Time) {
        self.forward.delay.clear();
        if let Some(r) = &mut self.reverse {
            r.delay.clear();
        }
        self.bursts = None;
        if let Some(meter) = &mut self.meter {
            meter.restart(now);
        }
        let next = self.datagrams;
        if let Some(quality) = self.quality() {
            quality.restart(next);
        }
        if let Some(frames) = self.frames() {
            frames.restart(now);
        }
    }
}

tailback_base::counters! {
    /// The totals of a flow at one instant; differences give rates over an interval.
    #[derive(Clone, Debug, Default)]
    pub struct Snapshot {
        pub sender: SenderReport,
        /// New payload that has arrived, each byte once, in order or not.
        pub arrived: u64,
        pub data: DataCounters,
        pub datagrams: u64,
        pub delay_sum: f64,
        pub delay_count: u64,
        /// Values of the interval that ends at the snapshot.
        pub convergence: ConvergenceTimes,
        /// The same totals of the data from the destination to the source, if there have been such data.
        pub reverse: Option<Box<Snapshot>>,
    }
}

impl Flow {
    /// Whether one of these ends sets the code points of its segments, and whether one limits its data in its host.
    pub fn wishes(ends: &Ends) -> [bool; 2] {
        [ends.iter().any(|e| e.colours()), ends.iter().any(|e| e.limits_host())]
    }

    /// The connection is over and none of its packets is in flight.
    pub fn is_reusable(&self) -> bool {
        self.in_flight == 0 && matches!(self.carrier, Carrier::Closed)
    }

    /// Whether an end may handle this segment by prediction: nothing observes the end, and its application gets no
    /// event of the segment.
    #[inline]
    pub fn may_be_predicted(&self, at: Side, p: &WirePacket) -> bool {
        let unheard = match self.hears {
            Hears::Nothing => self.awaits[at as usize] == NOTHING_AWAITED,
            // The ACK that completes a transfer is looked at before it is answered.
            Hears::Transfers if p.payload() == 0 => p.seq() < self.awaits[at as usize],
            Hears::Transfers => {
                u64::from(p.payload()) < self.coming.bytes_to(at) && self.awaits[at as usize] == NOTHING_AWAITED
            }
            Hears::Everything => false,
        };
        unheard && !(self.followed | self.watched | self.limits_host)
    }

    /// New payload from this side that the other has got in order, bytes.
    pub fn delivered(&self, from: Side) -> u64 {
        match (&self.carrier, from) {
            (Carrier::Connection([_, destination]), Side::Source) => destination.received_bytes(),
            (Carrier::Connection([source, _]), Side::Destination) => source.received_bytes(),
            (Carrier::Injected(ends), side) => ends.delivered(side),
            _ => self.arrived(from),
        }
    }

    /// New payload from this side that has reached the other, bytes.
    pub fn arrived(&self, from: Side) -> u64 {
        match (&self.carrier, from) {
            (Carrier::Connection([_, destination]), Side::Source) => destination.arrived_bytes(),
            (Carrier::Connection([source, _]), Side::Destination) => source.arrived_bytes(),
            (Carrier::Injected(ends), side) => ends.arrived(side),
            (_, Side::Source) => self.stats.forward.data.received_payload_bytes,
            (_, Side::Destination) => self.stats.reverse.as_ref().map_or(0, |r| r.data.received_payload_bytes),
        }
    }

    /// The connections of a member that are over.
    pub fn closed(&self) -> Option<&Closed> {
        match &self.carrier {
            Carrier::Member(closed) => Some(closed),
            _ => None,
        }
    }

    pub fn snapshot(&self, now: Time) -> Snapshot {
        let s = &self.stats;
        let mut total = Snapshot::of(&s.forward);
        total.datagrams = s.datagrams;
        if let Carrier::Member(closed) = &self.carrier {
            total.arrived = 0;
            if let Some(back) = s.reverse.as_deref() {
                total.reverse = Some(Box::new(Snapshot {
                    arrived: 0,
                    ..Snapshot::of(back)
                }));
            }
            total.add_closed(closed);
        }
        if let Carrier::Connection([source, destination]) = &self.carrier {
            total.sender = source.report(now);
            total.arrived = destination.arrived_bytes();
            total.answered(s, destination.report(now), source.arrived_bytes());
        }
        if let Carrier::Datagrams {
            echo: Echo::Same | Echo::Bytes(_),
            ..
        } = &self.carrier
        {
            // Each datagram that arrives is answered.
            let answers = SenderReport {
                sent_packets: s.forward.data.received_packets,
                ..SenderReport::default()
            };
            total.answered(s, answers, self.arrived(Side::Destination));
        }
        if let Carrier::Injected(ends) = &self.carrier {
            total.sender = ends.senders[0];
            total.arrived = ends.arrived(Side::Source);
            total.answered(s, ends.senders[1], ends.arrived(Side::Destination));
        }
        total
    }
}

impl Snapshot {
    fn of(s: &DataStats) -> Snapshot {
        Snapshot {
            arrived: s.data.received_payload_bytes,
            data: s.data,
            delay_count: s.delay.count(),
            delay_sum: if s.delay.count() == 0 {
                0.0
            } else {
                s.delay.mean() * s.delay.count() as f64
            },
            ..Snapshot::default()
        }
    }

    /// Add what the destination has sent, and what the source has received of it, if anything was sent.
    fn answered(&mut self, s: &FlowStats, sender: SenderReport, arrived: u64) {
        if s.reverse.is_some() || sender.sent_packets > 0 {
            let reverse_snapshot = s.reverse.as_deref().map(Snapshot::of).unwrap_or_default();
            self.reverse = Some(Box::new(Snapshot {
                sender,
                arrived,
                ..reverse_snapshot
            }));
        }
    }

    fn add_closed(&mut self, closed: &Closed) {
        self.sender.add(&closed.senders[0]);
        self.arrived += closed.arrived[0];
        if let Some(back) = &mut self.reverse {
            back.sender.add(&closed.senders[1]);
            back.arrived += closed.arrived[1];
        }
    }

    /// The totals of a flow at the start of statistics. Delays are counted anew from here on.
    pub fn without_delays(mut self) -> Snapshot {
        (self.delay_count, self.delay_sum) = (0, 0.0);
        self.reverse = self.reverse.map(|r| Box::new(r.without_delays()));
        self
    }
}

impl Snapshot {
    /// Data packets or datagrams sent, retransmissions included.
    pub fn sent_packets(&self) -> u64 {
        if self.sender.sent_packets > 0 {
            self.sender.sent_packets
        } else {
            self.datagrams
        }
    }
}
