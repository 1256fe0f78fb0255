//! TFRC's two ends as packet dialogues. The engine's tests measure over a whole path.

use tailback_base::model::Settings;
use tailback_base::{Duration, Ecn, Stream, Time};
use tailback_transport::path::Path;
use tailback_transport::tfrc::MODEL;
use tailback_transport::{Amount, AppEvent, AppEvents, Endpoint, Flags, Registry, SackBlocks, Segment, Transmit};

const S: f64 = 1460.0;

fn ends(values: &[(&str, &str)]) -> [Box<dyn Endpoint>; 2] {
    let defaults = Settings::defaults(&MODEL);
    let settings = values.iter().fold(defaults, |s, (name, text)| s.with(name, text));
    let made = Registry::standard().connection(&settings).expect("good parameters");
    made.expect("a connection")
        .ends(Path::default, &mut Stream::new(1, "x"))
}

fn at(seconds: f64) -> Time {
    Time::from_seconds(seconds)
}

fn read(end: &dyn Endpoint, probe: &str) -> f64 {
    let probes = end.probes();
    let i = probes.iter().position(|p| p.name == probe);
    end.read(i.unwrap_or_else(|| panic!("no probe {probe}")))
}

#[track_caller]
fn near(x: f64, expected: f64, share: f64) {
    assert!((x / expected - 1.0).abs() <= share, "{x} is not {expected}");
}

#[derive(Default)]
struct Heard(Vec<AppEvent>);

impl AppEvents for Heard {
    fn event(&mut self, e: AppEvent) {
        self.0.push(e);
    }
}

/// A sender, and functions that write its reports.
struct Talk {
    sender: Box<dyn Endpoint>,
    now: Time,
    /// Number and time of each packet sent.
    sent: Vec<(u64, Time)>,
    heard: Heard,
}

fn talk(values: &[(&str, &str)], n: Amount) -> Talk {
    let [mut sender, _] = ends(values);
    sender.write(n, Time::ZERO);
    Talk {
        sender,
        now: Time::ZERO,
        sent: vec![],
        heard: Heard::default(),
    }
}

impl Talk {
    /// Advance time to `t`; what is due until then happens.
    fn until(&mut self, t: f64) {
        let end = at(t);
        loop {
            let mut next = Time::NEVER;
            loop {
                match self.sender.poll_transmit(self.now) {
                    Transmit::Segment(s) => self.sent.push((s.seq, self.now)),
                    Transmit::NotBefore(t) => {
                        next = t;
                        break;
                    }
                    Transmit::Idle => break,
                }
            }
            let due = self.sender.next_timeout().unwrap_or(Time::NEVER).min(next);
            if due > end {
                self.now = end;
                return;
            }
            self.now = due.max(self.now);
            if self.sender.next_timeout().is_some_and(|t| t <= self.now) {
                self.sender.on_timeout(self.now, &mut self.heard);
            }
        }
    }

    /// At `t` a report arrives: the echoed packet was sent `rtt` earlier.
    fn report(&mut self, t: f64, rtt: f64, receive_rate: f64, p: f64) {
        self.delayed_report(t, rtt, 0.0, [receive_rate, p]);
    }

    /// The same, from a receiver that held the packet for a time.
    fn delayed_report(&mut self, t: f64, rtt: f64, delay: f64, [receive_rate, p]: [f64; 2]) {
        self.until(t);
        let s = Segment {
            seq: receive_rate as u64,
            payload: 0,
            ack: self.sent.last().map_or(0, |s| s.0 + 1),
            flags: Flags::NONE,
            ecn: Ecn::NotEct,
            bytes: 44,
            sack: SackBlocks::new(),
            timestamps: Some((at(t - rtt - delay), at(delay))),
            window: Some((p * 4_294_967_296.0) as u32),
            counts: None,
        };
        self.sender.on_segment(&s, self.now, &mut self.heard);
        self.until(t);
    }

    /// X, bytes/s.
    fn rate(&self) -> f64 {
        read(&*self.sender, "rate") / 8.0
    }
}

/// RFC 5348 section 4.2: one packet per second, and two seconds of patience. Then the rate is halved, and the
/// patience is twice the time of a packet. It ends at one packet in 64 seconds.
#[test]
fn without_reports_the_rate_is_halved() {
    let mut t = talk(&[], Amount::Unlimited);
    t.until(0.0);
    near(t.rate(), S, 1e-9);
    let mut expiry = 2.0;
    for halvings in 1..=8 {
        t.until(expiry - 0.001);
        let before = t.rate();
        t.until(expiry);
        let rate = (S / f64::from(1 << halvings)).max(S / 64.0);
        near(t.rate(), rate, 1e-9);
        assert!(halvings > 6 || before > 1.9 * rate);
        expiry += 2.0 * S / rate;
    }
    // 0, 1; from 2 s on one in 2 s, from 6 s on one in 4 s.
    let times: Vec<f64> = t.sent.iter().take(6).map(|s| s.1.seconds()).collect();
    assert_eq!(times, [0.0, 1.0, 3.0, 5.0, 9.0, 13.0]);
    assert_eq!(t.sender.report(t.now).timeouts, 8);
}

/// W = min(4 s, max(2 s, 4380 B)) over the first round trip.
#[test]
fn the_first_report_gives_the_initial_window() {
    for (payload, window) in [("1460B", 4380.0), ("1000B", 4000.0), ("3000B", 6000.0)] {
        let mut t = talk(&[("payload", payload)], Amount::Unlimited);
        t.report(0.1, 0.1, 0.0, 0.0);
        near(t.rate(), window / 0.1, 1e-9);
    }
}

/// One doubling per round trip, limited to twice what was received; with losses the equation, with the same limit.
#[test]
fn reports_move_the_rate() {
    let mut t = talk(&[], Amount::Unlimited);
    t.report(0.1, 0.1, 0.0, 0.0);
    let first = 43_800.0;
    t.report(0.15, 0.1, first, 0.0);
    near(t.rate(), first, 1e-9);
    t.report(0.2, 0.1, first, 0.0);
    near(t.rate(), 2.0 * first, 1e-9);
    t.report(0.3, 0.1, 2.0 * first, 0.0);
    near(t.rate(), 4.0 * first, 1e-9);
    // The receiver got no more than before: the limit is twice that, however often it is reported.
    for i in 0..5 {
        t.report(0.4 + 0.1 * f64::from(i), 0.1, 2.0 * first, 0.0);
        near(t.rate(), 4.0 * first, 1e-9);
    }
    // p = 0.01 at 0.1 s: 1.312 Mb/s, which is below twice what was received.
    t.report(1.0, 0.1, 2.0 * first, 0.01);
    near(t.rate() * 8e-6, 1.312, 1e-3);
    // Two round trips later the old receive rates are forgotten.
    t.report(1.1, 0.1, 30_000.0, 0.01);
    t.report(1.3, 0.1, 30_000.0, 0.01);
    near(t.rate(), 60_000.0, 1e-9);
    near(read(&*t.sender, "receive_rate"), 240_000.0, 1e-9);
    near(read(&*t.sender, "mean_interval"), 100.0, 1e-6);
}

/// R moves by a tenth of each sample; the report's own delay does not count.
#[test]
fn the_round_trip_is_smoothed() {
    let mut t = talk(&[], Amount::Unlimited);
    t.report(0.1, 0.1, 0.0, 0.0);
    t.delayed_report(0.4, 0.2, 0.05, [43_800.0, 0.0]);
    near(read(&*t.sender, "rtt"), 0.11, 1e-9);
    assert_eq!(t.sender.srtt(), Some(Duration::from_millis(110)));
}

/// Packets are sent s / X apart; a new rate holds from the last packet on.
#[test]
fn packets_are_evenly_spaced() {
    let mut t = talk(&[], Amount::Unlimited);
    t.report(0.1, 0.1, 1e6, 0.0);
    t.until(0.099 + 0.1);
    t.report(0.2, 0.1, 1e6, 0.01);
    let rate = t.rate();
    let from = t.sent.len();
    t.until(0.55);
    let gaps: Vec<f64> = t.sent[from..]
        .windows(2)
        .map(|w| w[1].1.since(w[0].1).seconds())
        .collect();
    assert!(gaps.len() > 35);
    for gap in gaps {
        near(gap, S / rate, 1e-6);
    }
    let numbers: Vec<u64> = t.sent.iter().map(|s| s.0).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
}

/// RFC 5348 section 4.3: if an application sends less, the received rate does not show the path's capacity. It does
/// not raise X above twice the largest received rate, and does not lower it.
#[test]
fn a_slow_application_neither_raises_nor_lowers_the_rate() {
    let mut t = talk(&[], Amount::Bytes(1460));
    t.report(0.1, 0.1, 0.0, 0.0);
    // A packet every 50 ms: 29,200 B/s, of 43,800 allowed.
    for i in 0..100 {
        let now = 0.1 + 0.05 * f64::from(i);
        t.until(now);
        t.sender.write(Amount::Bytes(1460), t.now);
        t.until(now);
        if i % 2 == 1 {
            t.report(now + 0.01, 0.01 + 0.1, 29_200.0, 0.0);
        }
    }
    assert_eq!(t.sent.len(), 101, "it sends when the application does");
    near(t.rate(), 2.0 * 29_200.0, 1e-9);
    // Slower still: the rate is kept.
    for i in 0..50 {
        let now = 6.0 + 0.2 * f64::from(i);
        t.until(now);
        t.sender.write(Amount::Bytes(1460), t.now);
        t.report(now + 0.1, 0.1, 14_600.0, 0.0);
    }
    near(t.rate(), 2.0 * 29_200.0, 1e-9);
    // A loss: the received rate so far is halved, and is itself the limit.
    let now = 20.0;
    t.until(now);
    t.sender.write(Amount::Bytes(1460), t.now);
    t.report(now + 0.1, 0.1, 14_600.0, 1e-5);
    near(t.rate(), 14_600.0, 1e-9);
}

/// An application that always had data to send slows down: reports about the time before count as they did, those
/// about the time after do not lower the rate.
#[test]
fn an_application_that_slows_down_keeps_its_rate() {
    let mut t = talk(&[], Amount::Bytes(1460 * 20));
    for i in 1..=5 {
        t.report(0.1 * f64::from(i), 0.1, 43_800.0, 0.0);
    }
    near(t.rate(), 87_600.0, 1e-9);
    t.until(0.6);
    assert_eq!(t.sent.len(), 20);
    for i in 0..50 {
        let now = 1.0 + 0.2 * f64::from(i);
        t.until(now);
        t.sender.write(Amount::Bytes(1460), t.now);
        t.report(now + 0.1, 0.1, 14_600.0, 0.0);
    }
    near(t.rate(), 87_600.0, 1e-9);
}

/// An idle sender keeps what a new one would have: a rate of two initial windows per round trip is halved, one is
/// not.
#[test]
fn idle_time_leaves_the_initial_rate() {
    let mut t = talk(&[], Amount::Bytes(1460 * 40));
    for (now, rate) in [(0.1, 0.0), (0.2, 43_800.0), (0.3, 87_600.0), (0.4, 175_200.0)] {
        t.report(now, 0.1, rate, 0.0);
    }
    near(t.rate(), 350_400.0, 1e-9);
    t.until(100.0);
    assert_eq!(t.sent.len(), 40);
    // It is halved by the silence after the last packets, and then by idle ones while it is at least two initial
    // rates.
    near(t.rate(), 43_800.0, 1e-9);
    // No burst: the first packet at once, the others in time.
    t.sender.write(Amount::Bytes(1460 * 3), t.now);
    t.until(101.0);
    let times: Vec<f64> = t.sent[40..].iter().map(|s| s.1.seconds()).collect();
    near(times[0], 100.0, 1e-12);
    near(times[1] - times[0], S / 43_800.0, 1e-6);
}

/// With a known loss event rate, a silence halves what limited the rate: here the equation.
#[test]
fn silence_after_losses_halves_the_rate() {
    let mut t = talk(&[], Amount::Unlimited);
    t.report(0.1, 0.1, 0.0, 0.0);
    t.report(0.2, 0.1, 1e6, 0.01);
    let equation = t.rate();
    near(equation * 8e-6, 1.312, 1e-3);
    t.until(0.2 + 0.399);
    near(t.rate(), equation, 1e-9);
    t.until(0.2 + 0.4);
    near(t.rate(), equation / 2.0, 1e-9);
    t.until(0.2 + 0.8);
    near(t.rate(), equation / 4.0, 1e-9);
    t.until(2000.0);
    near(t.rate(), S / 64.0, 1e-9);
}

/// RFC 5348 section 4.5: a round trip of four times the mean halves the sending rate for now, but X stays.
#[test]
fn damping_follows_the_root_of_the_round_trip() {
    let rates = |damping: &str| {
        let mut t = talk(&[("rtt_damping", damping)], Amount::Unlimited);
        t.report(0.1, 0.1, 1e6, 0.01);
        let first = t.rate();
        t.report(0.6, 0.4, 1e6, 0.01);
        (first, t.rate())
    };
    let (plain, damped) = (rates("false"), rates("true"));
    near(damped.0, plain.0, 1e-9);
    // Nine tenths of the first root and one tenth of the second, divided by the second.
    let mean = 0.9 * 0.1_f64.sqrt() + 0.1 * 0.4_f64.sqrt();
    near(damped.1 / plain.1, mean / 0.4_f64.sqrt(), 1e-9);
}

#[test]
fn it_is_over_when_the_last_packet_was_heard_of() {
    let mut t = talk(&[], Amount::Bytes(2 * 1460));
    t.until(0.0);
    t.sender.close(t.now);
    t.report(0.1, 0.1, 0.0, 0.0);
    t.until(0.45);
    assert!(!t.sender.is_closed() && t.sent.len() == 2);
    t.report(0.46, 0.1, 1e5, 0.0);
    assert!(t.sender.is_closed());
    assert_eq!(t.heard.0, [AppEvent::Connected, AppEvent::Closed]);
    // No report comes: the next silence ends it.
    let mut t = talk(&[], Amount::Bytes(1460));
    t.until(0.0);
    t.sender.close(t.now);
    t.until(1.9);
    assert!(!t.sender.is_closed());
    t.until(2.0);
    assert!(t.sender.is_closed() && t.sender.next_timeout().is_none());
}

/// A receiver, and functions that send it packets.
struct Sink {
    receiver: Box<dyn Endpoint>,
    heard: Heard,
    /// Reports, with their time: number after the last, receive rate, loss event rate, delay.
    reports: Vec<(f64, u64, f64, f64, f64)>,
}

fn sink(values: &[(&str, &str)]) -> Sink {
    let [_, receiver] = ends(values);
    Sink {
        receiver,
        heard: Heard::default(),
        reports: vec![],
    }
}

impl Sink {
    fn until(&mut self, t: f64) {
        while let Some(due) = self.receiver.next_timeout().filter(|d| *d <= at(t)) {
            self.receiver.on_timeout(due, &mut self.heard);
            self.take(due);
        }
    }

    fn take(&mut self, now: Time) {
        while let Transmit::Segment(r) = self.receiver.poll_transmit(now) {
            let p = f64::from(r.window.expect("a loss event rate")) / 4_294_967_296.0;
            let delay = r.timestamps.expect("an echo").1.seconds();
            self.reports.push((now.seconds(), r.ack, r.seq as f64, p, delay));
        }
    }

    /// Packet `number` arrives at `t`, and says that the round trip is 0.1 s.
    fn packet(&mut self, t: f64, number: u64, payload: u32, ecn: Ecn) {
        self.until(t);
        let rtt = if number == 0 {
            Duration::ZERO
        } else {
            Duration::from_millis(100)
        };
        let s = Segment {
            seq: number,
            payload,
            ack: 0,
            flags: Flags::NONE,
            ecn,
            bytes: payload + 40,
            sack: SackBlocks::new(),
            timestamps: Some((at(t - 0.05), Time(rtt.0))),
            window: None,
            counts: None,
        };
        self.receiver.on_segment(&s, at(t), &mut self.heard);
        self.take(at(t));
    }

    /// Packets of 1460 B, 10 ms apart from `from` on: 14,600 B in any round trip.
    fn stream(&mut self, from: f64, numbers: impl Iterator<Item = u64>) {
        for (i, n) in numbers.enumerate() {
            self.packet(from + 0.01 * i as f64, n, 1460, Ecn::NotEct);
        }
    }
}

/// The first packet is answered at once, and so is the first one with a round trip; then there is a report per round
/// trip.
#[test]
fn a_report_each_round_trip() {
    let mut k = sink(&[]);
    k.packet(0.0, 0, 1460, Ecn::NotEct);
    k.stream(1.0, 1..101);
    k.until(3.0);
    let times: Vec<f64> = k.reports.iter().map(|r| (r.0 * 1e3).round()).collect();
    let mut right = vec![0.0];
    right.extend((0..11).map(|i| 1000.0 + 100.0 * f64::from(i)));
    assert_eq!(times, right);
    // A packet that arrives together with the timer counts after it: ten packets per round trip.
    assert_eq!(k.reports[5].2, 146_000.0);
    // The last one: the tenth packet came 10 ms before it.
    near(k.reports[11].4, 0.01, 1e-6);
    assert!(k.reports.iter().all(|r| r.3 == 0.0));
    // After a silence the next packet is answered at once.
    k.packet(5.0, 101, 1460, Ecn::NotEct);
    near(k.reports[12].0, 5.0, 1e-12);
}

/// The first loss event at 1.312 Mb/s and 0.1 s: the interval before it is taken as 100 packets, where the equation
/// gives that rate. It is reported at once.
#[test]
fn the_first_loss_event_is_worth_what_was_received() {
    let mut k = sink(&[]);
    k.packet(0.0, 0, 1460, Ecn::NotEct);
    k.stream(1.0, 1..30);
    // 16,399 B in the last round trip, 163,990 B/s: nine of 1460 B, and three of 1086 or 1087.
    let before = k.reports.len();
    for (i, bytes) in [1086, 1086].into_iter().enumerate() {
        k.packet(1.29 + 0.001 * i as f64, 31 + i as u64, bytes, Ecn::NotEct);
    }
    assert_eq!(k.reports.len(), before);
    k.packet(1.2995, 33, 1087, Ecn::NotEct);
    let r = k.reports.last().expect("a report");
    assert_eq!((r.0, r.1, r.2), (1.2995, 34, 163_990.0));
    near(1.0 / r.3, 100.0, 0.002);
}

/// Five losses inside a round trip are one event, whatever arrived between them; one later is another.
#[test]
fn losses_of_one_round_trip_are_one_event() {
    let mut k = sink(&[]);
    k.packet(0.0, 0, 1460, Ecn::NotEct);
    k.stream(1.0, 1..50);
    // 50, 52, 54, 56, 58 are missing: 1.49 to 1.57 s.
    k.stream(1.5, [51, 53, 55, 57, 59].into_iter());
    // The interval before the first event, longer than the open one.
    let first = read(&*k.receiver, "mean_interval");
    k.stream(1.6, 60..150);
    assert_eq!(read(&*k.receiver, "open_interval"), 100.0);
    // 150 is missing: the interval that ends counts 100 packets.
    k.stream(2.51, 151..160);
    near(read(&*k.receiver, "mean_interval"), (100.0 + first) / 2.0, 1e-12);
    assert!(first > 15.0);
    assert_eq!(read(&*k.receiver, "open_interval"), 10.0);
}

/// A packet overtaken by two is late, by three is lost; if it comes after that it is not delivered, nor is a second
/// copy.
#[test]
fn three_later_packets_tell_a_loss() {
    let mut k = sink(&[]);
    k.packet(0.0, 0, 1460, Ecn::NotEct);
    k.stream(1.0, [1, 2, 4, 5, 3, 6, 7, 8].into_iter());
    assert!(read(&*k.receiver, "open_interval").is_nan());
    assert_eq!(k.receiver.received_bytes(), 9 * 1460);
    k.stream(1.2, [10, 10, 11, 11].into_iter());
    assert!(
        read(&*k.receiver, "open_interval").is_nan(),
        "copies are not later packets"
    );
    k.stream(1.3, [12].into_iter());
    assert_eq!(read(&*k.receiver, "open_interval"), 4.0);
    k.stream(1.4, [9].into_iter());
    assert_eq!(k.receiver.received_bytes(), 12 * 1460);
}

/// A mark counts as a loss, at once; the packet is delivered.
#[test]
fn a_mark_is_a_loss_event() {
    let mut k = sink(&[("ecn", "true")]);
    k.packet(0.0, 0, 1460, Ecn::NotEct);
    k.stream(1.0, 1..20);
    k.packet(1.19, 20, 1460, Ecn::Ce);
    let r = *k.reports.last().expect("a report");
    assert!(r.0 == 1.19 && r.3 > 0.0, "{r:?}");
    k.packet(1.2, 21, 1460, Ecn::Ce);
    assert_eq!(read(&*k.receiver, "open_interval"), 2.0);
    assert_eq!(k.receiver.received_bytes(), 22 * 1460);
}
