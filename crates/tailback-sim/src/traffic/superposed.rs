//! One Poisson process for a whole group. Its rate is the sum over the flows that have started and not stopped, and
//! each event belongs to a flow that is drawn.
//!
//! The superposition of independent Poisson processes is a Poisson process of the summed rate. An event belongs to each
//! of the processes with a probability in proportion to its rate (D. R. Cox, "Renewal Theory", 1962, chapter 6). The
//! distribution is therefore that of flows with processes of their own. The draws are different, and a group of another
//! size has other arrivals from the first packet on, so runs that compare such groups have no common random numbers.
//!
//! The process has no memory. Therefore the flow that starts or stops last draws the next gap anew, from its own
//! stream, and leads until the next such change. The pending wake of the leader before it is ignored.
//!
//! State of a group: the flows that take part, with their places, 4 bytes each, and the sum of their rates, bit/s. Cost
//! of an event: one wake, three draws; with unequal rates the number of draws grows by the largest rate over the mean.
//! A start or a stop costs the same.

use super::application::{AppInput, Application, Net, Side};
use super::entry::Context;
use super::packet_sizes::Sizes;
use std::cell::RefCell;
use std::rc::Rc;
use tailback_base::{BitRate, Duration, FlowId, Key, Kind, Stream, Time};
use tailback_transport::Amount;

/// The parameter of sources that can be superposed.
pub const SUPERPOSED: Key<bool> = Key::new(
    "superposed",
    Kind::Bool,
    "false",
    "Whether one Poisson process with the summed rate makes the packets of all flows of the group, and a flow is \
     drawn for each packet. The distribution is the same, but the random numbers are different, and the simulation of \
     thousands of flows takes less time. Groups of different sizes then have no common random numbers.",
    "D. R. Cox, Renewal Theory, 1962, chapter 6",
);

/// The next event of a group, and its flow.
#[derive(Clone, Copy)]
enum NextEvent {
    Packet(FlowId),
    Address(FlowId),
}

/// The data that the flows of a group share.
pub struct Superposition {
    /// Numbers of the flows that take part, in any order.
    members: Vec<u32>,
    /// The place in `members`, and the flow, by number of a flow.
    places: Vec<(usize, FlowId)>,
    /// Sum of the members' rates, bit/s, and the largest rate of all flows.
    total: f64,
    largest: f64,
    /// The rates that flows have in turn, bit/s.
    rates: Vec<f64>,
    /// Number of the flow whose wake is the next event.
    leader: u32,
    /// Exact time of the last event, ns.
    last_ns: f64,
    next: NextEvent,
}

/// The state that the flows of a group share.
pub type Shared = Rc<RefCell<Superposition>>;

impl Default for Superposition {
    fn default() -> Superposition {
        Superposition {
            members: Vec::new(),
            places: Vec::new(),
            total: 0.0,
            largest: 0.0,
            rates: Vec::new(),
            leader: 0,
            last_ns: 0.0,
            next: NextEvent::Packet(FlowId(0)),
        }
    }
}

/// One flow of the group.
pub struct Superposed {
    group: Shared,
    index: u32,
    sizes: Box<dyn Sizes>,
    header: u32,
    connection: bool,
    /// Mean time for which a source keeps an address, if it changes its address.
    hold: Option<Duration>,
    stopped: bool,
}

impl Superposed {
    /// The flow with the index in `context`. All flows of a group are made with the same rates and the same mean hold.
    pub fn new(rates: &[BitRate], hold: Option<Duration>, context: &Context) -> Superposed {
        let group = Rc::clone(context.group);
        if group.borrow().rates.is_empty() {
            let rates: Vec<f64> = rates.iter().map(|r| r.bits_per_second()).collect();
            let mut g = group.borrow_mut();
            g.largest = rates.iter().copied().fold(0.0, f64::max);
            g.rates = rates;
        }
        Superposed {
            group,
            index: context.index,
            sizes: (context.sizes)(),
            header: context.header,
            connection: context.connection,
            hold,
            stopped: false,
        }
    }

    /// Draw the next event of the group, and wait for it.
    fn wait(&self, net: &mut dyn Net) {
        let mut group = self.group.borrow_mut();
        if group.members.is_empty() {
            return;
        }
        // Packets and new addresses of all members per nanosecond.
        let packets = group.total / (self.sizes.mean() * 8e9);
        let addresses = self.hold.map_or(0.0, |h| group.members.len() as f64 / h.0 as f64);
        group.last_ns += net.rng().exponential(1.0 / (packets + addresses));
        group.next = match net.rng().chance(addresses / (packets + addresses)) {
            true => NextEvent::Address(group.any(net.rng())),
            false => NextEvent::Packet(group.by_rate(net.rng())),
        };
        let (NextEvent::Address(flow) | NextEvent::Packet(flow)) = group.next;
        net.expect(flow);
        net.wake(Time(group.last_ns as u64));
    }

    /// The group has changed: from now on this flow leads.
    fn lead(&self, net: &mut dyn Net) {
        let mut group = self.group.borrow_mut();
        group.leader = self.index;
        group.last_ns = net.now().0 as f64;
        drop(group);
        self.wait(net);
    }

    fn step(&mut self, net: &mut dyn Net) {
        let next = self.group.borrow().next;
        match next {
            NextEvent::Address(flow) => {
                let label = net.rng().bits() as u32;
                net.relabel(flow, label);
            }
            NextEvent::Packet(flow) => {
                let bytes = self.sizes.draw(net.rng());
                match self.connection {
                    true => net.write(flow, Side::Source, Amount::Bytes(u64::from(bytes))),
                    false => net.datagram(flow, bytes, self.header.min(bytes)),
                }
            }
        }
        self.wait(net);
    }

    fn stop(&mut self, net: &mut dyn Net) {
        self.stopped = true;
        if self.connection
            && let Some(flow) = net.own_flow()
        {
            net.close(flow, Side::Source);
        }
        if self.group.borrow_mut().leave(self.index) {
            self.lead(net);
        }
    }
}

impl Application for Superposed {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start if !self.stopped => {
                if let Some(flow) = net.own_flow() {
                    self.group.borrow_mut().join(self.index, flow);
                    self.lead(net);
                }
            }
            AppInput::Wake if self.group.borrow().is_led_by(self.index) => self.step(net),
            AppInput::Stop => self.stop(net),
            _ => {}
        }
    }

    /// Other flows of the group write to its connection, so a run must not go ahead there.
    fn listens(&self) -> bool {
        self.connection
    }
}

impl Superposition {
    /// Whether a wake of this flow is an event of the group.
    fn is_led_by(&self, number: u32) -> bool {
        self.leader == number && !self.members.is_empty()
    }

    fn rate(&self, number: u32) -> f64 {
        self.rates[number as usize % self.rates.len()]
    }

    fn join(&mut self, number: u32, flow: FlowId) {
        if self.places.len() <= number as usize {
            self.places.resize(number as usize + 1, (usize::MAX, FlowId(0)));
        }
        self.places[number as usize] = (self.members.len(), flow);
        self.members.push(number);
        self.total += self.rate(number);
    }

    /// Whether the flow took part.
    fn leave(&mut self, number: u32) -> bool {
        let Some(&(place, _)) = self
            .places
            .get(number as usize)
            .filter(|(place, _)| *place != usize::MAX)
        else {
            return false;
        };
        self.members.swap_remove(place);
        if let Some(moved) = self.members.get(place) {
            self.places[*moved as usize].0 = place;
        }
        self.places[number as usize].0 = usize::MAX;
        self.total = match self.members.is_empty() {
            true => 0.0,
            false => self.total - self.rate(number),
        };
        true
    }

    /// A member, each with the same probability.
    fn any(&self, rng: &mut Stream) -> FlowId {
        self.flow(self.members[rng.below(self.members.len() as u64) as usize])
    }

    /// A member, each with a probability in proportion to its rate.
    fn by_rate(&self, rng: &mut Stream) -> FlowId {
        loop {
            let member_number = self.members[rng.below(self.members.len() as u64) as usize];
            let rate = self.rate(member_number);
            if rate >= self.largest || rng.chance(rate / self.largest) {
                return self.flow(member_number);
            }
        }
    }

    fn flow(&self, number: u32) -> FlowId {
        self.places[number as usize].1
    }
}
