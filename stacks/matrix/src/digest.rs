//! An end whose datagrams are summed up: two runs that send the same bytes have the same digest.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use tailback_path::{Amount, Datagram, Ecn, Endpoint, ProbeDef, Time};

thread_local! { static DIGEST: Cell<u64> = const { Cell::new(0) }; }

/// Of all datagrams since the last call.
pub fn taken() -> u64 {
    DIGEST.replace(0)
}

pub struct Summed<E>(pub E);

impl<E: Endpoint<Data = Vec<u8>>> Endpoint for Summed<E> {
    type Data = Vec<u8>;

    fn transmit(&mut self, now: Time) -> Option<Datagram<Vec<u8>>> {
        let datagram = self.0.transmit(now)?;
        let mut hasher = DefaultHasher::new();
        (DIGEST.get(), now.0, &datagram.data).hash(&mut hasher);
        DIGEST.set(hasher.finish());
        Some(datagram)
    }

    fn start(&mut self, now: Time) {
        self.0.start(now);
    }
    fn speaks_first(&self) -> bool {
        self.0.speaks_first()
    }
    fn receive(&mut self, data: Vec<u8>, ecn: Ecn, now: Time) {
        self.0.receive(data, ecn, now);
    }
    fn timeout(&self) -> Option<Time> {
        self.0.timeout()
    }
    fn on_timeout(&mut self, now: Time) {
        self.0.on_timeout(now);
    }
    fn delivered(&self) -> u64 {
        self.0.delivered()
    }
    fn write(&mut self, amount: Amount, now: Time) {
        self.0.write(amount, now);
    }
    fn close(&mut self, now: Time) {
        self.0.close(now);
    }
    fn is_connected(&self) -> bool {
        self.0.is_connected()
    }
    fn acknowledged(&self) -> Option<u64> {
        self.0.acknowledged()
    }
    fn is_closed_by_peer(&self) -> bool {
        self.0.is_closed_by_peer()
    }
    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
    fn probes(&self) -> &'static [ProbeDef] {
        self.0.probes()
    }
    fn read(&self, probe: usize) -> f64 {
        self.0.read(probe)
    }
}
