//! Settings: the checked values from which a model is built.

use super::catalogue::Catalogue;
use super::raw::Raw;
use super::{Key, Kind, Model, Param, ProbeDef, Typed};
use crate::nearest::with_nearest;
use crate::quantity::{BitRate, Level, Refusal, Size};
use crate::time::Duration;

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value. This is possible if the default is `none`.
    None,
    Flag(bool),
    Count(u64),
    Real(f64),
    Time(Duration),
    Rate(BitRate),
    Size(Size),
    Level(Level),
    Text(String),
    /// A model with its own checked values.
    Model(Box<Settings>),
    List(Vec<Value>),
}

impl Value {
    /// See [`Settings::number`].
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Count(n) => Some(*n as f64),
            Value::Real(x) => Some(*x),
            Value::Time(t) => Some(t.seconds()),
            Value::Rate(r) => Some(r.bits_per_second()),
            Value::Size(Size::Packets(n) | Size::Bytes(n)) => Some(*n as f64),
            Value::Flag(b) => Some(f64::from(u8::from(*b))),
            Value::List(all) => {
                let numbers: Vec<f64> = all.iter().filter_map(Value::number).collect();
                (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
            }
            Value::Size(Size::Unlimited) | Value::None | Value::Level(_) | Value::Text(_) | Value::Model(_) => None,
        }
    }
}

/// The checked values of one model, in the order of its declaration.
///
/// ```
/// use tailback_base::model::{Kind, Model, Param, Raw, Settings};
///
/// static MODEL: Model = Model {
///     name: "mine",
///     family: "queue",
///     title: "Mine",
///     summary: "Drops beyond a limit.",
///     source: "",
///     params: &[Param::new("limit", Kind::Count { min: 1, max: 100 }, "10", "How many may wait.", "")],
///     probes: &[],
/// };
/// let mut settings = Settings::defaults(&MODEL);
/// assert!(!settings.is_given("limit"));
/// // A refusal says what is allowed, and which name was meant.
/// assert!(settings.set("limit", &Raw::Int(0)).is_err());
/// let e = settings.set("limt", &Raw::Int(5)).unwrap_err();
/// assert!(e.to_string().contains("did you mean \"limit\"?"));
/// settings.set("limit", &Raw::Int(5)).unwrap();
/// assert_eq!(settings.value("limit").number(), Some(5.0));
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    pub model: &'static Model,
    values: Vec<Option<Value>>,
    given: Vec<bool>,
    /// Whether the profile's values have been filled in for parameters that were not given.
    pub(super) profile_is_laid: bool,
}

/// Two settings are equal if they are of the same model and have equal values. Whether a value was given or is the
/// default does not matter.
impl PartialEq for Settings {
    fn eq(&self, other: &Settings) -> bool {
        std::ptr::eq(self.model, other.model) && self.values == other.values
    }
}

impl Settings {
    /// The declared defaults. Parameters without a default have no value until [`Settings::set`].
    pub fn defaults(model: &'static Model) -> Settings {
        let values = model
            .params
            .iter()
            .map(|p| p.default_value().and_then(Result::ok))
            .collect();
        Settings {
            model,
            values,
            given: vec![false; model.params.len()],
            profile_is_laid: false,
        }
    }

    /// Set one parameter from a raw value. The refusal gives the problem and the allowed values.
    pub fn set(&mut self, name: &str, raw: &Raw) -> Result<(), Refusal> {
        let Some(i) = self.model.params.iter().position(|p| p.name == name) else {
            let names: Vec<&str> = self.model.params.iter().map(|p| p.name).collect();
            let choices = format!("one of {}", names.join(", "));
            return Err(Refusal::new(
                format!("{} has no parameter \"{name}\"", self.model.name),
                with_nearest(name, names.iter().copied(), &choices),
            ));
        };
        let value = self.model.params[i].kind.check(raw)?;
        self.values[i] = Some(value);
        self.given[i] = true;
        Ok(())
    }

    /// Set a parameter that contains models to models that are already checked.
    pub fn set_models(&mut self, name: &str, value: Value) {
        let i = self.index(name);
        debug_assert!(
            self.model.params[i].kind.holds_models(),
            "{}.{name} holds no models",
            self.model.name
        );
        self.values[i] = Some(value);
        self.given[i] = true;
    }

    /// Replace the model of a parameter by the same model with other settings. Whether the parameter was given does not
    /// change.
    pub fn replace_model(&mut self, name: &str, model: Settings) {
        let i = self.index(name);
        self.values[i] = Some(Value::Model(Box::new(model)));
    }

    /// The probes of this model and of the models inside it, in the order of their declaration.
    pub fn probes(&self) -> Vec<&'static ProbeDef> {
        self.models().iter().flat_map(|m| m.model.probes).collect()
    }

    /// Set a value only if none was given. The value replaces the default, and counts as a default.
    pub fn lay_under(&mut self, name: &str, raw: &Raw) -> Result<(), Refusal> {
        if self.model.param(name).is_some() && self.is_given(name) {
            return Ok(());
        }
        self.set(name, raw)?;
        let i = self.index(name);
        self.given[i] = false;
        Ok(())
    }

    /// Copy the value of a parameter from another model's settings, if none was given here.
    pub fn lay_value_of(&mut self, other: &Settings, name: &str) {
        let kind = |s: &Settings| s.model.param(name).map(|p| p.kind);
        debug_assert_eq!(kind(self), kind(other));
        self.lay(name, other.value(name).clone());
    }

    /// Set a value of the parameter's type, if none was given. If the parameter has a value for each of
    /// several things, the new value holds for all of them.
    pub fn lay(&mut self, name: &str, value: Value) {
        let i = self.index(name);
        if self.given[i] {
            return;
        }
        self.values[i] = Some(match (self.model.params[i].kind, value) {
            (_, list @ Value::List(_)) => list,
            (Kind::Each(..), one) => Value::List(vec![one]),
            (_, one) => one,
        });
    }

    /// Remove the value of a parameter, whether given or default: the parameter is absent.
    pub fn clear(&mut self, name: &str) {
        let i = self.index(name);
        debug_assert_eq!(self.model.params[i].default, "none", "{}.{name}", self.model.name);
        (self.values[i], self.given[i]) = (Some(Value::None), false);
    }

    /// These settings and those of every model inside them, in the order of their declaration.
    pub fn models(&self) -> Vec<&Settings> {
        let mut models = vec![self];
        let mut values: Vec<&Value> = self.values.iter().flatten().rev().collect();
        while let Some(value) = values.pop() {
            match value {
                Value::Model(m) => models.extend(m.models()),
                Value::List(list) => values.extend(list.iter().rev()),
                _ => {}
            }
        }
        models
    }

    /// Apply a change to these settings and to those of every model inside them.
    pub fn each_model(&mut self, change: &mut dyn FnMut(&mut Settings)) {
        fn each(value: &mut Value, change: &mut dyn FnMut(&mut Settings)) {
            match value {
                Value::Model(m) => m.each_model(change),
                Value::List(list) => list.iter_mut().for_each(|v| each(v, change)),
                _ => {}
            }
        }
        change(self);
        self.values.iter_mut().flatten().for_each(|v| each(v, change));
    }

    /// Turn models that are still names (from defaults and texts) into models with their defaults.
    ///
    /// # Errors
    /// A name that the family does not have.
    pub fn with_models(mut self, catalogue: &Catalogue) -> Result<Settings, Refusal> {
        for (p, value) in self.model.params.iter().zip(&mut self.values) {
            if let (Some(family), Some(v)) = (p.kind.family(), value.as_mut()) {
                resolve(v, family, catalogue)?;
            }
        }
        Ok(self)
    }

    fn index(&self, name: &str) -> usize {
        let i = self.model.params.iter().position(|p| p.name == name);
        i.unwrap_or_else(|| panic!("{}.{name} is not declared", self.model.name))
    }

    /// Set a value from text, as in a scenario, for tests and for code that knows its own declarations. Panics on a
    /// refusal.
    pub fn with(mut self, name: &str, text: &str) -> Settings {
        if let Err(e) = self.set(name, &Raw::from_word(text)) {
            panic!("{name} = {text}: {e}");
        }
        self
    }

    /// The first parameter that still has no value.
    pub fn missing(&self) -> Option<&'static Param> {
        self.values
            .iter()
            .position(Option::is_none)
            .map(|i| &self.model.params[i])
    }

    /// Whether the user gave this parameter (as opposed to its default).
    pub fn is_given(&self, name: &str) -> bool {
        self.model
            .params
            .iter()
            .position(|p| p.name == name)
            .is_some_and(|i| self.given[i])
    }

    /// Whether the user gave this parameter (as opposed to its default).
    pub fn gives<T>(&self, key: &Key<T>) -> bool {
        self.is_given(key.name)
    }

    /// The value of a parameter.
    pub fn get<T: Typed>(&self, key: &Key<T>) -> T {
        let value = self.value(key.name);
        T::of(value).unwrap_or_else(|| self.wrong(key.name, value))
    }

    /// The value for number `number` from a list whose values are taken in turn.
    pub fn turn<T: Typed>(&self, key: &Key<Vec<T>>, number: u32) -> T {
        let all = self.value(key.name);
        let own = match all {
            Value::List(list) => list.get(number as usize % list.len().max(1)),
            value => Some(value),
        };
        own.and_then(T::of).unwrap_or_else(|| self.wrong(key.name, all))
    }

    /// The value of a parameter that not every model has; `None` if the model does not have it.
    pub fn find_key<T: Typed>(&self, key: &Key<T>) -> Option<T> {
        self.model.param(key.name).map(|_| self.get(key))
    }

    pub fn value(&self, name: &str) -> &Value {
        self.place(name)
            .and_then(|i| self.values[i].as_ref())
            .unwrap_or_else(|| panic!("{}.{name} is not declared or not set", self.model.name))
    }

    /// The value of a parameter, if the model has it and it is set.
    pub fn find(&self, name: &str) -> Option<&Value> {
        self.values[self.place(name)?].as_ref().filter(|v| **v != Value::None)
    }

    /// The position of a parameter in the declaration. Most calls use the text of the declaration itself, so comparing
    /// addresses is enough.
    fn place(&self, name: &str) -> Option<usize> {
        let params = self.model.params;
        let same = params.iter().position(|p| std::ptr::eq(p.name, name));
        same.or_else(|| params.iter().position(|p| p.name == name))
    }

    /// The number that a parameter represents, whatever its kind: a count, a real number, packets or bytes of a size,
    /// seconds, bit/s; for a list, the mean. `None` if there is no such parameter, no value, or no number in it.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.find(name)?.number()
    }

    fn wrong(&self, name: &str, v: &Value) -> ! {
        panic!(
            "{}.{name} is declared with another kind than it is read with: {v:?}",
            self.model.name
        )
    }

    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Flag(b) => *b,
            v => self.wrong(name, v),
        }
    }

    /// A whole number or a number of bytes.
    pub fn count(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Count(n) => *n,
            v => self.wrong(name, v),
        }
    }

    pub fn real(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Real(x) => *x,
            v => self.wrong(name, v),
        }
    }

    pub fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Time(d) => *d,
            v => self.wrong(name, v),
        }
    }

    pub fn rate(&self, name: &str) -> BitRate {
        match self.value(name) {
            Value::Rate(r) => *r,
            v => self.wrong(name, v),
        }
    }

    pub fn size(&self, name: &str) -> Size {
        match self.value(name) {
            Value::Size(s) => *s,
            v => self.wrong(name, v),
        }
    }

    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(t) => t,
            v => self.wrong(name, v),
        }
    }

    /// A list, or one value as a list of one; empty for `none`.
    pub fn list(&self, name: &str) -> &[Value] {
        match self.value(name) {
            Value::List(l) => l,
            Value::None => &[],
            v => self.wrong(name, v),
        }
    }

    /// The numbers of a list; empty for `none`.
    pub fn reals(&self, name: &str) -> Vec<f64> {
        let real = |v: &Value| match v {
            Value::Real(x) => *x,
            v => self.wrong(name, v),
        };
        self.list(name).iter().map(real).collect()
    }

    /// The flags of a list, or one flag as a list of one; empty for `none`.
    pub fn flags(&self, name: &str) -> Vec<bool> {
        if let Value::Flag(b) = self.value(name) {
            return vec![*b];
        }
        let flag = |v: &Value| match v {
            Value::Flag(b) => *b,
            v => self.wrong(name, v),
        };
        self.list(name).iter().map(flag).collect()
    }

    /// The model that a parameter contains; `None` when it is absent.
    pub fn nested(&self, name: &str) -> Option<&Settings> {
        match self.value(name) {
            Value::Model(m) => Some(m),
            Value::None => None,
            v => self.wrong(name, v),
        }
    }

    /// The model that a parameter always contains, by its default or a profile.
    pub fn within(&self, name: &str) -> &Settings {
        self.nested(name).unwrap_or_else(|| self.wrong(name, self.value(name)))
    }

    /// The models that a parameter contains, in order.
    pub fn nested_list(&self, name: &str) -> impl Iterator<Item = &Settings> {
        let models = match self.value(name) {
            one @ Value::Model(_) => std::slice::from_ref(one),
            Value::List(list) => list.as_slice(),
            Value::None => &[],
            v => self.wrong(name, v),
        };
        models.iter().map(move |v| match v {
            Value::Model(m) => &**m,
            v => self.wrong(name, v),
        })
    }

    pub fn is_none(&self, name: &str) -> bool {
        matches!(self.value(name), Value::None)
    }
}

/// Turn names into models.
fn resolve(value: &mut Value, family: &str, catalogue: &Catalogue) -> Result<(), Refusal> {
    match value {
        Value::Text(text) => {
            let settings = described(text, family, catalogue)?;
            *value = Value::Model(Box::new(settings.with_models(catalogue)?));
        }
        Value::List(list) => {
            for v in list {
                resolve(v, family, catalogue)?;
            }
        }
        Value::Model(m) => **m = (**m).clone().with_models(catalogue)?,
        Value::None => {}
        other => {
            let problem = format!("{other:?} is no {family}");
            return Err(Refusal::new(problem, format!("give the name of one: {family} = NAME")));
        }
    }
    Ok(())
}

/// A model from its name, or from `{ kind = NAME, PARAMETER = VALUE, ... }`, as in profiles.
fn described(text: &str, family: &str, catalogue: &Catalogue) -> Result<Settings, Refusal> {
    let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) else {
        return Ok(Settings::defaults(catalogue.expect(family, text)?));
    };
    let malformed = || {
        let problem = format!("{text} does not say its kind and its values");
        Refusal::new(problem, "write { kind = NAME, PARAMETER = VALUE, ... }")
    };
    let pairs: Option<Vec<(&str, &str)>> = inner.split(',').map(|pair| pair.split_once('=')).collect();
    let pairs = pairs.ok_or_else(malformed)?;
    let trimmed = pairs.into_iter().map(|(k, v)| (k.trim(), v.trim()));
    let (kinds, values): (Vec<_>, Vec<_>) = trimmed.partition(|(k, _)| *k == "kind");
    let [(_, kind)] = kinds[..] else {
        return Err(malformed());
    };
    let mut settings = Settings::defaults(catalogue.expect(family, kind)?);
    for (name, value) in values {
        settings.set(name, &Raw::from_word(value))?;
    }
    match settings.missing() {
        None => Ok(settings),
        Some(p) => Err(Refusal::new(
            format!("{kind} needs \"{}\"", p.name),
            format!("give {}", p.kind.allowed()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Family, Kind};

    static TOY: Model = Model {
        name: "toy",
        family: "queue",
        title: "Toy",
        summary: "",
        source: "",
        params: &[
            Param::new("buffer", Kind::Size, "", "how much fits", ""),
            Param::new(
                "target",
                Kind::Time { min: 0.0, max: 1.0 },
                "5ms",
                "the delay to hold",
                "",
            ),
            Param::new("mode", Kind::Choice(&["fast", "slow"]), "fast", "how", ""),
        ],
        probes: &[],
    };

    #[test]
    fn a_setting_is_checked_where_it_is_given() {
        let mut s = Settings::defaults(&TOY);
        assert_eq!(s.missing().unwrap().name, "buffer");
        s.set("buffer", &Raw::Text("10 packets".into())).unwrap();
        assert!(s.missing().is_none());
        assert_eq!(s.time("target"), Duration::from_millis(5));
        let e = s.set("tarket", &Raw::Text("1ms".into())).unwrap_err();
        assert!(e.remedy.contains("did you mean \"target\""), "{e}");
        let e = s.set("target", &Raw::Text("2s".into())).unwrap_err();
        assert!(e.remedy.contains("from 0s to 1s"), "{e}");
        let e = s.set("mode", &Raw::Text("slwo".into())).unwrap_err();
        assert!(e.remedy.contains("\"slow\""), "{e}");
        let e = s.set("buffer", &Raw::Int(10)).unwrap_err();
        assert!(e.remedy.contains("10 packets"), "{e}");
        let e = s.set("buffer", &Raw::Text("0 packets".into())).unwrap_err();
        assert!(e.problem.contains("is zero"), "{e}");
    }

    static INNER: Model = Model {
        name: "inner",
        family: "aqm",
        title: "Inner",
        summary: "",
        source: "",
        params: &[Param::new(
            "target",
            Kind::Time { min: 0.0, max: 1.0 },
            "5ms",
            "the delay to hold",
            "",
        )],
        probes: &[],
    };

    static OUTER: Model = Model {
        name: "outer",
        family: "queue",
        title: "Outer",
        summary: "",
        source: "",
        params: &[
            Param::new("aqm", Kind::Model("aqm"), "inner", "what acts on each queue", ""),
            Param::new(
                "before",
                Kind::List(&Kind::Model("aqm")),
                "none",
                "what stands before",
                "",
            ),
        ],
        probes: &[],
    };

    #[test]
    fn models_nest() {
        let catalogue = Catalogue::new([Family::new("aqm", "AQM", vec![&INNER])]);
        let s = Settings::defaults(&OUTER).with("before", "[inner, inner]");
        let s = s.with_models(&catalogue).unwrap();
        assert_eq!(s.nested("aqm").unwrap().time("target"), Duration::from_millis(5));
        assert_eq!(s.nested_list("before").count(), 2);
        let s = Settings::defaults(&OUTER)
            .with("before", "[]")
            .with_models(&catalogue)
            .unwrap();
        assert_eq!(s.nested_list("before").count(), 0);
        let e = Settings::defaults(&OUTER)
            .with("aqm", "iner")
            .with_models(&catalogue)
            .unwrap_err();
        assert!(e.remedy.contains("did you mean \"inner\""), "{e}");
    }
}
