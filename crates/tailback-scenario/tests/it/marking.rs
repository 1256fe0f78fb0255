//! Whether the network marks, and why. What follows from it is in `tests/cases/marking.toml`.

use tailback_queue::entry::Marks;
use tailback_queue::registry::{facts, models};
use tailback_scenario::load_text;

/// Those for which the cases have rows.
#[test]
fn disciplines_whose_signal_is_the_mark() {
    let signalling = models().map(|m| m.name);
    let signalling = signalling.filter(|name| facts(name).is_some_and(|f| f.marks == Marks::Signal));
    assert!(signalling.eq(["aaqm", "dualpi2", "fqbit", "decsel"]));
}

#[test]
fn every_kind_of_sender_counts() {
    let on = |table: &str| {
        let text = format!(
            "duration = \"1s\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \"10ms\"\nqueue = \
             \"codel\"\n{table}\n"
        );
        load_text(&text, "marking.toml", &[])
            .unwrap_or_else(|e| panic!("{table}: {e}"))
            .spec
            .marking
    };
    let cbr = "traffic = { kind = \"cbr\", rate = \"1Mbps\" }";
    let web = "kind = \"web\"\nclients = 2";
    for (table, because) in [
        (
            format!("[flows.f]\n{cbr}\nudp = {{ ecn = true }}"),
            "flows.f has ECN on",
        ),
        (format!("[flows.f]\n{cbr}"), "no flow has ECN on"),
        ("[flows.f]\ntfrc = { ecn = true }".to_string(), "flows.f has ECN on"),
        ("[flows.f]\ntfrc = {}".to_string(), "no flow has ECN on"),
        ("[flows.f]\ntransport = \"decbit\"".to_string(), "flows.f has ECN on"),
        ("[flows.f]\ntransport = \"generic\"".to_string(), "no flow has ECN on"),
        (
            "[flows.f]\ntcp = { profile = \"linux\" }".to_string(),
            "no flow has ECN on",
        ),
        (
            "[flows.f]\ntcp = { profile = \"linux\", ecn = \"on\" }".to_string(),
            "flows.f has ECN on",
        ),
        (format!("[sessions.s]\n{web}"), "sessions.s has ECN on"),
        (
            format!("[sessions.s]\n{web}\ntcp = {{ ecn = \"off\" }}"),
            "no flow has ECN on",
        ),
    ] {
        let marking = on(&table);
        assert_eq!(marking.to_string(), because, "{table}");
        assert_eq!(marking.on, !because.starts_with("no"), "{table}");
    }
}
