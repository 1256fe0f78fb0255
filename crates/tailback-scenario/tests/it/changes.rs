//! What changes while a run goes on: rates, delays, losses, queues and weights, at given instants, periodically, or
//! after a trace file.

use crate::common::*;
use std::path::PathBuf;
use tailback_base::{Settings, Stream};
use tailback_queue::testing::TestPacket;
use tailback_queue::{BuildContext, Registry, registry};
use tailback_scenario::{load_file, load_json, load_text};
use tailback_sim::results::outcome::Outcome;

const LINE: &str = "[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"5ms\"\nqueue = \"droptail\"\n";

/// Datagrams of 1000 B at 4 Mb/s for 10 s, over 8 Mb/s, and this.
fn datagrams(change: &str) -> String {
    format!(
        "duration = \"10s\"\nwarmup = \"0s\"\ninterval = \"1s\"\n{}[flows.f]\n\
         traffic = {{ kind = \"cbr\", rate = \"4Mbps\" }}\npacket_size = \"1000B\"\n{change}",
        LINE.replace("\"droptail\"", "{ kind = \"droptail\", buffer = \"50 packets\" }")
    )
}

#[test]
fn a_million_changes_are_a_million_events() {
    let o = run_text(&datagrams(
        "[change.p]\nlink = \"line\"\nrate = [\"8Mbps\", \"4Mbps\"]\nevery = \"10us\"\n",
    ));
    let events = o.engine.events as f64;
    assert!((1e6..1.1e6).contains(&events), "{events}");
}

/// Whatever a queue computes from the rate of the line, an arrival may find it at 0.
#[test]
fn every_discipline_survives_an_outage() {
    let lab = Lab::new("outage", "time_s,rate_mbps\n0,0\n1,8\n3,0\n4,8\n");
    for model in registry::entries::<TestPacket>().map(|e| e.model) {
        let name = model.name;
        let text = datagrams("[change.t]\nlink = \"line\"\ntrace = \"trace\"\n");
        let rate = if model.param("rate").is_some_and(|p| p.default.is_empty()) {
            ", rate = \"5Mbps\""
        } else {
            ""
        };
        let text = text.replace(
            "{ kind = \"droptail\", buffer = \"50 packets\" }",
            &format!("{{ kind = \"{name}\"{rate} }}"),
        );
        let path = lab.0.join("lab.toml");
        std::fs::write(&path, format!("marking = true\n{text}")).unwrap();
        let loaded = load_file(path, &[]).unwrap();
        let o = tailback_sim::run::run(&loaded.spec, 1, &Default::default()).unwrap();
        assert!(number(&o["intervals"], "goodput_wire_bps", 2) > 1e6, "{name}");
    }
}

/// The window falls by less than half at a loss under CUBIC (RFC 9438 section 4.6), by half under Reno.
#[test]
fn congestion_controls_change() {
    let run = |change: &str| {
        run_text(&format!(
            "duration = \"60s\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"20ms\"\n\
             queue = {{ kind = \"droptail\", buffer = \"20 packets\" }}\n\
             [flows.f]\ntcp = {{ profile = \"rfc\", variant = \"sack\", congestion = \"reno\" }}\n\
             {change}[record.w]\nflows = \"f\"\nprobes = [\"cwnd\"]\non_change = true\n"
        ))
    };
    // How deep the window falls at each reduction, in the middle of each half minute.
    let falls = |o: &Outcome, from: f64, to: f64| -> Vec<f64> {
        let t = &o["series"];
        let points: Vec<(f64, f64)> = (0..t.rows())
            .map(|i| (number(t, "time_s", i), number(t, "value", i)))
            .collect();
        let steps = points
            .windows(2)
            .filter(|w| w[1].0 > from && w[1].0 < to && w[1].1 < 0.9 * w[0].1);
        steps.map(|w| w[1].1 / w[0].1).collect()
    };
    let o = run("[change.c]\nflows = \"f\"\ncongestion = [\"cubic\"]\nat = [\"30s\"]\n");
    let (before, after) = (falls(&o, 5.0, 30.0), falls(&o, 32.0, 60.0));
    assert!(before.len() > 2 && before.iter().all(|f| *f < 0.6), "{before:?}");
    assert!(after.len() > 2 && after.iter().all(|f| *f > 0.6), "{after:?}");
    // Until it changes, nothing is different.
    let plain = run("");
    assert_eq!(falls(&plain, 5.0, 30.0), before);
    assert!(falls(&plain, 32.0, 60.0).iter().all(|f| *f < 0.6));
}

/// A file in a folder of its own, which goes with it.
struct Lab(PathBuf);

impl Lab {
    fn new(name: &str, trace: &str) -> Lab {
        let folder = std::env::temp_dir().join(format!("tailback-changes-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("trace"), trace).unwrap();
        Lab(folder)
    }

    fn scenario(&self, change: &str) -> PathBuf {
        let path = self.0.join("lab.toml");
        std::fs::write(&path, datagrams(&format!("[change.t]\nlink = \"line\"\n{change}"))).unwrap();
        path
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_line_follows_a_trace_of_rates_and_through_an_outage() {
    let lab = Lab::new("rates", "time_s,rate_mbps\n0,8\n3,1\n5,0\n6,8\n");
    let loaded = load_file(lab.scenario("trace = \"trace\"\nend = \"hold\"\n"), &[]).unwrap();
    let o = tailback_sim::run::run(&loaded.spec, 1, &Default::default()).unwrap();
    let t = &o["intervals"];
    let mbps: Vec<f64> = (0..t.rows()).map(|i| number(t, "goodput_wire_bps", i) / 1e6).collect();
    for (i, expected) in [(2, 4.0), (4, 1.0), (5, 0.0), (9, 4.0)] {
        near(mbps[i], expected, 0.1);
    }
    // It wraps: the seventh second is the first again, and nothing follows the fifth.
    let loaded = load_file(lab.scenario("trace = \"trace\"\n"), &[]).unwrap();
    let o = tailback_sim::run::run(&loaded.spec, 1, &Default::default()).unwrap();
    let t = &o["intervals"];
    near(number(t, "goodput_wire_bps", 9), 1e6, 1e5);
}

/// One opportunity each 10 ms: 100 packets of 1000 B a second, the rest of each opportunity is used by the next.
#[test]
fn a_line_follows_mahimahi() {
    let lab = Lab::new("mahimahi", "10\n20\n30\n40\n50\n");
    let loaded = load_file(lab.scenario("mahimahi = \"trace\"\n"), &[]).unwrap();
    let o = tailback_sim::run::run(&loaded.spec, 1, &Default::default()).unwrap();
    near(
        number(&o["intervals"], "goodput_wire_bps", 5),
        1504.0 * 8.0 * 100.0,
        9000.0,
    );
}

#[test]
fn a_stored_scenario_names_its_trace_by_digest() {
    let lab = Lab::new("digest", "time_s,rate_mbps\n0,8\n5,1\n9,2\n");
    let loaded = load_file(lab.scenario("trace = \"trace\"\n"), &[]).unwrap();
    let stored = loaded.document.to_string();
    let again = load_json(&stored, "stored", &[]).unwrap();
    assert_eq!(again.digest, loaded.digest);
    // Elsewhere it is the same scenario.
    let copy = Lab::new("digest-copy", "time_s,rate_mbps\n0,8\n5,1\n9,2\n");
    assert_eq!(
        load_file(copy.scenario("trace = \"trace\"\n"), &[]).unwrap().digest,
        loaded.digest
    );
    std::fs::write(lab.0.join("trace"), "time_s,rate_mbps\n0,8\n5,2\n9,2\n").unwrap();
    assert_ne!(
        load_file(lab.scenario("trace = \"trace\"\n"), &[]).unwrap().digest,
        loaded.digest
    );
    let as_toml = load_text(&loaded.toml, "stored", &[]);
    for again in [load_json(&stored, "stored", &[]), as_toml] {
        let said = again.unwrap_err().to_string();
        assert!(said.contains("has changed since the scenario was stored"), "{said}");
    }
}

/// The page names the disciplines that refuse even their own settings; all others take new values.
#[test]
fn the_page_says_which_disciplines_take_no_new_values() {
    let page = include_str!("../../../../docs/howto/change-during-a-run.md");
    let list = page.lines().find(|l| l.starts_with("The values of `"));
    let named: Vec<&str> = list.unwrap().split('`').skip(1).step_by(2).collect();
    let refuse = registry::models().filter(|model| {
        let settings = Settings::defaults(model).with_profile(&[]).unwrap();
        let settings = settings
            .with_models(Registry::<TestPacket>::standard().nested())
            .unwrap();
        let context = BuildContext {
            stream: Stream::new(1, "page"),
            rate: mbps(10),
            delay: ms(1),
        };
        let built = registry::build::<TestPacket>(&settings, context);
        built.is_ok_and(|mut queue| queue.reconfigure(&settings).is_err())
    });
    assert_eq!(named, refuse.map(|m| m.name).collect::<Vec<_>>());
}
