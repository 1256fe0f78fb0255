//! Arrivals recorded in live runs are replayed in the simulator with the same seed: the same packets leave at the
//! same instants, and the same ones are dropped and marked for the same reasons. They are also replayed without the
//! simulator: only the discipline before its line, driven by hand. No privilege is needed.

use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use tailback_base::{Ecn, Stream, Time};
use tailback_live::recording::{Recording, replay};
use tailback_live::watch::PacketFate as Fate;
use tailback_queue::server::{Sent, Server};
use tailback_queue::testing::{Log, TestPacket};
use tailback_queue::{BuildContext, registry};
use tailback_scenario::{Loaded, load_file};

/// The recordings, and the queue of each.
const RECORDED: [(&str, &str); 5] = [
    ("droptail", r#"{kind="droptail",buffer="12 packets"}"#),
    (
        "red",
        r#"{kind="red",buffer="40 packets",min_threshold="5 packets",max_threshold="15 packets",weight=0.02,ecn=true}"#,
    ),
    ("codel", r#"{kind="codel",buffer="100 packets",ecn=true}"#),
    ("qsdrr", r#"{kind="qsdrr",buffer="20 packets"}"#),
    ("fq", r#"{kind="fq",buffer="20 packets",conversation="tuple"}"#),
];

fn recorded(name: &str, queue: &str) -> (Loaded, Recording) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let set = [format!("link.bottleneck.queue={queue}")];
    let loaded = load_file(folder.join("shared.toml"), &set).unwrap();
    let mut text = String::new();
    let file = std::fs::File::open(folder.join(format!("{name}.txt.gz"))).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    (loaded, Recording::from_text(&text).unwrap())
}

#[test]
fn the_simulator_decides_as_the_live_run_did() {
    for (name, queue) in RECORDED {
        let (loaded, live) = recorded(name, queue);
        let to = Time::ZERO + loaded.spec.duration;
        let again = replay(&loaded.spec, loaded.spec.seed, &live.arrivals, to).unwrap();
        assert!(
            live.exits.len() > 1000 && live.events.len() > 20,
            "{name} shows nothing"
        );
        assert_eq!(again.events, live.events, "{name}: drops and marks");
        assert_eq!(again.exits, live.exits, "{name}: departures");
    }
}

/// Shows that a difference would be noticed: another seed gives other decisions where they are random.
#[test]
fn another_seed_is_noticed_where_chance_decides() {
    let (loaded, live) = recorded("red", RECORDED[1].1);
    let to = Time::ZERO + loaded.spec.duration;
    let other = replay(&loaded.spec, loaded.spec.seed + 1, &live.arrivals, to).unwrap();
    assert_ne!(other.events, live.events);
}

/// Departures from the queue as (birth, arrival at the far end, ECN), drops and marks as (birth, reason).
type Decisions = (
    Vec<(Time, Time, Ecn)>,
    Vec<(Time, &'static str)>,
    Vec<(Time, &'static str)>,
);

/// The forward direction of the recording through the discipline alone.
fn by_hand(loaded: &Loaded, live: &Recording) -> Decisions {
    let link = &loaded.spec.links[0].forward;
    let context = BuildContext {
        stream: Stream::new(loaded.spec.seed, "link.bottleneck.queue"),
        rate: link.rate,
        delay: link.delay,
    };
    let queue = registry::build::<TestPacket>(&link.queue, context).unwrap();
    let (mut server, mut log) = (Server::new(queue, link.rate), Log::default());
    let to = Time::ZERO + loaded.spec.duration;
    let mut out = vec![];
    let mut leave = |sent: Option<Sent<TestPacket>>| {
        out.extend(sent.map(|s| (Time(s.packet.id), s.end + link.delay, s.packet.ecn)));
    };
    for a in live.arrivals.iter().filter(|a| !a.backward) {
        while let Some((_, sent)) = server.advance(a.born, &mut log) {
            leave(sent);
        }
        let p = TestPacket {
            ecn: a.ecn,
            data: a.payload > 0,
            sequence: a.sequence,
            stamp: a.born,
            ..TestPacket::new(a.born.0, a.flow.0, a.bytes)
        };
        leave(server.arrive(p, a.born, &mut log));
    }
    while let Some((_, sent)) = server.advance(to, &mut log) {
        leave(sent);
    }
    out.retain(|o| o.1 <= to);
    let drops = log.dropped.iter().map(|(p, _, why)| (Time(p.id), why.name()));
    let marks = log.marked.iter().map(|(p, why)| (Time(p.id), why.name()));
    (out, drops.collect(), marks.collect())
}

#[test]
fn the_discipline_alone_decides_as_the_live_run_did() {
    for (name, queue) in RECORDED {
        let (loaded, live) = recorded(name, queue);
        let forward: HashMap<Time, bool> = live.arrivals.iter().map(|a| (a.born, !a.backward)).collect();
        let (out, drops, marks) = by_hand(&loaded, &live);
        let exits = live.exits.iter().filter(|e| forward[&e.born]);
        let exits: Vec<_> = exits.map(|e| (e.born, e.at, e.ecn)).collect();
        assert_eq!(out, exits, "{name}: departures");
        let (mut dropped, mut marked) = (vec![], vec![]);
        for e in live.events.iter().filter(|e| forward[&e.born]) {
            match e.fate {
                Fate::Dropped(_, why) => dropped.push((e.born, why.name())),
                Fate::Marked(why) => marked.push((e.born, why.name())),
            }
        }
        assert_eq!(drops, dropped, "{name}: drops");
        assert_eq!(marks, marked, "{name}: marks");
    }
}

#[test]
fn a_recording_that_is_none_is_refused_with_its_line() {
    let e = Recording::from_text("exit 1 2 0\nnonsense 3").unwrap_err();
    assert!(e.contains("line 2") && e.contains("nonsense 3"), "{e}");
    for short in ["mark 1 2 0", "drop 1 2 0 arriving", "arrival 1", ""] {
        assert!(Recording::from_text(&format!("{short}\n")).is_err(), "{short}");
    }
}
