//! The simulator's endpoint around a user's endpoint. Its packets carry a number; the data for each number is in a
//! table that both ends share.
//!
//! State of an end: whether it has begun; the bytes that its application has written; what the application knows.
//! A packet costs a look-up in the table. After each call the application learns what has changed.

use crate::{Amount, Datagram, Endpoint, Pair};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use tailback_base::{ProbeDef, Stream, Time};
use tailback_sim::library::outside::STACK_SEGMENT;
use tailback_transport::path::Path;
use tailback_transport::{AppEvent, AppEvents, Connection, Ends, Flags, Progress, Segment, SenderReport, Transmit};

/// Data that has arrived is kept until so much more has: the path may have made a copy that is still on its way.
const KEPT: usize = 4096;

/// Data on its way, by number. Data that a queue drops stays here until the run is over.
struct OnTheWay<D> {
    next: u64,
    data: HashMap<u64, D>,
    /// What has arrived at least once, the oldest first.
    arrived: VecDeque<u64>,
}

impl<D: Clone> OnTheWay<D> {
    fn send(&mut self, data: D) -> u64 {
        self.next += 1;
        self.data.insert(self.next, data);
        self.next
    }

    fn arrive(&mut self, number: u64) -> Option<D> {
        let data = self.data.get(&number).cloned()?;
        self.arrived.push_back(number);
        if self.arrived.len() > KEPT
            && let Some(oldest) = self.arrived.pop_front()
        {
            self.data.remove(&oldest);
        }
        Some(data)
    }
}

/// A user's end in the simulator.
struct Carried<E: Endpoint> {
    end: Rc<RefCell<E>>,
    on_the_way: Rc<RefCell<OnTheWay<E::Data>>>,
    begun: bool,
    /// The first end of a pair; it begins when it is written to.
    opens: bool,
    written: u64,
    sent: SenderReport,
    informed: Informed,
}

/// What the application of an end knows.
#[derive(Default)]
struct Informed {
    connected: bool,
    delivered: u64,
    acknowledged: u64,
    closed_by_peer: bool,
    /// The application closes this end itself.
    stays_open: bool,
    closed: bool,
    over: bool,
}

impl<E: Endpoint> Carried<E> {
    fn begin(&mut self, now: Time) {
        if !std::mem::replace(&mut self.begun, true) {
            self.end.borrow_mut().start(now);
        }
    }

    /// Tell the application what has changed.
    fn tell(&mut self, now: Time, up: &mut dyn AppEvents) {
        let (end, informed) = (self.end.borrow(), &mut self.informed);
        if !informed.connected && end.is_connected() {
            informed.connected = true;
            up.event(AppEvent::Connected);
        }
        let delivered = end.delivered();
        if delivered > informed.delivered {
            up.event(AppEvent::Delivered(delivered - informed.delivered));
            informed.delivered = delivered;
        }
        if let Some(acknowledged) = end.acknowledged()
            && acknowledged > informed.acknowledged
        {
            informed.acknowledged = acknowledged;
            if acknowledged >= self.written {
                up.event(AppEvent::AllAcknowledged);
            }
        }
        if !informed.closed_by_peer && end.is_closed_by_peer() {
            informed.closed_by_peer = true;
            up.event(AppEvent::PeerClosed);
        }
        drop(end);
        if self.informed.closed_by_peer && !self.informed.stays_open && !self.informed.closed {
            tailback_transport::Endpoint::close(self, now);
        }
        if self.informed.closed && !self.informed.over && self.end.borrow().is_closed() {
            self.informed.over = true;
            up.event(AppEvent::Closed);
        }
    }
}

impl<E: Endpoint> tailback_transport::Endpoint for Carried<E> {
    fn write(&mut self, n: Amount, now: Time) {
        self.begin(now);
        self.written = match n {
            Amount::Bytes(bytes) => self.written.saturating_add(bytes),
            Amount::Unlimited => u64::MAX,
        };
        self.end.borrow_mut().write(n, now);
    }

    fn close(&mut self, now: Time) {
        if !std::mem::replace(&mut self.informed.closed, true) {
            self.end.borrow_mut().close(now);
        }
    }

    fn stay_open(&mut self) {
        self.informed.stays_open = true;
    }

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        self.begin(now);
        let data = self.on_the_way.borrow_mut().arrive(s.seq);
        if let Some(data) = data {
            self.end.borrow_mut().receive(data, s.ecn, now);
        }
        self.tell(now, up);
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        if !self.begun && !self.opens && self.end.borrow().speaks_first() {
            self.begin(now);
        }
        if !self.begun {
            return Transmit::Idle;
        }
        let Some(Datagram { data, bytes, ecn }) = self.end.borrow_mut().transmit(now) else {
            return Transmit::Idle;
        };
        assert!(
            (1..=65_535).contains(&bytes),
            "a datagram of {bytes} B: give its size on the wire, 1 to 65535 B"
        );
        self.sent.sent_packets += 1;
        self.sent.sent_payload_bytes += u64::from(bytes);
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
        self.begun.then(|| self.end.borrow().timeout()).flatten()
    }

    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        self.end.borrow_mut().on_timeout(now);
        self.tell(now, up);
    }

    fn received_bytes(&self) -> u64 {
        self.end.borrow().delivered()
    }

    fn progress(&self) -> Option<Progress> {
        let end = self.end.borrow();
        Some(Progress {
            written: self.written,
            // It has been handed to the stack.
            sent: self.written,
            acknowledged: end.acknowledged()?,
            opening: !end.is_connected(),
        })
    }

    fn report(&self, _now: Time) -> SenderReport {
        self.sent
    }

    fn probes(&self) -> Vec<&'static ProbeDef> {
        self.end.borrow().probes().iter().collect()
    }

    fn read(&self, probe: usize) -> f64 {
        self.end.borrow().read(probe)
    }

    fn is_closed(&self) -> bool {
        self.end.borrow().is_closed()
    }
}

/// Makes the ends of connections.
struct Maker<F> {
    make: RefCell<F>,
    made: RefCell<u32>,
}

impl<F, S, R> Ends for Maker<F>
where
    F: FnMut(Pair) -> (Rc<RefCell<S>>, Rc<RefCell<R>>),
    S: Endpoint + 'static,
    R: Endpoint<Data = S::Data> + 'static,
    S::Data: 'static,
{
    fn segment_bytes(&self) -> u32 {
        STACK_SEGMENT
    }

    fn is_two_way(&self) -> bool {
        true
    }

    fn is_from_outside(&self) -> bool {
        true
    }

    fn ends(&self, _path: &mut dyn FnMut() -> Path, rng: &mut Stream) -> [Box<dyn tailback_transport::Endpoint>; 2] {
        let number = self.made.replace_with(|n| *n + 1);
        let pair = Pair {
            number,
            seed: rng.bits(),
        };
        let (first, second) = (self.make.borrow_mut())(pair);
        let on_the_way = Rc::new(RefCell::new(OnTheWay {
            next: 0,
            data: HashMap::new(),
            arrived: VecDeque::new(),
        }));
        [
            Box::new(carried(first, on_the_way.clone(), true)),
            Box::new(carried(second, on_the_way, false)),
        ]
    }
}

fn carried<E: Endpoint>(end: Rc<RefCell<E>>, on_the_way: Rc<RefCell<OnTheWay<E::Data>>>, opens: bool) -> Carried<E> {
    Carried {
        end,
        on_the_way,
        begun: false,
        opens,
        written: 0,
        sent: SenderReport::default(),
        informed: Informed::default(),
    }
}

/// Connections with these ends, for a library or a run of the simulator.
pub fn connection<S, R>(make: impl FnMut(Pair) -> (Rc<RefCell<S>>, Rc<RefCell<R>>) + 'static) -> Connection
where
    S: Endpoint + 'static,
    R: Endpoint<Data = S::Data> + 'static,
    S::Data: 'static,
{
    Connection::new(Maker {
        make: RefCell::new(make),
        made: RefCell::new(0),
    })
}
