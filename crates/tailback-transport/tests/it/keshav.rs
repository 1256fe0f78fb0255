//! The sources of the REAL simulator, packet by packet.

use tailback_base::model::{Model, Settings};
use tailback_base::{BitRate, Duration, Ecn, Stream, Time};
use tailback_transport::Registry;
use tailback_transport::keshav::params::{DECBIT, GENERIC, JACOBSON_KARELS, PACKET_PAIR};
use tailback_transport::path::Path;
use tailback_transport::{Amount, AppEvent, AppEvents, Endpoint, Flags, SackBlocks, Segment, Transmit};

fn ends(model: &'static Model, values: &[(&str, &str)], path: &Path) -> [Box<dyn Endpoint>; 2] {
    let settings = values
        .iter()
        .fold(Settings::defaults(model), |s, (name, text)| s.with(name, text));
    Registry::standard()
        .connection(&settings)
        .expect("good parameters")
        .expect("a connection")
        .ends(|| path.clone(), &mut Stream::new(1, "x"))
}

#[derive(Default)]
struct Heard(Vec<AppEvent>);

impl AppEvents for Heard {
    fn event(&mut self, e: AppEvent) {
        self.0.push(e);
    }
}

/// A source, and functions that write its acknowledgements.
struct Talk {
    source: Box<dyn Endpoint>,
    now: f64,
    heard: Heard,
}

fn bulk(model: &'static Model, values: &[(&str, &str)]) -> Talk {
    let [mut source, _] = ends(model, values, &Path::default());
    source.write(Amount::Unlimited, Time::ZERO);
    Talk {
        source,
        now: 0.0,
        heard: Heard::default(),
    }
}

impl Talk {
    /// What goes out now: numbers of packets, negative (minus one) for repeats, as -(n + 1).
    fn sends(&mut self) -> Vec<i64> {
        let mut out = vec![];
        while let Transmit::Segment(s) = self.source.poll_transmit(Time::from_seconds(self.now)) {
            let n = s.seq as i64;
            out.push(if s.flags.has(Flags::RETRANSMISSION) { -n - 1 } else { n });
        }
        out
    }

    /// At `t`, an acknowledgement of packet `echo`, with `next` as the next expected. Returns what is sent in answer.
    fn ack_with(&mut self, t: f64, next: u64, echo: u64, flags: Flags) -> Vec<i64> {
        self.now = t;
        let s = Segment {
            seq: echo,
            payload: 0,
            ack: next,
            flags: Flags::ACK.with(flags),
            ecn: Ecn::NotEct,
            bytes: 40,
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        };
        self.source.on_segment(&s, Time::from_seconds(t), &mut self.heard);
        self.sends()
    }

    fn ack(&mut self, t: f64, next: u64, echo: u64) -> Vec<i64> {
        self.ack_with(t, next, echo, Flags::NONE)
    }

    /// Advance time to `t`; returns what is sent on the way, with its time. For a source that paces, see
    /// [`Talk::paced`].
    fn until(&mut self, t: f64) -> Vec<(f64, Vec<i64>)> {
        let mut out = vec![];
        while let Some(due) = self.source.next_timeout().filter(|d| d.seconds() <= t) {
            self.now = due.seconds();
            self.source.on_timeout(due, &mut self.heard);
            let sent = self.sends();
            if !sent.is_empty() {
                out.push((self.now, sent));
            }
        }
        self.now = t;
        out
    }

    /// The same for a source that paces; times to a millisecond.
    fn paced(&mut self, t: f64) -> Vec<(f64, Vec<i64>)> {
        let mut out = vec![];
        loop {
            let now = Time::from_seconds(self.now);
            let mut sent = vec![];
            let slot = loop {
                match self.source.poll_transmit(now) {
                    Transmit::Segment(s) => {
                        let again = s.flags.has(Flags::RETRANSMISSION);
                        sent.push(if again { -(s.seq as i64) - 1 } else { s.seq as i64 });
                    }
                    Transmit::NotBefore(slot) => break slot,
                    Transmit::Idle => break Time::NEVER,
                }
            };
            if !sent.is_empty() {
                out.push(((self.now * 1e3).round() / 1e3, sent));
            }
            let timer = self.source.next_timeout().unwrap_or(Time::NEVER);
            let next = slot.min(timer);
            if next.seconds() > t {
                self.now = t;
                return out;
            }
            self.now = next.seconds();
            if timer <= next {
                self.source.on_timeout(next, &mut self.heard);
            }
        }
    }

    fn probe(&self, name: &str) -> f64 {
        let i = self.source.probes().iter().position(|p| p.name == name).unwrap();
        self.source.read(i)
    }
}

#[test]
fn the_sink_answers_every_packet_and_keeps_what_is_out_of_order() {
    let [_, mut sink] = ends(&DECBIT, &[], &Path::default());
    let mut up = Heard::default();
    let mut data = |seq: u64, ecn: Ecn, flags: Flags| {
        let s = Segment {
            seq,
            payload: 1000,
            ack: 0,
            flags,
            ecn,
            bytes: 1000,
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        };
        sink.on_segment(&s, Time::ZERO, &mut up);
        let Transmit::Segment(a) = sink.poll_transmit(Time::ZERO) else {
            panic!("no answer");
        };
        assert_eq!(
            (a.bytes, a.ecn, sink.poll_transmit(Time::ZERO)),
            (40, Ecn::NotEct, Transmit::Idle)
        );
        (
            a.ack,
            a.seq,
            a.flags.has(Flags::ECE),
            a.flags.has(Flags::RETRANSMISSION),
        )
    };
    assert_eq!(data(0, Ecn::Ect0, Flags::NONE), (1, 0, false, false));
    assert_eq!(data(2, Ecn::Ce, Flags::NONE), (1, 2, true, false));
    assert_eq!(data(3, Ecn::Ect0, Flags::NONE), (1, 3, false, false));
    // A retransmission fills the hole; then a duplicate.
    assert_eq!(data(1, Ecn::Ect0, Flags::RETRANSMISSION), (4, 1, false, true));
    assert_eq!(data(2, Ecn::Ect0, Flags::RETRANSMISSION), (4, 2, false, true));
    assert_eq!(up.0, [AppEvent::Delivered(1000), AppEvent::Delivered(3000)]);
    assert_eq!(sink.received_bytes(), 4000);
}

#[test]
fn generic_holds_its_window_and_each_packet_has_its_own_timer() {
    let mut t = bulk(&GENERIC, &[("wmax", "4")]);
    assert_eq!(t.sends(), [0, 1, 2, 3]);
    // Packets 1 and 2 are lost; 3 arrives out of order. Duplicates have no effect.
    assert_eq!(t.ack(0.5, 1, 0), [4]);
    assert_eq!(t.ack(1.0, 1, 3), [0i64; 0]);
    assert_eq!(t.ack(1.5, 1, 4), [0i64; 0]);
    // Timers of the first window: twice the first estimate of 3 s. Both lost packets are sent again, the others are
    // not.
    assert_eq!(t.until(6.1), [(6.0, vec![-2, -3])]);
    // 7/8 x 3 + 1/8 x 0.5, and backoff doubles: 2 x 2 x 2.6875 s later again, each packet separately.
    assert_eq!(t.probe("rtt"), 2.6875);
    assert_eq!(t.until(17.0), [(6.0 + 10.75, vec![-2, -3])]);
    // Packet 1 arrives: its sample counts from its first transmission, and the window moves on by one.
    assert_eq!(t.ack(18.0, 2, 1), [5]);
    assert_eq!(t.probe("rtt"), 2.6875 + (18.0 - 2.6875) / 8.0);
    // The backoff is over, but the timer of packet 2 runs as set: 4 x 2 x 2.6875 after its last transmission.
    assert_eq!(t.ack(18.5, 2, 5), [0i64; 0]);
    assert_eq!(t.until(39.0), [(16.75 + 21.5, vec![-3])]);
}

#[test]
fn without_the_echo_a_packet_out_of_order_is_sent_again() {
    let mut t = bulk(&GENERIC, &[("wmax", "2"), ("use_echo", "false")]);
    assert_eq!(t.sends(), [0, 1]);
    assert_eq!(t.ack(0.5, 0, 1), [0i64; 0]);
    assert_eq!(t.until(6.0), [(6.0, vec![-1, -2])]);
    assert_eq!(t.probe("outstanding"), 2.0);
}

#[test]
fn the_first_estimate_knows_the_path_and_a_timeout_its_bounds() {
    let mut path = Path::default();
    for way in [&mut path.there, &mut path.back] {
        way.lines.push(BitRate(8_000_000));
        way.delay = Duration::from_millis(6000);
    }
    let [mut source, _] = ends(&GENERIC, &[("wmax", "1"), ("packet", "1000B")], &path);
    source.write(Amount::Unlimited, Time::ZERO);
    let mut t = Talk {
        source,
        now: 0.0,
        heard: Heard::default(),
    };
    t.sends();
    // The empty path takes 12.00104 s; twice that, and a timeout of twice as much again.
    assert_eq!(t.probe("rtt"), 2.0 * 12.00104);
    let first = 4.0 * 12.00104;
    let at: Vec<f64> = t.until(1800.0).iter().map(|x| x.0).collect();
    let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) / first).collect();
    assert!((at[0] - first).abs() < 1e-6, "{at:?}");
    // Backoff doubles up to 8 times the timeout, which is more than 64 s here.
    let expected = [2.0, 4.0, 8.0, 8.0];
    assert!(gaps.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-6), "{gaps:?}");
}

#[test]
fn a_coarse_clock_counts_whole_ticks() {
    let mut t = bulk(
        &GENERIC,
        &[("wmax", "1"), ("tick", "500ms"), ("gain", "1"), ("rto_min", "0s")],
    );
    t.sends();
    assert_eq!(t.ack(0.7, 1, 0), [1]);
    assert_eq!(t.probe("rtt"), 0.5);
    // Sent at 0.7, twice 0.5 s later is 1.7: the tick at 2.
    assert_eq!(t.until(2.5), [(2.0, vec![-2])]);
}

#[test]
fn jacobson_karels_opens_exponentially_then_linearly() {
    let mut t = bulk(&JACOBSON_KARELS, &[("wmax", "8"), ("initial_ssthresh", "4")]);
    assert_eq!(t.sends(), [0]);
    assert_eq!(t.ack(0.1, 1, 0), [1, 2]);
    assert_eq!(t.ack(0.2, 2, 1), [3, 4]);
    assert_eq!(t.ack(0.21, 3, 2), [5, 6]);
    assert_eq!(t.probe("win"), 4.0);
    // Above the threshold, one packet per window: 1/4, 1/4.25, ...
    assert_eq!(t.ack(0.3, 4, 3), [7]);
    assert_eq!(t.probe("win"), 4.25);
    for n in 5..=7u64 {
        t.ack(0.3 + n as f64 / 100.0, n, n - 1);
    }
    let win = t.probe("win");
    assert!((4.9..5.0).contains(&win), "{win}");
    for n in 8..80u64 {
        t.ack(n as f64 / 10.0, n, n - 1);
    }
    assert_eq!(t.probe("win"), 8.0);
}

#[test]
fn jacobson_karels_shuts_on_the_third_duplicate_and_has_no_fast_recovery() {
    let mut t = bulk(&JACOBSON_KARELS, &[("wmax", "8"), ("initial_window", "8")]);
    assert_eq!(t.sends(), [0, 1, 2, 3, 4, 5, 6, 7]);
    // Packet 0 is lost.
    assert_eq!(t.ack(0.5, 0, 1), [0i64; 0]);
    assert_eq!(t.ack(0.6, 0, 2), [0i64; 0]);
    assert_eq!(t.ack(0.7, 0, 3), [-1]);
    assert_eq!((t.probe("win"), t.probe("ssthresh")), (1.0, 4.0));
    for (i, n) in [4u64, 5, 6, 7].iter().enumerate() {
        assert_eq!(t.ack(0.8 + i as f64 / 10.0, 0, *n), [0i64; 0]);
    }
    assert_eq!((t.probe("win"), t.source.report(Time::ZERO).fast_retransmits), (1.0, 1));
    // Everything has arrived: slow start continues with new packets.
    assert_eq!(t.ack(1.5, 8, 0), [8, 9]);
    // Its sample is not taken: packet 0 was sent twice. The tables leave it out as well.
    assert_eq!(t.probe("rtt"), 3.0);
    assert_eq!(t.source.report(Time::ZERO).rtt_samples, 7);
}

#[test]
fn jacobson_karels_goes_back_and_passes_over_what_has_arrived() {
    let mut t = bulk(&JACOBSON_KARELS, &[("wmax", "6"), ("initial_window", "6")]);
    assert_eq!(t.sends(), [0, 1, 2, 3, 4, 5]);
    // 0 and 3 are lost, and only two duplicates come back.
    t.ack(0.5, 0, 1);
    t.ack(0.5, 0, 2);
    assert_eq!(t.until(4.0), [(3.0, vec![-1])]);
    assert_eq!((t.probe("win"), t.probe("ssthresh")), (1.0, 3.0));
    // 0 arrives; 1 and 2 had arrived. 3 is next, and the window of two reaches 4, about which nothing is known.
    assert_eq!(t.ack(4.1, 3, 0), [-4, -5]);
}

#[test]
fn a_second_loss_of_a_window_waits_for_the_timer_unless_it_goes_back() {
    // 0 and 4 of eight are lost; three duplicates cause 0 to be sent again, and its answer shows that 4 is missing.
    let talk = |go_back: &str| {
        let mut t = bulk(
            &JACOBSON_KARELS,
            &[("wmax", "8"), ("initial_window", "8"), ("go_back", go_back)],
        );
        t.sends();
        t.ack(0.5, 0, 1);
        t.ack(0.5, 0, 2);
        assert_eq!(t.ack(0.5, 0, 3), [-1]);
        for n in [5, 6, 7] {
            assert_eq!(t.ack(0.6, 0, n), [0i64; 0]);
        }
        t
    };
    let mut t = talk("false");
    assert_eq!(t.ack(1.0, 4, 0), [0i64; 0]);
    assert_eq!(t.until(10.0)[0], (4.0, vec![-5]));
    assert_eq!((t.probe("win"), t.probe("ssthresh")), (1.0, 2.0));
    let mut t = talk("true");
    // The window of two: 4 again, and none of the others, which had arrived.
    assert_eq!(t.ack(1.0, 4, 0), [-5]);
    assert_eq!(t.ack(1.5, 8, 4), [8, 9, 10]);
    assert_eq!((t.probe("win"), t.probe("ssthresh")), (3.0, 4.0));
}

#[test]
fn the_backoff_survives_answers_to_repeats() {
    // A path of 10 s, and a first timeout of 3 s: without this rule every packet would always be sent twice.
    let mut t = bulk(&JACOBSON_KARELS, &[("wmax", "1"), ("rtt0_path", "0")]);
    t.sends();
    assert_eq!(t.until(9.5), [(3.0, vec![-1]), (9.0, vec![-1])]);
    // The first copy arrives: no sample, and the next packet gets the timeout of 4 x 3 s.
    assert_eq!(t.ack(10.0, 1, 0), [1]);
    assert_eq!(t.probe("rto"), 12.0);
    // Answers to the other copies; then one to a packet that was sent once: it is sampled and ends the backoff.
    t.ack(13.0, 1, 0);
    t.ack(19.0, 1, 0);
    assert_eq!(t.until(19.9), []);
    assert_eq!(t.ack(20.0, 2, 1), [2]);
    assert_eq!(
        (t.probe("rtt"), t.probe("deviation"), t.probe("rto")),
        (10.0, 5.0, 30.0)
    );
}

#[test]
fn a_timer_for_each_packet_is_not_put_off_by_acknowledgements_of_others() {
    let start = |timer| {
        let values = [("wmax", "8"), ("initial_window", "2"), ("timer", timer)];
        let mut t = bulk(&JACOBSON_KARELS, &values);
        assert_eq!(t.sends(), [0, 1]);
        // The first sample makes the timeout 2.5 s and four times half of that: 7.5 s.
        assert_eq!(t.ack(2.5, 1, 0), [2, 3]);
        t
    };
    // One timer: it starts again at 2.5 s.
    assert_eq!(start("restart").until(10.5), [(10.0, vec![-2])]);
    // Packet 1 was sent at 0 s, when the timeout was 3 s; packets sent now get the present timeout, twice 7.5 s.
    let mut t = start("packet");
    assert_eq!(t.until(17.9), [(3.0, vec![-2])]);
    assert_eq!(t.until(18.1), [(18.0, vec![-2])]);
}

#[test]
fn decbit_sends_capable_packets_and_falls_to_one_on_a_timeout() {
    let mut t = bulk(&DECBIT, &[]);
    let Transmit::Segment(s) = t.source.poll_transmit(Time::ZERO) else {
        panic!()
    };
    assert_eq!(s.ecn, Ecn::Ect0);
    assert_eq!(t.ack(0.1, 1, 0), [1, 2]);
    assert_eq!(t.ack(0.2, 2, 1), [3]);
    assert_eq!(t.ack(0.3, 3, 2), [4]);
    assert_eq!(t.ack(0.4, 4, 3), [5, 6]);
    assert_eq!(t.probe("win"), 3.0);
    // Everything outstanding is lost. Packets 5 and 6 were sent later, but with a smaller estimate: their timers
    // expire first.
    let at = t.until(6.0);
    assert_eq!(
        at.iter().map(|x| x.1.clone()).collect::<Vec<_>>(),
        [vec![-6, -7], vec![-5]]
    );
    assert_eq!(t.probe("win"), 1.0);
    // A generic source is not ECN-capable.
    let Transmit::Segment(s) = bulk(&GENERIC, &[]).source.poll_transmit(Time::ZERO) else {
        panic!()
    };
    assert_eq!(s.ecn, Ecn::NotEct);
}

/// A path of 1 s whose Fair Queueing bottleneck serves this conversation every 0.2 s.
fn started(values: &[(&str, &str)]) -> Talk {
    let mut t = bulk(&PACKET_PAIR, values);
    assert_eq!(t.sends(), [0, 1]);
    // One answer is no gap: still only the first pair is out.
    assert_eq!(t.ack(1.0, 1, 0), [0i64; 0]);
    t
}

#[test]
fn packet_pair_reads_its_rate_from_the_first_pair_and_fills_the_bottleneck() {
    let mut t = started(&[("setpoint", "2"), ("wmax", "20")]);
    // mu = 5, P = T = 1, nothing outstanding: lam = 5 + 2 / 1, and the pacer begins at once.
    assert_eq!(t.ack(1.2, 2, 1), [2, 3]);
    assert_eq!((t.probe("probe_gap"), t.probe("queue_est")), (0.2, 0.0));
    assert!((t.probe("send_gap") - 1.0 / 7.0).abs() < 1e-9);
    // Then a pair every 2/7 s.
    let pairs = t.paced(2.1);
    assert_eq!(pairs, [(1.486, vec![4, 5]), (1.771, vec![6, 7]), (2.057, vec![8, 9])]);
    // The next gap comes with 7 outstanding beyond the two just answered: n = 6 - 5 x 1, lam = 5 + (2 - 1) / 1.2.
    t.ack(2.4, 3, 2);
    t.paced(2.59);
    assert_eq!(t.probe("outstanding"), 9.0);
    t.ack(2.6, 4, 3);
    assert!((t.probe("queue_est") - 3.0).abs() < 1e-6, "{}", t.probe("queue_est"));
    assert!((1.0 / t.probe("send_gap") - (5.0 - 1.0 / 1.2)).abs() < 1e-6);
}

#[test]
fn a_window_holds_back_packets() {
    let mut t = started(&[("wmax", "5")]);
    assert_eq!(t.ack(1.2, 2, 1), [2, 3]);
    // Two outstanding, then four, then the first of a pair; its second waits.
    assert_eq!(t.paced(2.0), [(1.4, vec![4, 5]), (1.6, vec![6])]);
    // Each answer makes room for one packet: five are outstanding at all times.
    assert_eq!(t.ack(2.2, 3, 2), [7]);
    assert_eq!(t.ack(2.4, 4, 3), [8]);
    assert_eq!(t.probe("probe_gap"), 0.2);
    assert_eq!(t.ack(2.6, 5, 4), [9]);
    assert_eq!(t.probe("outstanding"), 5.0);
}

#[test]
fn a_window_holds_back_whole_pairs_where_told() {
    let pairs = [("wmax", "5"), ("limit", "pair")];
    let mut t = started(&pairs);
    // Two outstanding, then four: a fifth alone is no pair.
    assert_eq!(t.ack(1.2, 2, 1), [2, 3]);
    assert_eq!(t.paced(9.0).first(), Some(&(1.4, vec![4, 5])));
    let mut t = started(&pairs);
    t.ack(1.2, 2, 1);
    t.paced(2.0);
    assert_eq!(t.probe("outstanding"), 4.0);
    // One answer makes room for a pair: 3 + 2 fill the odd window.
    assert_eq!(t.ack(2.2, 3, 2), [6, 7]);
    assert_eq!(t.ack(2.4, 4, 3), [0i64; 0]);
}

#[test]
fn a_lost_packet_takes_a_slot_and_its_pair_tells_nothing() {
    let mut t = started(&[("wmax", "4"), ("setpoint", "0")]);
    assert_eq!(t.ack(1.2, 2, 1), [2, 3]);
    t.paced(2.0);
    assert_eq!(t.probe("outstanding"), 4.0);
    // 2 is lost, and 3 arrives out of order: no gap. The window has room for one packet, the first of a pair.
    assert_eq!(t.ack(2.4, 2, 3), [6]);
    assert_eq!(t.probe("probe_gap"), 0.2);
    // Its timer: twice the smoothed round trip of 2.5775 s after it was sent. It is sent again although a second
    // packet waits for room.
    let again = t.paced(7.0);
    assert_eq!(again.first().map(|x| x.1.clone()), Some(vec![-3]), "{again:?}");
    // 2 moves the next expected past 3: still no gap.
    t.ack(7.5, 4, 2);
    assert_eq!(t.probe("probe_gap"), 0.2);
}

#[test]
fn a_first_pair_that_tells_nothing_is_followed_by_another() {
    let mut t = bulk(&PACKET_PAIR, &[("wmax", "20")]);
    assert_eq!(t.sends(), [0, 1]);
    // 0 is lost; it is sent again at once when its timer expires.
    t.ack(1.2, 0, 1);
    assert_eq!(t.until(6.5), [(6.0, vec![-1])]);
    assert_eq!(t.ack(7.0, 2, 0), [2, 3]);
    assert!(t.probe("probe_gap").is_nan());
    t.ack(8.0, 3, 2);
    assert_eq!(t.ack(8.5, 4, 3), [4, 5]);
    assert_eq!(t.probe("service_gap"), 0.5);
}

#[test]
fn without_gaps_the_rate_falls_to_a_packet_a_round_trip() {
    let mut t = started(&[("wmax", "60"), ("setpoint", "2"), ("silence", "3.9"), ("beta", "20")]);
    t.ack(1.2, 2, 1);
    // At the rate of 7/s until 3.9 round trips of 1 s after the last gap, then a pair every 2 s.
    let at: Vec<f64> = t.paced(9.0).iter().map(|p| p.0).collect();
    assert_eq!(at.len(), 13 + 2, "{at:?}");
    assert_eq!(at[12..], [4.914, 6.914, 8.914]);
}

#[test]
fn a_write_is_a_packet_and_the_end_is_told() {
    let [mut source, _] = ends(&GENERIC, &[("wmax", "5")], &Path::default());
    for _ in 0..3 {
        source.write(Amount::Bytes(40), Time::ZERO);
    }
    source.write(Amount::Bytes(1500), Time::ZERO);
    source.close(Time::ZERO);
    let mut t = Talk {
        source,
        now: 0.0,
        heard: Heard::default(),
    };
    let mut sizes = vec![];
    while let Transmit::Segment(s) = t.source.poll_transmit(Time::ZERO) {
        sizes.push(s.bytes);
    }
    assert_eq!(sizes, [40, 40, 40, 1000, 500]);
    for n in 1..=5 {
        t.ack(0.1, n, n - 1);
    }
    assert_eq!(
        t.heard.0,
        [AppEvent::Connected, AppEvent::AllAcknowledged, AppEvent::Closed]
    );
    assert!(t.source.is_closed() && t.source.next_timeout().is_none_or(|d| d.seconds() >= 6.0));
}

/// An acknowledgement that cannot be valid has no effect.
#[test]
fn nonsense_is_ignored() {
    for model in [&GENERIC, &JACOBSON_KARELS, &DECBIT, &PACKET_PAIR] {
        let mut t = bulk(model, &[]);
        let first = t.sends().len() as u64;
        t.ack(0.1, first + 1, 0);
        t.ack(0.1, u64::MAX, u64::MAX);
        assert_eq!(t.probe("outstanding"), first as f64, "{}", model.name);
        assert_eq!(t.ack(0.1, 0, u64::MAX), [0i64; 0]);
    }
}
