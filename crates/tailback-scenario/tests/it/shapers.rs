//! Shapers around disciplines: what is inside changes and is read, and a discipline from outside may stand there. What
//! leaves them is in `tests/cases/shapers.toml`.

use crate::common::*;
use tailback_base::Settings;
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_queue::{QueueDiscipline, registry};
use tailback_scenario::load_text_with;
use tailback_sim::build::hooks::{Hooks, PortContext};
use tailback_sim::library::outside;
use tailback_sim::run::run;

/// Two flows that fill a line of a gigabit behind this queue.
fn filled(queue: &str, more: &str) -> String {
    format!(
        "duration = \"20s\"\nwarmup = \"5s\"\ninterval = \"1s\"\n\
         [link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\nreverse_rate = \"10Mbps\"\n\
         delay = \"10ms\"\nqueue = {queue}\n\
         reverse_queue = \"droptail\"\n[flows.f]\ncount = 2\ntcp = {{ ecn = \"off\" }}\n{more}"
    )
}

#[test]
fn what_is_not_given_inside_stays_in_a_change() {
    let queue = "{ kind = \"htb\", rate = \"10Mbps\", queue = { kind = \"codel\", buffer = \"1000 packets\", \
                 target = \"50ms\", interval = \"500ms\" } }";
    // Inside, what is not given stays as it was: another target, and still 1000 packets.
    let patient = "[change.c]\nlink = \"line\"\n\
                   queue = { kind = \"htb\", queue = { kind = \"codel\", target = \"5ms\" } }\nat = \"10s\"\n";
    let loaded = tailback_scenario::load_text(&filled(queue, patient), "lab.toml", &[]).unwrap();
    let tailback_sim::change::Values::Queue(next) = &loaded.spec.links[0].forward.changes[0].to else {
        panic!("no queue");
    };
    let inner = next[0].within("queue");
    let texts = ["target", "interval"].map(|name| inner.time(name).seconds());
    assert_eq!(
        (texts, inner.size("buffer")),
        ([0.005, 0.5], tailback_base::Size::Packets(1000))
    );
    run(&loaded.spec, 1, &Hooks::default()).unwrap();
}

/// A discipline from outside in a shaper: it is told the shaped rate, and handed over as one alone is.
#[test]
fn a_discipline_from_outside_stands_in_a_shaper() {
    let queue = "{ kind = \"htb\", rate = \"8Mbps\", queue = { kind = \"python\", class = \"lab.Mine\" } }";
    let slower = "[change.c]\nlink = \"line\"\nqueue = { kind = \"htb\", rate = \"4Mbps\" }\nat = \"12s\"\n";
    let loaded = load_text_with(outside::library(), &filled(queue, slower), "lab.toml", &[]).unwrap();
    let e = run(&loaded.spec, 1, &Hooks::default()).unwrap_err();
    assert!(e.problem.contains("the Python class lab.Mine"), "{e}");
    let make = |at: PortContext| -> Box<dyn QueueDiscipline<_>> {
        assert_eq!((at.port, at.context.rate), ("line", mbps(8)));
        Box::new(Fifo::new(tailback_base::Size::Packets(100), DropTail))
    };
    let mut hooks = Hooks::default();
    hooks.queues.insert("line".into(), &make);
    let o = run(&loaded.spec, 1, &hooks).unwrap();
    let t = &o["link_intervals"];
    let last = (0..t.rows())
        .filter(|i| number(t, "from_s", *i) == 18.0)
        .map(|i| number(t, "throughput_bps", i) / 1e6);
    near(last.fold(0.0, f64::max), 4.0, 0.1);
    let e = load_text_with(
        tailback_sim::library::Library::standard(),
        &filled(queue, ""),
        "lab.toml",
        &[],
    );
    let said = e.unwrap_err().to_string();
    assert!(said.contains("queues={\"line\": Mine}"), "{said}");
}

/// What looks at a port's queue looks through the shaper: the bound of memory.
#[test]
fn what_looks_at_a_port_sees_the_discipline_inside() {
    let of = |queue: &str| {
        let loaded = tailback_scenario::load_text(&filled(queue, ""), "lab.toml", &[]).unwrap();
        let all = tailback_scenario::memory::bound(&loaded.spec, outside::library());
        all.iter().map(|p| p.bytes as f64).sum::<f64>()
    };
    let slow = |queue: &str| of(&format!("{{ kind = \"htb\", rate = \"10Mbps\", queue = {queue} }}"));
    let alone = filled("{ kind = \"droptail\", buffer = \"50 packets\" }", "").replace("1Gbps", "10Mbps");
    let loaded = tailback_scenario::load_text(&alone, "lab.toml", &[]).unwrap();
    let alone: f64 = tailback_scenario::memory::bound(&loaded.spec, outside::library())
        .iter()
        .map(|p| p.bytes as f64)
        .sum();
    let shaped = slow("{ kind = \"droptail\", buffer = \"50 packets\" }");
    assert!(shaped < 1.5 * alone, "{shaped} for {alone}");
    assert!(slow("{ kind = \"cake\" }") > slow("{ kind = \"fq-codel\" }") + 500_000.0);
}

/// Every discipline inside a shaper, at whatever the line gives.
#[test]
fn every_discipline_survives_an_outage_inside_a_shaper() {
    let folder = std::env::temp_dir().join(format!("tailback-shapers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("trace"), "time_s,rate_mbps\n0,0\n1,8\n3,0\n4,8\n").unwrap();
    for model in registry::models() {
        let name = model.name;
        let rate = if Settings::defaults(model).missing().is_some() {
            ", rate = \"5Mbps\""
        } else {
            ""
        };
        let queue = format!("{{ kind = \"htb\", rate = \"4Mbps\", queue = {{ kind = \"{name}\"{rate} }} }}");
        let datagrams = "traffic = { kind = \"cbr\", rate = \"2Mbps\" }\npacket_size = \"1000B\"\n";
        let text = filled(&queue, "[change.t]\nlink = \"line\"\ntrace = \"trace\"\n")
            .replace("count = 2\ntcp = { ecn = \"off\" }\n", datagrams);
        let path = folder.join("lab.toml");
        std::fs::write(
            &path,
            format!(
                "marking = true\n{}",
                text.replace("20s", "8s").replace("5s\"\ninterval", "0s\"\ninterval")
            ),
        )
        .unwrap();
        let loaded = tailback_scenario::load_file(path, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let o = run(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(number(&o["intervals"], "goodput_wire_bps", 2) > 1e6, "{name}");
    }
    let _ = std::fs::remove_dir_all(folder);
}
