//! Running a plan on all cores.
//!
//! Workers take runs in plan order from a shared counter; the calling thread collects what they finish, stores whole
//! chunks, and reports progress. A run that fails (or panics: that is our bug, not the user's loss) becomes a row, not an
//! end.

use crate::plan::store::{RunTables, Store, assemble};
use crate::plan::{Plan, Run};
use crate::results::{Outcome, Table};
use crate::run::{Hooks, QueueMaker, run};
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tailback_base::quantity::Refusal;

/// How to execute.
pub struct Execution<'a> {
    /// Where to store results; in memory only without it.
    pub dir: Option<PathBuf>,
    /// Worker threads; 0 for all cores.
    pub jobs: usize,
    /// Disciplines from outside, by port.
    pub queues: HashMap<String, QueueMaker<'a>>,
    /// Called a few times a second with the state; answers false to stop.
    pub progress: &'a mut dyn FnMut(&Report) -> bool,
}

/// How far a plan is.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub total: usize,
    /// Runs that were stored before this execution.
    pub reused: usize,
    pub done: usize,
    pub failed: usize,
    /// Share of the work done, from 0 to 1, parts of runs included.
    pub share: f64,
    pub elapsed_s: f64,
    /// Estimate of what remains; NaN while unknown.
    pub remaining_s: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Done,
    Failed(String),
}

/// What one run cost; kept out of the tables, which are the same on every machine.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    pub cpu_s: f64,
    pub packet_hops: u64,
    pub events: u64,
}

/// A plan's results.
pub struct Results {
    /// `runs`, `flows`, `groups`, `links`, `losses`, `intervals`, `series`, `log`, rows in plan order.
    pub tables: Vec<Table>,
    pub reports: Vec<RunReport>,
    pub report: Report,
    /// The first run that failed, and why.
    pub failure: Option<(Run, String)>,
    /// Stopped by `progress`.
    pub interrupted: bool,
    /// Storing failed; results are complete in memory, and what was stored before is kept.
    pub store_error: Option<io::Error>,
}

/// How often the caller is told, at most.
const TELL_EVERY: Duration = Duration::from_millis(200);

impl Plan {
    /// Run what is not yet stored.
    pub fn execute(&self, mut with: Execution) -> Results {
        let started = Instant::now();
        let mut store_error = None;
        let mut store = match with.dir.take().map(Store::open) {
            Some(Ok(s)) => Some(s),
            Some(Err(e)) => {
                store_error = Some(e);
                None
            }
            None => None,
        };
        let mut known: HashMap<String, RunTables> = store.as_mut().map(Store::take_known).unwrap_or_default();
        let mut seen = std::collections::HashSet::new();
        let todo: Vec<usize> = (0..self.runs.len())
            .filter(|i| !known.contains_key(&self.runs[*i].key) && seen.insert(self.runs[*i].key.clone()))
            .collect();
        let mut report = Report {
            total: self.runs.len(),
            reused: self.runs.len() - todo.len(),
            remaining_s: f64::NAN,
            ..Report::default()
        };
        report.done = report.reused;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = if with.jobs == 0 { cores } else { with.jobs }.min(todo.len().max(1));
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        // Hundredths of runs done.
        let work = AtomicU64::new(0);
        let mut costs: HashMap<usize, RunReport> = HashMap::new();
        let mut interrupted = false;
        let chunk = (todo.len() / 64).clamp(1, 32);
        let mut open_chunk: Vec<(String, RunTables)> = Vec::new();
        if store_error.is_none() {
            std::thread::scope(|scope| {
                // Bounded: workers never run far ahead of what is stored, so a stop loses little.
                let (send, receive) = mpsc::sync_channel::<(usize, RunTables, RunReport)>(jobs);
                for _ in 0..jobs {
                    let send = send.clone();
                    let (next, stop, work, todo, queues) = (&next, &stop, &work, &todo, &with.queues);
                    scope.spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            let Some(&i) = todo.get(next.fetch_add(1, Ordering::Relaxed)) else {
                                break;
                            };
                            let (tables, cost) = self.one(i, queues, stop, work);
                            if stop.load(Ordering::Relaxed) || send.send((i, tables, cost)).is_err() {
                                break;
                            }
                        }
                    });
                }
                drop(send);
                let mut told = Instant::now() - TELL_EVERY;
                loop {
                    let message = receive.recv_timeout(TELL_EVERY);
                    if let Err(mpsc::RecvTimeoutError::Disconnected) = message {
                        break;
                    }
                    if let Ok((i, tables, cost)) = message {
                        report.done += 1;
                        report.failed += usize::from(tables.status != Status::Done);
                        costs.insert(i, cost);
                        if store.is_some() {
                            open_chunk.push((self.runs[i].key.clone(), tables.clone()));
                        }
                        known.insert(self.runs[i].key.clone(), tables);
                        if open_chunk.len() >= chunk {
                            if let Some(e) = store.as_mut().and_then(|s| s.add_chunk(&open_chunk).err()) {
                                store_error.get_or_insert(e);
                                stop.store(true, Ordering::Relaxed);
                            }
                            open_chunk.clear();
                        }
                    }
                    if told.elapsed() >= TELL_EVERY || report.done == report.total {
                        told = Instant::now();
                        report.elapsed_s = started.elapsed().as_secs_f64();
                        let parts = work.load(Ordering::Relaxed) as f64 / 100.0;
                        report.share = if report.total == 0 {
                            1.0
                        } else {
                            (report.reused as f64 + parts) / report.total as f64
                        };
                        let left = todo.len() as f64 - parts;
                        report.remaining_s = if parts > 0.05 {
                            report.elapsed_s * left / parts
                        } else {
                            f64::NAN
                        };
                        if !(with.progress)(&report) {
                            interrupted = true;
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        if !open_chunk.is_empty() && store_error.is_none() {
            store_error = store.as_mut().and_then(|s| s.add_chunk(&open_chunk).err());
        }
        report.elapsed_s = started.elapsed().as_secs_f64();
        let complete = self.runs.iter().all(|r| known.contains_key(&r.key));
        let tables = assemble(self, &known);
        if complete && store_error.is_none() {
            store_error = store.and_then(|s| s.finish(&tables).err());
        }
        let failure = self.runs.iter().find_map(|r| match &known.get(&r.key)?.status {
            Status::Failed(why) => Some((r.clone(), why.clone())),
            Status::Done => None,
        });
        let reports = (0..self.runs.len())
            .map(|i| costs.remove(&i).unwrap_or_default())
            .collect();
        Results {
            tables,
            reports,
            report,
            failure,
            interrupted,
            store_error,
        }
    }

    fn one(
        &self,
        i: usize,
        queues: &HashMap<String, QueueMaker>,
        stop: &AtomicBool,
        work: &AtomicU64,
    ) -> (RunTables, RunReport) {
        let r = &self.runs[i];
        let before = thread_cpu_seconds();
        let done = std::cell::Cell::new(0u64);
        let progress = |share: f64| {
            let hundredths = (share * 100.0) as u64;
            work.fetch_add(hundredths - done.get(), Ordering::Relaxed);
            done.set(hundredths);
            !stop.load(Ordering::Relaxed)
        };
        let hooks = Hooks {
            queues: queues.clone(),
            progress: Some(&progress),
            library: None,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(&self.points[r.point].loaded.spec, r.seed, &hooks)
        }));
        let (status, outcome) = match outcome {
            Ok(Ok(o)) => (Status::Done, Some(o)),
            Ok(Err(e)) => (Status::Failed(e.to_string()), None),
            Err(panic) => {
                let text = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
                // A discipline from outside that cannot go on unwinds with a refusal; anything else is our bug.
                let why = match panic.downcast_ref::<Refusal>() {
                    Some(r) => r.to_string(),
                    None => format!("the engine stopped: {}", text.unwrap_or_default()),
                };
                (Status::Failed(why), None)
            }
        };
        work.fetch_add(100 - done.get(), Ordering::Relaxed);
        let engine = outcome.as_ref().map(|o: &Outcome| o.engine).unwrap_or_default();
        let cost = RunReport {
            cpu_s: thread_cpu_seconds() - before,
            packet_hops: engine.packet_hops,
            events: engine.events,
        };
        (RunTables::new(status, outcome), cost)
    }
}

/// CPU time of the calling thread, seconds; wall time where the system has no such clock.
pub fn thread_cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call fills the struct it is given.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) } == 0 {
            return t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9;
        }
    }
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Largest memory the process has held, bytes; 0 where the system does not say.
pub fn peak_rss_bytes() -> u64 {
    #[cfg(unix)]
    {
        // SAFETY: a zeroed rusage is valid, and the call fills it.
        let mut u: libc::rusage = unsafe { std::mem::zeroed() };
        if unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) } == 0 {
            let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
            return u.ru_maxrss as u64 * unit;
        }
    }
    0
}
