//! What follows from a congestion control about marks: the use of ECN, and the sentence where somebody sets it
//! otherwise.

use crate::{Loaded, load_text};
use tailback_transport::Registry;
use tailback_transport::tcp::config::EcnMode;

const LINE: &str = r#"duration = "10s"
[link.line]
from = "a"
to = "b"
rate = "10Mbps"
delay = "10ms"
queue = "codel"
"#;

fn load(more: &str) -> Loaded {
    load_text(&format!("{LINE}{more}"), "lab.toml", &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// Groups of these names and settings of `tcp`.
fn flows(groups: &[(&str, &str)]) -> String {
    groups
        .iter()
        .map(|(name, tcp)| format!("[flows.{name}]\ntcp = {{ {tcp} }}\n"))
        .collect()
}

fn use_of_ecn(tcp: &str) -> EcnMode {
    let loaded = load(&flows(&[("one", tcp)]));
    let config = Registry::standard().tcp(&loaded.spec.flows[0].transport);
    config.expect("it is tcp").ecn
}

#[test]
fn a_control_decides_whether_ecn_is_used() {
    for (control, rfc, linux) in [
        ("reno", EcnMode::On, EcnMode::Off),
        ("cubic", EcnMode::On, EcnMode::Off),
        ("vegas", EcnMode::On, EcnMode::Off),
        ("bbr", EcnMode::Off, EcnMode::Off),
        ("dctcp", EcnMode::On, EcnMode::On),
        ("prague", EcnMode::On, EcnMode::On),
        ("scalable", EcnMode::On, EcnMode::On),
    ] {
        let congestion = format!("congestion = \"{control}\"");
        assert_eq!(use_of_ecn(&congestion), rfc, "{control}");
        for profile in ["linux", "ns3"] {
            let of_profile = format!("{congestion}, profile = \"{profile}\"");
            assert_eq!(use_of_ecn(&of_profile), linux, "{control} in {profile}");
        }
        for (word, mode) in [("on", EcnMode::On), ("off", EcnMode::Off)] {
            assert_eq!(
                use_of_ecn(&format!("{congestion}, ecn = \"{word}\"")),
                mode,
                "{control}"
            );
        }
    }
}

/// The warnings about ECN, each without its place.
fn said(more: &str) -> Vec<String> {
    let about = |w: &&String| w.contains(" marks, ");
    let first = |w: &String| w.lines().next().unwrap_or_default().to_string();
    load(more).warnings.iter().filter(about).map(first).collect()
}

/// Controls that need, ignore and answer marks; ECN by default, on and off; one group and two.
#[test]
fn the_sentence_names_every_group_concerned_and_is_absent_elsewhere() {
    let control_with = |control: &str, ecn: &str| match ecn {
        "" => format!("congestion = \"{control}\""),
        word => format!("congestion = \"{control}\", ecn = \"{word}\""),
    };
    for (control, ecn, beginning) in [
        ("prague", "", None),
        ("prague", "on", None),
        ("prague", "off", Some("prague needs marks")),
        ("dctcp", "off", Some("dctcp needs marks")),
        ("bbr", "", None),
        ("bbr", "off", None),
        ("bbr", "on", Some("bbr ignores marks")),
        ("cubic", "", None),
        ("cubic", "on", None),
        ("cubic", "off", None),
    ] {
        let tcp = control_with(control, ecn);
        for (groups, group_name) in [
            (flows(&[("one", &tcp)]), "flows.one"),
            (flows(&[("one", &tcp), ("two", &tcp)]), "flows.one, flows.two"),
            (
                flows(&[("classic", "congestion = \"cubic\""), ("one", &tcp)]),
                "flows.one",
            ),
        ] {
            let warnings = said(&groups);
            match beginning {
                None => assert!(warnings.is_empty(), "{groups}: {warnings:?}"),
                Some(words) => {
                    assert_eq!(warnings.len(), 1, "{groups}: {warnings:?}");
                    assert!(
                        warnings[0].starts_with(&format!("{group_name}: {words}")),
                        "{warnings:?}"
                    );
                }
            }
        }
    }
    let both_groups = flows(&[
        ("one", &control_with("bbr", "on")),
        ("two", &control_with("prague", "off")),
    ]);
    assert_eq!(said(&both_groups).len(), 2);
    let pages = r#"
        [sessions.web]
        kind = "requests"
        clients = 2
        response = { kind = "constant", mean = "20kB" }
        tcp = { congestion = "bbr", ecn = "on" }
    "#;
    assert!(said(pages)[0].starts_with("sessions.web: bbr ignores"));
}

/// A control that takes over open connections gets ECN as they have negotiated it.
#[test]
fn a_change_of_the_control_keeps_ecn_as_it_was_negotiated() {
    let change = |tcp: &str, to: &str| {
        let group = flows(&[("one", tcp)]);
        said(&format!(
            "{group}[change.later]\nflows = \"one\"\ncongestion = [\"{to}\"]\nat = [\"5s\"]\n"
        ))
    };
    assert!(change("congestion = \"cubic\"", "bbr")[0].contains("bbr ignores marks, and these flows"));
    assert!(change("congestion = \"cubic\", ecn = \"off\"", "bbr").is_empty());
    assert!(change("congestion = \"cubic\", ecn = \"off\"", "prague")[0].contains("prague needs marks, but these"));
    assert!(change("congestion = \"bbr\"", "cubic").is_empty());
}
