//! Values that depend on the path: what they become, and what is said where they cannot be known.

use crate::{Loaded, ScenarioError, load_text};
use proptest::prelude::*;
use tailback_base::{BitRate, Duration, Level, Size, Value};
use tailback_sim::change::Values;

/// 10 Mb/s and 100 ms: a product of 125,000 B, which is 83.3 packets of 1500 B.
const NET: &str = r#"duration = "10s"
[link.bottleneck]
from = "left"
to = "right"
rate = "10Mbps"
delay = "10ms"
queue = { kind = "droptail", buffer = "1 bdp" }
[flows.bulk]
count = 4
rtt = "100ms"
"#;

fn read(text: &str, set: &[&str]) -> Result<Loaded, ScenarioError> {
    let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
    load_text(text, "lab.toml", &set)
}

#[track_caller]
fn load(text: &str, set: &[&str]) -> Loaded {
    read(text, set).unwrap_or_else(|e| panic!("{e}"))
}

fn buffer(l: &Loaded) -> Size {
    l.spec.links[0].forward.queue.size("buffer")
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The only problem: its line, key and value, and its whole text.
#[track_caller]
fn refused(text: &str, set: &[&str]) -> (Option<usize>, String, String, String) {
    let e = read(text, set).expect_err(text);
    let p = &e.problems[0];
    assert_eq!(e.problems.len(), 1, "{e}");
    (p.place.line, p.key.clone(), p.value.clone(), e.to_string())
}

#[test]
fn a_product_is_rounded_up_to_packets_or_to_bytes() {
    assert_eq!(buffer(&load(NET, &[])), Size::Packets(84));
    let half = load(NET, &["link.bottleneck.queue.buffer=0.5 BDP"]);
    assert_eq!(buffer(&half), Size::Packets(42));
    // A rate and a round trip that give whole packets give no packet more: 12 Mb/s x 100 ms x 0.1 = 15,000 B.
    let whole = load(
        NET,
        &["link.bottleneck.rate=12Mbps", "link.bottleneck.queue.buffer=0.1bdp"],
    );
    assert_eq!(buffer(&whole), Size::Packets(10));
    // The default of CAKE's buffer is in bytes.
    let cake = load(NET, &["link.bottleneck.queue.kind=cake"]);
    assert_eq!(buffer(&cake), Size::Bytes(125_000));
    // Packets of the size that the flows send: 1000 B of payload and 40 B of header.
    let small = load(NET, &["flows.bulk.tcp={ payload = \"960B\" }"]);
    assert_eq!(buffer(&small), Size::Packets(125));
}

#[test]
fn thresholds_have_the_unit_of_their_buffer() {
    for (buffer, low, high) in [
        ("100 packets", Level::Packets(9.0), Level::Packets(42.0)),
        ("150KB", Level::Bytes(12_500.0), Level::Bytes(62_500.0)),
        ("1 bdp", Level::Packets(9.0), Level::Packets(42.0)),
    ] {
        let queue = format!(
            "link.bottleneck.queue={{ kind = \"red\", min_threshold = \"0.1 bdp\", max_threshold = \"0.5 bdp\", \
             buffer = \"{buffer}\" }}"
        );
        let loaded = load(NET, &[&queue]);
        let q = &loaded.spec.links[0].forward.queue;
        let given = ["min_threshold", "max_threshold"].map(|name| q.value(name).clone());
        assert_eq!(given, [low, high].map(Value::Level), "{buffer}");
    }
}

#[test]
fn a_share_of_the_buffer_is_no_share_of_a_rate() {
    let queue = "link.bottleneck.queue={ kind = \"red\", min_threshold = \"20 %\", max_threshold = \"60%\" }";
    let loaded = load(NET, &[queue]);
    let q = &loaded.spec.links[0].forward.queue;
    assert_eq!(q.value("min_threshold"), &Value::Level(Level::OfBuffer(0.2)));
    assert!(loaded.settled.is_empty());
}

#[test]
fn times_may_be_round_trips() {
    let text = NET.replace("\"10s\"", "\"200 rtt\"\nwarmup = \"5 rtt\"\ninterval = \"10rtt\"")
        + "start = [\"1 rtt\", \"2 rtt\"]\n";
    let loaded = load(
        &text,
        &["link.bottleneck.queue={ kind = \"codel\", interval = \"1 RTT\", target = \"0.05 rtt\" }"],
    );
    let s = &loaded.spec;
    assert_eq!(
        (s.duration, s.warmup, s.interval),
        (ms(20_000), ms(500), Some(ms(1000)))
    );
    let q = &s.links[0].forward.queue;
    assert_eq!((q.time("interval"), q.time("target")), (ms(100), ms(5)));
    let keys: Vec<&str> = loaded.settled.iter().map(|s| s.key.as_str()).collect();
    assert!(
        keys.contains(&"flows.bulk.start[1]") && keys.contains(&"duration"),
        "{keys:?}"
    );
}

#[test]
fn rates_may_be_shares_of_a_link() {
    let text = format!(
        "{NET}[flows.cbr]\nrtt = \"100ms\"\ntransport = \"udp\"\n\
         traffic = {{ kind = \"cbr\", rate = \"5 % of bottleneck\" }}\n\
         access_rate = \"200 % of bottleneck.reverse\"\n"
    );
    let queue = "link.bottleneck.queue={ kind = \"htb\", rate = \"95 %\", queue = \"codel\" }";
    let loaded = load(&text, &[queue, "link.bottleneck.reverse_rate=1Mbps"]);
    assert_eq!(loaded.spec.links[0].forward.queue.rate("rate"), BitRate(9_500_000));
    let cbr = &loaded.spec.flows[1];
    assert_eq!(
        cbr.access.as_ref().map(|a| a.rate.clone()),
        Some(vec![BitRate(2_000_000)])
    );
    assert_eq!(cbr.traffic.number("rate"), Some(500_000.0));
    // A link's own rate, from that of another.
    let side = "[link.side]\nfrom = \"right\"\nto = \"far\"\nrate = \"50 % of bottleneck\"\ndelay = \"1ms\"\nqueue = \
                { kind = \"droptail\", buffer = \"2 bdp\" }\n";
    let loaded = load(
        &NET.replace(
            "[flows.bulk]",
            &format!("{side}[flows.bulk]\nfrom = \"left\"\nto = \"far\""),
        ),
        &[],
    );
    assert_eq!(loaded.spec.links[1].forward.rate, BitRate(5_000_000));
    assert_eq!(loaded.spec.links[1].forward.queue.size("buffer"), Size::Packets(84));
}

#[test]
fn what_changes_is_measured_at_the_start_and_says_so() {
    let text =
        format!("{NET}[change.slow]\nlink = \"bottleneck\"\nat = [\"5s\", \"6s\"]\nrate = [\"50 %\", \"100 %\"]\n");
    let loaded = load(&text, &[]);
    let Values::Rate(rates) = &loaded.spec.links[0].forward.changes[0].to else {
        panic!("no rates");
    };
    assert_eq!(rates, &[BitRate(5_000_000), BitRate(10_000_000)]);
    assert_eq!(buffer(&loaded), Size::Packets(84));
    let reason = &loaded
        .settled
        .iter()
        .find(|s| s.key == "link.bottleneck.queue.buffer")
        .unwrap()
        .because;
    assert!(reason.contains("the rate at the start; it changes"), "{reason}");
    let text = format!(
        "{NET}[change.less]\nlink = \"bottleneck\"\nat = \"5s\"\n\
         queue = {{ kind = \"droptail\", buffer = \"0.5 bdp\" }}\n"
    );
    let loaded = load(&text, &[]);
    let Values::Queue(queues) = &loaded.spec.links[0].forward.changes[0].to else {
        panic!("no queues");
    };
    assert_eq!(queues[0].size("buffer"), Size::Packets(42));
}

#[test]
fn several_round_trips_want_a_rule_and_are_refused_once() {
    let several = NET.replace(
        "rtt = \"100ms\"",
        "rtt = [\"40ms\", \"160ms\", \"160ms\"]\nstart = \"2 rtt\"",
    );
    let e = read(&several, &[]).unwrap_err();
    assert_eq!((e.problems.len(), e.more), (1, 0), "{e}");
    let p = &e.problems[0];
    assert_eq!((p.place.line, p.value.as_str()), (Some(7), "\"1 bdp\""));
    let text = e.to_string();
    assert!(
        text.contains("the flows that cross link.bottleneck have round trips from 40ms to 160ms")
            && text.contains("add bdp_rtt = \"largest\", \"mean\" or a time"),
        "{text}"
    );
    for (rule, packets) in [
        ("largest", 134),
        // Of 40, 160, 160 and 40 ms.
        ("mean", 84),
        ("48ms", 40),
    ] {
        let loaded = load(&several, &[&format!("bdp_rtt={rule}")]);
        assert_eq!(buffer(&loaded), Size::Packets(packets), "{rule}");
    }
    let wrong = refused(&several, &["bdp_rtt=longest"]);
    assert_eq!((wrong.1.as_str(), wrong.2.as_str()), ("bdp_rtt", "\"longest\""));
}

#[test]
fn links_of_a_topology_have_flows_and_rates_of_their_own() {
    let lot = r#"duration = "1s"
bdp_rtt = "largest"
[topology]
kind = "parking-lot"
hops = 2
rate = "12Mbps"
delay = "5ms"
queue = { kind = "droptail", buffer = "1 bdp" }
[link.hop2]
rate = "24Mbps"
[flows.long]
rtt = "40ms"
[flows.cross]
from = "r1"
to = "r2"
rtt = "100ms"
"#;
    let loaded = load(lot, &[]);
    let sizes: Vec<Size> = loaded
        .spec
        .links
        .iter()
        .map(|loaded| loaded.forward.queue.size("buffer"))
        .collect();
    assert_eq!(sizes, [Size::Packets(40), Size::Packets(200)]);
}

#[test]
fn a_stored_scenario_says_what_its_values_are_and_follows_another_rate() {
    let loaded = load(NET, &[]);
    assert!(
        loaded.toml.starts_with(NET)
            && loaded
                .toml
                .contains("#   link.bottleneck.queue.buffer = \"84 packets\""),
        "{}",
        loaded.toml
    );
    let again = load(&loaded.toml, &[]);
    assert_eq!((&again.toml, &again.digest), (&loaded.toml, &loaded.digest));
    let faster = load(&loaded.toml, &["link.bottleneck.rate=20Mbps"]);
    assert_eq!(buffer(&faster), Size::Packets(167));
    assert_eq!(faster.toml.matches("84 packets").count(), 0, "{}", faster.toml);
    assert_ne!(faster.digest, loaded.digest);
}

#[test]
fn what_cannot_be_known_is_refused_with_its_place() {
    let bulk = |line: &str| NET.replace("rtt = \"100ms\"", &format!("rtt = \"100ms\"\n{line}"));
    for (text, line, key, problem) in [
        (
            bulk("tcp = { rwnd = \"2 bdp\" }"),
            Some(11),
            "flows.bulk.tcp.rwnd",
            "does not belong to one",
        ),
        (
            bulk("access_rate = \"95 %\""),
            Some(11),
            "flows.bulk.access_rate",
            "write \"95 % of bottleneck\"",
        ),
        (
            bulk("access_rate = \"95 % of neck\""),
            Some(11),
            "flows.bulk.access_rate",
            "name a link with a rate of its own: bottleneck",
        ),
        (
            bulk("[profile.mine]\nmin_rto = \"2 rtt\""),
            Some(12),
            "profile.mine.min_rto",
            "in the table of the flows",
        ),
        (
            NET.replace("1 bdp", "-1 bdp"),
            Some(7),
            "link.bottleneck.queue.buffer",
            "above 0",
        ),
        (
            NET.replace("1 bdp", "0 bdp"),
            Some(7),
            "link.bottleneck.queue.buffer",
            "is zero",
        ),
        (
            NET.replace("1 bdp", "2 rtt"),
            Some(7),
            "link.bottleneck.queue.buffer",
            "gives no size here",
        ),
        (
            NET.replace("\"10s\"", "\"2 bdp\""),
            Some(1),
            "duration",
            "gives no time here",
        ),
    ] {
        let (at, name, _, message) = refused(&text, &[]);
        assert_eq!((at, name.as_str()), (line, key), "{message}");
        assert!(message.contains(problem), "{message}");
    }
    let lone_link = format!(
        "{NET}[link.idle]\nfrom = \"right\"\nto = \"far\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\nqueue = {{ kind = \
         \"droptail\", buffer = \"1 bdp\" }}\n"
    );
    let (_, _, _, whole) = refused(&lone_link.replace("count = 4", "from = \"left\"\nto = \"right\""), &[]);
    assert!(whole.contains("no flow crosses link.idle"), "{whole}");
    let e = read(&NET.replace("delay = \"10ms\"", "delay = \"1 rtt\""), &[]).unwrap_err();
    assert_eq!(
        (e.problems[0].place.line, e.problems[0].key.as_str()),
        (Some(6), "link.bottleneck.delay")
    );
    assert!(e.to_string().contains("round trips are computed"), "{e}");
    let circle = NET.replace("\"10Mbps\"", "\"50 % of bottleneck\"");
    assert!(read(&circle, &[]).unwrap_err().to_string().contains("is not known"));
}

#[test]
fn what_is_broken_elsewhere_is_said_first() {
    let e = read(&NET.replace("rtt = \"100ms\"", "rtt = \"100 apples\""), &[]).unwrap_err();
    assert_eq!(
        (e.problems.len(), e.problems[0].key.as_str()),
        (1, "flows.bulk.rtt"),
        "{e}"
    );
}

#[test]
fn sessions_have_round_trips_too() {
    let text = NET.replace(
        "[flows.bulk]\ncount = 4\nrtt = \"100ms\"\n",
        "[sessions.web]\nkind = \"web\"\nclients = 2\nrtt = \"60ms\"\n",
    );
    // 10 Mb/s x 60 ms = 75,000 B.
    assert_eq!(buffer(&load(&text, &[])), Size::Packets(50));
}

/// What a source cannot do without may depend on the path as well.
#[test]
fn values_without_a_default_may_depend_on_the_path() {
    let text = format!(
        "{NET}transport = \"udp\"\ntraffic = {{ kind = \"on-off\", rate = \"10 % of bottleneck\", mean_on = \"2 rtt\", \
         mean_off = \"1 rtt\" }}\n"
    );
    let traffic = load(&text, &[]).spec.flows[0].traffic.clone();
    let given = ["rate", "mean_on", "mean_off"].map(|key| traffic.number(key));
    assert_eq!(given, [Some(1e6), Some(0.2), Some(0.1)]);
}

/// Keys that may be set to anything below.
const KEYS: [&str; 16] = [
    "duration",
    "warmup",
    "bdp_rtt",
    "link.bottleneck.rate",
    "link.bottleneck.delay",
    "link.bottleneck.reverse_rate",
    "link.bottleneck.queue.buffer",
    "link.bottleneck.queue.interval",
    "link.bottleneck.rate_changes",
    "flows.bulk.rtt",
    "flows.bulk.access_delay",
    "flows.bulk.access_rate",
    "flows.bulk.start",
    "flows.bulk.tcp",
    "flows.bulk.traffic",
    "topology",
];
const VALUES: [&str; 16] = [
    "1 bdp",
    "-1 bdp",
    "1e300 bdp",
    "2 rtt",
    "1e300 rtt",
    "50 %",
    "50 % of bottleneck",
    "1e300 % of bottleneck.reverse",
    "0 % of bottleneck",
    "[\"1 rtt\", \"2 rtt\"]",
    "{ kind = \"transfer\", size = \"1 bdp\" }",
    "{ kind = \"on-off\", rate = \"5 %\", mean_on = \"1 rtt\", mean_off = \"1 rtt\" }",
    "{ kind = \"parking-lot\", hops = 2, rate = \"5 %\", delay = \"1 rtt\", queue = { kind = \"htb\", \
     rate = \"9 %\" } }",
    "{ min_rto = \"2 rtt\", rwnd = \"1 bdp\" }",
    "[{ at = \"1 rtt\", rate = \"50 %\" }]",
    "10ms",
];

proptest! {
    /// Whatever depends on what: the scenario is read, or something is said that names a key and a remedy.
    #[test]
    fn no_value_on_a_path_panics(
        set in prop::collection::vec((0..KEYS.len(), 0..VALUES.len()), 1..5),
        kind in prop::sample::select(vec!["droptail", "codel", "red", "cake", "htb"]),
    ) {
        let mut overrides = vec![format!("link.bottleneck.queue.kind={kind}")];
        overrides.extend(set.iter().map(|(k, v)| format!("{}={}", KEYS[*k], VALUES[*v])));
        if let Err(e) = load_text(NET, "lab.toml", &overrides) {
            prop_assert!(!e.problems.is_empty());
            prop_assert!(e.problems.iter().all(|p| !p.remedy.is_empty()), "{e}");
        }
    }
}
