//! A sender driven by hand: Python plays the other end of its connection, one acknowledgement at a time.
//!
//! The dialogues of `tailback conform` are played through it. It has a clock, the sender of the first group of flows of
//! a scenario, and a list of what the sender has sent. Times are whole nanoseconds; sequence numbers are those of the
//! engine, so that the first byte of data is number 1.

use crate::control;
use crate::scenario::Scenario;
use crate::timer_wheel::TimerWheel;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tailback_base::quantity::Refusal;
use tailback_base::{Ecn, Stream, Time};
use tailback_transport::{Amount, Endpoint, Flags, Segment, Transmit};

/// Flags by the names that Python uses for them.
const NAMES: [(&str, Flags); 6] = [
    ("syn", Flags::SYN),
    ("fin", Flags::FIN),
    ("ack", Flags::ACK),
    ("ece", Flags::ECE),
    ("cwr", Flags::CWR),
    ("again", Flags::RETRANSMISSION),
];

/// A segment that was sent: when, first sequence number, payload, flags, ECN code point, value of its time stamp.
type SentRow = (u64, u64, u32, Vec<&'static str>, &'static str, Option<u64>);

/// A sender with a clock.
#[pyclass(unsendable, module = "tailback._core")]
pub struct SenderByHand {
    end: Box<dyn Endpoint>,
    probes: Vec<&'static str>,
    now: Time,
    /// When the pacer lets the next segment go.
    paced: Time,
    sent: Vec<SentRow>,
    /// Timers fire when this says so.
    wheel: Option<TimerWheel>,
    /// The timer as it was set last, and when that was.
    set: (Time, Time),
}

/// Let the sender work. One with a congestion control written in Python unwinds with its message.
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

impl SenderByHand {
    /// When the timer that is set now fires.
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

    /// Send what may be sent now.
    fn pump(&mut self) {
        self.paced = loop {
            match self.end.poll_transmit(self.now) {
                Transmit::Segment(s) => self.note(&s),
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
        self.timer();
    }

    /// Timers and pacing up to an instant.
    fn run_timers(&mut self, until: Time) {
        loop {
            let timer = self.timer();
            let next = timer.min(self.paced);
            if next > until || next == Time::NEVER {
                break;
            }
            self.now = next.max(self.now);
            if timer <= self.now {
                let deadline = self.end.next_timeout();
                self.end.on_timeout(self.now, &mut ());
                // A timer that stays where it is would be called for ever.
                if self.end.next_timeout() == deadline && self.paced > self.now {
                    self.pump();
                    break;
                }
            }
            self.pump();
        }
        self.now = until;
    }

    fn note(&mut self, s: &Segment) {
        let flags = NAMES.iter().filter(|(_, f)| s.flags.has(*f)).map(|(name, _)| *name);
        let ecn = match s.ecn {
            Ecn::NotEct => "not-ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        };
        let stamp = s.timestamps.map(|t| t.0.0);
        self.sent
            .push((self.now.0, s.seq, s.payload, flags.collect(), ecn, stamp));
    }
}

#[pymethods]
impl SenderByHand {
    #[new]
    #[pyo3(signature = (scenario, seed = 1))]
    fn new(scenario: &Bound<Scenario>, seed: u64) -> PyResult<SenderByHand> {
        let [end, _] = ends(scenario.get(), seed)?;
        Ok(SenderByHand {
            probes: end.probes().iter().map(|p| p.name).collect(),
            end,
            now: Time::ZERO,
            paced: Time::NEVER,
            sent: Vec::new(),
            wheel: None,
            set: (Time::NEVER, Time::ZERO),
        })
    }

    /// From now on timers fire at the ticks of a kernel's clock: a tick, and how much of the first had passed at time
    /// 0, ns.
    fn tick(&mut self, tick: u64, phase: u64) -> PyResult<()> {
        if tick == 0 {
            return Err(PyValueError::new_err(
                "a tick of 0 ns; give 4000000 for a kernel of 250 Hz",
            ));
        }
        self.wheel = Some(TimerWheel { tick, phase });
        Ok(())
    }

    /// The application writes so many bytes, or data without end.
    #[pyo3(signature = (bytes = None))]
    fn write(&mut self, bytes: Option<u64>) -> PyResult<()> {
        guarded(|| {
            self.end.write(bytes.map_or(Amount::Unlimited, Amount::Bytes), self.now);
            self.pump();
        })
    }

    /// A segment of the other end arrives. `timestamps`: its value and its echo.
    #[pyo3(signature = (flags, ack, sack = vec![], timestamps = None, window = None))]
    fn receive(
        &mut self,
        flags: Vec<String>,
        ack: u64,
        sack: Vec<(u64, u64)>,
        timestamps: Option<(u64, u64)>,
        window: Option<u32>,
    ) -> PyResult<()> {
        let mut all = Flags::NONE;
        for name in &flags {
            let row = NAMES.iter().find(|(n, _)| n == name);
            let (_, flag) = row.ok_or_else(|| PyValueError::new_err(format!("there is no flag {name}")))?;
            all = all.with(*flag);
        }
        let s = Segment {
            seq: u64::from(!all.has(Flags::SYN)),
            payload: 0,
            ack,
            flags: all,
            ecn: Ecn::NotEct,
            bytes: 40,
            sack: sack.into_iter().collect(),
            timestamps: timestamps.map(|(value, echo)| (Time(value), Time(echo))),
            window,
        };
        guarded(|| {
            self.end.on_segment(&s, self.now, &mut ());
            self.pump();
        })
    }

    /// Let the time pass up to an instant, with timers and pacing.
    fn advance(&mut self, until: u64) -> PyResult<()> {
        let until = Time(until);
        if until < self.now {
            return Err(PyValueError::new_err(format!(
                "time goes back from {} ns to {} ns",
                self.now.0, until.0
            )));
        }
        guarded(|| self.run_timers(until))
    }

    /// What was sent since the last call.
    fn take(&mut self) -> Vec<SentRow> {
        std::mem::take(&mut self.sent)
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
