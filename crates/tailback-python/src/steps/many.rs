//! Many environments on all cores. Each stays in one thread from its beginning to its end.
//!
//! A step of all of them is a message to each thread and an answer from it; the interpreter lock is free meanwhile. An
//! environment's run depends on its own seed and actions only, so it is the same as the run of this environment alone.

use super::one::{packed, task};
use super::stepper::{StepTold, Stepper, Weights, steered_library};
use crate::scenario::Scenario;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The next task of an environment.
enum StepOrder {
    /// Begin a scenario, given by its number, with a seed.
    Reset(usize, u64),
    Step(Vec<f64>),
}

type StepAnswers = Vec<Result<StepTold, String>>;

struct Worker {
    orders: Option<Sender<Vec<StepOrder>>>,
    answers: Receiver<StepAnswers>,
    thread: Option<JoinHandle<()>>,
    /// The number of its environments.
    count: usize,
    /// The process to which the thread belongs.
    process: u32,
}

impl Worker {
    fn new(
        count: usize,
        stop: Arc<AtomicBool>,
        make: impl Fn() -> Stepper + Send + 'static,
    ) -> std::io::Result<Worker> {
        let (orders, incoming) = channel::<Vec<StepOrder>>();
        let (outgoing, answers) = channel();
        let thread = Builder::new().name("tailback-steps".into()).spawn(move || {
            let mut all: Vec<Stepper> = (0..count).map(|_| make()).collect();
            let mut stop = || stop.load(Ordering::Relaxed);
            for orders in incoming {
                let done = all.iter_mut().zip(orders).map(|(env, order)| match order {
                    StepOrder::Reset(which, seed) => env.reset(which, seed),
                    StepOrder::Step(action) => env.step(&action, &mut stop),
                });
                if outgoing.send(done.collect()).is_err() {
                    break;
                }
            }
        })?;
        Ok(Worker {
            orders: Some(orders),
            answers,
            thread: Some(thread),
            count,
            process: process::id(),
        })
    }

    /// The answer of the thread. While the thread works, `asked` is called ten times a second.
    fn answer(&self, asked: &mut dyn FnMut()) -> Option<StepAnswers> {
        loop {
            match self.answers.recv_timeout(Duration::from_millis(100)) {
                Ok(answers) => return Some(answers),
                Err(RecvTimeoutError::Timeout) => asked(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The thread ends because no more orders can come.
        self.orders = None;
        let thread = self.thread.take();
        // A forked process does not have the thread, so it cannot wait for the thread.
        match thread {
            Some(thread) if self.process == process::id() => drop(thread.join()),
            other => std::mem::forget(other),
        }
    }
}

/// Runs under agents, on several threads.
#[pyclass(frozen, module = "tailback._core")]
pub struct StepEnvs {
    workers: Mutex<Vec<Worker>>,
    count: usize,
    /// A flag that makes steps under way end soon.
    stop: Arc<AtomicBool>,
}

/// All observations, the rewards, which environments are over, and the facts, one environment after the other.
type Replies<'py> = (Bound<'py, PyBytes>, Vec<f64>, Vec<bool>, Vec<[f64; 5]>);

impl StepEnvs {
    fn workers(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Give every environment its order, and wait for all answers; `asked` is called meanwhile.
    fn all(&self, orders: Vec<StepOrder>, asked: &mut dyn FnMut()) -> Result<Vec<StepTold>, String> {
        let workers = self.workers();
        if workers.iter().any(|w| w.process != process::id()) {
            return Err("a vector environment does not survive fork(); make it in the process that uses it".into());
        }
        let closed = || "the environments are closed".to_string();
        if workers.is_empty() {
            return Err(closed());
        }
        let mut orders = orders.into_iter();
        for w in workers.iter() {
            let own: Vec<StepOrder> = orders.by_ref().take(w.count).collect();
            w.orders.as_ref().and_then(|to| to.send(own).ok()).ok_or_else(closed)?;
        }
        // Every answer is taken, so that no answer is left for the next step.
        let answers: Vec<Option<StepAnswers>> = workers.iter().map(|w| w.answer(asked)).collect();
        let mut replies = Vec::with_capacity(self.count);
        for of_worker in answers {
            for reply in of_worker.ok_or_else(closed)? {
                let number = replies.len();
                replies.push(reply.map_err(|e| format!("environment {number}: {e}"))?);
            }
        }
        Ok(replies)
    }

    fn replies<'py>(&self, py: Python<'py>, orders: Vec<StepOrder>) -> PyResult<Replies<'py>> {
        let mut raised = None;
        let mut check_signals = || {
            if raised.is_none() {
                raised = Python::attach(|py| py.check_signals().err());
                self.stop.store(raised.is_some(), Ordering::Relaxed);
            }
        };
        let replies = py.detach(|| self.all(orders, &mut check_signals));
        self.stop.store(false, Ordering::Relaxed);
        if let Some(e) = raised {
            return Err(e);
        }
        let replies = replies.map_err(PyRuntimeError::new_err)?;
        let seen = packed(py, replies.iter().flat_map(|t| t.seen.iter().copied()));
        let rewards = replies.iter().map(|t| t.reward).collect();
        let over = replies.iter().map(|t| t.over).collect();
        Ok((seen, rewards, over, replies.iter().map(|t| t.facts).collect()))
    }
}

#[pymethods]
impl StepEnvs {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    #[pyo3(signature = (scenarios, count, threads, interval_s, weights, port = None, buffer = "1000 packets",
        by_rate = false))]
    fn new(
        scenarios: Vec<Bound<Scenario>>,
        count: usize,
        threads: usize,
        interval_s: Option<f64>,
        weights: (f64, f64),
        port: Option<String>,
        buffer: &str,
        by_rate: bool,
    ) -> PyResult<StepEnvs> {
        if count == 0 {
            return Err(PyValueError::new_err("give at least one environment"));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores } else { threads }.min(count);
        let loaded: Vec<_> = scenarios.iter().map(|s| s.get().loaded.clone()).collect();
        let task = task(interval_s, port, buffer, by_rate)?;
        let weights = Weights {
            delay: weights.0,
            loss: weights.1,
        };
        let (library, stop) = (steered_library(), Arc::new(AtomicBool::new(false)));
        let mut workers = Vec::new();
        for i in 0..threads {
            let own = count / threads + usize::from(i < count % threads);
            let (loaded, task, library) = (loaded.clone(), task.clone(), library.clone());
            let make = move || Stepper::new(loaded.clone(), task.clone(), weights, library.clone());
            workers.push(Worker::new(own, stop.clone(), make)?);
        }
        Ok(StepEnvs {
            workers: Mutex::new(workers),
            count,
            stop,
        })
    }

    /// Begin these scenarios, each with its seed.
    fn reset<'py>(&self, py: Python<'py>, begins: Vec<(usize, u64)>) -> PyResult<Replies<'py>> {
        self.matches(begins.len())?;
        let orders = begins.into_iter().map(|(which, seed)| StepOrder::Reset(which, seed));
        self.replies(py, orders.collect())
    }

    /// Act in each environment by its action. If a scenario and a seed are given for it, the environment begins that
    /// scenario instead.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: Vec<Vec<f64>>,
        begins: Vec<Option<(usize, u64)>>,
    ) -> PyResult<Replies<'py>> {
        self.matches(actions.len())?;
        self.matches(begins.len())?;
        let orders = actions.into_iter().zip(begins).map(|(action, begin)| match begin {
            Some((which, seed)) => StepOrder::Reset(which, seed),
            None => StepOrder::Step(action),
        });
        self.replies(py, orders.collect())
    }

    /// End the threads.
    fn close(&self, py: Python) {
        py.detach(|| self.workers().clear());
    }

    fn __len__(&self) -> usize {
        self.count
    }
}

impl StepEnvs {
    fn matches(&self, given: usize) -> PyResult<()> {
        match given == self.count {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!(
                "there are {} environments, and {given} are given",
                self.count
            ))),
        }
    }
}
