//! Profiles: named sets of values of one model, as data.
//!
//! A protocol is a family of choices, and each study and each simulator made its own choices. A profile writes down
//! such a set of choices once, as names and texts that a user would write. A profile may build on another profile,
//! which it names as its value for the profile parameter. Otherwise it builds on the declared defaults. A user's values
//! override the profile's, and the profile's override the defaults.

use super::raw::Raw;
use super::settings::Settings;
use super::{Kind, Model};
use crate::nearest::with_nearest;
use crate::quantity::Refusal;

/// A profile that is always available.
#[derive(Debug, PartialEq)]
pub struct Profile {
    pub name: &'static str,
    /// One sentence for `tailback describe`.
    pub doc: &'static str,
    pub values: &'static [(&'static str, &'static str)],
}

/// A profile that a scenario or a study defines.
///
/// ```
/// use tailback_base::model::{NamedValues, Raw};
///
/// let lab = NamedValues::from_text("lab", &[("min_rto", "200ms"), ("sack", "true")]);
/// assert_eq!(lab.values[1], ("sack".to_string(), Raw::Bool(true)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValues {
    pub name: String,
    pub values: Vec<(String, Raw)>,
}

impl NamedValues {
    /// Make the values from pairs of text, as in tests.
    pub fn from_text(name: &str, values: &[(&str, &str)]) -> NamedValues {
        let values = values.iter().map(|(k, v)| (k.to_string(), Raw::from_word(v))).collect();
        NamedValues {
            name: name.to_string(),
            values,
        }
    }
}

impl Model {
    /// The parameter that names a profile.
    pub fn profile_param(&self) -> Option<&'static str> {
        let is = |k: &Kind| matches!(k, Kind::Profile(_));
        self.params.iter().find(|p| is(&p.kind)).map(|p| p.name)
    }

    fn profile(&self, name: &str, own: &[NamedValues]) -> Option<NamedValues> {
        let own_profile = own.iter().find(|p| p.name == name).cloned();
        own_profile.or_else(|| {
            let built_in = self.profiles().iter().find(|p| p.name == name)?;
            Some(NamedValues::from_text(built_in.name, built_in.values))
        })
    }
}

impl Settings {
    /// These settings, completed with the values of their profile and of the profiles it builds on. Values that were
    /// given stay. `own` is searched before the built-in profiles. Settings without profiles, or whose profile was
    /// applied before, are returned unchanged, because a second application has no effect.
    ///
    /// # Errors
    /// A profile that is unknown, that builds on itself, or that has a value its model does not allow.
    pub fn with_profile(&self, own: &[NamedValues]) -> Result<Settings, Refusal> {
        let Some(key) = self.model.profile_param().filter(|_| !self.profile_is_laid) else {
            return Ok(self.clone());
        };
        let (model, mut name) = (self.model.name, self.text(key).to_string());
        let mut chain: Vec<NamedValues> = vec![];
        loop {
            let Some(profile) = self.model.profile(&name, own) else {
                let own = own.iter().map(|p| p.name.as_str());
                let names: Vec<&str> = own.chain(self.model.profiles().iter().map(|p| p.name)).collect();
                let quoted: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
                let choices = format!("one of {}", quoted.join(", "));
                return Err(Refusal::new(
                    format!("there is no {model} {key} \"{name}\""),
                    with_nearest(&name, names.into_iter(), &choices),
                ));
            };
            if chain.iter().any(|p| p.name == name) {
                return Err(Refusal::new(
                    format!("the {model} {key} \"{name}\" builds on itself"),
                    format!("let one profile of the chain build on a built-in profile, or leave its `{key}` out"),
                ));
            }
            let under = profile
                .values
                .iter()
                .find(|(k, _)| k == key)
                .map(|(_, raw)| raw.clone());
            chain.push(profile);
            match under {
                None => break,
                Some(Raw::Text(under)) => name = under,
                Some(raw) => {
                    return Err(Refusal::new(
                        format!("profile {} is not a name", raw.show()),
                        "give the name of a profile in quotes",
                    ));
                }
            }
        }
        let mut settings = self.clone();
        // The loop goes from the base profile up: later profiles override earlier ones.
        for profile in chain.iter().rev() {
            for (k, raw) in profile.values.iter().filter(|(k, _)| k != key) {
                let refused = |e: Refusal| {
                    let problem = format!("in the {model} profile \"{}\", {k}: {}", profile.name, e.problem);
                    Refusal::new(problem, e.remedy)
                };
                settings.lay_under(k, raw).map_err(refused)?;
            }
        }
        settings.profile_is_laid = true;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Param;
    use crate::time::Duration;

    static TOY: Model = Model {
        name: "toy",
        family: "queue",
        title: "Toy",
        summary: "",
        source: "",
        params: &[
            Param::new(
                "profile",
                Kind::Profile(&[
                    Profile {
                        name: "rfc",
                        doc: "",
                        values: &[],
                    },
                    Profile {
                        name: "study",
                        doc: "",
                        values: &[("target", "20ms"), ("period", "1s")],
                    },
                    Profile {
                        name: "simulator",
                        doc: "",
                        values: &[("profile", "study"), ("target", "30ms")],
                    },
                ]),
                "rfc",
                "",
                "",
            ),
            Param::new("target", Kind::Time { min: 0.0, max: 1.0 }, "5ms", "", ""),
            Param::new("period", Kind::Time { min: 0.0, max: 9.0 }, "100ms", "", ""),
        ],
        probes: &[],
    };

    #[test]
    fn given_values_win_over_the_profile_and_it_over_what_it_builds_on() {
        let toy = || Settings::defaults(&TOY);
        let target_and_period = |s: Settings, own: &[NamedValues]| {
            let s = s.with_profile(own).unwrap();
            assert_eq!(s.with_profile(own).unwrap(), s);
            (s.time("target").seconds(), s.time("period").seconds())
        };
        assert_eq!(target_and_period(toy(), &[]), (0.005, 0.1));
        assert_eq!(target_and_period(toy().with("profile", "simulator"), &[]), (0.03, 1.0));
        assert_eq!(
            target_and_period(toy().with("profile", "simulator").with("target", "1ms"), &[]),
            (0.001, 1.0)
        );
        let own_profiles = [NamedValues::from_text(
            "own",
            &[("profile", "simulator"), ("period", "2s")],
        )];
        assert_eq!(
            target_and_period(toy().with("profile", "own"), &own_profiles),
            (0.03, 2.0)
        );
        let laid = toy().with("profile", "own").with_profile(&own_profiles).unwrap();
        assert_eq!(laid.with_profile(&[]).unwrap(), laid, "without the own ones at hand");
        assert_eq!(
            toy().with_profile(&[]).unwrap().time("target"),
            Duration::from_millis(5)
        );
    }

    #[test]
    fn a_profile_that_cannot_be_laid_under_is_refused() {
        let refused = |name: &str, own: &[NamedValues]| {
            Settings::defaults(&TOY)
                .with("profile", name)
                .with_profile(own)
                .unwrap_err()
        };
        assert!(refused("studdy", &[]).remedy.contains("did you mean \"study\""));
        let own_profiles = [
            NamedValues::from_text("loop", &[("profile", "pool")]),
            NamedValues::from_text("pool", &[("profile", "loop")]),
            NamedValues::from_text("bad", &[("target", "1h")]),
        ];
        assert!(refused("loop", &own_profiles).problem.contains("builds on itself"));
        assert!(refused("bad", &own_profiles).problem.contains("\"bad\", target"));
    }
}
