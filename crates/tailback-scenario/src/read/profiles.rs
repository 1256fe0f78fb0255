//! `[profile.NAME]`: named sets of tcp values that a scenario defines, in addition to the built-in ones.
//!
//! A study's own TCP is written down once and chosen by name. This file checks the tables and keeps them as names and
//! values. [`Settings::with_profile`] puts them under the values of a flow, as it does with the built-in ones.

use super::names::among;
use crate::check::{Reader, join};
use crate::document::{Entry, Node};
use crate::error::Problem;
use tailback_base::model::{NamedValues, Settings, nearest};
use tailback_sim::declare::tables::top;
use tailback_transport::tcp;
use tailback_transport::tcp::params::PROFILE;

/// The profiles of a scenario whose values are sound.
#[derive(Default)]
pub struct Profiles {
    own: Vec<NamedValues>,
    /// Some could not be read, so that an unknown name may be one of them.
    broken: bool,
}

impl Profiles {
    pub fn read(r: &mut Reader, entries: &[&Entry]) -> Profiles {
        let mut profiles = Profiles::default();
        let mut sound: Vec<(&Node, Settings, String)> = vec![];
        for entry in entries {
            let path = join(top::PROFILES.name, &entry.key);
            if tcp::MODEL.profiles().iter().any(|b| b.name == entry.key) {
                let problem = format!("\"{}\" is a built-in profile", entry.key);
                let remedy = "give yours another name; profile = \"NAME\" in it says what it builds on";
                r.complain(Problem::new("duplicate", entry.key_at.clone(), &path, problem, remedy).value(&entry.key));
                profiles.broken = true;
                continue;
            }
            let table = entry.node.entries().iter().find(|e| e.node.raw().is_none());
            if let Some(e) = table {
                let problem = format!("a profile holds plain values, but {} is a table", e.key);
                let remedy = "give its name alone here, and the table at the flows";
                r.complain(Problem::new(
                    "value",
                    e.node.at.clone(),
                    &join(&path, &e.key),
                    problem,
                    remedy,
                ));
                profiles.broken = true;
                continue;
            }
            match r.fill(&entry.node, &path, &tcp::MODEL, &[]) {
                Some(filled) => {
                    let values = entry.node.entries().iter();
                    profiles.own.push(NamedValues {
                        name: entry.key.clone(),
                        values: values.filter_map(|e| Some((e.key.clone(), e.node.raw()?))).collect(),
                    });
                    sound.push((&entry.node, filled.settings, path));
                }
                None => profiles.broken = true,
            }
        }
        // The values of an unused profile must not contradict each other either.
        for (node, mut settings, path) in sound {
            if profiles.lay_under(r, &mut settings, node, &path)
                && let Err(e) = r.library.transports.connection(&settings)
            {
                r.complain(Problem::new("conflict", node.at.clone(), &path, e.problem, e.remedy));
            }
        }
        profiles
    }

    /// Lay the chain of profiles under the values of a flow (or a profile); false if there is something wrong with it.
    pub fn lay_under(&self, r: &mut Reader, settings: &mut Settings, node: &Node, path: &str) -> bool {
        let (place, key) = (node.place_of(&PROFILE), join(path, PROFILE.name));
        let built_in = settings.model.profiles();
        if !built_in.is_empty() {
            let name = settings.text(PROFILE.name).to_string();
            let own = self.own.iter().map(|p| p.name.as_str());
            let names: Vec<&str> = own.chain(built_in.iter().map(|b| b.name)).collect();
            if !names.contains(&name.as_str()) {
                if !self.broken {
                    let (near, remedy) = among(&name, names.into_iter(), "profiles");
                    let problem = format!("there is no tcp profile \"{}\"", crate::error::shorten(&name, 60));
                    r.complain(
                        Problem::new("unknown-name", place, &key, problem, remedy)
                            .value(name)
                            .nearest(near.as_deref()),
                    );
                }
                return false;
            }
        }
        let laid = settings.with_profile(&self.own);
        match laid.and_then(|s| s.with_models(&r.library.catalogue)) {
            Ok(laid) => {
                *settings = laid;
                true
            }
            // A problem of the profile below it is complained about at that profile's own place.
            Err(_) if self.broken => false,
            Err(e) => {
                r.complain(Problem::new("conflict", place, &key, e.problem, e.remedy));
                false
            }
        }
    }
}

/// Settings in which the values of the preset, if their model names one, are used for all values that were not given.
pub fn with_preset(r: &mut Reader, settings: Settings, node: &Node, path: &str) -> Option<Settings> {
    let laid = settings.with_profile(&[]);
    match laid.and_then(|s| s.with_models(&r.library.catalogue)) {
        Ok(laid) => Some(laid),
        Err(e) => {
            let key = settings.model.profile_param().unwrap_or_default();
            let place = node.get(key).map_or(node.at.clone(), |n| n.node.at.clone());
            let name = settings.text(key);
            let names = settings.model.profiles().iter().map(|p| p.name);
            let problem = Problem::new("value", place, &join(path, key), e.problem, e.remedy);
            r.complain(problem.value(name).nearest(nearest(name, names)));
            None
        }
    }
}
