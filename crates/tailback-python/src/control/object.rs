//! An object of a user's class: how it is made, called and read, and the message if it breaks its contract. Controls,
//! rate controls and the ends of stacks are such objects.
//!
//! An error ends only the run in which it occurs: [`enter`] unwinds with a [`Refusal`], which the plan turns into a
//! failed row. An object serves one connection. Calls are registered, so that a call that does not return can be ended.

use super::OwnClass;
use crate::discipline::describe;
use crate::inside::Calls;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyClass, PyClassInitializer};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tailback_base::model::Value;
use tailback_base::quantity::Refusal;
use tailback_base::{Settings, Time, work};

thread_local! {
    /// The place where calls on this thread are registered.
    static CALLS: RefCell<Arc<Calls>> = RefCell::default();
}

/// Register the calls on this thread here from now on.
pub fn calls_of_thread(calls: &Arc<Calls>) {
    CALLS.with(|c| *c.borrow_mut() = calls.clone());
}

/// The addresses of the objects in use.
static IN_USE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// An object in use.
pub struct OwnObject {
    object: Py<PyAny>,
    class: Arc<OwnClass>,
    calls: Arc<Calls>,
}

/// End the run with this message. This is not a panic, so the hook that prints panics is not called.
pub fn fail(refusal: Refusal) -> ! {
    std::panic::resume_unwind(Box::new(refusal))
}

/// Call into Python, and end the run if that fails.
pub fn enter<T>(calls: &Arc<Calls>, f: impl FnOnce(Python) -> Result<T, Refusal>) -> T {
    let began = Instant::now();
    let done = Python::attach(|py| {
        let _inside = calls.enter(py);
        f(py)
    });
    // The amount of work in a Python call is unknown, so it is timed: a unit of work is about 10 ns.
    work::done(began.elapsed().as_nanos() as usize / 10);
    done.unwrap_or_else(|refusal| fail(refusal))
}

impl OwnObject {
    /// An object of the class, which is called with `first` and its own parameters. The attributes `fixed` must be
    /// those of the class. `ready` checks the parts that the contract requires.
    ///
    /// # Errors
    /// The class is not available or raises, or its object does not fulfil the contract.
    pub fn make<A, T>(
        class: &Arc<OwnClass>,
        settings: &Settings,
        fixed: &[&str],
        first: A,
        ready: impl FnOnce(Python, OwnObject) -> Result<T, Refusal>,
    ) -> Result<T, Refusal>
    where
        A: PyClass + Into<PyClassInitializer<A>>,
    {
        let name = class.name();
        let Some(factory) = &class.class else {
            return Err(class.missing());
        };
        let calls = CALLS.with(|c| c.borrow().clone());
        Python::attach(|py| {
            let _inside = calls.enter(py);
            let factory = factory.bind(py);
            let raised = |e: PyErr| failed(class, py, "__init__", Time::ZERO, &e);
            let first = Bound::new(py, first);
            let object = first.and_then(|first| factory.call((first,), Some(&own_parameters(py, settings)?)));
            let object = object.map_err(raised)?;
            same_as_class(name, factory, &object, fixed)?;
            claim(name, &object)?;
            let own_object = OwnObject {
                object: object.unbind(),
                class: class.clone(),
                calls: calls.clone(),
            };
            ready(py, own_object)
        })
    }

    pub fn class(&self) -> &OwnClass {
        &self.class
    }

    pub fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }

    /// The place where its calls are registered.
    pub fn calls(&self) -> Arc<Calls> {
        self.calls.clone()
    }

    /// A method that the contract requires.
    ///
    /// # Errors
    /// There is no such method.
    pub fn needed(&self, py: Python, method: &str, argument: &str) -> Result<Py<PyAny>, Refusal> {
        let found = self.bind(py).getattr(method).ok().filter(Bound::is_callable);
        found.map(Bound::unbind).ok_or_else(|| {
            let (name, kind) = (self.class.name(), self.class.kind());
            let problem = format!("{name} is not a {kind}: it has no method {method}");
            Refusal::new(problem, format!("give it `def {method}(self, {argument})`"))
        })
    }

    /// Whether it has an optional method.
    ///
    /// # Errors
    /// The object has an attribute of this name that is no method.
    pub fn has_method(&self, py: Python, method: &str) -> Result<bool, Refusal> {
        match self.bind(py).getattr(method) {
            Err(_) => Ok(false),
            Ok(f) if f.is_callable() => Ok(true),
            Ok(value) => {
                let problem = format!("{} has {method} = {}", self.class.name(), shown(&value));
                Err(Refusal::new(problem, "give a method, or leave it out"))
            }
        }
    }

    /// The value of an attribute that `method` was to set; `hint` says where the attribute may be set first.
    ///
    /// # Errors
    /// There is no such attribute, or it raises.
    pub fn left<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        what: &str,
        now: Time,
        hint: &str,
    ) -> Result<Bound<'py, PyAny>, Refusal> {
        self.bind(py).getattr(what).map_err(|e| {
            if !e.is_instance_of::<PyAttributeError>(py) {
                return self.failed(py, what, now, &e);
            }
            let problem = format!("{} has no attribute {what} after {method}", self.class.name());
            Refusal::new(problem, format!("set self.{what} there{hint}"))
        })
    }

    /// Read a value without a change; `None` for an attribute that is missing or None.
    pub fn ask<T: for<'a, 'py> FromPyObject<'a, 'py>>(&self, what: &str, now: Time) -> Option<T> {
        enter(&self.calls, |py| {
            let object = self.bind(py);
            let failed = |e: PyErr| self.failed(py, what, now, &e);
            let value = match object.getattr_opt(what).map_err(failed)? {
                // A property of the class that raises an AttributeError is not missing.
                None if matches!(object.get_type().getattr_opt(what), Ok(Some(_))) => {
                    Some(object.getattr(what).map_err(failed)?)
                }
                value => value,
            };
            let Some(value) = value.filter(|v| !v.is_none()) else {
                return Ok(None);
            };
            let read = value.extract::<T>();
            read.map(Some)
                .map_err(|_| self.unfit(what, what, &value, now, "give a value of the right type"))
        })
    }

    /// The refusal if something in it raised.
    pub fn failed(&self, py: Python, method: &str, now: Time, e: &PyErr) -> Refusal {
        failed(&self.class, py, method, now, e)
    }

    /// The refusal of a value that the contract does not allow.
    pub fn unfit(&self, method: &str, what: &str, value: &Bound<PyAny>, now: Time, remedy: &str) -> Refusal {
        let (name, seconds) = (self.class.name(), now.seconds());
        let place = match method == what {
            true => format!("{name} has"),
            false => format!("{name}.{method} leaves"),
        };
        let problem = format!("{place} {what} = {} ({seconds} s into the run)", shown(value));
        Refusal::new(problem, remedy)
    }
}

impl Drop for OwnObject {
    fn drop(&mut self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.remove(&(self.object.as_ptr() as usize));
    }
}

fn failed(class: &OwnClass, py: Python, method: &str, now: Time, e: &PyErr) -> Refusal {
    let (name, seconds, what) = (class.name(), now.seconds(), describe(py, e));
    let problem = format!("{name}.{method} failed ({seconds} s into the run): {what}");
    Refusal::new(problem, format!("correct the {} and run again", class.kind()))
}

fn claim(name: &str, object: &Bound<PyAny>) -> Result<(), Refusal> {
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    if in_use.insert(object.as_ptr() as usize) {
        return Ok(());
    }
    let problem = format!("{name} gave the same object for two connections");
    Err(Refusal::new(problem, "have each call of the class make a new object"))
}

/// The parameters of the class that the scenario gives.
fn own_parameters<'py>(py: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for p in settings.model.params {
        match settings.value(p.name) {
            Value::Flag(b) => values.set_item(p.name, *b)?,
            Value::Count(n) => values.set_item(p.name, *n)?,
            Value::Real(x) => values.set_item(p.name, *x)?,
            Value::Text(t) => values.set_item(p.name, t)?,
            // The class uses its own default.
            _ => {}
        }
    }
    Ok(values)
}

/// The attributes that hold for all connections are those of the class: an object must not have other values.
fn same_as_class(name: &str, factory: &Bound<PyAny>, object: &Bound<PyAny>, fixed: &[&str]) -> Result<(), Refusal> {
    for &what in fixed {
        if let (Ok(own), of_class) = (object.getattr(what), factory.getattr(what).ok()) {
            let same = of_class.is_some_and(|c| c.eq(&own).unwrap_or(false));
            if !same {
                return Err(Refusal::new(
                    format!("{name} sets {what} = {} for one connection", shown(&own)),
                    format!("set {what} in the class: it holds for all connections"),
                ));
            }
        }
    }
    Ok(())
}

/// A method that returns a value has misunderstood how its result is given; `how` says how.
pub fn silent(how: &str, method: &Bound<PyAny>, answer: &Bound<PyAny>) -> PyResult<()> {
    if answer.is_none() {
        return Ok(());
    }
    let name = method
        .getattr("__name__")
        .map_or_else(|_| "the method".into(), |n| n.to_string());
    Err(PyTypeError::new_err(format!(
        "{name} returns {}, but {how}; return nothing",
        shown(answer)
    )))
}

/// A Python value in a message.
pub fn shown(value: &Bound<PyAny>) -> String {
    let text = value
        .repr()
        .map_or_else(|_| "a value without repr".into(), |r| r.to_string());
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}
