//! Lazy ports: a queue that nobody looks at is served when somebody does.
//!
//! An explicit port has an event each time its line falls free, and one for each timer of its discipline. Where nothing
//! can see its queue between two packets, what was due is made up for when the next packet comes: in order, as of the
//! times at which it was due. A port is lazy if
//!
//! 1. nothing looks at its queue: no series, no tap, no conditioner, no check of laws; and no log writes down all losses
//!    of the run, in the order of time;
//! 2. its discipline has a state of its own ([`QueueDiscipline::is_shared`]) and sends no requests;
//! 3. nothing in the whole network changes while the run goes on, since a change comes before what is served at its
//!    instant, and no packets come from outside, since whoever brings them asks when the next comes out;
//! 4. its delay is not zero: what the line takes now can be nowhere else now.
//!
//! What is due is made up for before all that can tell the difference: a packet comes, a flow joins or leaves, a
//! connection is counted, a number of a connection is given out again, a tick looks at everything, the time is over that
//! may be run. One event a port stands for all others. It comes at the delay after the next service or timer, since
//! nothing that is sent then can be at the far end before; when it comes, it looks again.
//!
//! The order at one instant is that of events: line, timer, arrivals. What is due at the instant at which it was armed
//! (a transmission of no length, a timer for now) waits for its event, as the rest of a burst comes before that.
//!
//! What would be lost without: at 100 flows half of all events are services.
//!
//! State: two fields of [`Explicit`](crate::wire::port::Explicit), and the list of lazy ports.
//!
//! [`QueueDiscipline::is_shared`]: tailback_queue::QueueDiscipline::is_shared

use super::Sim;
use crate::sim::flow::Carrier;
use crate::wire::event::EventKind;
use crate::wire::port::{Before, NO_EDGE, Queue};
use tailback_base::work::counted_as;
use tailback_base::{Duration, Time};

impl Sim {
    /// The rules, for the network as it stands.
    pub(super) fn find_lazy_ports(&mut self) {
        let ports = 0..self.net.ports.len() as u32;
        let is_explicit = |p: &u32| matches!(self.net.ports[*p as usize].queue, Queue::Explicit(_));
        let explicit: Vec<u32> = counted_as(4, ports).filter(is_explicit).collect();
        if explicit.is_empty() || self.changes_are_planned() {
            return;
        }
        let outside = counted_as(4, &self.flows.all).any(|f| matches!(f.carrier, Carrier::Injected(_)));
        let looks = self.looks();
        if outside || looks.losses {
            return;
        }
        for number in explicit {
            let port = &mut self.net.ports[number as usize];
            let free = port.before & !Before::IMPAIRMENTS == Before::NOTHING && port.edge == NO_EDGE;
            let unseen = free && !port.watched && !looks.queue[number as usize] && !port.sends_requests();
            if let Queue::Explicit(e) = &mut port.queue
                && unseen
                && port.delay > Duration::ZERO
                && !e.server.queue.is_shared()
            {
                e.lazy = true;
                self.ahead.lazy.push(number);
                self.await_service(number);
            }
        }
    }

    /// A lazy port does what was due by now. No effect at others.
    #[inline]
    pub(super) fn catch_up(&mut self, port: u32) {
        if let Queue::Explicit(e) = &self.net.ports[port as usize].queue
            && e.lazy
            && e.server.due() <= self.now
            && e.armed != self.now
        {
            self.make_up(port);
        }
    }

    /// Whoever looks at everything wants every queue as it is now.
    pub(super) fn catch_up_all(&mut self) {
        for i in 0..self.ahead.lazy.len() {
            self.catch_up(self.ahead.lazy[i]);
        }
    }

    /// The event of a lazy port. False if the port is none.
    pub(super) fn on_lazy_service(&mut self, port: u32) -> bool {
        let Queue::Explicit(e) = &mut self.net.ports[port as usize].queue else {
            return false;
        };
        if !e.lazy {
            return false;
        }
        if e.armed == self.now {
            e.armed = Time::NEVER;
        }
        self.catch_up(port);
        self.await_service(port);
        true
    }

    /// An event for what is due next at a lazy port. One that is there and comes earlier looks again.
    pub(super) fn await_service(&mut self, port: u32) {
        let at = &mut self.net.ports[port as usize];
        let Queue::Explicit(e) = &mut at.queue else { return };
        if let Some(looks) = e.looks_again(self.now, at.delay) {
            self.events.push(looks, EventKind::Service, port);
        }
    }

    /// Serve the line and run the timers that were due by now, each as of its time.
    #[inline(never)]
    fn make_up(&mut self, port: u32) {
        let now = self.now;
        self.ahead.deep += 1;
        while let Queue::Explicit(e) = &self.net.ports[port as usize].queue
            && let due = e.server.due()
            && due <= now
        {
            let serves = e.server.service_at() == due;
            self.now = due;
            self.counters.made_up += 1;
            match serves {
                true => self.work(port, Some(EventKind::Service), |server, out| server.serve(due, out)),
                false => self.work(port, Some(EventKind::QueueTimer), |server, out| {
                    server.run_timer(due, out)
                }),
            }
        }
        self.ahead.deep -= 1;
        self.now = now;
    }
}
