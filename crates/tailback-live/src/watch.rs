//! Observes the packets on their way through the simulated network. The tap reports the fates of packets to the holder
//! of their bytes, and measures the real service rate of the bottleneck's line.
//!
//! *Served rate.* While a line is never idle, its packets leave back to back. Over the longest such stretch, the rate
//! is the bits that left divided by the time between the first and the last real departure. A real departure is the
//! departure of the simulated queue plus the delay with which the packet was later written.
//!
//! State: the fates since the last call that took fates; the packets that have left the line and are not yet written;
//! the last stretches.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use tailback_base::{BitRate, DropReason, Duration, MarkReason, Place, Time};
use tailback_sim::wire::tap::{Sight, Tap};

/// Something happened to an injected packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketFate {
    Marked(MarkReason),
    Dropped(Place, DropReason),
}

/// A fate, with the packet's time of entry, and the time and port at which it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub born: Time,
    pub at: Time,
    pub port: u32,
    pub fate: PacketFate,
}

/// The line whose served rate is measured.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub port: u32,
    pub rate: BitRate,
    pub delay: Duration,
}

/// Packets that left the line back to back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    number: u64,
    /// The first real departure, and the last.
    first: Time,
    last: Time,
    /// The bytes without those of the first packet.
    bytes: u64,
}

impl Stretch {
    pub fn length(&self) -> Duration {
        self.last - self.first
    }

    /// The rate in bits a second; NaN for one packet.
    pub fn rate(&self) -> f64 {
        match self.length().0 {
            0 => f64::NAN,
            ns => self.bytes as f64 * 8e9 / ns as f64,
        }
    }
}

/// Packets that have left the line and are not yet written.
struct Departed {
    stretch: u64,
    at: Time,
    bytes: u32,
}

/// The number of stretches that can still grow, because packets of one stretch may take paths of different length.
const RECENT: usize = 64;

pub struct Watch {
    pub events: Vec<Event>,
    line: Option<Line>,
    departed: HashMap<Time, Departed>,
    /// Departure of the last packet, and the number of its stretch.
    last: Time,
    number: u64,
    recent: VecDeque<Stretch>,
    longest: Option<Stretch>,
    also: Option<Box<dyn Tap>>,
}

impl Watch {
    pub fn new(line: Option<Line>) -> Rc<RefCell<Watch>> {
        Rc::new(RefCell::new(Watch {
            events: vec![],
            line,
            departed: HashMap::new(),
            last: Time::ZERO,
            number: 0,
            recent: VecDeque::new(),
            longest: None,
            also: None,
        }))
    }

    /// Let another tap see everything that this one sees.
    pub fn show_also(&mut self, tap: Box<dyn Tap>) {
        self.also = Some(tap);
    }

    fn departs(&mut self, at: &Sight<'_>, line: Line) {
        let (departure, bytes) = (Time(at.now.0 - line.delay.0), at.bytes());
        let service = u64::from(bytes) * 8_000_000_000 / line.rate.0;
        if departure.0.abs_diff(self.last.0 + service) > 1 {
            self.number += 1;
        }
        self.last = departure;
        let left = Departed {
            stretch: self.number,
            at: departure,
            bytes,
        };
        self.departed.insert(at.id().born, left);
    }

    /// A packet has been written this much later than it was due.
    pub fn written(&mut self, born: Time, late: Duration) {
        let Some(d) = self.departed.remove(&born) else { return };
        let departed_at = d.at + late;
        if let Some(s) = self.recent.iter_mut().rev().find(|s| s.number == d.stretch) {
            s.bytes += u64::from(d.bytes);
            s.last = s.last.max(departed_at);
            let s = *s;
            if self.longest.is_none_or(|l| l.length() < s.length()) {
                self.longest = Some(s);
            }
            return;
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Stretch {
            number: d.stretch,
            first: departed_at,
            last: departed_at,
            bytes: 0,
        });
    }

    /// The longest time without a pause.
    pub fn longest(&self) -> Option<Stretch> {
        self.longest
    }
}

/// The tap for the simulator.
pub struct WatchTap(pub Rc<RefCell<Watch>>);

impl Tap for WatchTap {
    fn arrived(&mut self, at: &Sight<'_>) {
        if let Some(tap) = &mut self.0.borrow_mut().also {
            tap.arrived(at);
        }
    }

    fn marked(&mut self, at: &Sight<'_>, why: MarkReason) {
        let mut w = self.0.borrow_mut();
        w.events.push(Event {
            born: at.id().born,
            at: at.now,
            port: at.port,
            fate: PacketFate::Marked(why),
        });
        if let Some(tap) = &mut w.also {
            tap.marked(at, why);
        }
    }

    fn dropped(&mut self, at: &Sight<'_>, place: Place, why: DropReason) {
        let mut w = self.0.borrow_mut();
        // A router's own request to a sender has no bytes outside.
        if !at.is_request() {
            w.events.push(Event {
                born: at.id().born,
                at: at.now,
                port: at.port,
                fate: PacketFate::Dropped(place, why),
            });
        }
        if let Some(tap) = &mut w.also {
            tap.dropped(at, place, why);
        }
    }

    fn sent(&mut self, at: &Sight<'_>) {
        if let Some(tap) = &mut self.0.borrow_mut().also {
            tap.sent(at);
        }
    }

    fn delivered(&mut self, at: &Sight<'_>) {
        let mut w = self.0.borrow_mut();
        if let Some(line) = w.line.filter(|l| l.port == at.port && !at.is_request()) {
            w.departs(at, line);
        }
        if let Some(tap) = &mut w.also {
            tap.delivered(at);
        }
    }
}
