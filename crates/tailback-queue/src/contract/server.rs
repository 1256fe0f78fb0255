//! A queue and its line, with the rules of service for every driver.
//!
//! A line sends one packet at a time. The discipline is asked for the next packet when the line becomes free, after an
//! arrival on a free line, and at the instant until which it had told the line to wait. Its timer runs at the instant
//! that it named. The simulator, Python, the tests and a live gateway all drive a [`Server`], so a discipline gets the
//! same service everywhere.
//!
//! ```text
//! arrive        a packet comes
//! next          the time of the next own event: the line becomes free, or a timer is due
//! advance       let that happen
//! ```
//!
//! At one instant the line comes first, then the timer, then arrivals. So a driver advances to an instant before
//! packets arrive at this instant. A driver with its own event list may ask for the two instants separately
//! ([`Server::service_at`], [`Server::timer_at`]) and call [`Server::serve`] and [`Server::run_timer`].
//!
//! A transmission may take no time: at 400 Gb/s 40 bytes take less than a nanosecond, and a delivery opportunity takes
//! no time at all. Then [`Server::service_at`] is the present instant again, and the driver serves it again before it
//! continues.
//!
//! A line is shut between two delivery opportunities, and while its rate is 0. The discipline is then asked when the
//! line opens.
//!
//! State: the time when the line becomes free, and the packet on it; the times of the next question to the discipline
//! and of its timer; what was sent, and what a line with a changing rate has offered. A packet costs the calls of the
//! discipline, and a division if its size differs from the previous one.

use crate::contract::discipline::{Line, OnWire, Out, QueueDiscipline, Service};
use crate::contract::rate_trace::{Follower, Trace};
use std::sync::Arc;
use tailback_base::{BitRate, Duration, KeyField, Packet, Time};

/// Transmission times of a line, without drift: their sum in a busy period is exact to 1 ns.
#[derive(Clone, Debug)]
pub struct LineClock {
    rate: u64,
    /// Remainder of the last division, in ns times bit/s.
    rem: u64,
    /// The last size, kept with its quotient and remainder because sizes repeat.
    bytes: u32,
    quotient: u64,
    remainder: u64,
}

impl LineClock {
    pub fn new(rate: BitRate) -> LineClock {
        LineClock {
            rate: rate.0,
            rem: 0,
            bytes: 0,
            quotient: 0,
            remainder: 0,
        }
    }

    pub fn rate(&self) -> BitRate {
        BitRate(self.rate)
    }

    pub fn set_rate(&mut self, rate: BitRate) {
        *self = LineClock::new(rate);
    }

    /// The transmission time of the next packet. After idle time the remainder is zero. The rate must not be 0.
    #[inline]
    pub fn service(&mut self, bytes: u32, was_idle: bool) -> Duration {
        if bytes != self.bytes {
            let bits = u64::from(bytes) * 8_000_000_000;
            self.bytes = bytes;
            self.quotient = bits / self.rate;
            self.remainder = bits % self.rate;
        }
        if was_idle {
            self.rem = 0;
        }
        let mut ns = self.quotient;
        self.rem += self.remainder;
        if self.rem >= self.rate {
            self.rem -= self.rate;
            ns += 1;
        }
        Duration(ns)
    }
}

/// A packet that begins its transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent<P> {
    pub packet: P,
    pub begin: Time,
    /// The end of its transmission.
    pub end: Time,
}

/// A discipline before its line.
///
/// ```
/// use tailback_base::{BitRate, Duration, Size, Time};
/// use tailback_queue::Server;
/// use tailback_queue::fifo::{DropTail, Fifo};
/// use tailback_queue::testing::{Log, TestPacket};
///
/// let mut log = Log::default();
/// let mut server = Server::new(Box::new(Fifo::new(Size::Unlimited, DropTail)), BitRate(12_000_000));
/// // The line is free: the first packet leaves at once, and takes 1 ms.
/// let sent = server.arrive(TestPacket::new(1, 0, 1500), Time::ZERO, &mut log).unwrap();
/// assert_eq!(sent.end - sent.begin, Duration::from_millis(1));
/// assert!(server.arrive(TestPacket::new(2, 0, 1500), Time::ZERO, &mut log).is_none());
/// let (at, sent) = server.advance(Time::from_seconds(1.0), &mut log).unwrap();
/// assert_eq!((at, sent.unwrap().packet.id), (Time::from_seconds(0.001), 2));
/// ```
pub struct Server<P> {
    pub queue: Box<dyn QueueDiscipline<P>>,
    clock: LineClock,
    /// The trace of the line's rate, if there is one.
    trace: Option<Box<Follower>>,
    /// When the line has sent everything it was given.
    free_at: Time,
    /// When the discipline is asked again without an arrival.
    service_at: Time,
    timer_at: Time,
    on_wire: Option<OnWire>,
    /// Bytes whose transmission has begun.
    sent_bytes: u64,
    /// The last change of the rate, for a line without a trace.
    rated: Rated,
    /// The present instant, and how often the timer has run at it.
    timers: (Time, u32),
    stuck: Option<Stuck>,
}

/// The last change of a line's rate.
#[derive(Clone, Copy, Debug, Default)]
struct Rated {
    /// When the change takes effect: a packet on the line keeps the old rate until it has left.
    since: Time,
    /// The line's capacity until this change, in billionths of a bit.
    offered: u128,
    /// The rate before this change, bit/s.
    before: u64,
}

/// Why a run cannot continue: a discipline asks for the present instant again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// The discipline answers `Wait` with an instant that is not in the future, and no timer is due that could change
    /// this.
    WaitsForNow,
    /// The timer of the discipline is due again as soon as it has run.
    TimerAgain,
}

impl Stuck {
    /// The message for the author of the discipline.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Stuck::WaitsForNow => (
                "waits for an instant that is not later than now",
                "answer dequeue with a packet, with Wait(t) for a t after line.now, or with nothing if nothing is \
                 stored",
            ),
            Stuck::TimerAgain => (
                "asks for its timer at the same instant again and again",
                "let next_timer name an instant after the one at which on_timer has just run",
            ),
        }
    }
}

/// Whether an event at the instant of a delivery opportunity can use it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// An arrival cannot, as in Mahimahi, because the line comes first.
    Missed,
    /// A timer that opens a gate can.
    Met,
}

/// A discipline may have as many timers due at one instant as it has queues.
const MOST_TIMERS_AT_ONCE: u32 = 1_000_000;

impl<P: Packet> Server<P> {
    /// A free line at time zero; the discipline's timer is armed.
    pub fn new(queue: Box<dyn QueueDiscipline<P>>, rate: BitRate) -> Server<P> {
        let mut server = Server {
            queue,
            clock: LineClock::new(rate),
            trace: None,
            free_at: Time::ZERO,
            service_at: Time::NEVER,
            timer_at: Time::NEVER,
            on_wire: None,
            sent_bytes: 0,
            rated: Rated::default(),
            timers: (Time::ZERO, 0),
            stuck: None,
        };
        server.arm(Time::ZERO);
        server
    }

    pub fn rate(&self) -> BitRate {
        self.clock.rate()
    }

    /// Change the rate of the line. A packet that is on the line keeps its old rate. At rate 0 the line sends no
    /// further packet. If the line had rate 0 and has to be served again, returns its new [`Server::service_at`].
    pub fn set_rate(&mut self, rate: BitRate, now: Time) -> Option<Time> {
        let since = self.free_at.max(now);
        if since > self.rated.since {
            self.rated = Rated {
                since,
                offered: self.offered_bits(since),
                before: self.clock.rate().0,
            };
        }
        let was_shut = self.clock.rate() == BitRate(0);
        self.clock.set_rate(rate);
        if rate == BitRate(0) {
            self.service_at = Time::NEVER;
            return None;
        }
        let idle = self.free_at <= now && self.queue.backlog().packets == 0;
        if !was_shut || idle || self.stuck.is_some() {
            return None;
        }
        self.service_at = since;
        Some(since)
    }

    /// The amount that the line can send from time zero to this instant, in billionths of a bit. An opportunity at this
    /// instant counts.
    fn offered_bits(&self, now: Time) -> u128 {
        let Rated { since, offered, before } = self.rated;
        match &self.trace {
            Some(trace) => trace.offered(now),
            None if now < since => offered - u128::from(before) * u128::from((since - now).0),
            None => offered + u128::from(self.clock.rate().0) * u128::from((now - since).0),
        }
    }

    /// The amounts that the line has sent and has offered since time zero, bits. Of a packet on the line only the sent
    /// part counts.
    pub fn carried(&self, now: Time) -> (f64, f64) {
        let offered = self.offered_bits(now);
        let unsent = match self.on_wire {
            Some(w) if w.until > now => {
                let rest = match &self.trace {
                    Some(trace) => trace.taken(w.until).saturating_sub(offered),
                    None => self.offered_bits(w.until) - offered,
                };
                rest.min(u128::from(w.bytes) * 8_000_000_000)
            }
            _ => 0,
        };
        let sent = u128::from(self.sent_bytes) * 8_000_000_000 - unsent;
        (sent as f64 * 1e-9, offered as f64 * 1e-9)
    }

    /// Let the line's rate follow a trace from time zero on.
    pub fn follow(&mut self, trace: Arc<Trace>) {
        self.trace = Some(Box::new(Follower::new(trace)));
    }

    /// When the line has sent everything it was given.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// The bytes of the packet whose transmission began last; `None` before the first.
    pub fn last_sent(&self) -> Option<u32> {
        self.on_wire.map(|w| w.bytes)
    }

    /// Whether the line takes packets at any instant: it follows no trace, and its rate is not 0.
    pub fn is_open(&self) -> bool {
        self.trace.is_none() && self.clock.rate() != BitRate(0)
    }

    /// When the line becomes free, or a discipline that waits may send; `Time::NEVER` if neither will happen.
    pub fn service_at(&self) -> Time {
        self.service_at
    }

    /// When the discipline's timer must be checked; `Time::NEVER` without a timer.
    pub fn timer_at(&self) -> Time {
        self.timer_at
    }

    /// Whether the discipline can never continue. Once it is stuck, only a call changes its state.
    pub fn stuck(&self) -> Option<Stuck> {
        self.stuck
    }

    fn give_up(&mut self, why: Stuck) {
        self.stuck = Some(why);
        (self.service_at, self.timer_at) = (Time::NEVER, Time::NEVER);
    }

    /// The time of the next event without an arrival.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        Some(self.service_at.min(self.timer_at)).filter(|t| *t != Time::NEVER)
    }

    fn line(&mut self, now: Time) -> Line {
        Line {
            now,
            rate: match &mut self.trace {
                Some(trace) => trace.rate(now),
                None => self.clock.rate(),
            },
            busy: self.on_wire.filter(|w| w.until > now),
        }
    }

    /// A packet arrives. Returns the packet that begins its transmission.
    pub fn arrive(&mut self, p: P, now: Time, out: &mut dyn Out<P>) -> Option<Sent<P>> {
        let line = self.line(now);
        self.queue.enqueue(p, &line, out);
        // A line that waits for a gate is free too. A line that is due at this instant will be served anyway.
        let packet = match self.free_at <= now && self.service_at != now {
            true => self.look(now, Tie::Missed, out),
            false => None,
        };
        self.arm(now);
        packet
    }

    /// The instant of [`Server::service_at`] has come. No effect at any other instant.
    pub fn serve(&mut self, now: Time, out: &mut dyn Out<P>) -> Option<Sent<P>> {
        if self.service_at != now {
            return None;
        }
        self.service_at = Time::NEVER;
        let sent = self.ask(now, out);
        self.arm(now);
        sent
    }

    /// The instant of [`Server::timer_at`] has come. No effect at any other instant.
    pub fn run_timer(&mut self, now: Time, out: &mut dyn Out<P>) -> Option<Sent<P>> {
        if self.timer_at != now {
            return None;
        }
        self.timer_at = Time::NEVER;
        self.timers = match self.timers {
            (at, n) if at == now => (now, n + 1),
            _ => (now, 1),
        };
        if self.timers.1 > MOST_TIMERS_AT_ONCE {
            self.give_up(Stuck::TimerAgain);
            return None;
        }
        let mut packet = None;
        // The timer may have been postponed or cancelled since it was armed.
        if self.queue.next_timer().is_some_and(|t| t <= now) {
            let line = self.line(now);
            self.queue.on_timer(&line, out);
            // The timer may have opened a gate.
            if self.free_at <= now && self.queue.backlog().packets > 0 {
                packet = self.look(now, Tie::Met, out);
            }
        }
        self.arm(now);
        packet
    }

    /// Process the next event without an arrival, if it is due by `until`. Returns its instant, and the packet that
    /// begins its transmission.
    pub fn advance(&mut self, until: Time, out: &mut dyn Out<P>) -> Option<(Time, Option<Sent<P>>)> {
        let now = self.next().filter(|t| *t <= until)?;
        let packet = match self.service_at == now {
            true => self.serve(now, out),
            false => self.run_timer(now, out),
        };
        Some((now, packet))
    }

    /// The line is free, and the queue has changed: ask the discipline, now or when the line opens.
    fn look(&mut self, now: Time, tie: Tie, out: &mut dyn Out<P>) -> Option<Sent<P>> {
        let opens = match (&mut self.trace, tie) {
            (Some(trace), Tie::Missed) if trace.is_shut_between() => trace.opens(Time(now.0 + 1)),
            _ => self.opens(now),
        };
        if opens <= now {
            return self.ask(now, out);
        }
        self.service_at = opens;
        None
    }

    /// The first time from this instant on at which the line takes a packet.
    #[inline]
    fn opens(&mut self, from: Time) -> Time {
        match &mut self.trace {
            Some(trace) => trace.opens(from),
            None if self.clock.rate() == BitRate(0) => Time::NEVER,
            None => from,
        }
    }

    /// The line is free and open: ask the discipline.
    fn ask(&mut self, now: Time, out: &mut dyn Out<P>) -> Option<Sent<P>> {
        self.on_wire = None;
        let line = self.line(now);
        match self.queue.dequeue(&line, out) {
            Service::Send(packet) => {
                let was_idle = self.free_at < now;
                self.free_at = match &mut self.trace {
                    Some(trace) => trace.send(packet.bytes(), now, was_idle),
                    None => now + self.clock.service(packet.bytes(), was_idle),
                };
                self.service_at = self.opens(self.free_at);
                self.sent_bytes += u64::from(packet.bytes());
                self.on_wire = Some(OnWire {
                    until: self.free_at,
                    flow: packet.flow(),
                    pair: packet.key(KeyField::Pair),
                    bytes: packet.bytes(),
                });
                Some(Sent {
                    packet,
                    begin: now,
                    end: self.free_at,
                })
            }
            Service::Wait(t) if t > now => {
                self.service_at = match &mut self.trace {
                    Some(trace) => trace.would_open(t),
                    None => t,
                };
                None
            }
            // The discipline was asked before its timer ran. The timer is due at this same instant and may open the
            // gate.
            Service::Wait(_) if self.queue.next_timer().is_some_and(|t| t <= now) => {
                self.service_at = Time::NEVER;
                None
            }
            Service::Wait(_) => {
                self.give_up(Stuck::WaitsForNow);
                None
            }
            Service::Empty => {
                self.service_at = Time::NEVER;
                None
            }
        }
    }

    /// The timer is only moved to an earlier instant. A later one is read when the earlier one has come.
    #[inline]
    fn arm(&mut self, now: Time) {
        if self.stuck.is_some() {
            return;
        }
        if let Some(t) = self.queue.next_timer() {
            let t = t.max(now);
            if t < self.timer_at || self.timer_at <= now {
                self.timer_at = t;
            }
        }
    }
}

/// A discipline whose line is operated by hand: a test or a person says when packets arrive and leave. The timers
/// between run at their own instants.
pub struct ByHand<D> {
    pub queue: D,
    pub now: Time,
    pub rate: BitRate,
    /// The packet on the wire. Only the caller ends its transmission.
    pub busy: Option<OnWire>,
}

impl<D> ByHand<D> {
    /// Time zero and an idle line.
    pub fn new(queue: D, rate: BitRate) -> ByHand<D> {
        ByHand {
            queue,
            now: Time::ZERO,
            rate,
            busy: None,
        }
    }

    pub fn line(&self) -> Line {
        Line {
            now: self.now,
            rate: self.rate,
            busy: self.busy,
        }
    }

    /// Advance to the next timer, or to `until` if no timer comes before it. Returns true at a timer; the caller runs
    /// it and then calls again.
    pub fn to_next_timer<P: Packet>(&mut self, until: Time) -> bool
    where
        D: QueueDiscipline<P>,
    {
        let due = self.queue.next_timer().filter(|at| *at <= until);
        self.now = self.now.max(due.unwrap_or(until));
        due.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::discipline::Backlog;
    use crate::contract::testing::{Log, TestPacket};
    use crate::fifo::{DropTail, Fifo};
    use tailback_base::Size;

    #[test]
    fn service_times_do_not_drift() {
        // 1500 B at 7 Mb/s take 1714285.714... ns, and 7 such packets take exactly 12 ms.
        let mut c = LineClock::new(BitRate(7_000_000));
        let total: u64 = (0..7).map(|i| c.service(1500, i == 0).0).sum();
        assert_eq!(total, 12_000_000);
    }

    #[test]
    fn packets_follow_each_other_and_an_idle_line_starts_at_once() {
        // 1000 bytes take a millisecond.
        let queue = Fifo::new(Size::Packets(1), DropTail);
        let mut s = Server::new(Box::new(queue), BitRate(8_000_000));
        let mut log = Log::default();
        let ms = |n: u64| Time(n * 1_000_000);
        let packet = |id| TestPacket::new(id, 0, 1000);
        assert_eq!(s.arrive(packet(0), ms(0), &mut log).unwrap().end, ms(1));
        assert!(s.arrive(packet(1), ms(0), &mut log).is_none());
        assert!(s.arrive(packet(2), ms(0), &mut log).is_none(), "the buffer is full");
        assert_eq!(s.next(), Some(ms(1)));
        let (at, sent) = s.advance(ms(9), &mut log).unwrap();
        assert_eq!((at, sent.unwrap().packet.id), (ms(1), 1));
        assert_eq!(s.advance(ms(9), &mut log).unwrap(), (ms(2), None));
        assert_eq!((s.next(), s.advance(ms(9), &mut log)), (None, None));
        assert_eq!(s.arrive(packet(3), ms(5), &mut log).unwrap().begin, ms(5));
        assert_eq!(log.dropped.len(), 1);
    }

    /// A discipline with a gate that its timer opens at 2 ms.
    #[derive(Default)]
    struct Gate {
        held: Vec<TestPacket>,
        open: bool,
    }

    impl QueueDiscipline<TestPacket> for Gate {
        fn enqueue(&mut self, p: TestPacket, _line: &Line, _out: &mut dyn Out<TestPacket>) {
            self.held.push(p);
        }
        fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<TestPacket>) -> Service<TestPacket> {
            match self.open {
                false => Service::Wait(Time::NEVER),
                true => self.held.pop().map_or(Service::Empty, Service::Send),
            }
        }
        fn next_timer(&self) -> Option<Time> {
            (!self.open).then_some(Time(2_000_000))
        }
        fn on_timer(&mut self, _line: &Line, _out: &mut dyn Out<TestPacket>) {
            self.open = true;
        }
        fn backlog(&self) -> Backlog {
            Backlog {
                packets: self.held.len() as u64,
                bytes: 0,
            }
        }
    }

    /// A discipline that sends no packets, and always gives the same answers.
    struct Stubborn {
        wait: Time,
        timer: Option<Time>,
    }

    impl QueueDiscipline<TestPacket> for Stubborn {
        fn enqueue(&mut self, _p: TestPacket, _line: &Line, _out: &mut dyn Out<TestPacket>) {}
        fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<TestPacket>) -> Service<TestPacket> {
            Service::Wait(self.wait)
        }
        fn next_timer(&self) -> Option<Time> {
            self.timer
        }
        fn backlog(&self) -> Backlog {
            Backlog::default()
        }
    }

    #[test]
    fn a_discipline_that_asks_for_the_present_instant_for_ever_is_stuck() {
        let run = |wait, timer| {
            let mut s = Server::new(Box::new(Stubborn { wait, timer }), BitRate(8_000_000));
            let mut log = Log::default();
            s.arrive(TestPacket::new(7, 0, 1000), Time(5), &mut log);
            while s.advance(Time(9), &mut log).is_some() {}
            s.stuck()
        };
        assert_eq!(run(Time(8), None), Some(Stuck::WaitsForNow), "at 8 it waits for 8");
        assert_eq!(run(Time(5), None), Some(Stuck::WaitsForNow));
        assert_eq!(run(Time(0), Some(Time(0))), Some(Stuck::TimerAgain));
        assert_eq!(run(Time(20), None), None);
        assert_eq!(run(Time::NEVER, Some(Time(20))), None);
    }

    /// Sends packets of flow 1 at once and all others at 9 ms.
    #[derive(Default)]
    struct Later {
        held: Vec<TestPacket>,
    }

    impl QueueDiscipline<TestPacket> for Later {
        fn enqueue(&mut self, p: TestPacket, _line: &Line, _out: &mut dyn Out<TestPacket>) {
            self.held.push(p);
        }
        fn dequeue(&mut self, line: &Line, _out: &mut dyn Out<TestPacket>) -> Service<TestPacket> {
            let opens = Time(9_000_000);
            match self.held.iter().position(|p| p.flow == 1 || line.now >= opens) {
                Some(i) => Service::Send(self.held.remove(i)),
                None if self.held.is_empty() => Service::Empty,
                None => Service::Wait(opens),
            }
        }
        fn next_timer(&self) -> Option<Time> {
            None
        }
        fn backlog(&self) -> Backlog {
            Backlog {
                packets: self.held.len() as u64,
                bytes: 0,
            }
        }
    }

    #[test]
    fn an_arrival_uses_an_opportunity_before_the_one_that_the_discipline_waits_for() {
        let ms = |n: u64| Time(n * 1_000_000);
        let mut s = Server::new(Box::new(Later::default()), BitRate(8_000_000));
        let each_ms = Trace::opportunities((1..=20).map(ms).collect(), 1504).unwrap();
        s.follow(Arc::new(each_ms));
        let (mut log, mut departures) = (Log::default(), vec![]);
        for (at, id, flow) in [(Time(500_000), 0, 0), (Time(2_500_000), 1, 1)] {
            while let Some((_, sent)) = s.advance(at, &mut log) {
                departures.extend(sent.map(|s| (s.packet.id, s.end)));
            }
            let sent = s.arrive(TestPacket::new(id, flow, 1504), at, &mut log);
            departures.extend(sent.map(|s| (s.packet.id, s.end)));
        }
        while let Some((_, sent)) = s.advance(ms(30), &mut log) {
            departures.extend(sent.map(|s| (s.packet.id, s.end)));
        }
        assert_eq!(departures, [(1, ms(3)), (0, ms(9))]);
    }

    #[test]
    fn a_timer_is_armed_before_the_first_packet_and_opens_a_gate() {
        let mut s = Server::new(Box::new(Gate::default()), BitRate(8_000_000));
        let mut log = Log::default();
        assert_eq!(s.next(), Some(Time(2_000_000)));
        assert!(
            s.arrive(TestPacket::new(7, 0, 1000), Time(1_000_000), &mut log)
                .is_none()
        );
        let (at, sent) = s.advance(Time(9_000_000), &mut log).unwrap();
        assert_eq!((at, sent.unwrap().packet.id), (Time(2_000_000), 7));
    }
}
