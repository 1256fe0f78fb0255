//! HTB with classes: each class has a rate, and can borrow unused rate of the classes above it, up to its ceiling.
//!
//! Measure: two buckets for each class, one filled at its rate and one at its ceiling. Function: a class *can send*
//! while neither bucket is negative, and *may borrow* while only the first one is negative. A leaf that can send uses
//! its own rate. For a leaf that may borrow, the classes above it are searched upwards. The first class that can send
//! *supplies* the leaf; the search ends at a class that may not borrow. Action: among the leaves with packets and a
//! supplier, those whose supplier has the lowest level are served first, so that each class gets its rate before rate
//! is lent. Among these, the leaves with the lowest `prio` are served first. The remaining leaves are served in turn.
//!
//! ```text
//! supplier(c) = c if it can send;  supplier(above c) if it may borrow;  none otherwise, and for the top
//! send L bytes of a leaf whose supplier is s, in the turn of its quantum for the level of s:
//!     ceiling of the leaf and of every class above it -= L;  rate of s and of every class above it -= L
//! ```
//!
//! Turns are those of deficit round robin. A leaf keeps its turn until it has sent its quantum, and then the turn goes
//! to the next class with the same parent. When all classes with this parent have had their turn, the turn goes to the
//! next class after the parent. So in each round an inner class has the quanta of all its leaves.
//!
//! From: M. Devera, *HTB Linux queuing discipline manual* and *Hierarchical token bucket theory*, 2002; tc-htb(8);
//! net/sched/sch_htb.c for the order of levels and priorities, the quantum for each level, and the limit of debts to a
//! minute.
//!
//! State: for each class its buckets, and for each priority the class below it that has the turn; for each leaf its
//! discipline, and for each level the rest of its quantum.
//!
//! Departures: the state of a class is computed when a packet may leave. Linux instead keeps lists of classes by state;
//! the states are the same. If the last class of a round becomes inactive, and another class after it becomes active
//! again, Linux begins a new round. Linux's hysteresis, which is off by default, is not implemented.
//!
//! Cost of a packet: O(classes), and the cost of the discipline of its leaf.

use super::classes::{PRIORITIES, Tree, TreeClass};
use super::{PROBES, named};
use crate::contract::admission::earlier;
use crate::contract::discipline::{Backlog, Line, OnWire, Out, ProbeId, QueueDiscipline, Service, unchanged};
use crate::shape::htb::CLASSES;
use crate::shape::length::Length;
use tailback_base::quantity::Refusal;
use tailback_base::{Bucket, Duration, KeyField, Packet, ProbeDef, Settings, Time};

/// The longest time for which the bucket of a class can be negative. A larger debt is reduced.
const LONGEST_DEBT: Duration = Duration(60_000_000_000);

/// The buckets of a class, and the class below it that has the turn.
struct State {
    own: Bucket,
    ceiling: Bucket,
    /// For each priority, the next class below this one that has the turn.
    turn: [usize; PRIORITIES],
    /// The number of packets that were sent with the tokens of a class above this one.
    borrowed: u64,
}

/// A leaf, with its discipline and the state of its turn.
struct Leaf<P> {
    class: usize,
    queue: Box<dyn QueueDiscipline<P>>,
    /// The rest of its quantum, for each level of suppliers.
    left: [i64; PRIORITIES],
    /// The last packet of the leaf, until the expected time at which the leaf may send again.
    last: Option<OnWire>,
    /// Whether its discipline has been asked for a packet since its line became free, and had none.
    is_told: bool,
    /// The time before which its discipline sends no packet, if the discipline also shapes.
    waits: Time,
}

/// A shaper with classes.
pub struct Classes<P> {
    tree: Tree,
    length: Length,
    states: Vec<State>,
    /// The leaf of each class; `None` for an inner class.
    leaf_of_class: Vec<Option<usize>>,
    leaves: Vec<Leaf<P>>,
    /// The discipline for packets of no class. These packets are served first and are not shaped.
    direct: Box<dyn QueueDiscipline<P>>,
    /// For each level and priority, the next class that has the turn among those that can send.
    turn: [[usize; PRIORITIES]; PRIORITIES],
    /// The shaper's own probes, then those of the leaves' disciplines, with each name once.
    probes: Vec<ProbeDef>,
}

impl<P: Packet> Classes<P> {
    /// A shaper with this tree. `made` makes the discipline of the class with a given index. The discipline with index
    /// 0 is for packets without a class.
    ///
    /// # Errors
    /// Those of `made`.
    pub fn new(
        tree: Tree,
        length: Length,
        made: impl Fn(usize, &TreeClass) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>,
    ) -> Result<Classes<P>, Refusal> {
        let (mut leaves, mut leaf_of_class) = (vec![], vec![None; tree.classes.len()]);
        for (class_index, class) in tree
            .classes
            .iter()
            .enumerate()
            .filter(|(_, class)| class.queue.is_some())
        {
            leaf_of_class[class_index] = Some(leaves.len());
            leaves.push(Leaf {
                class: class_index,
                queue: made(class_index, class)?,
                left: [0; PRIORITIES],
                last: None,
                is_told: true,
                waits: Time::ZERO,
            });
        }
        let states = tree.classes.iter().map(|class| State {
            own: Bucket::full(class.burst),
            ceiling: Bucket::full(class.cburst),
            turn: [0; PRIORITIES],
            borrowed: 0,
        });
        let direct = made(0, &tree.classes[0])?;
        let mut probes = PROBES.to_vec();
        for own in leaves.iter().flat_map(|l: &Leaf<P>| l.queue.probes()) {
            if probes.iter().all(|p| p.name != own.name) {
                probes.push(ProbeDef { per: "class", ..*own });
            }
        }
        Ok(Classes {
            states: states.collect(),
            length,
            leaf_of_class,
            leaves,
            direct,
            turn: [[0; PRIORITIES]; PRIORITIES],
            probes,
            tree,
        })
    }

    /// The leaf of a packet; `None` for a packet that is not shaped.
    fn leaf(&self, p: &P) -> Option<usize> {
        let class = self.tree.leaf_of[usize::from(p.dscp().0 & 63)]?;
        self.leaf_of_class[class]
    }

    /// The discipline that stores a packet.
    fn queue(&mut self, p: &P) -> &mut Box<dyn QueueDiscipline<P>> {
        match self.leaf(p) {
            Some(i) => &mut self.leaves[i].queue,
            None => &mut self.direct,
        }
    }

    fn fill(&mut self, now: Time) {
        for (class, state) in self.tree.classes.iter().zip(&mut self.states) {
            state.own.fill(class.rate, now);
            state.ceiling.fill(class.ceil, now);
        }
    }

    /// The supplier of a class: itself or a class above it.
    fn supplier(&self, class: usize) -> Option<usize> {
        let mut candidate = class;
        while self.states[candidate].ceiling.holds(0) {
            if self.states[candidate].own.holds(0) {
                return Some(candidate);
            }
            candidate = self.tree.classes[candidate].above?;
        }
        None
    }

    /// The time at which a class will have a supplier, if no packet is sent before.
    fn ready(&self, class: usize, now: Time) -> Time {
        let (declared, state) = (&self.tree.classes[class], &self.states[class]);
        let time_after = |wait: Option<Duration>| wait.map_or(Time::NEVER, |wait| Time(now.0.saturating_add(wait.0)));
        let by_own_rate = time_after(state.own.wait(0, declared.rate));
        let by_borrowing = declared.above.map_or(Time::NEVER, |above| self.ready(above, now));
        by_own_rate
            .min(by_borrowing)
            .max(time_after(state.ceiling.wait(0, declared.ceil)))
    }

    /// The line as the discipline of a leaf sees it: its rate is at most the ceiling of the leaf, and it is busy until
    /// the leaf may send again.
    fn line(&self, leaf: usize, line: &Line) -> Line {
        let (leaf_state, class) = (&self.leaves[leaf], &self.tree.classes[self.leaves[leaf].class]);
        let paying = leaf_state.last.filter(|last| last.until > line.now);
        Line {
            rate: line.rate.min(class.ceil),
            busy: match (line.busy, paying) {
                (Some(wire), Some(last)) if wire.until < last.until => Some(last),
                (None, last) => last,
                (wire, _) => wire,
            },
            ..*line
        }
    }

    /// The leaf whose discipline is asked next for a packet, and its supplier. The leaves in `passed` are excluded.
    fn chosen(&mut self, passed: &[usize]) -> Option<(usize, usize)> {
        let classes = &self.tree.classes;
        let mut best_rank = None;
        let mut ready = vec![];
        for (i, leaf) in self.leaves.iter().enumerate() {
            if leaf.queue.backlog().packets == 0 || passed.contains(&i) {
                continue;
            }
            let Some(supplier) = self.supplier(leaf.class) else {
                continue;
            };
            let rank = (classes[supplier].level, classes[leaf.class].prio);
            best_rank = Some(best_rank.map_or(rank, |b: (usize, usize)| b.min(rank)));
            ready.push((i, supplier, rank));
        }
        let (level, prio) = best_rank?;
        ready.retain(|(_, _, rank)| *rank == (level, prio));
        // The classes on the paths from these leaves to their suppliers.
        let mut active = vec![false; classes.len()];
        for (i, supplier, _) in &ready {
            let mut ancestor = self.leaves[*i].class;
            active[ancestor] = true;
            while ancestor != *supplier {
                ancestor = classes[ancestor].above?;
                active[ancestor] = true;
            }
        }
        let suppliers: Vec<usize> = ready.iter().map(|(_, supplier, _)| *supplier).collect();
        let class = self.turn_among(&suppliers, &active, (level, prio))?;
        let served = ready.iter().find(|(i, _, _)| self.leaves[*i].class == class)?;
        Some((served.0, served.1))
    }

    /// The leaf that has the turn. The search begins at the suppliers and follows the turn of each class downwards. If
    /// all classes below a class have had their turn, a new round begins below it, and the turn moves on to the class
    /// after it.
    fn turn_among(&mut self, suppliers: &[usize], active: &[bool], (level, prio): (usize, usize)) -> Option<usize> {
        let mut path: Vec<usize> = vec![];
        loop {
            let first_place = match path.last() {
                None => self.turn[level][prio],
                Some(class) => self.states[*class].turn[prio],
            };
            let is_candidate = |c: &usize| match path.last() {
                None => suppliers.contains(c),
                Some(class) => active[*c] && self.tree.classes[*c].above == Some(*class),
            };
            match (first_place..active.len()).find(is_candidate) {
                Some(class) => {
                    // If a class was passed over because its queue was empty, it waits for the next round.
                    *self.turn_of(path.last().copied(), (level, prio)) = class;
                    if self.leaf_of_class[class].is_some() {
                        return Some(class);
                    }
                    path.push(class);
                }
                None => match path.pop() {
                    None if first_place == 0 => return None,
                    None => self.turn[level][prio] = 0,
                    Some(class) => {
                        self.states[class].turn[prio] = 0;
                        *self.turn_of(path.last().copied(), (level, prio)) = class + 1;
                    }
                },
            }
        }
    }

    /// The class that has the turn below a class, or among those that can send.
    fn turn_of(&mut self, class: Option<usize>, (level, prio): (usize, usize)) -> &mut usize {
        match class {
            Some(class) => &mut self.states[class].turn[prio],
            None => &mut self.turn[level][prio],
        }
    }

    /// Charge a packet that a leaf has sent with the tokens of its supplier.
    fn charge(&mut self, leaf: usize, by: usize, p: &P, now: Time) {
        let length = u32::try_from(self.length.of(p.bytes())).unwrap_or(u32::MAX);
        let (class, level) = (self.leaves[leaf].class, self.tree.classes[by].level);
        let (prio, quantum) = (self.tree.classes[class].prio, self.tree.classes[class].quantum);
        let quantum_left = &mut self.leaves[leaf].left[level];
        *quantum_left -= i64::from(length);
        if *quantum_left < 0 {
            *quantum_left += quantum;
            let parent = self.tree.classes[class].above.filter(|_| level > 0);
            *self.turn_of(parent, (level, prio)) = class + 1;
        }
        let mut next_class = Some(class);
        while let Some(class_index) = next_class {
            let (declared, state) = (&self.tree.classes[class_index], &mut self.states[class_index]);
            if declared.level >= level {
                state.own.charge(length);
                state.own.owe_at_most(declared.rate, LONGEST_DEBT);
            } else {
                state.borrowed += 1;
            }
            state.ceiling.charge(length);
            state.ceiling.owe_at_most(declared.ceil, LONGEST_DEBT);
            next_class = declared.above;
        }
        let until = self.ready(class, now);
        self.leaves[leaf].is_told = false;
        self.leaves[leaf].last = (until > now).then(|| OnWire {
            until,
            flow: p.flow(),
            pair: p.key(KeyField::Pair),
            bytes: p.bytes(),
        });
    }

    fn ask(&mut self, leaf: usize, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        let own_line = self.line(leaf, line);
        let service = self.leaves[leaf].queue.dequeue(&own_line, out);
        self.leaves[leaf].is_told = !matches!(service, Service::Send(_));
        service
    }

    /// The time at which the line of a leaf becomes idle, if a timer must report this to its discipline.
    fn falls_free(leaf: &Leaf<P>) -> Option<Time> {
        let last = leaf.last.filter(|_| !leaf.is_told)?;
        (leaf.queue.backlog().packets == 0).then_some(last.until)
    }

    /// Report to the disciplines of empty leaves that their line is idle.
    fn tell(&mut self, line: &Line, out: &mut dyn Out<P>) {
        for leaf in 0..self.leaves.len() {
            let leaf_state = &self.leaves[leaf];
            let is_free = leaf_state.last.is_none_or(|last| last.until <= line.now);
            if !leaf_state.is_told && is_free && line.busy.is_none() && leaf_state.queue.backlog().packets == 0 {
                let sent = self.ask(leaf, line, out);
                debug_assert!(!matches!(sent, Service::Send(_)), "sent what it did not count");
            }
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for Classes<P> {
    fn enqueue(&mut self, p: P, line: &Line, out: &mut dyn Out<P>) {
        let own_line = self.leaf(&p).map_or(*line, |i| self.line(i, line));
        self.queue(&p).enqueue(p, &own_line, out);
    }

    fn flow_joined(&mut self, p: &P, now: Time) {
        self.queue(p).flow_joined(p, now);
    }

    fn flow_left(&mut self, p: &P, now: Time) {
        self.queue(p).flow_left(p, now);
    }

    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<P>) -> Service<P> {
        let mut earliest = Time::NEVER;
        match self.direct.dequeue(line, out) {
            Service::Send(p) => return Service::Send(p),
            Service::Wait(t) => earliest = t,
            Service::Empty => {}
        }
        self.fill(line.now);
        self.tell(line, out);
        let mut passed: Vec<usize> = vec![];
        while let Some((leaf, supplier)) = self.chosen(&passed) {
            match self.ask(leaf, line, out) {
                Service::Send(p) => {
                    self.charge(leaf, supplier, &p, line.now);
                    return Service::Send(p);
                }
                Service::Wait(t) => self.leaves[leaf].waits = t,
                Service::Empty => {}
            }
            passed.push(leaf);
        }
        for leaf in self.leaves.iter().filter(|l| l.queue.backlog().packets > 0) {
            earliest = earliest.min(self.ready(leaf.class, line.now).max(leaf.waits));
        }
        match self.backlog().packets {
            0 => Service::Empty,
            _ => Service::Wait(earliest),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let due_time = |l: &Leaf<P>| earlier(l.queue.next_timer(), Self::falls_free(l));
        let leaves = self.leaves.iter().fold(None, |first, l| earlier(first, due_time(l)));
        earlier(self.direct.next_timer(), leaves)
    }

    fn on_timer(&mut self, line: &Line, out: &mut dyn Out<P>) {
        let is_due = |t: Option<Time>| t.is_some_and(|t| t <= line.now);
        if is_due(self.direct.next_timer()) {
            self.direct.on_timer(line, out);
        }
        self.fill(line.now);
        for leaf in 0..self.leaves.len() {
            if is_due(self.leaves[leaf].queue.next_timer()) {
                let own_line = self.line(leaf, line);
                self.leaves[leaf].queue.on_timer(&own_line, out);
            }
            if is_due(Self::falls_free(&self.leaves[leaf])) {
                // Meanwhile other leaves may have used the tokens that this leaf could borrow, so the time is computed
                // again. If the real line is busy, the report is made when it becomes free.
                let until = self.ready(self.leaves[leaf].class, line.now);
                match &mut self.leaves[leaf].last {
                    Some(last) if until > line.now => last.until = until,
                    last => *last = None,
                }
            }
        }
        self.tell(line, out);
    }

    fn backlog(&self) -> Backlog {
        let sum = |a: Backlog, b: Backlog| Backlog {
            packets: a.packets + b.packets,
            bytes: a.bytes + b.bytes,
        };
        let leaves = self.leaves.iter().map(|l| l.queue.backlog());
        leaves.fold(self.direct.backlog(), sum)
    }

    fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        let new_tree = Tree::from_settings(settings)?;
        let names_and_parents = |tree: &Tree| -> Vec<(String, Option<usize>)> {
            tree.classes.iter().map(|c| (c.name.clone(), c.above)).collect()
        };
        unchanged(
            CLASSES.name,
            &names_and_parents(&self.tree),
            &names_and_parents(&new_tree),
        )?;
        unchanged(CLASSES.name, &self.tree.leaf_of, &new_tree.leaf_of)?;
        for leaf in &mut self.leaves {
            let (before, now) = (
                &self.tree.classes[leaf.class].queue,
                &new_tree.classes[leaf.class].queue,
            );
            // The discipline of a leaf may refuse every change, so it is only reconfigured if its own values change.
            if let Some(queue) = now.as_ref().filter(|_| now != before) {
                leaf.queue.reconfigure(queue).map_err(|e| named(leaf.class, e))?;
            }
        }
        for (class, state) in new_tree.classes.iter().zip(&mut self.states) {
            state.own.set_depth(class.rate, Duration::ZERO, class.burst);
            state.ceiling.set_depth(class.ceil, Duration::ZERO, class.cburst);
        }
        self.length = Length::from_settings(settings);
        self.tree = new_tree;
        Ok(())
    }

    fn sends_requests(&self) -> bool {
        self.leaves.iter().any(|l| l.queue.sends_requests())
    }

    fn is_shared(&self) -> bool {
        self.direct.is_shared() || self.leaves.iter().any(|l| l.queue.is_shared())
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    /// The index is that of the class in the order of the scenario. For a probe of a leaf's discipline, the value at
    /// index 0 of the discipline is used.
    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        let class = index as usize + 1;
        let Some(state) = self.states.get(class) else {
            return f64::NAN;
        };
        let leaf = self.leaf_of_class[class].map(|i| &self.leaves[i].queue);
        match probe.0 {
            0 => leaf.map_or(0.0, |queue| queue.backlog().packets as f64),
            1 => state.borrowed as f64,
            own => {
                let name = self.probes[usize::from(own)].name;
                let read = leaf.and_then(|queue| {
                    let place = queue.probes().iter().position(|p| p.name == name)?;
                    Some(queue.read(ProbeId(place as u16), 0))
                });
                // A sample of all classes would end at a class without a value, so such a class has the value 0.
                read.filter(|value| !value.is_nan()).unwrap_or(0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests;
