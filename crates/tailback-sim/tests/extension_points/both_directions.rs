//! A transport that carries data in both directions of one connection, with ACKs on the data, and is closed from both
//! ends.
//!
//! Shows: one type of endpoint for both ends; `Segment::window`; a connection that is forgotten when both ends are
//! done, not when the first of them is.

use crate::common::*;
use tailback_base::{BitRate, Ecn, FlowId, Size, Time};
use tailback_sim::build::network::{Built, Network, Transport};
use tailback_sim::traffic::application::{AppInput, Application, Ends, Net, NodeId, Side, TransportId};
use tailback_transport::{Amount, AppEvent, AppEvents, Endpoint, Flags, Segment, Transmit};

/// Sends what its peer's window allows, acknowledges with the next segment, goes back to the first byte not
/// acknowledged after 300 ms.
#[derive(Default)]
struct TwoWay {
    /// First byte not acknowledged, next to send, end of what was written (the FIN is the byte behind it).
    una: u64,
    next: u64,
    end: u64,
    fin: bool,
    peer_window: u64,
    expected: u64,
    peer_fin: bool,
    ack_due: bool,
    deadline: Option<Time>,
    told: bool,
}

const WINDOW: u32 = 4000;

impl Endpoint for TwoWay {
    fn write(&mut self, n: Amount, _now: Time) {
        let Amount::Bytes(n) = n else { return };
        self.end += n;
    }
    fn close(&mut self, _now: Time) {
        self.fin = true;
    }
    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        self.peer_window = u64::from(s.window.unwrap_or(0));
        if s.ack > self.una {
            (self.una, self.next) = (s.ack, self.next.max(s.ack));
            self.deadline = (self.una < self.next).then(|| now + ms(300));
        }
        if s.seq == self.expected {
            self.expected = s.end();
            self.peer_fin |= s.flags.has(Flags::FIN);
        }
        self.ack_due |= s.occupies();
        if self.is_closed() && !std::mem::replace(&mut self.told, true) {
            up.event(AppEvent::Closed);
        }
    }
    fn poll_transmit(&mut self, now: Time) -> Transmit {
        let room = (self.una + self.peer_window.max(1000)).saturating_sub(self.next);
        let payload = self.end.saturating_sub(self.next).min(1000).min(room) as u32;
        let fin = self.fin && self.next == self.end;
        if payload == 0 && !fin && !self.ack_due {
            return Transmit::Idle;
        }
        let s = segment(self.next, payload, self.expected, fin);
        self.next = s.end();
        self.ack_due = false;
        if s.occupies() {
            self.deadline.get_or_insert(now + ms(300));
        }
        Transmit::Segment(s)
    }
    fn next_timeout(&self) -> Option<Time> {
        self.deadline
    }
    fn on_timeout(&mut self, _now: Time, _up: &mut dyn AppEvents) {
        (self.next, self.deadline) = (self.una, None);
    }
    fn received_bytes(&self) -> u64 {
        self.expected - u64::from(self.peer_fin)
    }
    fn is_closed(&self) -> bool {
        self.fin && self.una > self.end && self.peer_fin
    }
}

fn segment(seq: u64, payload: u32, ack: u64, fin: bool) -> Segment {
    Segment {
        seq,
        payload,
        ack,
        flags: if fin { Flags::ACK.with(Flags::FIN) } else { Flags::ACK },
        ecn: Ecn::NotEct,
        bytes: 40 + payload,
        sack: Default::default(),
        timestamps: None,
        window: Some(WINDOW),
        counts: None,
    }
}

fn ends() -> Ends {
    [Box::<TwoWay>::default(), Box::<TwoWay>::default()]
}

/// Writes at both ends and closes the source's; the destination writes once more, and closes, a second later.
struct Talk {
    how: How,
    flow: Option<FlowId>,
    closed: Log<(Time, Side)>,
}

enum How {
    Own,
    Open(NodeId, NodeId, TransportId),
}

impl Application for Talk {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let flow = self.flow.or_else(|| net.own_flow());
        match (e, flow) {
            (AppInput::Start, _) => {
                let flow = match self.how {
                    How::Own => net.own_flow().expect("a flow of its own"),
                    How::Open(from, to, transport) => net.open(from, to, transport),
                };
                self.flow = Some(flow);
                net.write(flow, Side::Source, Amount::Bytes(30_000));
                net.close(flow, Side::Source);
                net.write(flow, Side::Destination, Amount::Bytes(10_000));
                net.wake(at(1000));
            }
            (AppInput::Wake, Some(flow)) => {
                net.write(flow, Side::Destination, Amount::Bytes(5_000));
                net.close(flow, Side::Destination);
            }
            (
                AppInput::Transport {
                    side,
                    event: AppEvent::Closed,
                    ..
                },
                _,
            ) => {
                self.closed.borrow_mut().push((net.now(), side));
            }
            _ => {}
        }
    }
}

/// a --1 Mb/s, 10 ms-- b, with a queue of two packets on the way back, which loses some.
fn network(how: impl FnOnce(&mut Network, NodeId, NodeId) -> How) -> (Built, Log<(Time, Side)>) {
    let mut net = Network::new(1);
    let [a, b] = ["a", "b"].map(|n| net.node(n));
    let way = |limit| drop_tail(BitRate(1_000_000), ms(10), limit);
    net.link("ab", a, b, way(Size::Unlimited), way(Size::Packets(2)));
    let closed = log();
    let how = how(&mut net, a, b);
    let talk = Talk {
        how,
        flow: None,
        closed: closed.clone(),
    };
    if let How::Own = talk.how {
        let group = net.group("talk");
        let flow = net.flow(group, 0, a, b, Transport::Connection(ends()));
        net.feed(flow, Box::new(talk), Time::ZERO, None, true);
    } else {
        net.application("talk", Box::new(talk), Time::ZERO);
    }
    (build(net), closed)
}

#[test]
fn data_of_both_directions_are_counted() {
    let (mut built, closed) = network(|_, _, _| How::Own);
    built.sim.run_until(at(3000));
    assert_eq!(closed.borrow().len(), 2);
    let result = outcome(&built, at(3000));
    let count = |column| of(&result["flows"], "talk.0", column);
    near(count("goodput_bps"), 30_000.0 * 8.0 / 3.0, 1e-6);
    near(count("reverse_goodput_bps"), 15_000.0 * 8.0 / 3.0, 1e-6);
    // What is lost on the way back, and only there, is lost by the reverse direction; it carries no pure ACK while it
    // has data to send, and the source's last ACKs are not lost.
    let back = built.sim.conservation(1);
    assert!(back.dropped > 0);
    assert_eq!(count("reverse_dropped_packets"), back.dropped as f64);
    assert_eq!(count("dropped_packets"), 0.0);
    assert!(count("reverse_received_packets") >= 15.0);
    // 1040 B take 8.32 ms, behind two others at most; the way forward has an endless queue.
    let delay = count("reverse_delay_mean_s");
    assert!(delay > 0.018 && delay < 0.010 + 3.0 * 0.00832 + 1e-6, "{delay}");
    assert!(count("delay_mean_s") > 0.018);
    check_conservation(&built);
}

#[test]
fn a_connection_is_over_when_both_ends_are() {
    let (mut built, closed) = network(|net, a, b| How::Open(a, b, net.transport(ends)));
    built.sim.run_until(at(900));
    assert_eq!(built.sim.retired(0).connections, 0, "half open");
    built.sim.run_until(at(3000));
    let sides: Vec<Side> = closed.borrow().iter().map(|c| c.1).collect();
    assert_eq!(sides, [Side::Source, Side::Destination]);
    let over = built.sim.retired(0);
    assert_eq!((over.connections, over.arrived), (1, 30_000));
    assert!(over.lifetime > 1.0 && over.lifetime < 1.5, "{}", over.lifetime);
    check_conservation(&built);
}
