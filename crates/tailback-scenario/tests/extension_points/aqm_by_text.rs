//! An AQM on each queue behind a scheduler, and one before another, named in a scenario.
//!
//! Shows: the parameter `aqm` of every discipline of several queues; the parameter `before` of every discipline; an AQM
//! of a user's own, with parameters and a probe, that a [`Library`] is given.

use crate::common::*;
use tailback_base::{Kind, Model, Packet, Param, ProbeDef};
use tailback_queue::admission::{Admission, Decision, Exit, Waiting};
use tailback_queue::row::AqmEntry;
use tailback_queue::{Backlog, DropReason, Line, Out, ProbeId};
use tailback_scenario::load_text_with;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::Library;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::run::run;

/// Three flows that overload 8 Mbit/s for five seconds: one sends 10 Mbit/s, the others 1 Mbit/s each.
fn scenario(queue: &str) -> String {
    let flow = |name: &str, rate: &str| {
        format!(
            "[flows.{name}]\nfrom = \"a\"\nto = \"b\"\n\
             traffic = {{ kind = \"poisson\", rate = \"{rate}\" }}\ntransport = \"udp\"\npacket_size = \"1000B\"\n"
        )
    };
    format!(
        "duration = \"5s\"\n[link.ab]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"5ms\"\nqueue = \
         {queue}\n{}{}{}",
        flow("greedy", "10Mbps"),
        flow("calm", "1Mbps"),
        flow("other", "1Mbps")
    )
}

fn result_with(library: &Library, queue: &str) -> Outcome {
    let loaded = load_text_with(library, &scenario(queue), "aqm.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let hooks = Hooks {
        library: Some(library),
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"))
}

fn result(queue: &str) -> Outcome {
    result_with(Library::standard(), queue)
}

#[test]
fn codel_acts_on_each_queue_behind_any_scheduler() {
    let codel = "aqm = { kind = \"codel\", target = \"5ms\" }";
    for scheduler in [
        "kind = \"drr\"",
        "kind = \"drr\", mapper = \"hash\", hash_key = \"tuple\", queues = 64",
        "kind = \"wf2q-plus\"",
        "kind = \"fq\", conversation = \"tuple\"",
    ] {
        let plain = result(&format!("{{ {scheduler}, buffer = \"400 packets\" }}"));
        let with = result(&format!("{{ {scheduler}, buffer = \"400 packets\", {codel} }}"));
        assert_eq!(lost(&plain, "ab", "sojourn"), 0.0, "{scheduler}");
        assert!(lost(&with, "ab", "sojourn") > 50.0, "{scheduler}");
        // Only the flow that stands in its queue pays: the calm ones lose nothing and wait no longer than before.
        let dropped = |name: &str| of(&with["flows"], &format!("{name}.0"), "dropped_packets");
        assert!(dropped("greedy") > 50.0, "{scheduler}");
        assert_eq!((dropped("calm"), dropped("other")), (0.0, 0.0), "{scheduler}");
        let mean = |o: &Outcome| of(&o["links"], "ab", "mean_queue_packets");
        assert!(mean(&with) < mean(&plain), "{scheduler}");
    }
}

static MODEL: Model = Model {
    name: "every-nth-above",
    family: "aqm",
    title: "Every nth above",
    summary: "Drops every nth packet while the AQM behind finds its queue congested.",
    source: "A toy",
    params: &[Param::new(
        "n",
        Kind::Count { min: 1, max: 1000 },
        "10",
        "Which one goes.",
        "",
    )],
    probes: &[ProbeDef {
        name: "seen",
        unit: "packets",
        doc: "Packets that came while the queue was congested.",
        per: "",
    }],
};

/// A prefilter: counts arrivals while RED behind it is above its lower threshold, and what RED drops.
struct EveryNth {
    n: u64,
    seen: u64,
    early: Log<DropReason>,
}

impl<P: Packet> Admission<P> for EveryNth {
    fn admit(&mut self, _p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) -> Decision {
        if queue.congestion().is_some_and(|c| c.average >= c.threshold) {
            self.seen += 1;
            if self.seen.is_multiple_of(self.n) {
                return Decision::Drop(DropReason::Penalty);
            }
        }
        Decision::Store
    }
    fn left(&mut self, _p: &P, how: Exit, _rest: Backlog, _line: &Line) {
        if let Exit::Dropped(_, why) = how {
            self.early.borrow_mut().push(why);
        }
    }
    fn probes(&self) -> &[ProbeDef] {
        MODEL.probes
    }
    fn read(&self, _probe: ProbeId, _index: u32) -> f64 {
        self.seen as f64
    }
}

thread_local! {
    /// What RED dropped behind the toy.
    static EARLY: Log<DropReason> = log();
}

#[test]
fn a_prefilter_with_a_parameter_stands_before_red() {
    let mut library = Library::standard().clone();
    library.add(AqmEntry {
        model: &MODEL,
        build: |s, _| {
            Ok(Box::new(EveryNth {
                n: s.count("n"),
                seen: 0,
                early: EARLY.with(Log::clone),
            }))
        },
    });
    let red = |before: &str| format!("{{ kind = \"red\", buffer = \"100 packets\"{before} }}");
    let alone = result_with(&library, &red(""));
    let with = |n: u32| {
        result_with(
            &library,
            &red(&format!(", before = [{{ kind = \"every-nth-above\", n = {n} }}]")),
        )
    };
    assert_eq!(lost(&alone, "ab", "penalty"), 0.0);
    let (often, seldom) = (with(2), with(50));
    assert!(lost(&often, "ab", "penalty") > 5.0 * lost(&seldom, "ab", "penalty"));
    assert!(lost(&seldom, "ab", "penalty") > 10.0);
    // RED still acts, and less the more the prefilter takes; the prefilter is told of every packet RED drops.
    let early = |o: &Outcome| lost(o, "ab", "early") + lost(o, "ab", "forced");
    assert!(early(&often) < early(&seldom) && early(&seldom) < early(&alone));
    let told = EARLY.with(|e| e.borrow().iter().filter(|w| **w != DropReason::Overflow).count());
    assert_eq!(told as f64, early(&often) + early(&seldom));
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    for (queue, words) in [
        ("{ kind = \"red\", aqm = \"codel\" }", "aqm"),
        (
            "{ kind = \"drr\", aqm = { kind = \"codel\", buffer = \"9 packets\" } }",
            "buffer",
        ),
        (
            "{ kind = \"drr\", aqm = { kind = \"codel\", target = \"1s\" } }",
            "interval",
        ),
        ("{ kind = \"drr\", aqm = \"codl\" }", "codel"),
    ] {
        let e = load_text_with(Library::standard(), &scenario(queue), "aqm.toml", &[]).unwrap_err();
        assert!(e.to_string().contains(words), "{queue}: {e}");
    }
}
