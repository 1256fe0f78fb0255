//! Shapers around disciplines, from a scenario file: what leaves is held to the rate, what is inside acts, changes and
//! is read, and a discipline from outside may stand there.

use crate::common::*;
use tailback_base::Settings;
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_queue::{QueueDiscipline, registry};
use tailback_scenario::load_text_with;
use tailback_sim::build::hooks::{Hooks, PortContext};
use tailback_sim::library::outside;
use tailback_sim::results::outcome::Outcome;
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

/// 1500 B with 22 more, and 24 for the frames: 1546 on the line. A byte more in 65 is 64/65 of the rate.
#[test]
fn a_home_line_carries_what_its_framing_leaves() {
    let line = |queue: &str| number(&run_text(&filled(queue, ""))["links"], "throughput_bps", 0) / 1e6;
    let inner = "{ kind = \"droptail\", buffer = \"625kB\" }";
    let ptm = line(&format!(
        "{{ kind = \"htb\", rate = \"20Mbps\", framing = \"ptm\", overhead = \"22B\", queue = {inner} }}"
    ));
    near(ptm, 20.0 * 1500.0 / 1546.0, 0.02);
    let scaled = line(&format!(
        "{{ kind = \"htb\", rate = \"19.6923Mbps\", overhead = \"22B\", queue = {inner} }}"
    ));
    near(scaled, ptm, 0.01);
}

/// The modem behind a slower shaper holds at most the packets that a bucket lets go together.
#[test]
fn before_a_modem_a_slower_shaper_keeps_the_queue() {
    let o = run_text(
        "duration = \"20s\"\nwarmup = \"5s\"\n\
         [link.shaper]\nfrom = \"pc\"\nto = \"modem\"\nrate = \"1Gbps\"\ndelay = \"0s\"\n\
         queue = { kind = \"htb\", rate = \"19Mbps\", queue = { kind = \"droptail\", buffer = \"200 packets\" } }\n\
         reverse_queue = \"droptail\"\n\
         [link.modem]\nfrom = \"modem\"\nto = \"net\"\nrate = \"1Gbps\"\ndelay = \"10ms\"\n\
         queue = { kind = \"htb\", rate = \"20Mbps\", queue = { kind = \"droptail\", buffer = \"625kB\" } }\n\
         reverse_queue = \"droptail\"\n[flows.f]\nfrom = \"pc\"\nto = \"net\"\ncount = 4\n\
         [record.q]\nlink = \"modem\"\nprobes = [\"queue\"]\nevery = \"1ms\"\n",
    );
    let t = &o["series"];
    let most = (0..t.rows()).map(|i| number(t, "value", i)).fold(0.0, f64::max);
    assert!(most <= 3.0, "{most} packets in the modem");
    near(number(&o["links"], "throughput_bps", 0) / 1e6, 19.0, 0.1);
}

#[test]
fn rate_and_the_discipline_inside_change_in_a_run() {
    let queue = "{ kind = \"htb\", rate = \"10Mbps\", queue = { kind = \"codel\", buffer = \"1000 packets\", \
                 target = \"50ms\", interval = \"500ms\" } }";
    let slower = "[change.c]\nlink = \"line\"\nqueue = { kind = \"htb\", rate = \"5Mbps\" }\nat = \"12s\"\n";
    let o = run_text(&filled(queue, slower));
    let t = &o["link_intervals"];
    let mbps = |second: f64| {
        let row = (0..t.rows()).find(|i| number(t, "from_s", *i) == second);
        number(t, "throughput_bps", row.unwrap()) / 1e6
    };
    near(mbps(10.0), 10.0, 0.2);
    near(mbps(18.0), 5.0, 0.1);
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
    let other = "[change.c]\nlink = \"line\"\nqueue = { kind = \"htb\", queue = \"pie\" }\nat = \"10s\"\n";
    let e = tailback_scenario::load_text(&filled(queue, other), "lab.toml", &[]).unwrap_err();
    assert!(e.to_string().contains("names other models"), "{e}");
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

/// What looks at a port's queue looks through the shaper: the bound of memory, and what is said of targets.
#[test]
fn what_looks_at_a_port_sees_the_discipline_inside() {
    let of = |queue: &str| {
        let loaded = tailback_scenario::load_text(&filled(queue, ""), "lab.toml", &[]).unwrap();
        let all = tailback_scenario::memory::bound(&loaded.spec, outside::library());
        (all.iter().map(|p| p.bytes as f64).sum::<f64>(), loaded.warnings)
    };
    let slow = |queue: &str| of(&format!("{{ kind = \"htb\", rate = \"10Mbps\", queue = {queue} }}"));
    let alone = filled("{ kind = \"droptail\", buffer = \"50 packets\" }", "").replace("1Gbps", "10Mbps");
    let loaded = tailback_scenario::load_text(&alone, "lab.toml", &[]).unwrap();
    let alone: f64 = tailback_scenario::memory::bound(&loaded.spec, outside::library())
        .iter()
        .map(|p| p.bytes as f64)
        .sum();
    let shaped = slow("{ kind = \"droptail\", buffer = \"50 packets\" }").0;
    assert!(shaped < 1.5 * alone, "{shaped} for {alone}");
    assert!(slow("{ kind = \"cake\" }").0 > slow("{ kind = \"fq-codel\" }").0 + 500_000.0);
    // 20 packets leave 10 Mb/s in 24 ms, and the line in 0.24.
    let (_, said) = slow("{ kind = \"codel\", buffer = \"20 packets\", target = \"30ms\" }");
    assert!(
        said.iter().any(|w| w.contains("target = \"30ms\" is never reached")),
        "{said:?}"
    );
    let (_, said) = slow("{ kind = \"codel\", buffer = \"20 packets\", target = \"20ms\" }");
    assert!(said.is_empty(), "{said:?}");
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

/// A line of 100 Mb/s down and 1 Mb/s up, each behind its shaper, with an upload and a download.
fn asymmetric(filter: &str) -> Outcome {
    run_text(&format!(
        "duration = \"30s\"\nwarmup = \"10s\"\nmarking = false\n\
         [link.line]\nfrom = \"net\"\nto = \"home\"\nrate = \"100Mbps\"\nreverse_rate = \"100Mbps\"\ndelay = \"10ms\"\n\
         queue = {{ kind = \"cake\", rate = \"95Mbps\" }}\n\
         reverse_queue = {{ kind = \"cake\", rate = \"1Mbps\", ack_filter = \"{filter}\" }}\n\
         [flows.down]\nfrom = \"net\"\nto = \"home\"\ntcp = {{ ecn = \"off\" }}\n\
         [flows.up]\nfrom = \"home\"\nto = \"net\"\ntcp = {{ ecn = \"off\" }}\n"
    ))
}

/// A few of the ACKs of the download do for all of them, and the upload has its half as before.
#[test]
fn filtered_acks_leave_the_narrow_direction_to_the_upload() {
    let of = |filter| {
        let o = asymmetric(filter);
        let groups = &o["groups"];
        let [down, up] = [0, 1].map(|i| number(groups, "goodput_bps_sum", i) / 1e6);
        let losses = &o["losses"];
        let filtered: f64 = (0..losses.rows())
            .filter(|i| text(losses, "reason", *i) == "filtered")
            .map(|i| number(losses, "packets", i))
            .sum();
        (down, up, filtered)
    };
    let (off, conservative, aggressive) = (of("off"), of("conservative"), of("aggressive"));
    assert_eq!(off.2, 0.0);
    for (down, up, filtered) in [conservative, aggressive] {
        assert!(filtered > 1000.0, "{filtered}");
        // Without it the download has the goodput that half of the narrow direction acknowledges, 53 Mb/s; then 81.
        assert!(
            down > 1.4 * off.0 && up >= 0.99 * off.1,
            "{down} for {}, {up} for {}",
            off.0,
            off.1
        );
    }
}
