//! The trace files that `[change.NAME]` tables name: what a link follows.

use crate::check::{Filled, Reader};
use crate::document::{Document, Entry, Node, Tree};
use crate::key::Key;
use crate::read::trace_file::{self, TraceForm};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tailback_base::Param;
use tailback_base::model::Raw;
use tailback_base::quantity::Refusal;
use tailback_queue::rate_trace::Trace;
use tailback_sim::change::{Change, Values};
use tailback_sim::declare::changes::{AT, DIGEST, END, EVERY, FROM, MAHIMAHI, TRACE, TraceEnd};
use tailback_sim::declare::tables::top;
use tailback_sim::library::Library;
use tailback_sim::spec::DirectionSpec;

/// Write the place and the digest of each trace file into the document, so that what is stored says which file it was.
/// What is wrong with a file is said when the table is read. Returns whether there was one.
pub fn seal(document: &mut Document, library: &Library) -> bool {
    let file = document.file.clone();
    let mut sealed = false;
    let Some(changes) = document.root.get_mut(top::CHANGES.name) else {
        return sealed;
    };
    for table in changes.entries_mut() {
        for key in [TRACE.name, MAHIMAHI.name] {
            let Some(value) = table.node.get_mut(key) else { continue };
            let Tree::Scalar(Raw::Text(name)) = &value.tree else {
                continue;
            };
            let place = match library.files.contains_key(name) {
                true => PathBuf::from(name),
                false => trace_file::place(&file, name),
            };
            let (Ok(bytes), Some(text)) = (bytes_of(&place, library), place.to_str()) else {
                continue;
            };
            value.tree = Tree::Scalar(Raw::Text(text.to_string()));
            sealed = true;
            let at = value.at.clone();
            if table.node.get(DIGEST.name).is_none() {
                let digest = Key::of(bytes).to_string();
                table.node.insert(DIGEST.name, Node::text(&digest, at));
            }
        }
    }
    sealed
}

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
        let problem = format!("a trace has its own instants, and \"{}\" is given", other.name);
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

/// The bytes of a trace file, or of the text that stands for it.
fn bytes_of(place: &Path, library: &Library) -> Result<Vec<u8>, Refusal> {
    match place.to_str().and_then(|name| library.files.get(name)) {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => trace_file::bytes(place),
    }
}

/// The trace of a file, which has this digest if one was stored.
fn follow(name: &str, digest: Option<String>, form: TraceForm, library: &Library) -> Result<Trace, Refusal> {
    let bytes = bytes_of(Path::new(name), library)?;
    let present = Key::of(bytes.iter().copied()).to_string();
    if digest.is_some_and(|stored| stored != present) {
        return Err(Refusal::new(
            format!("{name} has changed since the scenario was stored"),
            "bring the old file back, or leave `digest` out for the new one",
        ));
    }
    trace_file::parse(&String::from_utf8_lossy(&bytes), name, form)
}
