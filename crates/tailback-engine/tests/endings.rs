//! Runs that could not end: what asks for the same instant for ever is refused by name, and whoever asks a run to stop is
//! heard soon.

use std::cell::Cell;
use tailback_base::{Duration, ProbeDef};
use tailback_engine::packet::SimPacket;
use tailback_engine::run::{Hooks, QueueMaker, run};
use tailback_engine::scenario::load_text;
use tailback_queue::{Backlog, BuildContext, Line, Out, ProbeId, QueueDiscipline, Service};

/// A scenario with a queue that reads probes by index.
fn scenario(queue: &str, more: &str) -> tailback_engine::spec::Spec {
    let text = format!(
        "duration = \"2s\"\n\
         topology = {{ kind = \"dumbbell\", rate = \"10Mbps\", delay = \"10ms\", queue = \"{queue}\" }}\n\
         [flows.f]\ncount = 3\n{more}"
    );
    load_text(&text, "endings.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"))
        .spec
}

#[test]
fn a_sample_of_an_indexed_probe_has_as_many_points_as_there_are_queues() {
    for (queue, probe) in [("decsel", "demand"), ("tdrr", "queue_rate")] {
        let record = format!("[record.r]\nlink = \"bottleneck\"\nprobes = \"{probe}\"\nevery = \"1s\"\n");
        let outcome = run(&scenario(queue, &record), 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
        let rows = outcome["series"].rows();
        assert!(
            (3..=9).contains(&rows),
            "{queue}: {rows} rows, of three samples (the run's first and last instant too) of at most three flows"
        );
    }
}

/// Holds everything, and misbehaves.
struct Bad {
    waits: bool,
    held: Vec<SimPacket>,
}

const EVERYWHERE: [ProbeDef; 2] = [
    ProbeDef {
        name: "average",
        unit: "packets",
        doc: "As decsel's.",
        per: "",
    },
    ProbeDef {
        name: "demand",
        unit: "packets",
        doc: "One, at every index.",
        per: "conversation",
    },
];

impl QueueDiscipline<SimPacket> for Bad {
    fn enqueue(&mut self, p: SimPacket, _line: &Line, _out: &mut dyn Out<SimPacket>) {
        self.held.push(p);
    }
    fn dequeue(&mut self, line: &Line, _out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        match self.waits {
            true => Service::Wait(line.now),
            false => self.held.pop().map_or(Service::Empty, Service::Send),
        }
    }
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.held.len() as u64,
            bytes: 0,
        }
    }
    fn probes(&self) -> &[ProbeDef] {
        &EVERYWHERE
    }
    fn read(&self, _probe: ProbeId, _index: u32) -> f64 {
        1.0
    }
}

/// Why a run with a bad queue at the bottleneck failed.
fn failure(waits: bool, record: &str) -> String {
    let make = move |_: &str, _: BuildContext| -> Box<dyn QueueDiscipline<SimPacket>> {
        Box::new(Bad { waits, held: vec![] })
    };
    let maker: QueueMaker = &make;
    let hooks = Hooks {
        queues: [("bottleneck".to_string(), maker)].into(),
        ..Hooks::default()
    };
    match run(&scenario("decsel", record), 1, &hooks) {
        Ok(_) => panic!("it ran"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn a_discipline_that_waits_for_the_present_instant_is_refused_by_name() {
    let e = failure(true, "");
    assert!(
        e.contains("the queue at bottleneck waits for an instant that has come already"),
        "{e}"
    );
}

#[test]
fn a_probe_without_an_end_is_refused_by_name() {
    let e = failure(
        false,
        "[record.r]\nlink = \"bottleneck\"\nprobes = \"demand\"\nevery = \"1s\"\n",
    );
    assert!(
        e.contains("the queue at bottleneck has a value of the probe \"demand\" at every index"),
        "{e}"
    );
}

/// A hundredth of this run is more than whoever presses a key wants to wait for.
#[test]
fn a_run_is_asked_whether_to_go_on_after_some_events_not_after_a_part_of_it() {
    let mut spec = scenario("droptail", "");
    spec.duration = Duration::from_millis(100_000_000);
    let asked = Cell::new(None);
    let stop = |share: f64| {
        asked.set(Some(share));
        false
    };
    let hooks = Hooks {
        progress: Some(&stop),
        ..Hooks::default()
    };
    let refused = run(&spec, 1, &hooks).err().map(|e| e.to_string());
    assert!(refused.is_some_and(|e| e.contains("interrupted")));
    let share = asked.get().unwrap_or(1.0);
    assert!(share < 0.002, "first asked when {share} of the run was over");
}

/// How often a run is asked whether to go on before its first event, on the way, and for its tables.
fn asked(flows: &str) -> [u32; 3] {
    let text = format!(
        "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
         queue = {{ kind = \"droptail\", buffer = \"100 packets\" }}\n[flows.f]\n{flows}\n"
    );
    let loaded = load_text(&text, "endings.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let counts = std::cell::Cell::new([0u32; 3]);
    let progress = |share: f64| {
        let mut now = counts.get();
        now[if share == 0.0 { 0 } else { 1 + usize::from(share >= 1.0) }] += 1;
        counts.set(now);
        true
    };
    let hooks = Hooks {
        progress: Some(&progress),
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
    counts.get()
}

#[test]
fn a_run_is_asked_whether_to_go_on_while_it_is_built_and_read() {
    let many = "count = 20000\naccess_rate = \"1Mbps\"\nstop = \"2ms\"\ntraffic = { kind = \"cbr\", rate = \"1Mbps\" }";
    let [built, _, read] = asked(many);
    // Flows twice (described, and numbered) and the two ports of each, every 4096; a question for each table.
    assert!(built >= 2 * 4 + 9 && read >= 8, "{built} {read}");
}
