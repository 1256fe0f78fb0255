//! One end of a two-way connection (RFC 9293). Both ends send and receive.
//!
//! An end has a [`Sender`] and a [`Receiver`] as in a one-way connection, and in addition the state of the connection,
//! drawn in [`state`]. The sender decides what leaves and when. Each segment that leaves carries the receiver's
//! acknowledgement (RFC 9293 section 3.8.6.3), so a separate ACK is sent only when there is no data to send. SYN and
//! FIN occupy a unit of sequence space each and are repeated like data.
//!
//! The state is sender and receiver, the [`State`], the persist timer, and whether the application has closed. The cost
//! of a segment is that of the two halves.
//!
//! Departures from RFC 9293: if the application closes before the SYN is answered, the data that it wrote are still
//! delivered (the RFC lets the user decide; `abort` gives up these data). If data are written to a listening end, it
//! waits for the other end's SYN and does not send a SYN itself. The ACK of a segment that is out of order or repeated
//! never travels with data, because a segment with data does not count as a duplicate (RFC 5681 section 2). Urgent
//! data, PSH, checksums and the range of the sequence numbers (which never wrap) are not modelled.

pub mod persist;
mod prediction;
pub mod state;

use super::change::ControlChange;
use super::config::Config;
use super::congestion::CongestionControl;
use super::handshake::{self, Agreed};
use super::info::{self, Shown};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::endpoint::{Amount, AppEvent, AppEvents, Endpoint, Progress, SenderReport, Transmit, Wake};
use crate::segment::{Flags, Plain, SackBlocks, Segment};
use persist::Persist;
pub use state::{Opening, State};
use std::sync::Arc;
use tailback_base::{Dscp, Duration, Ecn, ProbeDef, Request, Stream, Time};

/// One end of a two-way connection.
pub struct ConnectionEnd {
    cfg: Arc<Config>,
    opening: Opening,
    state: State,
    sender: Sender,
    receiver: Receiver,
    persist: Persist,
    /// Whether the application has closed. The FIN follows when the connection is open.
    closing: bool,
    /// Whether the application closes this end itself. Otherwise the other side's FIN closes this end.
    stays_open: bool,
    /// Whether an ACK must leave before data, such as the third segment of the handshake.
    ack_first: bool,
    /// A reset to send: its sequence number and, if it answers a segment without ACK, its acknowledgement number.
    reset: Option<(u64, Option<u64>)>,
    /// When to report to the application that the connection is over. No arriving segment will cause this report.
    over_at: Time,
}

/// Passes on the events of the two halves that concern data. The end itself reports the other events.
struct OfData<'a>(&'a mut dyn AppEvents);

impl AppEvents for OfData<'_> {
    fn event(&mut self, e: AppEvent) {
        if matches!(e, AppEvent::Delivered(_) | AppEvent::AllAcknowledged) {
            self.0.event(e);
        }
    }
}

/// Both ends of a connection. The first one opens the connection.
pub fn new_pair(cfg: &Arc<Config>) -> (ConnectionEnd, ConnectionEnd) {
    let end = |opening| ConnectionEnd::new(cfg.clone(), cfg.build_controller(), opening);
    (end(Opening::Active), end(Opening::Passive))
}

impl ConnectionEnd {
    pub fn new(cfg: Arc<Config>, control: Box<dyn CongestionControl>, opening: Opening) -> ConnectionEnd {
        let sender = Sender::new(cfg.clone(), control);
        let receiver = Receiver::new(cfg.clone());
        ConnectionEnd {
            opening,
            state: match opening {
                Opening::Active => State::Idle,
                Opening::Passive => State::Listen,
            },
            sender,
            receiver,
            persist: Persist::default(),
            closing: false,
            stays_open: false,
            ack_first: false,
            reset: None,
            over_at: Time::NEVER,
            cfg,
        }
    }

    /// Set the phase of this end's clock ticks, see `clock_phase`.
    pub fn set_clock_phase(&mut self, phase: Duration) {
        self.sender.set_clock_phase(phase);
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// The values that Linux's `tcp_info` shows, under its names.
    pub fn info(&self) -> Vec<Shown> {
        let mut shown = self.sender.info();
        shown.push(("state", info::state_number(self.state)));
        shown.extend(self.receiver.counted_marks().map(|n| ("received_ce", u64::from(n))));
        shown
    }

    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    fn time_wait(&self, now: Time) -> Time {
        now + Duration(2 * self.cfg.msl.0)
    }

    fn enter(&mut self, state: State, up: &mut dyn AppEvents) {
        if state == State::Closed && self.state != State::Closed {
            self.sender.halt();
            self.persist.stop();
            up.event(AppEvent::Closed);
        }
        self.state = state;
    }

    /// Our SYN is acknowledged, and the other end's SYN is known.
    fn establish(&mut self, s: &Segment, ecn: Agreed, now: Time, up: &mut dyn AppEvents) {
        self.sender.open_by(s, ecn, now);
        self.state = State::Established;
        up.event(AppEvent::Connected);
        if self.closing {
            self.send_fin();
        }
    }

    fn send_fin(&mut self) {
        self.sender.end_with_fin();
        self.state = self.state.after_close();
    }

    /// RFC 9293 section 3.5.2: a segment for a connection that does not exist is answered with a reset.
    fn refuse(&mut self, s: &Segment) {
        if !s.flags.has(Flags::RST) {
            self.reset = Some(if s.flags.has(Flags::ACK) {
                (s.ack, None)
            } else {
                (0, Some(s.end()))
            });
        }
    }

    /// A SYN arrives at a listening end, or at one that has sent its own SYN at the same time.
    fn on_syn(&mut self, s: &Segment) {
        let ecn = handshake::agrees(s.flags, self.cfg.able());
        self.receiver.synchronize(s, ecn);
        self.sender.send_syn();
        self.state = State::SynReceived { ecn };
    }

    fn in_syn_sent(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        let acknowledges = s.flags.has(Flags::ACK);
        if acknowledges && s.ack != self.sender.seen().max_sent() {
            self.refuse(s);
        } else if s.flags.has(Flags::RST) {
            if acknowledges {
                self.enter(State::Closed, up);
            }
        } else if s.flags.has(Flags::SYN) && acknowledges {
            let ecn = handshake::granted(s.flags, self.sender.seen().asked_for_ecn());
            self.receiver.synchronize(s, ecn);
            self.ack_first = true;
            self.establish(s, ecn, now, up);
        } else if s.flags.has(Flags::SYN) {
            self.on_syn(s);
        }
    }

    fn in_syn_received(&mut self, ecn: Agreed, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        if s.flags.has(Flags::RST) {
            match self.opening {
                Opening::Active => self.enter(State::Closed, up),
                Opening::Passive => *self = self.listen_again(),
            }
        } else if s.flags.has(Flags::ACK) {
            if s.ack != self.sender.seen().max_sent() {
                self.refuse(s);
                return;
            }
            // If both ends opened at the same time, the other end's SYN+ACK needs an ACK.
            self.ack_first |= s.flags.has(Flags::SYN);
            self.establish(s, ecn, now, up);
            self.in_synchronized(s, now, up);
        } else if s.flags.has(Flags::SYN) {
            // The other side has not received our answer. The next answer says with which code point this SYN arrived
            // (RFC 9768 section 3.1.5).
            self.receiver.note_syn(s);
            if s.flags.ace() == 0 {
                self.sender.block().withhold_ect();
            }
            self.sender.send_syn();
        }
    }

    fn listen_again(&self) -> ConnectionEnd {
        let mut end = ConnectionEnd::new(self.cfg.clone(), self.cfg.build_controller(), Opening::Passive);
        if let Some(phase) = self.sender.seen().rto().phase() {
            end.set_clock_phase(phase);
        }
        let written = self.sender.seen().end() - super::state::FIRST;
        end.sender.number_probes_as(&self.sender);
        end.sender.add(Amount::Bytes(written));
        end.closing = self.closing;
        end.stays_open = self.stays_open;
        end
    }

    fn in_synchronized(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        if s.flags.has(Flags::RST) {
            // RFC 9293 section 3.10.7.4: only a reset at the next unit expected is valid.
            if s.seq == self.receiver.next_expected() {
                self.enter(State::Closed, up);
            }
            return;
        }
        if s.flags.has(Flags::SYN) {
            // RFC 9293 section 3.10.7.4: a challenge ACK. It also repeats the last segment of the handshake, in case
            // this segment was lost.
            if s.flags.has(Flags::ACK) {
                self.receiver.reflect(s);
            }
            self.receiver.answer();
            return;
        }
        if s.flags.has(Flags::ACK) {
            self.persist.answered(s, &mut self.sender);
            self.sender.take_ack(s, now, &mut OfData(up));
            if self.sender.seen().fin_is_acknowledged() {
                let next = self.state.after_ack_of_fin(self.time_wait(now));
                self.enter(next, up);
            }
        }
        let ended = self.receiver.has_ended();
        self.receiver.take(s, now, &mut OfData(up));
        if self.receiver.has_ended() && (!ended || s.flags.has(Flags::FIN)) {
            self.on_fin(!ended, now, up);
        }
        self.persist.look(&self.cfg, &self.sender, now);
    }

    fn on_fin(&mut self, first: bool, now: Time, up: &mut dyn AppEvents) {
        if first || matches!(self.state, State::TimeWait { .. }) {
            let next = self.state.after_fin(self.time_wait(now));
            self.enter(next, up);
        }
        if first {
            up.event(AppEvent::PeerClosed);
            // A FIN of this end must not carry the ACK.
            self.ack_first |= self.cfg.fin_apart;
            if !self.stays_open {
                self.close(now);
            }
        }
    }

    /// A separate acknowledgement.
    fn pure_ack(&mut self, now: Time) -> Segment {
        let mut ack = self.plain(Flags::NONE);
        ack.ecn = self.receiver.codepoint();
        self.receiver.acknowledge_on(&mut ack, now);
        ack
    }

    /// A segment without data at the next unit to be sent.
    fn plain(&self, flags: Flags) -> Segment {
        Segment {
            seq: self.sender.seen().max_sent(),
            payload: 0,
            ack: 0,
            flags,
            ecn: Ecn::NotEct,
            bytes: self.cfg.wire(0, 0, false),
            sack: SackBlocks::new(),
            timestamps: None,
            window: None,
            counts: None,
        }
    }

    /// The SYN, with the flags that this state requires.
    fn syn(&mut self, mut s: Segment) -> Segment {
        if let State::SynReceived { ecn } = self.state {
            let is_repeat = s.flags.has(Flags::RETRANSMISSION);
            let asked_ecn = ecn;
            let ecn = self.sender.answers_with(ecn);
            if asked_ecn != ecn {
                self.sender.block().withhold_ect();
            }
            s.flags = self.receiver.syn_ack_flags(ecn);
            s.ecn = self.cfg.codepoint_if(ecn.is_ecn() && self.cfg.ect_on_handshake);
            if is_repeat {
                s.flags = s.flags.with(Flags::RETRANSMISSION);
            }
            self.receiver
                .acknowledge_syn_on(&mut s, ecn == Agreed::Accurate && !is_repeat);
        }
        s
    }

    fn next_segment(&mut self, now: Time) -> Transmit {
        if self.receiver.is_due_alone() || std::mem::take(&mut self.ack_first) {
            let mut s = self.receiver.take_earlier().unwrap_or_else(|| self.pure_ack(now));
            s.seq = self.sender.seen().max_sent();
            return Transmit::Segment(s);
        }
        let due = self.receiver.is_due();
        // A FIN may have to follow.
        if !self.closing && self.persist == Persist::Off && self.sender.rests(0, now) {
            return match due {
                true => Transmit::Segment(self.pure_ack(now)),
                false => Transmit::Idle,
            };
        }
        let rides = self.cfg.nagle_rides && due;
        if due && self.cfg.acks_always_ride {
            self.sender.block().force_next();
        }
        let is_held = self.cfg.nagle && !rides && self.sender.nagle_holds();
        let mut transmit = match self.persist.probe(&mut self.sender, now) {
            Some(s) => Transmit::Segment(s),
            None if is_held => Transmit::Idle,
            None => self.sender.poll_transmit(now),
        };
        self.sender.block().take_forced();
        match &mut transmit {
            Transmit::Segment(s) => self.receiver.acknowledge_on(s, now),
            _ if self.receiver.is_due() => transmit = Transmit::Segment(self.pure_ack(now)),
            _ => self.persist.look(&self.cfg, &self.sender, now),
        }
        transmit
    }
}

impl Endpoint for ConnectionEnd {
    fn write(&mut self, n: Amount, now: Time) {
        if self.closing || self.state == State::Closed {
            return;
        }
        match self.state {
            State::Idle => {
                self.sender.add(n);
                self.sender.send_syn();
                self.state = State::SynSent;
            }
            State::Listen | State::SynSent | State::SynReceived { .. } => self.sender.add(n),
            _ => self.sender.write(n, now),
        }
    }

    fn close(&mut self, now: Time) {
        if std::mem::replace(&mut self.closing, true) {
            return;
        }
        match self.state {
            State::Idle => {
                self.state = State::Closed;
                self.over_at = now;
            }
            State::Established | State::CloseWait => self.send_fin(),
            _ => {}
        }
    }

    /// RFC 9293 section 3.10.4. Before a connection exists there is nothing to abort, so the end only closes.
    fn abort(&mut self, now: Time) {
        match self.state {
            State::Idle | State::Listen | State::SynSent => {
                self.sender.halt();
                self.closing = true;
                self.state = State::Closed;
                self.over_at = now;
            }
            _ if self.closing => {}
            _ => {
                self.sender.block().give_up_unsent();
                self.close(now);
            }
        }
    }

    fn stay_open(&mut self) {
        self.stays_open = true;
    }

    fn set_reading(&mut self, on: bool, _now: Time) {
        self.receiver.set_reading(on);
    }

    fn on_segment(&mut self, s: &Segment, now: Time, up: &mut dyn AppEvents) {
        match self.state {
            State::Idle | State::Closed => self.refuse(s),
            State::Listen if s.flags.has(Flags::RST) => {}
            State::Listen if s.flags.has(Flags::SYN) && !s.flags.has(Flags::ACK) => self.on_syn(s),
            State::Listen if s.flags.has(Flags::ACK) => self.refuse(s),
            // RFC 9293 section 3.10.7.2: a segment without SYN, RST and ACK is dropped.
            State::Listen => {}
            State::SynSent => self.in_syn_sent(s, now, up),
            State::SynReceived { ecn } => self.in_syn_received(ecn, s, now, up),
            _ => self.in_synchronized(s, now, up),
        }
    }

    fn predict(&mut self, s: &Plain, now: Time, out: &mut Vec<Plain>) -> Option<Wake> {
        self.predict_segment(s, now, out)
    }

    fn expects_next(&self) -> Option<u64> {
        let open = self.state == State::Established && self.over_at == Time::NEVER;
        (open && self.receiver.holds_nothing()).then(|| self.receiver.next_expected())
    }

    fn poll_transmit(&mut self, now: Time) -> Transmit {
        if let Some((seq, ack)) = self.reset.take() {
            let mut s = self.plain(Flags::RST);
            s.ecn = self
                .cfg
                .codepoint_if(self.receiver.has_ecn() && self.cfg.ect_on_handshake);
            s.seq = seq;
            if let Some(ack) = ack {
                (s.ack, s.flags) = (ack, s.flags.with(Flags::ACK));
            }
            return Transmit::Segment(s);
        }
        match self.state {
            State::Idle | State::Listen | State::Closed => Transmit::Idle,
            State::SynSent | State::SynReceived { .. } => match self.sender.poll_transmit(now) {
                Transmit::Segment(s) => Transmit::Segment(self.syn(s)),
                other => other,
            },
            _ => self.next_segment(now),
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let mut t = self.over_at.min(self.persist.deadline());
        if let State::TimeWait { until } = self.state {
            t = t.min(until);
        }
        let halves = [self.sender.next_timeout(), self.receiver.next_timeout()];
        t = halves.into_iter().flatten().fold(t, Time::min);
        (t != Time::NEVER).then_some(t)
    }

    fn on_timeout(&mut self, now: Time, up: &mut dyn AppEvents) {
        if now >= self.over_at {
            self.over_at = Time::NEVER;
            up.event(AppEvent::Closed);
        }
        if let State::TimeWait { until } = self.state
            && now >= until
        {
            self.enter(State::Closed, up);
        }
        self.receiver.on_timeout(now, &mut OfData(up));
        self.sender.on_timeout(now, &mut OfData(up));
        if self.sender.is_closed() && self.state != State::Closed {
            // The SYN was sent too often.
            self.enter(State::Closed, up);
        }
        self.persist.on_timer(now);
    }

    fn on_request(&mut self, r: Request, now: Time) {
        self.sender.on_request(r, now);
    }

    fn set_congestion(&mut self, to: &ControlChange, rng: &mut Stream, now: Time) -> bool {
        self.cfg = to.config().clone();
        self.sender.set_congestion(to, rng, now)
    }

    fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    fn arrived_bytes(&self) -> u64 {
        self.receiver.arrived_bytes()
    }

    fn progress(&self) -> Option<Progress> {
        let opening = matches!(
            self.state,
            State::Idle | State::Listen | State::SynSent | State::SynReceived { .. }
        );
        self.sender.progress().map(|p| Progress { opening, ..p })
    }

    fn wire_bytes(&self, payload: u64) -> u64 {
        self.cfg.wire_bytes(payload)
    }

    fn withdraw(&mut self, bytes: u64) {
        if !self.closing {
            self.sender.withdraw(bytes);
        }
    }

    fn srtt(&self) -> Option<Duration> {
        self.sender.srtt()
    }

    fn colours(&self) -> bool {
        self.sender.colours()
    }

    fn code_point(&self) -> Option<Dscp> {
        self.sender.code_point()
    }

    fn limits_host(&self) -> bool {
        self.sender.limits_host()
    }

    fn leaves_host(&mut self, bytes: u32, at: Time) {
        self.sender.leaves_host(bytes, at);
    }

    fn in_slow_start(&self) -> bool {
        self.sender.in_slow_start()
    }

    fn report(&self, now: Time) -> SenderReport {
        self.sender.report(now)
    }

    fn info(&self) -> Vec<Shown> {
        ConnectionEnd::info(self)
    }

    fn probes(&self) -> Vec<&'static ProbeDef> {
        self.sender.probes()
    }

    fn read(&self, probe: usize) -> f64 {
        self.sender.read(probe)
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed
    }
}
