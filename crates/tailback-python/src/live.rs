//! Real packets from Python: the box between two devices, and the functions with which a process makes its own network.

use crate::control::library;
use crate::os_error::os_error;
use crate::results::Results;
use crate::scenario::Scenario;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use tailback_base::model::Value;
use tailback_base::{Duration, FlowId, Settings as BaseSettings, Size, Time};
use tailback_capture::pcapng::Capture;
use tailback_live::conversations::{Conversations, Learned};
use tailback_live::crossing::{BoxSide, Crossing};
use tailback_live::device::{self, Device};
use tailback_live::gateway::{self, Quality, Settings};
use tailback_live::inside;
use tailback_live::recording::{Recording, replay};
use tailback_live::sys;
use tailback_live::wire::Tuple;
use tailback_plan::tables::{Assembly, Frame, RunTables};
use tailback_plan::{Key, Run, Status};
use tailback_scenario::Loaded;
use tailback_sim::build::alone::{Alone, source_alone, writes_alone};
use tailback_sim::library::Library;
use tailback_sim::spec::{GroupSpec, Target};
use tailback_transport::tcp::config::EcnMode;

fn refused(e: impl ToString) -> PyErr {
    PyRuntimeError::new_err(e.to_string())
}

/// The network of a scenario for real packets. Times are seconds since the beginning of this network.
#[pyclass(module = "tailback._core", unsendable)]
pub struct LiveBox {
    loaded: Arc<Loaded>,
    seed: u64,
    crossing: Option<Crossing>,
    capture: Option<(Capture<BufWriter<File>>, PathBuf)>,
}

impl LiveBox {
    fn open(&mut self) -> PyResult<&mut Crossing> {
        self.crossing.as_mut().ok_or_else(|| refused("the run is over"))
    }
}

/// A conversation in Python: source, destination, protocol, ports.
type Conversation = (IpAddr, IpAddr, u8, u16, u16);

#[pymethods]
impl LiveBox {
    /// `conversations` are the addresses of each flow's packets, with the number of the flow. By default each new
    /// conversation takes a free flow.
    #[new]
    #[pyo3(signature = (scenario, seed, conversations = None))]
    fn new(scenario: &Scenario, seed: u64, conversations: Option<Vec<(Conversation, u32)>>) -> PyResult<LiveBox> {
        let numbering = match conversations {
            None => {
                let flows: u32 = scenario.loaded.spec.flows.iter().map(|g| g.count).sum();
                Conversations::Learned(Learned::new(flows.max(1)))
            }
            Some(all) => {
                let tuple = |(source, destination, protocol, from, to): Conversation| Tuple {
                    source,
                    destination,
                    protocol,
                    ports: [from, to],
                };
                Conversations::Declared(all.into_iter().map(|(c, i)| (tuple(c), FlowId(i))).collect())
            }
        };
        let crossing = Crossing::new(&scenario.loaded.spec, seed, numbering).map_err(refused)?;
        Ok(LiveBox {
            loaded: scenario.loaded.clone(),
            seed,
            crossing: Some(crossing),
            capture: None,
        })
    }

    /// For each flow: its name, the time at which it starts, and the time at which it stops if that is before the end.
    fn flows(&mut self) -> PyResult<Vec<(String, f64, Option<f64>)>> {
        let crossing = self.open()?;
        let names = crossing.names().flows.into_iter().zip(0u32..);
        let row = |(name, i)| {
            let (start, stop) = crossing.schedule(FlowId(i));
            (name, start.seconds(), stop.map(Time::seconds))
        };
        Ok(names.map(row).collect())
    }

    /// For each flow that has had a conversation: its name, the first conversation, and the number of conversations.
    fn had(&mut self) -> PyResult<Vec<(String, Conversation, u64)>> {
        let crossing = self.open()?;
        let (names, conversations) = (crossing.names().flows, crossing.had());
        let row = |(flow, t, n): (FlowId, Tuple, u64)| {
            let [from, to] = t.ports;
            let first = (t.source, t.destination, t.protocol, from, to);
            (names[flow.0 as usize].to_string(), first, n)
        };
        Ok(conversations.into_iter().map(row).collect())
    }

    /// Datagrams of these flows have numbers. With `measured` their ends measure delays and arrivals themselves.
    fn number(&mut self, flows: Vec<u32>, measured: bool) -> PyResult<()> {
        let crossing = self.open()?;
        for flow in flows.into_iter().map(FlowId) {
            crossing.expect_numbers(flow);
            if measured {
                crossing.expect_measures(flow);
            }
        }
        Ok(())
    }

    /// The measurements of the ends of a flow of datagrams: number and delay of each datagram that arrived, and number
    /// and round trip of each datagram whose answer is back.
    fn measures(&mut self, flow: u32, there: Vec<(u64, f64)>, back: Vec<(u64, f64)>) -> PyResult<()> {
        let times = |all: Vec<(u64, f64)>| -> Vec<(u64, Duration)> {
            all.into_iter().map(|(n, s)| (n, Duration::from_seconds(s))).collect()
        };
        self.open()?.measures(FlowId(flow), &times(there), &times(back));
        Ok(())
    }

    /// Store every arrival and every decision.
    fn record(&mut self) -> PyResult<()> {
        self.open()?.recording = Some(Recording::default());
        Ok(())
    }

    /// Write the packets that arrive at the queue of a link, in both directions, as pcapng.
    fn capture(&mut self, py: Python, link: &str, path: PathBuf) -> PyResult<()> {
        let failed = |e: io::Error| os_error(py, e, Some(path.clone()));
        let file = File::create(&path).map_err(failed)?;
        let capture = Capture::new(link, BufWriter::new(file)).map_err(failed)?;
        self.open()?.capture(|names, frames| capture.tap_real(names, frames));
        self.capture = Some((capture, path));
        Ok(())
    }

    /// Forward packets between two devices until the end, and report the quality. `ask` is called with the state
    /// about twenty times a second; the run ends if it returns false or raises an exception.
    #[pyo3(signature = (near, far, begin_ns, seconds, watch_s, real_time, ask))]
    #[allow(clippy::too_many_arguments)] // The arguments are named in Python.
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        near: i32,
        far: i32,
        begin_ns: u64,
        seconds: f64,
        watch_s: f64,
        real_time: bool,
        ask: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let devices = [Device::take(near)?, Device::take(far)?];
        let crossing = self.open()?;
        let settings = Settings {
            begin: begin_ns,
            end: Time::from_seconds(seconds),
            watch: Duration::from_seconds(watch_s),
            real_time,
        };
        let mut raised = None;
        let mut go_on = |c: &Crossing, q: &Quality| {
            let answer = said(py, c, q).and_then(|state| {
                py.check_signals()?;
                ask.call1(py, (state,))?.extract::<bool>(py)
            });
            answer.unwrap_or_else(|e| {
                raised = Some(e);
                false
            })
        };
        let done = gateway::run(crossing, [&devices[0], &devices[1]], settings, &mut go_on);
        if let Some(e) = raised {
            return Err(e);
        }
        let quality = done.map_err(|failure| {
            let which = match failure.side {
                BoxSide::Near => "near",
                BoxSide::Far => "far",
            };
            PyOSError::new_err(format!("the {which} interface has stopped working: {}", failure.error))
        })?;
        said(py, crossing, &quality)
    }

    /// Values from a sender's kernel about its flow in the measured time; the packets give the rest.
    #[pyo3(signature = (flow, *, timeouts, rtt, limited_s))]
    fn know(&mut self, flow: u32, timeouts: u64, rtt: Vec<f64>, limited_s: [f64; 3]) -> PyResult<()> {
        if let Some(ends) = self.open()?.ends_mut(FlowId(flow)) {
            let s = &mut ends.senders[0];
            s.timeouts = timeouts;
            s.rtt_samples = rtt.len() as u64;
            s.rtt_sum = rtt.iter().sum();
            rtt.iter().for_each(|r| s.rtt.note(*r));
            let [network, window, application] = limited_s.map(Duration::from_seconds);
            (s.limited_by_network, s.limited_by_window_cap) = (network, window);
            s.limited_by_application = application;
        }
        Ok(())
    }

    /// Add a series from the ends: congestion window (segments), round-trip time of a connection or of datagrams (s).
    fn add_series(&mut self, what: &str, probe: &str, points: Vec<(f64, f64)>) -> PyResult<()> {
        let unit = match probe {
            "cwnd" | "ssthresh" => "segments",
            "srtt" | "round_trip" => "s",
            other => return Err(PyValueError::new_err(format!("a kernel does not tell {other}"))),
        };
        let points: Vec<(Time, f64)> = points.into_iter().map(|(t, v)| (Time::from_seconds(t), v)).collect();
        self.open()?.add_series(what, probe, unit, &points);
        Ok(())
    }

    /// The run is over: returns its tables, and the number of packets in a capture.
    fn finish(&mut self, py: Python, seconds: f64) -> PyResult<LiveRun> {
        let crossing = self.crossing.take().ok_or_else(|| refused("the run is over"))?;
        let (outcome, recording) = crossing.finish(Time::from_seconds(seconds)).map_err(refused)?;
        let captured = match self.capture.take() {
            None => 0,
            Some((capture, path)) => capture.finish().map_err(|e| os_error(py, e, Some(path)))?,
        };
        // This is not the key of a simulated run, because a folder of live runs cannot serve as a store of simulated
        // runs.
        let name = format!("live {} {} {}", self.loaded.digest, self.seed, sys::monotonic());
        Ok(LiveRun {
            run: RunTables::new(Status::Done, Some(outcome)),
            seed: self.seed,
            key: Key::of(name.bytes()),
            captured,
            recording: recording.map(|r| r.to_text()),
        })
    }
}

/// The state of the run, for `ask`.
fn said<'py>(py: Python<'py>, c: &Crossing, q: &Quality) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let lateness = &q.lateness;
    dict.set_item("time_s", q.now.seconds())?;
    dict.set_item("entered_packets", c.passed.entered)?;
    dict.set_item("emitted_packets", lateness.count())?;
    dict.set_item("emitted_marked_packets", c.passed.emitted_marked)?;
    let [to_near, to_far] = c.passed.emitted_bytes;
    dict.set_item("near_bytes", to_near)?;
    dict.set_item("far_bytes", to_far)?;
    dict.set_item("inside_packets", c.inside())?;
    dict.set_item("strangers_packets", c.passed.strangers)?;
    dict.set_item("refused_packets", q.refused)?;
    dict.set_item("beside_packets", q.beside)?;
    dict.set_item("lost_packets", q.lost)?;
    dict.set_item("lateness_p50_s", lateness.quantile(0.5))?;
    dict.set_item("lateness_p99_s", lateness.quantile(0.99))?;
    dict.set_item("lateness_max_s", lateness.max())?;
    let longest = c.longest_stretch();
    dict.set_item("busy_stretch_s", longest.map_or(0.0, |s| s.length().seconds()))?;
    dict.set_item("busy_stretch_bps", longest.map_or(f64::NAN, |s| s.rate()))?;
    dict.set_item("cpu_s", q.cpu as f64 * 1e-9)?;
    dict.set_item("working_s", q.working as f64 * 1e-9)?;
    dict.set_item("real_time", q.real_time)?;
    Ok(dict)
}

/// The groups of flows of a scenario with the resolved settings of their transport and traffic, for code that
/// reproduces them with a kernel. Times are in seconds, rates in bit/s, sizes are (number, "packets" or "bytes"), and
/// `None` stands for a missing limit.
#[pyfunction]
pub fn live_groups<'py>(py: Python<'py>, scenario: &Scenario) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let groups = scenario.loaded.spec.flows.iter();
    let row = |group: &GroupSpec| {
        let dict = PyDict::new(py);
        dict.set_item("name", &group.name)?;
        dict.set_item("from", &group.from)?;
        dict.set_item("to", &group.to)?;
        dict.set_item("count", group.count)?;
        dict.set_item("transport", settings(py, &group.transport)?)?;
        let tcp = library(true).transports.tcp(&group.transport);
        dict.set_item("uses_ecn", tcp.is_some_and(|c| c.ecn == EcnMode::On))?;
        dict.set_item("traffic", settings(py, &group.traffic)?)?;
        dict.set_item("sizes", settings(py, &group.sizes)?)?;
        let source = Library::standard().source(group.traffic.model).map_err(refused)?;
        dict.set_item("writes_alone", writes_alone(source))?;
        let names_given = group.transport.model.params.iter().map(|p| p.name);
        let names_given: Vec<&str> = names_given.filter(|p| group.transport.is_given(p)).collect();
        dict.set_item("given", names_given)?;
        dict.set_item("dscp", group.dscp.0)?;
        let of_it = |what: &Target| {
            *what
                == Target::Flows {
                    group: group.name.clone(),
                    only: None,
                    reverse: false,
                }
        };
        let recorded = scenario.loaded.spec.record.iter().filter(|r| of_it(&r.what));
        let probes: Vec<&String> = recorded.flat_map(|r| &r.probes).collect();
        dict.set_item("recorded", probes)?;
        Ok(dict)
    };
    groups.map(row).collect()
}

/// The writes of the source of one flow and their times, as in a simulation with the same seed. The source gets no
/// feedback.
#[pyclass(module = "tailback._core", unsendable)]
pub struct LiveSource {
    source: Alone,
}

#[pymethods]
impl LiveSource {
    /// `index` is the number of the flow in its group.
    #[new]
    fn new(scenario: &Scenario, seed: u64, group: &str, index: u32) -> PyResult<LiveSource> {
        let spec = &scenario.loaded.spec;
        let group_spec = spec.flows.iter().find(|g| g.name == group && index < g.count);
        let none = || PyValueError::new_err(format!("no source of flow {index} of {group:?} writes by itself"));
        let source = source_alone(spec, seed, group_spec.ok_or_else(none)?, index).map_err(refused)?;
        Ok(LiveSource {
            source: source.ok_or_else(none)?,
        })
    }

    /// The bytes of each write until this time, in order.
    fn until(&mut self, seconds: f64) -> Vec<u64> {
        let written = self.source.until(Time::from_seconds(seconds));
        written.into_iter().map(|w| w.1).collect()
    }

    /// The earliest time of its next write.
    fn next(&self) -> Option<f64> {
        self.source.next().map(Time::seconds)
    }
}

fn settings<'py>(py: Python<'py>, s: &BaseSettings) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("kind", s.model.name)?;
    for p in s.model.params {
        dict.set_item(p.name, value(py, s.value(p.name))?)?;
    }
    Ok(dict)
}

fn value<'py>(py: Python<'py>, v: &Value) -> PyResult<Bound<'py, PyAny>> {
    let size = |s: &Size| match s {
        Size::Unlimited => None,
        Size::Packets(n) => Some((*n, "packets")),
        Size::Bytes(n) => Some((*n, "bytes")),
    };
    Ok(match v {
        Value::None => py.None().into_bound(py),
        Value::Flag(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Count(n) => n.into_pyobject(py)?.into_any(),
        Value::Real(x) => x.into_pyobject(py)?.into_any(),
        Value::Time(t) => t.seconds().into_pyobject(py)?.into_any(),
        Value::Rate(r) => r.bits_per_second().into_pyobject(py)?.into_any(),
        Value::Size(s) => size(s).into_pyobject(py)?.into_any(),
        Value::Level(l) => format!("{l:?}").into_pyobject(py)?.into_any(),
        Value::Text(t) => t.into_pyobject(py)?.into_any(),
        Value::Model(s) => settings(py, s)?.into_any(),
        Value::List(all) => {
            let items = all.iter().map(|v| value(py, v)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
    })
}

/// One finished run.
#[pyclass(frozen, module = "tailback._core")]
pub struct LiveRun {
    run: RunTables,
    seed: u64,
    key: Key,
    /// Packets in the capture.
    #[pyo3(get)]
    captured: u64,
    /// Arrivals and decisions as text, if they were kept.
    #[pyo3(get)]
    recording: Option<String>,
}

/// The results of some runs, in the form of a plan's results. `elapsed_s` is the time that the runs took.
#[pyfunction]
pub fn live_results(py: Python, runs: Vec<Py<LiveRun>>, elapsed_s: f64) -> PyResult<Results> {
    let mut all = Assembly::new();
    let mut tables = vec![];
    for (i, r) in runs.iter().enumerate() {
        let r = r.get();
        let run = Run {
            point: 0,
            replication: i as u64,
            seed: r.seed,
            key: r.key,
        };
        let frame = Frame {
            position: Some(i as u64),
            run: &run,
            labels: vec![],
        };
        all.add(&frame, &r.run);
        if i + 1 == runs.len() {
            tables = std::mem::take(&mut all).tables(&frame);
        }
    }
    Results::of_tables(py, tables, elapsed_s)
}

/// Replay a recording's arrivals in the simulator; returns arrivals and decisions as text.
#[pyfunction]
pub fn live_replay(scenario: &Scenario, seed: u64, recording: &str, seconds: f64) -> PyResult<String> {
    let recorded = Recording::from_text(recording).map_err(PyValueError::new_err)?;
    let to = Time::from_seconds(seconds);
    let again = replay(&scenario.loaded.spec, seed, &recorded.arrivals, to).map_err(refused)?;
    Ok(again.to_text())
}

/// Make a network for this process alone, as root or in its own user namespace. Nothing else on the machine is changed.
#[pyfunction]
pub fn own_network(py: Python, user_namespace: bool) -> PyResult<()> {
    let become_root = || match user_namespace {
        true => sys::become_root_of_nothing(),
        false => Ok(()),
    };
    let all = become_root()
        .and_then(|()| sys::leave_network())
        .and_then(|()| sys::die_with_parent());
    all.map_err(|e| os_error(py, e, None))
}

/// Let the kernel end this process when its parent ends, for whatever reason.
#[pyfunction]
pub fn end_with_parent(py: Python) -> PyResult<()> {
    sys::die_with_parent().map_err(|e| os_error(py, e, None))
}

/// Enter the network at this path, such as `/run/netns/blue`.
#[pyfunction]
pub fn join_network(py: Python, path: PathBuf) -> PyResult<()> {
    let all = sys::join_network(&path).and_then(|()| sys::die_with_parent());
    all.map_err(|e| os_error(py, e, Some(path)))
}

/// Enter the user namespace at this path.
#[pyfunction]
pub fn join_user(py: Python, path: PathBuf) -> PyResult<()> {
    inside::join_user(&path).map_err(|e| os_error(py, e, Some(path)))
}

/// Give this process mounts of its own, and its next child a namespace of processes, in which that child is the first.
#[pyfunction]
pub fn own_mounts_and_processes(py: Python) -> PyResult<()> {
    inside::own_mounts_and_processes().map_err(|e| os_error(py, e, None))
}

/// Let `target` show the file `source`.
#[pyfunction]
pub fn show_at(py: Python, source: PathBuf, target: PathBuf) -> PyResult<()> {
    inside::show_at(&source, &target).map_err(|e| os_error(py, e, Some(target)))
}

/// Mount a file system without a device, such as proc.
#[pyfunction]
pub fn mount_new(py: Python, kind: PathBuf, target: PathBuf) -> PyResult<()> {
    inside::mount_new(&kind, &target).map_err(|e| os_error(py, e, Some(target)))
}

/// Remove the uppermost mount at `target`.
#[pyfunction]
pub fn unmount(py: Python, target: PathBuf) -> PyResult<()> {
    inside::unmount(&target).map_err(|e| os_error(py, e, Some(target)))
}

/// Become this user again, in a user namespace whose root this process is.
#[pyfunction]
pub fn be_user_again(py: Python, user: u32, group: u32) -> PyResult<()> {
    inside::be_user_again(user, group).map_err(|e| os_error(py, e, None))
}

/// A TUN device in the network of this process. It exists as long as its descriptor.
#[pyfunction]
pub fn make_tun(py: Python, name: &str) -> PyResult<i32> {
    let device = device::make_tun(name).map_err(|e| os_error(py, e, None))?;
    Ok(device.into_raw_fd())
}

/// A descriptor for the frames of an interface in the network of this process. The interface is not changed.
#[pyfunction]
pub fn open_interface(py: Python, name: &str) -> PyResult<i32> {
    let socket = device::open_interface(name).map_err(|e| os_error(py, e, None))?;
    Ok(socket.into_raw_fd())
}

/// Whether this thread may have real-time priority.
#[pyfunction]
pub fn may_be_real_time() -> bool {
    sys::set_real_time(true)
        .and_then(|()| sys::set_real_time(false))
        .is_ok()
}

pub fn add(m: &Bound<PyModule>) -> PyResult<()> {
    m.add_class::<LiveBox>()?;
    m.add_class::<LiveRun>()?;
    m.add_class::<LiveSource>()?;
    m.add_function(wrap_pyfunction!(live_groups, m)?)?;
    m.add_function(wrap_pyfunction!(live_results, m)?)?;
    m.add_function(wrap_pyfunction!(live_replay, m)?)?;
    m.add_function(wrap_pyfunction!(own_network, m)?)?;
    m.add_function(wrap_pyfunction!(end_with_parent, m)?)?;
    m.add_function(wrap_pyfunction!(join_network, m)?)?;
    m.add_function(wrap_pyfunction!(join_user, m)?)?;
    m.add_function(wrap_pyfunction!(own_mounts_and_processes, m)?)?;
    m.add_function(wrap_pyfunction!(show_at, m)?)?;
    m.add_function(wrap_pyfunction!(mount_new, m)?)?;
    m.add_function(wrap_pyfunction!(unmount, m)?)?;
    m.add_function(wrap_pyfunction!(be_user_again, m)?)?;
    m.add_function(wrap_pyfunction!(make_tun, m)?)?;
    m.add_function(wrap_pyfunction!(open_interface, m)?)?;
    m.add_function(wrap_pyfunction!(may_be_real_time, m)?)
}
