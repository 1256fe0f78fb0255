//! A scenario of the user, in which the user's transport carries some flows.

use crate::carried::connection;
use crate::{DatagramBytes, Endpoint, Finished, Pair, Problem};
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path as FilePath, PathBuf};
use std::rc::Rc;
use tailback_base::quantity::Refusal;
use tailback_capture::pcapng::Capture;
use tailback_scenario::{Loaded, load_file_with, load_text_with};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::outside;
use tailback_sim::run::run;
use tailback_sim::spec::Spec;
use tailback_sim::wire::tap::TapMaker;
use tailback_transport::Connection;

enum Origin {
    File(PathBuf),
    Text { text: String, name: String },
}

/// A scenario as `tailback run` reads it, in which groups with `transport = "stack"` get the caller's ends. The
/// scenario is checked when it is run; errors name the file and the line.
///
/// ```
/// # use tailback_path::{Datagram, Ecn, Endpoint, Scenario, Time};
/// # #[derive(Default)]
/// # struct Ticker { next: Time, sent: u32, arrived: u32 }
/// # impl Endpoint for Ticker {
/// #     type Data = u32;
/// #     fn receive(&mut self, _number: u32, _ecn: Ecn, _now: Time) { self.arrived += 1; }
/// #     fn transmit(&mut self, now: Time) -> Option<Datagram<u32>> {
/// #         if self.sent == 1000 || now < self.next { return None; }
/// #         (self.sent, self.next) = (self.sent + 1, Time(now.0 + 1_000_000));
/// #         Some(Datagram::new(self.sent, 1000))
/// #     }
/// #     fn timeout(&self) -> Option<Time> { (self.sent < 1000).then_some(self.next) }
/// # }
/// let lab = r#"
///     duration = "5s"
///     [link.line]
///     from = "a"
///     to = "b"
///     rate = "10Mbps"
///     delay = "20ms"
///     queue = "codel"
///     [flows.mine]
///     transport = "stack"
///     start = "1s"
///     [flows.others]
///     tcp = { congestion = "cubic" }
///     stop = "500ms"
/// "#;
/// let results = Scenario::parse(lab, "lab.toml")
///     .endpoints("mine", |_pair| (Ticker::default(), Ticker { sent: 1000, ..Ticker::default() }))
///     .set("link.line.delay", "5ms")
///     .run()
///     .unwrap();
/// assert_eq!(results.ends::<Ticker, Ticker>("mine")[0].1.arrived, 1000);
/// // The way of 5 ms, and 0.8 ms on the line.
/// assert!((results.flow("mine", 0, "delay_mean_s") - 0.0058).abs() < 1e-9);
/// ```
#[must_use]
pub struct Scenario {
    source: Origin,
    overrides: Vec<String>,
    groups: Vec<(String, Box<dyn StackGroup>)>,
    capture: Option<(String, PathBuf)>,
    seed: Option<u64>,
}

impl Scenario {
    /// A scenario file: TOML, or JSON if its name ends in `.json`.
    pub fn load(path: impl AsRef<FilePath>) -> Scenario {
        Scenario::of(Origin::File(path.as_ref().into()))
    }

    /// TOML text. Messages call it `name`.
    pub fn parse(text: &str, name: &str) -> Scenario {
        let [text, name] = [text, name].map(str::to_string);
        Scenario::of(Origin::Text { text, name })
    }

    fn of(source: Origin) -> Scenario {
        Scenario {
            source,
            overrides: vec![],
            groups: vec![],
            capture: None,
            seed: None,
        }
    }

    /// Set a key to another value, such as `link.line.rate` to `20Mbps`, like `tailback run --set KEY=VALUE`.
    pub fn set(mut self, key: &str, value: &str) -> Scenario {
        self.overrides.push(format!("{key}={value}"));
        self
    }

    /// Set another seed for all random numbers.
    pub fn seed(mut self, seed: u64) -> Scenario {
        self.seed = Some(seed);
        self
    }

    /// `make` makes the ends of the connections of this group of flows, these sessions or this workload. The first of a
    /// pair opens the connection; in `[sessions.NAME]` it is the client.
    pub fn endpoints<S, R>(mut self, group: &str, make: impl FnMut(Pair) -> (S, R) + 'static) -> Scenario
    where
        S: Endpoint + 'static,
        R: Endpoint<Data = S::Data> + 'static,
        S::Data: 'static,
    {
        let made_ends = Rc::new(RefCell::new(vec![]));
        let make = Some(Box::new(make) as Box<dyn FnMut(Pair) -> (S, R)>);
        self.groups
            .push((group.into(), Box::new(Stack { make, made: made_ends })));
        self
    }

    /// Write the packets that arrive at a link, in both directions, to a file that Wireshark opens (pcapng), with the
    /// bytes of stacks' datagrams ([`Endpoint::captured`]). If several captures are requested, only the last one is
    /// written.
    pub fn capture(mut self, link: &str, path: impl AsRef<FilePath>) -> Scenario {
        self.capture = Some((link.into(), path.as_ref().into()));
        self
    }

    fn loaded(&self) -> Result<Loaded, Problem> {
        let library = outside::library();
        let loaded = match &self.source {
            Origin::File(path) => load_file_with(library, path, &self.overrides),
            Origin::Text { text, name } => load_text_with(library, text, name, &self.overrides),
        };
        loaded.map_err(|e| Problem(e.to_string()))
    }

    /// Run it.
    ///
    /// # Errors
    /// An error in the scenario, a stack without a group, a group without a stack, a capture that cannot be written.
    pub fn run(mut self) -> Result<Finished, Problem> {
        let Loaded { spec, .. } = self.loaded()?;
        self.check(&spec)?;
        let connections: HashMap<String, Connection> = self
            .groups
            .iter_mut()
            .map(|(name, group)| (name.clone(), group.connection(name)))
            .collect();
        let capture = match &self.capture {
            None => None,
            Some((link, path)) => {
                let file = File::create(path).map_err(|e| Problem(format!("{}: {e}", path.display())))?;
                Some(Capture::new(link, file).map_err(|e| Problem(format!("{}: {e}", path.display())))?)
            }
        };
        let contents = capture.is_some().then(|| Rc::new(DatagramBytes::keep()));
        let tap = |names: &_| {
            let (capture, contents) = capture
                .as_ref()
                .zip(contents.clone())
                .expect("asked for where there is one");
            capture.tap_with(names, Box::new(move |sequence| contents.of(sequence)))
        };
        let hooks = Hooks {
            connections,
            library: Some(outside::library()),
            tap: capture.is_some().then_some(&tap as TapMaker),
            ..Hooks::default()
        };
        let seed = self.seed.unwrap_or(spec.seed);
        // An end that breaks its contract unwinds with its message.
        let ran = catch_unwind(AssertUnwindSafe(|| run(&spec, seed, &hooks)));
        let ran = ran.unwrap_or_else(|e| match e.downcast::<Refusal>() {
            Ok(refusal) => Err(*refusal),
            Err(bug) => resume_unwind(bug),
        });
        let outcome = ran.map_err(|e| Problem(format!("{}; {}", e.problem, e.remedy)))?;
        drop(hooks);
        if let (Some(capture), Some((_, path))) = (capture, &self.capture) {
            capture
                .finish()
                .map_err(|e| Problem(format!("{}: {e}", path.display())))?;
        }
        let ends = self
            .groups
            .into_iter()
            .map(|(name, group)| (name, group.finished()))
            .collect();
        Ok(Finished { outcome, ends })
    }

    /// Check that each stack has a group and each group a stack, and that the link of the capture exists.
    fn check(&self, spec: &Spec) -> Result<(), Problem> {
        if let Some((link, _)) = &self.capture
            && spec.links.iter().all(|l| l.name != *link)
        {
            let names: Vec<&str> = spec.links.iter().map(|l| l.name.as_str()).collect();
            return Err(Problem(format!(
                "\"{link}\" is to be captured, but the scenario has no link of this name; it has {}",
                names.join(", ")
            )));
        }
        let flows = spec.flows.iter().map(|g| (&g.name, &g.transport));
        let sessions = spec.sessions.iter().map(|s| (&s.name, &s.transport));
        let workloads = spec.workloads.iter().map(|w| (&w.name, &w.transport));
        let all: Vec<_> = flows.chain(sessions).chain(workloads).collect();
        for (name, transport) in &all {
            let given = self.groups.iter().any(|(g, _)| g == *name);
            match (outside::is_stack(transport), given) {
                (true, false) => {
                    let e = outside::no_stack(name);
                    return Err(Problem(format!("{}; {}", e.problem, e.remedy)));
                }
                (false, true) => {
                    return Err(Problem(format!(
                        "the transport of {name} is {}, but a stack is given for it; write transport = \"stack\"",
                        transport.model.name
                    )));
                }
                _ => {}
            }
        }
        match self.groups.iter().find(|(g, _)| all.iter().all(|(name, _)| *name != g)) {
            None => Ok(()),
            Some((group, _)) => {
                let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
                Err(Problem(format!(
                    "a stack is given for \"{group}\", but the scenario has no group of this name; it has {}",
                    names.join(", ")
                )))
            }
        }
    }
}

/// A group whose ends are those of the caller, of any type.
trait StackGroup {
    fn connection(&mut self, name: &str) -> Connection;
    /// The ends after the run.
    fn finished(self: Box<Self>) -> Box<dyn Any>;
}

type Make<S, R> = Box<dyn FnMut(Pair) -> (S, R)>;
type Made<S, R> = Rc<RefCell<Vec<(Rc<RefCell<S>>, Rc<RefCell<R>>)>>>;

struct Stack<S, R> {
    /// The function that makes the ends, until the connection is requested.
    make: Option<Make<S, R>>,
    made: Made<S, R>,
}

impl<S, R> StackGroup for Stack<S, R>
where
    S: Endpoint + 'static,
    R: Endpoint<Data = S::Data> + 'static,
    S::Data: 'static,
{
    fn connection(&mut self, name: &str) -> Connection {
        let made_ends = self.made.clone();
        let mut make = self.make.take().expect("a scenario is run once");
        connection(&format!("the stack of {name}"), move |pair| {
            let (first, second) = make(pair);
            let ends = (Rc::new(RefCell::new(first)), Rc::new(RefCell::new(second)));
            made_ends.borrow_mut().push(ends.clone());
            ends
        })
    }

    fn finished(self: Box<Self>) -> Box<dyn Any> {
        let ends = self.made.take();
        let ends: Vec<(S, R)> = ends.into_iter().map(|(s, r)| (alone(s), alone(r))).collect();
        Box::new(ends)
    }
}

/// The value itself, once the simulator no longer exists.
fn alone<T>(shared: Rc<RefCell<T>>) -> T {
    match Rc::try_unwrap(shared) {
        Ok(cell) => cell.into_inner(),
        Err(_) => unreachable!("the simulator that shared it has been dropped"),
    }
}
