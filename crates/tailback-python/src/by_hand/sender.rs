//! A sender driven by hand: Python plays the other end of its connection, one segment at a time.
//!
//! The dialogues of `tailback conform` use it. It has a clock, an end of the connection of the first group of flows of
//! a scenario, and a list of the segments that this end has sent. Times are whole nanoseconds; sequence numbers are
//! those of the engine, so that the first byte of data is number 1. The end that opens the connection is one-way or
//! two-way, as the scenario sets it. The end that waits to be opened sends data only if the connection is two-way.

use crate::control;
use crate::scenario::Scenario;
use crate::timer_wheel::TimerWheel;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tailback_base::quantity::Refusal;
use tailback_base::{Ecn, Stream, Time};
use tailback_transport::{Amount, AppEvent, AppEvents, EcnCounts, Endpoint, Flags, Segment, Transmit};

/// Flags by the names that Python uses for them.
const NAMES: [(&str, Flags); 8] = [
    ("syn", Flags::SYN),
    ("fin", Flags::FIN),
    ("rst", Flags::RST),
    ("ack", Flags::ACK),
    ("ece", Flags::ECE),
    ("cwr", Flags::CWR),
    ("ae", Flags::AE),
    ("again", Flags::RETRANSMISSION),
];

/// ECN code points by the names that Python uses for them.
const CODE_POINTS: [(&str, Ecn); 4] = [
    ("not-ect", Ecn::NotEct),
    ("ect0", Ecn::Ect0),
    ("ect1", Ecn::Ect1),
    ("ce", Ecn::Ce),
];

/// A segment that was sent. Times are nanoseconds, the payload is bytes.
#[pyclass(get_all, frozen, module = "tailback._core")]
pub struct SegmentByHand {
    at: u64,
    seq: u64,
    payload: u32,
    flags: Vec<&'static str>,
    ecn: &'static str,
    /// The value and the echo of its time stamp.
    stamps: Option<(u64, u64)>,
    ack: u64,
    /// SACK blocks.
    blocks: Vec<(u64, u64)>,
    /// The option of accurate ECN: bytes of ECT(1), of CE and of ECT(0), as many of these fields as the option has.
    counts: Option<Vec<u32>>,
}

/// A sender with a clock.
#[pyclass(unsendable, module = "tailback._core")]
pub struct SenderByHand {
    end: Box<dyn Endpoint>,
    probes: Vec<&'static str>,
    now: Time,
    /// The time at which the pacer lets the next segment go.
    paced: Time,
    sent: Vec<SegmentByHand>,
    /// If given, this wheel decides when timers fire.
    wheel: Option<TimerWheel>,
    /// The deadline of the timer that was set last, and the time at which it was set.
    set: (Time, Time),
    heard: Heard,
    /// Whether no segment may leave.
    held: bool,
}

/// The events that the application has got.
#[derive(Default)]
struct Heard {
    peer_closed: bool,
}

impl AppEvents for Heard {
    fn event(&mut self, e: AppEvent) {
        self.peer_closed |= e == AppEvent::PeerClosed;
    }
}

/// Let the sender work. A sender with a congestion control written in Python may unwind with that control's message.
fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|unwound| match unwound.downcast::<Refusal>() {
        Ok(refusal) => PyValueError::new_err(refusal.to_string()),
        Err(bug) => resume_unwind(bug),
    })
}

/// Both ends of the first group's connection; the first one sends.
fn ends(scenario: &Scenario, seed: u64) -> PyResult<[Box<dyn Endpoint>; 2]> {
    let wrong = |what: String| PyValueError::new_err(what);
    let group = scenario.loaded.spec.flows.first();
    let group = group.ok_or_else(|| wrong("the scenario has no flows; give it one group".into()))?;
    let library = control::library(true);
    let transports = &library.transports;
    let connection = transports
        .connection(&group.transport)
        .map_err(|e| wrong(e.to_string()))?;
    let connection = connection.ok_or_else(|| {
        let kind = group.transport.model.name;
        wrong(format!("{kind} has no sender that acknowledgements drive; give tcp"))
    })?;
    guarded(|| connection.ends(Default::default, &mut Stream::new(seed, "by hand")))
}

/// The option of accurate ECN, from its first fields.
fn counts_of(fields: Vec<u32>) -> PyResult<EcnCounts> {
    if fields.len() > 3 || fields.iter().any(|f| f >> 24 != 0) {
        return Err(PyValueError::new_err("counts are up to three numbers below 2^24"));
    }
    let of = |i: usize| fields.get(i).copied().unwrap_or_default();
    Ok(EcnCounts {
        ect1: of(0),
        ce: of(1),
        ect0: of(2),
        fields: fields.len() as u8,
    })
}

impl SenderByHand {
    /// The time at which the timer that is set now fires.
    fn timer(&mut self) -> Time {
        let deadline = self.end.next_timeout().unwrap_or(Time::NEVER);
        if deadline != self.set.0 {
            self.set = (deadline, self.now);
        }
        match self.wheel {
            Some(wheel) if deadline != Time::NEVER => wheel.fires(self.set.1, deadline),
            _ => deadline,
        }
    }

    /// Send the segments that may be sent now.
    fn pump(&mut self) {
        if self.held {
            self.paced = Time::NEVER;
            self.timer();
            return;
        }
        self.paced = loop {
            match self.end.poll_transmit(self.now) {
                Transmit::Segment(s) => self.note(&s),
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
        self.timer();
    }

    /// Run timers and pacing up to an instant, or, if it `stops`, to the first of them that sends something.
    fn run_timers(&mut self, until: Time, stops: bool) {
        while !stops || self.sent.is_empty() {
            let timer = self.timer();
            let next_timer = timer.min(self.paced);
            if next_timer > until || next_timer == Time::NEVER {
                self.now = until;
                break;
            }
            self.now = next_timer.max(self.now);
            if timer <= self.now {
                let deadline = self.end.next_timeout();
                self.end.on_timeout(self.now, &mut self.heard);
                // A timer whose deadline does not move would be called for ever.
                if self.end.next_timeout() == deadline && self.paced > self.now {
                    self.pump();
                    self.now = until;
                    break;
                }
            }
            self.pump();
        }
    }

    fn note(&mut self, s: &Segment) {
        let flags = NAMES.iter().filter(|(_, f)| s.flags.has(*f)).map(|(name, _)| *name);
        self.sent.push(SegmentByHand {
            at: self.now.0,
            seq: s.seq,
            payload: s.payload,
            flags: flags.collect(),
            ecn: CODE_POINTS
                .iter()
                .find(|(_, e)| *e == s.ecn)
                .map_or("", |(name, _)| name),
            stamps: s.timestamps.map(|(value, echo)| (value.0, echo.0)),
            ack: s.ack,
            blocks: s.sack.iter().copied().collect(),
            counts: s.counts.as_ref().map(|c| {
                let fields = [c.ect1, c.ce, c.ect0];
                fields.into_iter().take(usize::from(c.fields)).collect()
            }),
        });
    }
}

#[pymethods]
impl SenderByHand {
    #[new]
    #[pyo3(signature = (scenario, seed = 1, passive = false))]
    fn new(scenario: &Bound<Scenario>, seed: u64, passive: bool) -> PyResult<SenderByHand> {
        let [active, other] = ends(scenario.get(), seed)?;
        let mut end = if passive { other } else { active };
        end.stay_open();
        Ok(SenderByHand {
            probes: end.probes().iter().map(|p| p.name).collect(),
            end,
            now: Time::ZERO,
            paced: Time::NEVER,
            sent: Vec::new(),
            wheel: None,
            set: (Time::NEVER, Time::ZERO),
            heard: Heard::default(),
            held: false,
        })
    }

    /// From now on timers fire at the ticks of a kernel's clock: the length of a tick, and how much of the first tick
    /// had passed at time 0, ns.
    fn tick(&mut self, tick: u64, phase: u64) -> PyResult<()> {
        if tick == 0 {
            return Err(PyValueError::new_err(
                "a tick of 0 ns; give 4000000 for a kernel of 250 Hz",
            ));
        }
        self.wheel = Some(TimerWheel { tick, phase });
        Ok(())
    }

    /// The application writes this number of bytes, or data without end.
    #[pyo3(signature = (bytes = None))]
    fn write(&mut self, bytes: Option<u64>) -> PyResult<()> {
        guarded(|| {
            self.end.write(bytes.map_or(Amount::Unlimited, Amount::Bytes), self.now);
            self.pump();
        })
    }

    /// The application takes back the data that were not sent.
    fn withdraw(&mut self) -> PyResult<()> {
        guarded(|| {
            self.end.withdraw(u64::MAX);
            self.pump();
        })
    }

    /// The application writes no more; data that it has written are still sent.
    fn close(&mut self) -> PyResult<()> {
        guarded(|| {
            self.end.close(self.now);
            self.pump();
        })
    }

    /// A segment of the other end arrives. `timestamps` is the value and the echo of its time stamp. `seq` is its first
    /// sequence number; without it, the number that an end without data would use. `counts` is the option of accurate
    /// ECN: bytes of ECT(1), of CE and of ECT(0), or the first of these.
    #[pyo3(signature = (
        flags, ack, sack = vec![], timestamps = None, window = None, seq = None, payload = 0, ecn = "not-ect",
        counts = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn receive(
        &mut self,
        flags: Vec<String>,
        ack: u64,
        sack: Vec<(u64, u64)>,
        timestamps: Option<(u64, u64)>,
        window: Option<u32>,
        seq: Option<u64>,
        payload: u32,
        ecn: &str,
        counts: Option<Vec<u32>>,
    ) -> PyResult<()> {
        let mut all = Flags::NONE;
        for name in &flags {
            let row = NAMES.iter().find(|(n, _)| n == name);
            let (_, flag) = row.ok_or_else(|| PyValueError::new_err(format!("there is no flag {name}")))?;
            all = all.with(*flag);
        }
        let row = CODE_POINTS.iter().find(|(n, _)| *n == ecn);
        let (_, ecn) = row.ok_or_else(|| PyValueError::new_err(format!("there is no code point {ecn}")))?;
        let s = Segment {
            seq: seq.unwrap_or(u64::from(!all.has(Flags::SYN))),
            payload,
            ack,
            flags: all,
            ecn: *ecn,
            bytes: 40 + payload,
            sack: sack.into_iter().collect(),
            timestamps: timestamps.map(|(value, echo)| (Time(value), Time(echo))),
            window,
            counts: counts.map(counts_of).transpose()?.map(Box::new),
        };
        guarded(|| {
            self.end.on_segment(&s, self.now, &mut self.heard);
            self.pump();
        })
    }

    /// Let the time pass up to an instant, with timers and pacing. With `stops`, time passes only until something is
    /// sent, or not at all if there are segments to take. Returns the time.
    #[pyo3(signature = (until, stops = false))]
    fn advance(&mut self, until: u64, stops: bool) -> PyResult<u64> {
        let until = Time(until);
        if until < self.now {
            return Err(PyValueError::new_err(format!(
                "time goes back from {} ns to {} ns",
                self.now.0, until.0
            )));
        }
        guarded(|| self.run_timers(until, stops))?;
        Ok(self.now.0)
    }

    /// Let no segment leave, like a host whose queue to its line takes no packet; or let segments leave again.
    fn hold(&mut self, on: bool) -> PyResult<()> {
        self.held = on;
        guarded(|| self.pump())
    }

    /// The segments that were sent since the last call.
    fn take(&mut self) -> Vec<SegmentByHand> {
        std::mem::take(&mut self.sent)
    }

    /// The bytes that have arrived in order, and whether the other end will send no more.
    fn received(&self) -> (u64, bool) {
        (self.end.received_bytes(), self.heard.peer_closed)
    }

    /// The values that `tcp_info` of Linux shows, under its names without the prefix `tcpi_`.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        self.end
            .info()
            .iter()
            .try_for_each(|(name, value)| values.set_item(name, value))?;
        Ok(values)
    }

    /// The values that can be recorded, by name, and the counts of timeouts and fast retransmits.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (i, name) in self.probes.iter().enumerate() {
            values.set_item(name, self.end.read(i))?;
        }
        let report = self.end.report(self.now);
        values.set_item("timeouts", report.timeouts)?;
        values.set_item("fast_retransmits", report.fast_retransmits)?;
        values.set_item("ecn_reductions", report.ecn_reductions)?;
        Ok(values)
    }
}
