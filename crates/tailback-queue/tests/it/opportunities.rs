//! A line of delivery opportunities beside Mahimahi's rule (Netravali et al., USENIX ATC 2015, section 3.2), written a
//! second time as a plain loop: at each opportunity, as long as something of its 1504 bytes is left, the packet that is
//! half sent goes on, or else the discipline gives the next; what finds no packet is lost. Before an arrival come all
//! opportunities up to its instant.
//!
//! `TAILBACK_CASES` sets the number of drawn cases.

use std::sync::Arc;
use tailback_base::{BitRate, Duration, Packet, Settings, Stream, Time};
use tailback_queue::rate_trace::Trace;
use tailback_queue::testing::{Log, TestPacket};
use tailback_queue::{BuildContext, Line, QueueDiscipline, Server, Service, registry};

const EACH: u32 = 1504;
const MS: u64 = 1_000_000;

/// Disciplines and their parameters. Some drop when a packet leaves, some choose which packet leaves.
const DISCIPLINES: [(&str, &[(&str, &str)]); 7] = [
    ("droptail", &[("buffer", "20 packets")]),
    ("droptail", &[("buffer", "9000B")]),
    ("front-drop", &[("buffer", "10 packets")]),
    ("codel", &[("buffer", "1000 packets")]),
    ("red", &[("buffer", "30 packets")]),
    ("drr", &[("buffer", "30 packets")]),
    ("fq-codel", &[("buffer", "100 packets")]),
];

type Queue = Box<dyn QueueDiscipline<TestPacket>>;

fn queue((name, given): (&str, &[(&str, &str)]), rate: BitRate) -> Queue {
    let model = registry::find(name).unwrap();
    let settings = given
        .iter()
        .fold(Settings::defaults(model), |s, (key, text)| s.with(key, text));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate,
        delay: Duration::ZERO,
    };
    registry::build(&settings, context).unwrap()
}

/// Opportunities in ms, and packets: when, of which flow, how long.
#[derive(Debug)]
struct Case {
    opportunities: Vec<u64>,
    packets: Vec<(Time, u32, u32)>,
}

impl Case {
    fn draw(s: &mut Stream) -> Case {
        let mut below = |n: u64| ((s.uniform() * n as f64) as u64).min(n - 1);
        let (most, gap, laps) = (
            [1, 3, 100][below(3) as usize],
            [1, 4, 300][below(3) as usize],
            1 + below(3),
        );
        let mut opportunities = vec![];
        let mut at = below(3);
        for _ in 0..1 + below(12) {
            opportunities.extend(std::iter::repeat_n(at, 1 + below(most) as usize));
            at += 1 + below(gap);
        }
        opportunities.push(at);
        let busy = opportunities.len() as u64 * laps;
        let (whole, full) = (below(2) == 0, below(3) == 0);
        let mut packets: Vec<(Time, u32, u32)> = (0..1 + below(2 * busy.min(200)))
            .map(|_| {
                let at = below(at * laps * MS);
                let at = if whole { at / MS * MS } else { at };
                let bytes = if full { 1500 } else { 40 + below(1465) as u32 };
                (Time(at), below(4) as u32, bytes)
            })
            .collect();
        packets.sort_by_key(|p| p.0);
        Case { opportunities, packets }
    }

    fn trace(&self) -> Trace {
        let at = self.opportunities.iter().map(|ms| Time(ms * MS));
        Trace::opportunities(at.collect(), EACH).unwrap()
    }

    fn arrivals(&self) -> impl Iterator<Item = (Time, TestPacket)> {
        let numbered = self.packets.iter().enumerate();
        numbered.map(|(id, &(at, flow, bytes))| {
            let mut p = TestPacket::new(id as u64, flow, bytes);
            p.set_stamp(at);
            (at, p)
        })
    }

    fn ours(&self, mut server: Server<TestPacket>) -> (Vec<(u64, Time)>, usize) {
        server.follow(Arc::new(self.trace()));
        let (mut log, mut left) = (Log::default(), vec![]);
        for (at, p) in self.arrivals() {
            while let Some((_, sent)) = server.advance(at, &mut log) {
                left.extend(sent.map(|s| (s.packet.id, s.end)));
            }
            left.extend(server.arrive(p, at, &mut log).map(|s| (s.packet.id, s.end)));
        }
        while let Some((_, sent)) = server.advance(Time::NEVER, &mut log) {
            left.extend(sent.map(|s| (s.packet.id, s.end)));
        }
        (left, log.dropped.len())
    }

    /// The plain loop.
    fn theirs(&self, mut queue: Queue, rate: BitRate) -> (Vec<(u64, Time)>, usize) {
        let mut log = Log::default();
        let mut left = vec![];
        let (mut next, mut base) = (0, 0);
        let mut half: Option<(u64, u32)> = None;
        let mut arrivals = self.arrivals().peekable();
        loop {
            let now = Time((base + self.opportunities[next]) * MS);
            while let Some((at, p)) = arrivals.next_if(|(at, _)| *at < now) {
                queue.enqueue(
                    p,
                    &Line {
                        now: at,
                        rate,
                        busy: None,
                    },
                    &mut log,
                );
            }
            let mut room = EACH;
            while room > 0 {
                let (id, rest) = match half.take() {
                    Some(h) => h,
                    None => match queue.dequeue(&Line { now, rate, busy: None }, &mut log) {
                        Service::Send(p) => (p.id, p.bytes()),
                        _ => break,
                    },
                };
                let part = rest.min(room);
                room -= part;
                match rest - part {
                    0 => left.push((id, now)),
                    rest => half = Some((id, rest)),
                }
            }
            if arrivals.peek().is_none() && half.is_none() && queue.backlog().packets == 0 {
                return (left, log.dropped.len());
            }
            next = (next + 1) % self.opportunities.len();
            if next == 0 {
                base += self.opportunities[self.opportunities.len() - 1];
            }
        }
    }
}

#[test]
fn every_departure_is_that_of_mahimahis_rule() {
    let cases: u64 = std::env::var("TAILBACK_CASES").map_or(700, |n| n.parse().unwrap());
    let mut s = Stream::new(1, "opportunities");
    let mut departures = 0;
    for k in 0..cases {
        let case = Case::draw(&mut s);
        let rate = BitRate(case.trace().span().0 as u64);
        let discipline = DISCIPLINES[k as usize % DISCIPLINES.len()];
        let ours = case.ours(Server::new(queue(discipline, rate), rate));
        let theirs = case.theirs(queue(discipline, rate), rate);
        assert_eq!(ours, theirs, "case {k}, {discipline:?}: {case:?}");
        departures += ours.0.len();
    }
    println!("{cases} traces, {departures} departures");
}

#[test]
fn a_line_offers_as_many_bytes_as_its_opportunities_have() {
    let mut s = Stream::new(2, "opportunities");
    for _ in 0..500 {
        let case = Case::draw(&mut s);
        let trace = case.trace();
        let lap = case.opportunities[case.opportunities.len() - 1];
        let until = Time((s.uniform() * 4.0 * (lap * MS) as f64) as u64 / 500_000 * 500_000);
        let past = (0..5).flat_map(|k| case.opportunities.iter().map(move |ms| (k * lap + ms) * MS));
        let count = past.filter(|t| *t <= until.0).count();
        assert_eq!(
            trace.offered(until),
            count as u128 * u128::from(EACH) * 8_000_000_000,
            "{case:?} {until:?}"
        );
    }
}
