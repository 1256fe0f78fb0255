//! Datagrams: their sending, the effect of their arrival, and the answer that a destination sends back (RFC 862).
//!
//! An answer leaves when its datagram arrives, on the flow's way back, as an ACK does. It has the number and the DSCP
//! of its datagram, as the answer to a ping has (RFC 1349 section 5.1), and the ECN capability of the flow. The answer
//! carries the time at which the datagram was sent, so a round trip needs no state at the source.
//!
//! Cost of an answer: that of a datagram, and one subtraction.

use super::Sim;
use crate::sim::flow::{Carrier, Echo, Hears};
use crate::sim::recorder::Arrival;
use crate::traffic::application::AppInput;
use crate::wire::packet::WirePacket;
use tailback_base::{Duration, Ecn, FlowId};

impl Sim {
    /// Send a datagram of this size on the wire, of which `header` bytes carry no payload.
    pub(super) fn send_datagram(&mut self, flow: FlowId, bytes: u32, header: u32) {
        let now = self.now;
        let f = &mut self.flows.all[flow.0 as usize];
        let Carrier::Datagrams { ecn, next_seq, .. } = &mut f.carrier else {
            return;
        };
        let p = WirePacket::datagram(*next_seq, bytes, header, *ecn, flow, now);
        *next_seq += 1;
        f.stats.datagrams += 1;
        f.in_flight += 1;
        let way = self.net.ways[flow.0 as usize][0];
        let first = self.net.routes[way.start as usize];
        self.offer(first, p.with_tos(way.tos));
    }

    /// A datagram arrives at its destination, or its answer arrives at its source. The answer may be returned, as by
    /// [`Sim::meet`].
    pub(super) fn arrive_datagram(&mut self, p: &WirePacket) -> Option<(u32, WirePacket)> {
        if p.is_backward() {
            self.arrive_answer(p);
            return None;
        }
        self.extras.release(p);
        let id = p.flow_id();
        let delay = self.now - p.born();
        let flow = &mut self.flows.all[id.0 as usize];
        if let Some(quality) = flow.stats.quality() {
            quality.deliver(p.seq(), p.born(), delay);
        }
        let (app, listens, watched) = (flow.app, flow.hears != Hears::Nothing, flow.watched);
        let answer = match flow.carrier {
            Carrier::Datagrams { ecn, echo, .. } if echo != Echo::Nothing => Some(self.answer(p, ecn, echo)),
            _ => None,
        };
        if !(listens || watched) {
            return answer;
        }
        // The answer leaves before the application gets an event and before the arrival is recorded.
        if let Some((first, answer)) = answer {
            self.offer(first, answer);
        }
        if watched {
            self.record_datagram(id.0, Arrival::There, delay);
        }
        if listens {
            let (bytes, sequence) = (p.size(), p.seq());
            let flow = id;
            self.apps.news.push((
                app,
                AppInput::Datagram {
                    flow,
                    bytes,
                    number: sequence,
                },
            ));
            self.tell();
        }
        None
    }

    /// The answer of the destination to a datagram, and the first port of the answer's way.
    fn answer(&mut self, p: &WirePacket, ecn: Ecn, echo: Echo) -> (u32, WirePacket) {
        let bytes = match echo {
            Echo::Bytes(bytes) => bytes,
            Echo::Same | Echo::Nothing => p.size(),
        };
        let id = p.flow_id().0 as usize;
        self.flows.all[id].in_flight += 1;
        let answer = p.answered(bytes, ecn, self.now, &mut self.extras);
        (self.net.routes[self.net.ways[id][1].start as usize], answer)
    }

    fn arrive_answer(&mut self, p: &WirePacket) {
        let now = self.now;
        let sent_at = p.echoed(&self.extras);
        self.extras.release(p);
        let Some(sent_at) = sent_at else { return };
        let flow = &mut self.flows.all[p.flow_id().0 as usize];
        if let Some(quality) = flow.stats.quality() {
            quality.hear(p.seq(), now - sent_at);
        }
        if flow.watched {
            self.record_datagram(p.flow_id().0, Arrival::Back, now - p.born());
            self.record_datagram(p.flow_id().0, Arrival::RoundTrip, now - sent_at);
        }
    }

    /// A packet of a recorded flow whose ends are outside has arrived.
    #[cold]
    pub(super) fn record_injected(&mut self, p: &WirePacket) {
        let arrival = match p.is_backward() {
            false => Arrival::There,
            true => Arrival::Back,
        };
        self.record_datagram(p.flow_id().0, arrival, self.now - p.born());
    }

    /// Record the values that a recorded flow shows at this arrival.
    #[cold]
    fn record_datagram(&mut self, flow: u32, what: Arrival, time: Duration) {
        self.record_arrival(flow, what, time.seconds());
        self.record_flow(flow);
    }
}
