//! `[profile.NAME]`: named sets of tcp values a scenario brings along, beside the built-in ones.
//!
//! A study's own TCP is written down once and chosen by name. The engine never sees these names: what a profile gives,
//! and the flow does not give itself, is laid under the flow's own values here, and the built-in profile at the end of
//! the chain is left for [`tcp::Config::resolve`].

use super::document::{Entry, Node};
use super::error::{At, Problem};
use super::read::among;
use super::table::{Reader, join};
use tailback_base::model::{Raw, Settings};
use tailback_transport::tcp;

/// The profiles of a scenario whose values are sound.
#[derive(Default)]
pub struct Profiles<'d> {
    list: Vec<(&'d str, Settings, &'d Node)>,
    /// Some could not be read, so that an unknown name may be one of them.
    broken: bool,
}

impl<'d> Profiles<'d> {
    pub fn read(r: &mut Reader, entries: &[&'d Entry]) -> Profiles<'d> {
        let mut profiles = Profiles::default();
        for entry in entries {
            let path = join("profile", &entry.key);
            if tcp::profiles::BUILT_IN.iter().any(|b| b.name == entry.key) {
                let problem = format!("\"{}\" is a built-in profile", entry.key);
                let remedy = "give yours another name; profile = \"NAME\" in it says what it builds on";
                r.complain(Problem::new("duplicate", entry.key_at.clone(), &path, problem, remedy).value(&entry.key));
                profiles.broken = true;
                continue;
            }
            match r.fill(&entry.node, &path, &tcp::MODEL, &[]) {
                Some(filled) => profiles.list.push((&entry.key, filled.settings, &entry.node)),
                None => profiles.broken = true,
            }
        }
        // A profile nobody uses must fit together too.
        for (name, settings, node) in &profiles.list {
            let mut settings = settings.clone();
            profiles.settle(r, &mut settings, node, node.at.clone(), &join("profile", name));
        }
        profiles
    }

    /// Lay the chain of profiles under the values of a flow (or a profile), and see that all fits together.
    pub fn settle(&self, r: &mut Reader, settings: &mut Settings, node: &Node, at: At, path: &str) -> bool {
        let at_profile = node.get("profile").map_or(at.clone(), |e| e.node.at.clone());
        let key = join(path, "profile");
        let mut name = settings.text("profile").to_string();
        let mut steps = 0;
        while let Some((_, profile, given)) = self.list.iter().find(|(n, ..)| *n == name) {
            steps += 1;
            if steps > self.list.len() {
                let problem = format!("the profile \"{name}\" builds on itself");
                r.complain(
                    Problem::new(
                        "conflict",
                        at_profile,
                        &key,
                        problem,
                        "let one of the chain build on a built-in profile, such as \"rfc\"",
                    )
                    .value(name),
                );
                return false;
            }
            for entry in given.entries().iter().filter(|e| e.key != "profile") {
                if let (false, Some(raw)) = (settings.is_given(&entry.key), entry.node.raw()) {
                    // Checked when the profile was read.
                    let _ = settings.set(&entry.key, &raw);
                }
            }
            name = profile.text("profile").to_string();
        }
        if !tcp::profiles::BUILT_IN.iter().any(|b| b.name == name) {
            if !self.broken {
                let names: Vec<&str> = self
                    .list
                    .iter()
                    .map(|(n, ..)| *n)
                    .chain(tcp::profiles::BUILT_IN.iter().map(|b| b.name))
                    .collect();
                let (near, remedy) = among(&name, names.into_iter(), "profiles");
                let problem = format!("there is no tcp profile \"{}\"", super::error::shorten(&name, 60));
                r.complain(
                    Problem::new("value", at_profile, &key, problem, remedy)
                        .value(name)
                        .nearest(near.as_deref()),
                );
            }
            return false;
        }
        if steps > 0 {
            let _ = settings.set("profile", &Raw::Text(name));
        }
        if let Err(e) = tcp::Config::resolve(settings, &[]) {
            r.complain(Problem::new("conflict", at, path, e.problem, e.remedy));
            return false;
        }
        true
    }
}
