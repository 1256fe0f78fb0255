//! The things that an agent controls from outside of a run: the window or the pacing rate of a connection, and a queue
//! that drops and marks by chance.
//!
//! Both share their state with the stepper that contains the run. The locks are never contended: run and stepper are on
//! one thread.

use super::features::PathFeatures;
use crate::control::CountedAck;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tailback_base::{BitRate, Model, Packet, Settings, Stream};
use tailback_queue::{Admission, Backlog, Decision, DropReason, Exit, Line, MarkReason, Out, Waiting};
use tailback_transport::tcp::congestion::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Controller, Facts, Handover, Reset, WindowRules,
};

pub fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

pub static MODEL: Model = Model {
    name: "agent",
    family: "congestion",
    title: "Steered from outside",
    summary: "An agent outside of the run (tailback.gym) sets the window or the pacing rate.",
    source: "",
    params: &[],
    probes: &[],
};

pub static ROW: Controller = Controller {
    model: &MODEL,
    also: &[],
    facts: Facts {
        records: |_, _| true,
        ..Facts::CLASSIC
    },
    build: build_window,
};

/// The largest number of segments of a controlled window.
pub const MOST_SEGMENTS: f64 = 1e5;
/// At the start a connection with a controlled rate sends one initial window in this time, seconds.
const FIRST_ROUND: f64 = 0.1;
/// The range of a controlled rate, bytes a second.
const RATES: (f64, f64) = (100.0, 1.25e11);

/// A connection under an agent, with the events that it has met.
pub struct Steered {
    pub cwnd: f64,
    /// Bytes a second on the wire, if the agent controls the rate; the window is then the largest possible.
    pub pace: Option<f64>,
    pub segment: f64,
    pub seen: PathFeatures,
}

impl Steered {
    /// From now on the agent controls the pacing rate.
    pub fn by_rate(&mut self) {
        self.pace = Some(self.cwnd / FIRST_ROUND);
        self.cwnd = MOST_SEGMENTS * self.segment;
    }

    /// Multiply the window or the rate that the agent controls.
    pub fn act(&mut self, factor: f64) {
        match &mut self.pace {
            Some(pace) => *pace = (*pace * factor).clamp(RATES.0, RATES.1),
            None => self.cwnd = (self.cwnd * factor).clamp(self.segment, MOST_SEGMENTS * self.segment),
        }
    }

    /// The window; for a connection whose rate is controlled, the amount that it sends in a round trip.
    pub fn window(&self) -> f64 {
        self.pace
            .map_or(self.cwnd, |pace| pace * self.seen.round_trip(FIRST_ROUND))
    }

    /// Set the window to one segment (RFC 5681 section 3.1), or the rate to one segment in a round trip.
    fn timed_out(&mut self) {
        match &mut self.pace {
            Some(pace) => *pace = (self.segment / self.seen.round_trip(1.0)).max(RATES.0),
            None => self.cwnd = self.segment,
        }
    }
}

thread_local! {
    /// The windows of the run that is being built on this thread.
    static BUILT: RefCell<Vec<Arc<Mutex<Steered>>>> = RefCell::default();
}

/// The windows that were built on this thread since the last call.
pub fn built() -> Vec<Arc<Mutex<Steered>>> {
    BUILT.with(|b| b.take())
}

fn build_window(_: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    let steered = Arc::new(Mutex::new(Steered {
        cwnd: rules.initial_window,
        pace: None,
        segment: rules.segment,
        seen: PathFeatures::new(rules.segment),
    }));
    BUILT.with(|b| b.borrow_mut().push(steered.clone()));
    Box::new(SteeredWindow(steered))
}

/// A congestion control without rules of its own, except after a timeout.
struct SteeredWindow(Arc<Mutex<Steered>>);

impl CongestionControl for SteeredWindow {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        let counted = CountedAck::new(a.rate, a.lost, a.ecn_echo, a.rtt);
        locked(&self.0).seen.count(counted);
    }

    fn on_congestion(&mut self, e: &CongestionEvent) {
        if let Congestion::Timeout { .. } | Congestion::LostSyn = e.what {
            locked(&self.0).timed_out();
        }
    }

    fn window_reset(&mut self, _: Reset) {}

    fn take_over(&mut self, from: &Handover) {
        let mut steered = locked(&self.0);
        if steered.pace.is_none() {
            steered.cwnd = from.cwnd;
        }
    }

    fn pacing(&self) -> Option<BitRate> {
        locked(&self.0).pace.map(|bytes| BitRate((8.0 * bytes) as u64))
    }

    fn cwnd(&self) -> f64 {
        locked(&self.0).cwnd
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
}

/// The settings of a controlled queue, and the packets that have come through it since the last look.
#[derive(Default)]
pub struct Gate {
    pub drop: f64,
    pub mark: f64,
    pub arrived: f64,
    pub sent: f64,
    pub packets: f64,
    pub dropped: f64,
    pub marked: f64,
    pub waited: f64,
    pub served: f64,
    pub backlog: Backlog,
}

/// Drops and marks arriving packets with the probabilities that an agent sets. It costs a random draw if both
/// probabilities are above 0.
pub struct SteeredDrops {
    pub gate: Arc<Mutex<Gate>>,
    pub stream: Stream,
    pub ecn: bool,
}

impl<P: Packet> Admission<P> for SteeredDrops {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, out: &mut dyn Out<P>) -> Decision {
        let mut gate = locked(&self.gate);
        gate.packets += 1.0;
        gate.arrived += f64::from(p.bytes());
        let full = !queue.fits(p.bytes());
        if full || self.stream.chance(gate.drop) {
            gate.dropped += 1.0;
            return Decision::Drop(if full { DropReason::Overflow } else { DropReason::Early });
        }
        if self.stream.chance(gate.mark) && self.ecn && p.ecn().is_capable() {
            p.set_ce();
            out.marked(p, MarkReason::Early);
            gate.marked += 1.0;
        }
        gate.backlog.packets += 1;
        gate.backlog.bytes += u64::from(p.bytes());
        Decision::Store
    }

    fn left(&mut self, p: &P, how: Exit, rest: Backlog, line: &Line) {
        let mut gate = locked(&self.gate);
        if how != Exit::Served {
            return;
        }
        gate.sent += f64::from(p.bytes());
        gate.waited += line.now.since(p.stamp()).seconds();
        gate.served += 1.0;
        gate.backlog = rest;
    }
}
