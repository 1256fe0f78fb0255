//! What a scenario can name: the queue disciplines, transports and the engine's own models, by family.
//!
//! Everything that reads a scenario or builds a network asks a [`Library`]. The standard one has what tailback ships; a
//! caller adds to a copy of it.

use crate::measure::convergence;
use crate::packet::SimPacket;
use crate::scenario::declarations::{impairments, instants, tables};
use crate::traffic::session::{self, SESSIONS, objects};
use crate::traffic::{entry as source, laws, registry, sizes, video};
use std::sync::LazyLock;
use tailback_base::Model;
use tailback_base::model::{Catalogue, Family};
use tailback_base::quantity::Refusal;
use tailback_conditioner as conditioner;
use tailback_transport::Registry;
use tailback_transport::tcp::congestion::Controller;

/// What can be named, and what builds it.
#[derive(Clone)]
pub struct Library {
    /// Every model by family, in the order the reference shows them.
    pub catalogue: Catalogue,
    /// What makes the transports and congestion controls in it.
    pub transports: Registry,
    /// What makes the queue disciplines and AQMs in it.
    pub queues: tailback_queue::Registry<SimPacket>,
    conditioners: Vec<conditioner::Entry<SimPacket>>,
    /// What makes the meters in conditioners.
    pub meters: conditioner::MeterList,
    sources: Vec<&'static source::Entry>,
    sizes: Vec<&'static sizes::Entry>,
    /// The laws of sizes of transfers and of pauses.
    pub laws: Vec<&'static laws::Law>,
    /// The kinds of sessions.
    pub sessions: Vec<&'static session::Entry>,
}

static STANDARD: LazyLock<Library> = LazyLock::new(Library::new);

impl Library {
    /// What tailback ships.
    pub fn standard() -> &'static Library {
        &STANDARD
    }

    /// Add a congestion control to what connections can name.
    pub fn add_congestion_control(&mut self, row: &'static Controller) {
        self.catalogue.add("congestion", row.model);
        self.transports.controllers.push(row);
    }

    fn new() -> Library {
        let conditioners = conditioner::registry::entries();
        let meters = conditioner::MeterList::standard();
        let [markers, stages] = conditioner::edge::models::families(&meters);
        let transports = Registry::standard();
        let queues = tailback_queue::Registry::standard();
        let mut families = vec![
            Family::new(
                "table",
                "Tables",
                vec![
                    &tables::SCENARIO,
                    &tables::LINK,
                    &tables::FLOWS,
                    &tables::SESSIONS,
                    &tables::RECORD,
                ],
            ),
            Family::new("topology", "Topologies", vec![&tables::DUMBBELL, &tables::PARKING_LOT]),
            Family::new(
                "queue",
                "Queue disciplines",
                queues.entries().iter().map(|e| e.model).collect(),
            )
            .grouped(tailback_queue::registry::groups())
            .also_called(tailback_queue::registry::also_called),
        ];
        families.extend(queues.nested().families().iter().cloned());
        families.extend([
            Family::new(
                "conditioner",
                "Conditioners",
                conditioners.iter().map(|e| e.model).collect(),
            ),
            Family::new(
                "marker",
                "Meters in conditioners",
                meters.rows().iter().map(|r| r.model).collect(),
            ),
            markers,
            stages,
            Family::new(
                "transport",
                "Transports",
                transports.transports.iter().map(|e| e.model).collect(),
            ),
            Family::new(
                "congestion",
                "Congestion controls",
                transports.controllers.iter().map(|c| c.model).collect(),
            )
            .also_called(|m| {
                let row = transports.controllers.iter().find(|c| std::ptr::eq(c.model, m));
                row.map_or(&[], |c| c.also)
            }),
            Family::new(
                "traffic",
                "Traffic",
                registry::SOURCES.iter().map(|e| e.model).collect(),
            ),
            Family::new("sizes", "Packet sizes", sizes::SIZES.iter().map(|e| e.model).collect()),
            Family::new("session", "Sessions", SESSIONS.iter().map(|e| e.model).collect()),
            Family::new(
                "transfer-size",
                "Sizes of transfers",
                laws::LAWS.iter().map(|l| &l.size).collect(),
            ),
            Family::new("pause", "Pauses", laws::LAWS.iter().map(|l| &l.pause).collect()),
            Family::new("frame-size", "Sizes of frames", video::sizes::models()),
            Family::new("object-count", "Numbers of objects", objects::models()),
            Family::new("instants", "Instants", instants::models()),
            Family::new("impairment", "Impairments", impairments::models()),
            Family::new("rate-change", "Rate changes", vec![&tables::RATE_CHANGE]),
            Family::new("meter", "Meters", vec![&convergence::MODEL]),
        ]);
        let catalogue = Catalogue::new(families);
        Library {
            catalogue,
            transports,
            queues,
            conditioners,
            meters,
            sources: registry::SOURCES.to_vec(),
            sizes: sizes::SIZES.to_vec(),
            laws: laws::LAWS.iter().collect(),
            sessions: SESSIONS.to_vec(),
        }
    }

    /// Let scenarios name another AQM.
    pub fn add_aqm(&mut self, entry: tailback_queue::row::AqmEntry<SimPacket>) {
        self.catalogue.add("aqm", entry.model);
        self.queues.add_aqm(entry);
    }

    /// Let scenarios name another scheduler below the drop policies.
    pub fn add_scheduler(&mut self, entry: tailback_queue::pieces::schedule::SchedulerEntry<SimPacket>) {
        self.catalogue.add("scheduler", entry.model);
        self.queues.add_scheduler(entry);
    }

    /// Let scenarios name another drop policy above the schedulers.
    pub fn add_policy(&mut self, entry: tailback_queue::pieces::drop::PolicyEntry<SimPacket>) {
        self.catalogue.add("policy", entry.model);
        self.queues.add_policy(entry);
    }

    /// Let scenarios name another conditioner.
    pub fn add_conditioner(&mut self, entry: conditioner::Entry<SimPacket>) {
        self.catalogue.add("conditioner", entry.model);
        self.conditioners.push(entry);
    }

    /// Let scenarios name another meter: as a conditioner by itself, and in others.
    pub fn add_meter(&mut self, row: conditioner::MeterRow) {
        self.catalogue.add("marker", row.model);
        self.meters.add(row);
        self.catalogue.add(conditioner::edge::models::MARKERS, row.model);
        self.add_conditioner(conditioner::painter::entry(&row));
    }

    /// The row of a conditioner.
    ///
    /// # Errors
    /// A model of another library.
    pub fn conditioner(&self, model: &Model) -> Result<&conditioner::Entry<SimPacket>, Refusal> {
        let found = self.conditioners.iter().find(|e| e.model.name == model.name);
        found.ok_or_else(|| unknown("conditioner", model))
    }

    /// Let flows name another source of traffic.
    pub fn add_source(&mut self, entry: &'static source::Entry) {
        self.catalogue.add("traffic", entry.model);
        self.sources.push(entry);
    }

    /// The row of a source of traffic.
    ///
    /// # Errors
    /// A model of another library.
    pub fn source(&self, model: &Model) -> Result<&'static source::Entry, Refusal> {
        let found = self.sources.iter().copied().find(|e| e.model.name == model.name);
        found.ok_or_else(|| unknown("traffic source", model))
    }

    /// Let sources of packets draw sizes in another way.
    pub fn add_sizes(&mut self, entry: &'static sizes::Entry) {
        self.catalogue.add("sizes", entry.model);
        self.sizes.push(entry);
    }

    /// The row of a model of packet sizes.
    ///
    /// # Errors
    /// A model of another library.
    pub fn sizes(&self, model: &Model) -> Result<&'static sizes::Entry, Refusal> {
        let found = self.sizes.iter().copied().find(|e| e.model.name == model.name);
        found.ok_or_else(|| unknown("model of packet sizes", model))
    }

    /// Let sessions name another law of sizes of transfers and of pauses.
    pub fn add_law(&mut self, law: &'static laws::Law) {
        self.catalogue.add("transfer-size", &law.size);
        self.catalogue.add("pause", &law.pause);
        self.laws.push(law);
    }

    /// Add a kind of session.
    pub fn add_session(&mut self, entry: &'static session::Entry) {
        self.catalogue.add("session", entry.model);
        self.sessions.push(entry);
    }
}

fn unknown(what: &str, model: &Model) -> Refusal {
    let problem = format!("nothing here builds the {what} \"{}\"", model.name);
    Refusal::new(problem, "hand the run the library that the scenario was read with")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::model::{Kind, Settings};

    #[test]
    fn every_declaration_is_sound() {
        let catalogue = &Library::standard().catalogue;
        for m in catalogue.all() {
            assert!(!m.title.is_empty() && !m.summary.is_empty(), "{}", m.name);
            for (i, p) in m.params.iter().enumerate() {
                assert!(!p.doc.is_empty(), "{}.{}", m.name, p.name);
                assert!(p.name != "kind", "`kind` chooses the model");
                assert!(
                    m.params[..i].iter().all(|q| q.name != p.name),
                    "{}.{} is declared twice",
                    m.name,
                    p.name
                );
                if !matches!(p.kind, Kind::Named(_)) {
                    assert!(
                        !matches!(p.default_value(), Some(Err(_))),
                        "the default of {}.{} is not allowed: {}",
                        m.name,
                        p.name,
                        p.default
                    );
                }
            }
        }
        for f in catalogue.families() {
            let mut names: Vec<&str> = f.models.iter().map(|m| m.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|w| w[0] != w[1]), "{}: {names:?}", f.name);
            for m in &f.models {
                let of_a_family = m.params.iter().filter_map(|p| p.kind.family());
                assert!(
                    of_a_family.into_iter().all(|f| !catalogue.family(f).is_empty()),
                    "{} names a family that is not there",
                    m.name
                );
                // The scenario's own tables have short forms as defaults, which their readers know.
                if matches!(m.family, "table" | "topology") {
                    continue;
                }
                Settings::defaults(m)
                    .with_models(catalogue)
                    .unwrap_or_else(|e| panic!("{}: {e}", m.name));
            }
        }
    }
}
