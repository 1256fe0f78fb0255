//! The laws of a run: each mutant of a discipline breaks the law it is made for, and what a run says is the same with
//! laws and without.

use std::collections::{HashMap, VecDeque};
use tailback_queue::{Backlog, Line, Out, QueueDiscipline, Service};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::{Hooks, PortContext};
use tailback_sim::run::run;
use tailback_sim::wire::packet::SimPacket;

const LINE: &str = r#"
duration = "1s"
link.line = { from = "a", to = "b", rate = "8Mbps", delay = "10ms", queue = "codel" }
flows.t = { from = "a", to = "b", count = 2, packet_size = "1000B", traffic = { kind = "cbr", rate = "5Mbps" } }
flows.bulk = { from = "a", to = "b", count = 2 }
"#;

/// What a discipline does wrong.
#[derive(Clone, Copy, Debug)]
enum Mutant {
    /// Nothing.
    Sound,
    /// The 50th packet is neither sent nor dropped.
    Loses,
    /// The 50th packet is sent twice.
    Invents,
    /// After the 50th packet it says that it has none, while there are some.
    Idles,
}

struct Faulty {
    what: Mutant,
    waiting: VecDeque<SimPacket>,
    came: u32,
}

impl QueueDiscipline<SimPacket> for Faulty {
    fn enqueue(&mut self, p: SimPacket, _line: &Line, _out: &mut dyn Out<SimPacket>) {
        self.came += 1;
        match (self.what, self.came) {
            (Mutant::Loses, 50) => return,
            (Mutant::Invents, 50) => self.waiting.push_back(p),
            _ => {}
        }
        self.waiting.push_back(p);
    }

    fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        match (self.what, self.came) {
            (Mutant::Idles, 50..) => Service::Empty,
            _ => self.waiting.pop_front().map_or(Service::Empty, Service::Send),
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.waiting.len() as u64,
            bytes: self.waiting.iter().map(|p| u64::from(p.wire.size())).sum(),
        }
    }
}

fn with(what: Mutant) -> Result<(), String> {
    let loaded = load_text(LINE, "line.toml", &[]).unwrap();
    let make = |_: PortContext| -> Box<dyn QueueDiscipline<SimPacket>> {
        Box::new(Faulty {
            what,
            waiting: VecDeque::new(),
            came: 0,
        })
    };
    let hooks = Hooks {
        queues: HashMap::from([("line".to_string(), &make as _)]),
        laws: true,
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn each_mutant_of_a_discipline_breaks_its_law() {
    assert_eq!(with(Mutant::Sound), Ok(()));
    for (mutant, law) in [
        (Mutant::Loses, "has lost or invented packets"),
        (Mutant::Invents, "has lost or invented packets"),
        (
            Mutant::Idles,
            "packets waiting while its line is free, and is not asked",
        ),
    ] {
        let said = with(mutant).unwrap_err();
        assert!(
            said.contains(law) && said.contains("the queue at line breaks a law"),
            "{mutant:?}: {said}"
        );
    }
}

/// The shaper of an edge holds most of what is sent when the run ends.
#[test]
fn packets_in_an_edge_are_under_way() {
    let edge = r#"link.line.conditioner={ kind = "edge", marker = { kind = "rtt-aware", target = "61bps" },
        stages = { kind = "shaper", highest_rate = "25kbps", low = 1 } }"#;
    let loaded = load_text(LINE, "line.toml", &[edge.into()]).unwrap();
    let laws = Hooks {
        laws: true,
        ..Hooks::default()
    };
    assert_eq!(
        run(&loaded.spec, 1, &laws).map(|_| ()).map_err(|e| e.to_string()),
        Ok(())
    );
}

#[test]
fn with_laws_a_run_says_the_same() {
    for queue in ["codel", "droptail", "htb"] {
        let queue = match queue {
            "htb" => r#"{ kind = "htb", rate = "6Mbps", queue = "fq-codel" }"#.to_string(),
            other => format!("\"{other}\""),
        };
        let loaded = load_text(
            LINE,
            "line.toml",
            &[format!("link.line.queue={queue}"), "warmup=100ms".into()],
        )
        .unwrap();
        let tables = |laws| {
            let hooks = Hooks {
                laws,
                ..Hooks::default()
            };
            let outcome = run(&loaded.spec, 1, &hooks).unwrap();
            // A column without a value is not equal to itself.
            format!("{:?}", outcome.tables)
        };
        assert!(tables(true) == tables(false), "{queue}");
    }
}

#[test]
fn a_run_of_twice_the_length_has_the_same_first_half() {
    let first = |duration: &str| {
        let set = [format!("duration={duration}"), "interval=100ms".to_string()];
        let loaded = load_text(LINE, "line.toml", &set).unwrap();
        let outcome = run(&loaded.spec, 1, &Hooks::default()).unwrap();
        let t = &outcome["link_intervals"];
        let (from, sent) = (t.reals("from_s").unwrap(), t.reals("delivered_packets").unwrap());
        let rows = from.into_iter().zip(sent).filter(|(from, _)| *from < 0.95);
        rows.collect::<Vec<_>>()
    };
    assert_eq!(first("1s"), first("2s"));
}

#[test]
fn what_no_packet_uses_changes_nothing_of_the_rest() {
    let unused = r#"
link.aside = { from = "a", to = "c", rate = "1Mbps", delay = "1ms", queue = "red" }
"#;
    let later = r#"
flows.never = { from = "a", to = "b", count = 3, start = "5s" }
"#;
    let rows = |text: &str| {
        let loaded = load_text(text, "line.toml", &[]).unwrap();
        let outcome = run(&loaded.spec, 1, &Hooks::default()).unwrap();
        let of = |table: &str, key: &str, wanted: &str, column: &str| {
            let t = &outcome[table];
            let names = format!("{:?}", t.column(key).unwrap().data);
            let at = names.split(", ").position(|n| n.contains(wanted)).unwrap();
            t.reals(column).unwrap()[at].to_bits()
        };
        [
            of("links", "name", "line\"", "delivered_packets"),
            of("links", "name", "line\"", "sojourn_mean_s"),
            of("groups", "group", "bulk", "goodput_bps_sum"),
            of("groups", "group", "\"t\"", "delay_mean_s"),
        ]
    };
    let (first, rest) = LINE.split_once("flows.t").unwrap();
    let other_order = format!("flows.t{rest}\n{}", first.trim());
    for text in [format!("{LINE}{unused}"), format!("{LINE}{later}"), other_order] {
        assert_eq!(rows(LINE), rows(&text), "{text}");
    }
}
