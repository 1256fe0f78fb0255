//! The ports a scenario can name, put together from their pieces.
//!
//! Each model is declared beside the piece that gives it its name (`drr` in `longest.rs`, `tdrr` in `throughput.rs`,
//! `qsdrr` in `sticky.rs`, `scfq` in `scfq.rs`, ...); here are the parameters they share, and how they are built. Any policy
//! runs above any scheduler: a discipline named after its policy has a parameter `scheduler`, one named after its scheduler a
//! parameter `policy`. What is not the default of its kind is boxed; plain DRR below any policy, and each scheduler, are
//! compiled into their ports. The mapper is boxed everywhere.

use super::bloom::params as bloom;
use super::discard::{self, Discard, Limit};
use super::drr::{self, Drr};
use super::hash::{ByHash, Hashed};
use super::length_index::Tie;
use super::longest::{self, Longest};
use super::per_flow::{Even, PerFlow, QUEUE_FLOW};
use super::pieces::{Classifier, DropPolicy, Scheduler};
use super::port::{BACKLOGGED, EVICTED_BYTES, EVICTED_SHARE, Port, QUEUE_BYTES, QUEUE_PACKETS};
use super::rate_estimate::{Clocked, PerArrival, PerService};
use super::scfq::{self, Scfq};
use super::sticky::{self, Sticky};
use super::store::Unit;
use super::threshold::{self, Threshold};
use super::throughput::{self, Throughput};
use super::wf2q::{self, Wf2q};
use super::wf2q_plus::{self, Wf2qPlus};
use crate::discipline::QueueDiscipline;
use crate::registry::Place;
use tailback_base::quantity::Refusal;
use tailback_base::{KeyField, Kind, Model, Packet, Param, ProbeDef, Settings, Stream};

/// The parameters of a port: the model's own, those of the mapper, and what comes last.
macro_rules! port_params {
    ($($own:expr),* ; $($last:expr),* $(,)?) => {{
        use $crate::multiqueue::bloom::params as bloom;
        use $crate::multiqueue::models::{BUFFER, HASH_KEY, MAPPER, QUEUES, SCHEDULER};
        &[
            BUFFER,
            SCHEDULER,
            $($own,)*
            MAPPER,
            QUEUES,
            HASH_KEY,
            bloom::GROUPS,
            bloom::GROUP_FLOWS,
            bloom::FILTER_BITS,
            bloom::HASH_FUNCTIONS,
            bloom::COUNTER_BITS,
            bloom::FILTER_PERIOD,
            bloom::SETTLE,
            bloom::BALANCE,
            bloom::BALANCE_THRESHOLD,
            bloom::LIVE_COUNTS,
            bloom::REPICK,
            bloom::NO_WORSE,
            bloom::LARGEST_FIRST,
            bloom::PB_COUNTS,
            $($last,)*
        ]
    }};
}

/// The probes of a port: those of every port and mapper, and the model's own.
macro_rules! port_probes {
    ($($own:expr),* $(,)?) => {{
        use $crate::multiqueue::{bloom, occupancy, per_flow, port};
        &[
            port::BACKLOGGED,
            port::QUEUE_PACKETS,
            port::QUEUE_BYTES,
            port::EVICTED_BYTES,
            port::EVICTED_SHARE,
            per_flow::QUEUE_FLOW,
            occupancy::FLOW_RATIO,
            occupancy::QUEUE_FLOWS,
            bloom::MOVES,
            $($own,)*
        ]
    }};
}
pub(super) use {port_params, port_probes};

/// The models of this module.
pub static MODELS: [&Model; 5] = [
    &longest::MODEL,
    &throughput::MODEL,
    &sticky::MODEL,
    &threshold::MODEL,
    &discard::MODEL,
];

pub const BUFFER: Param = Param::new(
    "buffer",
    Kind::Size,
    "1000 packets",
    "How much may wait in all queues together.",
    "tailback",
);

pub const MAPPER: Param = Param::new(
    "mapper",
    Kind::Choice(&["per_flow", "even", "hash", "bloom"]),
    "per_flow",
    "Which flows share a queue: none; flows dealt out in turn to `queues` queues; those whose key has the same hash; those \
     whose key is in a group of the same queue.",
    "thesis chapter 5",
);

pub const QUEUES: Param = Param::new(
    "queues",
    Kind::Count { min: 1, max: 1_000_000 },
    "none",
    "How many queues there are, for every mapper but \"per_flow\".",
    "",
);

pub const HASH_KEY: Param = Param::new(
    "hash_key",
    Kind::Choice(&["destination", "source", "pair", "tuple", "label"]),
    "destination",
    "What mappers \"hash\" and \"bloom\" hash: destination host, source host, both, the five-tuple, or the destination label.",
    "thesis chapter 5: the destination alone",
);

pub const COUNT_NEWCOMER: Param = Param::new(
    "count_newcomer",
    Kind::Bool,
    "false",
    "Store the newcomer before the victim is chosen, so that its own queue is judged with it.",
    "false is the rule read literally; ns-2's DRR counts it",
);

/// The scheduler of a discipline that is named after its drop policy.
pub const SCHEDULER: Param = Param::new(
    "scheduler",
    Kind::Choice(&["drr", "wdrr", "scfq", "wf2q-plus", "wf2q"]),
    "drr",
    "Whose turn it is on the line: deficit round robin, or one of the schedulers by weight.",
    "thesis chapter 7",
);

/// The drop policy of a discipline that is named after its scheduler.
pub const POLICY: Param = Param::new(
    "policy",
    Kind::Choice(&["longest", "tdrr", "qsdrr", "dtdrr", "dsdrr"]),
    "longest",
    "Who loses when the buffer is full: the longest queue, or as tdrr, qsdrr, dtdrr or dsdrr with their defaults.",
    "longest: McKenney 1990",
);

/// What every port with a queue a flow can show.
pub const PORT_PROBES: [ProbeDef; 6] = [
    BACKLOGGED,
    QUEUE_PACKETS,
    QUEUE_BYTES,
    EVICTED_BYTES,
    EVICTED_SHARE,
    QUEUE_FLOW,
];

/// The disciplines named after their schedulers.
pub static SCHEDULERS: [&Model; 4] = [&drr::MODEL, &scfq::MODEL, &wf2q_plus::MODEL, &wf2q::MODEL];

/// Build the port these settings, of one of [`MODELS`], describe.
///
/// # Errors
/// `mapper` and `queues` that do not fit together.
pub fn build<P: Packet + 'static>(settings: &Settings, place: Place) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let mut stream = place.stream;
    let classifier = classifier(settings, &mut stream)?;
    drop_policy(settings, stream, InPort { settings, classifier })
}

/// Build the port these settings, of one of [`SCHEDULERS`], describe: a queue a flow, and the policy they name with its
/// own defaults.
///
/// # Errors
/// None so far.
pub fn build_scheduled<P: Packet + 'static>(
    settings: &Settings,
    place: Place,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let named = match settings.text("policy") {
        "tdrr" => &throughput::MODEL,
        "qsdrr" => &sticky::MODEL,
        "dtdrr" => &threshold::MODEL,
        "dsdrr" => &discard::MODEL,
        _ => &longest::MODEL,
    };
    // The policy's own settings, with the buffer of this port.
    let own = Settings::defaults(named).with("buffer", &settings.size("buffer").to_string());
    let policy = drop_policy(&own, place.stream, Boxed)?;
    Ok(match settings.model.name {
        "wdrr" => scheduled(settings, Drr::weighted(quantum(settings)), policy),
        "scfq" => scheduled(settings, Scfq::new(), policy),
        "wf2q" => scheduled(settings, Wf2q::new(), policy),
        _ => scheduled(settings, Wf2qPlus::new(), policy),
    })
}

fn scheduled<P: Packet + 'static, S: Scheduler<P> + 'static>(
    settings: &Settings,
    scheduler: S,
    policy: Box<dyn DropPolicy<P>>,
) -> Box<dyn QueueDiscipline<P>> {
    let port = Port::new(settings.size("buffer"), PerFlow::new(), scheduler, policy);
    Box::new(port.declaring(settings.model.probes))
}

/// What is made with a drop policy once its type is known.
trait With<P: Packet> {
    type Made;
    fn with<D: DropPolicy<P> + 'static>(self, policy: D) -> Self::Made;
}

/// The drop policy of these settings, of one of [`MODELS`].
fn drop_policy<P: Packet + 'static, W: With<P>>(
    settings: &Settings,
    stream: Stream,
    to: W,
) -> Result<W::Made, Refusal> {
    let tie = || Tie::named(settings.text("tie"));
    let unit = Unit::of(settings.size("buffer"));
    Ok(match settings.model.name {
        "drr" => to.with(Longest::new(unit, tie(), stream)),
        "tdrr" => {
            let (estimator, weight) = (settings.text("estimator"), settings.real("weight"));
            let idle = if estimator == "clocked" { "weight" } else { "theta" };
            if settings.is_given(idle) {
                return Err(Refusal::new(
                    format!("estimator \"{estimator}\" has no {idle}"),
                    format!("leave {idle} out, or choose another estimator"),
                ));
            }
            match estimator {
                "per_arrival" => to.with(Throughput::new(PerArrival::new(weight), tie(), stream)),
                "clocked" => to.with(Throughput::new(Clocked::new(settings.time("theta")), tie(), stream)),
                _ => to.with(Throughput::new(PerService::new(weight), tie(), stream)),
            }
        }
        "qsdrr" => to.with(Sticky::new(unit, tie(), stream)),
        "dtdrr" => to.with(Threshold::new(settings.real("alpha"))),
        "dsdrr" => to.with(Discard::new(settings.real("alpha"), Limit::from_settings(settings))),
        name => {
            return Err(Refusal::new(
                format!("\"{name}\" is not a multi-queue discipline"),
                "see `tailback describe`",
            ));
        }
    })
}

struct Boxed;

impl<P: Packet> With<P> for Boxed {
    type Made = Box<dyn DropPolicy<P>>;
    fn with<D: DropPolicy<P> + 'static>(self, policy: D) -> Self::Made {
        Box::new(policy)
    }
}

/// A port around the policy; above plain DRR everything but the mapper is compiled in.
struct InPort<'a, P> {
    settings: &'a Settings,
    classifier: Box<dyn Classifier<P>>,
}

impl<P: Packet + 'static> With<P> for InPort<'_, P> {
    type Made = Box<dyn QueueDiscipline<P>>;
    fn with<D: DropPolicy<P> + 'static>(self, policy: D) -> Self::Made {
        let quantum = quantum(self.settings);
        let scheduler: Box<dyn Scheduler<P>> = match self.settings.text("scheduler") {
            "wdrr" => Box::new(Drr::weighted(quantum)),
            "scfq" => Box::new(Scfq::new()),
            "wf2q-plus" => Box::new(Wf2qPlus::new()),
            "wf2q" => Box::new(Wf2q::new()),
            _ => return self.port(Drr::new(quantum), policy),
        };
        self.port(scheduler, policy)
    }
}

impl<P: Packet + 'static> InPort<'_, P> {
    fn port<S, D>(self, scheduler: S, policy: D) -> Box<dyn QueueDiscipline<P>>
    where
        S: Scheduler<P> + 'static,
        D: DropPolicy<P> + 'static,
    {
        let settings = self.settings;
        // A policy that never evicts never has a victim to choose.
        let counted = settings.model.param("count_newcomer").is_some() && settings.flag("count_newcomer");
        let port = Port::new(settings.size("buffer"), self.classifier, scheduler, policy);
        Box::new(port.counting_newcomer(counted).declaring(settings.model.probes))
    }
}

fn quantum(settings: &Settings) -> u32 {
    u32::try_from(settings.count("quantum")).unwrap_or(u32::MAX)
}

/// Only a mapper that hashes draws from the stream.
fn classifier<P: Packet + 'static>(
    settings: &Settings,
    stream: &mut Stream,
) -> Result<Box<dyn Classifier<P>>, Refusal> {
    let mapper = settings.text("mapper");
    if mapper != "bloom" {
        bloom::refuse_beside(mapper, settings)?;
    }
    if matches!(mapper, "per_flow" | "even") && settings.is_given("hash_key") {
        return Err(Refusal::new(
            format!("mapper \"{mapper}\" hashes nothing, so hash_key cannot be given"),
            "leave hash_key out, or set mapper = \"hash\" or \"bloom\"",
        ));
    }
    if mapper == "per_flow" {
        return match settings.is_none("queues") {
            true => Ok(Box::new(PerFlow::new())),
            false => Err(Refusal::new(
                "mapper \"per_flow\" makes a queue for each flow, so queues cannot be given",
                "leave queues out, or set mapper = \"even\" or \"hash\"",
            )),
        };
    }
    if settings.is_none("queues") {
        return Err(Refusal::new(
            format!("mapper \"{mapper}\" needs to know how many queues there are"),
            "set queues, such as queues = 16",
        ));
    }
    let queues = u32::try_from(settings.count("queues")).unwrap_or(u32::MAX);
    if mapper == "even" {
        return Ok(Box::new(Even::new(queues)));
    }
    let key = match settings.text("hash_key") {
        "source" => KeyField::Source,
        "pair" => KeyField::Pair,
        "tuple" => KeyField::Tuple,
        "label" => KeyField::Label,
        _ => KeyField::Destination,
    };
    match mapper {
        "bloom" => Ok(Box::new(bloom::build(settings, key, queues, stream)?)),
        _ => Ok(Box::new(ByHash::new(Hashed::new(key, queues, stream.bits())))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, TestPacket};
    use tailback_base::{BitRate, Stream};

    type Built = Result<Box<dyn QueueDiscipline<TestPacket>>, Refusal>;

    fn try_build(model: &'static Model, set: &[(&str, &str)]) -> Built {
        let settings = set
            .iter()
            .fold(Settings::defaults(model), |s, (name, text)| s.with(name, text));
        let place = Place {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
        };
        build(&settings, place)
    }

    #[test]
    fn every_model_builds_with_every_mapper_tie_and_unit_and_reads_its_probes() {
        for model in MODELS {
            for mapper in [
                &[("mapper", "per_flow")][..],
                &[("mapper", "even"), ("queues", "2")],
                &[("mapper", "hash"), ("queues", "2")],
                &[("mapper", "bloom"), ("queues", "2")],
            ] {
                let evicts = model.param("tie").is_some();
                for tie in ["fifo", "ring", "lowest", "random"] {
                    if !evicts && tie != "fifo" {
                        continue;
                    }
                    for buffer in ["4 packets", "4000B", "unlimited"] {
                        let mut set = [mapper, &[("buffer", buffer)]].concat();
                        if evicts {
                            set.push(("tie", tie));
                        }
                        let mut b = Bench::new(try_build(model, &set).unwrap());
                        for id in 0..20 {
                            b.arrive(TestPacket::new(id, id as u32 % 3, 1000));
                        }
                        match (b.backlog().packets, buffer) {
                            (20, "unlimited") | (4, _) => {}
                            // Who only refuses may leave room.
                            (n, _) => assert!(!evicts && (1..4).contains(&n), "{} {n}", model.name),
                        }
                        for probe in model.probes {
                            let x = b.probe(probe.name, 0);
                            let hashed = matches!(mapper[0].1, "hash" | "bloom");
                            let absent = probe.name == "victim" && buffer == "unlimited"
                                || probe.name == "queue_flow" && mapper[0].1 != "per_flow"
                                || probe.per == "queue" && hashed
                                || probe.name == "flow_ratio"
                                || probe.name == "queue_flows"
                                || probe.name == "moves" && mapper[0].1 != "bloom";
                            assert!(absent || x >= 0.0, "{} {} {x}", model.name, probe.name);
                        }
                        b.drain();
                        assert_eq!(b.backlog().packets, 0);
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_bloom_mapper_cannot_be_is_refused() {
        for (set, word) in [
            (&[("mapper", "bloom"), ("queues", "20"), ("groups", "10")][..], "groups"),
            (&[("mapper", "bloom"), ("queues", "20"), ("settle", "200ms")], "settle"),
            (&[("mapper", "hash"), ("queues", "20"), ("balance", "pb")], "balance"),
            (&[("mapper", "bloom")], "queues"),
            (&[("mapper", "bloom"), ("queues", "20"), ("repick", "true")], "repick"),
            (
                &[("mapper", "bloom"), ("queues", "1000000"), ("filter_bits", "1000000")],
                "filters",
            ),
            (&[("hash_key", "source")], "hash_key"),
            (
                &[("mapper", "even"), ("queues", "20"), ("hash_key", "source")],
                "hash_key",
            ),
        ] {
            for model in MODELS {
                let e = try_build(model, set).err().unwrap();
                assert!(e.problem.contains(word), "{e}");
            }
        }
    }

    #[test]
    fn a_mapper_and_queues_that_do_not_fit_are_refused_with_a_remedy() {
        for model in MODELS {
            let e = try_build(model, &[("mapper", "hash")]).err().unwrap();
            assert!(e.remedy.contains("queues ="), "{e}");
            let e = try_build(model, &[("queues", "10")]).err().unwrap();
            assert!(e.remedy.contains("even"), "{e}");
        }
    }
}
