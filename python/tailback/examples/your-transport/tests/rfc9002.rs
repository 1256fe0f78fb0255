//! Sentences of RFC 9002 as lines for a transport on a simulated path.
//!
//! A line says which packets the path drops, and what must be seen of the sender: when it sends what, and its window.
//! For a transport of your own, implement [`Shown`] for its sending end. Not covered: the time threshold (section
//! 6.1.2) and persistent congestion (section 7.6), which this small transport does not have.

mod glue;

use glue::{Receiving, Sending};
use tailback_path::{Datagram, Ecn, Endpoint, Path, Time};
use your_transport::{PAYLOAD, Packet, Receiver, Sender};

/// What a line looks at.
trait Shown: Endpoint {
    /// The congestion window, bytes.
    fn window(&self) -> f64;
    /// The first byte of the stream in a datagram: the same again in what repeats it.
    fn first_byte(data: &Self::Data) -> u64;
}

impl Shown for Sending {
    fn window(&self) -> f64 {
        self.0.window
    }
    fn first_byte(data: &Packet) -> u64 {
        match data {
            Packet::Stream { bytes, .. } => bytes.start,
            Packet::Ack { .. } => 0,
        }
    }
}

/// A sender, and what was seen of it: times are milliseconds.
struct Seen<E> {
    own: E,
    /// When it sent what.
    sent: Vec<(f64, u64)>,
    /// Its window after each acknowledgement and each timeout.
    windows: Vec<(f64, f64)>,
}

fn ms(now: Time) -> f64 {
    now.0 as f64 / 1e6
}

impl<E: Shown> Endpoint for Seen<E> {
    type Data = E::Data;
    fn receive(&mut self, data: E::Data, ecn: Ecn, now: Time) {
        self.own.receive(data, ecn, now);
        self.windows.push((ms(now), self.own.window()));
    }
    fn transmit(&mut self, now: Time) -> Option<Datagram<E::Data>> {
        let datagram = self.own.transmit(now)?;
        self.sent.push((ms(now), E::first_byte(&datagram.data)));
        Some(datagram)
    }
    fn timeout(&self) -> Option<Time> {
        self.own.timeout()
    }
    fn on_timeout(&mut self, now: Time) {
        self.own.on_timeout(now);
        self.windows.push((ms(now), self.own.window()));
    }
}

impl<E> Seen<E> {
    /// When bytes that had been sent before were sent again.
    fn repeats(&self) -> Vec<(f64, u64)> {
        let before = |i: usize, byte: u64| self.sent[..i].iter().any(|(_, b)| *b == byte);
        let all = self.sent.iter().enumerate();
        all.filter(|(i, (_, byte))| before(*i, *byte))
            .map(|(_, s)| *s)
            .collect()
    }

    /// The window at a time.
    fn window_at(&self, at: f64) -> f64 {
        self.windows
            .iter()
            .rev()
            .find(|(t, _)| *t <= at)
            .map_or(f64::NAN, |w| w.1)
    }

    /// How often the window fell.
    fn reductions(&self) -> usize {
        self.windows.windows(2).filter(|w| w[1].1 < w[0].1).count()
    }
}

const PACKET: f64 = PAYLOAD as f64;

/// A transfer of so many packets over 100 Mb/s and a round trip of 40 ms that drops these ones.
fn transfer<E>(sender: E, dropped: &str) -> Seen<E>
where
    E: Shown + 'static,
    E::Data: 'static,
    Receiving: Endpoint<Data = E::Data>,
{
    let mut path = Path::new("100Mbps", "40ms");
    if !dropped.is_empty() {
        path = path.impair(&format!(r#"{{ kind = "by-index", indices = [{dropped}] }}"#));
    }
    let seen = Seen {
        own: sender,
        sent: vec![],
        windows: vec![],
    };
    let mut run = path.run([(seen, Receiving(Receiver::default()))], "3s").unwrap();
    run.ends.remove(0).0
}

fn packets(n: u64, dropped: &str) -> Seen<Sending> {
    transfer(Sending(Sender::new(n * PAYLOAD)), dropped)
}

/// Section 7.2: "Endpoints SHOULD use an initial congestion window of ten times the maximum datagram size".
#[test]
fn the_initial_window_is_ten_datagrams() {
    let seen = packets(100, "");
    assert_eq!(seen.sent.iter().filter(|(t, _)| *t < 39.0).count(), 10);
}

/// Section 7.3.1: "While a sender is in slow start, the congestion window increases by the number of bytes
/// acknowledged".
#[test]
fn slow_start_doubles_the_window() {
    let seen = packets(100, "");
    assert_eq!(seen.window_at(50.0), 20.0 * PACKET);
}

/// Section 6.1.1: "The RECOMMENDED initial value for the packet reordering threshold (kPacketThreshold) is 3". The
/// acknowledgement of the eighth packet shows that the fifth is lost, long before a probe would.
#[test]
fn three_later_packets_show_a_loss() {
    let seen = packets(100, "4");
    assert_eq!(seen.repeats().iter().map(|r| r.1).collect::<Vec<_>>(), [4 * PAYLOAD]);
    let fell = seen.windows.windows(2).find(|w| w[1].1 < w[0].1).map(|w| w[1].0);
    assert!(fell.is_some_and(|t| (40.7..41.0).contains(&t)), "{fell:?}");
}

/// Section 6.1.1: two later packets are not enough. The eighth of ten is lost, and a probe repairs it.
#[test]
fn two_later_packets_show_no_loss() {
    let repeats = packets(10, "7").repeats();
    assert!(repeats[0].0 > 60.0, "{repeats:?}");
}

/// Section 7.3.2: "On entering a recovery period, a sender MUST set the slow start threshold to half the value of the
/// congestion window when loss is detected", and the window to no more before the period ends.
#[test]
fn a_loss_halves_the_window() {
    let seen = packets(100, "4");
    let fall = seen.windows.windows(2).find(|w| w[1].1 < w[0].1).unwrap();
    // What the same acknowledgement adds comes first.
    assert!(
        fall[1].1 <= (fall[0].1 + PACKET) / 2.0 && fall[1].1 >= 2.0 * PACKET,
        "{fall:?}"
    );
}

/// Section 7.3.2: "This limits congestion window reduction to once per round trip".
#[test]
fn losses_of_one_window_reduce_once() {
    let seen = packets(60, "2,4,6");
    assert_eq!((seen.reductions(), seen.repeats().len()), (1, 3));
}

/// Section 6.2.1: "PTO = smoothed_rtt + max(4*rttvar, kGranularity) + max_ack_delay", after the last packet was sent;
/// the least is that without variation, the most that of the first sample alone.
#[test]
fn a_lost_tail_is_probed() {
    let repeats = packets(10, "9").repeats();
    assert!(
        (40.0 + 25.0..40.2 + 80.4 + 25.0 + 1.0).contains(&repeats[0].0),
        "{repeats:?}"
    );
}

/// Section 6.2.1: "When a PTO timer expires, the PTO backoff MUST be increased, resulting in the PTO period being set
/// to twice its current value".
#[test]
fn probes_back_off() {
    let times: Vec<f64> = packets(10, "9,10,11").repeats().iter().map(|r| r.0).collect();
    let (first, second) = (times[1] - times[0], times[2] - times[1]);
    assert!((second / first - 2.0).abs() < 0.05, "{times:?}");
}

/// Section 7.5: "Probe packets MUST NOT be blocked by the congestion controller", and section 6.2.1: a PTO alone "does
/// not indicate packet loss", so that the window stays.
#[test]
fn a_probe_alone_does_not_reduce() {
    let seen = packets(10, "9");
    let at = seen.repeats()[0].0;
    assert_eq!(seen.window_at(at), seen.window_at(at - 1.0));
}
