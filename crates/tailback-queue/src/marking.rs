//! The rule that decides whether queues mark, for every discipline.
//!
//! A router that marks (RFC 3168) informs senders of congestion without a loss. A router that does not mark drops
//! packets instead. A comparison of two disciplines is fair only if both mark or both drop. So a scenario says once
//! whether its network marks. Every discipline with the parameter `ecn` follows this rule, unless `ecn` is given, and
//! so does its `ce_threshold`. A discipline that is built outside a scenario marks only if its own `ecn` says so.
//!
//! A discipline whose only signal is the mark cannot follow a network that does not mark. [`signals_by_marks`] finds
//! such a discipline.

use crate::entry::{Facts, Marks};
use crate::params::{CE_THRESHOLD, ECN};
use crate::registry::facts;
use tailback_base::{Param, Settings, Value};

/// Set the rule of the network in every model of a port that can mark and whose `ecn` is not given.
pub fn follow(port: &mut Settings, network: bool) {
    port.each_model(&mut |s| {
        let own = declares(s, &ECN) && s.gives(&ECN);
        if declares(s, &ECN) {
            s.lay(ECN.name, Value::Flag(network));
        }
        let marks = network || (own && s.flags(ECN.name).contains(&true));
        if declares(s, &CE_THRESHOLD) && !marks {
            s.clear(CE_THRESHOLD.name);
        }
    });
}

/// Whether any model of a port marks.
pub fn marks(port: &Settings) -> bool {
    port.models().iter().any(|s| known(s).is_some_and(|f| f.marks(s)))
}

/// Whether a model of a port marks packets above a delay (`ce_threshold`).
pub fn steps(port: &Settings) -> bool {
    let step = |s: &&Settings| s.find_key(&CE_THRESHOLD).flatten().is_some();
    port.models().iter().any(step)
}

/// The model of a port whose only signal is the mark.
pub fn signals_by_marks(port: &Settings) -> Option<&'static str> {
    let names = port.models().into_iter().map(|s| (s.model.name, known(s)));
    names
        .into_iter()
        .find_map(|(name, facts)| (facts?.marks == Marks::Signal).then_some(name))
}

/// The models of a port that override their network, with their values: `true`, or a word for each colour.
pub fn own(port: &Settings) -> Vec<(&'static str, String)> {
    let sets_ecn = |s: &&Settings| declares(s, &ECN) && s.gives(&ECN);
    let words = |s: &Settings| match s.flags(ECN.name)[..] {
        [one] => one.to_string(),
        ref each => format!("{each:?}"),
    };
    let all = port.models().into_iter().filter(sets_ecn);
    all.map(|s| (s.model.name, words(s))).collect()
}

fn declares(s: &Settings, p: &Param) -> bool {
    s.model.param(p.name).is_some()
}

/// The facts about a model of a port, if it is a discipline. Parts such as schedulers have no facts, and never mark.
fn known(s: &Settings) -> Option<&'static Facts> {
    matches!(s.model.family, "queue" | "aqm").then(|| facts(s.model.name))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::TestPacket;
    use crate::registry::{self, Registry, find};

    fn port(name: &str, values: &[(&str, &str)]) -> Settings {
        let model = find(name).unwrap_or_else(|| panic!("{name}"));
        let settings = values.iter().fold(Settings::defaults(model), |s, (k, v)| s.with(k, v));
        let laid = settings.with_models(Registry::<TestPacket>::standard().nested());
        laid.unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn followed(name: &str, values: &[(&str, &str)], network: bool) -> bool {
        let mut port = port(name, values);
        follow(&mut port, network);
        marks(&port)
    }

    #[test]
    fn every_discipline_with_the_parameter_follows_and_its_own_word_wins() {
        let able: Vec<&str> = registry::models()
            .filter(|m| m.param(ECN.name).is_some())
            .map(|m| m.name)
            .collect();
        assert!(able.len() > 25, "{able:?}");
        for name in able {
            assert!(!marks(&port(name, &[])), "{name} outside a scenario");
            assert_eq!([true, false].map(|on| followed(name, &[], on)), [true, false], "{name}");
            assert_eq!(
                [true, false].map(|on| followed(name, &[("ecn", "true")], on)),
                [true, true],
                "{name}"
            );
            assert_eq!(
                [true, false].map(|on| followed(name, &[("ecn", "false")], on)),
                [false, false],
                "{name}"
            );
        }
    }

    #[test]
    fn models_within_follow_too() {
        for within in [("aqm", "codel"), ("before", "[red]")] {
            assert_eq!(
                [true, false].map(|on| followed("drr", &[within], on)),
                [true, false],
                "{within:?}"
            );
        }
    }

    #[test]
    fn the_step_stays_where_the_network_or_its_own_discipline_marks() {
        let step = [("ce_threshold", "1ms")];
        let step_and_ecn = |ecn: &'static str| [step[0], ("ecn", ecn)];
        assert_eq!(
            [true, false].map(|on| followed("codel", &step_and_ecn("false"), on)),
            [true, false]
        );
        let mut own = port("codel", &step_and_ecn("true"));
        follow(&mut own, false);
        assert!(steps(&own));
    }

    #[test]
    fn what_was_not_given_follows_anew() {
        let mut port = port("codel", &[]);
        for on in [true, false, true] {
            follow(&mut port, on);
            assert_eq!(marks(&port), on);
        }
        assert!(own(&port).is_empty());
    }
}
