//! The properties every discipline owes its driver, for every model in the registry under random input.
//!
//! A model is found by its declaration and its parameters are drawn by their kinds, the models that stand in it too
//! (`aqm`, `before`, `scheduler`, `policy`), so a discipline or a piece added later is covered without a word here. The
//! input is any interleaving of arrivals, dequeues and time, with timers run when they fall due. Checked after every
//! call:
//!
//! * each packet leaves exactly once, and as itself; only CE (if it was marked) and the stamp may differ;
//! * arrivals = departures + drops + backlog, in packets and in bytes;
//! * a mark is a mark: on a capable packet, which is CE then and until it leaves; without a mark ECN stays as it was;
//! * packets of one flow leave in the order they came, unless a parameter is given that says otherwise (flow: same
//!   scheduling class, and the same side of the low-latency divide of ECN, which DualPI2 may serve apart);
//! * the backlog never exceeds the buffer; places of drops tell the truth;
//! * `Wait(t)` only with packets waiting and t in the future, `Empty` only without; timers move on;
//! * once all has gone, every probe of what waits is 0;
//! * the same seed and the same calls give the same behaviour.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::collections::HashMap;
use tailback_base::model::Raw;
use tailback_base::{BitRate, Duration, Ecn, FlowId, Kind, Model, Per, PureAck, Settings, Size, Stream, Time, Value};
use tailback_queue::BuildContext;
use tailback_queue::registry;
use tailback_queue::shaped::innermost;
use tailback_queue::testing::{Log, TestPacket};
use tailback_queue::{Backlog, DropReason, Line, OnWire, Out, Place, ProbeId, QueueDiscipline, Registry, Service};

#[derive(Clone, Debug)]
enum Op {
    Arrive {
        flow: u32,
        bytes: u32,
        ecn: u8,
        colour: u8,
        retransmission: bool,
        data: bool,
    },
    Dequeue,
    /// Let this many nanoseconds pass.
    Pass(u64),
    /// The line's rate changes, bit/s.
    Rate(u64),
}

/// The largest packet that arrives, bytes.
const LARGEST: u32 = 3000;

fn op() -> impl Strategy<Value = Op> {
    let size = prop_oneof![Just(40u32), Just(500), Just(1500), 1u32..=LARGEST];
    let arrive = (0u32..6, size, 0u8..16, 0u8..8, any::<bool>(), any::<bool>()).prop_map(
        |(flow, bytes, ecn, colour, retransmission, data)| Op::Arrive {
            flow,
            bytes,
            // Mostly what classic senders send; ECT(1) and CE now and then.
            ecn: [0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 1, 3][ecn as usize],
            colour,
            retransmission,
            data,
        },
    );
    let pass = prop_oneof![Just(0u64), (0.0f64..8.6).prop_map(|e| 10f64.powf(e) as u64)];
    let rate = (4.0f64..9.0).prop_map(|e| Op::Rate(10f64.powf(e) as u64));
    prop_oneof![8 => arrive, 6 => Just(Op::Dequeue), 4 => pass.prop_map(Op::Pass), 1 => rate]
}

/// A value a user might give, or none where this test cannot invent one (names of other things).
fn draw(kind: &Kind, default: &str, s: &mut Stream) -> Option<Raw> {
    let (lo, hi) = match *kind {
        // Times and rates within a factor of ten of their default: a timer of a nanosecond tests only patience.
        Kind::Time { min, max } => {
            let near = tailback_base::quantity::parse_time(default)
                .map_or(0.03, |d| d.seconds())
                .max(1e-4);
            ((near / 10.0).max(min), (near * 10.0).min(max))
        }
        Kind::Rate { min, max } => {
            let near = tailback_base::quantity::parse_rate(default).map_or(1e6, |r| r.bits_per_second());
            ((near / 10.0).max(min), (near * 10.0).min(max))
        }
        Kind::Real { min, max } => (min.max(-10.0), max.min(min.max(-10.0) + 10.0)),
        _ => (0.0, 0.0),
    };
    let real = lo + (hi - lo) * s.uniform();
    Some(match kind {
        Kind::Bool => Raw::Bool(s.chance(0.5)),
        Kind::Count { min, max } => Raw::Int((min + s.below((max - min).min(15) + 1)) as i64),
        Kind::Real { min, max } => Raw::Real(match s.below(6) {
            0 => min.max(lo),
            1 => max.min(hi),
            _ => real,
        }),
        Kind::Time { .. } => Raw::Text(format!("{real:.9}s")),
        Kind::Rate { .. } => Raw::Text(format!("{}bps", real as u64)),
        Kind::Size => Raw::Text(match s.below(20) {
            0 => "unlimited".into(),
            n if n < 11 => format!("{} packets", 1 + s.below(30)),
            _ => format!("{}B", 1 + s.below(20_000)),
        }),
        Kind::Level => Raw::Text(match s.below(3) {
            0 => format!("{} packets", s.below(30)),
            1 => format!("{}B", s.below(20_000)),
            _ => format!("{}%", s.below(120)),
        }),
        Kind::Bytes { min, max } => Raw::Text(format!("{}B", min + s.below((max - min).min(3000) + 1))),
        Kind::CodePoint => Raw::Int(s.below(64) as i64),
        Kind::Choice(words) => Raw::Text(words[s.below(words.len() as u64) as usize].into()),
        Kind::Each(_, inner) | Kind::List(inner) => {
            let n = match kind {
                Kind::Each(Per::Colour, _) => 1 + 2 * s.below(2),
                _ => 1 + s.below(4),
            };
            Raw::List((0..n).filter_map(|_| draw(inner, default, s)).collect())
        }
        Kind::Profile(list) => Raw::Text(list[s.below(list.len() as u64) as usize].name.into()),
        Kind::Text | Kind::Model(_) | Kind::Named(_) => return None,
    })
}

type Queue = Box<dyn QueueDiscipline<TestPacket>>;

fn build(settings: &Settings, seed: u64) -> Option<Queue> {
    let context = BuildContext {
        stream: Stream::new(seed, "conservation"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    };
    match registry::build(settings, context) {
        Ok(queue) => Some(queue),
        Err(refusal) => {
            assert!(!refusal.problem.is_empty() && !refusal.remedy.is_empty(), "{refusal:?}");
            None
        }
    }
}

/// Settings with some parameters drawn. One that `build` refuses in this company waits for others that make it welcome,
/// as a mapper does for its number of queues; if none come it is left at its default.
fn settings(model: &'static Model, seed: u64) -> Settings {
    let mut s = Stream::new(seed, model.name);
    let mut settings = Settings::defaults(model);
    let mut waiting: Vec<(&str, Raw)> = vec![];
    for param in model.params {
        let chosen = param.default.is_empty() || s.chance(0.5);
        if chosen && param.kind.holds_models() {
            let mut more = settings.clone();
            more.set_models(param.name, nested(&param.kind, &mut s));
            if build(&more, seed).is_some() {
                settings = more;
            }
            continue;
        }
        let Some(raw) = chosen.then(|| draw(&param.kind, param.default, &mut s)).flatten() else {
            continue;
        };
        let mut more = settings.clone();
        let set = more.set(param.name, &raw);
        assert!(set.is_ok(), "{}.{} = {}: {set:?}", model.name, param.name, raw.show());
        let fits = |s: &Settings| s.missing().is_some() || build(s, seed).is_some();
        if fits(&more) {
            settings = more;
            continue;
        }
        for (name, raw) in &waiting {
            let _ = more.set(name, raw);
        }
        if fits(&more) {
            settings = more;
            waiting.clear();
        } else {
            waiting.push((param.name, raw));
        }
    }
    settings
}

/// A model that may stand in a discipline, or up to three of them, with some of its parameters drawn. What it takes
/// over from the discipline it has no say in.
fn nested(kind: &Kind, s: &mut Stream) -> Value {
    let Kind::Model(family) = kind else {
        let Kind::List(one) = kind else {
            panic!("{kind:?} holds no models");
        };
        return Value::List((0..s.below(4)).map(|_| nested(one, s)).collect());
    };
    let registry = Registry::<TestPacket>::standard();
    let models = registry.nested().family(family);
    let model = models[s.below(models.len() as u64) as usize];
    if *family == "queue" {
        return Value::Model(Box::new(settings(model, s.bits())));
    }
    let mut own = Settings::defaults(model);
    for param in model
        .params
        .iter()
        .filter(|p| p.name != "buffer" && !p.kind.holds_models())
    {
        if let Some(raw) = s.chance(0.3).then(|| draw(&param.kind, param.default, s)).flatten() {
            own.set(param.name, &raw)
                .unwrap_or_else(|e| panic!("{}.{}: {e}", model.name, param.name));
        }
    }
    Value::Model(Box::new(own))
}

/// What a run did, for comparison.
type Trace = Vec<(u64, u64, &'static str)>;

/// Books kept beside a discipline.
struct Books {
    limit: Size,
    /// Packets of a flow leave in order.
    ordered: bool,
    /// What is sent has no code point.
    washes: bool,
    now: Time,
    rate: BitRate,
    wire: Option<OnWire>,
    /// What is inside, as it arrived.
    inside: HashMap<u64, TestPacket>,
    marks: HashMap<u64, u64>,
    /// Identity of the last packet that left, by flow.
    last: HashMap<(u32, u8, bool), u64>,
    log: Log<TestPacket>,
    trace: Trace,
    next: u64,
}

macro_rules! ensure {
    ($condition:expr, $($why:tt)+) => { if !$condition { return Err(format!($($why)+)); } };
}

mod changes;
use changes::read;

impl Books {
    fn new(limit: Size) -> Books {
        Books {
            limit,
            ordered: true,
            washes: false,
            now: Time::ZERO,
            rate: BitRate(1_000_000),
            wire: None,
            inside: HashMap::new(),
            marks: HashMap::new(),
            last: HashMap::new(),
            log: Log::default(),
            trace: vec![],
            next: 0,
        }
    }

    fn line(&self, busy: bool) -> Line {
        let wire = self.wire.filter(|w| busy && w.until > self.now);
        Line {
            now: self.now,
            rate: self.rate,
            busy: wire,
        }
    }

    /// A packet leaves: once, and as itself.
    fn leaves(&mut self, p: &TestPacket, how: &'static str) -> Result<TestPacket, String> {
        let Some(came) = self.inside.remove(&p.id) else {
            return Err(format!("{p:?} {how}, but is not inside"));
        };
        let marked = self.marks.remove(&p.id).is_some();
        let expected = TestPacket {
            ecn: if marked { Ecn::Ce } else { came.ecn },
            stamp: p.stamp,
            dscp: if self.washes && how == "sent" { 0 } else { came.dscp },
            ..came
        };
        ensure!(*p == expected, "came as {came:?} (marked: {marked}), {how} as {p:?}");
        self.trace.push((self.now.0, p.id, how));
        Ok(came)
    }

    fn settle_marks(&mut self) -> Result<(), String> {
        for (p, why) in std::mem::take(&mut self.log.marked) {
            let Some(came) = self.inside.get(&p.id) else {
                return Err(format!("{p:?} was marked, but is not inside"));
            };
            ensure!(
                came.ecn.is_capable() && p.ecn == Ecn::Ce,
                "marked {p:?} ({why:?}), came as {came:?}"
            );
            *self.marks.entry(p.id).or_default() += 1;
            self.trace.push((self.now.0, p.id, why.name()));
        }
        Ok(())
    }

    /// Take in the reports of one call and balance the books.
    fn settle(&mut self, q: &Queue, arriving: Option<u64>, dequeue: bool) -> Result<(), String> {
        self.settle_marks()?;
        let log = std::mem::take(&mut self.log);
        for (p, place, why) in &log.dropped {
            match place {
                Place::Arriving => ensure!(arriving == Some(p.id), "{} was not arriving ({why:?})", p.id),
                Place::Dequeued => ensure!(dequeue, "{} was not dequeued ({why:?})", p.id),
                Place::Queued => {}
            }
            self.leaves(p, why.name())?;
        }
        for (probe, _, _) in &log.notes {
            ensure!(
                (probe.0 as usize) < q.probes().len(),
                "a note on an undeclared probe {probe:?}"
            );
        }
        for i in 0..q.probes().len() {
            for index in [0, 1, 7, u32::MAX] {
                q.read(ProbeId(i as u16), index);
            }
        }
        self.balance(q)
    }

    fn balance(&self, q: &Queue) -> Result<(), String> {
        let bytes = self.inside.values().map(|p| u64::from(p.bytes)).sum();
        let held = Backlog {
            packets: self.inside.len() as u64,
            bytes,
        };
        ensure!(
            q.backlog() == held,
            "backlog {:?}, but {held:?} are inside",
            q.backlog()
        );
        let within = match self.limit {
            Size::Packets(n) => held.packets <= n,
            Size::Bytes(n) => held.bytes <= n,
            Size::Unlimited => true,
        };
        ensure!(within, "{held:?} exceed the buffer {:?}", self.limit);
        Ok(())
    }

    fn arrive(&mut self, q: &mut Queue, p: TestPacket) -> Result<(), String> {
        self.inside.insert(p.id, p);
        q.enqueue(p, &self.line(true), &mut self.log);
        self.settle(q, Some(p.id), false)
    }

    fn dequeue(&mut self, q: &mut Queue) -> Result<Service<TestPacket>, String> {
        let service = q.dequeue(&self.line(false), &mut self.log);
        if let Service::Send(p) = &service {
            // Marks on the way out are in the log already: settle them before the packet goes.
            self.settle_marks()?;
            let came = self.leaves(p, "sent")?;
            let low_latency = matches!(came.ecn, Ecn::Ect1 | Ecn::Ce);
            let before = self.last.insert((p.flow, p.dscp >> 3, low_latency), p.id);
            ensure!(
                !self.ordered || before.is_none_or(|b| b < p.id),
                "{} left after {before:?} of the same flow",
                p.id
            );
            let until = self.now + self.rate.time_of(u64::from(p.bytes));
            self.wire = Some(OnWire {
                until,
                flow: FlowId(p.flow),
                pair: u64::from(p.flow),
                bytes: p.bytes,
            });
        }
        self.settle(q, None, true)?;
        match service {
            Service::Wait(t) => {
                ensure!(t > self.now, "Wait({t:?}) at {:?}", self.now);
                ensure!(!self.inside.is_empty(), "Wait without packets");
            }
            Service::Empty => ensure!(self.inside.is_empty(), "Empty with {:?} inside", q.backlog()),
            Service::Send(_) => {}
        }
        Ok(service)
    }

    /// Let time pass, running timers at their instants.
    fn until(&mut self, q: &mut Queue, t: Time) -> Result<(), String> {
        let mut stuck = 0;
        while let Some(at) = q.next_timer().filter(|at| *at <= t) {
            stuck = if at <= self.now { stuck + 1 } else { 0 };
            ensure!(stuck < 100, "the timer for {at:?} does not move on");
            self.now = self.now.max(at);
            q.on_timer(&self.line(true), &mut self.log);
            self.settle(q, None, false)?;
        }
        self.now = self.now.max(t);
        Ok(())
    }

    fn perform(&mut self, q: &mut Queue, op: &Op) -> Result<(), String> {
        match *op {
            Op::Arrive {
                flow,
                bytes,
                ecn,
                colour,
                retransmission,
                data,
            } => {
                let id = self.next;
                self.next += 1;
                // A flow stays in its class; only the drop precedence of assured forwarding varies from packet to
                // packet.
                let dscp = match flow {
                    0..=2 => ((flow as u8 + 1) << 3) | [2, 4, 6][usize::from(colour) % 3],
                    3 => 8,  // CS1
                    4 => 46, // EF
                    _ => 0,
                };
                let ecn = Ecn::from_bits(ecn);
                let more = TestPacket {
                    ecn,
                    dscp,
                    retransmission,
                    data,
                    // Now and then an ACK repeats the number of the one before.
                    ack: (!data).then_some(PureAck {
                        number: id / 3,
                        marks: [ecn == Ecn::Ce, false],
                        bare: !retransmission,
                    }),
                    ..TestPacket::new(id, flow, bytes)
                };
                self.arrive(
                    q,
                    TestPacket {
                        sequence: id * 1000,
                        label: u64::from(flow % 4),
                        weight: 0.5 + f64::from(flow),
                        ..more
                    },
                )
            }
            Op::Dequeue => self.dequeue(q).map(|_| ()),
            Op::Pass(ns) => self.until(q, self.now + Duration(ns)),
            Op::Rate(bits) => {
                self.rate = BitRate(bits);
                Ok(())
            }
        }
    }

    /// Everything that is still inside comes out in the end.
    fn drain(&mut self, q: &mut Queue) -> Result<(), String> {
        for _ in 0..100_000 {
            match self.dequeue(q)? {
                Service::Send(_) => {}
                Service::Wait(t) => self.until(q, t)?,
                Service::Empty => return nothing_waits(q),
            }
        }
        Err(format!("does not drain: {:?} left", q.backlog()))
    }
}

/// Probes of what waits, whatever a discipline calls it: packets, or bytes.
const WAITING: [&str; 9] = [
    "backlog",
    "box_packets",
    "classic_packets",
    "inside",
    "l_packets",
    "queue_length_bytes",
    "queue_packets",
    "tin_packets",
    "waiting",
];

/// All that came has gone, and every probe of what waits says so.
fn nothing_waits(q: &Queue) -> Result<(), String> {
    for (i, probe) in q.probes().iter().enumerate().filter(|(_, p)| WAITING.contains(&p.name)) {
        for index in 0..64 {
            let value = q.read(ProbeId(i as u16), index);
            ensure!(
                value == 0.0 || value.is_nan(),
                "{} of {index} is {value}, and nothing waits",
                probe.name
            );
        }
    }
    Ok(())
}

fn check(q: Queue, limit: Size, ops: &[Op]) -> Result<Trace, String> {
    check_with(Books::new(limit), q, ops)
}

fn check_with(mut books: Books, mut q: Queue, ops: &[Op]) -> Result<Trace, String> {
    for op in ops {
        books.perform(&mut q, op)?;
    }
    books.drain(&mut q)?;
    Ok(books.trace)
}

/// The books of a discipline with these settings.
fn books_of(settings: &Settings) -> Books {
    let settings = &read(settings.clone());
    let settings = innermost(settings);
    let overtakes = registry::facts(settings.model.name).map_or(&[][..], |f| f.overtakes);
    Books {
        washes: settings.find("wash") == Some(&Value::Flag(true)),
        ordered: !overtakes.iter().any(|p| settings.is_given(p)),
        ..Books::new(limit_of(settings))
    }
}

/// What may be stored: the buffer, and what a second store adds.
fn limit_of(settings: &Settings) -> Size {
    let beside = registry::facts(settings.model.name).and_then(|f| f.beside);
    let beside = beside.map_or(0, |count| count(settings));
    match settings.model.param("buffer") {
        Some(p) if p.kind == Kind::Size => match settings.size("buffer") {
            Size::Packets(n) => Size::Packets(n + beside),
            Size::Bytes(n) => Size::Bytes(n + beside * u64::from(LARGEST)),
            Size::Unlimited => Size::Unlimited,
        },
        _ => Size::Unlimited,
    }
}

fn input() -> impl Strategy<Value = (u64, Vec<Op>)> {
    (any::<u64>(), prop::collection::vec(op(), 0..300))
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    })
}

#[test]
fn every_discipline_conserves_packets_under_any_input() {
    for model in registry::models() {
        let result = runner(300).run(&input(), |(seed, ops)| {
            let settings = settings(model, seed);
            let Some(q) = build(&settings, seed) else {
                return Err(TestCaseError::fail(format!("{} refuses its own defaults", model.name)));
            };
            let outcome = check_with(books_of(&settings), q, &ops);
            outcome
                .map(|_| ())
                .map_err(|e| TestCaseError::fail(format!("{e}\nwith {settings:?}")))
        });
        if let Err(e) = result {
            panic!("{}: {e}", model.name);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_behaviour() {
    for model in registry::models() {
        let result = runner(20).run(&input(), |(seed, ops)| {
            let settings = settings(model, seed);
            let run = || check_with(books_of(&settings), build(&settings, seed).unwrap(), &ops);
            prop_assert_eq!(run(), run());
            Ok(())
        });
        if let Err(e) = result {
            panic!("{}: {e}", model.name);
        }
    }
}

/// A FIFO with one thing wrong, to see that the harness sees it.
struct Broken {
    fault: &'static str,
    inner: Queue,
    calls: u64,
}

impl QueueDiscipline<TestPacket> for Broken {
    fn enqueue(&mut self, p: TestPacket, line: &Line, out: &mut dyn Out<TestPacket>) {
        self.calls += 1;
        let now = self.calls % 7 == 3;
        match self.fault {
            "loses" if now => {}
            "doubles" if now => {
                self.inner.enqueue(p, line, out);
                self.inner.enqueue(p, line, out);
            }
            "alters" if now => self.inner.enqueue(
                TestPacket {
                    bytes: p.bytes + 1,
                    ..p
                },
                line,
                out,
            ),
            "marks silently" if now => self.inner.enqueue(TestPacket { ecn: Ecn::Ce, ..p }, line, out),
            "drops and keeps" if now => {
                out.dropped(p, Place::Arriving, DropReason::Overflow);
                self.inner.enqueue(p, line, out);
            }
            _ => self.inner.enqueue(p, line, out),
        }
    }
    fn dequeue(&mut self, line: &Line, out: &mut dyn Out<TestPacket>) -> Service<TestPacket> {
        self.calls += 1;
        let now = self.calls % 7 == 3;
        match self.fault {
            "reorders" if now => match self.inner.dequeue(line, out) {
                Service::Send(p) => {
                    let next = self.inner.dequeue(line, out);
                    self.inner.enqueue(p, line, out);
                    next
                }
                other => other,
            },
            "starves" if now => Service::Empty,
            "waits for nothing" if now => Service::Wait(line.now),
            _ => self.inner.dequeue(line, out),
        }
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
}

#[test]
fn the_harness_sees_each_kind_of_fault() {
    let model = registry::find("droptail").unwrap();
    let sound = Settings::defaults(model).with("buffer", "20 packets");
    let faults = [
        "",
        "loses",
        "doubles",
        "alters",
        "marks silently",
        "drops and keeps",
        "reorders",
        "starves",
    ];
    for fault in faults.into_iter().chain(["waits for nothing", "overfills"]) {
        let limit = if fault == "overfills" {
            Size::Packets(3)
        } else {
            Size::Packets(20)
        };
        let result = runner(60).run(&input(), |(seed, ops)| {
            let broken = Broken {
                fault,
                inner: build(&sound, seed).unwrap(),
                calls: 0,
            };
            check(Box::new(broken), limit, &ops)
                .map(|_| ())
                .map_err(TestCaseError::fail)
        });
        assert_eq!(result.is_ok(), fault.is_empty(), "fault \"{fault}\": {result:?}");
    }
}
