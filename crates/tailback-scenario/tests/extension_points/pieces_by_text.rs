//! A scheduler and a drop policy of a user's own, named in a scenario, and the parameters of those that tailback ships.
//!
//! Shows: `scheduler` and `policy` of the disciplines of several queues as models with parameters; what a
//! [`Scheduler`] and a [`DropPolicy`] have to do at least; a stream and a probe of theirs.

use crate::common::*;
use tailback_base::{Kind, Model, Packet, Param, ProbeDef, Stream};
use tailback_queue::Line;
use tailback_queue::pieces::drop::{DropPolicy, End, Eviction, PolicyEntry, Scene};
use tailback_queue::pieces::schedule::{Scheduler, SchedulerEntry, ServiceOrder, Turn};
use tailback_queue::pieces::store::{QueueId, Store};
use tailback_scenario::load_text_with;
use tailback_sim::library::Library;
use tailback_sim::results::outcome::Outcome;

static LOTTERY: Model = Model {
    name: "lottery",
    family: "scheduler",
    title: "Lottery",
    summary: "Draws whose turn it is.",
    source: "A toy",
    params: &[Param::new(
        "tickets",
        Kind::Real { min: 1.0, max: 1e3 },
        "1",
        "How many tickets the first queue has; the others have one.",
        "",
    )],
    probes: &[],
};

struct Lottery {
    tickets: f64,
    waiting: Vec<QueueId>,
    stream: Stream,
}

impl ServiceOrder for Lottery {}

impl<P: Packet> Scheduler<P> for Lottery {
    fn activate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.waiting.push(q);
    }
    fn next(&mut self, _store: &Store<P>, _line: &Line) -> Turn {
        let first = self.waiting.iter().position(|q| *q == 0);
        let others = (self.waiting.len() - usize::from(first.is_some())) as f64;
        if first.is_some() && self.stream.chance(self.tickets / (self.tickets + others)) {
            return Turn::Queue(0);
        }
        let others: Vec<QueueId> = self.waiting.iter().copied().filter(|q| *q != 0).collect();
        match others.len() {
            0 => Turn::of(self.waiting.first().copied()),
            n => Turn::Queue(others[self.stream.below(n as u64) as usize]),
        }
    }
    fn deactivate(&mut self, q: QueueId, _store: &Store<P>, _line: &Line) {
        self.waiting.retain(|w| *w != q);
    }
}

static SCAPEGOAT: Model = Model {
    name: "scapegoat",
    family: "policy",
    title: "Scapegoat",
    summary: "One queue pays for all.",
    source: "A toy",
    params: &[Param::new(
        "queue",
        Kind::Count { min: 0, max: 9 },
        "0",
        "Which one.",
        "",
    )],
    probes: &[ProbeDef {
        name: "paid",
        unit: "packets",
        doc: "Packets it has given up.",
        per: "",
    }],
};

struct Scapegoat {
    queue: QueueId,
    paid: u64,
}

impl<P: Packet> DropPolicy<P> for Scapegoat {
    fn evict(&mut self, _newcomer: QueueId, _scene: &mut Scene<P>) -> Option<Eviction> {
        Some(Eviction::one(self.queue, End::Front))
    }
    fn after_evict(&mut self, _q: QueueId, _p: &P, _scene: &mut Scene<P>) {
        self.paid += 1;
    }
    fn probes(&self) -> &'static [ProbeDef] {
        SCAPEGOAT.probes
    }
    fn read(&self, _probe: usize, _index: u32) -> f64 {
        self.paid as f64
    }
}

fn library() -> Library {
    let mut library = Library::standard().clone();
    library.add(SchedulerEntry {
        model: &LOTTERY,
        build: |s, context| {
            Ok(Box::new(Lottery {
                tickets: s.real("tickets"),
                waiting: vec![],
                stream: context.stream,
            }))
        },
    });
    library.add(PolicyEntry {
        model: &SCAPEGOAT,
        build: |s, _buffer, _context| {
            Ok(Box::new(Scapegoat {
                queue: s.count("queue") as QueueId,
                paid: 0,
            }))
        },
    });
    library
}

/// Three flows of 4 Mbit/s each at 8 Mbit/s. They begin one after another, and their queues have the numbers 0, 1, 2.
fn scenario(queue: &str) -> String {
    let mut text = format!(
        "duration = \"5s\"\n[link.ab]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"5ms\"\nqueue = {queue}\n"
    );
    for (i, name) in ["first", "second", "third"].iter().enumerate() {
        text += &format!(
            "[flows.{name}]\nfrom = \"a\"\nto = \"b\"\nstart = \"{i}0ms\"\ntransport = \"udp\"\npacket_size = \
             \"1000B\"\n\
             traffic = {{ kind = \"poisson\", rate = \"4Mbps\" }}\n"
        );
    }
    text
}

fn result(queue: &str) -> Outcome {
    run_with(&library(), &scenario(queue))
}

fn refusal(queue: &str) -> String {
    load_text_with(&library(), &scenario(queue), "pieces.toml", &[])
        .unwrap_err()
        .to_string()
}

fn delivered(o: &Outcome) -> Vec<f64> {
    ["first.0", "second.0", "third.0"]
        .map(|f| of(&o["flows"], f, "goodput_bps"))
        .to_vec()
}

#[test]
fn a_scheduler_of_one_s_own_stands_below_any_policy() {
    for policy in ["drr", "qsdrr", "dtdrr"] {
        let with = |scheduler: &str| {
            delivered(&result(&format!(
                "{{ kind = \"{policy}\", buffer = \"60 packets\", scheduler = {scheduler} }}"
            )))
        };
        let (fair, biased) = (with("\"lottery\""), with("{ kind = \"lottery\", tickets = 8 }"));
        assert!(fair[0] < 3.1e6, "{policy}: {fair:?}");
        assert!(biased[0] > 3.8e6 && biased[1] < 2.4e6, "{policy}: {biased:?}");
    }
}

#[test]
fn a_drop_policy_of_one_s_own_stands_above_any_scheduler() {
    for scheduler in ["wdrr", "scfq", "wf2q-plus", "wf2q"] {
        for pays in 0..3 {
            let queue = format!(
                "{{ kind = \"{scheduler}\", buffer = \"60 packets\", policy = {{ kind = \"scapegoat\", queue = {pays} \
                 }} }}\n\
                 [record.ab]\nlink = \"ab\"\nprobes = [\"paid\", \"evicted_bytes\"]\nevery = \"1s\""
            );
            let o = result(&queue);
            let rates = delivered(&o);
            let most = rates.iter().copied().fold(0.0, f64::max);
            let lost = |i: usize| of(&o["flows"], ["first.0", "second.0", "third.0"][i], "dropped_packets");
            assert!(
                rates[pays] < 0.8 * most && lost(pays) > 100.0,
                "{scheduler} {pays}: {rates:?}"
            );
            let paid = last(&o, "paid");
            assert_eq!(1000.0 * paid, last(&o, "evicted_bytes"), "{scheduler} {pays}");
            assert!(paid > 10.0, "{scheduler} {pays}: {paid}");
        }
    }
}

#[test]
fn parameters_of_pieces_are_theirs_and_the_short_form_goes_on() {
    let drr = |more: &str| {
        delivered(&result(&format!(
            "{{ kind = \"tdrr\", buffer = \"60 packets\"{more} }}"
        )))
    };
    let short = drr(", quantum = \"4000B\"");
    assert_eq!(short, drr(", scheduler = { kind = \"drr\", quantum = \"4000B\" }"));
    assert_eq!(short, drr(", scheduler = \"drr\", quantum = \"4000B\""));
    assert_ne!(short, drr(""));
    let scfq = |policy: &str| {
        delivered(&result(&format!(
            "{{ kind = \"scfq\", buffer = \"60 packets\", policy = {policy} }}"
        )))
    };
    assert_eq!(scfq("\"dtdrr\""), scfq("{ kind = \"dtdrr\", alpha = 2 }"));
    let refused = |policy: &str| {
        let o = result(&format!(
            "{{ kind = \"scfq\", buffer = \"60 packets\", policy = {policy} }}"
        ));
        lost(&o, "ab", "refused")
    };
    assert!(refused("{ kind = \"dtdrr\", alpha = 0.1 }") > refused("\"dtdrr\""));
}

#[test]
fn a_message_about_a_piece_names_its_path() {
    for (queue, path, words) in [
        (
            "{ kind = \"drr\", scheduler = \"dr\" }",
            "link.ab.queue.scheduler",
            "drr",
        ),
        (
            "{ kind = \"drr\", scheduler = { kind = \"drr\", quanta = \"1500B\" } }",
            "link.ab.queue.scheduler.quanta",
            "quantum",
        ),
        (
            "{ kind = \"drr\", quantum = \"2000B\", scheduler = { kind = \"drr\", quantum = \"1500B\" } }",
            "link.ab.queue.scheduler.quantum",
            "1500B",
        ),
        (
            "{ kind = \"scfq\", policy = { kind = \"tdrr\", theta = \"1s\" } }",
            "link.ab.queue.policy",
            "theta",
        ),
        (
            "{ kind = \"drr\", aqm = { kind = \"codel\", target = \"1s\" } }",
            "link.ab.queue.aqm",
            "interval",
        ),
    ] {
        let e = refusal(queue);
        assert!(e.contains(path) && e.contains(words), "{queue}: {e}");
        assert!(e.contains("pieces.toml:7:"), "{queue}: {e}");
    }
}
