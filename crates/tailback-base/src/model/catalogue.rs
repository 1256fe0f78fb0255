//! The catalogue: the models of each family.

use super::{Alias, Model};
use crate::nearest::with_nearest;
use crate::quantity::Refusal;

/// Models that can be used in the same place, such as all queue disciplines.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name of the family, as in [`super::Kind::Model`].
    pub name: &'static str,
    /// Its title in the reference, such as `Queue disciplines`.
    pub title: &'static str,
    /// The models in the order of the reference page.
    pub models: Vec<&'static Model>,
    /// Titles for a long family, each with the number of models under it, in order. Models that are added later have no
    /// title.
    pub groups: Vec<(&'static str, usize)>,
    /// Names that other programs use for its models. A name may stand for several models.
    pub aliases: Vec<(Alias, &'static Model)>,
}

impl Family {
    pub fn new(name: &'static str, title: &'static str, models: Vec<&'static Model>) -> Family {
        Family {
            name,
            title,
            models,
            groups: vec![],
            aliases: vec![],
        }
    }

    /// The same family, with the names that other programs use for its models.
    #[must_use]
    pub fn also_called(mut self, of: impl Fn(&Model) -> &'static [Alias]) -> Family {
        for m in &self.models {
            self.aliases.extend(of(m).iter().map(|a| (*a, *m)));
        }
        self
    }

    /// The same family under titles.
    #[must_use]
    pub fn grouped(mut self, groups: impl IntoIterator<Item = (&'static str, usize)>) -> Family {
        self.groups = groups.into_iter().collect();
        self
    }

    /// The models by title. A family without groups has one group with an empty title.
    pub fn by_group(&self) -> Vec<(&'static str, &[&'static Model])> {
        let mut ungrouped = &self.models[..];
        let mut groups = vec![];
        for &(title, count) in &self.groups {
            let (these, others) = ungrouped.split_at(count);
            groups.push((title, these));
            ungrouped = others;
        }
        if !ungrouped.is_empty() {
            groups.push((if groups.is_empty() { "" } else { "Others" }, ungrouped));
        }
        groups
    }
}

/// Families by name. A model may belong to several: CoDel is a queue discipline, and also an AQM for each queue of
/// another discipline.
///
/// ```
/// use tailback_base::model::{Alias, Catalogue, Family, Model};
///
/// static FIFO: Model = Model {
///     name: "fifo", family: "queue", title: "", summary: "", source: "", params: &[], probes: &[],
/// };
/// const CALLED: &[Alias] = &[Alias::linux("pfifo")];
/// let queues = Family::new("queue", "Queue disciplines", vec![&FIFO]).also_called(|_| CALLED);
/// let all = Catalogue::new([queues]);
/// assert_eq!(all.find("queue", "pfifo").unwrap().name, "fifo");
/// let e = all.expect("queue", "fofo").unwrap_err();
/// assert_eq!(e.to_string(), "there is no queue \"fofo\"; did you mean \"fifo\"? Give one of fifo");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    families: Vec<Family>,
}

impl Catalogue {
    pub fn new(families: impl IntoIterator<Item = Family>) -> Catalogue {
        Catalogue {
            families: families.into_iter().collect(),
        }
    }

    /// Add a model to a family, which must exist.
    pub fn add(&mut self, family: &str, model: &'static Model) {
        match self.families.iter_mut().find(|f| f.name == family) {
            Some(f) => f.models.push(model),
            None => panic!("there is no family \"{family}\""),
        }
    }

    pub fn has(&self, family: &str) -> bool {
        self.families.iter().any(|f| f.name == family)
    }

    /// All families, in the order of the reference page.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The models of a family; empty for an unknown one.
    pub fn family(&self, name: &str) -> &[&'static Model] {
        self.families.iter().find(|f| f.name == name).map_or(&[], |f| &f.models)
    }

    /// The model of this family that a name stands for: its own name, or a name of another program for this model
    /// only.
    pub fn find(&self, family: &str, name: &str) -> Option<&'static Model> {
        match self.meant(family, name)[..] {
            [model] => Some(model),
            _ => None,
        }
    }

    /// The models of this family that a name may stand for. There are several if another program has one name for
    /// models that are distinct here.
    pub fn meant(&self, family: &str, name: &str) -> Vec<&'static Model> {
        if let Some(own) = self.family(family).iter().copied().find(|m| m.name == name) {
            return vec![own];
        }
        let of = self.families.iter().filter(|f| f.name == family);
        let called = of.flat_map(|f| &f.aliases).filter(|(a, _)| a.name == name);
        called.map(|(_, m)| *m).collect()
    }

    /// The names that other programs use for a model.
    pub fn aliases_of(&self, model: &Model) -> Vec<Alias> {
        let mut aliases: Vec<Alias> = vec![];
        let all = self.families.iter().flat_map(|f| &f.aliases);
        for (a, _) in all.filter(|(_, m)| std::ptr::eq(*m, model)) {
            if !aliases.contains(a) {
                aliases.push(*a);
            }
        }
        aliases
    }

    /// The model of this family and name.
    ///
    /// # Errors
    /// A refusal that names the nearest known name.
    pub fn expect(&self, family: &str, name: &str) -> Result<&'static Model, Refusal> {
        self.find(family, name).ok_or_else(|| {
            if let Some(e) = self.several(family, name) {
                return e;
            }
            let names: Vec<&str> = self.family(family).iter().map(|m| m.name).collect();
            let list = format!("one of {}", names.join(", "));
            Refusal::new(
                format!("there is no {family} \"{name}\""),
                with_nearest(name, names.iter().copied(), &list),
            )
        })
    }

    /// The refusal of a name that stands for several models; `None` if the name stands for only one.
    pub fn several(&self, family: &str, name: &str) -> Option<Refusal> {
        let meant = self.meant(family, name);
        if meant.len() < 2 {
            return None;
        }
        let names: Vec<&str> = meant.iter().map(|m| m.name).collect();
        let titles: Vec<String> = meant.iter().map(|m| format!("\"{}\" ({})", m.name, m.title)).collect();
        Some(Refusal::new(
            format!("the {family} \"{name}\" may be {}", names.join(" or ")),
            format!("write {}", titles.join(" or ")),
        ))
    }

    /// Every model, once for each family it belongs to.
    pub fn all(&self) -> impl Iterator<Item = &'static Model> {
        self.families.iter().flat_map(|f| f.models.iter().copied())
    }

    /// The models that a user may mean by a name, each once; there are several if families share the name
    /// (`poisson`).
    pub fn named(&self, name: &str) -> Vec<&'static Model> {
        let mut models: Vec<&'static Model> = vec![];
        for m in self.all().filter(|m| m.name == name) {
            if !models.iter().any(|f| std::ptr::eq(*f, m)) {
                models.push(m);
            }
        }
        if models.is_empty() {
            for m in self.families.iter().flat_map(|f| self.meant(f.name, name)) {
                if !models.iter().any(|f| std::ptr::eq(*f, m)) {
                    models.push(m);
                }
            }
        }
        models
    }
}
