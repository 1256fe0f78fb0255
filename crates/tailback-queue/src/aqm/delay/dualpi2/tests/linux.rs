//! Where Linux's rules differ from those of RFC 9332 (net/sched/sch_dualpi2.c), each with packets.

use super::*;

const LINUX: (&str, &str) = ("profile", "linux");

/// Two packets of L wait while `n` leave, so that the backlog is never short; `waits` is the sojourn of each, ms.
fn l_at(with: &[(&str, &str)], base: f64, n: u64, waits: impl Fn(u64) -> u64) -> Dual {
    let mut b = bench(with);
    for id in 0..n {
        for spare in 0..5 {
            b.arrive(packet(n + 5 * id + spare, Ecn::Ect1));
        }
        b.pass(ms(waits(id)));
        b.queue.base = base;
        b.serve();
        while b.queue.rings[0].pop().is_some() {}
    }
    b
}

/// The chance by p' comes first, and then the step: at p' = 0.1 with half of the packets above the step,
/// 1 - (1 - 0.2)(1 - 0.5) are marked.
#[test]
fn coupled_marks_and_the_step_are_two_chances() {
    let n = 20_000;
    let b = l_at(&[LINUX], 0.1, n, |id| if id % 2 == 0 { 2 } else { 0 });
    let share = b.log.marked.len() as f64 / n as f64;
    assert!((share - 0.6).abs() < 0.02, "{share}");
    let coupled = b.log.marked.iter().filter(|m| m.1 == MarkReason::Coupled).count() as f64;
    // The larger of the two chances would leave the step all above it.
    assert!((coupled / n as f64 - 0.2).abs() < 0.02, "{coupled}");
}

/// What stays counts, not the packet that leaves, and the step does not look at it.
#[test]
fn a_short_queue_spares_from_chance_but_not_from_the_step() {
    let marks_at = |packets: u64, wait: u64, ecn: Ecn| {
        let mut b = bench(&[LINUX]);
        for id in 0..=packets {
            b.arrive(packet(id, ecn));
        }
        b.pass(ms(wait));
        b.queue.base = 0.5;
        b.serve();
        b.log.marked.iter().map(|m| m.1).collect::<Vec<_>>()
    };
    assert_eq!(marks_at(3, 0, Ecn::Ect1), []);
    assert_eq!(marks_at(4, 0, Ecn::Ect1), [MarkReason::Coupled]);
    assert_eq!(marks_at(3, 2, Ecn::Ect1), [MarkReason::Step]);
    assert_eq!(marks_at(3, 2, Ecn::Ect0), []);
    // In the form of the RFC all that is quiet is spared, and the packet itself counts.
    let mut b = bench(&[("min_backlog", "3001B")]);
    for id in 0..3 {
        b.arrive(packet(id, Ecn::Ect1));
    }
    b.pass(ms(2));
    b.serve();
    assert!(b.log.marked.is_empty());
}

/// From k p' = 1 on the RFC drops from L; Linux drops beyond it.
#[test]
fn at_the_limit_l_is_still_marked() {
    let signals_at = |form: &'static str, base: f64| {
        let b = l_at(&[("form", form)], base, 2000, |_| 0);
        (b.log.marked.len(), b.log.dropped.len())
    };
    // Of those that are tried p'^2 are dropped, and 2000 are left.
    let (marked, dropped) = signals_at("rfc9332", 0.5);
    assert!(
        (dropped as i64 - 667).abs() <= 1 && marked >= 1999,
        "{marked} {dropped}"
    );
    let (marked, dropped) = signals_at("linux", 0.5);
    assert!(dropped == 0 && marked >= 1999, "{marked}");
    let (marked, dropped) = signals_at("linux", 0.6);
    assert!(
        (dropped as i64 - 1125).abs() <= 1 && marked == 2000,
        "{marked} {dropped}"
    );
}

/// Without drops under overload p' ends at 1/k: L is marked always, the classic queue dropped from at 1/k^2.
#[test]
fn without_overload_drops_p_ends() {
    for form in ["rfc9332", "linux"] {
        let mut b = bench(&[
            ("form", form),
            ("overload", "overflow"),
            ("beta", "0"),
            ("alpha", "1000"),
        ]);
        b.arrive(packet(0, Ecn::Ect0));
        b.pass(ms(200));
        assert_eq!(b.queue.base, 0.5, "{form}");
        let b = l_at(&[("form", form), ("overload", "overflow")], 0.5, 1000, |_| 0);
        assert!(b.log.dropped.is_empty() && b.log.marked.len() >= 999, "{form}");
    }
}

/// L begins ahead by 0.8 of a frame, 1211 B: thirteen of its packets of 1000 B go before a classic one, then nine each
/// time. While one queue is empty the credit is kept, and it begins anew when both are.
#[test]
fn credit_decides_whose_turn_it_is() {
    let mut b = bench(&[("form", "linux")]);
    let turns = |b: &mut Dual, n: usize| {
        let sent = (0..n).filter_map(|_| b.take());
        sent.map(|p| if p.ecn == Ecn::Ect0 { 'c' } else { 'l' })
            .collect::<String>()
    };
    let fill = |b: &mut Dual, low_latency: u64, classic: u64| {
        for id in 0..low_latency {
            b.arrive(packet(id, Ecn::Ect1));
        }
        for id in 0..classic {
            b.arrive(packet(100 + id, Ecn::Ect0));
        }
    };
    fill(&mut b, 40, 10);
    assert_eq!(turns(&mut b, 25), "lllllllllllllclllllllllcl");
    let kept = b.queue.balance;
    while b.queue.rings[0].pop().is_some() {}
    assert_eq!(turns(&mut b, 2), "cc");
    assert_eq!(b.queue.balance, kept);
    fill(&mut b, 12, 0);
    assert_eq!(turns(&mut b, 10), "llllllllcl");
    while b.queue.backlog().packets > 0 {
        b.serve();
    }
    b.serve();
    assert_eq!(b.queue.balance, -0.8 * 1514.0);
    // By weights an empty queue forgets.
    let mut b = bench(&[]);
    fill(&mut b, 12, 3);
    assert_eq!(turns(&mut b, 12), "lclllllllllc");
}

/// What a filter has put there is dropped where others are marked.
#[test]
fn what_is_not_capable_is_dropped_in_l() {
    let mut b = bench(&[LINUX]);
    let now = b.now;
    for id in 0..3 {
        b.queue.rings[0].push(packet(id, Ecn::NotEct), now);
    }
    b.pass(ms(2));
    assert_eq!(b.serve(), None);
    assert_eq!(b.log.dropped.len(), 3);
    assert!(b.log.dropped.iter().all(|d| d.2 == DropReason::Early));
}

/// With l_floor = 2 the third packet is the first that finds two before it.
#[test]
fn the_floor_of_the_step_is_looked_at_on_entry() {
    let mut b = bench(&[LINUX, ("l_floor", "2")]);
    for id in 0..4 {
        b.arrive(packet(id, Ecn::Ect1));
    }
    b.pass(ms(2));
    for _ in 0..4 {
        b.serve();
    }
    let at: Vec<u64> = b.log.marked.iter().map(|m| m.0.id).collect();
    assert_eq!(at, [2, 3]);
}

/// A flow that fills L is sent to the classic queue once L is above the critical delay, and one beside it whose score
/// drains between its packets is not.
#[test]
fn protection_sends_a_flow_that_fills_l_away() {
    let mut b = bench(&[("protection", "true")]);
    b.rate = BitRate(100_000_000);
    let mut away = vec![];
    for id in 0..40 {
        b.arrive(TestPacket {
            ecn: Ecn::Ect1,
            ..TestPacket::new(id, if id % 20 == 19 { 2 } else { 1 }, 1000)
        });
        if b.queue.rings[1].backlog().packets > away.len() as u64 {
            away.push(id);
        }
        b.pass(Duration::from_micros(100));
    }
    assert!(away.len() > 10 && away.iter().all(|id| id % 20 != 19), "{away:?}");
    assert_eq!(b.queue.sent_away, away.len() as u64);
}
