//! The models that a scenario can name: queue disciplines, transports and the engine's own models, by family.
//!
//! All code that reads a scenario or builds a network uses a [`Library`]. The standard library has the models that
//! tailback ships; a caller adds models to a copy of it.

use crate::declare::{changes, fabrics, impairments, instants, tables, workload};
pub mod outside;
pub mod own;

use crate::measure::{convergence, playout};
use crate::traffic::session::{self, SESSIONS, objects};
use crate::traffic::{entry as source, laws, packet_sizes, registry, video};
use crate::wire::packet::SimPacket;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use tailback_base::model::{Catalogue, Family, Registered, Registry};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Settings};
use tailback_conditioner as conditioner;
use tailback_queue::entry::Entry;
use tailback_queue::pieces::drop::PolicyEntry;
use tailback_queue::pieces::schedule::SchedulerEntry;
use tailback_queue::row::AqmEntry;
use tailback_transport::rtp::control::RateController;
use tailback_transport::tcp::congestion::Controller;

/// The names of models, and their builders.
///
/// ```
/// use tailback_sim::library::Library;
///
/// let library = Library::standard();
/// let codel = library.catalogue.expect("queue", "codel").unwrap();
/// assert_eq!(codel.param("target").unwrap().default, "5ms");
/// // The names of other programs stand for ours.
/// assert_eq!(library.catalogue.find("queue", "fq_codel").unwrap().name, "fq-codel");
/// ```
#[derive(Clone)]
pub struct Library {
    /// Every model by family, in the order the reference shows them.
    pub catalogue: Catalogue,
    /// The builders of transports and congestion controls.
    pub transports: tailback_transport::Registry,
    /// The builders of queue disciplines and AQMs.
    pub queues: tailback_queue::Registry<SimPacket>,
    conditioners: Registry<conditioner::Entry<SimPacket>>,
    /// The builders of meters in conditioners.
    pub meters: conditioner::MeterList,
    sources: Registry<&'static source::Entry>,
    sizes: Registry<&'static packet_sizes::Entry>,
    /// The laws of sizes of transfers and of pauses.
    pub laws: Registry<&'static laws::Law>,
    /// The kinds of sessions.
    pub sessions: Registry<&'static session::Entry>,
    /// Texts instead of files where there is no file system: those of trace files, by the name in the scenario.
    pub files: BTreeMap<String, Arc<str>>,
}

static STANDARD: OnceLock<Library> = OnceLock::new();

/// The topologies that a scenario can name.
fn topologies() -> Vec<&'static Model> {
    vec![
        &tables::DUMBBELL,
        &tables::PARKING_LOT,
        &fabrics::STAR,
        &fabrics::LEAF_SPINE,
        &fabrics::FAT_TREE,
    ]
}

impl Library {
    /// The models of tailback, and the rows of a [user's crate](own) that this program contains.
    pub fn standard() -> &'static Library {
        STANDARD.get_or_init(Library::new)
    }

    /// Let scenarios name another queue discipline or a part of one, conditioner, meter, congestion control, source,
    /// model of sizes, law or kind of session.
    pub fn add(&mut self, row: impl Addition) {
        row.add_to(self);
    }

    /// The law of these settings.
    ///
    /// # Panics
    /// If it is not in the list.
    pub fn law(&self, s: &Settings) -> Box<dyn laws::Draw> {
        laws::made(&self.laws, s)
    }

    fn new() -> Library {
        let conditioners = conditioner::registry::entries();
        let meters = conditioner::MeterList::standard();
        let [markers, stages] = conditioner::edge::models::families(&meters);
        let transports = tailback_transport::Registry::standard();
        let queues = tailback_queue::Registry::standard();
        let sources = Registry::new(registry::SOURCES.iter().copied());
        let sizes = Registry::new(packet_sizes::SIZES.iter().copied());
        let sessions = Registry::new(SESSIONS.iter().copied());
        let laws = Registry::new(&laws::LAWS);
        let mut families = vec![
            Family::new(
                "table",
                "Tables",
                vec![
                    &tables::SCENARIO,
                    &tables::LINK,
                    &tables::SWITCH,
                    &tables::FLOWS,
                    &tables::SESSIONS,
                    &workload::WORKLOAD,
                    &changes::CHANGE,
                    &tables::RECORD,
                ],
            ),
            Family::new("topology", "Topologies", topologies()),
            queues
                .entries()
                .family("Queue disciplines")
                .grouped(tailback_queue::registry::groups())
                .also_called(tailback_queue::registry::also_called),
        ];
        // The families already include the disciplines themselves, which shapers contain.
        let nested = queues.nested().families().iter().filter(|f| f.name != "queue");
        families.extend(nested.cloned());
        families.extend([
            conditioners.family("Conditioners"),
            meters.rows().family("Meters in conditioners"),
            markers,
            stages,
            transports.transports.family("Transports"),
            transports.controllers.family("Congestion controls").also_called(|m| {
                let row = transports.controllers.iter().find(|c| std::ptr::eq(c.model, m));
                row.map_or(&[], |c| c.also)
            }),
            transports.rate_controllers.family("Rate controls of media"),
            sources.family("Traffic"),
            sizes.family("Packet sizes"),
            sessions.family("Sessions"),
            laws.family("Sizes of transfers"),
            Family::new(
                "pause",
                "Pauses",
                laws.iter().filter(|l| l.is_of_pauses()).map(|l| &l.pause).collect(),
            ),
            Family::new("frame-size", "Sizes of frames", video::sizes::models()),
            Family::new("object-count", "Numbers of objects", objects::models()),
            Family::new("instants", "Instants", instants::models()),
            Family::new("impairment", "Impairments", impairments::models()),
            Family::new("rate-change", "Rate changes", vec![&tables::RATE_CHANGE]),
            Family::new("meter", "Meters", vec![&convergence::MODEL]),
            Family::new("playout", "Playout", playout::models()),
        ]);
        let catalogue = Catalogue::new(families);
        Library {
            catalogue,
            transports,
            queues,
            conditioners,
            meters,
            sources,
            sizes,
            laws,
            sessions,
            files: BTreeMap::new(),
        }
    }

    /// The row of a conditioner.
    ///
    /// # Errors
    /// A model of another library.
    pub fn conditioner(&self, model: &Model) -> Result<&conditioner::Entry<SimPacket>, Refusal> {
        self.conditioners.row(model.name)
    }

    /// The row of a source of traffic.
    ///
    /// # Errors
    /// A model of another library.
    pub fn source(&self, model: &Model) -> Result<&'static source::Entry, Refusal> {
        self.sources.row(model.name).copied()
    }

    /// The row of a model of packet sizes.
    ///
    /// # Errors
    /// A model of another library.
    pub fn sizes(&self, model: &Model) -> Result<&'static packet_sizes::Entry, Refusal> {
        self.sizes.row(model.name).copied()
    }
}

/// A row that a [`Library`] takes.
pub trait Addition {
    /// Add the row to its list, and its model to the catalogue.
    fn add_to(self, library: &mut Library);
}

/// The kinds of rows, and where the library keeps them.
macro_rules! additions {
    ($($row:ty: |$library:ident| $list:expr;)*) => {$(
        impl Addition for $row {
            fn add_to(self, $library: &mut Library) {
                $library.catalogue.add(<$row as Registered>::FAMILY, self.model());
                $list.add(self);
            }
        }
    )*};
}

additions! {
    AqmEntry<SimPacket>: |library| library.queues;
    SchedulerEntry<SimPacket>: |library| library.queues;
    PolicyEntry<SimPacket>: |library| library.queues;
    conditioner::Entry<SimPacket>: |library| library.conditioners;
    &'static Controller: |library| library.transports.controllers;
    &'static RateController: |library| library.transports.rate_controllers;
    &'static tailback_transport::Entry: |library| library.transports.transports;
    &'static source::Entry: |library| library.sources;
    &'static packet_sizes::Entry: |library| library.sizes;
    &'static session::Entry: |library| library.sessions;
}

/// Such a row is used alone, or as a decision before other disciplines or on each of their queues.
impl Addition for Entry<SimPacket> {
    fn add_to(self, library: &mut Library) {
        library.catalogue.add(Self::FAMILY, self.model);
        library.queues.add(self);
        if let Some(build) = self.admission {
            library.add(AqmEntry {
                model: self.model,
                build,
            });
        }
    }
}

/// A meter is used as a conditioner by itself, and inside other conditioners.
impl Addition for conditioner::MeterRow {
    fn add_to(self, library: &mut Library) {
        library.catalogue.add(Self::FAMILY, self.model);
        library.catalogue.add(conditioner::edge::models::MARKERS, self.model);
        library.meters.add(self);
        library.add(conditioner::painter::entry(&self));
    }
}

/// Laws of transfer sizes and of pauses.
impl Addition for &'static laws::Law {
    fn add_to(self, library: &mut Library) {
        library.catalogue.add("transfer-size", &self.size);
        if self.is_of_pauses() {
            library.catalogue.add("pause", &self.pause);
        }
        library.laws.add(self);
    }
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
                // The scenario's own tables have short forms as defaults, which only their readers understand.
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
