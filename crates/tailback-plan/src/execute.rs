//! Running a plan on all cores.
//!
//! Workers take runs in plan order from a shared counter. The calling thread collects the finished runs, passes them
//! to the keeper, and reports progress. A run that fails (or panics, which is a bug of ours) becomes a row and does
//! not end the plan.

use crate::keeper::{Ending, Keeper, Kept, Memory};
use crate::plan::{Plan, Run};
use crate::report::{RunReport, Status};
use crate::tables::RunTables;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tailback_base::quantity::Refusal;
use tailback_sim::build::hooks::{Hooks, QueueMaker};
use tailback_sim::library::{Library, outside};
use tailback_sim::results::{Outcome, Table};
use tailback_sim::run::run;

/// Called for each simulated run with its position in the plan and its tables. Returns false to stop.
pub type Each<'a> = dyn FnMut(usize, &RunTables) -> bool + 'a;

/// The wrapper of a thread's work.
pub type Around<'a> = &'a (dyn Fn(&mut dyn FnMut()) + Sync);

/// Settings of an execution.
pub struct Execution<'a> {
    /// The folder for results; `None` keeps them in memory only.
    pub keep: Option<crate::store::Keep>,
    /// Worker threads; 0 for all cores.
    pub jobs: usize,
    /// Queue disciplines from outside, by port.
    pub queues: HashMap<String, QueueMaker<'a>>,
    /// Queue disciplines from outside, by the class that scenarios name.
    pub classes: HashMap<String, QueueMaker<'a>>,
    /// The library with which the scenarios were read, if it is not the standard library.
    pub library: Option<&'a Library>,
    /// Check the laws that hold in every run; a run that breaks a law has failed.
    pub laws: bool,
    /// Each thread calls this function with all of its work, and the function has to do the work. By default the work
    /// is done directly.
    pub around: Option<Around<'a>>,
    /// Called several times a second with the state; returns false to stop.
    pub progress: &'a mut dyn FnMut(&Report) -> bool,
    /// Called as soon as a run's tables are ready.
    pub each: Option<&'a mut Each<'a>>,
}

impl<'a> Execution<'a> {
    /// Settings for an execution in memory, on all cores.
    pub fn new(progress: &'a mut dyn FnMut(&Report) -> bool) -> Execution<'a> {
        Execution {
            keep: None,
            jobs: 0,
            queues: HashMap::new(),
            laws: false,
            classes: HashMap::new(),
            library: None,
            around: None,
            progress,
            each: None,
        }
    }
}

/// The progress of a plan.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub total: usize,
    /// Runs that were already stored before this execution.
    pub reused: usize,
    pub done: usize,
    pub failed: usize,
    /// Share of the work done, from 0 to 1, including parts of runs.
    pub share: f64,
    pub elapsed_s: f64,
    /// Estimate of the remaining time; NaN while unknown.
    pub remaining_s: f64,
}

/// A plan's results.
pub struct Results {
    /// `runs`, `flows`, `groups`, `links`, `losses`, `intervals`, `series`, `log`; rows are in plan order.
    pub kept: Kept,
    pub reports: Vec<RunReport>,
    pub report: Report,
    /// The first run that failed, and why.
    pub failure: Option<(Run, String)>,
    /// Stopped by `progress`.
    pub interrupted: bool,
    /// Storing failed; results that were stored before are kept.
    pub store_error: Option<io::Error>,
    /// Damaged files of the store; their runs were run again.
    pub damaged: Vec<PathBuf>,
    /// The number of stored runs of other plans that were removed.
    pub replaced: usize,
}

impl Results {
    /// One of the tables.
    ///
    /// # Errors
    /// A stored table cannot be read.
    pub fn table(&self, name: &str) -> io::Result<Table> {
        match &self.kept {
            Kept::Tables(all) => match all.iter().find(|t| t.name == name) {
                Some(t) => Ok(t.clone()),
                None => Err(io::Error::other(format!("there is no table {name}"))),
            },
            Kept::Stored(dir) => crate::store::read_table(dir, name),
        }
    }
}

/// The least time between two progress reports.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// A finished run on its way from a worker.
type Finished = (usize, RunTables, RunReport);

/// State shared by the workers and the collecting thread.
struct WorkState<'a> {
    todo: Vec<usize>,
    next: AtomicUsize,
    stop: AtomicBool,
    /// Hundredths of runs done.
    work: AtomicU64,
    queues: HashMap<String, QueueMaker<'a>>,
    classes: HashMap<String, QueueMaker<'a>>,
    library: Option<&'a Library>,
    laws: bool,
    around: Option<Around<'a>>,
}

impl Plan {
    /// Run the points that are not stored yet.
    pub fn execute(&self, with: Execution) -> Results {
        let started = Instant::now();
        let keeper: io::Result<Box<dyn Keeper + '_>> = self.keeper(&with);
        let (mut keeper, mut error) = match keeper {
            Ok(k) => (k, None),
            Err(e) => (Box::new(Memory::new(self)) as Box<dyn Keeper>, Some(e)),
        };
        let mut seen = std::collections::HashSet::new();
        let todo: Vec<usize> = (0..self.runs.len())
            .filter(|i| !keeper.has(self.runs[*i].key) && seen.insert(self.runs[*i].key))
            .collect();
        drop(seen);
        let reused = self.runs.len() - todo.len();
        let mut collector = Collector {
            plan: self,
            report: Report {
                total: self.runs.len(),
                reused,
                done: reused,
                remaining_s: f64::NAN,
                ..Report::default()
            },
            reports: vec![RunReport::default(); self.runs.len()],
            failures: BTreeMap::new(),
            interrupted: false,
            started,
            told: None,
        };
        if error.is_none() {
            error = keeper.start(&todo).err();
        }
        let jobs = if with.jobs == 0 { cores() } else { with.jobs }.clamp(1, todo.len().max(1));
        let shared = WorkState {
            todo,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            work: AtomicU64::new(0),
            queues: with.queues,
            classes: with.classes,
            library: with.library,
            laws: with.laws,
            around: with.around,
        };
        if error.is_none() {
            error = collector
                .run(&shared, jobs, &mut *keeper, with.progress, with.each)
                .err();
        }
        collector.end(&mut *keeper, error)
    }

    fn keeper(&self, with: &Execution) -> io::Result<Box<dyn Keeper + '_>> {
        Ok(match &with.keep {
            Some(keep) => Box::new(crate::store::Filing::open(keep.clone(), self)?),
            None => Box::new(Memory::new(self)),
        })
    }

    /// Take runs in plan order until there are no more.
    fn work(&self, shared: &WorkState, send: &mpsc::SyncSender<Finished>) {
        while !shared.stop.load(Ordering::Relaxed) {
            let Some(&i) = shared.todo.get(shared.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let (tables, cost) = self.one(i, shared);
            if shared.stop.load(Ordering::Relaxed) || send.send((i, tables, cost)).is_err() {
                break;
            }
        }
    }

    /// The disciplines that the run gets: those given by port, and those whose class its scenario names.
    fn queues_of<'a>(&self, r: &Run, shared: &WorkState<'a>) -> HashMap<String, QueueMaker<'a>> {
        let mut queues = shared.queues.clone();
        if shared.classes.is_empty() {
            return queues;
        }
        for (port, class) in outside::named(&self.points[r.point].loaded.spec) {
            if let Some(make) = shared.classes.get(&class) {
                queues.entry(port).or_insert(*make);
            }
        }
        queues
    }

    fn one(&self, i: usize, shared: &WorkState) -> (RunTables, RunReport) {
        let (r, work) = (&self.runs[i], &shared.work);
        let cpu_before_s = thread_cpu_seconds();
        let done = std::cell::Cell::new(0u64);
        let progress = |share: f64| {
            let hundredths = (share * 100.0) as u64;
            work.fetch_add(hundredths - done.get(), Ordering::Relaxed);
            done.set(hundredths);
            !shared.stop.load(Ordering::Relaxed)
        };
        let hooks = Hooks {
            queues: self.queues_of(r, shared),
            library: shared.library,
            laws: shared.laws,
            progress: Some(&progress),
            ..Hooks::default()
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
                // A discipline from outside that cannot continue unwinds with a refusal; any other panic is a bug of
                // ours.
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
            cpu_s: thread_cpu_seconds() - cpu_before_s,
            packet_hops: engine.packet_hops,
            events: engine.events,
        };
        (RunTables::new(status, outcome), cost)
    }
}

/// Cores that this process may use: its affinity and, on Linux, the quota of its control group may leave it fewer than
/// the machine has.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The calling thread's part: it collects finished runs from the workers, and reports progress.
struct Collector<'a> {
    plan: &'a Plan,
    report: Report,
    reports: Vec<RunReport>,
    failures: BTreeMap<usize, String>,
    interrupted: bool,
    started: Instant,
    told: Option<Instant>,
}

impl Collector<'_> {
    fn run(
        &mut self,
        shared: &WorkState,
        jobs: usize,
        keeper: &mut dyn Keeper,
        progress: &mut dyn FnMut(&Report) -> bool,
        mut each: Option<&mut Each>,
    ) -> io::Result<()> {
        let plan = self.plan;
        std::thread::scope(|scope| {
            // The channel is bounded: workers are never far ahead of the stored runs, so a stop loses little.
            let (send, receive) = mpsc::sync_channel::<Finished>(jobs);
            let mut kept_result = Ok(());
            for started in 0..jobs {
                let send = send.clone();
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || match shared.around {
                    Some(around) => around(&mut || plan.work(shared, &send)),
                    None => plan.work(shared, &send),
                });
                if let Err(e) = thread {
                    // With fewer threads than requested, the plan takes longer. Without any thread nothing is done.
                    if started == 0 {
                        kept_result = Err(io::Error::new(e.kind(), format!("no thread can be started: {e}")));
                    }
                    break;
                }
            }
            drop(send);
            loop {
                let message = receive.recv_timeout(TELL_EVERY);
                if let Err(mpsc::RecvTimeoutError::Disconnected) = message {
                    return kept_result;
                }
                if let Ok((i, tables, cost)) = message {
                    let goes_on = each.as_mut().is_none_or(|f| f(i, &tables));
                    self.count(i, &tables, &cost);
                    if kept_result.is_ok() {
                        kept_result = keeper.take(i, tables, cost);
                    }
                    self.interrupted |= !goes_on;
                }
                if self.due() {
                    self.measure(shared);
                    self.interrupted |= !progress(&self.report);
                }
                if self.interrupted || kept_result.is_err() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
            }
        })
    }

    fn count(&mut self, i: usize, tables: &RunTables, cost: &RunReport) {
        self.report.done += 1;
        self.reports[i] = cost.clone();
        if let Status::Failed(why) = &tables.status {
            self.report.failed += 1;
            self.failures.insert(i, why.clone());
        }
    }

    /// Whether the next progress report is due.
    fn due(&mut self) -> bool {
        let due = self.report.done == self.report.total || self.told.is_none_or(|t| t.elapsed() >= TELL_EVERY);
        if due {
            self.told = Some(Instant::now());
        }
        due
    }

    fn measure(&mut self, shared: &WorkState) {
        let r = &mut self.report;
        let runs_done = shared.work.load(Ordering::Relaxed) as f64 / 100.0;
        r.elapsed_s = self.started.elapsed().as_secs_f64();
        r.share = if r.total == 0 {
            1.0
        } else {
            (r.reused as f64 + runs_done) / r.total as f64
        };
        r.remaining_s = if runs_done > 0.05 {
            r.elapsed_s * (shared.todo.len() as f64 - runs_done) / runs_done
        } else {
            f64::NAN
        };
    }

    fn end(mut self, keeper: &mut dyn Keeper, error: Option<io::Error>) -> Results {
        let elapsed_s = self.started.elapsed().as_secs_f64();
        self.report.elapsed_s = elapsed_s;
        let ending = match error {
            Some(_) => Ending::Broken,
            None if self.report.done == self.report.total => Ending::Complete { elapsed_s },
            None => Ending::Stopped { elapsed_s },
        };
        let (kept, done) = keeper.end(ending);
        let failure = self.failures.pop_first();
        Results {
            kept,
            reports: self.reports,
            report: self.report,
            failure: failure.map(|(i, why)| (self.plan.runs[i].clone(), why)),
            interrupted: self.interrupted,
            store_error: error.or(done.err()),
            damaged: keeper.damaged(),
            replaced: keeper.replaced(),
        }
    }
}

/// CPU time of the calling thread, seconds; wall time if the system has no such clock.
pub fn thread_cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call fills the struct that it is given.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) } == 0 {
            return t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9;
        }
    }
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// The most memory that the process has used, bytes; 0 if the system does not report it.
pub fn peak_rss_bytes() -> u64 {
    #[cfg(unix)]
    {
        // SAFETY: a zeroed rusage is valid, and the call fills it.
        let mut u: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `u` is a whole structure of the kind that the call fills.
        if unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) } == 0 {
            let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
            return u.ru_maxrss as u64 * unit;
        }
    }
    0
}
