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

fn delivered_by_second(change: &str) -> Vec<f64> {
    let o = run_text(&datagrams(change));
    let t = &o["intervals"];
    (0..t.rows()).map(|i| number(t, "goodput_wire_bps", i) / 1e6).collect()
}

fn refused(change: &str) -> String {
    load_text(&datagrams(change), "lab.toml", &[])
        .expect_err(change)
        .to_string()
}

#[test]
fn the_rate_follows_a_list_and_a_period() {
    let listed = delivered_by_second(
        "[change.evening]\nlink = \"line\"\nrate = [\"2Mbps\", \"8Mbps\"]\nat = [\"3s\", \"6s\"]\n",
    );
    for (i, mbps) in [(1, 4.0), (4, 2.0), (9, 4.0)] {
        near(listed[i], mbps, 0.05);
    }
    let every = delivered_by_second(
        "[change.p]\nlink = \"line\"\nrate = [\"2Mbps\", \"3Mbps\"]\nevery = \"2s\"\nfrom = \"0s\"\n",
    );
    for (i, mbps) in [(1, 2.0), (3, 3.0), (5, 2.0), (7, 3.0), (9, 2.0)] {
        near(every[i], mbps, 0.05);
    }
}

#[test]
fn a_million_changes_are_a_million_events() {
    let o = run_text(&datagrams(
        "[change.p]\nlink = \"line\"\nrate = [\"8Mbps\", \"4Mbps\"]\nevery = \"10us\"\n",
    ));
    let events = o.engine.events as f64;
    assert!((1e6..1.1e6).contains(&events), "{events}");
}

/// A packet sent after the delay has fallen by 100 ms does not arrive before those sent earlier.
#[test]
fn delays_change_and_nothing_overtakes() {
    let o = run_text(&datagrams(
        "[change.path]\nlink = \"line\"\ndelay = [\"105ms\", \"5ms\"]\nat = [\"3s\", \"6s\"]\n",
    ));
    let t = &o["flows"];
    // 3 of 10 s with 100 ms more; behind the fall, 100 ms of packets that wait up to 100 ms.
    near(number(t, "delay_mean_s", 0), 0.006 + 0.1 * 0.3 + 0.05 * 0.01, 2e-4);
}

#[test]
fn losses_come_and_go() {
    let seconds = delivered_by_second("[change.fade]\nlink = \"line\"\nloss = [0.5, 0]\nat = [\"3s\", \"6s\"]\n");
    for (i, mbps) in [(1, 4.0), (4, 2.0), (8, 4.0)] {
        near(seconds[i], mbps, 0.4);
    }
    near(seconds[1], 4.0, 0.01);
    near(seconds[8], 4.0, 0.01);
}

/// A random impairment that marks stays as it is.
#[test]
fn losses_leave_marks_alone() {
    let impaired = "queue = { kind = \"droptail\", buffer = \"50 packets\" }\n\
                    impair = [{ kind = \"random\", probability = 0.3, action = \"mark\" }]\n";
    let text = datagrams("[change.fade]\nlink = \"line\"\nloss = 0.5\nat = \"0s\"\n");
    let o = run_text(&text.replace("queue = { kind = \"droptail\", buffer = \"50 packets\" }\n", impaired));
    near(number(&o["intervals"], "goodput_wire_bps", 5) / 1e6, 2.0, 0.4);
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

/// Two backlogged flows under SCFQ: the share of the second follows its weight.
#[test]
fn weights_change_the_shares() {
    let o = run_text(
        "duration = \"20s\"\ninterval = \"5s\"\n\
         [link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"5ms\"\n\
         queue = { kind = \"scfq\", buffer = \"200 packets\" }\n\
         [flows.one]\ntraffic = { kind = \"cbr\", rate = \"8Mbps\" }\n\
         [flows.two]\ntraffic = { kind = \"cbr\", rate = \"8Mbps\" }\n\
         [change.w]\nflows = \"two\"\nweight = [3]\nat = [\"10s\"]\n",
    );
    let t = &o["intervals"];
    let mbps: Vec<f64> = (0..t.rows()).map(|i| number(t, "goodput_wire_bps", i) / 1e6).collect();
    // Rows by interval, then by flow.
    let share = |interval: usize| mbps[2 * interval + 1] / mbps[2 * interval];
    near(share(1), 1.0, 0.02);
    near(share(3), 3.0, 0.06);
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

/// One flow of Reno over 8 Mb/s and 40 ms; from 20 s on the queue of the link is this.
fn with_queue(queue: &str, next: &str) -> Result<Outcome, String> {
    let scenario = format!(
        "duration = \"40s\"\nwarmup = \"0s\"\ninterval = \"10s\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"8Mbps\"\ndelay = \"20ms\"\nqueue = {queue}\n[flows.f]\ncount = 4\n\
         tcp = {{ profile = \"rfc\", variant = \"sack\" }}\n\
         [change.q]\nlink = \"line\"\nqueue = {next}\nat = \"20s\"\n[record.q]\nlink = \"line\"\n\
         probes = [\"queue_bytes\"]\nevery = \"10ms\"\n"
    );
    let loaded = load_text(&scenario, "lab.toml", &[]).map_err(|e| e.to_string())?;
    Ok(tailback_sim::run::run(&loaded.spec, 1, &Default::default()).unwrap())
}

/// The mean delay in the queue from one second to another, milliseconds.
fn delay(o: &Outcome, from: f64, to: f64) -> f64 {
    let t = &o["series"];
    let within = (0..t.rows()).filter(|i| (from..to).contains(&number(t, "time_s", *i)));
    let bytes: Vec<f64> = within.map(|i| number(t, "value", i)).collect();
    bytes.iter().sum::<f64>() / bytes.len() as f64 * 8.0 / 8e6 * 1e3
}

#[test]
fn the_delay_follows_the_target_of_codel() {
    let codel = "{ kind = \"codel\", buffer = \"200 packets\", target = \"5ms\" }";
    let o = with_queue(codel, "{ kind = \"codel\", target = \"50ms\" }").unwrap();
    let (before, after) = (delay(&o, 5.0, 20.0), delay(&o, 25.0, 40.0));
    assert!(before < 15.0 && after > 2.5 * before, "{before} ms, then {after} ms");
}

/// One of the AQMs within another discipline, and a plain buffer, which is computed where nothing changes.
#[test]
fn values_change_within_a_discipline_and_in_a_plain_buffer() {
    for (queue, next) in [
        (
            "{ kind = \"droptail\", buffer = \"100 packets\" }",
            "{ kind = \"droptail\", buffer = \"20 packets\" }",
        ),
        (
            "{ kind = \"drr\", aqm = { kind = \"pie\", reference = \"60ms\" } }",
            "{ kind = \"drr\", aqm = { kind = \"pie\", reference = \"5ms\" } }",
        ),
        (
            "{ kind = \"fq-codel\", target = \"50ms\" }",
            "{ kind = \"fq-codel\", target = \"5ms\" }",
        ),
        (
            "{ kind = \"droptail\", buffer = \"100 packets\", before = [{ kind = \"blue\", level = \"50%\" }] }",
            "{ kind = \"droptail\", before = [{ kind = \"blue\", level = \"10%\" }] }",
        ),
    ] {
        let o = with_queue(queue, next).unwrap();
        let (before, after) = (delay(&o, 5.0, 20.0), delay(&o, 25.0, 40.0));
        assert!(after < 0.7 * before, "{queue}: {before} ms, then {after} ms");
    }
}

#[test]
fn what_state_is_made_for_is_refused_by_its_name() {
    for (queue, next, said) in [
        (
            "\"sfb\"",
            "{ kind = \"sfb\", bins = 32 }",
            "bins cannot change during a run",
        ),
        (
            "\"drr\"",
            "{ kind = \"drr\", quantum = \"3000B\" }",
            "quantum cannot change during a run",
        ),
        ("\"red\"", "{ kind = \"red\", buffer = \"50kB\" }", "another unit"),
        (
            "\"red\"",
            "{ kind = \"red\", initial_average = \"3 packets\" }",
            "initial_average cannot change",
        ),
        (
            "\"ared\"",
            "{ kind = \"ared\", max_probability = 0.2 }",
            "max_probability cannot change",
        ),
        (
            "\"drr\"",
            "{ kind = \"drr\", aqm = \"codel\" }",
            "aqm names other models",
        ),
        (
            "\"droptail\"",
            "{ kind = \"droptail\", before = [\"blue\"] }",
            "before names other models",
        ),
        (
            "\"cake\"",
            "{ kind = \"cake\", interval = \"50ms\" }",
            "the parameters of \"cake\" cannot change",
        ),
    ] {
        let message = with_queue(queue, next).expect_err(next);
        assert!(message.contains(said), "{next}\n{message}");
    }
}

/// The page names the disciplines that refuse even their own settings; all others take new values.
#[test]
fn the_page_says_which_disciplines_take_no_new_values() {
    let page = include_str!("../../../../docs/howto/change-during-a-run.md");
    let list = page.lines().find(|l| l.starts_with("Fixed are the values of "));
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

#[test]
fn what_contradicts_itself_is_refused() {
    for (change, said) in [
        (
            "[change.x]\nlink = \"lin\"\nrate = \"1Mbps\"\nat = \"1s\"\n",
            "did you mean \"line\"?",
        ),
        (
            "[change.x]\nflows = \"g\"\nweight = 2\nat = \"1s\"\n",
            "there is no group of flows \"g\"",
        ),
        (
            "[change.x]\nlink = \"line\"\nat = \"1s\"\n",
            "[change.x] changes nothing",
        ),
        (
            "[change.x]\nlink = \"line\"\nrate = \"1Mbps\"\nloss = 0.1\nat = \"1s\"\n",
            "changes several things",
        ),
        (
            "[change.x]\nflows = \"f\"\nrate = \"1Mbps\"\nat = \"1s\"\n",
            "\"rate\" is a property of a link",
        ),
        (
            "[change.x]\nlink = \"line\"\nrate = \"1Mbps\"\n",
            "does not say when its values take effect",
        ),
        (
            "[change.x]\nlink = \"line\"\nrate = \"1Mbps\"\nat = \"1s\"\nevery = \"1s\"\n",
            "says in two ways when",
        ),
        (
            "[change.x]\nlink = \"line\"\nrate = \"1Mbps\"\nat = [\"2s\", \"1s\"]\n",
            "1s is not later than the one before",
        ),
        (
            "[change.x]\nlink = \"line\"\nrate = [\"1Mbps\", \"2Mbps\"]\nat = \"2s\"\n",
            "each of the 2 values needs an instant; given: 1",
        ),
        (
            "[change.x]\nlink = \"line\"\ntrace = \"nowhere.csv\"\n",
            "there is no file \"nowhere.csv\"",
        ),
        (
            "[change.x]\nlink = \"line\"\ntrace = \"nowhere.csv\"\nat = \"1s\"\n",
            "a trace has its own instants",
        ),
        (
            "[change.x]\nlink = \"line\"\nmahimahi = \"x\"\nend = \"hold\"\n",
            "have no last rate to hold",
        ),
        (
            "[change.x]\nlink = \"line\"\nqueue = \"codel\"\nat = \"1s\"\n",
            "\"codel\" cannot take its place",
        ),
        (
            "[change.x]\nlink = \"line\"\nqueue = []\nat = \"1s\"\n",
            "the list is empty",
        ),
        (
            "[change.x]\nflows = \"f\"\ncongestion = []\nevery = \"1s\"\n",
            "the list is empty",
        ),
        (
            "[change.x]\nlink = \"line\"\nqueue = { kind = \"droptail\", buffer = \"x\" }\nat = \"1s\"\n",
            "buffer",
        ),
    ] {
        let message = refused(change);
        assert!(message.contains(said), "{change}\n{message}");
    }
    let late = load_text(
        &datagrams("[change.x]\nlink = \"line\"\nloss = 1\nat = \"10s\"\n"),
        "lab.toml",
        &[],
    )
    .unwrap();
    assert!(
        late.warnings[0].contains("the run is over at 10s"),
        "{:?}",
        late.warnings
    );
}
