//! Runs that could not end. A model that asks for the same instant for ever is refused by name, and a request to stop a
//! run is answered soon.

use std::cell::Cell;
use tailback_base::work::SLICE;
use tailback_base::{Duration, ProbeDef};
use tailback_plan::execute::thread_cpu_seconds;
use tailback_queue::{Backlog, Line, Out, ProbeId, QueueDiscipline, Service};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::{Hooks, PortContext, QueueMaker};
use tailback_sim::run::run;
use tailback_sim::wire::packet::SimPacket;

/// A scenario with a queue that reads probes by index.
fn scenario(queue: &str, more: &str) -> tailback_sim::spec::Spec {
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
    let make = move |_: PortContext| -> Box<dyn QueueDiscipline<SimPacket>> { Box::new(Bad { waits, held: vec![] }) };
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
        e.contains("the queue at bottleneck waits for an instant that is not later than now"),
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

/// A hundredth of this run takes longer than a user who presses a key wants to wait.
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

/// How long a run goes on after it was told to stop, CPU seconds. It is told as soon as it has used `patience`.
fn late(text: &str, patience: f64) -> f64 {
    let loaded = load_text(text, "endings.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let began = thread_cpu_seconds();
    let goes_on = |_: f64| thread_cpu_seconds() - began < patience;
    let hooks = Hooks {
        progress: Some(&goes_on),
        ..Hooks::default()
    };
    let refused = run(&loaded.spec, 1, &hooks).err().map(|e| e.to_string());
    assert!(refused.is_some_and(|e| e.contains("interrupted")), "it was over before");
    thread_cpu_seconds() - began - patience
}

/// A line of 1 Gb/s with this queue, and a recording of it on each change.
fn recorded(queue: &str, probe: &str, flows: &str) -> String {
    format!(
        "duration = \"10s\"\n\
         topology = {{ kind = \"dumbbell\", rate = \"1Gbps\", delay = \"1ms\", queue = {{ {queue} }} }}\n\
         [flows.f]\n{flows}\n\
         [record.r]\nlink = \"bottleneck\"\nprobes = \"{probe}\"\non_change = true\n"
    )
}

/// The window leaves in one event, and each of its packets makes the recording look at every queue.
#[test]
fn a_run_is_asked_inside_a_window_that_leaves_at_once() {
    let text = recorded(
        "kind = \"drr\", mapper = \"hash\", queues = 4000, buffer = \"300000 packets\"",
        "queue_packets",
        "transport = { kind = \"generic\", wmax = 220698 }",
    );
    let late = late(&text, 0.2);
    assert!(late < 0.3, "{late:.2} s");
}

/// A probe that is one number may look at every queue.
#[test]
fn a_run_is_asked_inside_what_a_probe_looks_at() {
    let text = recorded(
        "kind = \"drr\", mapper = \"hash\", queues = 1000000",
        "flow_ratio",
        "count = 10",
    );
    let late = late(&text, 0.2);
    assert!(late < 0.3, "{late:.2} s");
}

/// Each of a hundred edges tells all others every 1.75 ms, over paths of a tenth of a second: 10^5 messages are under
/// way, and each takes a place among them.
#[test]
fn a_run_is_asked_while_many_messages_between_edges_are_under_way() {
    let text = "duration = \"80ms\"\n\
                topology = { kind = \"dumbbell\", rate = \"10Mbps\", delay = \"50ms\", queue = \"droptail\" }\n\
                [flows.f]\ncount = 100\naccess_rate = \"100Mbps\"\naccess_delay = [\"43ms\", \"13ms\", \"103ms\"]\n\
                conditioner = { kind = \"edge\", marker = { kind = \"target-aware\", target = \"1bps\", \
                interval = \"1752us\" }, others = \"pass\" }\n";
    let (longest, _) = between_questions(text);
    assert!(longest < 0.3, "{longest:.2} s");
}

/// The longest time between two questions, CPU seconds, and how many there were before the first event, on the way, and
/// while the tables were made.
fn between_questions(text: &str) -> (f64, [u32; 3]) {
    let loaded = load_text(text, "endings.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let (last, longest) = (Cell::new(thread_cpu_seconds()), Cell::new(0.0f64));
    let asked = Cell::new([0; 3]);
    let goes_on = |share: f64| {
        let now = thread_cpu_seconds();
        longest.set(longest.get().max(now - last.replace(now)));
        let mut counts = asked.get();
        counts[if share == 0.0 { 0 } else { 1 + usize::from(share >= 1.0) }] += 1;
        asked.set(counts);
        true
    };
    let hooks = Hooks {
        progress: Some(&goes_on),
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
    (longest.get(), asked.get())
}

/// `TAILBACK_FLOWS=1000000` takes this many flows instead of 100,000.
#[test]
fn a_run_of_many_flows_is_asked_while_it_is_built_driven_and_read() {
    let flows = std::env::var("TAILBACK_FLOWS").map_or(100_000, |n| n.parse::<usize>().expect("a number"));
    let text = format!(
        "duration = \"1s\"\nwarmup = \"50ms\"\ninterval = \"400ms\"\n\
         topology = {{ kind = \"dumbbell\", rate = \"100Gbps\", delay = \"1ms\", \
         queue = {{ kind = \"droptail\", buffer = \"unlimited\" }} }}\n\
         [flows.f]\ncount = {flows}\naccess_rate = \"10Mbps\"\nrtt = \"10ms\"\nstart = \"100ms\"\nstop = \"101ms\"\n\
         traffic = {{ kind = \"cbr\", rate = \"1Mbps\" }}\n"
    );
    let (longest, [built, _, read]) = between_questions(&text);
    println!("{flows} flows: at most {longest:.3} s between two questions");
    assert!(longest < 0.3, "{longest:.2} s");
    // Each is described and numbered, with two links of its own, 256 units each; a row of the table of flows has 128.
    let questions = |units: usize| (flows * units / SLICE) as u32;
    assert!(built >= questions(4 * 256) && read >= questions(128), "{built} {read}");
}
