//! Builds ports from their pieces, as the settings of a scenario describe them.
//!
//! Any policy works with any scheduler. Two kinds of schedulers are compiled into their ports: plain DRR with any
//! policy, and the scheduler after which a discipline is named. Other pieces that are chosen by name are boxed, and the
//! mapper is always boxed.

use crate::contract::admission::Admission;
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::queue_aqms;
use crate::params::COUNT_IN_SERVICE;
use crate::pieces::catalogue::MAPPER;
use crate::pieces::catalogue::{POLICY, Pieces, QueueCount, SCHEDULER, mappers, scheduler_settings};
use crate::pieces::classify::Classifier;
use crate::pieces::classify::conversations::{CONVERSATION, Conversations};
use crate::pieces::classify::hash::{ByHash, Hashed};
use crate::pieces::classify::hash_sets::HashSets;
use crate::pieces::classify::hash_sets::WAYS_OR_NONE;
use crate::pieces::classify::per_flow::PerFlow;
use crate::pieces::drop::{DropPolicy, batch};
use crate::pieces::params::{
    BUFFER, COUNT_NEWCOMER, FLOW_BUFFER, FLOW_HASH_KEY, FLOW_QUEUES, HASH_KEY, QUEUES, flow_params,
};
use crate::pieces::port::Port;
use crate::pieces::schedule::Scheduler;
use crate::pieces::schedule::drr::{self, Drr};
use crate::pieces::schedule::drr_plus_plus::DrrPlusPlus;
use crate::pieces::schedule::fair_queueing::{CHARGE_DROPPED, DELTA, Fair};
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Settings, Stream};

/// The port of a discipline that is named after its drop policy. The settings name the scheduler.
///
/// # Errors
/// `mapper` and `queues` contradict each other, or the policy has an error.
pub fn over_drr<P, D>(
    settings: &Settings,
    context: BuildContext,
    pieces: &Pieces<P>,
    policy: impl FnOnce(Stream) -> Result<D, Refusal>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>
where
    P: Packet + 'static,
    D: DropPolicy<P> + 'static,
{
    let place = context.clone();
    let mut stream = context.stream;
    let classifier = classifier(settings, &mut stream)?;
    let policy = policy(stream)?;
    let own = scheduler_settings(settings)?;
    let plain = std::ptr::eq(own.model, &drr::MODEL).then(|| Drr::new(drr::quantum(&own)));
    Ok(match plain {
        Some(drr) => port(settings, classifier, drr, policy),
        None => port(settings, classifier, pieces.scheduler(settings, &place)?, policy),
    })
}

fn port<P, S, D>(
    settings: &Settings,
    classifier: Box<dyn Classifier<P>>,
    scheduler: S,
    policy: D,
) -> Box<dyn QueueDiscipline<P>>
where
    P: Packet + 'static,
    S: Scheduler<P> + 'static,
    D: DropPolicy<P> + 'static,
{
    // A policy that never evicts does not have this parameter, because it never chooses a victim.
    let counted = settings.find_key(&COUNT_NEWCOMER) == Some(true);
    let port = Port::new(settings.get(&BUFFER), classifier, scheduler, policy).changing(settings, |_| false);
    Box::new(port.counting_newcomer(counted).declaring(&probes(settings)))
}

/// The port of a discipline that is named after its scheduler. It has a queue for each flow, and the policy that the
/// settings name, with the defaults of this policy.
///
/// # Errors
/// An error of the policy.
pub fn under<P, S>(
    settings: &Settings,
    context: BuildContext,
    pieces: &Pieces<P>,
    scheduler: S,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>
where
    P: Packet + 'static,
    S: Scheduler<P> + 'static,
{
    let policy = pieces.policy(settings, context)?;
    let port = Port::new(settings.get(&BUFFER), PerFlow::new(), scheduler, policy).changing(settings, |_| false);
    Ok(Box::new(port.declaring(&probes(settings))))
}

/// The port of a discipline whose settings name all pieces.
///
/// # Errors
/// An error of a piece.
pub fn of_pieces<P: Packet + 'static>(
    settings: &Settings,
    context: BuildContext,
    pieces: &Pieces<P>,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let scheduler = pieces.scheduler(settings, &context)?;
    let mut context = context;
    let classifier = classifier(settings, &mut context.stream)?;
    let policy = pieces.policy(settings, context)?;
    Ok(port(settings, classifier, scheduler, policy))
}

/// The discipline of RFC 8290 with the AQM that `make` makes. It has hashed queues with an AQM on each, serves new
/// queues first, and drops batches from the fattest queue. The probes of the AQM are declared last.
///
/// # Errors
/// A number of queues that is not a multiple of the set size.
pub fn flow_queueing<P: Packet + 'static>(
    settings: &Settings,
    context: BuildContext,
    make: impl Fn(Stream) -> Box<dyn Admission<P>> + 'static,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let mut stream = context.stream;
    let aqms = queue_aqms::seeded(stream.bits(), make);
    let (key, queues) = (settings.get(&FLOW_HASH_KEY), settings.get(&FLOW_QUEUES) as u32);
    let classifier: Box<dyn Classifier<P>> = match settings.get(&WAYS_OR_NONE) {
        None => Box::new(ByHash::new(Hashed::new(key, queues, stream.bits()))),
        Some(ways) => Box::new(HashSets::whole(key, queues, ways, &mut stream)?),
    };
    let scheduler = DrrPlusPlus::new(drr::quantum(settings));
    let declared = settings.model.probes;
    let own_probes = &declared[..declared.len() - aqms.probes().len()];
    let port = Port::new(
        settings.get(&FLOW_BUFFER),
        classifier,
        scheduler,
        batch::build(settings),
    );
    // The discipline has the parameters of the port and also those of its AQM.
    let of_port = flow_params(drr::QUANTUM);
    let of_aqm = |name: &str| of_port.iter().all(|p| p.name != name);
    let mut port = port
        .counting_newcomer(true)
        .declaring(own_probes)
        .changing(settings, of_aqm);
    // A port accepts the AQMs of its queues.
    let _ = port.give_aqms(aqms);
    Ok(Box::new(port))
}

/// Fair queueing with this drop policy.
pub fn fair_queueing<P, D>(settings: &Settings, policy: D) -> Box<dyn QueueDiscipline<P>>
where
    P: Packet + 'static,
    D: DropPolicy<P> + 'static,
{
    let conversations = Conversations::new(settings.get(&CONVERSATION));
    let scheduler = Fair::new(settings.get(&DELTA), settings.get(&CHARGE_DROPPED));
    let port = Port::new(settings.get(&BUFFER), conversations, scheduler, policy)
        // In this rule the arriving packet counts when the victim is chosen.
        .counting_newcomer(true)
        .counting_in_service(settings.get(&COUNT_IN_SERVICE))
        .changing(settings, |_| false);
    Box::new(port.declaring(settings.model.probes))
}

/// The probes that the discipline declares, followed by further probes of the pieces that its settings name.
fn probes(settings: &Settings) -> Vec<ProbeDef> {
    let mut probes = settings.model.probes.to_vec();
    for key in [SCHEDULER.name, POLICY.name] {
        let piece = settings.model.param(key).and_then(|_| settings.nested(key));
        let own = piece.map_or(&[][..], |piece| piece.model.probes);
        probes.extend(
            own.iter()
                .filter(|d| settings.model.probes.iter().all(|p| p.name != d.name)),
        );
    }
    probes
}

fn unknown(what: &str, name: &str) -> Refusal {
    Refusal::new(format!("there is no {what} \"{name}\""), "see `tailback describe`")
}

/// The classifier that the settings name. Only a classifier that hashes draws from the stream.
fn classifier<P: Packet + 'static>(
    settings: &Settings,
    stream: &mut Stream,
) -> Result<Box<dyn Classifier<P>>, Refusal> {
    let name = settings.get(&MAPPER);
    let rows = mappers::<P>();
    for other in rows.iter().filter(|m| m.name != name) {
        if let Some(own) = other.own.iter().find(|own| settings.is_given(own.name)) {
            return Err(Refusal::new(
                format!(
                    "{} belongs to mapper \"{}\", but the mapper is \"{name}\"",
                    own.name, other.name
                ),
                format!("leave {} out, or set mapper = \"{}\"", own.name, other.name),
            ));
        }
    }
    let row = rows
        .iter()
        .find(|m| m.name == name)
        .ok_or_else(|| unknown("mapper", &name))?;
    if row.queues != QueueCount::Hashed && settings.gives(&HASH_KEY) {
        return Err(Refusal::new(
            format!("mapper \"{name}\" hashes nothing, so hash_key cannot be given"),
            "leave hash_key out, or set mapper = \"hash\", \"hash_sets\" or \"bloom\"",
        ));
    }
    match (row.queues, settings.get(&QUEUES)) {
        (QueueCount::ByFlow, None) => (row.build)(settings, 0, stream),
        (QueueCount::ByFlow, Some(_)) => Err(Refusal::new(
            format!("mapper \"{name}\" makes its queues as packets come, so queues cannot be given"),
            "leave queues out, or set mapper = \"even\" or \"hash\"",
        )),
        (QueueCount::Given | QueueCount::Hashed, None) => Err(Refusal::new(
            format!("mapper \"{name}\" needs to know how many queues there are"),
            "set queues, such as queues = 16",
        )),
        (QueueCount::Given | QueueCount::Hashed, Some(queues)) => {
            let queues = u32::try_from(queues).unwrap_or(u32::MAX);
            (row.build)(settings, queues, stream)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::testing::{Bench, TestPacket};
    use crate::registry;
    use tailback_base::{BitRate, Duration, Model, Stream};

    /// The disciplines that are named after their policies.
    fn several() -> impl Iterator<Item = &'static Model> {
        registry::models().filter(|m| m.param("mapper").is_some())
    }

    type Built = Result<Box<dyn QueueDiscipline<TestPacket>>, Refusal>;

    fn try_build(model: &'static Model, set: &[(&str, &str)]) -> Built {
        let settings = set
            .iter()
            .fold(Settings::defaults(model), |s, (name, text)| s.with(name, text));
        let context = BuildContext {
            stream: Stream::new(1, "test"),
            rate: BitRate(1_000_000),
            delay: Duration::ZERO,
        };
        registry::build(&settings, context)
    }

    #[test]
    fn every_model_builds_with_every_mapper_tie_and_unit_and_reads_its_probes() {
        for model in several() {
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
                            // With a policy that only refuses arriving packets, the buffer may stay partly empty.
                            (n, _) => assert!(!evicts && (1..4).contains(&n), "{} {n}", model.name),
                        }
                        for probe in model.probes {
                            let probed = b.probe(probe.name, 0);
                            let hashed = matches!(mapper[0].1, "hash" | "bloom");
                            let absent = probe.name == "victim" && buffer == "unlimited"
                                || probe.name == "queue_flow" && mapper[0].1 != "per_flow"
                                || probe.per == "queue" && hashed
                                || probe.name == "flow_ratio"
                                || probe.name == "queue_flows"
                                || probe.name == "moves" && mapper[0].1 != "bloom";
                            assert!(absent || probed >= 0.0, "{} {} {probed}", model.name, probe.name);
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
            for model in several() {
                let e = try_build(model, set).err().unwrap();
                assert!(e.problem.contains(word), "{e}");
            }
        }
    }

    #[test]
    fn a_mapper_and_queues_that_do_not_fit_are_refused_with_a_remedy() {
        for model in several() {
            let e = try_build(model, &[("mapper", "hash")]).err().unwrap();
            assert!(e.remedy.contains("queues ="), "{e}");
            let e = try_build(model, &[("queues", "10")]).err().unwrap();
            assert!(e.remedy.contains("even"), "{e}");
        }
    }
}
