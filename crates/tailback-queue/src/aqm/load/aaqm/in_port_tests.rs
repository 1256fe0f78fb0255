//! AAQM on the queues of a port.

use super::alone::Alone;
use super::settings::Room;
use super::*;
use crate::contract::discipline::{OnWire, QueueDiscipline};
use crate::contract::queue_aqms::QueueAqms;
use crate::contract::testing::{Bench, Log, TestPacket};
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::longest::Longest;
use crate::pieces::index::length_index::Tie;
use crate::pieces::port::Port;
use crate::pieces::schedule::drr::Drr;
use crate::pieces::store::Unit;
use tailback_base::{Duration, FlowId, Settings, Size};

type TwoClasses = Port<TestPacket, PerFlow, Drr, Longest>;

const BUFFER: u64 = 40;

fn config(room: Room) -> Config {
    let buffer = format!("{BUFFER} packets");
    let settings = Settings::defaults(&MODEL)
        .with("buffer", &buffer)
        .with("weight", "0.05")
        .with("rate", "400kbps")
        .with("ahead_buffer", "10");
    Config {
        room,
        ..Config::from_settings(&settings.with_profile(&[]).unwrap()).unwrap()
    }
}

/// A port of a queue for each flow, with AAQM on each.
fn port() -> Bench<TwoClasses> {
    let longest = Longest::new(Unit::Packets, Tie::Fifo, Stream::new(1, ""));
    let mut port = Port::new(Size::Packets(BUFFER), PerFlow::new(), Drr::new(1500), longest);
    let make = |q| -> Box<dyn Admission<TestPacket>> {
        Box::new(Aaqm::new(config(Room::Port), Stream::new(1, &format!("test.{q}"))))
    };
    assert!(port.give_aqms(QueueAqms::new(Box::new(make))).is_ok());
    Bench::new(port)
}

/// Arrivals of these flows in bursts, and departures between them, at a line that is never found idle.
fn play<D: QueueDiscipline<TestPacket>>(b: &mut Bench<D>, flows: u32, mut look: impl FnMut(&Bench<D>)) -> Vec<u64> {
    b.busy = Some(OnWire {
        until: Time::NEVER,
        flow: FlowId(0),
        pair: 0,
        bytes: 500,
    });
    let (mut pattern, mut sent_packets) = (Stream::new(11, "pattern"), vec![]);
    for id in 0..20_000 {
        let p = TestPacket::new(id, pattern.below(u64::from(flows)) as u32, 500);
        b.arrive(if pattern.chance(0.5) { p.capable() } else { p });
        look(b);
        while b.backlog().packets > 0 && pattern.chance(0.55 - 0.1 * f64::from(u8::from(id % 1000 < 500))) {
            sent_packets.extend(b.serve());
            look(b);
        }
        b.pass(Duration::from_millis(2));
    }
    sent_packets
}

fn fates(log: &Log<TestPacket>) -> (Vec<u64>, usize, usize) {
    let dropped = log.dropped.iter().map(|x| x.0.id).collect();
    (dropped, log.marked.len(), log.requests.len())
}

/// With one class the port is the discipline whose buffer holds both stores.
#[test]
fn one_class_of_one_is_aaqm_itself() {
    let mut lone_aaqm = Bench::new(Alone::new(config(Room::BothStores), Stream::new(1, "test.0")));
    let mut class = port();
    let sent = play(&mut lone_aaqm, 1, |_| {});
    assert_eq!(play(&mut class, 1, |_| {}), sent);
    assert_eq!(fates(&class.log), fates(&lone_aaqm.log));
    let (dropped, marked, _) = fates(&lone_aaqm.log);
    assert!(dropped.len() > 100 && marked > 100 && lone_aaqm.probe("funded", 0) > 100.0);
    assert_eq!(lone_aaqm.probe("funded", 0), class.probe("funded", 0));
}

/// Packets that another class drives out leave from the right store.
#[test]
fn in_one_class_of_two_both_stores_are_its_queue() {
    let mut b = port();
    let mut most_ahead = 0.0_f64;
    let sent_packets = play(&mut b, 2, |b| {
        for q in 0..2 {
            let (ahead, inside, all) = (b.probe("ahead", q), b.probe("inside", q), b.queue.store().packets(q));
            let fits = ahead.is_nan() || (ahead + inside == f64::from(all) && ahead <= 10.0);
            assert!(fits, "{ahead} ahead, {inside} behind, {all} in all");
            most_ahead = most_ahead.max(ahead);
        }
    });
    let evicted = b.log.drops(DropReason::Overflow).len();
    assert!(most_ahead == 10.0 && evicted > 10, "{most_ahead}, {evicted}");
    let lost = b.log.dropped.len() as u64;
    assert_eq!(sent_packets.len() as u64 + lost + b.backlog().packets, 20_000);
    let mut once = sent_packets.clone();
    once.extend(b.log.dropped.iter().map(|x| x.0.id));
    once.sort_unstable();
    assert!(once.windows(2).all(|w| w[0] < w[1]));
}
