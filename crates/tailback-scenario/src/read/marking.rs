//! Whether the network marks: `marking` at the top of a scenario, or its default, and every queue that follows it.
//!
//! The default is known only when all flows and sessions have been read, so queues get it after that.

use super::routes::Hop;
use crate::check::{Reader, join};
use crate::document::Node;
use crate::error::{At, Problem};
use tailback_base::model::{Param, Settings};
use tailback_queue::marking;
use tailback_sim::declare::impairments::{Harm, Impairment};
use tailback_sim::declare::tables::{link, top};
use tailback_sim::spec::{GroupSpec, LinkSpec, Marking, MarkingBecause, SessionSpec, WorkloadSpec};

/// Whether the network marks. `given` is the key's value, if it is there.
pub fn decide(
    r: &Reader,
    given: Option<bool>,
    groups: &[GroupSpec],
    sessions: &[SessionSpec],
    workloads: &[WorkloadSpec],
) -> Marking {
    if let Some(is_on) = given {
        return Marking {
            on: is_on,
            because: MarkingBecause::Given,
        };
    }
    let of_groups = groups.iter().map(|g| ("flows", &g.name, &g.transport));
    let of_sessions = sessions.iter().map(|s| ("sessions", &s.name, &s.transport));
    let of_workloads = workloads.iter().map(|w| ("workload", &w.name, &w.transport));
    let mut all = of_groups.chain(of_sessions).chain(of_workloads);
    match all.find(|(_, _, transport)| r.library.transports.is_capable(transport)) {
        Some((table, name, _)) => Marking {
            on: true,
            because: MarkingBecause::Capable(join(table, name)),
        },
        None => Marking {
            on: false,
            because: MarkingBecause::NotCapable,
        },
    }
}

/// Give all queues the setting of the network. A part that cannot follow it is refused with its place.
pub fn follow(r: &mut Reader, links: &mut [LinkSpec], tables: Option<&Node>, marking: &Marking) {
    for link in links {
        let table = tables.and_then(|t| t.get(&link.name)).map(|e| &e.node);
        let path = join(top::LINKS.name, &link.name);
        for (direction, parts) in [&mut link.forward, &mut link.reverse].into_iter().zip(link::PARTS) {
            // The reverse direction may have the queue of the forward direction, and then a problem with the queue is
            // reported once.
            let is_there = parts.queue.name == link::QUEUE.name;
            let is_own = is_there || table.is_some_and(|t| t.given(&parts.queue).is_some());
            let place = |param: &Param| KeyPlace::of(table, &path, param);
            if !marking.on && is_own {
                refuse_signals(r, &direction.queue, marking, place(&parts.queue));
                refuse_harms(r, &direction.impairments, marking, place(&parts.impair));
            }
            let steps = marking::steps(&direction.queue);
            marking::follow(&mut direction.queue, marking.on);
            if steps && is_own && !marking::steps(&direction.queue) {
                let place = place(&parts.queue);
                let text = format!("ce_threshold marks, but the network does not mark: {marking}");
                r.warn(place.at, place.path, text);
            }
        }
    }
}

/// The place of a key, and its path.
struct KeyPlace {
    at: At,
    path: String,
}

impl KeyPlace {
    fn of(table: Option<&Node>, path: &str, param: &Param) -> KeyPlace {
        KeyPlace {
            at: table.map_or(At::Nowhere, |t| t.place_of(param)),
            path: join(path, param.name),
        }
    }
}

/// Refuse a discipline that can only signal by marks, in a network that does not mark.
fn refuse_signals(r: &mut Reader, queue: &Settings, marking: &Marking, place: KeyPlace) {
    let Some(name) = marking::signals_by_marks(queue) else {
        return;
    };
    let problem = format!("{name} signals only by marks, but the network does not mark: {marking}");
    let remedy = "give marking = true at the top, or ECN to the flows, or use a discipline that drops";
    r.complain(Problem::new("conflict", place.at, &place.path, problem, remedy).value(name));
}

/// Refuse an impairment that marks, in a network where marking is switched off.
fn refuse_harms(r: &mut Reader, impairments: &[Impairment], marking: &Marking, place: KeyPlace) {
    if marking.because == MarkingBecause::Given && impairments.iter().any(|i| i.harm() == Some(Harm::Mark)) {
        let problem = "an impairment marks, but marking = false says that the network does not";
        let remedy = "leave out marking, or have the impairment drop";
        r.complain(Problem::new("conflict", place.at, &place.path, problem, remedy));
    }
}

/// Whether a queue on this way marks.
pub fn on_the_way(hops: &[Hop], links: &[LinkSpec], network: bool) -> bool {
    hops.iter().any(|h| {
        let link = &links[h.link];
        let mut queue = (if h.reverse { &link.reverse } else { &link.forward }).queue.clone();
        marking::follow(&mut queue, network);
        marking::marks(&queue)
    })
}
