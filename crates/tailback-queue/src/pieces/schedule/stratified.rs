//! Stratified round robin: round robin within classes of flows with similar rates. So a flow's delay depends on its own
//! share and not on the number of flows.
//!
//! With weighted deficit round robin, a flow waits for the quanta of all other flows, however large its own share is.
//! Here flows whose shares lie in one octave form a stratum: stratum k has the shares from 2^-k to below 2^-(k-1). Time
//! is counted in slots. Stratum k has intervals of 2^k slots. In each interval every flow of the stratum has one slot,
//! in which it may send a little more than a largest packet. Among the strata with a flow that has not had its slot in
//! the present interval, the stratum whose interval ends first is served. This is always the one with the lowest k,
//! because a short interval lies within a longer one. So no sorting is needed. Different shares within an octave are
//! served by different amounts of credit.
//!
//! ```text
//! stratum        k = the least with share * 2^k >= 1
//! a slot         credit += quantum * share * 2^k, from one to two quanta; packets while the credit covers them
//! after a slot   the flow waits for the next interval of its stratum
//! no flow waits  the clock of slots jumps to the next interval of the lowest stratum that has flows
//! ```
//!
//! While the strata do not change, a flow of stratum k has its slot at the latest 2 * 2^k slots after its packet has
//! arrived.
//!
//! State: for each of 32 strata two lists, one of flows that still wait for their slot and one of flows that have had
//! it; for each flow its weight, stratum, credit and last slot (64 bytes); the sum of the weights of all flows so far;
//! the clock of slots. A packet costs O(1), because a slot costs a pass over the strata and one move of a flow.
//!
//! Source: S. Ramabhadran and J. Pasquale, "Stratified round robin: a low complexity packet scheduler with bandwidth
//! fairness and bounded delay", SIGCOMM 2003. In the paper rates are reserved. Here a flow's share is that of its
//! weight in the sum of the weights of all flows so far, and its stratum is computed again after each of its slots.
//! Shares below 2^-31 count as 2^-31. If a flow was idle and has had its slot in the present interval, it waits for the
//! next interval.

use crate::contract::discipline::Line;
use crate::pieces::index::queue_list::QueueList;
use crate::pieces::schedule::drr::QUANTUM;
use crate::pieces::schedule::virtual_time::{Tag, Weight, WeightSum};
use crate::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use crate::pieces::store::{PerQueue, QueueId, Store};
use tailback_base::{Key, Model, Packet, Settings, params};

pub static MODEL: Model = Model {
    name: "stratified",
    family: "scheduler",
    title: "Stratified round robin",
    summary: "Round robin in strata. Flows with similar shares of the line form a stratum, and a stratum with half \
              the share has its turn half as often.",
    source: "Ramabhadran and Pasquale, SIGCOMM 2003",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    /// The credit of a slot for a flow at the lower end of its stratum.
    pub QUANTUM_OF_SLOT: u64 = Key::new(QUANTUM.param.name, QUANTUM.param.kind, "1500B",
        "The credit that the flow with the smallest share of a stratum gets for a slot; the flow with the largest \
         share gets up to twice this. If it is smaller than the largest packet, some slots pass without a packet.",
        "Ramabhadran and Pasquale 2003: the largest packet");
}

/// The registry entry of this scheduler.
pub const fn entry<P: Packet + 'static>() -> SchedulerEntry<P> {
    SchedulerEntry {
        model: &MODEL,
        build: |s, _| Ok(Box::new(Stratified::from_settings(s))),
    }
}

/// The number of strata.
const STRATA: u32 = 32;

/// The flows of one stratum that have packets.
#[derive(Clone, Debug, Default)]
struct Stratum {
    /// The flows that have not had their slot in the present interval.
    waiting: QueueList,
    /// The flows that have had their slot in the present interval.
    done: QueueList,
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// The weight of the flow; `None` before its first packet.
    weight: Option<Weight>,
    /// The value from which the weight was made.
    given: f64,
    stratum: u32,
    credit: Tag,
    /// One more than the last slot of the flow; 0 if it has had no slot yet.
    slots: u64,
}

/// The scheduler, with the strata and the clock of slots.
#[derive(Clone, Debug)]
pub struct Stratified {
    quantum: Tag,
    strata: Vec<Stratum>,
    members: PerQueue<Member>,
    /// The sum of the weights of all flows so far.
    total: WeightSum,
    slot: u64,
    /// The flow that has the present slot.
    turn: Option<QueueId>,
}

impl Stratified {
    /// The scheduler with these settings of the model.
    pub fn from_settings(s: &Settings) -> Stratified {
        Stratified {
            quantum: Tag::of_bytes(s.get(&QUANTUM_OF_SLOT)),
            strata: vec![Stratum::default(); STRATA as usize],
            members: PerQueue::default(),
            total: WeightSum::default(),
            slot: 0,
            turn: None,
        }
    }

    fn learn(&mut self, q: QueueId, given: f64) {
        let member = self.members.at(q);
        if member.given.to_bits() == given.to_bits() && member.weight.is_some() {
            return;
        }
        let (was, is) = (member.weight, Weight::of(given));
        (member.weight, member.given) = (Some(is), given);
        self.total.add(is);
        if let Some(was) = was {
            self.total.sub(was);
        }
    }

    /// Put a flow with packets into its stratum.
    fn place(&mut self, q: QueueId) {
        let member = self.members.at(q);
        let k = member.weight.unwrap_or_default().octave_of(self.total).min(STRATA - 1);
        member.stratum = k;
        let had_turn = member
            .slots
            .checked_sub(1)
            .is_some_and(|last| last >> k == self.slot >> k);
        let stratum = &mut self.strata[k as usize];
        if had_turn {
            &mut stratum.done
        } else {
            &mut stratum.waiting
        }
        .push(q);
    }

    fn take_out(&mut self, q: QueueId) {
        let stratum = &mut self.strata[self.members.get(q).stratum as usize];
        stratum.waiting.remove(q);
        stratum.done.remove(q);
    }

    /// Set the clock to this slot. In strata with a new interval, all flows wait for a slot again.
    fn advance_to(&mut self, slot: u64) {
        for (k, stratum) in self.strata.iter_mut().enumerate() {
            if self.slot >> k == slot >> k {
                break;
            }
            while let Some(q) = stratum.done.first() {
                stratum.done.remove(q);
                stratum.waiting.push(q);
            }
        }
        self.slot = slot;
    }

    /// Give the present slot to a flow, if any flow has packets.
    fn begin_slot(&mut self) -> Option<QueueId> {
        let waits = |s: &Stratum| s.waiting.first();
        if self.strata.iter().all(|s| s.waiting.is_empty()) {
            let lowest = self.strata.iter().position(|s| !s.done.is_empty())?;
            self.advance_to(((self.slot >> lowest) + 1) << lowest);
        }
        let q = self.strata.iter().find_map(waits)?;
        let total = self.total.weight();
        let member = self.members.at(q);
        let weight = member.weight.unwrap_or_default();
        let mut credit = self.quantum.scaled(weight, total);
        for _ in 0..weight.octave_of(self.total).min(STRATA - 1) {
            credit = credit.plus(credit);
        }
        member.credit = member.credit.plus(credit);
        member.slots = self.slot + 1;
        self.turn = Some(q);
        self.turn
    }

    /// End the present slot. Its flow keeps its credit and waits for the next interval.
    fn end_slot(&mut self, q: QueueId) {
        self.take_out(q);
        self.place(q);
        self.turn = None;
        self.advance_to(self.slot + 1);
    }
}

impl ServiceOrder for Stratified {}

impl<P: Packet> Scheduler<P> for Stratified {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<P>, _line: &Line) {
        if let Some(p) = store.packet(slot) {
            self.learn(q, p.weight());
        }
    }

    fn activate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.members.at(q).credit = Tag::ZERO;
        self.place(q);
    }

    fn next(&mut self, store: &Store<P>, _line: &Line) -> Turn {
        loop {
            let Some(q) = self.turn.or_else(|| self.begin_slot()) else {
                return Turn::Empty;
            };
            if Tag::of(store.head_bytes(q), Weight::ONE) <= self.members.get(q).credit {
                return Turn::Queue(q);
            }
            self.end_slot(q);
        }
    }

    /// An AQM may drop the packet for which the queue got the slot. If the next packet is larger and is sent, the
    /// credit becomes negative.
    fn served(&mut self, q: QueueId, bytes: u32, store: &Store<P>, line: &Line) {
        let member = self.members.at(q);
        member.credit = member.credit.minus(Tag::of(bytes, Weight::ONE));
        if store.packets(q) == 0 {
            self.deactivate(q, store, line);
        }
    }

    /// The queue leaves its stratum and loses its credit. If it had the slot, the next slot begins.
    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.take_out(q);
        if self.turn == Some(q) {
            self.turn = None;
            self.advance_to(self.slot + 1);
        }
    }
}

#[cfg(test)]
#[path = "stratified_tests.rs"]
mod tests;
