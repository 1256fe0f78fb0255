//! All the glue between the transport and `tailback-path`: an `impl` for each end.

use std::time::Duration as Wall;
use tailback_path::{Datagram, Ecn, Endpoint, Time};
use your_transport::{Packet, Receiver, Sender};

pub struct Sending(pub Sender);
pub struct Receiving(pub Receiver);

impl Endpoint for Sending {
    type Data = Packet;
    fn receive(&mut self, p: Packet, _ecn: Ecn, now: Time) {
        if let Packet::Ack { ranges, congestion } = p {
            self.0.on_ack(&ranges, congestion, Wall::from_nanos(now.0));
        }
    }
    fn transmit(&mut self, now: Time) -> Option<Datagram<Packet>> {
        self.0.poll_transmit(Wall::from_nanos(now.0)).map(datagram)
    }
    fn timeout(&self) -> Option<Time> {
        self.0.timeout().map(|t| Time(t.as_nanos() as u64))
    }
    fn on_timeout(&mut self, now: Time) {
        self.0.on_timeout(Wall::from_nanos(now.0));
    }
}

impl Endpoint for Receiving {
    type Data = Packet;
    fn receive(&mut self, p: Packet, ecn: Ecn, _now: Time) {
        if let Packet::Stream { number, bytes } = p {
            self.0.on_stream(number, bytes, ecn == Ecn::Ce);
        }
    }
    fn transmit(&mut self, _now: Time) -> Option<Datagram<Packet>> {
        self.0.poll_transmit().map(datagram)
    }
    fn timeout(&self) -> Option<Time> {
        None
    }
    fn delivered(&self) -> u64 {
        self.0.in_order()
    }
}

fn datagram(p: Packet) -> Datagram<Packet> {
    let bytes = p.size() as u32;
    Datagram {
        data: p,
        bytes,
        ecn: Ecn::Ect0,
    }
}
