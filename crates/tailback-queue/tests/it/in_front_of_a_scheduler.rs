//! An admission in front of a scheduler of several queues, drawing and evicting packets from all of them.
//!
//! [`Pair`] is the smallest port there is: two queues served in turn under one limit. That it can show its packets
//! through [`QueueView`] is the claim; that the admission's draw is uniform over both queues, that its books balance
//! whoever drops, and that RED stands before it unchanged, are the tests.

use tailback_base::{BitRate, Duration, Packet, Settings, Size, Stream, Time};
use tailback_queue::Admitted;
use tailback_queue::BuildContext;
use tailback_queue::admission::{Admission, Decision, Exit, Handle, QueueView, Waiting};
use tailback_queue::aqm::red::{self, Red};
use tailback_queue::entry::Configured;
use tailback_queue::fifo::random_drop::RandomDrop;
use tailback_queue::fifo::{Fifo, Ring};
use tailback_queue::testing::{Bench, TestPacket};
use tailback_queue::{Backlog, DropReason, Line, Out, Place, QueueDiscipline, Service, capacity};

/// Two queues served in turn, flow by parity, one limit for both; the longer one loses its head at overflow.
struct Pair {
    queues: [Ring<TestPacket>; 2],
    turn: usize,
    limit: Size,
}

impl Pair {
    fn new(limit: Size) -> Pair {
        Pair {
            queues: [Ring::new(Size::Unlimited), Ring::new(Size::Unlimited)],
            turn: 0,
            limit,
        }
    }

    fn lengths(&self) -> [u64; 2] {
        [self.queues[0].backlog().packets, self.queues[1].backlog().packets]
    }
}

impl QueueDiscipline<TestPacket> for Pair {
    fn enqueue(&mut self, p: TestPacket, line: &Line, out: &mut dyn Out<TestPacket>) {
        while !capacity::fits(self.limit, self.stored(), p.bytes()) {
            let longest = usize::from(self.lengths()[1] > self.lengths()[0]);
            match self.queues[longest].pop() {
                Some(victim) => out.dropped(victim, Place::Queued, DropReason::Overflow),
                None => return out.dropped(p, Place::Arriving, DropReason::Overflow),
            }
        }
        self.queues[p.flow as usize % 2].push(p, line.now);
    }

    fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<TestPacket>) -> Service<TestPacket> {
        for _ in 0..2 {
            self.turn ^= 1;
            if let Some(p) = self.queues[self.turn].pop() {
                return Service::Send(p);
            }
        }
        Service::Empty
    }

    fn backlog(&self) -> Backlog {
        self.stored()
    }
}

impl QueueView<TestPacket> for Pair {
    fn stored(&self) -> Backlog {
        let [a, b] = [self.queues[0].backlog(), self.queues[1].backlog()];
        Backlog {
            packets: a.packets + b.packets,
            bytes: a.bytes + b.bytes,
        }
    }
    fn limit(&self) -> Size {
        self.limit
    }
    /// It pushes out, so it takes whatever fits into the empty buffer.
    fn fits(&self, bytes: u32) -> bool {
        capacity::fits_alone(self.limit, bytes)
    }
    /// One draw over both: the handles of the second queue follow those of the first.
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        let n = self.stored().packets;
        (n > 0).then(|| Handle(stream.below(n)))
    }
    fn get(&self, at: Handle) -> Option<&TestPacket> {
        let first = self.lengths()[0];
        if at.0 < first {
            self.queues[0].get(at.0 as usize)
        } else {
            self.queues[1].get((at.0 - first) as usize)
        }
    }
    fn remove(&mut self, at: Handle, _why: DropReason, _line: &Line) -> Option<TestPacket> {
        let first = self.lengths()[0];
        if at.0 < first {
            self.queues[0].remove(at.0 as usize)
        } else {
            self.queues[1].remove((at.0 - first) as usize)
        }
    }
}

/// Draws a packet at every arrival; when it is of the same flow, both go (CHOKe's comparison, without RED).
/// Keeps books of what it let in.
struct Compare {
    stream: Stream,
    inside: i64,
}

impl Admission<TestPacket> for Compare {
    fn admit(
        &mut self,
        p: &mut TestPacket,
        queue: &mut Waiting<'_, TestPacket>,
        _line: &Line,
        _out: &mut dyn Out<TestPacket>,
    ) -> Decision {
        let drawn = queue.draw(&mut self.stream);
        let twin = drawn.filter(|at| queue.get(*at).is_some_and(|d| d.flow == p.flow));
        if twin.is_some_and(|at| queue.evict(at, DropReason::Match)) {
            return Decision::Drop(DropReason::Match);
        }
        self.inside += 1;
        Decision::Store
    }
    fn left(&mut self, _p: &TestPacket, _how: Exit, _rest: Backlog, _line: &Line) {
        self.inside -= 1;
    }
}

#[test]
fn books_balance_whoever_drops() {
    let compare = Compare {
        stream: Stream::new(1, "compare"),
        inside: 0,
    };
    let mut b = Bench::new(Admitted::new(compare, Pair::new(Size::Bytes(6000))));
    let mut choice = Stream::new(2, "input");
    let (mut arrived, mut sent) = (0, 0);
    for id in 0..20_000 {
        if choice.chance(0.6) {
            arrived += 1;
            b.arrive(TestPacket::new(
                id,
                choice.below(8) as u32,
                40 + choice.below(1460) as u32,
            ));
        } else {
            sent += u64::from(b.serve().is_some());
        }
        let backlog = b.backlog();
        assert_eq!(b.queue.admission.inside as u64, backlog.packets);
        assert_eq!(arrived, sent + b.log.dropped.len() as u64 + backlog.packets);
        assert!(backlog.bytes <= 6000);
    }
    let count = |why, place| b.log.dropped.iter().filter(|d| d.2 == why && d.1 == place).count();
    assert!(count(DropReason::Overflow, Place::Queued) > 100, "the port pushed out");
    let matched = count(DropReason::Match, Place::Queued);
    assert!(matched > 100);
    assert_eq!(
        matched,
        count(DropReason::Match, Place::Arriving),
        "each match takes two"
    );
}

#[test]
fn the_draw_is_uniform_over_all_queues() {
    // Queue 0 holds 30 packets, queue 1 holds 10; one arrival of either flow at the full buffer draws a victim.
    let mut lost = [0u64; 2];
    let admission = RandomDrop::new(Stream::new(1, "draw"));
    let mut b = Bench::new(Admitted::new(admission, Pair::new(Size::Packets(40))));
    let runs = 10_000;
    for _ in 0..runs {
        for id in 0..41 {
            b.arrive(TestPacket::new(id, u32::from(id >= 30), 500));
        }
        b.drain();
    }
    for (p, _, _) in &b.log.dropped {
        lost[p.flow as usize] += 1;
    }
    assert_eq!(lost[0] + lost[1], runs);
    let expected = runs as f64 * 30.0 / 41.0;
    let chi2 = (lost[0] as f64 - expected).powi(2) * (1.0 / expected + 1.0 / (runs as f64 - expected));
    assert!(chi2 < 6.63, "{lost:?}");
}

#[test]
fn red_before_several_queues_decides_as_red_over_one() {
    let settings = Settings::defaults(&red::MODEL)
        .with("buffer", "1000 packets")
        .with("weight", "0.05");
    let red = || {
        let context = BuildContext {
            stream: Stream::new(1, "red"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        Red::configured(&settings, context).unwrap()
    };
    let limit = settings.size("buffer");
    let mut one = Bench::new(Fifo::new(limit, red()));
    let mut two = Bench::new(Admitted::new(red(), Pair::new(limit)));
    let mut choice = Stream::new(2, "input");
    for id in 0..20_000 {
        let p = TestPacket::new(id, choice.below(8) as u32, 500);
        one.arrive(p);
        two.arrive(p);
        if choice.chance(0.9) {
            assert_eq!(one.take().is_some(), two.take().is_some());
        }
    }
    assert!(one.log.dropped.len() > 500);
    assert_eq!(
        one.log.dropped, two.log.dropped,
        "the same packets: the backlog is the same"
    );
    assert_eq!(one.probe("average", 0), two.probe("average", 0));
}

#[test]
fn admissions_stack_as_prefilters() {
    // A comparison before RED over a FIFO: the outer one evicts from the inner queue, and both books know.
    let settings = Settings::defaults(&red::MODEL);
    let context = BuildContext {
        stream: Stream::new(1, "red"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    };
    let red = Red::configured(&settings, context).unwrap();
    let compare = Compare {
        stream: Stream::new(3, "compare"),
        inside: 0,
    };
    let mut b = Bench::new(Admitted::new(compare, Fifo::from_settings(&settings, red)));
    for id in 0..1000 {
        b.arrive(TestPacket::new(id, (id % 5) as u32, 500));
        if id % 4 == 0 {
            b.serve();
        }
        assert_eq!(b.queue.admission.inside as u64, b.backlog().packets);
    }
    assert!(b.log.drops(DropReason::Match).len() > 50);
    assert!(b.probe("average", 0) > 0.0);
    assert_eq!(b.queue.next_timer(), None::<Time>);
}
