//! Names that other programs give to models are replaced by the models' own names before a scenario is read. The
//! checked, stored and shown scenario and its digest are therefore the same for each of these names.

use super::document::{Node, Tree};
use std::collections::BTreeMap;
use tailback_base::model::{Catalogue, Raw};

/// Replace such names by the models' own names; returns whether anything changed.
pub fn canonical(root: &mut Node, catalogue: &Catalogue) -> bool {
    walk(root, &keys(catalogue), catalogue)
}

/// The keys that name a model of a family with such names, anywhere in the document. These keys mean the same in every
/// table.
fn keys(catalogue: &Catalogue) -> BTreeMap<&'static str, &'static str> {
    let mut families: BTreeMap<&'static str, Option<&'static str>> = BTreeMap::new();
    for p in catalogue.all().flat_map(|m| m.params) {
        let family = p.kind.holds_models().then(|| p.kind.family()).flatten();
        let entry = families.entry(p.name).or_insert(family);
        if *entry != family {
            *entry = None;
        }
    }
    let called: Vec<&str> = catalogue
        .families()
        .iter()
        .filter(|f| !f.aliases.is_empty())
        .map(|f| f.name)
        .collect();
    let of = |(key, family): (&'static str, Option<&'static str>)| Some((key, family?));
    families
        .into_iter()
        .filter_map(of)
        .filter(|(_, f)| called.contains(f))
        .collect()
}

fn walk(node: &mut Node, keys: &BTreeMap<&'static str, &'static str>, catalogue: &Catalogue) -> bool {
    let mut changed = false;
    match &mut node.tree {
        Tree::Scalar(_) => {}
        Tree::List(items) => items.iter_mut().for_each(|n| changed |= walk(n, keys, catalogue)),
        Tree::Table(entries) => {
            for e in entries {
                if let Some(family) = keys.get(e.key.as_str()) {
                    changed |= rename(&mut e.node, family, catalogue);
                }
                changed |= walk(&mut e.node, keys, catalogue);
            }
        }
    }
    changed
}

/// A model, or a list of models, as a scenario writes it.
fn rename(node: &mut Node, family: &str, catalogue: &Catalogue) -> bool {
    match &mut node.tree {
        Tree::Scalar(Raw::Text(name)) => match catalogue.find(family, name) {
            Some(m) if m.name != name.as_str() => {
                *name = m.name.to_string();
                true
            }
            _ => false,
        },
        Tree::Scalar(_) => false,
        Tree::List(items) => {
            let mut changed = false;
            items.iter_mut().for_each(|n| changed |= rename(n, family, catalogue));
            changed
        }
        Tree::Table(entries) => {
            let kind = entries.iter_mut().find(|e| e.key == "kind");
            kind.is_some_and(|e| rename(&mut e.node, family, catalogue))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::load_text;
    use tailback_sim::library::Library;

    const TEXT: &str = r#"
duration = "1s"
topology = { kind = "dumbbell", rate = "1Mbps", delay = "1ms", queue = QUEUE }
[flows.a]
tcp = { congestion = CONTROL }
"#;

    fn load(queue: &str, control: &str, set: &[&str]) -> Result<crate::Loaded, String> {
        let text = TEXT.replace("QUEUE", queue).replace("CONTROL", control);
        let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
        load_text(&text, "x.toml", &set).map_err(|e| e.to_string())
    }

    #[test]
    fn another_programs_name_is_the_same_scenario() {
        let canonical = load("\"fq-codel\"", "\"cubic\"", &[]).unwrap();
        for (queue, control) in [("\"fq_codel\"", "\"TcpCubic\""), ("\"FqCoDelQueueDisc\"", "\"cubic\"")] {
            let loaded = load(queue, control, &[]).unwrap();
            assert_eq!(
                (&loaded.digest, &loaded.document),
                (&canonical.digest, &canonical.document)
            );
            assert!(
                loaded.toml.contains("fq-codel") && !loaded.toml.contains(queue),
                "{}",
                loaded.toml
            );
        }
        let set = load(
            "\"droptail\"",
            "\"reno\"",
            &["topology.queue=fq_codel", "flows.a.tcp.congestion=TcpCubic"],
        );
        assert_eq!(set.unwrap().digest, canonical.digest);
        let kind = load(
            "{ kind = \"droptail\" }",
            "\"cubic\"",
            &["topology.queue.kind=fq_codel"],
        )
        .unwrap();
        let table = load("{ kind = \"fq-codel\" }", "\"cubic\"", &[]).unwrap();
        assert_eq!(kind.digest, table.digest);
        // Models in models, and lists of them.
        let inner = load(
            "{ kind = \"drr\", aqm = \"CoDelQueueDisc\", before = [{ kind = \"PI\" }] }",
            "\"reno\"",
            &[],
        );
        let toml = inner.unwrap().toml;
        assert!(
            toml.contains("aqm = \"codel\"") && toml.contains("kind = \"pi\""),
            "{toml}"
        );
    }

    #[test]
    fn a_name_of_two_is_answered_with_both() {
        let refusal = load("\"RED/RIO\"", "\"reno\"", &[]).unwrap_err();
        assert!(
            refusal.contains("may be rio or mred") && refusal.contains("write \"rio\" ("),
            "{refusal}"
        );
    }

    #[test]
    fn every_key_of_a_discipline_or_control_is_known() {
        let keys = super::keys(&Library::standard().catalogue);
        for key in ["queue", "reverse_queue", "aqm", "before", "congestion"] {
            assert!(keys.contains_key(key), "{key}: {keys:?}");
        }
    }

    /// Each such name leads to one model, or is refused because it leads to several. No such name is a model's own
    /// name.
    #[test]
    fn other_names_are_not_our_own() {
        let catalogue = &Library::standard().catalogue;
        for f in catalogue.families() {
            for (alias, model) in &f.aliases {
                assert!(f.models.iter().all(|model| model.name != alias.name), "{}", alias.name);
                assert!(
                    catalogue
                        .meant(f.name, alias.name)
                        .iter()
                        .any(|found| std::ptr::eq(*found, *model))
                );
            }
        }
    }
}
