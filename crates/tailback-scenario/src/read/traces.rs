//! The trace files that `[change.NAME]` tables name, and that links follow.

use crate::check::{Filled, Reader};
use crate::document::Entry;
use crate::read::named_file;
use crate::read::trace_file::{self, TraceForm};
use std::sync::Arc;
use tailback_base::Param;
use tailback_base::quantity::Refusal;
use tailback_queue::rate_trace::Trace;
use tailback_sim::change::{Change, Values};
use tailback_sim::declare::changes::{AT, DIGEST, END, EVERY, FROM, MAHIMAHI, TRACE, TraceEnd};
use tailback_sim::library::Library;
use tailback_sim::spec::DirectionSpec;

/// The trace that the direction follows from now on, which the table names under `key`.
pub fn read(
    r: &mut Reader,
    (entry, filled): (&Entry, &Filled),
    key: &Param,
    direction: &DirectionSpec,
) -> Option<Arc<Trace>> {
    let s = &filled.settings;
    let mut conflict = |key: &Param, problem: &str, remedy: &str| {
        r.complain(filled.problem("conflict", key, problem, remedy));
        None
    };
    let rates = |c: &Change| matches!(c.to, Values::Rate(_));
    if direction.trace.is_some() || direction.changes.iter().any(rates) {
        return conflict(key, "the rate of the link changes in two ways", "keep one of them");
    }
    let instants: [&Param; 3] = [&AT, &EVERY, &FROM];
    if let Some(other) = instants.into_iter().find(|key| entry.node.given(key).is_some()) {
        let problem = format!("a trace has its own instants, but \"{}\" is given", other.name);
        return conflict(other, &problem, &format!("leave {} out", other.name));
    }
    let wraps = s.get(&END) == TraceEnd::Wrap;
    let (name, form) = match s.get(&MAHIMAHI) {
        Some(_) if !wraps => {
            let problem = "delivery opportunities have no last rate to hold";
            return conflict(&END, problem, "leave `end` out");
        }
        Some(name) => (name, TraceForm::Mahimahi),
        None => {
            let own = direction.rate;
            (s.get(&TRACE).unwrap_or_default(), TraceForm::Rates { own, wraps })
        }
    };
    match follow(&name, s.get(&DIGEST), form, r.library) {
        Ok(trace) => Some(Arc::new(trace)),
        Err(e) => {
            r.complain(filled.problem("value", key, e.problem, e.remedy).value(name));
            None
        }
    }
}

/// The trace of a file. If a digest was stored, the file must have it.
fn follow(name: &str, digest: Option<String>, form: TraceForm, library: &Library) -> Result<Trace, Refusal> {
    trace_file::parse(&named_file::text(name, digest, library)?, name, form)
}
