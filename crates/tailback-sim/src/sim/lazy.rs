//! Lazy ports: a queue is served when its state is needed, not when its line is free.
//!
//! A port with a discipline (an explicit port) needs an event each time its line is free, and one for each timer of the
//! discipline. If nothing can see the queue between two packets, these events are not needed. The actions that were due
//! are done when the next packet comes: in order, and each call as of the time at which it was due. A port is lazy if
//!
//! 1. nothing looks at its queue: no series, no tap, no conditioner, and no check of laws. If all losses of the run are
//!    logged, in the order of time, no port is lazy;
//! 2. its discipline shares no state with others ([`QueueDiscipline::is_shared`]) and sends no requests;
//! 3. no value of the network changes during the run, because at one instant a change comes before a service. No
//!    packets come from outside, because the program that brings them asks when the next packet comes out;
//! 4. its delay is not zero. A packet that the line takes now can therefore be nowhere else now.
//!
//! The actions that were due are done before anything that can see the difference: before a packet enters the queue,
//! before a flow joins or leaves, before the counts of a closed connection are added up, before the number of a closed
//! connection is used again, before a tick that looks at everything, and at the end of the time that may be run. Each
//! port has one event. This event comes one delay after the next service or timer, because nothing that is sent then
//! can be at the far end before. Then the actions that were due are done, and the event is set again. While a packet is
//! on the port's wire, its arrival is that event, because packets that are sent later arrive later.
//!
//! At one instant the order is that of events: line, timer, arrivals. There is one special case: a service may be due
//! at the instant at which it was set (after a transmission of no length). This service waits for its event, because
//! the rest of the burst arrives before that. Benefit: with 100 flows, half of all events would be services.
//!
//! State: a flag of each port, the time of the event of an [`Explicit`](crate::wire::port::Explicit) one, and the list
//! of lazy ports.
//!
//! [`QueueDiscipline::is_shared`]: tailback_queue::QueueDiscipline::is_shared

use super::Sim;
use crate::sim::flow::Carrier;
use crate::wire::event::EventKind;
use crate::wire::port::{Before, NO_EDGE, Queue};
use tailback_base::work::counted_as;
use tailback_base::{Duration, Time};

impl Sim {
    /// Find the lazy ports, by the rules above.
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
                port.lazy = true;
                self.ahead.lazy.push(number);
                self.await_service(number);
            }
        }
    }

    /// Do the actions that were due by now at a lazy port. It has no effect at other ports.
    #[inline]
    pub(super) fn catch_up(&mut self, port: u32) {
        let port_state = &self.net.ports[port as usize];
        if let Queue::Explicit(e) = &port_state.queue
            && port_state.lazy
            && e.server.next().is_some_and(|due| due <= self.now)
            && e.armed != self.now
        {
            self.make_up(port);
        }
    }

    /// Do the actions that were due by now at all lazy ports.
    pub(super) fn catch_up_all(&mut self) {
        for i in 0..self.ahead.lazy.len() {
            self.catch_up(self.ahead.lazy[i]);
        }
    }

    /// The event of a lazy port. Returns false if the port is not lazy.
    pub(super) fn on_lazy_service(&mut self, port: u32) -> bool {
        let port_state = &mut self.net.ports[port as usize];
        let Queue::Explicit(e) = &mut port_state.queue else {
            return false;
        };
        if !port_state.lazy {
            return false;
        }
        if e.armed == self.now {
            e.armed = Time::NEVER;
        }
        self.catch_up(port);
        self.await_service(port);
        true
    }

    /// Set the event of a lazy port, unless it has one that comes no later.
    pub(super) fn await_service(&mut self, port: u32) {
        let port_state = &mut self.net.ports[port as usize];
        let Queue::Explicit(e) = &mut port_state.queue else {
            return;
        };
        if let Some(t) = e.needs_event(self.now, port_state.delay, &port_state.wire) {
            self.events.push(t, EventKind::Service, port);
        }
    }

    /// The last packet on the wire of a lazy port has arrived, and its arrival was the port's event: do the due
    /// actions.
    pub(super) fn look_behind(&mut self, port: u32) {
        self.catch_up(port);
        self.await_service(port);
    }

    /// Serve the line and run the timers that were due by now, each as of its time.
    #[inline(never)]
    fn make_up(&mut self, port: u32) {
        let now = self.now;
        self.ahead.deep += 1;
        while let Queue::Explicit(e) = &self.net.ports[port as usize].queue
            && let Some(due) = e.server.next().filter(|due| *due <= now)
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
