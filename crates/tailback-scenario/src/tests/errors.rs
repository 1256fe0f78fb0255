//! Each way a scenario can be wrong, and the message it must get: file, line, key, value and what to write instead.

use crate::error::{self, Problem, ScenarioError};
use crate::{file, load_file, load_json, load_text, load_text_with};

pub const GOOD: &str = r#"duration = "10s"
[link.bottleneck]
from = "left"
to = "right"
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", buffer = "100 packets" }
[flows.web]
count = 4
from = "left"
to = "right"
rtt = ["40ms", "100ms"]
transport = "udp"
traffic = { kind = "poisson", rate = "1Mbps" }
[record.queue]
link = "bottleneck"
probes = ["queue"]
every = "100ms"
"#;

fn error(text: &str) -> ScenarioError {
    load_text(text, "lab.toml", &[]).expect_err(text)
}

/// The one problem of the good scenario after a replacement.
fn broken(from: &str, to: &str) -> Problem {
    assert!(GOOD.contains(from), "{from}");
    let e = error(&GOOD.replacen(from, to, 1));
    assert_eq!(e.problems.len(), 1, "{e}");
    let message = e.to_string();
    let p = e.problems[0].clone();
    assert!(
        message.contains("lab.toml") && message.contains(&p.key) && message.contains(&p.remedy),
        "{message}"
    );
    p
}

#[track_caller]
fn check(p: &Problem, line: usize, key: &str, value: &str, remedy: &str) {
    assert_eq!(
        (p.place.line, p.key.as_str(), p.value.as_str()),
        (Some(line), key, value),
        "{p:#?}"
    );
    assert!(p.remedy.contains(remedy), "{p:#?}");
}

#[test]
fn the_good_one_is_good() {
    load_text(GOOD, "lab.toml", &[]).unwrap();
}

/// What is wrong with the good scenario, by what is replaced in it, and by what.
const REPLACED: &[(&str, &str, &str)] = &[
    ("an unknown key", "delay =", "dealy ="),
    ("an unknown table", "[record.queue]", "[records.queue]"),
    ("a rate in bytes", r#""5Mbps""#, r#""5MB/s""#),
    ("a rate in thousandths", r#""5Mbps""#, r#""5mbps""#),
    ("a rate without unit", r#""5Mbps""#, "5"),
    ("an ambiguous time", r#""10ms""#, r#""10m""#),
    ("a buffer without unit", r#""100 packets""#, "100"),
    ("a unit that is none, in a list", r#""100ms"]"#, r#""100 apples"]"#),
    ("a time of day", r#""10s""#, "07:32:00"),
    ("a rate of nothing", r#""5Mbps""#, r#""0Mbps""#),
    ("traffic of nothing", r#"rate = "1Mbps""#, r#"rate = "0bps""#),
    ("a negative delay", r#""10ms""#, r#""-10ms""#),
    ("a buffer of no packets", r#""100 packets""#, r#""0 packets""#),
    ("a buffer of no bytes", r#""100 packets""#, r#""0B""#),
    ("a bare negative buffer", r#"buffer = "100 packets""#, "buffer = -1"),
    ("a bare buffer of nothing", r#"buffer = "100 packets""#, "buffer = 0"),
    ("a bare buffer", r#"buffer = "100 packets""#, "buffer = 7"),
    ("a bare delay of nothing", r#"delay = "10ms""#, "delay = 0"),
    ("a bare negative delay", r#"delay = "10ms""#, "delay = -2.5"),
    (
        "a warm-up longer than the run",
        r#"duration = "10s""#,
        "duration = \"10s\"\nwarmup = \"20s\"",
    ),
    ("a round trip shorter than the path", r#""40ms""#, r#""10ms""#),
    ("two ways to say a delay", "rtt =", "access_delay = \"1ms\"\nrtt ="),
    (
        "datagrams without a source",
        "traffic = { kind = \"poisson\", rate = \"1Mbps\" }\n",
        "",
    ),
    (
        "a stop before the start",
        "[record.queue]",
        "start = \"5s\"\nstop = [\"6s\", \"4s\"]\n[record.queue]",
    ),
    ("days", r#""10s""#, r#""4days""#),
    ("too long a run", r#""10s""#, r#""96h""#),
    ("an unknown probe", r#"["queue"]"#, r#"["qeue"]"#),
    ("an unknown link", r#"link = "bottleneck""#, r#"link = "botleneck""#),
    ("too many rows", "\"100ms\"\n", "\"1ns\"\n"),
    ("a name with a space", "from = \"left\"\nto", "from = \"le ft\"\nto"),
    (
        "packets faster than the clock",
        r#"rate = "1Mbps""#,
        r#"rate = "50Tbps""#,
    ),
    ("rows that fill the memory", r#"every = "100ms""#, r#"every = "10ns""#),
    (
        "intervals that fill the memory",
        r#"duration = "10s""#,
        "duration = \"10s\"\ninterval = \"1us\"",
    ),
    ("bursts of datagrams", POISSON, r#"traffic = "bursts""#),
    (
        "endless bursts",
        UDP_POISSON,
        r#"traffic = { kind = "bursts", size = "unlimited" }"#,
    ),
    (
        "bursts of nothing",
        UDP_POISSON,
        r#"traffic = { kind = "bursts", size = "0 packets" }"#,
    ),
    (
        "bursts with sizes of packets",
        UDP_POISSON,
        "traffic = \"bursts\"\npacket_size = \"1000B\"",
    ),
    (
        "an idle time that nothing uses",
        UDP_POISSON,
        "traffic = \"bursts\"\ntcp = { idle_after = \"0s\", idle_restart = false }",
    ),
    (
        "a meter without intervals",
        POISSON,
        "traffic = { kind = \"poisson\", rate = \"1Mbps\" }\nmeter = { kind = \"settling\", rate = \"1Mbps\" }",
    ),
];

const POISSON: &str = r#"traffic = { kind = "poisson", rate = "1Mbps" }"#;
const UDP_POISSON: &str = "transport = \"udp\"\ntraffic = { kind = \"poisson\", rate = \"1Mbps\" }";

/// What is wrong with what is added to the good scenario.
const ADDED: &[(&str, &str)] = &[
    ("an unknown profile", "[flows.t]\ntcp = { profile = \"ns2ful\" }"),
    (
        "a profile of a name that is taken",
        "[profile.ns2]\npayload = \"1KB\"\n[flows.t]\ntcp = { profile = \"ns2\" }",
    ),
    (
        "profiles in a circle",
        "[profile.a]\nprofile = \"b\"\n[profile.b]\nprofile = \"a\"",
    ),
    (
        "a wrong value in a profile",
        "[profile.a]\npayload = \"0B\"\n[flows.t]\ntcp = { profile = \"a\" }",
    ),
    (
        "timeouts that cross",
        "[flows.t]\ntcp = { min_rto = \"2s\", max_rto = \"1s\" }",
    ),
    (
        "tcp and another transport",
        "[flows.t]\ntcp = { payload = \"1KB\" }\ntransport = \"udp\"",
    ),
    ("a size of packets for tcp", "[flows.t]\npacket_size = \"1KB\""),
    ("a window of nothing", "[flows.t]\ngeneric = { wmax = 0 }"),
    ("a window of one", "[flows.t]\npacket-pair = { wmax = 1 }"),
    (
        "peaks that do not rise",
        "[flows.t]\npacket-pair = { alpha_peaks = [0.3, 0.3, 0.6] }",
    ),
    ("too few outputs", "[flows.t]\npacket-pair = { filter_outputs = [0.1] }"),
    (
        "a timer above its limit",
        "[flows.t]\ntransport = { kind = \"jacobson-karels\", rto_min = \"90s\" }",
    ),
    (
        "a window of a timeout above the greatest",
        "[flows.t]\ndecbit = { wmax = 5, timeout_window = 9 }",
    ),
    (
        "a size of packets for decbit",
        "[flows.t]\ndecbit = { packet = \"65000B\", header = \"254B\" }\npacket_size = \"40B\"",
    ),
    (
        "bursts over tfrc",
        "[flows.t]\ntraffic = { kind = \"bursts\", size = \"9 packets\", mean_think = \"1s\" }\ntransport = \"tfrc\"",
    ),
    (
        "sessions over tfrc",
        "[sessions.s]\nkind = \"requests\"\nresponse = { kind = \"exponential\", mean = \"15kB\" }\n\
         transport = \"tfrc\"",
    ),
];

/// All messages stand in `snapshots/`. `INSTA_UPDATE=always cargo test` writes them anew; read the diff.
#[test]
fn what_is_wrong_is_said_with_place_value_and_remedy() {
    let replaced = REPLACED.iter().map(|(what, from, to)| {
        assert!(GOOD.contains(from), "{what}");
        (what, GOOD.replacen(from, to, 1))
    });
    let added = ADDED.iter().map(|(what, more)| (what, format!("{GOOD}{more}\n")));
    let mut messages = String::new();
    for (what, text) in replaced.chain(added) {
        let e = error(&text);
        let codes: Vec<&str> = e.problems.iter().map(|p| p.code).collect();
        messages.push_str(&format!("# {what} ({})\n{e}\n\n", codes.join(", ")));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn a_name_of_another_spelling_is_recognised() {
    let buffer = r#"buffer = "100 packets""#;
    assert_eq!(
        broken(r#"kind = "droptail","#, r#"kind = "droptail", bufer_size = 3,"#).code,
        "unknown-key"
    );
    assert_eq!(broken(buffer, r#"kind2 = "x""#).nearest.as_deref(), Some("kind"));
    assert_eq!(broken("droptail", "wf2q+").nearest.as_deref(), Some("wf2q-plus"));
    assert_eq!(broken("delay =", "dealy =").nearest.as_deref(), Some("delay"));
}

#[test]
fn a_queue_from_outside_is_no_queue_of_a_file() {
    let queue = r#"queue = { kind = "droptail", buffer = "100 packets" }"#;
    let p = broken(queue, r#"queue = { kind = "python", class = "lab.Fifo" }"#);
    let run = r#"tb.run("FILE", queues={"bottleneck": Fifo})"#;
    check(&p, 7, "link.bottleneck.queue", "lab.Fifo", run);
    assert!(p.problem.contains("the Python class lab.Fifo"), "{p:#?}");
    let p = broken(queue, &format!("{queue}\nreverse_queue = \"python\""));
    check(
        &p,
        8,
        "link.bottleneck.reverse_queue",
        "python",
        r#"queues={"bottleneck.reverse": CLASS}"#,
    );
    // Where classes are handed over it is read, and does not run without them.
    let text = GOOD.replacen(queue, r#"queue = { kind = "python", class = "lab.Fifo" }"#, 1);
    let loaded = load_text_with(tailback_sim::library::outside::library(), &text, "lab.toml", &[]).unwrap();
    let e = tailback_sim::run::run(&loaded.spec, 1, &tailback_sim::build::hooks::Hooks::default()).expect_err("it ran");
    assert!(e.problem.contains("bottleneck") && e.remedy.contains("Fifo"), "{e}");
}

#[test]
fn a_stack_is_no_transport_of_a_file() {
    let udp_traffic = "transport = \"udp\"\ntraffic = { kind = \"poisson\", rate = \"1Mbps\" }";
    let p = broken(udp_traffic, "transport = \"stack\"");
    check(
        &p,
        13,
        "flows.web.transport",
        "stack",
        "Scenario::load(\"FILE\").endpoints(\"NAME\", ...)",
    );
    // Where stacks are handed over it is read, and does not run without them.
    let text = GOOD.replacen(udp_traffic, "transport = \"stack\"", 1);
    let loaded = load_text_with(tailback_sim::library::outside::library(), &text, "lab.toml", &[]).unwrap();
    let e = tailback_sim::run::run(&loaded.spec, 1, &tailback_sim::build::hooks::Hooks::default()).expect_err("it ran");
    assert!(e.problem.contains("the transport of web"), "{e}");
}

#[test]
fn a_control_whose_class_is_not_at_hand_is_told_where_to_run() {
    let udp_traffic = "transport = \"udp\"\ntraffic = { kind = \"poisson\", rate = \"1Mbps\" }";
    for name in ["mine.py:Gentle", "lab.Gentle"] {
        let p = broken(udp_traffic, &format!("tcp = {{ congestion = \"{name}\" }}"));
        let quoted_name = format!("\"{name}\"");
        check(&p, 13, "flows.web.tcp.congestion", &quoted_name, "tb.congestion(CLASS)");
        assert!(p.problem.contains(&format!("the Python class {name}")), "{p:#?}");
        let p = broken(udp_traffic, &format!("transport = \"{name}\""));
        check(&p, 13, "flows.web.transport", &quoted_name, "transport=tb.stack(CLASS)");
    }
}

#[test]
fn an_unreachable_destination() {
    let p = broken("to = \"right\"\nrtt", "to = \"rihgt\"\nrtt");
    check(&p, 11, "flows.web.to", "rihgt", "did you mean \"right\"?");
    let island = format!(
        "{GOOD}[link.island]\nfrom = \"right2\"\nto = \"b\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\nqueue = \"droptail\"\n"
    );
    let e = error(&island.replacen("to = \"right\"\nrtt", "to = \"right2\"\nrtt", 1));
    check(e.first(), 11, "flows.web.to", "right2", "add a link");
    assert_eq!(e.first().nearest.as_deref(), Some("right"));
    assert_eq!(e.first().code, "unreachable");
    let p = broken("to = \"right\"\nrtt", "to = \"left\"\nrtt");
    check(&p, 11, "flows.web.to", "left", "two different nodes");
}

/// What a misspelt key leaves out is not told beside it.
#[test]
fn a_misspelt_key_is_one_problem() {
    for (right, wrong) in [("[link.", "[linkk."), ("[flows.", "[flowxs."), ("rate = ", "ratte = ")] {
        let e = error(&GOOD.replacen(right, wrong, 1));
        assert_eq!((e.problems.len(), e.first().code), (1, "unknown-key"), "{e}");
    }
}

#[test]
fn duplicate_names() {
    let p = broken("from = \"left\"\nto", "from = \"left\"\nfrom = \"left\"\nto");
    assert_eq!((p.place.line, p.code), (Some(4), "duplicate"));
    assert!(
        p.problem.contains("\"from\" is given twice") && p.remedy.contains("rename"),
        "{p:?}"
    );
    let e = error(&format!("{GOOD}[link.bottleneck]\nrate = \"1Mbps\"\n"));
    assert_eq!((e.first().place.line, e.first().code), (Some(19), "duplicate"), "{e}");
    let e = load_json(r#"{"duration": "1s", "duration": "2s"}"#, "builder", &[]).unwrap_err();
    assert!(e.first().problem.contains("\"duration\" is given twice"), "{e}");
    let p = broken("[\"queue\"]", "[\"queue\", \"queue\"]");
    check(&p, 17, "record.queue.probes[1]", "queue", "name it once");
}

#[test]
fn nothing_in_the_file() {
    for text in ["", "\n\n", "# nothing\n", "\u{feff}"] {
        let e = error(text);
        assert_eq!((e.problems.len(), e.first().code), (1, "empty"));
        assert!(e.first().remedy.contains("duration = \"100s\""), "{e}");
        assert!(e.to_string().contains("lab.toml"));
        // The example in the message is a scenario, line by line.
        let shown = e.to_string();
        let example: Vec<&str> = shown
            .lines()
            .skip_while(|l| !l.trim().starts_with("duration"))
            .collect();
        load_text(&example.join("\n"), "lab.toml", &[]).unwrap();
    }
}

#[test]
fn files_that_are_none() {
    let dir = std::env::temp_dir().join(format!("tailback-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let e = load_file(&dir, &[]).unwrap_err();
    assert!(
        e.to_string().contains("is a directory") && e.first().remedy.contains(".toml"),
        "{e}"
    );
    let good = dir.join("good.toml");
    std::fs::write(&good, GOOD).unwrap();
    assert_eq!(load_file(&good, &[]).unwrap().spec.name, "good");
    let e = load_file(&dir, &[]).unwrap_err();
    assert!(e.first().remedy.contains("good.toml"), "{e}");
    let e = load_file(dir.join("nowhere.toml"), &[]).unwrap_err();
    assert!(
        e.first().problem.contains("there is no file") && e.first().remedy.contains("path"),
        "{e}"
    );
    let bytes = dir.join("bytes.toml");
    std::fs::write(&bytes, b"duration = \"10s\"\nname = \"caf\xe9\"\n").unwrap();
    let e = load_file(&bytes, &[]).unwrap_err();
    assert_eq!(
        (e.first().place.line, e.first().place.column),
        (Some(2), Some(12)),
        "{e}"
    );
    assert!(
        e.first().problem.contains("0xe9") && e.first().remedy.contains("UTF-8"),
        "{e}"
    );
    std::fs::write(&bytes, b"\xff\xfed\0u\0").unwrap();
    assert!(load_file(&bytes, &[]).unwrap_err().first().remedy.contains("UTF-16"));
    let long = std::fs::File::create(&bytes).unwrap();
    long.set_len(file::LONGEST_FILE + 1).unwrap();
    assert!(
        load_file(&bytes, &[])
            .unwrap_err()
            .first()
            .problem
            .contains("longer than 64 MB")
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_truncated_file() {
    for text in [
        "duration = \"10s\"\n[link.bottle",
        "duration = \"10s\"\nname = \"lab",
        "duration =",
        "flows.a = { count = 1,",
    ] {
        let e = error(text);
        assert_eq!(e.first().code, "syntax", "{e}");
        assert!(e.first().remedy.contains("cut off"), "{e}");
        assert!(e.first().place.line.is_some());
    }
}

#[test]
fn a_thousand_million_flows() {
    let p = broken("count = 4", "count = 1_000_000_000");
    check(&p, 9, "flows.web.count", "1000000000", "at most 2000000 flows");
    assert!(p.problem.contains("GB of memory"));
    let e = error(
        &format!(
            "{GOOD}[flows.more]\ncount = 1_999_999\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", \
                            rate = \"1kbps\" }}\n"
        )
        .replace("every = \"100ms\"", "every = \"10s\""),
    );
    check(e.first(), 20, "flows.more.count", "2000003", "all groups together");
}

#[test]
fn what_is_not_there() {
    let e = error("duration = \"1s\"\n");
    assert!(
        e.problems.iter().any(|p| p.key == "link") && e.problems.iter().any(|p| p.key == "flows"),
        "{e}"
    );
    let p = broken("duration = \"10s\"\n", "");
    assert!(
        p.code == "missing" && p.key == "duration" && p.remedy.contains("add `duration`"),
        "{p:?}"
    );
    let p = broken("rate = \"5Mbps\"\n", "");
    assert_eq!((p.place.line, p.key.as_str()), (Some(2), "link.bottleneck.rate"));
    let p = broken("[record.queue]\n", "[record]\n");
    assert!(p.remedy.contains("[record.NAME]"), "{p:?}");
}

#[test]
fn an_argument_is_named_instead_of_a_line() {
    let set = |a: &str| load_text(GOOD, "lab.toml", &[a.to_string()]).unwrap_err();
    let e = set("link.bottleneck.queue.buffer=0 packets");
    assert!(
        e.to_string().contains("--set link.bottleneck.queue.buffer=0 packets"),
        "{e}"
    );
    assert_eq!(e.first().place.line, None);
    for (argument, remedy) in [
        ("rate", "path=value"),
        ("=5", "dots between"),
        ("link.bottleneck.rate=", "path=value"),
        ("link.botleneck.rate=5Mbps", "\"bottleneck\""),
        ("links.bottleneck.rate=5Mbps", "\"link\""),
        ("flows.web.rtt[0]=5ms", "flows.web.rtt=["),
        ("flows.web.count.x=5", "as a whole: flows.web.count="),
        ("link.bottleneck.raet=5Mbps", "\"rate\""),
        ("link.bottleneck.rate=5", "\"5Mbps\""),
    ] {
        let e = set(argument);
        assert!(e.first().remedy.contains(remedy), "{argument}: {e}");
        assert!(e.to_string().contains(&format!("--set {argument}")), "{e}");
    }
}

#[test]
fn messages_as_they_appear() {
    let e = error(&GOOD.replace("\"5Mbps\"", "\"0Mbps\""));
    let want = r#"error: the rate "0Mbps" is not above zero
  --> lab.toml:5:8, link.bottleneck.rate
   |
 5 | rate = "0Mbps"
   |        ^^^^^^^
   = allowed: a rate such as "500Mbps" from 1bps to 100Tbps
   = help: give at least 1 bps"#;
    assert_eq!(e.to_string(), want);

    let e = error(&GOOD.replace("kind = \"droptail\", buffer", "kind = \"droptail\", bufer"));
    let message = e.to_string();
    let want = "error: the queue \"droptail\" has no key \"bufer\"\n  --> lab.toml:7:30, \
                link.bottleneck.queue.bufer\n   |\n \
        7 | queue = { kind = \"droptail\", bufer = \"100 packets\" }\n   |                              ^^^^^\n   \
        = help: did you mean \"buffer\"? known here: ";
    assert!(message.starts_with(want), "{message}");

    let json = r#"{"duration": "10s",
        "topology": {"kind": "dumbbell", "rate": "1Mbps", "delay": "1ms", "queue": "droptail"},
        "flows": {"a": {"transport": "udp", "traffic": {"kind": "cbr", "rate": 5}}}}"#;
    let e = load_json(json, "builder", &[]).unwrap_err();
    let want = r#"error: the rate 5 has no unit
 --> builder, flows.a.traffic.rate
  = value: 5
  = allowed: a rate such as "500Mbps" from 1bps to 100Tbps, or a list of such, taken by the flows in turn
  = help: write "5bps" or "5Mbps""#;
    assert_eq!(e.to_string(), want);
}

#[test]
fn the_thousandth_problem_hides_nothing() {
    // More problems than are kept, and then a missing value: nothing may be taken for sound because the list is full.
    let mut text = String::new();
    for i in 0..1500 {
        text.push_str(&format!("odd{i} = 1\n"));
    }
    text.push_str(
        "duration = \"1s\"\n[link.a]\n[link.b]\nfrom = \"x\"\n[flows.a]\nstart = { kind = \"uniform\" \
                   }\nsizes = \"bimodal\"\n",
    );
    let e = error(&text);
    assert!(e.more > 1490, "{}", e.more);
}

#[test]
fn all_problems_are_collected_up_to_a_number() {
    let mut text = GOOD.replace("\"5Mbps\"", "\"0Mbps\"").replace("count = 4", "count = 0");
    let e = error(&text);
    assert_eq!(e.problems.len(), 2, "{e}");
    for i in 0..50 {
        text.push_str(&format!("odd{i} = 1\n"));
    }
    let e = error(&text);
    assert_eq!(e.problems.len(), error::SHOWN);
    assert!(e.to_string().ends_with("and 40 more problems"), "{e}");
}

#[test]
fn a_window_longer_than_its_interval_never_slides() {
    let text = GOOD.replacen("duration", "interval = \"50ms\"\nduration", 1).replacen(
        "transport =",
        "meter = { kind = \"settling\", rate = \"1Mbps\" }\ntransport =",
        1,
    );
    // The default of 100 ms; and a given one.
    let e = error(&text);
    check(e.first(), 14, "flows.web.meter.window", "100ms", "give meter.window");
    let with_window = text.replacen("\"1Mbps\" }", "\"1Mbps\", window = \"51ms\" }", 1);
    assert!(error(&with_window).first().problem.contains("51ms"), "{with_window}");
    load_text(&with_window.replacen("51ms", "50ms", 1), "lab.toml", &[]).unwrap();
}

#[test]
fn churn_needs_datagrams() {
    let churn = GOOD.replacen("poisson", "churn", 1);
    load_text(&churn, "lab.toml", &[]).unwrap();
    for transport in ["tcp", "generic"] {
        let e = error(&churn.replacen("\"udp\"", &format!("\"{transport}\""), 1));
        check(e.first(), 13, "flows.web.transport", transport, "transport = \"udp\"");
        assert_eq!(e.problems.len(), 1, "{e}");
    }
}

#[test]
fn parameters_that_cross_are_refused_where_they_stand() {
    let queue = "kind = \"droptail\", buffer = \"100 packets\"";
    let p = broken(queue, "kind = \"decsel\", threshold = 3");
    check(&p, 7, "link.bottleneck.queue", "decsel", "raise panic_threshold");
    assert!(
        p.problem.contains("panic_threshold (2) is below threshold (3)"),
        "{}",
        p.problem
    );
    for good in [
        "threshold = 2",
        "threshold = 3, panic = false",
        "threshold = 3, panic_threshold = 3",
    ] {
        let text = GOOD.replacen(queue, &format!("kind = \"decsel\", {good}"), 1);
        load_text(&format!("marking = true\n{text}"), "lab.toml", &[]).unwrap();
    }
}
