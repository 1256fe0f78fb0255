//! A rate control of media written in Python, as a sender of `rtp` drives it.
//!
//! The class is called with the terms ([`MediaTerms`]) and its own parameters. The object has `on_feedback(feedback)`
//! and the attribute `target`. It may have `pacing`, `window`, `burst`, `padding` and `timer`, and the methods
//! `on_frame(frame)`, `on_sent(sent)` and `on_timer(now)`. The class may have `report_every`, `report_packets`,
//! `report_frames` and `report_step`, which say when the receiver reports and how exactly. This is the contract of the
//! built-in rate controls ([`RateControl`](tailback_transport::rtp::control::RateControl)), call for call. Without
//! `pacing` packets leave at 1.5 times the target. Without `window` all paced packets may be in flight.
//!
//! The values that are read after a call are checked. An error ends only the run in which it occurs, as with congestion
//! controls.

use super::media::{MediaDeparture, MediaFeedback, MediaFrame, MediaPacket, MediaTerms};
use super::object::silent;
use super::{FASTEST, OwnClass, OwnObject, enter, flag, shown};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Ecn, Settings, Time};
use tailback_transport::rtp::control::{
    Fate, Feedback, LeavingPacket, RateControl, RateOutput, ReportRule, Terms, WrittenFrame,
};

/// The rate at which packets are paced if the class gives none, as a multiple of the target.
const PACE: f64 = 1.5;
/// The longest time between reports, s, and the least step of their arrival times.
const LONGEST: f64 = 3600.0;
const LEAST_STEP: f64 = 1e-9;
/// The longest burst, s, and the largest payload of a padding packet.
const LONGEST_BURST: f64 = 60.0;
const MOST_PADDING: f64 = 65_000.0;

/// The attributes that hold for all senders.
const FIXED: [&str; 4] = ["report_every", "report_packets", "report_frames", "report_step"];

/// The optional parts of the contract that the object has.
#[derive(Clone, Copy)]
struct RateParts {
    pacing: bool,
    window: bool,
    burst: bool,
    padding: bool,
    timer: bool,
    on_frame: bool,
    on_sent: bool,
}

pub struct ScriptedRate {
    own: OwnObject,
    on_feedback: Py<PyAny>,
    parts: RateParts,
    terms: Terms,
    output: RateOutput,
    timer: Option<Time>,
    now: Time,
}

/// The times at which the receiver of a class reports, and the precision of its reports.
pub fn class_rule(name: &str, class: &Bound<PyAny>) -> Result<ReportRule, Refusal> {
    let standard = ReportRule::RFC8888;
    let number_of = |what: &str, default: f64, least: f64| match class.getattr(what) {
        Err(_) => Ok(default),
        Ok(value) => match value.extract::<f64>() {
            Ok(x) if (least..=LONGEST).contains(&x) => Ok(x),
            _ => {
                let problem = format!("{name} has {what} = {}", shown(&value));
                Err(Refusal::new(
                    problem,
                    format!("give seconds from {least:e} to {LONGEST}"),
                ))
            }
        },
    };
    let packets = match class.getattr("report_packets") {
        Err(_) => standard.packets,
        Ok(value) => value.extract::<u32>().map_err(|_| {
            let problem = format!("{name} has report_packets = {}", shown(&value));
            Refusal::new(problem, "give a number of packets, or 0 to report by time alone")
        })?,
    };
    Ok(ReportRule {
        every: Duration::from_seconds(number_of("report_every", standard.every.seconds(), 1e-3)?),
        packets,
        frames: flag(name, class, "report_frames", standard.frames)?,
        step: Duration::from_seconds(number_of("report_step", standard.step.seconds(), LEAST_STEP)?),
    })
}

impl ScriptedRate {
    /// An object of the class, for a sender with these terms.
    ///
    /// # Errors
    /// The class raises, or its object does not fulfil the contract.
    pub fn make(class: &Arc<OwnClass>, settings: &Settings, terms: Terms) -> Result<ScriptedRate, Refusal> {
        let media_terms = MediaTerms {
            min: terms.min,
            start: terms.start,
            max: terms.max,
            ecn: match terms.ecn {
                Ecn::Ect0 => "ect0",
                Ecn::Ect1 => "ect1",
                _ => "off",
            },
        };
        OwnObject::make(class, settings, &FIXED, media_terms, |py, own| {
            let has = |what: &str| own.bind(py).hasattr(what).unwrap_or(false);
            let parts = RateParts {
                pacing: has("pacing"),
                window: has("window"),
                burst: has("burst"),
                padding: has("padding"),
                timer: has("timer"),
                on_frame: own.has_method(py, "on_frame")?,
                on_sent: own.has_method(py, "on_sent")?,
            };
            if parts.timer {
                own.needed(py, "on_timer", "now")?;
            }
            let mut control = ScriptedRate {
                on_feedback: own.needed(py, "on_feedback", "feedback")?,
                own,
                parts,
                terms,
                output: RateOutput {
                    target: terms.start,
                    pacing: PACE * terms.start,
                    window: u64::MAX,
                    burst: Duration::ZERO,
                    padding: 0,
                },
                timer: None,
                now: Time::ZERO,
            };
            control.take(py, "__init__")?;
            Ok(control)
        })
    }

    /// Call into Python, and then read the values that the sender uses.
    fn call(&mut self, method: &'static str, f: impl FnOnce(&Self, Python) -> PyResult<()>) {
        let calls = self.own.calls();
        enter(&calls, |py| {
            f(self, py).map_err(|e| self.own.failed(py, method, self.now, &e))?;
            self.take(py, method)
        });
    }

    /// Call an optional method with one argument.
    fn tell(&mut self, method: &'static str, argument: impl FnOnce(Python) -> PyResult<Bound<PyAny>>) {
        self.call(method, |c, py| {
            let bound = c.own.bind(py).getattr(method)?;
            quiet(&bound, &bound.call1((argument(py)?,))?)
        });
    }

    /// Whether this is the instant that the control requested before and that has come.
    fn is_due(&self, at: f64) -> bool {
        self.timer.is_some_and(|t| t <= self.now && t == Time::from_seconds(at))
    }

    /// Read target, pacing, window, burst, padding and timer.
    fn take(&mut self, py: Python, method: &'static str) -> Result<(), Refusal> {
        let left_by = |what: &str, hint: &str| self.own.left(py, method, what, self.now, hint);
        let unfit =
            |what: &str, value: &Bound<PyAny>, remedy: &str| Err(self.own.unfit(method, what, value, self.now, remedy));
        let target = left_by("target", "; terms.start is where the built-in controls begin")?;
        match target.extract::<f64>() {
            Ok(x) if x.is_finite() && x > 0.0 => self.output.target = self.terms.clamp(x),
            _ => return unfit("target", &target, "give bit/s on the wire, such as terms.start"),
        }
        self.output.pacing = PACE * self.output.target;
        if self.parts.pacing {
            let pacing = left_by("pacing", "")?;
            match pacing.extract::<Option<f64>>() {
                Ok(None) => {}
                Ok(Some(x)) if (1.0..=FASTEST).contains(&x) => self.output.pacing = x,
                _ => {
                    let remedy = "give bit/s from 1 to 1e15, or None for 1.5 times the target";
                    return unfit("pacing", &pacing, remedy);
                }
            }
        }
        if self.parts.window {
            let window = left_by("window", "")?;
            self.output.window = match window.extract::<Option<f64>>() {
                Ok(None) => u64::MAX,
                Ok(Some(x)) if x >= 1.0 => x as u64,
                _ => {
                    let remedy = "give bytes of at least 1, or None for no limit of what is in flight";
                    return unfit("window", &window, remedy);
                }
            };
        }
        if self.parts.burst {
            let burst = left_by("burst", "")?;
            self.output.burst = match burst.extract::<Option<f64>>() {
                Ok(None) => Duration::ZERO,
                Ok(Some(s)) if (0.0..=LONGEST_BURST).contains(&s) => Duration::from_seconds(s),
                _ => {
                    let remedy = "give seconds from 0 to 60: what takes so long at the pacing rate may leave at once";
                    return unfit("burst", &burst, remedy);
                }
            };
        }
        if self.parts.padding {
            let padding = left_by("padding", "")?;
            self.output.padding = match padding.extract::<Option<f64>>() {
                Ok(None) => 0,
                Ok(Some(bytes)) if (0.0..=MOST_PADDING).contains(&bytes) => bytes as u32,
                _ => {
                    let remedy = "give bytes of payload from 0 to 65000, or None for no padding";
                    return unfit("padding", &padding, remedy);
                }
            };
        }
        if self.parts.timer {
            let timer = left_by("timer", "")?;
            self.timer = match timer.extract::<Option<f64>>() {
                Ok(None) => None,
                // The timer is due, and on_timer comes after this call.
                Ok(Some(at)) if method != "on_timer" && self.is_due(at) => self.timer,
                // A timer that is set to the present instant again would never end.
                Ok(Some(at)) if at.is_finite() && at < 1e9 && at > self.now.seconds() => {
                    Some((Time::ZERO + Duration::from_seconds(at)).max(self.now + Duration(1)))
                }
                _ => {
                    let remedy = "give the time of on_timer in seconds of the run, later than now, or None";
                    return unfit("timer", &timer, remedy);
                }
            };
        }
        Ok(())
    }
}

/// A method that returns a value has misunderstood how the rate is given.
fn quiet(method: &Bound<PyAny>, answer: &Bound<PyAny>) -> PyResult<()> {
    silent("the rate is what self.target is set to", method, answer)
}

impl RateControl for ScriptedRate {
    fn on_frame(&mut self, f: &WrittenFrame) {
        self.now = f.now;
        if self.parts.on_frame {
            let frame = MediaFrame {
                now: f.now.seconds(),
                bytes: f.payload,
                waiting: f.waiting,
                waited: f.waited.seconds(),
            };
            self.tell("on_frame", |py| Ok(Bound::new(py, frame)?.into_any()));
        }
    }

    fn on_sent(&mut self, s: &LeavingPacket) {
        self.now = s.now;
        if self.parts.on_sent {
            let departure = MediaDeparture {
                now: s.now.seconds(),
                number: s.number,
                bytes: s.bytes,
                in_flight: s.in_flight,
                padding: s.is_padding,
            };
            self.tell("on_sent", |py| Ok(Bound::new(py, departure)?.into_any()));
        }
    }

    fn on_feedback(&mut self, f: &Feedback) {
        self.now = f.now;
        self.call("on_feedback", |control, py| {
            let packets = f.packets.iter().map(|p| {
                let (received, marked) = match p.fate {
                    Fate::Received { at, marked } => (Some(at.seconds()), marked),
                    Fate::Lost => (None, false),
                };
                Bound::new(
                    py,
                    MediaPacket {
                        number: p.number,
                        bytes: p.bytes,
                        sent: p.sent.seconds(),
                        received,
                        marked,
                    },
                )
            });
            let packets = packets.collect::<PyResult<Vec<_>>>()?;
            let feedback = MediaFeedback {
                now: f.now.seconds(),
                packets: PyTuple::new(py, packets)?.unbind(),
                rtt: f.rtt.seconds(),
                in_flight: f.in_flight,
            };
            let method = control.on_feedback.bind(py);
            quiet(method, &method.call1((feedback,))?)
        });
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, now: Time) {
        self.now = now;
        self.tell("on_timer", |py| Ok(now.seconds().into_pyobject(py)?.into_any()));
    }

    fn output(&self, _waiting: u64) -> RateOutput {
        self.output
    }

    fn read(&self, probe: usize) -> f64 {
        let Some(p) = self.own.class().model.probes.get(probe) else {
            return f64::NAN;
        };
        enter(&self.own.calls(), |py| {
            let value = self.own.left(py, "on_feedback", p.name, self.now, ", or in __init__")?;
            // A value that is not known yet is not recorded.
            let number = value.extract::<Option<f64>>().map(|x| x.unwrap_or(f64::NAN));
            number.map_err(|_| {
                self.own
                    .unfit("on_feedback", p.name, &value, self.now, "give a number, or None")
            })
        })
    }
}
