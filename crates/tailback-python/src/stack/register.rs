//! The classes of stacks that Python has handed over. A class becomes a row of the list of transports, with parameters
//! and probes of its own, as a class of congestion controls becomes a row of theirs.

use super::ScriptedEnd;
use crate::control::{Given, Shown, own_model, renew_libraries};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings};
use tailback_path::connection;
use tailback_transport::entry::{Carries, Connection, Entry};

/// A class of stacks.
pub struct StackClass {
    pub model: &'static Model,
    entry: &'static Entry,
    /// None for a stand-in.
    pub class: Option<Py<PyAny>>,
}

impl StackClass {
    /// As messages call it.
    pub fn name(&self) -> &'static str {
        self.model.name
    }
}

/// In the order of their registration.
static KNOWN: LazyLock<Mutex<Vec<Arc<StackClass>>>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, Vec<Arc<StackClass>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rows of all, and whether its name means each: the last one of a name.
pub fn entries() -> Vec<(&'static Entry, bool)> {
    let known = known();
    let last = |c: &Arc<StackClass>| {
        known
            .iter()
            .rev()
            .find(|o| o.name() == c.name())
            .is_some_and(|o| Arc::ptr_eq(o, c))
    };
    known.iter().map(|c| (c.entry, last(c))).collect()
}

fn class_of(model: &'static Model) -> Option<Arc<StackClass>> {
    known().iter().find(|c| std::ptr::eq(c.model, model)).cloned()
}

/// The registered classes among these settings, by name.
pub fn stacks_in<'a>(settings: impl IntoIterator<Item = &'a Settings>) -> Vec<Arc<StackClass>> {
    let mut classes: Vec<Arc<StackClass>> = vec![];
    for class in settings.into_iter().filter_map(|s| class_of(s.model)) {
        if !classes.iter().any(|c| Arc::ptr_eq(c, &class)) {
            classes.push(class);
        }
    }
    classes.sort_by_key(|c| c.name());
    classes
}

/// Let scenarios name a class as transport. `probes` are names, units and sentences. Without a class, the name is a
/// stand-in, unless it has one already.
#[pyfunction]
pub fn register_stack(
    name: String,
    class: Option<Bound<PyAny>>,
    summary: String,
    params: Vec<Given>,
    probes: Vec<Shown>,
) -> PyResult<()> {
    let class = class.map(Bound::unbind);
    let mut classes = known();
    if let Some(now) = classes.iter().rev().find(|c| c.name() == name) {
        let same = match (&now.class, &class) {
            (Some(old), Some(new)) => old.is(new),
            (old, new) => old.is_some() && new.is_none(),
        };
        if same {
            return Ok(());
        }
    }
    let model = own_model("transport", name, summary, params, probes)?;
    let entry: &'static Entry = Box::leak(Box::new(Entry {
        model,
        carries: Carries::Stream(|settings, _| connections(settings)),
        capable: |_, _| true,
    }));
    classes.push(Arc::new(StackClass { model, entry, class }));
    drop(classes);
    renew_libraries();
    Ok(())
}

fn connections(settings: &Settings) -> Result<Connection, Refusal> {
    let class = class_of(settings.model).ok_or_else(|| {
        Refusal::new(
            format!("{} is no class of this process", settings.model.name),
            "read the scenario again",
        )
    })?;
    let settings = settings.clone();
    Ok(connection(move |pair| {
        let end = |first| match ScriptedEnd::make(&class, &settings, pair, first) {
            Ok(end) => Rc::new(RefCell::new(end)),
            // Not a panic: the hook that prints panics is not called. Who drives the run makes a message of it.
            Err(refusal) => std::panic::resume_unwind(Box::new(refusal)),
        };
        (end(true), end(false))
    }))
}
