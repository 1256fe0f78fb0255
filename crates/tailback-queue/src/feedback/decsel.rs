//! The selective DECbit switch: a first-in-first-out queue that sets a congestion bit for conversations whose demand
//! exceeds their fair share.
//!
//! The switch is congested if it contains more than one packet on average, including the packet on the line. An average
//! of one just keeps the line busy. The average is taken over the previous regeneration cycle (a busy period and the
//! idle time after it) and the present cycle so far. So old values lose their effect, but not in the middle of a burst.
//! When the switch is congested, only conversations whose demand exceeds the max-min fair share of the line get the
//! bit. When it is badly congested (panic), all conversations get the bit.
//!
//! ```text
//! average = (area of the cycle before + area of this) / (their lengths)         packets
//! demand  = packets of the conversation stored in both / (their lengths)
//! share   = max-min fair share of  capacity_factor * line rate / mean packet
//! a data packet, when it is stored:   average >= panic: mark   average > threshold and demand > share: mark
//! ```
//!
//! A conversation's demand exceeds the max-min share if and only if the capacity does not suffice to serve all
//! conversations up to that demand: sum over j of min(demand j, demand) > capacity. Demands are packet counts over one
//! common time. So the sum up to a count k equals the number of conversations with at least 1 packet, plus the number
//! with at least 2, and so on up to k. A Fenwick tree over k gives this sum in O(log k), and the share itself need not
//! be computed. The tree is built again when a cycle begins, which costs O(1) for each packet of the cycle that ends.
//!
//! State: for both cycles the duration, the integral of the queue length over time, and the packets of each
//! conversation. A packet costs O(log of the largest count).
//!
//! Source: K. Ramakrishnan and R. Jain, "A binary feedback scheme for congestion avoidance", ACM TOCS 1990, and DEC
//! TR-510 (selective feedback); S. Keshav's Berkeley thesis, 1991, chapter 6. The sources give few details. The
//! following choices are ours. Packets that a full buffer refuses do not count as demand. ACKs count, but are not
//! marked. The panic threshold (2 packets) is a parameter, because no source states it. If a cycle is older than
//! `max_cycle` at an arrival, it ends there.

use crate::contract::admission::{Admission, Decision, Exit, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, DropReason, Line, MarkReason, Out, QueueDiscipline, signal};
use crate::entry::{Build, Entry, Facts, Marks};
use crate::fifo::Fifo;
use crate::params::{self, BEFORE, COUNT_IN_SERVICE};
use crate::pieces::classify::conversations::{CONVERSATION, Conversations};
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, KeyField, Kind, Model, Packet, ProbeDef, Settings, Size, Time, params};

pub static MODEL: Model = Model {
    name: "decsel",
    family: "queue",
    title: "Selective DECbit",
    summary: "A FIFO that marks conversations that ask for more than their share. Measure: the queue length, averaged \
              over the previous cycle (a busy period and the idle time after it) and the present cycle, and each \
              conversation's packets in that time. Function: whether the queue is congested, and the max-min fair \
              share. Action: an arriving data packet is marked if it is ECN-capable; a packet that does not fit is \
              dropped (overflow).",
    source: "Ramakrishnan and Jain 1990; DEC TR-510; Keshav, thesis 1991, chapter 6",
    params: PARAMS,
    probes: &PROBES,
};

params! {
    const PARAMS;

    BUFFER: Size = params::BUFFER.with_default("50 packets", "as droptail");
    THRESHOLD: f64 = Key::new("threshold", Kind::Real { min: 0.0, max: 1e6 }, "1",
        "The queue is congested while its average length, in packets and with the one on the line, is greater than \
         this.", "Keshav 1991");
    CAPACITY_FACTOR: f64 = Key::new("capacity_factor", Kind::Real { min: 0.01, max: 1.0 }, "0.9",
        "The part of the line that is shared out as fair shares.", "Keshav 1991, scenario 6");
    PANIC: bool = Key::new("panic", Kind::Bool, "true",
        "Whether all flows are marked when the average passes the panic threshold.", "Keshav 1991, scenario 6");
    PANIC_THRESHOLD: f64 = Key::new("panic_threshold", Kind::Real { min: 0.0, max: 1e6 }, "2",
        "The average queue length, in packets, from which on all flows are marked.", "literature; uncertain");
    MAX_CYCLE: Option<Duration> = Key::new("max_cycle", Kind::Time { min: 1e-6, max: 1e6 }, "none",
        "The longest cycle. An arrival ends an older cycle, as if the line had been idle. Default: cycles end only \
         when the line falls idle.", "tailback");
    CONVERSATION;
    COUNT_IN_SERVICE;
    BEFORE;
}

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry {
        model: &MODEL,
        build: Build::Whole(build),
        admission: None,
        facts: Facts {
            marks: Marks::Signal,
            ..Facts::ONE_QUEUE
        },
    }
}

fn build<P: Packet + 'static>(s: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Ok(Box::new(Fifo::from_settings(s, from_settings(s)?)))
}

const PROBES: [ProbeDef; 2] = Probe::defs(&READ);

/// Values that can be recorded.
const READ: [Probe<DecBit>; 2] = [
    Probe::new(
        "average",
        "packets",
        "Average queue length over the last regeneration cycle and the present one, up to the last event.",
        |q, _| q.average(),
    ),
    Probe::new(
        "demand",
        "packets",
        "Packets of a conversation stored in the last regeneration cycle and the present one.",
        |q: &DecBit, i| match (i as usize) < q.conversations.count() {
            true => f64::from(q.before.of(i) + q.this.of(i)),
            false => f64::NAN,
        },
    )
    .per("conversation"),
];

/// The data of a regeneration cycle.
#[derive(Clone, Debug, Default)]
struct Cycle {
    length: Duration,
    /// The integral of the queue length over time, packets times nanoseconds.
    area: u128,
    packets: u64,
    bytes: u64,
    /// The packets of each conversation, and the list of conversations that have packets.
    count: Vec<u32>,
    present: Vec<u32>,
}

impl Cycle {
    fn add(&mut self, c: u32, bytes: u32) {
        if self.count.len() <= c as usize {
            self.count.resize(c as usize + 1, 0);
        }
        if self.count[c as usize] == 0 {
            self.present.push(c);
        }
        self.count[c as usize] += 1;
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    fn of(&self, c: u32) -> u32 {
        self.count.get(c as usize).copied().unwrap_or(0)
    }

    /// Clear the data, but keep the memory.
    fn clear(&mut self) {
        for c in self.present.drain(..) {
            self.count[c as usize] = 0;
        }
        (self.length, self.area, self.packets, self.bytes) = (Duration::ZERO, 0, 0, 0);
    }
}

/// The sum over all conversations of min(count, k), for any k.
#[derive(Clone, Debug, Default)]
struct Capped {
    /// A Fenwick tree over k = 1, 2, .. of the number of conversations with a count of at least k. Its length is a
    /// power of two.
    tree: Vec<u64>,
    /// The number of entries that were added since the tree was cleared.
    total: u64,
}

impl Capped {
    fn clear(&mut self) {
        self.tree.clear();
        self.total = 0;
    }

    /// One more conversation has a count of at least `k`.
    fn add(&mut self, k: u32) {
        let mut i = k as usize;
        while self.tree.len() < i {
            // In a tree of twice the length, the last node is the sum of all entries so far.
            let longer = (2 * self.tree.len()).max(1);
            self.tree.resize(longer, 0);
            self.tree[longer - 1] = self.total;
        }
        self.total += 1;
        while i <= self.tree.len() {
            self.tree[i - 1] += 1;
            i += i & i.wrapping_neg();
        }
    }

    fn up_to(&self, k: u32) -> u64 {
        let mut i = (k as usize).min(self.tree.len());
        let mut sum = 0;
        while i > 0 {
            sum += self.tree[i - 1];
            i &= i - 1;
        }
        sum
    }
}

/// The marking rule, for a drop-tail FIFO.
#[derive(Clone, Debug)]
pub struct DecBit {
    threshold: f64,
    panic: f64,
    capacity_factor: f64,
    max_cycle: Option<Duration>,
    conversations: Conversations,
    before: Cycle,
    this: Cycle,
    capped: Capped,
    /// The time when the queue length last changed or was read.
    at: Time,
    /// The packets at the switch since then.
    length: u64,
}

/// The admission that these settings describe.
fn from_settings(s: &Settings) -> Result<DecBit, Refusal> {
    let (threshold, panic) = (s.get(&THRESHOLD), s.get(&PANIC_THRESHOLD));
    if s.get(&PANIC) && panic < threshold {
        return Err(Refusal::new(
            format!(
                "panic_threshold ({panic}) is below threshold ({threshold}): all flows would be marked before single \
                 flows are chosen"
            ),
            "raise panic_threshold, lower threshold, or give panic = false",
        ));
    }
    let key = s.get(&CONVERSATION);
    let mut switch = DecBit::new(key, s.get(&THRESHOLD), s.get(&CAPACITY_FACTOR));
    if s.get(&PANIC) {
        switch.panic = s.get(&PANIC_THRESHOLD);
    }
    switch.max_cycle = s.get(&MAX_CYCLE);
    Ok(switch)
}

impl DecBit {
    /// A switch without a panic threshold and without a limit for the length of a cycle.
    pub fn new(key: KeyField, threshold: f64, capacity_factor: f64) -> DecBit {
        DecBit {
            threshold,
            panic: f64::INFINITY,
            capacity_factor,
            max_cycle: None,
            conversations: Conversations::new(key),
            before: Cycle::default(),
            this: Cycle::default(),
            capped: Capped::default(),
            at: Time::ZERO,
            length: 0,
        }
    }

    /// Let time pass until `now` at the present queue length.
    fn pass(&mut self, now: Time) {
        let gap = now.since(self.at);
        self.this.length += gap;
        self.this.area += u128::from(self.length) * u128::from(gap.0);
        self.at = now;
    }

    fn begin_cycle(&mut self) {
        std::mem::swap(&mut self.before, &mut self.this);
        self.this.clear();
        self.capped.clear();
        for c in &self.before.present {
            for k in 1..=self.before.count[*c as usize] {
                self.capped.add(k);
            }
        }
    }

    /// The average queue length, packets; NaN before any time has passed.
    pub fn average(&self) -> f64 {
        (self.before.area + self.this.area) as f64 / (self.before.length + self.this.length).0 as f64
    }

    /// Whether the demand of this conversation exceeds its fair share of the line.
    fn exceeds(&self, c: u32, line: &Line) -> bool {
        let time = (self.before.length + self.this.length).seconds();
        let packet =
            8.0 * (self.before.bytes + self.this.bytes) as f64 / (self.before.packets + self.this.packets) as f64;
        let capacity = self.capacity_factor * line.rate.bits_per_second() / packet * time;
        self.capped.up_to(self.before.of(c) + self.this.of(c)) as f64 > capacity
    }
}

impl<P: Packet> Admission<P> for DecBit {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, out: &mut dyn Out<P>) -> Decision {
        self.pass(line.now);
        if !queue.fits(p.bytes()) {
            return Decision::Drop(DropReason::Overflow);
        }
        if self.length == 0 || self.max_cycle.is_some_and(|longest| self.this.length > longest) {
            self.begin_cycle();
        }
        let c = self.conversations.number(p);
        self.length += 1;
        self.this.add(c, p.bytes());
        self.capped.add(self.before.of(c) + self.this.of(c));
        let average = self.average();
        // The comparison is also false while the average is NaN.
        if p.is_data() && average > self.threshold {
            if average >= self.panic {
                signal(p, true, MarkReason::Forced, out);
            } else if self.exceeds(c, line) {
                signal(p, true, MarkReason::Share, out);
            }
        }
        Decision::Store
    }

    /// If this packet is served, the previous packet has left the line, and this one takes its place.
    fn left(&mut self, _p: &P, _how: Exit, rest: Backlog, line: &Line) {
        self.pass(line.now);
        self.length = rest.packets + 1;
    }

    fn idle(&mut self, line: &Line) {
        self.pass(line.now);
        self.length = 0;
    }

    fn probes(&self) -> &[ProbeDef] {
        &PROBES
    }

    fn read(&self, probe: crate::contract::discipline::ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, ClosedLoop, TestPacket};
    use crate::fifo::Fifo;
    use crate::registry;
    use proptest::prelude::*;
    use tailback_base::{BitRate, Size, Stream};

    fn switch(threshold: f64, capacity_factor: f64) -> Bench<Fifo<TestPacket, DecBit>> {
        let mut b = Bench::new(Fifo::new(
            Size::Unlimited,
            DecBit::new(KeyField::Pair, threshold, capacity_factor),
        ));
        b.rate = BitRate(8_000_000);
        b
    }

    /// One packet takes one second from arrival to departure. Then the line is idle for this time, ms.
    fn alone(b: &mut Bench<Fifo<TestPacket, DecBit>>, idle: u64) {
        b.arrive(TestPacket::new(0, 0, 1000));
        assert_eq!(b.serve(), Some(0));
        b.pass(Duration::from_millis(1000));
        assert_eq!(b.serve(), None);
        b.pass(Duration::from_millis(idle));
    }

    #[test]
    fn the_average_is_over_the_cycle_before_and_this_one() {
        let mut b = switch(f64::INFINITY, 0.9);
        let average = |b: &Bench<Fifo<TestPacket, DecBit>>| b.queue.admission.average();
        assert!(average(&b).is_nan(), "no time has passed");
        alone(&mut b, 3000);
        b.arrive(TestPacket::new(1, 0, 1000));
        assert_eq!(average(&b), 0.25, "busy one second of four");
        assert_eq!(b.serve(), Some(1));
        // Two packets are at the switch for two seconds.
        b.arrive(TestPacket::new(2, 0, 1000));
        b.pass(Duration::from_millis(2000));
        assert_eq!(b.serve(), Some(2));
        assert_eq!(average(&b), 5.0 / 6.0, "1 + 2 * 2 over 4 + 2 seconds");
        assert_eq!(b.serve(), None);
        b.pass(Duration::from_millis(2000));
        b.arrive(TestPacket::new(3, 0, 1000));
        assert_eq!(average(&b), 1.0, "the first cycle is forgotten: 2 * 2 over 4 seconds");
        assert_eq!(b.probe("demand", 0), 3.0);
    }

    #[test]
    fn a_cycle_that_lasts_too_long_ends() {
        let mut b = switch(f64::INFINITY, 0.9);
        b.queue.admission.max_cycle = Some(Duration::from_millis(5000));
        for id in 0..20 {
            b.arrive(TestPacket::new(id, 0, 1000));
            b.pass(Duration::from_millis(1000));
        }
        // Cycles began with packets 0, 6, 12 and 18, so the first two cycles no longer count.
        assert_eq!(b.probe("demand", 0), 8.0);
    }

    /// Scenario 1 of the suite with both windows at one gives the published average and a bit on every packet.
    #[test]
    fn two_windows_of_one_are_congestion() {
        let settings = Settings::defaults(&MODEL);
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(80_000),
            delay: Duration::ZERO,
        };
        let mut closed_loop = ClosedLoop::new(registry::build(&settings, context).unwrap(), BitRate(80_000));
        for _ in 0..2 {
            closed_loop.window(1, 1000, Duration::from_micros(14_400));
        }
        closed_loop.run(Duration::from_millis(1_000_000));
        let average = closed_loop.queue().read(crate::contract::discipline::ProbeId(0), 0);
        assert!((average - 1.856).abs() < 0.005, "2 - 0.0144 / 0.1: {average}");
        let sent = closed_loop.delays[0].len() + closed_loop.delays[1].len();
        assert_eq!(sent, 10_000, "the line is never idle");
        assert!(
            closed_loop.log.marked.len() >= sent - 10,
            "{} of {sent}",
            closed_loop.log.marked.len()
        );
        assert!(closed_loop.log.marked.iter().all(|(_, why)| *why == MarkReason::Share));
    }

    #[test]
    fn only_who_asks_for_more_than_the_fair_share_is_marked() {
        // The queue is full and the cycle long. The capacity is 0.9 of 1000 packets a second. Flow 0 sends 200 packets
        // a second, flow 1 sends 1000.
        let run = |panic: f64| {
            let mut b = switch(1.0, 0.9);
            b.queue.admission.panic = panic;
            for id in 0..3000 {
                let flow = u32::from(id % 6 != 0);
                b.arrive(TestPacket::new(id, flow, 1000).capable());
                if id == 0 || id % 6 != 1 {
                    b.serve();
                }
                b.pass(Duration::from_micros(833));
            }
            b.log
        };
        let log = run(f64::INFINITY);
        let late_flows: Vec<u32> = log
            .marked
            .iter()
            .filter(|(p, _)| p.id > 100)
            .map(|(p, _)| p.flow)
            .collect();
        assert!(
            late_flows.len() > 2000 && late_flows.iter().all(|f| *f == 1),
            "{}",
            late_flows.len()
        );
        let log = run(2.0);
        let late_ids: Vec<u64> = log
            .marks(MarkReason::Forced)
            .into_iter()
            .filter(|id| *id > 100)
            .collect();
        assert_eq!(late_ids, (101..3000).collect::<Vec<_>>(), "panic: everybody");
    }

    #[test]
    fn acks_are_spared() {
        let mut b = switch(0.0, 0.01);
        for id in 0..20 {
            let data = id % 2 == 0;
            b.arrive(TestPacket {
                data,
                ..TestPacket::new(id, id as u32 % 2, 1000).capable()
            });
            b.pass(Duration::from_millis(1));
        }
        assert!(b.log.marks(MarkReason::Share).iter().all(|id| id % 2 == 0));
        assert!(b.log.marked.len() >= 9);
    }

    /// The fair share as the literature computes it: share the capacity equally, serve conversations with a lower
    /// demand, and share the rest again.
    fn fair_share(demands: &[f64], capacity: f64) -> f64 {
        let mut unserved: Vec<f64> = demands.iter().copied().filter(|d| *d > 0.0).collect();
        let mut capacity = capacity;
        loop {
            if unserved.is_empty() {
                return f64::INFINITY;
            }
            let share = capacity / unserved.len() as f64;
            let (small, large): (Vec<f64>, Vec<f64>) = unserved.iter().partition(|d| **d <= share);
            if small.is_empty() {
                return share;
            }
            capacity -= small.iter().sum::<f64>();
            unserved = large;
        }
    }

    proptest! {
        /// A demand exceeds the max-min share exactly if serving all conversations up to this demand takes more than
        /// the capacity.
        #[test]
        fn the_sum_of_capped_counts_decides_as_the_fair_share_does(
            counts in prop::collection::vec(0u32..40, 1..12), capacity in 1u32..400,
        ) {
            let mut capped = Capped::default();
            for n in &counts {
                (1..=*n).for_each(|k| capped.add(k));
            }
            let demands: Vec<f64> = counts.iter().map(|n| f64::from(*n)).collect();
            // The capacity is not a whole number, so that rounding in the divisions of the reference does not matter.
            let capacity = f64::from(capacity) + 0.5;
            let share = fair_share(&demands, capacity);
            for n in counts.iter().filter(|n| **n > 0) {
                prop_assert_eq!(capped.up_to(*n) as f64 > capacity, f64::from(*n) > share);
            }
        }
    }
}
