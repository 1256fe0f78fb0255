//! The sending end under test, in a wrapper that takes chosen datagrams from the path and writes down what the end does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tailback_path::{Amount, Datagram, Ecn, Endpoint, Time};

/// What a line looks at: implement it for the sending end of a stack of your own.
pub trait Shown: Endpoint {
    /// The congestion window, bytes.
    fn window(&self) -> u64;
    /// How many packets it has taken for lost.
    fn lost(&self) -> u64;
    /// Make a datagram longer for the other end, but not for the network.
    fn swell(_data: &mut Self::Data) {}
}

/// Headers of IPv4 and UDP, which the limit of RFC 9000 section 8.1 does not count.
const HEADERS: u64 = 28;

/// A datagram of this size or more has data of the application, once the handshake is over.
const FULL: u32 = 1000;

/// What happens on the path to chosen datagrams with data, which are counted from 0.
#[derive(Clone)]
pub struct Treated {
    pub dropped: Vec<u32>,
    /// By a queue, with CE.
    pub marked: Vec<u32>,
    /// All that leave between these times, ms, also those without data.
    pub dark: std::ops::Range<f64>,
    /// Of all that it sends, only the first reaches the other end.
    pub only_first: bool,
    /// The ECN field is cleared.
    pub bleached: bool,
}

impl Default for Treated {
    fn default() -> Treated {
        Treated { dropped: vec![], marked: vec![], dark: 0.0..0.0, only_first: false, bleached: false }
    }
}

/// What a mutant does to the ends from outside.
#[derive(Clone, Copy, Default)]
pub struct Mutated {
    /// The sender's timers come so much later.
    pub late_ns: u64,
    /// So do those of the receiver.
    pub late_answers_ns: u64,
    /// All its datagrams have ECT(0).
    pub keeps_ect: bool,
    /// The receiver takes the first datagram for longer than it was.
    pub swells: bool,
}

/// One datagram with data.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Milliseconds.
    pub at: f64,
    pub ecn: Ecn,
}

/// The state of the end after an event.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub at: f64,
    pub window: u64,
    pub lost: u64,
}

/// What the path holds, the oldest first: the number of the datagram, where it has data. The path loses nothing itself.
pub type OnTheWay = Rc<RefCell<VecDeque<Option<u32>>>>;

pub struct Seen<E> {
    end: E,
    treated: Treated,
    mutated: Mutated,
    on_the_way: OnTheWay,
    /// Bytes of UDP payload that reached the other end.
    pub bytes: u64,
    connected: bool,
    /// The ECN codepoint of its first datagram of all.
    pub first: Option<Ecn>,
    /// When it sent what was lost in the dark, ms.
    pub in_the_dark: Vec<f64>,
    pub sent: Vec<Sent>,
    pub looks: Vec<Look>,
}

impl<E: Shown> Seen<E> {
    pub fn new(end: E, treated: Treated, mutated: Mutated, on_the_way: OnTheWay) -> Seen<E> {
        Seen {
            end,
            treated,
            mutated,
            on_the_way,
            bytes: 0,
            connected: false,
            first: None,
            in_the_dark: vec![],
            sent: vec![],
            looks: vec![],
        }
    }

    fn pass(&mut self, mut datagram: Datagram<E::Data>, number: Option<u32>) -> Datagram<E::Data> {
        if self.mutated.swells && self.bytes == 0 {
            E::swell(&mut datagram.data);
        }
        self.bytes += u64::from(datagram.bytes) - HEADERS;
        self.on_the_way.borrow_mut().push_back(number);
        datagram
    }

    fn look(&mut self, now: Time) {
        self.connected |= self.end.is_connected();
        if self.connected {
            let (window, lost) = (self.end.window(), self.end.lost());
            self.looks.push(Look { at: now.0 as f64 / 1e6, window, lost });
        }
    }
}

impl<E> Seen<E> {
    /// When so many packets were lost for it.
    pub fn lost_at(&self, n: u64) -> Option<f64> {
        self.looks.iter().find(|l| l.lost >= n).map(|l| l.at)
    }

    /// The windows before and after each fall.
    pub fn falls(&self) -> Vec<(u64, u64)> {
        let pairs = self.looks.windows(2).map(|l| (l[0].window, l[1].window));
        pairs.filter(|(before, after)| after < before).collect()
    }
}

impl<E: Shown> Endpoint for Seen<E> {
    type Data = E::Data;

    fn start(&mut self, now: Time) {
        self.end.start(now);
    }

    fn receive(&mut self, data: E::Data, ecn: Ecn, now: Time) {
        self.end.receive(data, ecn, now);
        self.look(now);
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram<E::Data>> {
        loop {
            let mut datagram = self.end.transmit(now)?;
            self.look(now);
            if self.mutated.keeps_ect {
                datagram.ecn = Ecn::Ect0;
            }
            self.first.get_or_insert(datagram.ecn);
            let at = now.0 as f64 / 1e6;
            if self.connected && self.treated.dark.contains(&at) {
                self.in_the_dark.push(at);
                continue;
            }
            if self.treated.only_first && self.bytes > 0 {
                continue;
            }
            if !self.connected || datagram.bytes < FULL {
                return Some(self.pass(datagram, None));
            }
            let number = self.sent.len() as u32;
            self.sent.push(Sent { at, ecn: datagram.ecn });
            if self.treated.marked.contains(&number) && datagram.ecn != Ecn::NotEct {
                datagram.ecn = Ecn::Ce;
            }
            if !self.treated.dropped.contains(&number) {
                return Some(self.pass(datagram, Some(number)));
            }
        }
    }

    fn timeout(&self) -> Option<Time> {
        Some(Time(self.end.timeout()?.0 + self.mutated.late_ns))
    }

    fn on_timeout(&mut self, now: Time) {
        self.end.on_timeout(now);
        self.look(now);
    }

    fn write(&mut self, amount: Amount, now: Time) {
        self.end.write(amount, now);
    }

    fn close(&mut self, now: Time) {
        self.end.close(now);
    }
}

/// A receiver, and what is seen of it.
pub struct Receiving<E> {
    end: E,
    bleached: bool,
    late_ns: u64,
    on_the_way: OnTheWay,
    /// When data arrived, ms, by the number of its datagram.
    pub arrived: Vec<(u32, f64)>,
    /// When it answered after the first data, ms.
    pub answers: Vec<f64>,
    /// Bytes of UDP payload that it sent.
    pub bytes: u64,
}

impl<E> Receiving<E> {
    pub fn new(end: E, treated: &Treated, mutated: Mutated, on_the_way: OnTheWay) -> Receiving<E> {
        let (bleached, late_ns) = (treated.bleached, mutated.late_answers_ns);
        Receiving { end, bleached, late_ns, on_the_way, arrived: vec![], answers: vec![], bytes: 0 }
    }
}

impl<E: Endpoint> Endpoint for Receiving<E> {
    type Data = E::Data;

    fn receive(&mut self, data: E::Data, ecn: Ecn, now: Time) {
        if let Some(Some(number)) = self.on_the_way.borrow_mut().pop_front() {
            self.arrived.push((number, now.0 as f64 / 1e6));
        }
        self.end.receive(data, if self.bleached { Ecn::NotEct } else { ecn }, now);
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram<E::Data>> {
        let datagram = self.end.transmit(now)?;
        self.bytes += u64::from(datagram.bytes) - HEADERS;
        if !self.arrived.is_empty() {
            self.answers.push(now.0 as f64 / 1e6);
        }
        Some(datagram)
    }

    fn timeout(&self) -> Option<Time> {
        Some(Time(self.end.timeout()?.0 + self.late_ns))
    }

    fn on_timeout(&mut self, now: Time) {
        self.end.on_timeout(now);
    }

    fn delivered(&self) -> u64 {
        self.end.delivered()
    }
}
