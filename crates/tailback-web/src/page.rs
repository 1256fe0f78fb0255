//! The requests of a page and the answers: the messages of `tailback lab`, and single runs.
//!
//! A message is a JSON object with `do`:
//!
//! | `do` | what else is in it | what is answered |
//! |---|---|---|
//! | `state` | `state`, `mode`, `columns`, `input`, `side` | the picture of the runs, or of the one of a side |
//! | `files` | | nothing |
//! | `read` | `text`, a scenario | its `state` |
//! | `copy` | `state`, `kind` | the state as `toml`, `python` and `command` |
//! | `packets` | `state`, `side`, `at` | what waits at an instant, and the last decisions |
//! | `watch` | `state`, `side` | nothing; a short run is computed ahead, so that any instant of it is at hand |
//! | `digests` | `text` or `document`, `set` | a digest of each table of a run, for tests |
//!
//! An answer is a frame of [`tailback_lab::frames`] whose header has `do`, too. A request that cannot be done is
//! answered by `refused` with a `text`. A newer state replaces a state whose runs are under way. The older state is
//! never answered. Any message may have `files`: texts, by name, that replace trace files.

use serde_json::{Map, Value, json};
use std::sync::Arc;
use tailback_lab::copies::Copies;
use tailback_lab::digests;
use tailback_lab::frames::message;
use tailback_lab::packets::{PacketWatch, Packets, Question};
use tailback_lab::picture::{DoneRun, PictureExtras, PictureOrder, picture};
use tailback_lab::screen_runs::{PACKET_BITS, RunMode, ScreenRun, asked};
use tailback_lab::state::{LabRefusal, PAGE, ScenarioReader, State, explicit, watched};
use tailback_scenario::memory;
use tailback_scenario::{load_json_with, load_text_with};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::{Prepared, prepare};
use tailback_sim::library::Library;
use tailback_sim::results::Outcome;
use tailback_sim::run::read;
use tailback_sim::spec::Spec;
use tailback_sim::wire::tap::Names;

/// The most memory that a run may take, bytes. This is half of the memory that a page can have, because growing a table
/// copies it.
const MOST_BYTES: u64 = 1 << 31;
/// The largest number of packets of a run over the shown link: at one to three microseconds each, half an hour.
const MOST_PACKETS: f64 = 1e9;
/// The default number of columns of a picture.
const USUAL_COLUMNS: u64 = 600;

/// The progress of a page's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Progress {
    MoreToDo = 0,
    Answer = 1,
    Nothing = 2,
}

/// A run that goes on in parts.
struct PageRun {
    spec: Spec,
    /// The time at which it ends, if this is not the end of the scenario.
    until: Option<tailback_base::Time>,
    prepared: Prepared,
}

impl PageRun {
    fn start(spec: Spec, hooks: &Hooks) -> Result<PageRun, LabRefusal> {
        let prepared = prepare(&spec, spec.seed, hooks).map_err(|e| LabRefusal::Page(e.to_string()))?;
        let until = hooks.until;
        Ok(PageRun { spec, until, prepared })
    }

    /// Continue the run. Returns true when it is over.
    fn go_on(&mut self, events: u32) -> bool {
        let end = tailback_base::Time::ZERO + self.spec.duration;
        let to = self.until.map_or(end, |until| until.min(end));
        self.prepared.built.sim.run_some(to, events)
    }

    fn finish(self) -> Result<Outcome, LabRefusal> {
        read(&self.spec, &Hooks::default(), self.prepared).map_err(|e| LabRefusal::Page(e.to_string()))
    }
}

/// A long-running request.
enum PageWork {
    Picture {
        order: PictureOrder,
        state: Box<State>,
        side: Option<usize>,
        asked: Vec<ScreenRun>,
    },
    Digests,
    Packets {
        question: Box<Question>,
        watch: PacketWatch,
        /// The page waits for the answer.
        awaited: bool,
    },
}

/// Work under way: its purpose, and its runs, in order.
struct UnderWay {
    work: PageWork,
    runs: Vec<PageRun>,
    done: Vec<Outcome>,
}

impl UnderWay {
    /// Go on with the first run that is not over. Returns true once all runs are over.
    fn go_on(&mut self, events: u32) -> Result<bool, LabRefusal> {
        if let Some(run) = self.runs.first_mut()
            && run.go_on(events)
        {
            let run = self.runs.remove(0);
            self.done.push(run.finish()?);
        }
        Ok(self.runs.is_empty())
    }
}

/// The places of the work under way.
const FIRST: usize = 0;
const INSTANT: usize = 1;
const AHEAD: usize = 2;

/// One page with the engine inside.
#[derive(Default)]
pub struct EnginePage {
    /// The work under way, in the order in which it is done: a picture or tables, an instant that the page waits for,
    /// and a run whose instants may be requested.
    under_way: [Option<UnderWay>; 3],
    kept: Packets,
    /// The library of everything that scenarios can name, with the files that the page has; `None` for the library that
    /// the program ships.
    library: Option<Arc<Library>>,
    /// A finished request, or a request that was answered at once.
    ready: Option<Ready>,
}

enum Ready {
    Frame(Vec<u8>),
    Over(Box<UnderWay>),
}

/// Refuse a run for which a page has not enough memory or time.
fn within_bounds(spec: &Spec, library: &Library) -> Result<(), LabRefusal> {
    let parts = memory::bound(spec, library);
    let bytes = memory::total(&parts);
    if bytes > MOST_BYTES {
        let largest = parts.first().map_or("run", |p| p.key.as_str());
        return Err(LabRefusal::Page(format!(
            "the run may take {:.1} GB of memory, most of it for {largest}, and a page has {:.1} GB; help: less of \
             {largest}, or `tailback run`",
            bytes as f64 / 1e9,
            MOST_BYTES as f64 / 1e9,
        )));
    }
    let link = watched(spec);
    let packets = link.forward.rate.bits_per_second() * spec.duration.seconds() / PACKET_BITS;
    if packets > MOST_PACKETS {
        return Err(LabRefusal::Page(format!(
            "the run has up to {packets:.2e} packets over {}, and a page runs at most {MOST_PACKETS:.0e}; help: a \
             shorter duration or a lower rate, or `tailback run`",
            link.name,
        )));
    }
    Ok(())
}

fn begun(spec: &Spec, library: &Library) -> Result<PageRun, LabRefusal> {
    within_bounds(spec, library)?;
    let hooks = Hooks {
        library: Some(library),
        ..Hooks::default()
    };
    PageRun::start(spec.clone(), &hooks)
}

fn reader_of(library: &Option<Arc<Library>>) -> ScenarioReader<'_> {
    ScenarioReader {
        library: library.as_deref().unwrap_or(Library::standard()),
        ..ScenarioReader::default()
    }
}

fn number(message: &Value, key: &str) -> Option<usize> {
    message[key].as_u64().and_then(|n| usize::try_from(n).ok())
}

impl EnginePage {
    /// Take a message, which is JSON text. Returns whether there is an answer; otherwise there is work to go on with.
    pub fn take(&mut self, text: &[u8]) -> bool {
        let message: Value = match serde_json::from_slice(text) {
            Ok(message) => message,
            Err(e) => {
                return self.refuse(
                    &Value::Null,
                    &LabRefusal::Page(format!("a message is a JSON object: {e}")),
                );
            }
        };
        match self.answered(&message) {
            Ok(header) => {
                self.ready = header.map(|h| Ready::Frame(tailback_lab::frames::message(&h)));
            }
            Err(e) => return self.refuse(&message["input"], &e),
        }
        self.ready.is_some()
    }

    fn refuse(&mut self, input: &Value, why: &LabRefusal) -> bool {
        let header = json!({"do": "refused", "input": input, "text": why.to_string()});
        self.ready = Some(Ready::Frame(message(&header)));
        true
    }

    /// The header of an answer; `None` if the work has only begun, or if there is no answer.
    fn answered(&mut self, message: &Value) -> Result<Option<Value>, LabRefusal> {
        self.take_files(&message["files"]);
        let library = self.library.clone();
        let reader = &reader_of(&library);
        match message["do"].as_str().unwrap_or_default() {
            "state" => {
                self.under_way[FIRST] = None;
                self.under_way[FIRST] = Some(begun_picture(message, reader)?);
                Ok(None)
            }
            "digests" => {
                self.under_way[FIRST] = Some(begun_digests(message, reader.library)?);
                Ok(None)
            }
            "files" => Ok(None),
            "packets" => self.look(message, reader),
            "watch" => {
                self.watch(message, reader)?;
                Ok(None)
            }
            "read" => {
                let text = format!("{}\n", message["text"].as_str().unwrap_or_default());
                let loaded = load_text_with(reader.library, &text, "what was pasted", &[])?;
                let document = loaded.document.as_object().cloned().unwrap_or_default();
                let document = explicit(&document, PAGE, reader)?;
                let state = State { document, beside: None };
                Ok(Some(json!({"do": "read", "state": state.as_json()})))
            }
            "copy" => {
                let mut header = Copies::of(&State::of(&message["state"])?, reader)?.as_json();
                header["do"] = json!("copy");
                header["kind"] = message["kind"].clone();
                Ok(Some(header))
            }
            other => Err(LabRefusal::Page(format!(
                "this page cannot do {other:?}; it needs the program, `tailback lab`"
            ))),
        }
    }

    /// Take texts that replace files from now on.
    fn take_files(&mut self, files: &Value) {
        for (name, text) in files.as_object().into_iter().flatten() {
            let library = self
                .library
                .get_or_insert_with(|| Arc::new(Library::standard().clone()));
            Arc::make_mut(library)
                .files
                .insert(name.clone(), text.as_str().unwrap_or_default().into());
        }
    }

    /// The answer about an instant, or the work for it.
    fn look(&mut self, message: &Value, reader: &ScenarioReader) -> Result<Option<Value>, LabRefusal> {
        let state = State::of(&message["state"])?;
        let at = message["at"].as_f64().unwrap_or(f64::NAN);
        let question = Question::about(&state, number(message, "side").unwrap_or(usize::MAX), at, reader)?;
        if let Some(mut answer) = self.kept.answer(&question) {
            answer["do"] = json!("packets");
            return Ok(Some(answer));
        }
        self.under_way[INSTANT] = Some(begun_watch(question, true, reader.library)?);
        Ok(None)
    }

    /// Compute every instant of a run before one is requested.
    fn watch(&mut self, message: &Value, reader: &ScenarioReader) -> Result<(), LabRefusal> {
        let state = State::of(&message["state"])?;
        let question = Question::about_all(&state, number(message, "side").unwrap_or(usize::MAX), reader)?;
        if let Some(question) = question.filter(|q| !self.kept.has(q)) {
            self.under_way[AHEAD] = Some(begun_watch(question, false, reader.library)?);
        }
        Ok(())
    }

    /// Go on with the work for this number of events.
    pub fn advance(&mut self, events: u32) -> Progress {
        let Some(place) = self.under_way.iter_mut().find(|w| w.is_some()) else {
            return Progress::Nothing;
        };
        match place.as_mut().map_or(Ok(false), |under_way| under_way.go_on(events)) {
            Ok(false) => Progress::MoreToDo,
            Ok(true) => {
                self.ready = place.take().map(|over| Ready::Over(Box::new(over)));
                Progress::Answer
            }
            Err(e) => {
                let input = match place.take().map(|w| w.work) {
                    Some(PageWork::Picture { order, .. }) => order.input,
                    _ => Value::Null,
                };
                self.refuse(&input, &e);
                Progress::Answer
            }
        }
    }

    /// The frame of the finished work; empty if there is no answer. `took_ms` is the time that the work took.
    pub fn answer(&mut self, took_ms: f64) -> Vec<u8> {
        match self.ready.take() {
            None => vec![],
            Some(Ready::Frame(frame)) => frame,
            Some(Ready::Over(over)) => self.told(*over, took_ms),
        }
    }

    fn told(&mut self, over: UnderWay, took_ms: f64) -> Vec<u8> {
        match over.work {
            PageWork::Picture {
                order,
                state,
                side,
                asked,
            } => {
                let runs: Vec<DoneRun> = asked
                    .iter()
                    .zip(&over.done)
                    .map(|(asked, outcome)| DoneRun {
                        asked,
                        tables: &outcome.tables,
                    })
                    .collect();
                let extras = PictureExtras {
                    took_ms: Some(took_ms),
                    // Of two pictures for the two sides, only one has the controls.
                    controls: order.mode == RunMode::Full && side.unwrap_or(0) == 0,
                };
                picture(&order, &state, &runs, extras, &reader_of(&self.library))
                    .unwrap_or_else(|e| message(&json!({"do": "refused", "input": order.input, "text": e.to_string()})))
            }
            PageWork::Digests => {
                let of_run = over.done.first().map_or(Map::new(), |o| digests::of_tables(&o.tables));
                message(&json!({"do": "digests", "digests": of_run}))
            }
            PageWork::Packets {
                question,
                watch,
                awaited,
            } => {
                if let Some(outcome) = over.done.first() {
                    self.kept.keep(&question, watch.finish(outcome));
                }
                match self.kept.answer(&question).filter(|_| awaited) {
                    Some(mut answer) => {
                        answer["do"] = json!("packets");
                        message(&answer)
                    }
                    None => vec![],
                }
            }
        }
    }
}

fn begun_picture(message: &Value, reader: &ScenarioReader) -> Result<UnderWay, LabRefusal> {
    let state = State::of(&message["state"])?;
    let order = PictureOrder {
        input: message["input"].clone(),
        mode: RunMode::of(message["mode"].as_str().unwrap_or_default()),
        columns: message["columns"].as_u64().unwrap_or(USUAL_COLUMNS) as usize,
    };
    let side = number(message, "side");
    let all = asked(&state, order.mode, reader)?.into_iter().enumerate();
    let screen_runs: Vec<ScreenRun> = all
        .filter(|(i, _)| side.is_none_or(|s| s == *i))
        .map(|(_, run)| run)
        .collect();
    let runs = screen_runs
        .iter()
        .map(|run| begun(&run.loaded.spec, reader.library))
        .collect::<Result<_, _>>()?;
    Ok(UnderWay {
        work: PageWork::Picture {
            order,
            state: Box::new(state),
            side,
            asked: screen_runs,
        },
        runs,
        done: vec![],
    })
}

fn begun_digests(message: &Value, library: &Library) -> Result<UnderWay, LabRefusal> {
    let changes = message["set"].as_array().into_iter().flatten();
    let set: Vec<String> = changes.filter_map(|s| Some(s.as_str()?.to_string())).collect();
    let loaded = match message["text"].as_str() {
        Some(text) => load_text_with(library, text, PAGE, &set)?,
        None => load_json_with(library, &message["document"].to_string(), PAGE, &set)?,
    };
    Ok(UnderWay {
        work: PageWork::Digests,
        runs: vec![begun(&loaded.spec, library)?],
        done: vec![],
    })
}

fn begun_watch(question: Question, awaited: bool, library: &Library) -> Result<UnderWay, LabRefusal> {
    within_bounds(&question.until_its_end(), library)?;
    let watch = PacketWatch::of(&question);
    let tap = |names: &Names| watch.tap(names);
    let hooks = Hooks {
        tap: Some(&tap),
        until: Some(watch.until),
        library: Some(library),
        ..Hooks::default()
    };
    let run = PageRun::start(question.spec.clone(), &hooks)?;
    Ok(UnderWay {
        work: PageWork::Packets {
            question: Box::new(question),
            watch,
            awaited,
        },
        runs: vec![run],
        done: vec![],
    })
}
