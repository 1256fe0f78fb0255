//! The classes of congestion controls, rate controls and transports that Python has handed over, and the libraries in
//! which scenarios find them.
//!
//! A class becomes a row of its list, with parameters and probes of its own. A scenario is checked against these as
//! against those of a built-in control. A class that is defined again takes over its name; scenarios that were read
//! before keep the older class. A name without a class is a placeholder: it lets stored scenarios be read where their
//! class is not available, and a run of such a scenario is refused.
//!
//! Rows live as long as the process, because models do so. A row takes about a kilobyte.

use super::rate::{self, ScriptedRate};
use super::{CODEPOINTS, ECHOES, ScriptedControl, class_facts, fail};
use crate::stack;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tailback_base::model::{Choice, ProbeDef, Registered};
use tailback_base::quantity::Refusal;
use tailback_base::{Ecn, Kind, Model, Param, Settings};
use tailback_sim::library::{Library, outside};
use tailback_transport::entry::{Carries, Entry};
use tailback_transport::rtp::control::{RateControl, RateController, ReportRule, Terms};
use tailback_transport::tcp::congestion::{CongestionControl, Controller, EchoRule, Facts, WindowRules, always};

/// A row of one of the lists.
#[derive(Clone, Copy)]
enum OwnRow {
    Congestion(&'static Controller),
    Rate(&'static RateController),
    Stack(&'static Entry),
}

/// A class of a user.
pub struct OwnClass {
    pub model: &'static Model,
    row: OwnRow,
    /// The class; None for a placeholder.
    pub class: Option<Py<PyAny>>,
}

impl OwnClass {
    /// The name in messages.
    pub fn name(&self) -> &'static str {
        self.model.name
    }

    /// Whether both are of one class of Python.
    fn is_of_class(&self, other: &OwnClass) -> bool {
        matches!((&self.class, &other.class), (Some(mine), Some(other)) if mine.is(other))
    }

    /// The kind of its objects.
    pub fn kind(&self) -> &'static str {
        match self.row {
            OwnRow::Congestion(_) => <&Controller>::WHAT,
            OwnRow::Rate(_) => <&RateController>::WHAT,
            OwnRow::Stack(_) => "stack",
        }
    }

    /// The refusal if the class is not available.
    pub fn missing(&self) -> Refusal {
        let problem = format!(
            "the {} is the Python class {}, and the run did not get this class",
            self.kind(),
            self.name()
        );
        Refusal::new(
            problem,
            format!("run it where the class is: {}, or \"FILE.py:CLASS\"", self.call()),
        )
    }

    /// The call by which Python hands over the class.
    pub fn call(&self) -> &'static str {
        match self.row {
            OwnRow::Congestion(_) => "tcp={\"congestion\": tb.congestion(CLASS)}",
            OwnRow::Rate(_) => "rtp={\"control\": tb.rate_control(CLASS)}",
            OwnRow::Stack(_) => "transport=tb.stack(CLASS)",
        }
    }
}

struct KnownClasses {
    /// The classes in the order of their registration.
    classes: Vec<Arc<OwnClass>>,
    /// The libraries without and with placeholders of queues written in Python.
    libraries: [Arc<Library>; 2],
}

static KNOWN: LazyLock<Mutex<KnownClasses>> = LazyLock::new(|| {
    Mutex::new(KnownClasses {
        classes: vec![],
        libraries: [
            Arc::new(Library::standard().clone()),
            Arc::new(outside::queues().clone()),
        ],
    })
});

fn known() -> MutexGuard<'static, KnownClasses> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The library of everything that a scenario may name. With `queues` it has also the queues that a run is handed.
pub fn library(queues: bool) -> Arc<Library> {
    known().libraries[usize::from(queues)].clone()
}

/// The class of a model.
pub fn class_of(model: &'static Model) -> Option<Arc<OwnClass>> {
    known().classes.iter().find(|c| std::ptr::eq(c.model, model)).cloned()
}

impl KnownClasses {
    /// The class of this family that a name stands for now: the last class of that name, unless another class, in any
    /// family, has taken the name since then.
    fn named(&self, family: &str, name: &str) -> Option<&Arc<OwnClass>> {
        let mut of_name = self.classes.iter().rev().filter(|c| c.name() == name);
        let last = of_name.clone().next()?;
        of_name.find(|c| c.model.family == family && (Arc::ptr_eq(c, last) || c.is_of_class(last)))
    }

    /// Make the libraries anew: every row is in them, and a name means the last class that has the name.
    fn renew(&mut self) {
        let mut libraries = [Library::standard().clone(), outside::queues().clone()];
        for library in &mut libraries {
            for c in &self.classes {
                match c.row {
                    OwnRow::Congestion(row) => library.transports.controllers.add(row),
                    OwnRow::Rate(row) => library.transports.rate_controllers.add(row),
                    OwnRow::Stack(row) => library.transports.transports.add(row),
                }
                if self
                    .named(c.model.family, c.name())
                    .is_some_and(|last| Arc::ptr_eq(last, c))
                {
                    library.catalogue.add(c.model.family, c.model);
                }
            }
        }
        self.libraries = libraries.map(Arc::new);
    }
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// A parameter: its name, kind (bool, int, float or str), default as a user would write it ("" if a scenario must give
/// it), and the default as it is shown.
type Given = (String, String, String, String);

fn param((name, kind, default, doc): Given) -> PyResult<Param> {
    let kind = match kind.as_str() {
        "bool" => Kind::Bool,
        "int" => Kind::Count { min: 0, max: 1 << 53 },
        "float" => Kind::Real {
            min: f64::NEG_INFINITY,
            max: f64::INFINITY,
        },
        "str" => Kind::Text,
        other => return Err(PyValueError::new_err(format!("a parameter cannot be {other}"))),
    };
    Ok(Param::new(leak(name), kind, leak(default), leak(doc), ""))
}

/// Let scenarios name a class as `congestion`, `rate-control` or `transport`; this key is its family. `probes` are
/// names, units and sentences. Without a class, the name is a placeholder, unless it has a class already.
#[pyfunction]
pub fn register_control(
    py: Python,
    family: &str,
    name: String,
    class: Option<Bound<PyAny>>,
    summary: String,
    params: Vec<Given>,
    probes: Vec<(String, String, String)>,
) -> PyResult<()> {
    let families = [<&RateController>::FAMILY, Entry::FAMILY, <&Controller>::FAMILY];
    let family = families
        .into_iter()
        .find(|f| *f == family)
        .ok_or_else(|| PyValueError::new_err(format!("a class cannot be a {family}")))?;
    let class = class.map(Bound::unbind);
    let mut registered = known();
    if let Some(now) = registered.named(family, &name) {
        let is_same = match (&now.class, &class) {
            (Some(old), Some(new)) => old.is(new),
            (old, new) => old.is_some() && new.is_none(),
        };
        if is_same {
            return Ok(());
        }
    }
    let params: Vec<Param> = params.into_iter().map(param).collect::<PyResult<_>>()?;
    let probe = |(name, unit, doc): (String, String, String)| ProbeDef {
        name: leak(name),
        unit: leak(unit),
        doc: leak(doc),
        per: "",
    };
    let probes: Vec<ProbeDef> = probes.into_iter().map(probe).collect();
    let model: &'static Model = Box::leak(Box::new(Model {
        name: leak(name),
        family,
        title: "Written in Python",
        summary: leak(summary),
        source: "",
        params: Vec::leak(params),
        probes: Vec::leak(probes),
    }));
    let row = match family {
        f if f == <&RateController>::FAMILY => OwnRow::Rate(Box::leak(Box::new(RateController {
            model,
            rule: rule(py, model.name, class.as_ref())?,
            build: build_rate,
        }))),
        f if f == Entry::FAMILY => OwnRow::Stack(Box::leak(Box::new(Entry {
            model,
            carries: Carries::Stream(|settings, _| Ok(stack::connections(settings))),
            capable: |_, _| true,
        }))),
        _ => OwnRow::Congestion(Box::leak(Box::new(Controller {
            model,
            also: &[],
            facts: facts(py, model.name, class.as_ref())?,
            build,
        }))),
    };
    registered.classes.push(Arc::new(OwnClass { model, row, class }));
    registered.renew();
    Ok(())
}

/// The facts about its connections in the attributes of a class; a placeholder counts as a control that uses
/// everything.
fn facts(py: Python, name: &str, class: Option<&Py<PyAny>>) -> PyResult<Facts> {
    let Some(class) = class else {
        return Ok(Facts {
            records: always,
            hears_losses: always,
            ..Facts::CLASSIC
        });
    };
    class_facts(name, class.bind(py)).map_err(|e| PyValueError::new_err(format!("{e}")))
}

/// The times at which the receiver of a class of rate controls reports.
fn rule(py: Python, name: &str, class: Option<&Py<PyAny>>) -> PyResult<ReportRule> {
    let Some(class) = class else {
        return Ok(ReportRule::RFC8888);
    };
    rate::class_rule(name, class.bind(py)).map_err(|e| PyValueError::new_err(format!("{e}")))
}

/// The facts about a congestion control by its name: what it does about marks, how its receiver echoes them, the code
/// point of its packets, whether losses slow it, and its name in Linux (None if Linux has no such control). None if the
/// name is that of no control.
#[pyfunction]
pub fn control_facts<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    let library = library(true);
    let known_row = known().named(<&Controller>::FAMILY, name).map(|c| c.row);
    let known_row = known_row.and_then(|row| match row {
        OwnRow::Congestion(row) => Some(row),
        OwnRow::Rate(_) | OwnRow::Stack(_) => None,
    });
    let standard = || {
        library
            .transports
            .controllers
            .iter()
            .copied()
            .find(|c| c.model.name == name)
    };
    let Some(row) = known_row.or_else(standard) else {
        return Ok(None);
    };
    let f = &row.facts;
    let dict = PyDict::new(py);
    dict.set_item("marks", f.marks.word())?;
    dict.set_item("echo", ECHOES[usize::from(f.echo == EchoRule::EveryAck)])?;
    dict.set_item("codepoint", CODEPOINTS[usize::from(f.codepoint == Ecn::Ect1)])?;
    dict.set_item("ignores_losses", f.ignores_losses)?;
    dict.set_item("linux", f.linux)?;
    Ok(Some(dict))
}

/// The registered classes among these settings and the settings inside of them, by name.
pub fn classes_in<'a>(settings: impl IntoIterator<Item = &'a Settings>) -> Vec<Arc<OwnClass>> {
    let mut classes: Vec<Arc<OwnClass>> = vec![];
    for model in settings.into_iter().flat_map(Settings::models).map(|s| s.model) {
        if let Some(class) = class_of(model)
            && !classes.iter().any(|c| Arc::ptr_eq(c, &class))
        {
            classes.push(class);
        }
    }
    classes.sort_by_key(|c| c.name());
    classes
}

fn build(settings: &Settings, rules: &Arc<WindowRules>) -> Box<dyn CongestionControl> {
    Box::new(made(settings, |class| ScriptedControl::make(class, settings, rules)))
}

fn build_rate(settings: &Settings, terms: Terms) -> Box<dyn RateControl> {
    Box::new(made(settings, |class| ScriptedRate::make(class, settings, terms)))
}

/// An object of the class that these settings name.
pub fn made<T>(settings: &Settings, make: impl FnOnce(&Arc<OwnClass>) -> Result<T, Refusal>) -> T {
    let control = match class_of(settings.model) {
        Some(class) => make(&class),
        None => Err(Refusal::new(
            format!("{} is not a class of this process", settings.model.name),
            "read the scenario again",
        )),
    };
    // This is not a panic, so the hook that prints panics is not called. The code that drives the run turns it into a
    // message.
    control.unwrap_or_else(|refusal| fail(refusal))
}
