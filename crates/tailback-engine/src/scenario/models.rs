//! Every model a scenario can name, by family: those of the queue and transport crates beside the engine's own.

use super::{tables, traffic_models as own};
use tailback_base::model::{Model, nearest};

/// The families, in the order the reference shows them.
pub const FAMILIES: &[&str] = &[
    "table",
    "topology",
    "queue",
    "transport",
    "traffic",
    "sizes",
    "instants",
    "impairment",
    "rate-change",
    "meter",
];

/// The models of a family, in the order of the reference; empty for an unknown family.
pub fn family(name: &str) -> Vec<&'static Model> {
    match name {
        "table" => vec![&tables::SCENARIO, &tables::LINK, &tables::FLOWS, &tables::RECORD],
        "topology" => vec![&tables::DUMBBELL, &tables::PARKING_LOT],
        "queue" => tailback_queue::registry::MODELS.to_vec(),
        "transport" => transports(),
        "traffic" => vec![
            &own::BULK,
            &own::TRANSFER,
            &own::BURSTS,
            &own::CBR,
            &own::POISSON,
            &own::CHURN,
            &own::ON_OFF,
        ],
        "sizes" => vec![&own::FIXED, &own::EXPONENTIAL, &own::BIMODAL, &own::LISTED],
        "instants" => vec![&own::AT, &own::UNIFORM, &own::POISSON_INSTANTS, &own::AFTER],
        "impairment" => {
            vec![
                &own::BY_INDEX,
                &own::EVERY_NTH,
                &own::RANDOM,
                &own::GILBERT,
                &own::DUPLICATE,
                &own::REORDER,
                &own::SEND_DELAY,
            ]
        }
        "rate-change" => vec![&tables::RATE_CHANGE],
        "meter" => vec![&own::SETTLING],
        _ => vec![],
    }
}

fn transports() -> Vec<&'static Model> {
    let connections = tailback_transport::registry::MODELS.iter().copied();
    connections.chain([&own::UDP]).collect()
}

/// The model of this family and name.
pub fn find(family_name: &str, name: &str) -> Option<&'static Model> {
    family(family_name).into_iter().find(|m| m.name == name)
}

/// Every model.
pub fn all() -> Vec<&'static Model> {
    FAMILIES.iter().flat_map(|f| family(f)).collect()
}

/// The models a user may mean by a name; several when families share it (`poisson`).
pub fn named(name: &str) -> Vec<&'static Model> {
    all().into_iter().filter(|m| m.name == name).collect()
}

/// The known name nearest to this one.
pub fn nearest_name(name: &str) -> Option<&'static str> {
    nearest(name, all().into_iter().map(|m| m.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::model::Kind;

    fn structural(kind: &Kind) -> bool {
        match kind {
            Kind::Model(_) | Kind::Named(_) => true,
            Kind::List(k) | Kind::PerFlow(k) => structural(k),
            _ => false,
        }
    }

    #[test]
    fn every_declaration_is_sound() {
        for m in all() {
            assert!(!m.title.is_empty() && !m.summary.is_empty(), "{}", m.name);
            assert!(FAMILIES.contains(&m.family), "{}", m.name);
            for (i, p) in m.params.iter().enumerate() {
                assert!(!p.doc.is_empty(), "{}.{}", m.name, p.name);
                assert!(p.name != "kind", "`kind` chooses the model");
                assert!(
                    m.params[..i].iter().all(|q| q.name != p.name),
                    "{}.{} is declared twice",
                    m.name,
                    p.name
                );
                if !structural(&p.kind) {
                    assert!(
                        !matches!(p.default_value(), Some(Err(_))),
                        "the default of {}.{} is not allowed: {}",
                        m.name,
                        p.name,
                        p.default
                    );
                }
            }
        }
        for f in FAMILIES {
            let names: Vec<&str> = family(f).iter().map(|m| m.name).collect();
            assert!(
                family(f).iter().all(|m| m.family == *f || *f == "table"),
                "{f}: {names:?}"
            );
            let mut unique = names.clone();
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), names.len(), "{f}");
        }
    }
}
