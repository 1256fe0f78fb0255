//! The simulator's endpoint around a user's endpoint. Its packets carry a number; the data for each number is in a
//! table that both ends share.
//!
//! State of an end: whether it has begun; the bytes that its application has written; the values that the application
//! has been told; how often it was called at this instant. A packet costs a look-up in the table. After each datagram
//! and each timeout the application gets the changes. An end that breaks its contract ends the run by unwinding with a
//! [`Refusal`].

use crate::contents::{HeldBytes, first_number};
use crate::{Amount, Datagram, Endpoint, Pair};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::{Rc, Weak};
use tailback_base::quantity::Refusal;
use tailback_base::{ProbeDef, Stream, Time};
use tailback_sim::library::outside::{STACK_HEADER, STACK_KEPT, STACK_SEGMENT};
use tailback_transport::path::Path;
use tailback_transport::{AppEvent, AppEvents, Connection, Ends, Flags, Progress, Segment, SenderReport, Transmit};

/// If an end returns this many datagrams at one instant, it is assumed to never return `None`. These datagrams take
/// some hundred megabytes.
const MOST_AT_ONCE: u32 = 1 << 18;
/// If an end's timeout comes this often at one instant, without a datagram, the end is stuck.
const PATIENCE: u32 = 10_000;

/// Data on the way, by number. Data that a queue drops stays here until the run is over.
struct OnTheWay<D> {
    next: u64,
    /// The bytes of a datagram that a capture shows.
    captured: fn(&D) -> Option<Vec<u8>>,
    data: HashMap<u64, D>,
    /// The numbers that have arrived at least once, the oldest first.
    arrived: VecDeque<u64>,
    /// Bytes that the first and the second end have delivered.
    delivered: [u64; 2],
}

impl<D: Clone> OnTheWay<D> {
    fn send(&mut self, data: D) -> u64 {
        self.next += 1;
        self.data.insert(self.next, data);
        self.next
    }

    fn arrive(&mut self, number: u64) -> Option<D> {
        let datagram = self.data.get(&number).cloned()?;
        self.arrived.push_back(number);
        if self.arrived.len() > STACK_KEPT
            && let Some(oldest) = self.arrived.pop_front()
        {
            self.data.remove(&oldest);
        }
        Some(datagram)
    }
}

impl<D> HeldBytes for RefCell<OnTheWay<D>> {
    fn bytes(&self, number: u64) -> Option<Vec<u8>> {
        let on_the_way = self.borrow();
        on_the_way.data.get(&number).and_then(on_the_way.captured)
    }
}

/// A user's end in the simulator.
struct Carried<E: Endpoint> {
    /// Its name in messages.
    name: Rc<str>,
    end: Rc<RefCell<E>>,
    on_the_way: Rc<RefCell<OnTheWay<E::Data>>>,
    begun: bool,
    /// Whether it is the first end of a pair, which begins when its application first writes to it.
    opens: bool,
    written: u64,
    sent: SenderReport,
    informed: Informed,
    calls: Calls,
}

/// The calls of an end at one instant.
#[derive(Default)]
struct Calls {
    at: Time,
    datagrams: u32,
    /// The timeouts since the last datagram.
    timeouts: u32,
}

/// The values that the application of an end has been told.
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
            let mut end = self.end.borrow_mut();
            end.start(now);
            if self.informed.closed {
                end.close(now);
            }
        }
    }

    /// The run ends with this message. This is not a panic, so the hook that prints panics is not called.
    fn fail(&self, problem: &str, now: Time, remedy: &str) -> ! {
        let problem = format!("{} {problem} ({} s into the run)", self.name, now.seconds());
        std::panic::resume_unwind(Box::new(Refusal::new(problem, remedy)))
    }

    fn calls(&mut self, now: Time) -> &mut Calls {
        if self.calls.at < now {
            self.calls = Calls {
                at: now,
                ..Calls::default()
            };
        }
        &mut self.calls
    }

    /// Whether there is nothing left to do. The bytes that were written have to arrive, whatever the end reports.
    fn is_done(&self) -> bool {
        let arrived = self.on_the_way.borrow().delivered[usize::from(self.opens)];
        self.end.borrow().is_closed() && (self.written == u64::MAX || arrived >= self.written)
    }

    /// Tell the application about the changes.
    fn tell(&mut self, now: Time, up: &mut dyn AppEvents) {
        let (end, informed) = (self.end.borrow(), &mut self.informed);
        if !informed.connected && end.is_connected() {
            informed.connected = true;
            up.event(AppEvent::Connected);
        }
        let delivered = end.delivered();
        if delivered < informed.delivered {
            let problem = format!("has delivered {delivered} B, after {} B", informed.delivered);
            self.fail(&problem, now, "count all bytes that it has ever delivered");
        }
        if delivered > informed.delivered {
            self.on_the_way.borrow_mut().delivered[usize::from(!self.opens)] = delivered;
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
        if self.informed.closed && !self.informed.over && self.is_done() {
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
            let was_done = self.is_done();
            // An end that has not begun closes when it begins.
            if self.begun {
                self.end.borrow_mut().close(now);
            }
            // The caller tells the application.
            self.informed.over = !was_done && self.is_done();
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
        if !(1..=65_535).contains(&bytes) {
            let problem = format!("gives a datagram of {bytes} B");
            self.fail(&problem, now, "give 1 to 65535 B, headers included");
        }
        let calls = self.calls(now);
        (calls.datagrams, calls.timeouts) = (calls.datagrams + 1, 0);
        if calls.datagrams > MOST_AT_ONCE {
            let remedy = "let transmit give no datagram while the window is full; to pace, let timeout be the time of \
                          the next datagram";
            self.fail(&format!("sends {MOST_AT_ONCE} datagrams at once"), now, remedy);
        }
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
        let calls = self.calls(now);
        calls.timeouts += 1;
        if calls.timeouts > PATIENCE {
            let remedy = "its timeout is not later than now, and on_timeout and transmit change nothing; let \
                          on_timeout move the timeout";
            self.fail("stands still", now, remedy);
        }
        self.end.borrow_mut().on_timeout(now);
        self.tell(now, up);
    }

    fn received_bytes(&self) -> u64 {
        self.end.borrow().delivered().max(self.informed.delivered)
    }

    fn wire_bytes(&self, payload: u64) -> u64 {
        payload + u64::from(STACK_HEADER) * payload.div_ceil(u64::from(STACK_SEGMENT))
    }

    fn progress(&self) -> Option<Progress> {
        let end = self.end.borrow();
        Some(Progress {
            written: self.written,
            // These bytes have been handed to the stack.
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
        self.is_done()
    }
}

/// Makes the ends of connections.
struct Maker<F> {
    name: Rc<str>,
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
        let maker_number = self.made.replace_with(|n| *n + 1);
        let pair = Pair {
            number: maker_number,
            seed: rng.bits(),
        };
        let (first, second) = (self.make.borrow_mut())(pair);
        let on_the_way = Rc::new(RefCell::new(OnTheWay {
            next: 0,
            captured: S::captured,
            data: HashMap::new(),
            arrived: VecDeque::new(),
            delivered: [0; 2],
        }));
        let kept: Weak<RefCell<OnTheWay<S::Data>>> = Rc::downgrade(&on_the_way);
        on_the_way.borrow_mut().next = first_number(kept);
        [
            Box::new(carried(&self.name, first, on_the_way.clone(), true)),
            Box::new(carried(&self.name, second, on_the_way, false)),
        ]
    }
}

fn carried<E: Endpoint>(
    name: &Rc<str>,
    end: Rc<RefCell<E>>,
    on_the_way: Rc<RefCell<OnTheWay<E::Data>>>,
    opens: bool,
) -> Carried<E> {
    Carried {
        name: name.clone(),
        end,
        on_the_way,
        begun: false,
        opens,
        written: 0,
        sent: SenderReport::default(),
        informed: Informed::default(),
        calls: Calls::default(),
    }
}

/// Connections with these ends, for a library or a run of the simulator. Messages call each end `name`.
pub fn connection<S, R>(name: &str, make: impl FnMut(Pair) -> (Rc<RefCell<S>>, Rc<RefCell<R>>) + 'static) -> Connection
where
    S: Endpoint + 'static,
    R: Endpoint<Data = S::Data> + 'static,
    S::Data: 'static,
{
    Connection::new(Maker {
        name: name.into(),
        make: RefCell::new(make),
        made: RefCell::new(0),
    })
}
