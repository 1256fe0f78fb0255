//! The frame: the order of its calls, the view for admissions, and conservation with pieces of every kind.

use super::*;
use crate::contract::admission::{Admission, Decision, Waiting};
use crate::contract::admitted::Admitted;
use crate::contract::testing::{Bench, TestPacket};
use crate::entry::Configured;
use crate::pieces::classify::per_flow::{Even, PerFlow};
use crate::pieces::drop::longest::Longest;
use crate::pieces::drop::sticky::{self, Sticky};
use crate::pieces::drop::throughput::Throughput;
use crate::pieces::drop::{End, Eviction};
use crate::pieces::index::length_index::Tie;
use crate::pieces::index::rate_estimate::PerService;
use crate::pieces::schedule::ServiceOrder;
use crate::pieces::schedule::drr::Drr;
use crate::pieces::store::Unit;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tailback_base::Duration;

/// Pieces that record the calls of the frame: a classifier by flow, a scheduler that serves the lowest queue, and a
/// policy that refuses flow 9, chooses queue 0 as its victim while it exists, and notes a value on each timer.
#[derive(Clone, Default)]
struct Told(Rc<RefCell<Vec<String>>>);

impl Told {
    fn say(&self, what: String) {
        self.0.borrow_mut().push(what);
    }
    fn take(&self) -> String {
        self.0.take().join(" ")
    }
}

impl Classifier<TestPacket> for Told {
    fn queue_of(&mut self, p: &TestPacket, _: Time) -> QueueId {
        p.flow
    }
    fn refused(&mut self, p: &TestPacket, q: QueueId, _: Time) {
        self.say(format!("c.refused({},{q})", p.id));
    }
    fn left(&mut self, p: &TestPacket, q: QueueId, _: Time) {
        self.say(format!("c.left({},{q})", p.id));
    }
    fn next_timer(&self) -> Option<Time> {
        Some(Time(30))
    }
    fn on_timer(&mut self, now: Time) {
        self.say(format!("c.timer({})", now.0));
    }
}

impl ServiceOrder for Told {}

impl Scheduler<TestPacket> for Told {
    fn appended(&mut self, q: QueueId, slot: u32, store: &Store<TestPacket>, _: &Line) {
        self.say(format!("s.appended({q},{})", store.packet(slot).unwrap().id));
    }
    fn activate(&mut self, q: QueueId, _: &Store<TestPacket>, _: &Line) {
        self.say(format!("s.activate({q})"));
    }
    fn next(&mut self, store: &Store<TestPacket>, _: &Line) -> Turn {
        Turn::of((0..store.queues()).find(|q| store.packets(*q) > 0))
    }
    fn deactivate(&mut self, q: QueueId, _: &Store<TestPacket>, _: &Line) {
        self.say(format!("s.deactivate({q})"));
    }
    fn head_changed(&mut self, q: QueueId, _: &Store<TestPacket>, _: &Line) {
        self.say(format!("s.head_changed({q})"));
    }
}

impl DropPolicy<TestPacket> for Told {
    fn refuse(&mut self, _: QueueId, p: &TestPacket, _: &mut Scene<TestPacket>) -> Option<DropReason> {
        (p.flow == 9).then_some(DropReason::Refused)
    }
    fn evict(&mut self, newcomer: QueueId, scene: &mut Scene<TestPacket>) -> Option<Eviction> {
        self.say(format!("p.victim({newcomer})"));
        (scene.store.packets(0) > 0).then_some(Eviction::one(0, End::Front))
    }
    fn after_append(&mut self, q: QueueId, p: &TestPacket, _: &mut Scene<TestPacket>) {
        self.say(format!("p.append({q},{})", p.id));
    }
    fn after_service(&mut self, q: QueueId, p: &TestPacket, _: &mut Scene<TestPacket>) {
        self.say(format!("p.service({q},{})", p.id));
    }
    fn after_evict(&mut self, q: QueueId, p: &TestPacket, _: &mut Scene<TestPacket>) {
        self.say(format!("p.evict({q},{})", p.id));
    }
    fn next_timer(&self) -> Option<Time> {
        Some(Time(20))
    }
    fn on_timer(&mut self, scene: &mut Scene<TestPacket>) {
        self.say(format!("p.timer({})", scene.line.now.0));
        scene.note(0, 5, 7.0);
    }
    fn probes(&self) -> &'static [ProbeDef] {
        const { &[sticky::VICTIM] }
    }
    fn read(&self, probe: usize, index: u32) -> f64 {
        f64::from(index) + probe as f64
    }
}

fn told(packets: u64, count_newcomer: bool) -> (Told, Bench<Port<TestPacket, Told, Told, Told>>) {
    let calls = Told::default();
    let port = Port::new(Size::Packets(packets), calls.clone(), calls.clone(), calls.clone());
    let port = port
        .counting_newcomer(count_newcomer)
        .declaring(const { &[EVICTED_SHARE, sticky::VICTIM] });
    (calls, Bench::new(port))
}

fn packet(id: u64, flow: u32) -> TestPacket {
    TestPacket::new(id, flow, 1000)
}

#[test]
fn hooks_come_in_their_order() {
    let (calls, mut b) = told(2, false);
    b.arrive(packet(0, 0));
    assert_eq!(calls.take(), "s.appended(0,0) s.activate(0) p.append(0,0)");
    b.arrive(packet(1, 0));
    assert_eq!(calls.take(), "s.appended(0,1) p.append(0,1)");
    b.arrive(packet(2, 1));
    let evicted = "p.victim(1) s.head_changed(0) p.evict(0,0) c.left(0,0) ";
    assert_eq!(
        calls.take(),
        evicted.to_string() + "s.appended(1,2) s.activate(1) p.append(1,2)"
    );
    b.arrive(packet(3, 1));
    let evicted = "p.victim(1) s.deactivate(0) p.evict(0,1) c.left(1,0) ";
    assert_eq!(calls.take(), evicted.to_string() + "s.appended(1,3) p.append(1,3)");
    b.arrive(packet(4, 2));
    assert_eq!(
        calls.take(),
        "p.victim(2) c.refused(4,2)",
        "no victim: the newcomer goes"
    );
    b.arrive(packet(5, 9));
    assert_eq!(calls.take(), "c.refused(5,9)");
    assert_eq!(b.serve(), Some(2));
    assert_eq!(calls.take(), "p.service(1,2) c.left(2,1)");
    assert_eq!(b.serve(), Some(3));
    assert_eq!(calls.take(), "s.deactivate(1) p.service(1,3) c.left(3,1)");
    assert_eq!(b.serve(), None);
    assert_eq!(calls.take(), "");
    let why: Vec<_> = b
        .log
        .dropped
        .iter()
        .map(|(p, place, why)| (p.id, *place, *why))
        .collect();
    let (queued, arriving) = (Place::Queued, Place::Arriving);
    let (overflow, refused) = (DropReason::Overflow, DropReason::Refused);
    assert_eq!(
        why,
        [
            (0, queued, overflow),
            (1, queued, overflow),
            (4, arriving, overflow),
            (5, arriving, refused)
        ]
    );
}

#[test]
fn a_counted_newcomer_is_stored_first_and_taken_back_without_a_victim() {
    let (calls, mut b) = told(1, true);
    b.arrive(packet(0, 1));
    calls.take();
    b.arrive(packet(1, 2));
    let taken_back = "p.victim(2) s.deactivate(2) p.evict(2,1) c.refused(1,2)";
    assert_eq!(
        calls.take(),
        "s.appended(2,1) s.activate(2) p.append(2,1) ".to_string() + taken_back
    );
    b.arrive(packet(2, 0));
    let victim_itself = "p.victim(0) s.deactivate(0) p.evict(0,2) c.refused(2,0)";
    assert_eq!(
        calls.take(),
        "s.appended(0,2) s.activate(0) p.append(0,2) ".to_string() + victim_itself
    );
    assert!(b.log.dropped.iter().all(|d| d.1 == Place::Arriving));
    assert_eq!(b.drain(), [0]);
}

#[test]
fn timers_run_when_due_and_notes_carry_the_declared_id() {
    let (calls, mut b) = told(1, false);
    assert_eq!(b.queue.next_timer(), Some(Time(20)));
    b.now = Time(20);
    let line = b.line();
    b.by_hand.queue.on_timer(&line, &mut b.log);
    assert_eq!(calls.take(), "p.timer(20)");
    b.now = Time(31);
    let line = b.line();
    b.by_hand.queue.on_timer(&line, &mut b.log);
    assert_eq!(calls.take(), "c.timer(31) p.timer(31)");
    assert_eq!(b.log.notes, [(ProbeId(1), 5, 7.0), (ProbeId(1), 5, 7.0)]);
    assert_eq!((b.probe("victim", 3), b.probe("evicted_share", 0)), (3.0, 0.0));
    assert!(b.queue.read(ProbeId(2), 0).is_nan());
}

type Drrs<C, D> = Port<TestPacket, C, Drr, D>;

fn longest(buffer: Size) -> Drrs<PerFlow, Longest> {
    let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"));
    Port::new(buffer, PerFlow::new(), Drr::new(1500), policy).declaring(const { &[EVICTED_BYTES] })
}

#[test]
fn an_admission_draws_from_all_queues_alike_and_evicts_from_the_middle() {
    let mut b = Bench::new(longest(Size::Packets(100)));
    for id in 0..10 {
        b.arrive(packet(id, u32::from(id >= 8)));
    }
    let mut stream = Stream::new(3, "test");
    let mut hits = [0_i32; 10];
    for _ in 0..10_000 {
        let at = b.queue.draw(&mut stream).unwrap();
        hits[b.queue.get(at).unwrap().id as usize] += 1;
    }
    assert!(
        hits.iter().all(|n| (n - 1000).abs() < 130),
        "each packet alike, whatever its queue: {hits:?}"
    );
    // Remove one that is neither first nor last, then the first, then a whole queue.
    for id in [3, 0, 8, 9] {
        let slot = loop {
            let drawn_slot = b.queue.draw(&mut stream).unwrap();
            if b.queue.get(drawn_slot).unwrap().id == id {
                break drawn_slot;
            }
        };
        let line = b.line();
        assert_eq!(b.queue.remove(slot, DropReason::Overflow, &line).unwrap().id, id);
        assert!(b.queue.get(slot).is_none() && b.queue.remove(slot, DropReason::Overflow, &line).is_none());
    }
    assert_eq!(b.probe("evicted_bytes", 0), 4000.0);
    assert_eq!(b.queue.store().backlogged(), 1);
    assert_eq!(b.drain(), [1, 2, 4, 5, 6, 7]);
    assert!(b.queue.draw(&mut stream).is_none());
    assert!(b.queue.get(Handle(u64::MAX)).is_none());
}

#[test]
fn a_port_that_evicts_takes_whatever_fits_the_empty_buffer() {
    let mut b = Bench::new(longest(Size::Packets(1)));
    b.arrive(packet(0, 0));
    assert!(QueueView::fits(&b.queue, 9000));
    let byte = longest(Size::Bytes(5000));
    assert!(QueueView::fits(&byte, 5000) && !QueueView::fits(&byte, 5001));
    assert_eq!(
        (byte.limit(), longest(Size::Unlimited).limit()),
        (Size::Bytes(5000), Size::Unlimited)
    );
}

/// Admits everything and evicts a random packet before every third arrival.
struct Thief(Stream, u32);

impl Admission<TestPacket> for Thief {
    fn admit(
        &mut self,
        _: &mut TestPacket,
        queue: &mut Waiting<'_, TestPacket>,
        _: &Line,
        _: &mut dyn Out<TestPacket>,
    ) -> Decision {
        self.1 += 1;
        if let Some(at) = queue.draw(&mut self.0).filter(|_| self.1 % 3 == 1) {
            assert!(queue.evict(at, DropReason::Match));
        }
        Decision::Store
    }
}

fn conserve(
    queue: impl QueueDiscipline<TestPacket>,
    limit: Size,
    steps: &[(u8, u32, u32)],
) -> Result<(), TestCaseError> {
    let mut b = Bench::new(queue);
    let (mut arrived, mut arrived_bytes, mut sent_packets) = (0, 0, vec![]);
    let mut newest = [0; 16];
    for (op, flow, bytes) in steps {
        b.pass(Duration(u64::from(*bytes) * 1000));
        if *op == 0 {
            sent_packets.extend(b.take());
        } else {
            b.arrive(TestPacket::new(arrived, *flow, *bytes));
            arrived += 1;
            arrived_bytes += u64::from(*bytes);
        }
        let backlog = b.backlog();
        prop_assert_eq!(
            arrived,
            sent_packets.len() as u64 + b.log.dropped.len() as u64 + backlog.packets
        );
        let bytes = |p: &TestPacket| u64::from(p.bytes);
        let gone = sent_packets.iter().map(bytes).sum::<u64>() + b.log.dropped.iter().map(|d| bytes(&d.0)).sum::<u64>();
        prop_assert_eq!(arrived_bytes, gone + backlog.bytes);
        match limit {
            Size::Packets(n) => prop_assert!(backlog.packets <= n),
            Size::Bytes(n) => prop_assert!(backlog.bytes <= n),
            Size::Unlimited => prop_assert!(b.log.dropped.iter().all(|d| d.2 == DropReason::Match)),
        }
    }
    while let Some(p) = b.take() {
        sent_packets.push(p);
    }
    prop_assert_eq!(b.backlog(), Backlog::default());
    let mut ids: Vec<u64> = sent_packets
        .iter()
        .map(|p| p.id)
        .chain(b.log.dropped.iter().map(|d| d.0.id))
        .collect();
    ids.sort();
    prop_assert_eq!(ids, (0..arrived).collect::<Vec<_>>(), "each packet leaves once");
    for p in sent_packets {
        prop_assert!(newest[p.flow as usize] <= p.id, "a flow keeps its order");
        newest[p.flow as usize] = p.id;
    }
    Ok(())
}

proptest! {
    /// Packets of any size, including zero and larger than the buffer, with every policy, unit and tie, with the
    /// newcomer counted or not, and with an admission that evicts from anywhere.
    #[test]
    fn each_packet_leaves_once_and_the_buffer_is_never_exceeded(
        steps in prop::collection::vec((0u8..3, 0u32..6, prop_oneof![Just(0u32), 1u32..1500, Just(6000)]), 1..200),
        tie in 0usize..4,
        count in any::<bool>(),
        size in 0usize..5,
    ) {
        let tie = [Tie::Fifo, Tie::Ring, Tie::Lowest, Tie::Random][tie];
        let limit = [Size::Packets(1), Size::Packets(7), Size::Bytes(1), Size::Bytes(5000), Size::Unlimited][size];
        let unit = Store::<TestPacket>::new(limit).unit();
        let stream = || Stream::new(1, "test");
        let drr = || Drr::new(700);
        let longest = || Longest::new(unit, tie, stream());
        let longest = || Port::new(limit, PerFlow::new(), drr(), longest()).counting_newcomer(count);
        let sticky = || Sticky::new(unit, tie, stream());
        let sticky = || Port::new(limit, Even::new(2), drr(), sticky()).counting_newcomer(count);
        let rate = || Throughput::new(PerService::new(0.25), tie, stream());
        let throughput = || Port::new(limit, PerFlow::new(), drr(), rate()).counting_newcomer(count);
        conserve(longest(), limit, &steps)?;
        conserve(sticky(), limit, &steps)?;
        conserve(throughput(), limit, &steps)?;
        conserve(Admitted::new(Thief(stream(), 0), longest()), limit, &steps)?;
        conserve(Admitted::new(Thief(stream(), 0), sticky()), limit, &steps)?;
        conserve(Admitted::new(Thief(stream(), 0), throughput()), limit, &steps)?;
    }
}

#[test]
fn ten_thousand_queues_take_little_memory_and_time() {
    // A queue takes 24 bytes here, 16 in the ring and 12 in the index, whatever it held before.
    let mut b = Bench::new(longest(Size::Packets(1000)));
    for id in 0..300_000 {
        b.arrive(packet(id, (id * 7919 % 10_000) as u32));
        if id % 3 == 0 {
            b.serve();
        }
    }
    assert_eq!(b.queue.store().queues(), 10_000);
    assert_eq!(b.backlog().packets, 1000);
    assert_eq!(b.drain().len(), 1000);
}

/// RED refuses everything while its average is high. An arrival that it refuses at an empty queue must not end the
/// idle time, or the average would never fall again.
#[test]
fn a_refused_arrival_leaves_an_empty_queue_idle() {
    let red = |stream| -> Box<dyn Admission<TestPacket>> {
        let settings = tailback_base::Settings::defaults(&crate::aqm::red::MODEL)
            .with("min_threshold", "5 packets")
            .with("max_threshold", "15 packets")
            .with("gentle", "false")
            .with("initial_average", "20 packets");
        let context = crate::contract::build_context::BuildContext {
            stream,
            rate: tailback_base::BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        Box::new(crate::aqm::red::Red::configured(&settings, context).unwrap())
    };
    let policy = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, "test"));
    let mut port = Port::new(Size::Packets(100), PerFlow::new(), Drr::new(500), policy);
    assert!(port.give_aqms(crate::contract::queue_aqms::seeded(1, red)).is_ok());
    let mut b = Bench::new(port);
    b.arrive(TestPacket::new(0, 0, 500));
    assert_eq!(b.drain(), [] as [u64; 0]);
    // 300 packet times of 4 ms at weight 0.002 reduce the average from 20 to 11; one arrival does not.
    b.pass(Duration::from_millis(1200));
    b.arrive(TestPacket::new(1, 0, 500));
    assert_eq!(
        b.drain().len() + b.log.drops(crate::contract::discipline::DropReason::Early).len(),
        1
    );
}

/// With several queues, CHOKe's `draw = "front"` and `"back"` compare with the first and the last packet of all, not
/// with those of one queue.
#[test]
fn the_view_names_the_first_and_the_last_of_all_queues() {
    let longest = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, ""));
    let mut b = Bench::new(Port::new(Size::Packets(40), PerFlow::new(), Drr::new(1500), longest));
    assert_eq!((b.queue.oldest(), b.queue.newest()), (None, None));
    for (id, flow) in [(0, 2), (1, 0), (2, 1), (3, 0), (4, 2), (5, 1)] {
        b.arrive(TestPacket::new(id, flow, 500));
        b.pass(Duration(10));
    }
    let id = |at: Option<Handle>, port: &dyn QueueView<TestPacket>| at.and_then(|at| port.get(at)).map(|p| p.id);
    for (first, last) in [(0, 5), (1, 4), (2, 3)] {
        let port = &mut b.queue;
        assert_eq!(
            (id(port.oldest(), port), id(port.newest(), port)),
            (Some(first), Some(last))
        );
        let line = Line {
            busy: None,
            ..b.by_hand.line()
        };
        for at in [b.queue.oldest(), b.queue.newest()].into_iter().flatten() {
            b.queue.remove(at, DropReason::Match, &line);
        }
    }
    assert_eq!(b.queue.oldest(), None);
}
