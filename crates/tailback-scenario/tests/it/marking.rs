//! Whether the network marks: one key of a scenario, its default, and every discipline that follows it.

use crate::common::{lost, of};
use tailback_queue::entry::Marks;
use tailback_queue::registry::{facts, models};
use tailback_scenario::{Loaded, ScenarioError, load_text};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::Outcome;
use tailback_sim::run::run;

/// Ten flows behind a queue, with further lines at the top.
fn scenario(queue: &str, ecn: &str, top: &str) -> Result<Loaded, ScenarioError> {
    let text = format!(
        "duration = \"5s\"\n{top}\n\
         [link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \"10ms\"\nqueue = {queue}\n\
         reverse_queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n\
         [flows.f]\ncount = 10\ntcp = {{ ecn = \"{ecn}\" }}\n"
    );
    load_text(&text, "marking.toml", &[])
}

/// Marks, and drops that are not for want of room.
fn signals(queue: &str, ecn: &str, top: &str) -> (u64, u64) {
    let loaded = scenario(queue, ecn, top).unwrap_or_else(|e| panic!("{queue}, {top}: {e}"));
    let outcome: Outcome = run(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{queue}: {e}"));
    let all = |column: &str| of(&outcome["links"], "line", column);
    let for_want_of_room: f64 = ["overflow", "overload"]
        .iter()
        .map(|why| lost(&outcome, "line", why))
        .sum();
    (
        all("marked_packets") as u64,
        (all("dropped_packets") - for_want_of_room) as u64,
    )
}

const RED: &str =
    r#"{ kind = "red", buffer = "100 packets", min_threshold = "5 packets", max_threshold = "30 packets" }"#;
const CODEL: &str = r#"{ kind = "codel", buffer = "1000 packets" }"#;

#[test]
fn queues_mark_where_a_flow_has_ecn_on_and_nothing_else_is_said() {
    for queue in [RED, CODEL, r#"{ kind = "fq-codel" }"#, r#"{ kind = "cake" }"#] {
        let (marks, spared) = signals(queue, "on", "");
        let (none, drops) = signals(queue, "off", "");
        assert!(marks > 10 && none == 0, "{queue}: {marks} marks, {none} without ECN");
        assert!(spared < drops, "{queue}: {spared} drops beside marks, {drops} without");
    }
}

#[test]
fn without_marking_no_queue_marks_and_cake_drops() {
    for queue in [
        RED,
        CODEL,
        r#"{ kind = "fq-codel" }"#,
        r#"{ kind = "cake" }"#,
        r#"{ kind = "fq-cobalt" }"#,
    ] {
        let (marks, drops) = signals(queue, "on", "marking = false");
        assert!(marks == 0 && drops > 10, "{queue}: {marks} marks, {drops} drops");
    }
}

#[test]
fn a_discipline_overrides_its_network() {
    let own = |ecn: bool| CODEL.replace(" }", &format!(", ecn = {ecn} }}"));
    let (marks, drops) = signals(&own(false), "on", "marking = true");
    assert!(marks == 0 && drops > 10, "{marks} marks, {drops} drops");
    let (marks, drops) = signals(&own(true), "on", "marking = false");
    assert!(marks > 10 && drops == 0, "{marks} marks, {drops} drops");
    let by_colour = concat!(
        r#"{ kind = "redn", buffer = "100 packets", max_threshold = ["30 packets"], "#,
        r#"min_threshold = ["5 packets"], ecn = [false, false, false] }"#
    );
    let (marks, drops) = signals(by_colour, "on", "");
    assert!(marks == 0 && drops > 10, "{marks} marks, {drops} drops");
}

#[test]
fn the_threshold_of_marks_follows_the_network_and_says_so_where_it_is_idle() {
    let step = r#"{ kind = "codel", buffer = "1000 packets", target = "90ms", interval = "1s", ce_threshold = "1ms" }"#;
    assert!(signals(step, "on", "").0 > 100);
    assert_eq!(signals(step, "on", "marking = false").0, 0);
    // Its own `ecn` says that the control law drops; the network still marks beyond the threshold.
    assert!(signals(&step.replace(" }", ", ecn = false }"), "on", "").0 > 100);
    let warnings = scenario(step, "on", "marking = false").unwrap().warnings;
    assert!(
        warnings
            .iter()
            .any(|w| w.contains("ce_threshold marks, and the network does not: marking = false")),
        "{warnings:?}"
    );
    assert!(
        !scenario(step, "on", "")
            .unwrap()
            .warnings
            .iter()
            .any(|w| w.contains("ce_threshold"))
    );
}

#[test]
fn a_discipline_whose_signal_is_the_mark_is_refused_where_the_network_does_not_mark() {
    let signalling: Vec<&str> = models()
        .map(|m| m.name)
        .filter(|name| facts(name).is_some_and(|f| f.marks == Marks::Signal))
        .collect();
    assert_eq!(signalling, ["aaqm", "dualpi2", "fqbit", "decsel"]);
    for name in signalling {
        let queue = format!("{{ kind = \"{name}\" }}");
        let e = scenario(&queue, "on", "marking = false").unwrap_err().to_string();
        assert!(e.contains(&format!("the signal of {name} is the mark")), "{e}");
        assert!(e.contains("marking = false") && e.contains("marking.toml:8"), "{e}");
        let e = scenario(&queue, "off", "").unwrap_err().to_string();
        assert!(e.contains("no flow has ECN on") && e.contains("marking = true"), "{e}");
        assert!(scenario(&queue, "off", "marking = true").is_ok(), "{name}");
        assert!(scenario(&queue, "on", "").is_ok(), "{name}");
    }
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

#[test]
fn an_impairment_that_marks_contradicts_a_network_that_does_not() {
    let text = |top: &str| {
        format!(
            "duration = \"1s\"\n{top}\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \
             \"10ms\"\nqueue = \"droptail\"\n\
             impair = [{{ kind = \"random\", probability = 0.1, action = \"mark\" }}]\n[flows.f]\n"
        )
    };
    let e = load_text(&text("marking = false"), "marking.toml", &[])
        .unwrap_err()
        .to_string();
    assert!(e.contains("an impairment marks") && e.contains("marking.toml:9"), "{e}");
    assert!(load_text(&text(""), "marking.toml", &[]).is_ok());
}
