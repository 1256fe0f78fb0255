//! Runs the sender of a workload alone on each kind of path that its flows took, and records how many bytes it had
//! delivered at each instant.
//!
//! The network is a chain of links with the rates and delays of the path and without limits of queues. Its only
//! connection is opened at the beginning and sends as much as the largest transfer on that path.

use crate::build::network::{Direction, Network, Transport};
use crate::sim::Sim;
use crate::sim::ideal::PathKind;
use crate::traffic::application::{AppInput, Application, Ends, Net, Side};
use std::cell::RefCell;
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Stream, Time};
use tailback_transport::path::Path;
use tailback_transport::{Amount, AppEvent};

/// The longest time that a lone sender may take for its transfer: a multiple of the time on its slowest line, plus a
/// number of seconds.
const LONGEST: (f64, f64) = (20.0, 10.0);

/// Writes once, and notes the data that arrive.
struct Once {
    bytes: u64,
    delivered: Rc<RefCell<Vec<(u64, Time)>>>,
}

impl Application for Once {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start => {
                if let Some(flow) = net.own_flow() {
                    net.write(flow, Side::Source, Amount::Bytes(self.bytes));
                }
            }
            AppInput::Transport {
                side: Side::Destination,
                event: AppEvent::Delivered(bytes),
                ..
            } => {
                let mut delivered = self.delivered.borrow_mut();
                let before = delivered.last().map_or(0, |d| d.0);
                delivered.push((before + bytes, net.now()));
            }
            _ => {}
        }
    }
}

/// Run the lone sender on each kind of path that transfers took.
///
/// # Errors
/// A network that cannot be built.
pub fn run(sim: &mut Sim) -> Result<(), Refusal> {
    for i in 0..sim.apps.alone.all.len() {
        let lone_sender = &sim.apps.alone.all[i];
        let maker = &sim.apps.transports[lone_sender.kind.transport as usize];
        // A random stream of its own, always with the same seed.
        let mut stream = Stream::new(0, "alone");
        let mut path = || path_of(&lone_sender.kind);
        let ends = (maker.make)(&mut path, &mut stream);
        let from_outside = maker.from_outside;
        let delivered = one(
            &lone_sender.kind,
            lone_sender.most,
            lone_sender.packet + lone_sender.header,
            ends,
            from_outside,
        )?;
        sim.apps.alone.all[i].delivered = delivered;
    }
    Ok(())
}

fn path_of(kind: &PathKind) -> Path {
    let mut path = Path::default();
    for (way, links) in [(&mut path.there, &kind.there), (&mut path.back, &kind.back)] {
        for (rate, delay) in links {
            way.lines.push(*rate);
            way.delay += *delay;
        }
    }
    path
}

fn one(kind: &PathKind, bytes: u64, packet: u64, ends: Ends, from_outside: bool) -> Result<Vec<(u64, Time)>, Refusal> {
    let mut net = Network::new(0);
    let hops = kind.there.len();
    let nodes: Vec<_> = (0..=hops).map(|i| net.node(&format!("n{i}"))).collect();
    for i in 0..hops {
        let (rate, delay) = kind.there[i];
        let (back_rate, back_delay) = kind.back[hops - 1 - i];
        let directions = [Direction::new(rate, delay), Direction::new(back_rate, back_delay)];
        let [there, back] = directions;
        net.link(&format!("l{i}"), nodes[i], nodes[i + 1], there, back);
    }
    let group = net.group("alone");
    let flow = net.flow(group, 0, nodes[0], nodes[hops], Transport::Connection(ends));
    let delivered = Rc::new(RefCell::new(Vec::new()));
    let app = Once {
        bytes,
        delivered: delivered.clone(),
    };
    net.feed(flow, Box::new(app), Time::ZERO, None, true);
    let mut built = net.build()?;
    if from_outside {
        built.sim.ahead.never = true;
        built.sim.ask_at(flow.0, Side::Destination, Time::ZERO);
    }
    let slowest = kind
        .there
        .iter()
        .map(|l| l.0.bits_per_second())
        .fold(f64::INFINITY, f64::min);
    let trip: f64 = kind.there.iter().chain(&kind.back).map(|l| l.1.seconds()).sum();
    let line = (bytes + packet) as f64 * 8.0 / slowest;
    let end = LONGEST.0 * (line + 50.0 * trip) + LONGEST.1;
    let step = Duration::from_seconds((line + 20.0 * trip).max(1e-6));
    let mut until = Time::ZERO + step;
    // Run in steps, because most of the longest time is not needed.
    while delivered.borrow().last().is_none_or(|d| d.0 < bytes) && until.seconds() < end {
        built.sim.run_until(until);
        until += step;
    }
    drop(built);
    Ok(delivered.take())
}
