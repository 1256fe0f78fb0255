//! The simulator's endpoint around a user's endpoint. Its packets carry a number; the data for each number is in a
//! table that both ends share.

use crate::{Datagram, Endpoint};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tailback_base::Time;
use tailback_transport::{Amount, AppEvents, Flags, Segment, Transmit};

/// Data on its way, by number. Data that a queue drops stays here until the run is over.
pub(crate) struct OnTheWay<D> {
    next: u64,
    data: HashMap<u64, D>,
    /// Something on the path makes copies, so data may arrive more than once.
    copies: bool,
}

impl<D: Clone> OnTheWay<D> {
    pub fn new(copies: bool) -> Rc<RefCell<OnTheWay<D>>> {
        Rc::new(RefCell::new(OnTheWay {
            next: 0,
            data: HashMap::new(),
            copies,
        }))
    }

    fn send(&mut self, data: D) -> u64 {
        self.next += 1;
        self.data.insert(self.next, data);
        self.next
    }

    fn arrive(&mut self, number: u64) -> Option<D> {
        if self.copies {
            self.data.get(&number).cloned()
        } else {
            self.data.remove(&number)
        }
    }
}

/// A user's end in the simulator.
pub(crate) struct Carried<E: Endpoint> {
    pub end: Rc<RefCell<E>>,
    pub on_the_way: Rc<RefCell<OnTheWay<E::Data>>>,
    /// The first end of a pair starts when it is written to, the other with its first datagram.
    pub started: bool,
}

impl<E: Endpoint> Carried<E> {
    fn start(&mut self, now: Time) {
        if !std::mem::replace(&mut self.started, true) {
            self.end.borrow_mut().start(now);
        }
    }
}

impl<E: Endpoint> tailback_transport::Endpoint for Carried<E> {
    fn write(&mut self, _n: Amount, now: Time) {
        self.start(now);
    }

    fn close(&mut self, _now: Time) {}

    fn on_segment(&mut self, s: &Segment, now: Time, _up: &mut dyn AppEvents) {
        self.start(now);
        let data = self.on_the_way.borrow_mut().arrive(s.seq);
        if let Some(data) = data {
            self.end.borrow_mut().receive(data, s.ecn, now);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        let Some(Datagram { data, bytes, ecn }) = self.end.borrow_mut().transmit(now) else {
            return Transmit::Idle;
        };
        assert!(
            (1..=65_535).contains(&bytes),
            "a datagram of {bytes} B: give its size on the wire, 1 to 65535 B"
        );
        Transmit::Segment(Segment {
            seq: self.on_the_way.borrow_mut().send(data),
            payload: bytes,
            ack: 0,
            flags: Flags::NONE,
            ecn,
            bytes,
            sack: Default::default(),
            timestamps: None,
            window: None,
            counts: None,
        })
    }

    fn next_timeout(&self) -> Option<Time> {
        self.end.borrow().timeout()
    }

    fn on_timeout(&mut self, now: Time, _up: &mut dyn AppEvents) {
        self.end.borrow_mut().on_timeout(now);
    }

    fn received_bytes(&self) -> u64 {
        self.end.borrow().delivered()
    }
}
