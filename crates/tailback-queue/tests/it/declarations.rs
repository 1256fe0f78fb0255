//! What every declaration owes its readers: the schema, `tailback describe`, the reference and the error messages.

use std::collections::HashSet;
use tailback_base::{BitRate, Duration, Kind, Model, Settings, Size, Stream};
use tailback_queue::entry::Marks;
use tailback_queue::registry;
use tailback_queue::testing::{Bench, TestPacket};
use tailback_queue::{BuildContext, ProbeId, QueueDiscipline, Registry};

fn place() -> BuildContext {
    BuildContext {
        stream: Stream::new(1, "declarations"),
        rate: BitRate(10_000_000),
        delay: Duration::ZERO,
    }
}

/// The defaults, with a buffer or a rate for models that want one from the user.
fn defaults(model: &'static Model) -> Settings {
    let mut settings = Settings::defaults(model);
    while let Some(p) = settings.missing() {
        settings = settings.with(
            p.name,
            match p.kind {
                Kind::Size => "100 packets",
                Kind::Rate { .. } => "1Mbps",
                _ => panic!("{}.{}: only a buffer or a rate may be required", model.name, p.name),
            },
        );
    }
    settings
}

#[test]
fn names_are_unique_and_spelled_alike() {
    let spelled = |name: &str, join: char| {
        !name.is_empty()
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == join)
    };
    let mut names = HashSet::new();
    for model in registry::models() {
        assert!(names.insert(model.name), "{} is declared twice", model.name);
        assert!(spelled(model.name, '-'), "{}", model.name);
        assert!(std::ptr::eq(registry::find(model.name).unwrap(), model));
        let mut inner = HashSet::new();
        for p in model.params {
            assert!(inner.insert(p.name), "{}.{} is declared twice", model.name, p.name);
            assert!(spelled(p.name, '_'), "{}.{}", model.name, p.name);
        }
        let mut inner = HashSet::new();
        for p in model.probes {
            assert!(
                inner.insert(p.name),
                "{}: probe {} is declared twice",
                model.name,
                p.name
            );
            assert!(
                spelled(p.name, '_') && !p.doc.is_empty(),
                "{}: probe {}",
                model.name,
                p.name
            );
        }
    }
}

#[test]
fn every_word_is_there() {
    for model in registry::models() {
        assert_eq!(model.family, "queue", "{}", model.name);
        for (what, text) in [
            ("title", model.title),
            ("summary", model.summary),
            ("source", model.source),
        ] {
            assert!(!text.trim().is_empty(), "{} has no {what}", model.name);
            assert!(!text.contains("  "), "{}: the {what} has a run of blanks", model.name);
        }
        for p in model.params {
            assert!(
                p.doc.ends_with('.'),
                "{}.{}: one sentence, please: {}",
                model.name,
                p.name,
                p.doc
            );
        }
    }
}

#[test]
fn every_default_is_a_value_of_its_own_kind() {
    for model in registry::models() {
        for p in model.params {
            if let Some(Err(e)) = p.default_value() {
                panic!("{}.{} = {}: {e}", model.name, p.name, p.default);
            }
        }
    }
}

#[test]
fn every_model_has_a_buffer_of_at_least_one() {
    // What stands around a discipline has that of the other.
    for model in registry::models().filter(|m| m.param("queue").is_none()) {
        let buffer = model
            .param("buffer")
            .unwrap_or_else(|| panic!("{} has no buffer", model.name));
        assert_eq!(buffer.kind, Kind::Size, "{}", model.name);
        for nothing in ["0 packets", "0B"] {
            let raw = tailback_base::model::Raw::Text(nothing.into());
            assert!(
                Settings::defaults(model).set("buffer", &raw).is_err(),
                "{}: {nothing}",
                model.name
            );
        }
    }
}

#[test]
fn every_model_is_built_from_its_defaults_and_shows_its_probes() {
    for model in registry::models() {
        let built = registry::build::<TestPacket>(&defaults(model), place());
        let queue = built.unwrap_or_else(|e| panic!("{}: {e}", model.name));
        let names = |probes: &[tailback_base::ProbeDef]| -> Vec<&str> { probes.iter().map(|p| p.name).collect() };
        let known = Registry::<TestPacket>::standard();
        let declared = defaults(model).with_models(known.nested()).unwrap();
        let declared: Vec<&str> = declared.probes().iter().map(|p| p.name).collect();
        assert_eq!(names(queue.probes()), declared, "{}", model.name);
        assert_eq!(queue.backlog().packets, 0);
    }
}

/// A sample of an indexed probe ends at the first index without a value, so there must be one.
#[test]
fn every_indexed_probe_ends() {
    let mut seen = 0;
    let standard = Registry::<TestPacket>::standard();
    for model in registry::models() {
        let choices: Vec<Settings> = match model.param("policy").and_then(|p| p.kind.family()) {
            Some(family) => {
                let policies = standard.nested().family(family).iter();
                policies.map(|m| defaults(model).with("policy", m.name)).collect()
            }
            None => vec![defaults(model)],
        };
        for settings in choices {
            let Ok(queue) = registry::build::<TestPacket>(&settings, place()) else {
                continue;
            };
            let mut bench = Bench::new(queue);
            for id in 0..40 {
                bench.arrive(TestPacket::new(id, (id % 3) as u32, 1000));
                if id % 2 == 0 {
                    bench.serve();
                    bench.pass(Duration::from_millis(1));
                }
            }
            for (i, probe) in bench
                .queue
                .probes()
                .iter()
                .enumerate()
                .filter(|(_, p)| !p.per.is_empty())
            {
                let read = |index| bench.queue.read(ProbeId(i as u16), index);
                let last = (0..5000).find(|index| read(*index).is_nan());
                assert!(last.is_some(), "{}: {} never ends", model.name, probe.name);
                assert!(
                    read(u32::MAX - 1).is_nan(),
                    "{}: {} starts again",
                    model.name,
                    probe.name
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "only {seen} indexed probes were looked at");
}

#[test]
fn only_plain_drop_tail_is_fused() {
    for model in registry::models() {
        let fused = registry::fused_limit(&defaults(model));
        assert_eq!(fused.is_some(), model.name == "droptail", "{}", model.name);
    }
    let droptail = Settings::defaults(registry::find("droptail").unwrap());
    assert_eq!(registry::fused_limit(&droptail), Some(Size::Packets(50)));
    assert_eq!(
        registry::fused_limit(&droptail.clone().with("buffer", "64KB")),
        Some(Size::Bytes(64_000))
    );
    assert_eq!(
        registry::fused_limit(&droptail.clone().with("buffer", "unlimited")),
        Some(Size::Unlimited)
    );
    assert_eq!(registry::fused_limit(&droptail.with("count_in_service", "true")), None);
}

/// RED without a filter and with equal thresholds in packets is arithmetic too, unless a parameter adds a rule.
#[test]
fn a_step_is_arithmetic() {
    let step = Settings::defaults(registry::find("red").unwrap())
        .with("profile", "step")
        .with("ecn", "true");
    let found =
        |s: &Settings| registry::arithmetic(s).map(|a| (a.limit, a.step.map(|step| (step.threshold, step.marks))));
    let buffer = Size::Packets(100);
    assert_eq!(found(&step), Some((buffer, Some((65, true)))));
    assert_eq!(
        found(&step.clone().with("ecn", "false")),
        Some((buffer, Some((65, false))))
    );
    assert_eq!(
        found(
            &step
                .clone()
                .with("min_threshold", "15.5 packets")
                .with("max_threshold", "15.5 packets")
        ),
        Some((buffer, Some((16, true))))
    );
    assert_eq!(registry::fused_limit(&step), None);
    for (key, value) in [
        ("min_threshold", "64 packets"),
        ("weight", "0.9"),
        ("gentle", "true"),
        ("ns2_guards", "true"),
        ("count_in_service", "true"),
        ("buffer", "100KB"),
        ("initial_average", "1 packets"),
    ] {
        assert_eq!(found(&step.clone().with(key, value)), None, "{key} = {value}");
    }
}

#[test]
fn what_is_missing_is_refused_by_name() {
    for model in registry::models() {
        if let Some(p) = Settings::defaults(model).missing() {
            let refusal = registry::build::<TestPacket>(&Settings::defaults(model), place())
                .err()
                .unwrap();
            assert!(refusal.problem.contains(p.name), "{refusal}");
        }
    }
}

#[test]
fn facts_agree_with_declarations() {
    for model in registry::models() {
        let facts = registry::facts(model.name).unwrap();
        let declares_ecn = model.param("ecn").is_some();
        assert_eq!(declares_ecn, facts.marks == Marks::WithEcn, "{}", model.name);
        for p in facts.overtakes.iter().chain(facts.waits).chain(&facts.shapes) {
            assert!(model.param(p).is_some(), "{}: {p}", model.name);
        }
        if let Some(unlimited) = facts.unlimited {
            assert!(registry::find(unlimited.leaves).is_some(), "{}", model.name);
            assert!(
                unlimited.unless.is_none_or(|p| model.param(p).is_some()),
                "{}",
                model.name
            );
        }
    }
}
