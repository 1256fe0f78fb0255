//! RED with a penalty box: flows that are faster than a TCP would be are moved to a separate queue with a small part of
//! the line.
//!
//! A flow that does not respond to losses takes the rate that other flows give up. Its share of RED's drops shows its
//! rate. The flow goes into the box, a short queue with a small part of the line, if this rate is more than a TCP could
//! have at this loss rate and far more than an even share. A boxed flow that loses more packets but does not send less
//! is unresponsive, and stays in the box. Measure: RED's average; the drop history. Function: the tests in [`judge`].
//! Action: RED's action; in the box a drop (penalty).
//!
//! From: Floyd and Fall, "Promoting the use of end-to-end congestion control in the Internet", IEEE/ACM ToN 7(4), 1999,
//! section III for the tests (TCP-friendly, disproportionate, unresponsive). The paper leaves open how such flows are
//! treated. The box is our choice, see `docs/decisions/penalty-box.md`.
//!
//! State: RED's queue and the box; for each of the last `history` epochs the arrivals at RED and the drops of each
//! flow; the boxed flows; the tokens of the box.
//!
//! Departures. A mark by RED counts in the history like a drop. If a flow is boxed while packets of it wait in RED's
//! queue, the box serves the flow only after these packets have left. When a flow is released, its packets move to
//! RED's queue. So no packets are reordered. The box counts as part of the buffer.
//!
//! Cost of a packet: the same as in RED, and a lookup among the boxed flows. Cost of an epoch: proportional to the
//! number of flows with drops in the history.

pub mod judge;

use crate::aqm::red::params::{
    BYTES, DELAY_TARGET, FIRST_COUNT, GENTLE, INITIAL_AVERAGE, MARK_ABOVE_MAX, MARK_CAP, MAX_PROBABILITY,
    MAX_THRESHOLD, MEAN_PACKET, MIN_THRESHOLD, NS2_GUARDS, SPREAD, WAIT, WEIGHT, WEIGHT_RULE,
};
use crate::aqm::red::{AVERAGE, BASE, Config, Red};
use crate::aqm::ticks::Ticks;
use crate::contract::admission::{Decision, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::capacity;
use crate::contract::discipline::{Backlog, DropReason, Line, Out, Place, ProbeId, QueueDiscipline, Service};
use crate::contract::view::{Congestion, Handle, QueueView};
use crate::entry::{Build, Entry, Facts, Marks};
use crate::fifo::Ring;
use crate::params::{BEFORE, BUFFER, ECN, FLOW_KEY};
use judge::{FlowJudge, JudgeRules};
use std::collections::BTreeMap;
use tailback_base::quantity::Refusal;
use tailback_base::{
    BitRate, Bucket, Duration, Ecn, Key, KeyField, Kind, Model, Packet, ProbeDef, Settings, Size, Stream, Time, params,
};

const SOURCE: &str = "tailback: Floyd and Fall 1999 leave it open";

pub static MODEL: Model = Model {
    name: "red-pb",
    family: "queue",
    title: "RED with a penalty box",
    summary: "Puts flows that send faster than a TCP would into a penalty box: a queue of their own with a small \
              share of the line. Measure: RED's average and drop history. Function: tests of the rate of each flow, \
              which is estimated from its drops. Action: drop (penalty) in the box, else as RED.",
    source: "Floyd and Fall 1999",
    params: PARAMS,
    probes: &[
        AVERAGE,
        BASE,
        ProbeDef {
            name: "boxed",
            unit: "flows",
            doc: "Flows in the box",
            per: "",
        },
        ProbeDef {
            name: "unresponsive",
            unit: "flows",
            doc: "Flows that stay in the box for ever",
            per: "",
        },
        ProbeDef {
            name: "box_packets",
            unit: "packets",
            doc: "Packets that wait in the box",
            per: "",
        },
    ],
};

params! {
    const PARAMS;

    BUFFER;
    EPOCH: Duration = Key::new("epoch", Kind::Time { min: 1e-3, max: 1000.0 }, "1s",
        "How often flows are judged.", SOURCE);
    HISTORY: u64 = Key::new("history", Kind::Count { min: 1, max: 1000 }, "5",
        "How many epochs of drops are used to judge a flow.", SOURCE);
    TARGET_RTT: Duration = Key::new("target_rtt", Kind::Time { min: 1e-4, max: 100.0 }, "40ms",
        "A flow is not TCP-friendly if it sends more than a TCP flow with this round trip would send (R of the paper).",
        SOURCE);
    PENALTY_SHARE: f64 = Key::new("penalty_share", Kind::Real { min: 0.0, max: 1.0 }, "0.05",
        "The share of the line's rate that the box gets. The box gets more only when no other packet waits.", SOURCE);
    BOX_PACKETS: u64 = Key::new("box_packets", Kind::Count { min: 1, max: 1_000_000 }, "10",
        "How many packets the box holds.", SOURCE);
    RELEASE: u64 = Key::new("release", Kind::Count { min: 1, max: 1000 }, "5",
        "A flow leaves the box after this many epochs in a row without a reason to be in it.", SOURCE);
    FLOW_KEY;
    MIN_THRESHOLD;
    MAX_THRESHOLD;
    DELAY_TARGET;
    WEIGHT;
    WEIGHT_RULE;
    MAX_PROBABILITY;
    GENTLE;
    ECN;
    MARK_CAP;
    MARK_ABOVE_MAX;
    BYTES;
    MEAN_PACKET;
    SPREAD;
    WAIT;
    FIRST_COUNT;
    NS2_GUARDS;
    INITIAL_AVERAGE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(|s, context| Ok(Box::new(build(s, context)?))),
        admission: None,
        facts: Facts {
            marks: Marks::WithEcn,
            ..Facts::SEVERAL_QUEUES
        },
    }
}

/// The discipline.
///
/// # Errors
/// RED's errors.
pub fn build<P: Packet>(s: &Settings, context: BuildContext) -> Result<PenaltyBox<P>, Refusal> {
    let config = Config::from_settings(s, &context)?;
    let (limit, mean_packet) = (s.get(&BUFFER), s.get(&MEAN_PACKET));
    let rules = JudgeRules {
        epoch: s.get(&EPOCH).seconds(),
        history: s.get(&HISTORY) as usize,
        rtt: s.get(&TARGET_RTT).seconds(),
        mean_packet: mean_packet as f64,
        release: s.get(&RELEASE) as u32,
    };
    Ok(PenaltyBox {
        red: Red::new(config, context),
        main: Ring::new(limit),
        boxed: Ring::new(limit),
        room: s.get(&BOX_PACKETS),
        share: s.get(&PENALTY_SHARE),
        tokens: Bucket::full(DEPTH),
        judge: FlowJudge::new(rules),
        before_box: BTreeMap::new(),
        ticks: Ticks::new(s.get(&EPOCH)),
        key: s.get(&FLOW_KEY),
        none: vec![],
    })
}

/// The depth of the box's token bucket, bytes: two full frames.
const DEPTH: u64 = 3000;

/// RED's queue and the box.
pub struct PenaltyBox<P> {
    red: Red,
    main: Ring<P>,
    boxed: Ring<P>,
    /// The largest number of packets in the box.
    room: u64,
    share: f64,
    tokens: Bucket,
    judge: FlowJudge,
    /// For each boxed flow, the number of packets that arrived before it was boxed and still wait in RED's queue.
    before_box: BTreeMap<u64, u64>,
    ticks: Ticks,
    key: KeyField,
    /// Always empty, because RED evicts no packets.
    none: Vec<(P, DropReason)>,
}

/// RED's queue, with a limit that is reduced by the part of the buffer that the box uses.
struct QueueBesideBox<'a, P> {
    main: &'a mut Ring<P>,
    boxed: Backlog,
}

impl<P: Packet> QueueView<P> for QueueBesideBox<'_, P> {
    fn stored(&self) -> Backlog {
        self.main.backlog()
    }
    fn limit(&self) -> Size {
        self.main.limit()
    }
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits(self.main.limit(), sum(self.main.backlog(), self.boxed), bytes)
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        self.main.draw(stream)
    }
    fn get(&self, at: Handle) -> Option<&P> {
        self.main.get(at.0 as usize)
    }
    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<P> {
        self.main.remove(at.0 as usize)
    }
}

fn sum(a: Backlog, b: Backlog) -> Backlog {
    Backlog {
        packets: a.packets + b.packets,
        bytes: a.bytes + b.bytes,
    }
}

impl<P: Packet> PenaltyBox<P> {
    /// A packet left RED's queue.
    fn left_main(&mut self, p: &P) {
        if self.before_box.is_empty() {
            return;
        }
        let flow = p.key(self.key);
        if let Some(n) = self.before_box.get_mut(&flow) {
            *n -= 1;
            if *n == 0 {
                self.before_box.remove(&flow);
            }
        }
    }

    /// The size of the packet that the box may send now, if there is one.
    fn next_of_box(&self) -> Option<u32> {
        let p = self.boxed.get(0)?;
        (!self.before_box.contains_key(&p.key(self.key))).then_some(p.bytes())
    }

    fn by_red(&mut self, mut p: P, line: &Line, out: &mut dyn Out<P>) {
        let (flow, was) = (p.key(self.key), p.ecn());
        let mut view = QueueBesideBox {
            main: &mut self.main,
            boxed: self.boxed.backlog(),
        };
        let waiting = Waiting::new(&mut view, &mut self.none, line);
        let arrival = self.red.find(&p, &waiting, line);
        let decision = self.red.decide(&mut p, arrival, out);
        let signalled = match decision {
            Decision::Drop(why) => why != DropReason::Overflow,
            Decision::Store => was != Ecn::Ce && p.ecn() == Ecn::Ce,
        };
        self.judge.arrived(flow, p.bytes(), signalled);
        match decision {
            Decision::Store => self.main.push(p, line.now),
            Decision::Drop(why) => out.dropped(p, Place::Arriving, why),
        }
    }

    /// Put a flow into the box: count its packets that wait in RED's queue.
    fn enter(&mut self, flow: u64) {
        let waiting = (0..).map_while(|i| self.main.get(i));
        let of_flow = waiting.filter(|p| p.key(self.key) == flow).count() as u64;
        if of_flow > 0 {
            self.before_box.insert(flow, of_flow);
        }
    }

    /// Release a flow: move its packets to RED's queue.
    fn release(&mut self, flow: u64) {
        let mut i = 0;
        while let Some(p) = self.boxed.get(i) {
            if p.key(self.key) != flow {
                i += 1;
            } else if let Some(p) = self.boxed.remove(i) {
                self.main.push_stamped(p);
            }
        }
        self.before_box.remove(&flow);
    }
}

impl<P: Packet> QueueDiscipline<P> for PenaltyBox<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        let flow = p.key(self.key);
        if !self.judge.is_boxed(flow) {
            return self.by_red(p, line, out);
        }
        let why = if !self.fits(p.bytes()) {
            Some(DropReason::Overflow)
        } else if self.boxed.backlog().packets >= self.room {
            Some(DropReason::Penalty)
        } else {
            None
        };
        self.judge.came_to_box(flow, p.bytes(), why.is_some());
        match why {
            Some(why) => out.dropped(p, Place::Arriving, why),
            None => self.boxed.push(p, line.now),
        }
    }

    fn dequeue(&mut self, line: &Line, _out: &mut dyn Out<P>) -> Service<P> {
        let rate = BitRate((self.share * line.rate.0 as f64) as u64);
        self.tokens.fill(rate, line.now);
        if self.next_of_box().is_some_and(|bytes| self.tokens.send(bytes))
            && let Some(p) = self.boxed.pop()
        {
            return Service::Send(p);
        }
        if let Some(p) = self.main.pop() {
            self.left_main(&p);
            return Service::Send(p);
        }
        crate::contract::admission::Admission::<P>::idle(&mut self.red, line);
        match self.boxed.pop() {
            Some(p) => {
                self.tokens.take_at_most(p.bytes());
                Service::Send(p)
            }
            None => Service::Empty,
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.next())
    }

    fn on_timer(&mut self, line: &Line, _out: &mut dyn Out<P>) {
        if self.ticks.tick(line.now) {
            let verdicts = self.judge.end_epoch();
            verdicts.released.iter().for_each(|flow| self.release(*flow));
            verdicts.entered.iter().for_each(|flow| self.enter(*flow));
        }
    }

    fn backlog(&self) -> Backlog {
        self.stored()
    }

    fn view(&self) -> Option<&dyn QueueView<P>> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn QueueView<P>> {
        Some(self)
    }

    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        match probe.0 {
            0 | 1 => crate::contract::admission::Admission::<P>::read(&self.red, probe, index),
            2 => self.judge.boxed().count() as f64,
            3 => self.judge.boxed().filter(|b| b.1.stays).count() as f64,
            4 => self.boxed.backlog().packets as f64,
            _ => f64::NAN,
        }
    }
}

/// The view of both queues: first the packets of RED, then those of the box.
impl<P: Packet> QueueView<P> for PenaltyBox<P> {
    fn stored(&self) -> Backlog {
        sum(self.main.backlog(), self.boxed.backlog())
    }
    fn limit(&self) -> Size {
        self.main.limit()
    }
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        match self.stored().packets {
            0 => None,
            n => Some(Handle(stream.below(n))),
        }
    }
    fn oldest(&self) -> Option<Handle> {
        let in_main = self.main.backlog().packets;
        match (self.main.get(0), self.boxed.get(0)) {
            (Some(a), Some(b)) if b.stamp() < a.stamp() => Some(Handle(in_main)),
            (Some(_), _) => Some(Handle(0)),
            (None, b) => b.map(|_| Handle(0)),
        }
    }
    fn get(&self, at: Handle) -> Option<&P> {
        let in_main = self.main.backlog().packets;
        match at.0.checked_sub(in_main) {
            None => self.main.get(at.0 as usize),
            Some(i) => self.boxed.get(i as usize),
        }
    }
    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<P> {
        let in_main = self.main.backlog().packets;
        match at.0.checked_sub(in_main) {
            None => {
                let p = self.main.remove(at.0 as usize)?;
                self.left_main(&p);
                Some(p)
            }
            Some(i) => self.boxed.remove(i as usize),
        }
    }
    fn congestion(&self) -> Option<Congestion> {
        crate::contract::admission::Admission::<P>::congestion(&self.red)
    }
}

#[cfg(test)]
mod tests;
