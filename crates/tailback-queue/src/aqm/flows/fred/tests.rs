use super::*;
use crate::contract::testing::{Bench, TestPacket};
use crate::fifo::Fifo;
use tailback_base::{BitRate, Duration, Stream, Time};

type Queue = Bench<Fifo<TestPacket, Fred>>;

fn build(with: &[(&str, &str)]) -> Result<(Settings, Fred), Refusal> {
    let s = with
        .iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    let context = BuildContext {
        stream: Stream::new(1, "test"),
        rate: BitRate(1_000_000),
        delay: Duration::ZERO,
    };
    let fred = Fred::configured(&s, context)?;
    Ok((s, fred))
}

/// Thresholds 10 and 20 packets of a buffer of 40.
fn bench(with: &[(&str, &str)]) -> Queue {
    let (s, fred) = build(&[&[("buffer", "40 packets")], with].concat()).unwrap_or_else(|e| panic!("{e}"));
    Bench::new(Fifo::from_settings(&s, fred))
}

/// The average, as if it had become so.
fn set_average(b: &mut Queue, value: f64) {
    b.queue.admission.average = Average::new(value, 0.0, 500);
}

fn arrive(b: &mut Queue, id: u64, flow: u32) -> bool {
    let before = b.log.dropped.len();
    b.arrive(TestPacket::new(id, flow, 500));
    b.log.dropped.len() == before
}

#[test]
fn a_flow_of_few_packets_loses_nothing_below_the_upper_threshold() {
    let mut b = bench(&[("max_probability", "1")]);
    set_average(&mut b, 19.9);
    let mut lost = 0;
    for id in 0..10_000 {
        // The modest flow has at most one packet in the queue when its next arrives; the first of the two others has
        // most.
        if id % 20 == 0 {
            assert!(arrive(&mut b, id, 0), "packet {id}");
        } else {
            lost += u64::from(!arrive(&mut b, id, 1 + u32::from(id % 3 == 0)));
        }
        while b.backlog().packets > 14 {
            b.serve();
        }
    }
    assert!(lost > 100, "the others were signalled: {lost}");
}

#[test]
fn a_flow_that_does_not_answer_never_holds_more_than_the_lower_threshold() {
    for (min, most_packets) in [("10 packets", 10), ("4 packets", 4), ("2.5 packets", 3)] {
        let mut b = bench(&[("min_threshold", min), ("weight", "0")]);
        for id in 0..200 {
            arrive(&mut b, id, 0);
        }
        assert_eq!(b.backlog().packets, most_packets);
        assert_eq!(b.log.drops(DropReason::Percap).len() as u64, 200 - most_packets);
    }
}

#[test]
fn after_two_strikes_it_is_held_to_the_fair_share_and_then_forgiven() {
    let mut b = bench(&[]);
    for id in 0..10 {
        assert!(arrive(&mut b, id, 0));
    }
    set_average(&mut b, 3.0); // alone: the fair share is 3
    assert!(
        !arrive(&mut b, 10, 0) && !arrive(&mut b, 11, 0),
        "two strikes at the cap"
    );
    b.serve();
    assert!(!arrive(&mut b, 12, 0), "nine wait, below the cap, but more than three");
    while b.backlog().packets > 3 {
        b.serve();
    }
    assert!(!arrive(&mut b, 13, 0), "three are the fair share");
    b.serve();
    assert!(arrive(&mut b, 14, 0), "two are less");
    b.drain();
    assert_eq!(b.probe("active", 0), 0.0);
    for id in 20..30 {
        assert!(arrive(&mut b, id, 0), "the strikes are gone with the last packet");
    }
}

#[test]
fn above_the_upper_threshold_everything_goes_unless_there_are_many_flows() {
    let mut b = bench(&[]);
    set_average(&mut b, 20.0);
    assert!(!arrive(&mut b, 0, 0));
    assert_eq!(b.log.drops(DropReason::Forced), [0]);
    // More than twice the fair share is the flow's own fault.
    let mut b = bench(&[]);
    for id in 0..8 {
        arrive(&mut b, id, (id / 7) as u32);
    }
    set_average(&mut b, 20.0 / 10.0 * 3.0);
    b.queue.admission.max = 6.0;
    assert!(!arrive(&mut b, 8, 0), "seven are more than twice 6 / 2");
    assert!(!arrive(&mut b, 9, 1));
    assert_eq!(
        (b.log.drops(DropReason::Percap), b.log.drops(DropReason::Forced)),
        (vec![8], vec![9])
    );
    let mut b = bench(&[("many_flows", "true")]);
    for id in 0..2 {
        arrive(&mut b, id, 0);
    }
    set_average(&mut b, 20.0);
    assert!(!arrive(&mut b, 2, 0));
    assert_eq!(b.log.drops(DropReason::Percap), [2], "two packets a flow");
}

#[test]
fn the_average_moves_with_what_is_stored_and_sent_and_not_with_what_is_dropped() {
    let mut b = bench(&[
        ("weight", "0.5"),
        ("min_threshold", "2 packets"),
        ("buffer", "40 packets"),
    ]);
    arrive(&mut b, 0, 0); // finds 0
    arrive(&mut b, 1, 0); // finds 1
    assert_eq!(b.probe("average", 0), 0.5);
    assert!(!arrive(&mut b, 2, 0));
    assert_eq!(b.probe("average", 0), 0.5);
    b.serve(); // leaves 1
    assert_eq!(b.probe("average", 0), 0.75);
    b.serve();
    assert_eq!(b.probe("average", 0), 0.375);
    assert_eq!(b.serve(), None); // idle from 0
    b.pass(Duration::from_millis(8)); // two packets of 500 B at 1 Mb/s
    arrive(&mut b, 3, 0);
    assert_eq!(b.probe("average", 0), 0.375 / 4.0 / 2.0);
}

#[test]
fn only_the_random_signal_marks() {
    let mut b = bench(&[("ecn", "true"), ("max_probability", "1")]);
    for id in 0..3 {
        b.arrive(TestPacket::new(id, 0, 500).capable());
    }
    set_average(&mut b, 19.999);
    b.queue.admission.flows.insert(77, Account::default()); // two active: the fair share is 10
    b.queue.admission.minq = 2.0;
    b.queue.admission.average = Average::new(19.999, 0.0, 500);
    for id in 3..10 {
        b.arrive(TestPacket::new(id, 0, 500).capable());
    }
    assert!(b.log.marked.is_empty(), "below the fair share");
    b.queue.admission.min = 15.0;
    for flow in 100..110 {
        b.queue.admission.flows.insert(flow, Account::default());
    }
    for id in 10..15 {
        b.arrive(TestPacket::new(id, 0, 500).capable());
    }
    assert!(b.log.marks(MarkReason::Early).len() >= 4, "{:?}", b.log.marked);
    assert!(b.log.dropped.is_empty());
    b.arrive(TestPacket::new(15, 0, 500).capable());
    assert_eq!(b.log.drops(DropReason::Percap), [15], "a cap drops");
}

#[test]
fn state_is_kept_for_the_flows_in_the_queue_alone() {
    let mut b = bench(&[]);
    for id in 0..30_000_u64 {
        arrive(&mut b, id, (id % 500) as u32);
        if b.backlog().packets > 6 {
            b.serve();
        }
        let active = b.probe("active", 0);
        assert!(active <= b.backlog().packets as f64, "{active}");
    }
    b.drain();
    assert_eq!(b.probe("active", 0), 0.0);
}

#[test]
fn a_buffer_in_bytes_counts_bytes() {
    let (s, fred) = build(&[("buffer", "20kB")]).unwrap();
    assert_eq!((fred.min, fred.max, fred.minq), (5000.0, 10_000.0, 1000.0));
    let mut b = Bench::new(Fifo::from_settings(&s, fred));
    for id in 0..6 {
        b.arrive(TestPacket::new(id, 0, 1500));
    }
    // 0, 1500, 3000 and 4500 are less than 5000.
    assert_eq!(b.log.drops(DropReason::Percap), [4, 5]);
    b.queue.ring.push(TestPacket::new(9, 9, 500), Time::ZERO);
}

#[test]
fn what_contradicts_itself_is_refused() {
    for with in [
        &[("buffer", "unlimited")][..],
        &[("max_threshold", "5 packets"), ("min_threshold", "6 packets")],
    ] {
        assert!(!build(with).unwrap_err().remedy.is_empty());
    }
    assert!(build(&[("buffer", "unlimited"), ("min_threshold", "10 packets")]).is_ok());
}
