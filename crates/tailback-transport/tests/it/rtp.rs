//! RTP's two ends as packet dialogues. The engine's tests measure over a whole path.

use tailback_base::model::Settings;
use tailback_base::{Duration, Ecn, Stream, Time};
use tailback_transport::path::Path;
use tailback_transport::rtp::MODEL;
use tailback_transport::{Amount, AppEvent, AppEvents, Endpoint, Flags, Registry, SackBlocks, Segment, Transmit};

#[derive(Default)]
struct Heard(Vec<AppEvent>);

impl AppEvents for Heard {
    fn event(&mut self, e: AppEvent) {
        self.0.push(e);
    }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

fn read(end: &dyn Endpoint, probe: &str) -> f64 {
    let i = end.probes().iter().position(|p| p.name == probe);
    end.read(i.unwrap_or_else(|| panic!("no probe {probe}")))
}

/// What an end sends and hears until `until`.
fn run(end: &mut dyn Endpoint, mut now: Time, until: Time, heard: &mut Heard) -> Vec<(Time, Segment)> {
    let mut sent = vec![];
    loop {
        let paced = loop {
            match end.poll_transmit(now) {
                Transmit::Segment(s) => sent.push((now, s)),
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
        let timer = end.next_timeout().unwrap_or(Time::NEVER);
        let next = timer.min(paced);
        if next > until {
            return sent;
        }
        now = now.max(next);
        if timer <= now {
            end.on_timeout(now, heard);
        }
    }
}

fn ends(values: &[(&str, &str)]) -> [Box<dyn Endpoint>; 2] {
    let defaults = Settings::defaults(&MODEL);
    let settings = values.iter().fold(defaults, |s, (name, text)| s.with(name, text));
    let made = Registry::standard().connection(&settings).expect("good parameters");
    made.expect("a connection")
        .ends(Path::default, &mut Stream::new(1, "x"))
}

/// SCReAM's window fills, and nothing of it arrives: a second later all of it is lost, and another window goes.
#[test]
fn an_outage_of_a_whole_window_ends() {
    let [mut sender, mut receiver] = ends(&[("control", "scream"), ("start_rate", "1Mbps")]);
    let mut heard = Heard::default();
    sender.write(Amount::Unlimited, Time::ZERO);
    let first = run(&mut *sender, Time::ZERO, ms(900), &mut heard);
    let window = first.len() as f64;
    assert!(window > 5.0 && first[first.len() - 1].0 < ms(300), "{window} packets");
    assert_eq!(read(&*sender, "lost"), 0.0);
    let second = run(&mut *sender, ms(900), ms(1900), &mut heard);
    assert_eq!((read(&*sender, "lost"), second.len() as f64), (window, window));
    // What arrives of the second window is reported, and the sender goes on.
    for (at, packet) in second {
        let at = at + Duration::from_millis(20);
        receiver.on_segment(&packet, at, &mut heard);
        for (at, report) in run(&mut *receiver, at, at, &mut heard) {
            sender.on_segment(&report, at + Duration::from_millis(20), &mut heard);
        }
    }
    assert!(!run(&mut *sender, ms(1900), ms(2100), &mut heard).is_empty());
    assert_eq!(read(&*sender, "lost"), window);
}

/// A packet of one frame.
fn packet(seq: u64, ecn: Ecn, ends_frame: bool, now: Time) -> Segment {
    Segment {
        seq,
        payload: 1000,
        ack: 0,
        flags: Flags::NONE,
        ecn,
        bytes: 1040,
        sack: SackBlocks::new(),
        timestamps: Some((now, Time(u64::from(ends_frame)))),
        window: None,
        counts: None,
    }
}

/// A packet arrives at a receiver; the reports that follow at once: first, end, and how many arrived.
fn arrive(receiver: &mut dyn Endpoint, p: &Segment, now: Time, heard: &mut Heard) -> Vec<(u64, u64, usize)> {
    receiver.on_segment(p, now, heard);
    let reports = run(receiver, now, now, heard);
    reports.iter().map(|(_, r)| (r.seq, r.ack, r.sack.len())).collect()
}

/// RFC 8888 section 3.1: of copies the first counts, with the mark of either. One that comes after its number was
/// reported as lost is delivered, its copies are not.
#[test]
fn copies_are_delivered_once() {
    let [_, mut receiver] = ends(&[("ecn", "ect0")]);
    let mut heard = Heard::default();
    let mut take = |number, ecn, now| arrive(&mut *receiver, &packet(number, ecn, false, now), now, &mut heard);
    assert_eq!(take(0, Ecn::Ect0, ms(0)), [(0, 1, 1)]);
    for (n, ecn) in [
        (1, Ecn::Ect0),
        (1, Ecn::Ce),
        (3, Ecn::Ect0),
        (4, Ecn::Ect0),
        (5, Ecn::Ect0),
    ] {
        assert_eq!(take(n, ecn, ms(10 * n)), []);
    }
    receiver.on_timeout(ms(100), &mut heard);
    let reports = run(&mut *receiver, ms(100), ms(100), &mut heard);
    let entries: Vec<_> = reports[0]
        .1
        .sack
        .iter()
        .map(|(n, word)| (*n, word >> 2, word & 3))
        .collect();
    // 90, 70, 60 and 50 ms before the report, in 1/1024 s; the mark is 3, ECT(0) 2.
    assert_eq!(entries, [(1, 92, 3), (3, 71, 2), (4, 61, 2), (5, 51, 2)]);
    let mut take = |number, now| arrive(&mut *receiver, &packet(number, Ecn::Ect0, false, now), now, &mut heard);
    for _ in 0..2 {
        assert_eq!(
            (take(2, ms(110)), take(4, ms(110))),
            (vec![], vec![]),
            "nothing new to report"
        );
    }
    assert_eq!((receiver.received_bytes(), receiver.next_timeout()), (6000, None));
}

/// SCReAM's report after 40 ms and that of a frame's end fall on one instant: both leave.
#[test]
fn a_report_that_is_due_is_not_replaced_by_that_of_a_frame() {
    let [_, mut receiver] = ends(&[("control", "scream")]);
    let mut heard = Heard::default();
    let mut take = |number, ends_frame, now| {
        let p = packet(number, Ecn::NotEct, ends_frame, now);
        arrive(&mut *receiver, &p, now, &mut heard)
    };
    assert_eq!(take(0, true, ms(0)), [(0, 1, 1)]);
    assert_eq!(take(1, false, ms(10)), []);
    assert_eq!(take(2, true, ms(40)), [(1, 2, 1), (2, 3, 1)]);
}

/// After a gap of a million numbers a report has the last 16384 of them, 32 kB, and the sender goes on with it.
#[test]
fn a_long_gap_makes_no_longer_report() {
    let [_, mut receiver] = ends(&[]);
    let mut heard = Heard::default();
    let mut take = |number, now| {
        arrive(
            &mut *receiver,
            &packet(number, Ecn::NotEct, false, now),
            now,
            &mut heard,
        )
    };
    assert_eq!(take(0, ms(0)), [(0, 1, 1)]);
    assert_eq!(take(1, ms(10)), []);
    let last = 1_000_000;
    assert_eq!(take(last, ms(20)), [(1, 2, 1), (last + 1 - 16_384, last + 1, 1)]);
    // The two before the last may still come.
    assert_eq!(take(last + 1, ms(200)), [(last - 2, last + 2, 2)]);
}

/// NADA's pace is at most 5 % above its rate, and its target as much below while something waits. GCC's is 1.1 times
/// the target, and what waits leaves within 2 s; what takes 40 ms at that pace leaves at once, two packets here. The
/// cluster that probes at three times the target follows when they would have left.
#[test]
fn the_pace_follows_what_waits() {
    let [gcc, nada] = ["gcc", "nada"].map(|control| {
        let [mut sender, _] = ends(&[("control", control), ("start_rate", "300kbps")]);
        let mut heard = Heard::default();
        sender.write(Amount::Bytes(15_000), Time::ZERO);
        let probes = ["target", "pacing", "waiting"].map(|p| read(&*sender, p));
        let sent = run(&mut *sender, Time::ZERO, ms(100), &mut heard);
        let at = |n: usize| (sent[n].0.seconds() * 1e4).round() / 10.0;
        (probes, [at(1), at(2), at(3)], sent.len())
    });
    assert_eq!(gcc, ([300e3, 330e3, 15_000.0], [0.0, 60.1, 71.1], 6));
    assert_eq!(nada, ([285e3, 315e3, 15_000.0], [31.5, 63.0, 94.5], 4));
}

/// After the first frame GCC sends clusters at three and six times its rate, 15 ms each: padding of 240 B where no
/// media wait. The receiver reports padding and delivers none of it; a sender that closes sends none.
#[test]
fn a_cluster_is_filled_with_padding() {
    let [mut sender, mut receiver] = ends(&[("control", "gcc"), ("start_rate", "1Mbps")]);
    let mut heard = Heard::default();
    sender.write(Amount::Bytes(1000), Time::ZERO);
    let sent = run(&mut *sender, Time::ZERO, ms(300), &mut heard);
    let sizes: Vec<u32> = sent.iter().map(|(_, s)| s.bytes).collect();
    // 3 Mbit/s and 5 times 2 Mbit/s, of which twice the largest rate of 2.5 Mbit/s is the bound: 5625 B and 9375 B.
    assert_eq!(sizes, [&[1040][..], &[280; 21 + 34]].concat());
    let gap = |n: usize| (sent[n + 1].0.since(sent[n].0).seconds() * 1e6).round();
    assert_eq!([gap(5), gap(40)], [747.0, 448.0]);
    heard.0.clear();
    let reports: Vec<_> = sent
        .iter()
        .flat_map(|(at, s)| arrive(&mut *receiver, s, *at, &mut heard))
        .collect();
    assert_eq!(heard.0, [AppEvent::Delivered(1000), AppEvent::Packet(0)]);
    assert_eq!((reports[0], receiver.received_bytes()), ((0, 1, 1), 1000));
    sender.close(ms(300));
    assert!(run(&mut *sender, ms(300), ms(30_000), &mut heard).is_empty());
    assert!(sender.is_closed() && sender.next_timeout().is_none());
}

/// What is taken back waits no longer.
#[test]
fn an_abort_leaves_nothing_that_waits() {
    let [mut sender, _] = ends(&[]);
    sender.write(Amount::Bytes(15_000), Time::ZERO);
    sender.abort(Time::ZERO);
    assert_eq!(read(&*sender, "waiting"), 0.0);
}
