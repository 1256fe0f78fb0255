//! Rows of a user's crate: the models that a program contains in addition to those of tailback.
//!
//! A program has at most one such crate, which hands in its rows before any code uses the standard library. From then
//! on scenarios, the reference, messages and runs include them. Its source is part of the fingerprint of stored runs,
//! so that a run is not taken from a store that another version of the crate has written.

use super::{Library, STANDARD};
use std::collections::BTreeSet;
use std::sync::OnceLock;
use tailback_base::Model;
use tailback_base::quantity::Refusal;

/// A crate that hands in rows. `own_crate!` makes it in that crate.
#[derive(Clone, Copy, Debug)]
pub struct OwnCrate {
    pub name: &'static str,
    pub version: &'static str,
    /// The name of its source, as given in its build script.
    pub source: &'static str,
}

/// The crate that calls this. Its `build.rs` calls `tailback_source::name_this_crate`.
#[macro_export]
macro_rules! own_crate {
    () => {
        $crate::library::own::OwnCrate {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            source: env!("TAILBACK_OWN_SOURCE"),
        }
    };
}

/// The rows that were given.
#[derive(Debug)]
pub struct Installed {
    pub of: OwnCrate,
    /// Family and name of each row.
    pub rows: Vec<(&'static str, &'static str)>,
}

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// The crate that has handed in rows.
pub fn installed() -> Option<&'static Installed> {
    INSTALLED.get()
}

/// Add the rows of a crate to the standard library. The same crate may call it again.
///
/// # Errors
/// A row whose name is taken, a second crate, or a standard library that is already in use.
pub fn install(of: OwnCrate, rows: fn(&mut Library)) -> Result<(), Refusal> {
    if let Some(installed) = INSTALLED.get() {
        return match (installed.of.name, installed.of.source) == (of.name, of.source) {
            true => Ok(()),
            false => Err(Refusal::new(
                format!(
                    "{} cannot add its rows: {} has added its own",
                    of.name, installed.of.name
                ),
                "put all rows in one crate",
            )),
        };
    }
    let mut library = Library::new();
    let count = |l: &Library| -> Vec<usize> { l.catalogue.families().iter().map(|f| f.models.len()).collect() };
    let before = count(&library);
    rows(&mut library);
    let families = library.catalogue.families();
    let added = |(i, n): (usize, usize)| families[i].models[n..].iter().map(move |m| (families[i].name, *m));
    let added: Vec<(&'static str, &'static Model)> = before.into_iter().enumerate().flat_map(added).collect();
    all_new(&library, &added, of)?;
    let facts = library.queues.entries().iter();
    let facts = facts.filter(|e| added.iter().any(|(_, m)| std::ptr::eq(*m, e.model)));
    let facts = facts.map(|e| (e.model, e.facts)).collect();
    if STANDARD.set(library).is_err() {
        return Err(Refusal::new(
            format!("{} adds its rows too late: the library is in use", of.name),
            "add them at the start of the program",
        ));
    }
    tailback_queue::registry::tell_facts(facts);
    INSTALLED.get_or_init(|| Installed {
        of,
        rows: added.iter().map(|(family, m)| (*family, m.name)).collect(),
    });
    Ok(())
}

/// Whether every row has a name that its family did not have.
fn all_new(library: &Library, added: &[(&'static str, &'static Model)], of: OwnCrate) -> Result<(), Refusal> {
    let mut names_seen = BTreeSet::new();
    for (family, model) in added {
        let same_name = library.catalogue.meant(family, model.name);
        if !same_name.iter().any(|m| std::ptr::eq(*m, *model)) || !names_seen.insert((family, model.name)) {
            return Err(Refusal::new(
                format!(
                    "the crate {} adds a {family} \"{}\", and there is one",
                    of.name, model.name
                ),
                "give it another name",
            ));
        }
    }
    Ok(())
}
