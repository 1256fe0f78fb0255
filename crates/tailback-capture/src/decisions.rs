//! Decisions at one port: the packets that arrive, are marked, are dropped and leave in a window of time, and the
//! packets that wait at an instant in this window.
//!
//! State: one event of 32 bytes for each arrival, mark, drop or departure in the window; the packets that wait when the
//! window begins, by flow; and the identity of each waiting packet, because a packet that a conditioner drops has never
//! waited. Before the window only the last two are stored. A window of too many events becomes shorter: it keeps the
//! events around one instant. A packet costs three look-ups.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use tailback_base::{DropReason, MarkReason, Place, Time};
use tailback_sim::wire::packet::PacketId;
use tailback_sim::wire::tap::{Looks, Names, Sight, Tap};

/// The largest number of events in a window, some 40 MB.
pub const MOST_EVENTS: usize = 1 << 20;

/// An event of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueEvent {
    Arrived,
    Sent,
    Marked(MarkReason),
    Dropped(Place, DropReason),
}

impl QueueEvent {
    /// The word for the event, the place of a drop, and the reason; empty if the event has no reason.
    pub fn words(self) -> [&'static str; 3] {
        match self {
            QueueEvent::Arrived => ["arrives", "", ""],
            QueueEvent::Sent => ["leaves", "", ""],
            QueueEvent::Marked(why) => ["marked", "", why.name()],
            QueueEvent::Dropped(place, why) => ["dropped", place.name(), why.name()],
        }
    }
}

/// One thing that happens at the port.
#[derive(Clone, Copy, Debug)]
pub struct DecisionEvent {
    pub at: Time,
    pub flow: u32,
    pub bytes: u32,
    /// The role of the packet in its flow.
    pub sequence: u64,
    pub what: QueueEvent,
    /// The change of the number of waiting packets of the flow.
    step: i8,
}

/// Waiting packets and bytes, by flow.
pub type Waiting = BTreeMap<u32, (u64, u64)>;

/// A window of time at a port, after the run.
#[derive(Default)]
pub struct DecidedWindow {
    from: Time,
    to: Time,
    /// The waiting packets at the beginning of the window.
    before: Waiting,
    events: Vec<DecisionEvent>,
    /// The names of flows, indexed by the number of the flow.
    flows: Vec<String>,
}

impl DecidedWindow {
    /// The first and the last instant that the window contains. Early events of the first instant may be missing.
    pub fn span(&self) -> (Time, Time) {
        (self.from, self.to)
    }

    /// Take an event. If the window is full, its older half is added to the state before the window.
    fn push(&mut self, e: DecisionEvent, most: usize) {
        if self.events.len() >= most {
            for old in self.events.drain(..most / 2) {
                self.from = old.at;
                step(&mut self.before, &old);
            }
        }
        self.events.push(e);
    }

    /// The packets that wait at an instant, and the last events up to this instant, the oldest first.
    pub fn at(&self, now: Time, last: usize) -> (Waiting, &[DecisionEvent]) {
        let past_events = self.events.partition_point(|e| e.at <= now);
        let mut waiting = self.before.clone();
        for e in &self.events[..past_events] {
            step(&mut waiting, e);
        }
        (waiting, &self.events[past_events.saturating_sub(last)..past_events])
    }

    /// The name of a flow; connections of sessions have none.
    pub fn name(&self, flow: u32) -> String {
        let named = self.flows.get(flow as usize);
        named.map_or_else(|| format!("connection {flow}"), String::clone)
    }
}

fn step(waiting: &mut Waiting, e: &DecisionEvent) {
    let bytes = u64::from(e.bytes);
    match e.step {
        1 => {
            let w = waiting.entry(e.flow).or_default();
            *w = (w.0 + 1, w.1 + bytes);
        }
        -1 => {
            if let Some(w) = waiting.get_mut(&e.flow) {
                *w = (w.0.saturating_sub(1), w.1.saturating_sub(bytes));
                if w.0 == 0 {
                    waiting.remove(&e.flow);
                }
            }
        }
        _ => {}
    }
}

/// Watches the port of this name from one instant to another.
pub struct Decisions {
    port: String,
    around: Time,
    most: usize,
    window: Rc<RefCell<DecidedWindow>>,
}

impl Decisions {
    /// If there are more than `most` events, those around one instant are kept.
    pub fn new(port: &str, (from, to): (Time, Time), around: Time, most: usize) -> Decisions {
        Decisions {
            port: port.to_string(),
            around,
            most: most.max(2),
            window: Rc::new(RefCell::new(DecidedWindow {
                from,
                to,
                ..DecidedWindow::default()
            })),
        }
    }

    /// The tap for a run.
    pub fn tap(&self, names: &Names) -> Box<dyn Tap> {
        self.window.borrow_mut().flows.clone_from(&names.flows);
        let port = names.ports.iter().position(|name| *name == self.port);
        Box::new(PortTap {
            port: port.map(|i| i as u32),
            around: self.around,
            most: self.most,
            inside: HashMap::new(),
            window: self.window.clone(),
        })
    }

    /// The observed window; to be called when the run is over.
    pub fn finish(self) -> DecidedWindow {
        self.window.take()
    }
}

struct PortTap {
    port: Option<u32>,
    around: Time,
    most: usize,
    /// The number of copies of a packet that wait.
    inside: HashMap<PacketId, u32>,
    window: Rc<RefCell<DecidedWindow>>,
}

impl PortTap {
    fn add(&mut self, at: &Sight<'_>, what: QueueEvent) {
        let (from, to) = self.window.borrow().span();
        if at.now > to {
            return;
        }
        let id = at.id();
        let step = match what {
            QueueEvent::Arrived => {
                *self.inside.entry(id).or_default() += 1;
                1
            }
            QueueEvent::Marked(_) => 0,
            QueueEvent::Sent | QueueEvent::Dropped(..) => self.leaves(id),
        };
        let e = DecisionEvent {
            at: at.now,
            flow: id.flow.0,
            bytes: at.bytes(),
            sequence: id.sequence,
            what,
            step,
        };
        let mut window = self.window.borrow_mut();
        if at.now < from {
            self::step(&mut window.before, &e);
        } else if at.now <= self.around || window.events.len() < self.most {
            window.push(e, self.most);
        } else {
            // The window keeps all events of an instant or leaves out all of them.
            let last = e.at;
            window.events.retain(|e| e.at < last);
            window.to = Time(last.0 - 1);
        }
    }

    /// -1 for a packet that waited, 0 for one that was dropped before it arrived at the queue.
    fn leaves(&mut self, id: PacketId) -> i8 {
        match self.inside.get_mut(&id) {
            None => 0,
            Some(1) => {
                self.inside.remove(&id);
                -1
            }
            Some(copies) => {
                *copies -= 1;
                -1
            }
        }
    }
}

impl Tap for PortTap {
    fn looks(&self, port: u32) -> Looks {
        if Some(port) == self.port {
            Looks::Queue
        } else {
            Looks::Nothing
        }
    }

    fn arrived(&mut self, at: &Sight<'_>) {
        self.add(at, QueueEvent::Arrived);
    }

    fn marked(&mut self, at: &Sight<'_>, why: MarkReason) {
        self.add(at, QueueEvent::Marked(why));
    }

    fn dropped(&mut self, at: &Sight<'_>, place: Place, why: DropReason) {
        self.add(at, QueueEvent::Dropped(place, why));
    }

    fn sent(&mut self, at: &Sight<'_>) {
        self.add(at, QueueEvent::Sent);
    }

    fn delivered(&mut self, _: &Sight<'_>) {}
}
