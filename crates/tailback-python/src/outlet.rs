//! The reports of a discipline written in Python, and the books that show whether it lost or duplicated a packet.

use crate::given;
use crate::packet::{Content, Packet, next_identity};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use tailback_base::model::nearest;
use tailback_base::{BitRate, Request, Time};
use tailback_queue::{DropReason, Line as EngineLine, MarkReason, Place, ProbeId};

/// An action of the discipline during a call, to be reported to the engine after the call.
pub enum Action {
    Dropped(Content, Place, DropReason),
    Marked(Content, MarkReason),
    Request(Content, Request),
    Note(ProbeId, u32, f64),
}

/// The `out` of a discipline: `out.dropped(packet, place, reason)`, `out.marked(packet, reason)`, `out.note(...)`,
/// `out.request(...)`.
#[pyclass(module = "tailback._core")]
pub struct Out {
    owner: u64,
    /// Packets given to the discipline and not yet returned, with their bytes.
    held: BTreeMap<u64, u32>,
    bytes: u64,
    pub actions: Vec<Action>,
    /// Whether a call is in progress.
    pub open: bool,
}

impl Out {
    pub fn new() -> Out {
        Out {
            owner: next_identity(),
            held: BTreeMap::new(),
            bytes: 0,
            actions: vec![],
            open: false,
        }
    }

    pub fn packets(&self) -> u64 {
        self.held.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The packet that has been in the queue longest.
    pub fn eldest(&self) -> Option<u64> {
        self.held.keys().next().copied()
    }

    /// A packet is given to the discipline.
    pub fn give(&mut self, content: Content, serial: u64, bytes: u32) -> Packet {
        self.held.insert(serial, bytes);
        self.bytes += u64::from(bytes);
        Packet {
            content,
            serial,
            owner: self.owner,
        }
    }

    /// The discipline gives up a packet. The packet must be one of its own, and still stored.
    pub fn take(&mut self, p: &Packet) -> PyResult<Content> {
        self.own(p)?;
        if let Some(bytes) = self.held.remove(&p.serial) {
            self.bytes -= u64::from(bytes);
        }
        Ok(p.content)
    }

    fn own(&self, p: &Packet) -> PyResult<()> {
        let n = p.serial;
        if p.owner != self.owner {
            return Err(PyRuntimeError::new_err(format!(
                "packet {n} was never given to this queue"
            )));
        }
        if !self.held.contains_key(&n) {
            let why = "a packet leaves a queue once, sent or dropped";
            return Err(PyRuntimeError::new_err(format!(
                "packet {n} has already left this queue; {why}"
            )));
        }
        Ok(())
    }

    fn in_call(&self) -> PyResult<()> {
        if self.open {
            Ok(())
        } else {
            Err(PyRuntimeError::new_err(
                "`out` is of use only during the call it was given to",
            ))
        }
    }
}

fn word<T: Copy>(what: &str, given: &str, all: &[T], name: fn(T) -> &'static str) -> PyResult<T> {
    all.iter().copied().find(|x| name(*x) == given).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|x| name(*x)).collect();
        let hint = nearest(given, names.iter().copied()).map_or(String::new(), |n| format!("did you mean {n:?}? "));
        PyValueError::new_err(format!(
            "there is no {what} {given:?}; {hint}It is one of {}",
            names.join(", ")
        ))
    })
}

#[pymethods]
impl Out {
    /// The packet is dropped here. `place` is arriving, queued or dequeued; `reason` is overflow, early, forced,
    /// match, penalty, percap, sojourn, overload or refused.
    #[pyo3(signature = (packet, place = "arriving", reason = "overflow"))]
    fn dropped(&mut self, packet: &Bound<Packet>, place: &str, reason: &str) -> PyResult<()> {
        self.in_call()?;
        let place = word("place", place, &Place::ALL, Place::name)?;
        let why = word("reason to drop", reason, &DropReason::ALL, DropReason::name)?;
        let p = self.take(&packet.borrow())?;
        self.actions.push(Action::Dropped(p, place, why));
        Ok(())
    }

    /// Mark the packet (set CE), with a reason: early, request, forced, step, coupled or sojourn. The packet stays
    /// stored.
    #[pyo3(signature = (packet, reason = "early"))]
    fn marked(&mut self, packet: &Bound<Packet>, reason: &str) -> PyResult<()> {
        self.in_call()?;
        let why = word("reason to mark", reason, &MarkReason::ALL, MarkReason::name)?;
        let mut p = packet.borrow_mut();
        self.own(&p)?;
        p.set_ce()?;
        self.actions.push(Action::Marked(p.content, why));
        Ok(())
    }

    /// Send a control packet back to the source of this packet.
    #[pyo3(signature = (packet, kind = 0, value = 0.0))]
    fn request(&mut self, packet: &Bound<Packet>, kind: u32, value: f64) -> PyResult<()> {
        self.in_call()?;
        let p = packet.borrow();
        self.own(&p)?;
        self.actions
            .push(Action::Request(p.content, Request::Other { kind, value }));
        Ok(())
    }

    /// Report the new value of a probe, by its number.
    #[pyo3(signature = (probe, value, index = 0))]
    fn note(&mut self, probe: u16, value: f64, index: u32) -> PyResult<()> {
        self.in_call()?;
        self.actions.push(Action::Note(ProbeId(probe), index, value));
        Ok(())
    }
}

/// The line after the queue, as it is at this call.
///
/// >>> class Half:
/// ...     """Drops what would wait for longer than 10 ms."""
/// ...     def __init__(self):
/// ...         self.stored, self.bytes = [], 0
/// ...     def enqueue(self, p, line, out):
/// ...         if line.time_of(self.bytes + p.bytes) > 0.010:
/// ...             out.dropped(p, "arriving", "early")
/// ...         else:
/// ...             self.stored.append(p)
/// ...             self.bytes += p.bytes
/// ...     def dequeue(self, line, out):
/// ...         if not self.stored:
/// ...             return None
/// ...         self.bytes -= self.stored[0].bytes
/// ...         return self.stored.pop(0)
/// ...     def backlog(self):
/// ...         return len(self.stored)
/// >>> result = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue=Half).run(duration="5s")
/// >>> bool(result.links["sojourn_max_s"][0] <= 0.010)
/// True
#[pyclass(frozen, module = "tailback._core")]
pub struct Line {
    line: EngineLine,
    marking: bool,
}

impl Line {
    /// `marking` says whether the network marks.
    pub fn new(line: EngineLine, marking: bool) -> Line {
        Line { line, marking }
    }
}

#[pymethods]
impl Line {
    /// Time since the start of the run, seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.line.now.seconds()
    }

    /// The same time in whole nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.line.now.0
    }

    #[getter]
    fn rate_bps(&self) -> f64 {
        self.line.rate.bits_per_second()
    }

    /// The time at which the present transmission ends, seconds; None if the line is free.
    #[getter]
    fn busy_until(&self) -> Option<f64> {
        self.line.busy.map(|w| w.until.seconds())
    }

    /// The flow whose packet is being sent; None if the line is free.
    #[getter]
    fn busy_flow(&self) -> Option<u32> {
        self.line.busy.map(|w| w.flow.0)
    }

    /// Whether the network marks: `marking` of the scenario, or its default. A discipline that can mark should mark
    /// if this is true, and drop otherwise.
    #[getter]
    fn marking(&self) -> bool {
        self.marking
    }

    /// The seconds that this many bytes take on the line.
    fn time_of(&self, bytes: u32) -> f64 {
        self.line.time_of(bytes).seconds()
    }

    fn __repr__(&self) -> String {
        format!("<Line at {:?}, {}>", self.line.now, BitRate(self.line.rate.0))
    }
}

/// The result of `dequeue` if packets are stored but none may leave before `until`, in seconds since the start.
///
/// >>> class Slow:
/// ...     """A packet each 100 ms."""
/// ...     def __init__(self):
/// ...         self.stored, self.due = [], 0.0
/// ...     def enqueue(self, p, line, out):
/// ...         self.stored.append(p)
/// ...     def dequeue(self, line, out):
/// ...         if self.stored and line.now < self.due:
/// ...             return tb.Wait(self.due)
/// ...         self.due = line.now + 0.1
/// ...         return self.stored.pop(0) if self.stored else None
/// ...     def backlog(self):
/// ...         return len(self.stored)
/// >>> q = tb.drive(Slow)
/// >>> q.enqueue(tb.packet(), now=0.0)
/// >>> q.enqueue(tb.packet(), now=0.0)
/// >>> q.dequeue(now=0.0).bytes
/// 1500
/// >>> q.dequeue(now=0.05).until
/// 0.1
#[pyclass(frozen, module = "tailback._core")]
pub struct Wait {
    #[pyo3(get)]
    pub until: f64,
}

#[pymethods]
impl Wait {
    #[new]
    fn new(#[pyo3(from_py_with = given::number)] until: f64) -> PyResult<Wait> {
        if until.is_nan() {
            return Err(PyValueError::new_err(
                "Wait needs an instant, in seconds since the start of the run, not nan",
            ));
        }
        Ok(Wait { until })
    }

    fn __repr__(&self) -> String {
        format!("Wait({})", self.until)
    }
}

/// An instant given in seconds, limited to the longest possible run.
pub fn instant(seconds: f64) -> Time {
    Time::from_seconds(seconds).min(tailback_sim::wire::packet::MAX_TIME)
}
