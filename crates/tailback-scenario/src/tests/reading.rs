//! Tests: what good scenarios become, and that no text at all makes the reader panic.

use super::errors::GOOD;
use crate::{Loaded, canonical, document::Document, load_json, load_text};
use proptest::prelude::*;
use tailback_base::{BitRate, Duration, Size, Time};
use tailback_sim::change::{Schedule, Values};
use tailback_sim::declare::impairments::{Harm, Impairment};
use tailback_sim::declare::instants::Instants;
use tailback_sim::declare::tables::{FLOW_PROBES, LINK_PROBES};
use tailback_sim::spec::{Sampling, Target};

fn load(text: &str) -> Loaded {
    load_text(text, "lab/test.toml", &[]).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const LOT: &str = r#"duration = "10s"
[topology]
kind = "parking-lot"
hops = 3
rate = "10Mbps"
delay = "5ms"
queue = { kind = "droptail", buffer = "50 packets" }
[link.hop2]
rate = "2Mbps"
[link.side]
from = "r1"
to = "leaf"
rate = "1Gbps"
delay = "1ms"
queue = "droptail"
reverse_rate = "1Mbps"
reverse_queue = { kind = "droptail", buffer = "3KB" }
rate_changes = [{ at = "5s", rate = "5Mbps" }, { at = "2s", rate = "3Mbps" }]
impair = [
    { kind = "random", probability = 0.01 },
    { kind = "by-index", indices = [7, 3], action = "mark" },
    { kind = "gilbert", to_bad = 0.1, to_good = 0.5 },
    { kind = "reorder", probability = 0.1, delay = "3ms" },
    { kind = "black-hole", mtu = "1400B" },
]
reverse_impair = { kind = "every-nth", n = 3 }
[flows.long]
udp = { ecn = true }
traffic = { kind = "on-off", rate = ["1Mbps", "2Mbps"], mean_on = "1s", mean_off = "2s" }
sizes = { kind = "bimodal", small = "40B", large = "1500B", share = 0.5 }
count = 6
rtt = ["50ms", "60ms"]
exit_rate = "100Mbps"
exit_delay = ["1ms", "2ms", "3ms"]
send_delay = "1ms"
start = { kind = "uniform", to = "1s" }
stop = { kind = "after", delay = "3s" }
[flows.cross]
from = "leaf"
to = "r3"
transport = "udp"
traffic = { kind = "cbr", rate = "1Mbps", jitter = 0.1 }
packet_size = "200B"
start = ["1s", "2s"]
[flows.back]
from = "r3"
to = "r0"
stop = "9s"
tcp = { profile = "mine" }
[profile.mine]
profile = "ns2"
variant = "sack"
[record.all]
flows = "long"
probes = "goodput"
on_change = true
[record.way]
link = "side.reverse"
probes = ["queue_bytes"]
every = "10ms"
"#;

/// A probe that any link or flow has would hide one of the same name: nobody could record it.
#[test]
fn no_model_s_probe_is_hidden() {
    let ends = tailback_transport::registry::TRANSPORTS.iter().map(|e| e.model);
    let queues = tailback_queue::registry::models();
    let all = ends
        .map(|m| (m, &FLOW_PROBES[..]))
        .chain(queues.map(|m| (m, &LINK_PROBES[..])));
    for (model, general) in all {
        let names: Vec<&str> = general.iter().chain(model.probes).map(|p| p.name).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(
                !names[..i].contains(name),
                "{} has two probes called {name}",
                model.name
            );
        }
    }
}

#[test]
fn the_simple_one() {
    let loaded = load(GOOD);
    let s = &loaded.spec;
    assert_eq!(
        (s.name.as_str(), s.duration, s.warmup, s.seed),
        ("test", ms(10_000), ms(0), 1)
    );
    assert_eq!(s.links[0].forward.rate, BitRate(5_000_000));
    assert_eq!(s.links[0].forward.queue.size("buffer"), Size::Packets(100));
    assert_eq!(s.links[0].reverse.queue.size("buffer"), Size::Packets(100));
    let access = s.flows[0].access.as_ref().unwrap();
    assert_eq!((access.delay.clone(), access.rate.len()), (vec![ms(10), ms(40)], 1));
    assert_eq!(s.flows[0].start, Instants::Listed(vec![Time::ZERO]));
    assert_eq!(s.record[0].when, Sampling::Every(ms(100)));
    assert_eq!(loaded.toml, GOOD);
    assert!(loaded.warnings.is_empty());
}

#[test]
fn the_rich_one() {
    let s = load(LOT).spec;
    let names: Vec<&str> = s.links.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["hop1", "hop2", "hop3", "side"]);
    assert_eq!(
        (
            s.links[1].forward.rate,
            s.links[1].from.as_str(),
            s.links[1].to.as_str()
        ),
        (BitRate(2_000_000), "r1", "r2")
    );
    assert_eq!(s.links[1].forward.delay, ms(5));
    let side = &s.links[3];
    assert_eq!(
        (side.reverse.rate, side.reverse.queue.size("buffer")),
        (BitRate(1_000_000), Size::Bytes(3000))
    );
    let [change] = &side.forward.changes[..] else {
        panic!("{:?}", side.forward.changes)
    };
    assert!(matches!(&change.to, Values::Rate(rates) if *rates == [BitRate(3_000_000), BitRate(5_000_000)]));
    let times = [Time(2_000_000_000), Time(5_000_000_000)];
    assert_eq!(change.when, Schedule::At(times.to_vec()));
    assert_eq!(
        side.forward.impairments[1],
        Impairment::ByIndex {
            indices: vec![3, 7],
            action: Harm::Mark
        }
    );
    assert!(matches!(
        side.forward.impairments[2],
        Impairment::Gilbert {
            loss_bad: 1.0,
            loss_good: 0.0,
            ..
        }
    ));
    assert_eq!(
        side.reverse.impairments,
        [Impairment::EveryNth {
            n: 3,
            action: Harm::Drop
        }]
    );
    let long = &s.flows[0];
    assert_eq!((long.from.as_str(), long.to.as_str()), ("r0", "r3"));
    // Two round trips and three exit delays repeat together after six flows: (rtt - 30ms - 2 exit) / 2.
    let us = |list: &[u64]| list.iter().map(|n| Duration::from_micros(*n)).collect::<Vec<_>>();
    assert_eq!(
        long.access.as_ref().unwrap().delay,
        us(&[9000, 13000, 7000, 14000, 8000, 12000])
    );
    assert_eq!(
        long.access.as_ref().unwrap().impairments,
        [Impairment::SendDelay { max: ms(1) }]
    );
    assert!(long.transport.flag("ecn"));
    assert_eq!(long.stop, Some(Instants::After(vec![ms(3000)])));
    assert_eq!(
        (s.flows[1].sizes.count("bytes"), s.flows[1].access.is_none()),
        (200, true)
    );
    assert_eq!(
        s.record[0].what,
        Target::Flows {
            group: "long".into(),
            only: None,
            reverse: false
        }
    );
    assert_eq!(
        s.record[1].what,
        Target::Link {
            name: "side".into(),
            reverse: true
        }
    );
}

#[test]
fn a_profile_of_the_scenario_is_laid_under_the_flow() {
    let text = format!(
        "{GOOD}[flows.plain]\n[flows.long]\ntransport = \"tcp\"\ntcp = {{ profile = \"mine\", payload = \"700B\" }}\n\
         [profile.mine]\nprofile = \"base\"\nmin_rto = \"300ms\"\n[profile.base]\nprofile = \"ns2\"\npayload = \
         \"900B\"\nmin_rto = \"400ms\"\nvariant = \"tahoe\"\n"
    );
    let s = load(&text).spec;
    assert_eq!(
        (s.flows[1].transport.model.name, s.flows[1].transport.text("profile")),
        ("tcp", "rfc")
    );
    let t = &s.flows[2].transport;
    assert_eq!(
        (
            t.text("profile"),
            t.count("payload"),
            t.time("min_rto"),
            t.text("variant")
        ),
        ("mine", 700, ms(300), "tahoe")
    );
    assert_eq!(
        t.size("window_cap"),
        Size::Packets(20),
        "what the profiles leave open is the built-in one's"
    );
    // Argument paths lead into the short form as well.
    let loaded = load_text(
        &text,
        "t",
        &[
            "flows.long.tcp.payload=800B".into(),
            "flows.plain.tcp.variant=reno".into(),
        ],
    )
    .unwrap();
    assert_eq!(
        (
            loaded.spec.flows[2].transport.count("payload"),
            loaded.spec.flows[1].transport.text("variant")
        ),
        (800, "reno")
    );
}

#[test]
fn arguments_change_what_is_read() {
    let set = |a: &[&str]| {
        load_text(GOOD, "t", &a.iter().map(|s| s.to_string()).collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{e}"))
    };
    let loaded = set(&[
        "link.bottleneck.queue.buffer=200 packets",
        "link.bottleneck.rate = 7Mbps",
        "seed=5",
        "flows.web.rtt=[40ms, 60ms, 80ms]",
    ]);
    assert_eq!(loaded.spec.links[0].forward.queue.size("buffer"), Size::Packets(200));
    assert_eq!(
        (loaded.spec.links[0].forward.rate, loaded.spec.seed),
        (BitRate(7_000_000), 5)
    );
    assert_eq!(loaded.spec.flows[0].access.as_ref().unwrap().delay.len(), 3);
    assert_eq!(load(&loaded.toml).spec.seed, 5);
    // A bare name becomes a table, and a table can be given whole.
    let loaded = set(&["link.bottleneck.queue=droptail", "link.bottleneck.queue.buffer=\"5KB\""]);
    assert_eq!(loaded.spec.links[0].forward.queue.size("buffer"), Size::Bytes(5000));
    let loaded = set(&[
        "flows.web.traffic={ kind = \"cbr\", rate = \"3Mbps\" }",
        "flows.more={ transport = \"udp\", traffic = { kind = \"cbr\", rate = \"1Mbps\" } }",
    ]);
    assert_eq!(
        (
            loaded.spec.flows[0].traffic.model.name,
            loaded.spec.flows[1].name.as_str()
        ),
        ("cbr", "more")
    );
    // The links of a topology can be overridden though they are not written out.
    let loaded = load_text(LOT, "t", &["link.hop3.rate=1Mbps".into()]).unwrap();
    assert_eq!(
        loaded
            .spec
            .links
            .iter()
            .find(|loaded| loaded.name == "hop3")
            .unwrap()
            .forward
            .rate,
        BitRate(1_000_000)
    );
}

#[test]
fn json_and_toml_are_the_same_scenario() {
    for text in [GOOD, LOT] {
        let a = load(text);
        let b = load_json(&a.document.to_string(), "lab/test.toml", &[]).unwrap();
        assert_eq!(a.digest, b.digest);
        // JSON has sorted its keys and with them the links; nothing else may differ.
        let sorted = |loaded: &Loaded| {
            let mut s = loaded.spec.clone();
            s.links.sort_by(|a, b| a.name.cmp(&b.name));
            s.flows.sort_by(|a, b| a.name.cmp(&b.name));
            format!("{s:?}")
        };
        assert_eq!(sorted(&a), sorted(&b));
        let c = load(&b.toml);
        assert_eq!((c.digest, c.document), (a.digest, a.document));
    }
}

#[test]
fn the_digest_names_the_scenario_but_not_the_seed() {
    let digest = |argument: &str| load_text(GOOD, "t", &[argument.to_string()]).unwrap().digest;
    let a = load(GOOD).digest;
    assert_eq!(a.len(), 32);
    assert_eq!(digest("seed=77"), a);
    assert_ne!(digest("duration=11s"), a);
    // Pinned: the digest of a scenario may not change between versions without notice.
    assert_eq!(
        canonical::digest(&serde_json::json!({"duration": "1s"})),
        "d7cd0648026acb15affd4d8e5f9876ad"
    );
}

#[test]
fn a_path_is_the_one_the_engine_takes() {
    // Of two ways with as many hops the one with less delay; there and back over the same links.
    let text = |rtt: &str| {
        let link = |name: &str, from: &str, to: &str, delay: &str| {
            format!(
                "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1Mbps\"\ndelay = \
                 \"{delay}\"\nreverse_delay = \"10ms\"\nqueue = \"droptail\"\n"
            )
        };
        let flows = format!(
            "[flows.f]\nfrom = \"a\"\nto = \"d\"\nrtt = \"{rtt}\"\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", \
             rate = \"1kbps\" }}\n"
        );
        "duration = \"1s\"\n".to_string()
            + &link("a1", "a", "b", "5ms")
            + &link("a2", "b", "d", "5ms")
            + &link("b1", "a", "c", "1ms")
            + &link("b2", "c", "d", "3ms")
            + &flows
    };
    let access = load(&text("44ms")).spec.flows[0].access.clone().unwrap();
    assert_eq!(access.delay, vec![ms(10)]);
    assert!(
        load_text(&text("23ms"), "t", &[])
            .unwrap_err()
            .first()
            .remedy
            .contains("at least 24ms")
    );
}

#[test]
fn what_looks_like_a_mistake_is_a_warning() {
    let loaded = load(&GOOD.replace("rtt =", "start = \"20s\"\nrtt ="));
    assert!(loaded.warnings[0].contains("flows.web"), "{:?}", loaded.warnings);
}

#[test]
fn a_source_without_its_signal_is_a_warning() {
    let warnings = |source: &str, queue: &str| {
        let text = format!(
            "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"80kbps\"\ndelay = \"0s\"\nqueue = {{ \
             kind = \"{queue}\", \
             buffer = \"10 packets\" }}\n[flows.f]\n{source} = {{}}"
        );
        load(&text).warnings
    };
    for (source, queue, word) in [
        ("decbit", "fq", "congestion bit"),
        ("decbit", "droptail", "congestion bit"),
        ("packet-pair", "droptail", "use fq"),
        ("packet-pair", "random-drop", "use fq"),
    ] {
        let w = warnings(source, queue);
        assert!(
            w.len() == 1 && w[0].starts_with("flows.f: ") && w[0].contains(word),
            "{w:?}"
        );
    }
    for (source, queue) in [
        ("decbit", "fqbit"),
        ("decbit", "decsel"),
        ("packet-pair", "fq"),
        ("generic", "droptail"),
    ] {
        assert!(warnings(source, queue).is_empty(), "{source} {queue}");
    }
}

#[test]
fn flows_that_fair_queueing_takes_for_one_are_a_warning() {
    let warnings = |flows: &str, queue: &str| {
        let text = format!(
            "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"80kbps\"\ndelay = \"0s\"\nqueue = {{ \
             {queue} }}\n\
             [flows.f]\n{flows}"
        );
        load(&text).warnings
    };
    let pair = "kind = \"fq\"";
    assert!(warnings("count = 2", pair)[0].contains("access_rate"));
    assert!(warnings("count = 1", pair).is_empty());
    assert!(warnings("count = 2\naccess_rate = \"1Mbps\"", pair).is_empty());
    assert!(warnings("count = 2", "kind = \"fq\", conversation = \"tuple\"").is_empty());
    let destination = "kind = \"decsel\", conversation = \"destination\"";
    assert!(warnings("count = 2\naccess_rate = \"1Mbps\"", destination)[0].contains("decsel"));
}

#[test]
fn a_start_that_may_be_drawn_after_the_stop_is_a_warning() {
    let warnings = |start: &str, stop: &str| {
        let ends = format!("start = {start}\nstop = {stop}\nrtt =");
        load(&GOOD.replace("rtt =", &ends)).warnings
    };
    let uniform_stop = "{ kind = \"uniform\", to = \"2s\" }";
    let w = warnings(uniform_stop, "[\"5s\", \"1s\"]");
    assert!(
        w.len() == 1 && w[0].starts_with("flows.web: ") && w[0].contains("2s") && w[0].contains("1s"),
        "{w:?}"
    );
    assert!(warnings("\"1s\"", uniform_stop)[0].contains("sends nothing"));
    assert!(warnings(uniform_stop, "\"2s\"").is_empty());
    assert!(warnings(uniform_stop, "{ kind = \"after\", delay = \"1s\" }").is_empty());
}

#[test]
fn a_setpoint_above_the_window_is_a_warning() {
    let warnings = |values: &str| {
        let text = format!(
            "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"80kbps\"\ndelay = \"0s\"\nqueue = \
             \"fq\"\n[flows.f]\n\
             packet-pair = {{ {values} }}"
        );
        load(&text).warnings
    };
    let w = warnings("setpoint = 5, wmax = 4");
    assert!(
        w.len() == 1 && w[0].starts_with("flows.f: ") && w[0].contains("raise wmax"),
        "{w:?}"
    );
    assert!(warnings("setpoint = 5, wmax = 5").is_empty());
}

#[test]
fn a_rule_without_a_limit_to_act_on_is_a_warning() {
    let warnings = |ports: &str, more: &str| {
        let text = format!(
            "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"80kbps\"\ndelay = \
             \"0s\"\n{ports}\n[flows.f]\n\
             [flows.g]\n{more}"
        );
        load(&text).warnings
    };
    for (kind, left) in [
        ("fqbit", "fq"),
        ("dtdrr", "drr"),
        ("dsdrr", "drr"),
        ("blue", "droptail"),
    ] {
        let queue = format!("queue = {{ kind = \"{kind}\", buffer = \"unlimited\" }}");
        let w = warnings(&queue, "");
        assert!(
            w.len() == 1 && w[0].starts_with("link.l: ") && w[0].contains(&format!("say {left}")),
            "{w:?}"
        );
        let limited = queue.replace("unlimited", "20 packets");
        assert!(warnings(&limited, "").is_empty(), "{kind}");
        // Only ACKs cross the port back, and no rule is about them; unless there are data as well.
        let reverse = format!("{limited}\nreverse_{queue}");
        assert!(warnings(&reverse, "").is_empty(), "{kind}");
        let w = warnings(&reverse, "from = \"b\"\nto = \"a\"");
        assert!(w.len() == 1 && w[0].starts_with("link.l.reverse: "), "{w:?}");
    }
    for kind in ["droptail", "drr", "fq", "codel", "red", "wdrr", "decsel"] {
        let queue = format!("queue = {{ kind = \"{kind}\", buffer = \"unlimited\" }}");
        assert!(warnings(&queue, "").is_empty(), "{kind}");
    }
    let level = "queue = { kind = \"blue\", buffer = \"unlimited\", level = \"50 packets\" }";
    assert!(warnings(level, "").is_empty());
}

/// Whatever the text: a scenario, or an error with a remedy.
fn holds(text: &str) {
    match load_text(text, "any.toml", &[]) {
        Ok(l) => {
            let again = load_text(&l.toml, "any.toml", &[]).expect("a canonical scenario is good");
            assert_eq!(l.digest, again.digest);
            let anew = canonical::to_toml(&Document::from_toml(text, "any.toml").expect("it was read before").root);
            assert_eq!(
                load_text(&anew, "any.toml", &[])
                    .unwrap_or_else(|e| panic!("{anew}\n{e}"))
                    .digest,
                l.digest
            );
        }
        Err(e) => {
            assert!(!e.problems.is_empty());
            for p in &e.problems {
                assert!(!p.remedy.is_empty() && !p.problem.is_empty(), "{p:?}");
            }
            let shown = e.to_string();
            assert!(shown.contains("any.toml") && shown.lines().count() < 200);
        }
    }
}

const WORDS: &[&str] = &[
    "duration",
    "link",
    "flows",
    "record",
    "topology",
    "kind",
    "queue",
    "\"droptail\"",
    "\"red\"",
    "rate",
    "delay",
    "buffer",
    "=",
    ".",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    ",",
    "\"",
    "\"\"\"",
    "'",
    "#",
    "\n",
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "true",
    "1979-05-27",
    "\"5Mbps\"",
    "\"0ms\"",
    "\"-5ms\"",
    "\"1e308s\"",
    "\"50%\"",
    "\"9999999999999h\"",
    "\"é\u{202e}\"",
    "99999999999999999999",
    "count",
    "rtt",
    "start",
    "stop",
    "tcp",
    "udp",
    "\u{feff}",
    "\0",
    "\r",
    "\\",
    "\\u0000",
    "hops",
];

const JSON_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"link\"",
    "\"flows\"",
    "null",
    "1e999",
    "18446744073709551615",
    "\"a\"",
    "true",
];

/// Numbers in JSON are read to the last bit, and written so that they read back.
#[test]
fn a_number_in_json_is_read_exactly() {
    for x in [0.945_270_695_573_922_3_f64, 0.1 + 0.2, 5e-324, 0.999_999_999_999_999_9] {
        let text = |p: &str| {
            format!(
                r#"{{"duration": "1s", "topology": {{"kind": "dumbbell", "rate": "1Mbps", "delay": "1ms",
                "queue": "droptail", "impair": [{{"kind": "random", "probability": {p}}}]}}, "flows": {{"x": {{}}}}}}"#
            )
        };
        let loaded = load_json(&text(&format!("{x:?}")), "x.json", &[]).unwrap();
        let reloaded = load_json(&loaded.document.to_string(), "x.json", &[]).unwrap();
        for l in [&loaded, &reloaded] {
            let Impairment::Random { probability, .. } = &l.spec.links[0].forward.impairments[0] else {
                panic!("a random loss was asked for");
            };
            assert_eq!(probability.to_bits(), x.to_bits());
        }
        assert_eq!(loaded.digest, reloaded.digest);
    }
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = vec!["a"; 100_000].join(".");
    for argument in [
        format!("link.{deep}=1"),
        format!("link.bottleneck.rate={}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!(
            "link.bottleneck.queue={}1{}",
            "{ a = ".repeat(10_000),
            " }".repeat(10_000)
        ),
    ] {
        let e = load_text(GOOD, "any.toml", &[argument]).unwrap_err();
        assert!(!e.first().remedy.is_empty() && e.to_string().len() < 10_000, "{e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        match crate::file::text_of(bytes, "any.toml") {
            Ok(text) => holds(&text),
            Err(e) => assert!(!e.first().remedy.is_empty()),
        }
    }

    #[test]
    fn random_words_never_panic(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60)) {
        holds(&words.join(" "));
    }

    #[test]
    fn mutated_scenarios_never_panic(
        rich in any::<bool>(),
        edits in proptest::collection::vec((0..6u8, any::<u16>(), any::<u16>(), any::<u16>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = if rich { LOT } else { GOOD }.as_bytes().to_vec();
        for (edit, a, b, c, byte) in edits {
            let place = |x: u16, n: usize| x as usize * (n + 1) / 65_536;
            let (i, j) = (place(a, bytes.len()), place(b, bytes.len()));
            let (from, to) = (i.min(j), i.max(j).min(i.min(j) + 40));
            match edit {
                0 if i < bytes.len() => bytes[i] = byte,
                1 => { bytes.drain(from..to); }
                2 => {
                    let part = bytes[from..to].to_vec();
                    let at = place(c, bytes.len());
                    bytes.splice(at..at, part);
                }
                3 => bytes.truncate(i.max(20)),
                4 => {
                    let word = WORDS[byte as usize % WORDS.len()];
                    bytes.splice(from..(from + 3).min(bytes.len()), word.bytes());
                }
                _ => {
                    // Swap two tokens.
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let mut tokens: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
                    if !tokens.is_empty() {
                        let n = tokens.len();
                        tokens.swap(a as usize % n, b as usize % n);
                    }
                    bytes = tokens.concat().into_bytes();
                }
            }
        }
        if let Ok(text) = String::from_utf8(bytes) {
            holds(&text);
            // The same breakage in an argument.
            let argument: String = text.chars().skip(20).take(60).collect();
            if let Err(e) = load_text(GOOD, "any.toml", &[format!("flows.web.{argument}")]) {
                assert!(!e.to_string().is_empty() && !e.first().remedy.is_empty());
            }
        }
    }

    #[test]
    fn random_json_never_panics(words in proptest::collection::vec(proptest::sample::select(JSON_WORDS), 0..40)) {
        if let Err(e) = load_json(&words.concat(), "any.json", &[]) {
            assert!(!e.first().remedy.is_empty());
        }
    }
}

#[test]
fn a_path_has_the_line_of_its_last_step_that_is_there() {
    let text = "a = 1\n[t]\nb = [\n  1,\n]\n[[l]]\nc = 2\n[[l]]\nc = 3\n";
    let document = Document::from_toml(text, "x.toml").unwrap();
    let lines = ["a", "t", "t.b", "t.none", "l[1]", "l[1].c", "l[7].c", "none.a"].map(|p| document.line_of(p));
    assert_eq!(
        lines,
        [Some(1), Some(2), Some(3), Some(2), Some(8), Some(9), Some(6), None]
    );
}
