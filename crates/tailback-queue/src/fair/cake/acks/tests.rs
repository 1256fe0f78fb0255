use crate::contract::testing::{Bench, TestPacket};
use crate::fair::cake::params::{Config, MODEL};
use crate::fair::cake::{BUFFER, Cake};
use tailback_base::{BitRate, DropReason, Ecn, Place, PureAck, Settings, Stream};

type CakeBench = Bench<Cake<TestPacket>>;

fn bench(filter: &str) -> CakeBench {
    let s = Settings::defaults(&MODEL).with("ack_filter", filter);
    let config = Config::from_settings(&s, BitRate(10_000_000)).unwrap();
    Bench::new(Cake::new(config, s.get(&BUFFER), Stream::new(1, "cake")))
}

/// An ACK of flow 1 up to this number.
fn ack(id: u64, number: u64) -> TestPacket {
    let ack = PureAck {
        number,
        marks: [false; 2],
        bare: true,
    };
    TestPacket {
        data: false,
        ack: Some(ack),
        ..TestPacket::new(id, 1, 40)
    }
}

fn with(p: TestPacket, change: impl Fn(&mut PureAck)) -> TestPacket {
    let mut ack = p.ack.unwrap();
    change(&mut ack);
    TestPacket { ack: Some(ack), ..p }
}

/// Which of these packets are filtered. The first ACK of a flow is never filtered, since it is not known what was
/// before it.
fn filtered(filter: &str, packets: &[TestPacket]) -> Vec<u64> {
    let mut b = bench(filter);
    for p in packets {
        b.arrive(*p);
    }
    assert!(
        b.log
            .dropped
            .iter()
            .all(|(_, place, why)| (*place, *why) == (Place::Queued, DropReason::Filtered))
    );
    let filtered = b.log.drops(DropReason::Filtered);
    let mut left = b.drain();
    left.extend(&filtered);
    assert_eq!(left.len(), packets.len());
    filtered
}

fn numbers(all: &[u64]) -> Vec<TestPacket> {
    all.iter().zip(0..).map(|(number, id)| ack(id, *number)).collect()
}

#[test]
fn off_one_or_two_of_a_row_stay() {
    let row = numbers(&[100, 200, 300, 400, 500]);
    assert_eq!(filtered("off", &row), []);
    assert_eq!(filtered("aggressive", &row), [1, 2, 3]);
    assert_eq!(filtered("conservative", &row), [1, 2]);
}

#[test]
fn data_and_what_opens_or_closes_stay() {
    let other_flow = |id| TestPacket::new(id, 1, 1500);
    let row = [
        ack(0, 100),
        other_flow(1),
        ack(2, 200),
        other_flow(3),
        other_flow(4),
        ack(5, 300),
        ack(6, 400),
    ];
    assert_eq!(filtered("aggressive", &row), [2, 5]);
    // A SYN, FIN or RST is no pure ACK.
    let closing = TestPacket {
        ack: None,
        ..ack(2, 200)
    };
    assert_eq!(
        filtered("aggressive", &[ack(0, 100), ack(1, 150), closing, ack(3, 300)]),
        [1]
    );
}

#[test]
fn sack_blocks_stay_and_a_later_one_may_have_them() {
    let mut row = numbers(&[100, 200, 300, 400]);
    row[1] = with(row[1], |a| a.bare = false);
    assert_eq!(filtered("aggressive", &row), [2]);
    let mut row = numbers(&[100, 200, 300]);
    row[2] = with(row[2], |a| a.bare = false);
    assert_eq!(filtered("aggressive", &row), [1]);
}

/// Three duplicates ask for a retransmission, also when the number moves on behind them. A window update looks the
/// same.
#[test]
fn what_repeats_a_number_stays() {
    let row = numbers(&[100, 200, 200, 200, 200, 300, 400]);
    assert_eq!(filtered("aggressive", &row), [5]);
    assert_eq!(filtered("conservative", &row), []);
    // The first of them has left by then.
    let mut b = bench("aggressive");
    b.arrive(ack(0, 100));
    b.arrive(ack(1, 200));
    assert_eq!(b.drain(), [0, 1]);
    for (id, number) in [(2, 200), (3, 200), (4, 300)] {
        b.arrive(ack(id, number));
    }
    assert_eq!(b.drain(), [2, 3, 4]);
}

#[test]
fn the_last_before_a_change_of_marks_stays() {
    for mark in [0, 1] {
        let marks = [false, false, true, true, true, false, false];
        let row: Vec<TestPacket> = (0..)
            .zip(marks)
            .map(|(id, on)| with(ack(id, 100 * (id + 1)), |a| a.marks[mark] = on))
            .collect();
        assert_eq!(filtered("aggressive", &row), [2, 3, 5]);
    }
    let mut row = numbers(&[100, 200, 300]);
    row[1].ecn = Ecn::Ce;
    assert_eq!(filtered("aggressive", &row), []);
}

#[test]
fn flows_do_not_filter_each_other() {
    let ack_of = |flow, id, number| TestPacket {
        flow,
        ..ack(id, number)
    };
    let row: Vec<TestPacket> = (0..6).map(|id| ack_of(id as u32 % 2, id, 100 * (id + 1))).collect();
    assert_eq!(filtered("aggressive", &row), [2, 3]);
    // A single queue for all flows knows only the last number of the flow that came last, so the first ACK after a
    // change of flow stays.
    let s = Settings::defaults(&MODEL)
        .with("ack_filter", "aggressive")
        .with("isolation", "flowblind");
    let config = Config::from_settings(&s, BitRate(10_000_000)).unwrap();
    let mut b = Bench::new(Cake::new(config, s.get(&BUFFER), Stream::new(1, "cake")));
    for (flow, id, number) in [(1, 0, 10), (2, 1, 10), (1, 2, 20), (1, 3, 30), (1, 4, 40), (2, 5, 20)] {
        b.arrive(ack_of(flow, id, number));
    }
    assert_eq!(b.log.drops(DropReason::Filtered), [3]);
}

/// A filtered ACK has used time on the link before this queue, and uses none on the link behind it.
#[test]
fn the_shaper_pays_for_what_is_filtered_only_at_an_ingress() {
    for (ingress, first_us) in [("true", 40.0), ("false", 0.0)] {
        let s = Settings::defaults(&MODEL)
            .with("ack_filter", "aggressive")
            .with("rate", "8Mbps");
        let s = s.with("ingress", ingress);
        let config = Config::from_settings(&s, BitRate(10_000_000)).unwrap();
        let mut b = Bench::new(Cake::new(config, s.get(&BUFFER), Stream::new(1, "cake")));
        for id in 0..3 {
            b.arrive(ack(id, 100 * (id + 1)));
        }
        let mut times_us = vec![];
        for _ in 0..200 {
            if b.serve().is_some() {
                times_us.push(b.now.0 as f64 / 1e3);
            }
            b.pass(tailback_base::Duration(1000));
        }
        // One of 40 B is gone before the first leaves.
        assert_eq!(times_us, [first_us, first_us + 40.0], "{ingress}");
    }
}
