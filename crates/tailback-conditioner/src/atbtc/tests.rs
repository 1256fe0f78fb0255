//! The adaptive bucket packet by packet.

use super::*;
use crate::testing::{Plain, Seen, built};
use tailback_base::Dscp;

const MS: u64 = 1_000_000;

struct Edge {
    conditioner: Box<dyn Conditioner<Plain>>,
    out: Seen,
}

impl Edge {
    fn new(with: &[(&str, &str)]) -> Edge {
        let base = Settings::defaults(&MODEL).with("committed_rate", "3Mbps");
        let settings = with.iter().fold(base, |s, (name, text)| s.with(name, text));
        Edge {
            conditioner: built(&settings).unwrap_or_else(|e| panic!("{e}")),
            out: Seen::default(),
        }
    }

    fn offer(&mut self, at: u64, p: Plain) {
        self.conditioner.forward(p, &Header::default(), Time(at), &mut self.out);
    }

    /// Send this many packets of 1000 bytes at once; returns how many were green, yellow, red and dropped.
    fn burst(&mut self, at_ms: u64, packets: usize) -> [usize; 4] {
        self.out = Seen::default();
        for _ in 0..packets {
            self.offer(at_ms * MS, Plain::new(1000, Dscp(0)));
        }
        let count = |code| self.out.colours.iter().filter(|c| c.0 == code).count();
        [count(10), count(12), count(14), self.out.dropped.len()]
    }

    fn report(&mut self, at_ms: u64, flow: u32, srtt_ms: u64, slow_start: bool) {
        let srtt = Duration::from_millis(srtt_ms);
        self.conditioner
            .sender(FlowId(flow), SenderState { srtt, slow_start }, Time(at_ms * MS));
    }

    fn depth(&self, at_ms: u64) -> f64 {
        self.conditioner.read(1, 0, Time(at_ms * MS))
    }
}

/// 150 packets in each round trip of 200 ms are 6 Mb/s, the higher rate. A bucket of fixed depth marks some of them
/// red.
#[test]
fn a_window_within_its_rate_has_a_green_and_a_yellow_cluster() {
    let mut e = Edge::new(&[]);
    e.burst(0, 1);
    e.report(100, 0, 200, false);
    for i in 1..10 {
        assert_eq!(e.burst(i * 200, 150), [75, 75, 0, 0], "round trip {i}");
    }
    let fixed = Settings::defaults(&crate::meter::trtcm::MODEL)
        .with("committed_rate", "3Mbps")
        .with("committed_burst", "5000B")
        .with("peak_rate", "6Mbps")
        .with("peak_burst", "30000B");
    e.conditioner = built(&fixed).unwrap_or_else(|e| panic!("{e}"));
    for i in 1..10 {
        // 0.2, 1.0 and 4.8 Mb/s.
        assert_eq!(e.burst(i * 200, 150), [5, 25, 120, 0], "round trip {i}");
    }
}

#[test]
fn the_first_round_trip_fills_the_buckets_and_later_ones_add_nothing() {
    let mut e = Edge::new(&[]);
    assert_eq!(e.burst(0, 12), [5, 0, 7, 0], "both hold 5 packets");
    e.report(0, 0, 40, true);
    // 3 Mb/s in 40 ms are 15 packets, 6 Mb/s 30.
    assert_eq!(e.burst(0, 40), [15, 15, 10, 0]);
    e.report(0, 0, 80, true);
    assert_eq!((e.depth(0), e.burst(0, 40)), (30_000.0, [0, 0, 40, 0]));
    assert_eq!(e.burst(80, 70), [30, 30, 10, 0]);
    e.report(160, 0, 40, true);
    assert_eq!(e.burst(160, 40), [15, 15, 10, 0], "what has no place any more is lost");
}

#[test]
fn the_least_depth_is_a_floor_unless_asked_otherwise() {
    for (floor, depth) in [("true", 5000.0), ("false", 3750.0)] {
        let mut e = Edge::new(&[("committed_rate", "1Mbps"), ("depth_floor", floor)]);
        e.burst(0, 1);
        e.report(0, 0, 30, true);
        assert_eq!(e.depth(0), depth, "{floor}");
    }
}

/// A first window of four segments, and single packets at the rate or slower.
#[test]
fn what_is_short_or_sporadic_is_green() {
    let mut e = Edge::new(&[("committed_rate", "1Mbps")]);
    assert_eq!(e.burst(0, 4), [4, 0, 0, 0]);
    for i in 0..1000 {
        assert_eq!(e.burst(100 + 8 * i, 1), [1, 0, 0, 0], "{i}");
    }
}

#[test]
fn two_colours_have_no_yellow() {
    let mut e = Edge::new(&[("colours", "2")]);
    assert_eq!(e.burst(0, 12), [5, 0, 7, 0]);
    e.report(0, 0, 40, true);
    assert_eq!(e.burst(0, 40), [15, 0, 25, 0]);
}

#[test]
fn retransmissions_are_green_if_asked_for_and_pay_what_there_is() {
    for (switch, colour) in [("false", 14), ("true", 10)] {
        let mut e = Edge::new(&[("retransmit_green", switch)]);
        e.burst(0, 5);
        let again = Plain {
            retransmission: true,
            ..Plain::new(1000, Dscp(0))
        };
        e.offer(0, again);
        assert_eq!(e.out.colours[5].0, colour, "{switch}");
        assert_eq!(e.burst(1, 1), [0, 0, 1, 0], "1 ms brings 375 bytes");
    }
}

#[test]
fn a_policer_drops_one_red_packet_in_each_slow_start() {
    let mut e = Edge::new(&[("slowstart_police", "true")]);
    assert_eq!(e.burst(0, 12), [5, 0, 6, 1]);
    e.report(1, 0, 8, true);
    assert_eq!(e.burst(1, 20)[3], 0, "once");
    e.report(2, 0, 9, false);
    assert_eq!(e.burst(2, 20)[3], 0, "slow start is over");
    e.report(3, 0, 10, true);
    assert_eq!([e.burst(3, 20)[3], e.burst(3, 20)[3]], [1, 0]);
}

/// The peak rate of 6 Mb/s lets a packet go each 4/3 ms. Two wait, the next one is dropped, once in a slow start; after
/// slow start what waits leaves with the next packet.
#[test]
fn a_shaper_holds_red_packets_of_slow_starts() {
    let mut e = Edge::new(&[("slowstart_shape", "2")]);
    assert_eq!(
        e.burst(0, 12),
        [5, 0, 4, 1],
        "two wait, and each further one sends the head on"
    );
    assert_eq!(e.conditioner.next_timer(), Some(Time(4 * MS / 3 + 1)));
    e.out = Seen::default();
    e.conditioner.on_timer(Time(4 * MS / 3 + 1), &mut e.out);
    assert_eq!(
        e.out.colours,
        [Dscp(12)],
        "500 bytes of green have come, and 1000 of both"
    );
    assert_eq!(e.conditioner.next_timer(), Some(Time(8 * MS / 3 + 1)));
    e.report(2, 0, 8, false);
    assert_eq!(e.burst(2, 1), [2, 0, 0, 0], "the first round trip fills the buckets");
    assert_eq!(e.conditioner.next_timer(), None);
    assert_eq!(e.burst(3, 20)[3], 0, "nothing waits and nothing is dropped");
}

/// The packets of a flow that has left do not stay.
#[test]
fn a_shaper_lets_go_what_a_flow_left() {
    let mut e = Edge::new(&[("slowstart_shape", "9"), ("per", "flow")]);
    e.burst(0, 8);
    e.conditioner.flow_left(&Plain::new(1000, Dscp(0)), Time(MS));
    let due = e.conditioner.next_timer().expect("three packets wait");
    e.conditioner.on_timer(due, &mut e.out);
    assert_eq!((e.out.colours.len(), e.conditioner.next_timer()), (8, None));
}

#[test]
fn a_border_never_gives_a_better_colour() {
    for (mode, codes) in [("blind", [10, 10, 10, 10, 10]), ("aware", [14, 12, 10, 12, 10])] {
        let mut e = Edge::new(&[("mode", mode)]);
        for code in [14, 12, 10, 12, 0] {
            e.offer(0, Plain::new(1000, Dscp(code)));
        }
        assert_eq!(e.out.colours.iter().map(|c| c.0).collect::<Vec<_>>(), codes, "{mode}");
    }
    let mut e = Edge::new(&[("mode", "aware"), ("colours", "2"), ("retransmit_green", "true")]);
    let again = |code| Plain {
        retransmission: true,
        ..Plain::new(1000, Dscp(code))
    };
    for p in [Plain::new(1000, Dscp(12)), again(14), again(10)] {
        e.offer(0, p);
    }
    assert_eq!(e.out.colours, [Dscp(14), Dscp(14), Dscp(10)]);
}

#[test]
fn a_report_takes_its_time() {
    let mut e = Edge::new(&[("report_delay", "50ms"), ("per", "flow")]);
    e.burst(0, 1);
    e.report(10, 0, 200, true);
    e.burst(59, 1);
    assert_eq!(e.depth(59), 5000.0);
    e.burst(60, 1);
    assert_eq!(e.depth(60), 75_000.0);
}

#[test]
fn an_aggregate_has_the_sum_of_its_flows_and_the_longest_round_trip() {
    let mut e = Edge::new(&[("committed_rate", "1Mbps"), ("per", "aggregate"), ("by_weight", "true")]);
    let flow = |flow| Plain {
        flow,
        ..Plain::new(1000, Dscp(0))
    };
    e.conditioner.flow_joined(&flow(1), Time::ZERO);
    e.conditioner.flow_joined(&flow(2), Time::ZERO);
    e.report(1, 1, 100, true);
    e.report(2, 2, 80, true);
    // Two flows of weight 1 and 100 ms: 2 Mb/s in 100 ms.
    assert_eq!(e.depth(2), 25_000.0);
    e.conditioner.flow_left(&flow(1), Time(3 * MS));
    assert_eq!(e.depth(3), 12_500.0, "1 Mb/s");
    assert!(e.conditioner.read(1, 1, Time(3 * MS)).is_nan(), "one client");
}

#[test]
fn a_peak_below_the_committed_rate_is_refused() {
    let s = Settings::defaults(&MODEL)
        .with("committed_rate", "3Mbps")
        .with("peak_rate", "2Mbps");
    let e = built(&s).err().expect("refused");
    assert_eq!(e.path, "peak_rate");
}

/// A conditioner that does not know whether the sender is in slow start cannot police it.
#[test]
fn a_snooper_does_not_police_slow_start() {
    let settings = Settings::defaults(&MODEL)
        .with("committed_rate", "3Mbps")
        .with("srtt_source", "snoop")
        .with("slowstart_police", "true");
    let e = built(&settings).err().expect("refused");
    assert!(e.problem.contains("phase") && !e.remedy.is_empty(), "{e}");
    let e = built(&settings.with("slowstart_shape", "5")).err().expect("refused");
    assert!(e.problem.contains("slowstart_police are both given"), "{e}");
}
