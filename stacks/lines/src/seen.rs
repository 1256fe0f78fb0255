//! The sending end under test, in a wrapper that takes chosen datagrams from the path and writes down what the end does.

use tailback_path::{Amount, Datagram, Ecn, Endpoint, Time};

/// What a line looks at: implement it for the sending end of a stack of your own.
pub trait Shown: Endpoint {
    /// The congestion window, bytes.
    fn window(&self) -> u64;
    /// How many packets it has taken for lost.
    fn lost(&self) -> u64;
}

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
}

impl Default for Treated {
    fn default() -> Treated {
        Treated { dropped: vec![], marked: vec![], dark: 0.0..0.0 }
    }
}

/// What a mutant does to the end from outside.
#[derive(Clone, Copy, Default)]
pub struct Mutated {
    /// Its timers come so much later.
    pub late_ns: u64,
    /// All its datagrams have ECT(0).
    pub keeps_ect: bool,
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

pub struct Seen<E> {
    end: E,
    treated: Treated,
    mutated: Mutated,
    connected: bool,
    /// The ECN codepoint of its first datagram of all.
    pub first: Option<Ecn>,
    /// When it sent what was lost in the dark, ms.
    pub in_the_dark: Vec<f64>,
    pub sent: Vec<Sent>,
    pub looks: Vec<Look>,
}

impl<E: Shown> Seen<E> {
    pub fn new(end: E, treated: Treated, mutated: Mutated) -> Seen<E> {
        Seen { end, treated, mutated, connected: false, first: None, in_the_dark: vec![], sent: vec![], looks: vec![] }
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
            if !self.connected || datagram.bytes < FULL {
                return Some(datagram);
            }
            let number = self.sent.len() as u32;
            self.sent.push(Sent { at, ecn: datagram.ecn });
            if self.treated.marked.contains(&number) && datagram.ecn != Ecn::NotEct {
                datagram.ecn = Ecn::Ce;
            }
            if !self.treated.dropped.contains(&number) {
                return Some(datagram);
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

/// A receiver, whose network may clear the ECN field.
pub struct Receiving<E> {
    pub end: E,
    pub bleached: bool,
}

impl<E: Endpoint> Endpoint for Receiving<E> {
    type Data = E::Data;

    fn receive(&mut self, data: E::Data, ecn: Ecn, now: Time) {
        self.end.receive(data, if self.bleached { Ecn::NotEct } else { ecn }, now);
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram<E::Data>> {
        self.end.transmit(now)
    }

    fn timeout(&self) -> Option<Time> {
        self.end.timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.end.on_timeout(now);
    }

    fn delivered(&self) -> u64 {
        self.end.delivered()
    }
}
