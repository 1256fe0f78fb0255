//! The list of disciplines that a scenario can name, with one entry each.
//!
//! A discipline is in the file with its name, or has an entry in [`ports`](crate::ports). Its code does not depend on
//! this list.

use crate::aqm::colours::{mred, redn, rio, wred};
use crate::aqm::delay::{cobalt, codel, dualpi2, pie};
use crate::aqm::flows::{choke, fred, red_pb, red_pd, sfb};
use crate::aqm::load::{aaqm, avq, blue, green, green_tcp, pi, rem};
use crate::aqm::red::{self, ared, dred, feng_red, nlred, sred};
use crate::contract::admission::Admission;
use crate::contract::admitted::{Admitted, Viewed};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::queue_aqms::QueueAqms;
use crate::contract::row::{AqmEntry, laid, settings_within};
use crate::contract::testing::TestPacket;
use crate::entry::{Arithmetic, Entry, Facts};
use crate::fair::{cake, diffserv, sfq};
use crate::feedback::decsel;
use crate::fifo::{droptail, front_drop, random_drop};
use crate::params::{AQM, BEFORE, QUEUE};
use crate::pieces::catalogue::Pieces;
use crate::pieces::drop::PolicyEntry;
use crate::pieces::schedule::SchedulerEntry;
use crate::pieces::store::QueueId;
use crate::ports::{
    drr, dsdrr, dtdrr, fq, fq_cobalt, fq_codel, fq_pie, fqbit, port, qsdrr, scfq, srr, tdrr, wdrr, wf2q, wf2q_plus,
};
use crate::shape::htb;
use crate::shared::{MemoryShare, QueueThreshold, SharingPort};
use std::marker::PhantomData;
use std::sync::OnceLock;
use tailback_base::model::{self, Alias, Catalogue, Family, Registered};
use tailback_base::quantity::Refusal;
use tailback_base::{Kind, Model, Packet, Param, Settings, Size, Stream};

/// A type of packet that disciplines can store. The two lists are compiled for this type only where the trait is
/// implemented. In a generic function they would be compiled again in every crate and every test that calls it.
pub trait HeldPacket: Packet + Sized + 'static {
    /// [`groups_for`] this type of packet; never inlined.
    fn groups() -> &'static [Group<Self>];
    /// [`Pieces::compiled`] for this type of packet; never inlined.
    fn pieces() -> Pieces<Self>;
}

impl HeldPacket for TestPacket {
    #[inline(never)]
    fn groups() -> &'static [Group<TestPacket>] {
        groups_for()
    }
    #[inline(never)]
    fn pieces() -> Pieces<TestPacket> {
        Pieces::compiled()
    }
}

/// Disciplines of one kind, in the groups of the reference page.
pub struct Group<P: 'static> {
    title: &'static str,
    /// The discipline in Linux that is most similar to the other disciplines of the group.
    nearest: &'static str,
    rows: &'static [Entry<P>],
}

struct List<P>(PhantomData<P>);

impl<P: Packet + 'static> List<P> {
    const GROUPS: &'static [Group<P>] = &[
        Group {
            title: "One queue, and who loses when it is full",
            nearest: "front-drop",
            rows: &[droptail::entry(), random_drop::entry(), front_drop::entry()],
        },
        Group {
            title: "RED and its kin",
            nearest: "ared",
            rows: &[
                red::entry(),
                ared::entry(),
                feng_red::entry(),
                nlred::entry(),
                dred::entry(),
                sred::entry(),
            ],
        },
        Group {
            title: "RED by colour or precedence",
            nearest: "ared",
            rows: &[rio::entry(), wred::entry(), mred::entry(), redn::entry()],
        },
        Group {
            title: "AQM that knows flows",
            nearest: "choke",
            rows: &[
                fred::entry(),
                choke::entry(),
                red_pb::entry(),
                red_pd::entry(),
                sfb::entry(),
            ],
        },
        Group {
            title: "AQM by load, losses or queue",
            nearest: "pie",
            rows: &[
                blue::entry(),
                pi::entry(),
                rem::entry(),
                avq::entry(),
                green::entry(),
                green_tcp::entry(),
                aaqm::entry(),
            ],
        },
        Group {
            title: "AQM by delay",
            nearest: "codel",
            rows: &[codel::entry(), pie::entry(), cobalt::entry(), dualpi2::entry()],
        },
        Group {
            title: "Several queues that share a buffer",
            nearest: "sfq",
            rows: &[
                drr::entry(),
                tdrr::entry(),
                qsdrr::entry(),
                dtdrr::entry(),
                dsdrr::entry(),
            ],
        },
        Group {
            title: "Fair queueing and weights",
            nearest: "sfq",
            rows: &[
                wdrr::entry(),
                sfq::entry(),
                srr::entry(),
                scfq::entry(),
                wf2q_plus::entry(),
                wf2q::entry(),
                fq::entry(),
            ],
        },
        Group {
            title: "Fair queueing with an AQM on each queue",
            nearest: "fq-codel",
            rows: &[fq_codel::entry(), fq_pie::entry(), fq_cobalt::entry(), cake::entry()],
        },
        Group {
            title: "Bits that ask senders to slow down",
            nearest: "fq-codel",
            rows: &[fqbit::entry(), decsel::entry()],
        },
        Group {
            title: "Ports put together",
            nearest: "cake",
            rows: &[diffserv::entry(), port::entry()],
        },
        Group {
            title: "A shaper around another discipline",
            nearest: "fq-codel",
            rows: &[htb::entry()],
        },
    ];
}

/// The disciplines, compiled for a type of packet. [`HeldPacket::groups`] returns them.
pub const fn groups_for<P: Packet + 'static>() -> &'static [Group<P>] {
    List::GROUPS
}

/// Every discipline, in the order of the reference page.
pub fn entries<P: HeldPacket>() -> impl Iterator<Item = &'static Entry<P>> {
    P::groups().iter().flat_map(|g| g.rows)
}

/// The titles of the groups, each with the number of its disciplines.
pub fn groups() -> impl Iterator<Item = (&'static str, usize)> {
    TestPacket::groups().iter().map(|g| (g.title, g.rows.len()))
}

/// Among the disciplines that Linux has, the one most similar to this one. `None` if Linux has this discipline itself,
/// and for an unknown name.
pub fn nearest_in_linux(name: &str) -> Option<&'static str> {
    let group = TestPacket::groups()
        .iter()
        .find(|g| g.rows.iter().any(|e| e.model.name == name && e.facts.linux.is_none()));
    group.map(|g| g.nearest)
}

/// The disciplines that a scenario can name, with their constructors. It is a copy of the list above, to which a caller
/// may add disciplines.
///
/// ```
/// use tailback_base::{BitRate, DropReason, Duration, Settings, Stream};
/// use tailback_queue::testing::{Bench, TestPacket};
/// use tailback_queue::{BuildContext, Registry};
///
/// let registry = Registry::<TestPacket>::standard();
/// let codel = registry.entries().iter().find(|e| e.model.name == "codel").unwrap();
/// let settings = Settings::defaults(codel.model).with("buffer", "100 packets");
/// let context = BuildContext {
///     stream: Stream::new(1, "link.bottleneck"),
///     rate: BitRate(10_000_000),
///     delay: Duration::from_millis(10),
/// };
/// let mut bench = Bench::new(registry.build(&settings, context).unwrap());
///
/// // Packets that wait for longer than the target of 5 ms, for longer than the interval of 100 ms: CoDel drops one.
/// for id in 0..50 {
///     bench.arrive(TestPacket::new(id, 0, 1500));
/// }
/// bench.pass(Duration::from_millis(20));
/// bench.serve();
/// bench.pass(Duration::from_millis(120));
/// bench.serve();
/// assert_eq!(bench.log.drops(DropReason::Sojourn), [1]);
/// ```
pub struct Registry<P> {
    entries: model::Registry<Entry<P>>,
    aqms: model::Registry<AqmEntry<P>>,
    pieces: Pieces<P>,
    /// The models that may be inside a discipline.
    nested: Catalogue,
}

impl<P> Clone for Registry<P> {
    fn clone(&self) -> Self {
        Registry {
            entries: self.entries.clone(),
            aqms: self.aqms.clone(),
            pieces: self.pieces.clone(),
            nested: self.nested.clone(),
        }
    }
}

impl<P: HeldPacket> Registry<P> {
    /// The disciplines of tailback.
    pub fn standard() -> Registry<P> {
        let aqm = |e: &Entry<P>| e.admission.map(|build| AqmEntry { model: e.model, build });
        let aqms = model::Registry::new(entries().filter_map(aqm));
        let pieces = P::pieces();
        let disciplines = model::Registry::new(entries().copied());
        let nested = Catalogue::new([
            disciplines
                .family("Queue disciplines")
                .grouped(groups())
                .also_called(also_called),
            aqms.family("AQMs before a discipline, or on each of its queues")
                .also_called(also_called),
            pieces.schedulers.family("Schedulers of a port of several queues"),
            pieces.policies.family("Drop policies of a port of several queues"),
            Family::new(htb::classes::FAMILY, "Classes of a shaper", vec![&htb::classes::MODEL]),
        ]);
        Registry {
            entries: disciplines,
            aqms,
            pieces,
            nested,
        }
    }

    /// Let scenarios name another discipline, AQM, scheduler or drop policy.
    pub fn add<R: Part<P>>(&mut self, row: R) {
        if self.nested.has(R::FAMILY) {
            self.nested.add(R::FAMILY, row.model());
        }
        R::list(self).add(row);
    }

    pub fn entries(&self) -> &model::Registry<Entry<P>> {
        &self.entries
    }

    /// The families of the models that may be inside a discipline.
    pub fn nested(&self) -> &Catalogue {
        &self.nested
    }

    /// Build the discipline that these settings describe, with the AQMs in it. The error says which parameters
    /// contradict each other, and what to write instead.
    ///
    /// # Errors
    /// An error of [`Entry::build`], a model that is not in the list, or a profile that it does not have.
    pub fn build(&self, settings: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
        self.build_with(settings, context, &|_, _| None)
    }

    /// The same as [`Registry::build`], with disciplines that are not in the list. If `outside` returns a discipline
    /// for some settings, it is used, also inside another discipline.
    ///
    /// # Errors
    /// The same errors as [`Registry::build`].
    pub fn build_with(
        &self,
        settings: &Settings,
        context: BuildContext,
        outside: Outside<P>,
    ) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
        self.build_at(settings, context, outside, None)
    }

    /// The same as [`Registry::build_with`], for a port whose packets are in the shared memory of a switch.
    ///
    /// # Errors
    /// The same errors as [`Registry::build`].
    pub fn build_sharing(
        &self,
        settings: &Settings,
        context: BuildContext,
        outside: Outside<P>,
        share: &MemoryShare,
    ) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
        let queue = self.build_at(settings, context, outside, Some(share))?;
        let by_queue = holds_thresholds(&laid(settings)?.with_models(&self.nested)?);
        Ok(Box::new(SharingPort::new(queue, share.clone(), by_queue)))
    }

    /// Build a discipline. If there is a `share`, and the innermost discipline accepts an AQM on each queue, each of
    /// these queues gets a threshold.
    fn build_at(
        &self,
        settings: &Settings,
        mut context: BuildContext,
        outside: Outside<P>,
        share: Option<&MemoryShare>,
    ) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
        if let Some(queue) = outside(settings, &context) {
            return Ok(queue);
        }
        let name = settings.model.name;
        let entry = self.entries.row(name)?;
        // The reader of a scenario has already put models in the place of their names. Settings made by hand may still
        // have names.
        let settings = &laid(settings)?.with_models(&self.nested)?;
        let has = |p: &str| settings.model.param(p).is_some();
        let aqm = has(AQM.name).then(|| settings.nested(AQM.name)).flatten();
        let disciplines_before: Vec<&Settings> = match has(BEFORE.name) {
            true => settings.nested_list(BEFORE.name).collect(),
            false => vec![],
        };
        // A seed is drawn only for a discipline with AQMs inside, so that the streams of other disciplines do not
        // change.
        let seed = match aqm.is_some() || !disciplines_before.is_empty() {
            true => context.stream.bits(),
            false => 0,
        };
        let line_context = context.clone();
        let inner = |own: &Settings, context: BuildContext| self.build_at(own, context, outside, share);
        let mut queue = entry.build(settings, context, &self.pieces, &inner)?;
        if let Some(aqm) = aqm {
            let make = self
                .maker(aqm, settings, &line_context)
                .map_err(|e| e.within(AQM.name))?;
            let aqm_of_queue = |q: QueueId| make(Stream::new(seed, &format!("aqm.{q}")));
            // An error in the settings is the same for every queue, so it is found with queue 0.
            aqm_of_queue(0).map_err(|e| e.within(AQM.name))?;
            let share = share.filter(|_| thresholds_by_queue(settings)).cloned();
            let aqms = QueueAqms::new(Box::new(move |q| {
                match (make(Stream::new(seed, &format!("aqm.{q}"))), &share) {
                    (Ok(aqm), Some(share)) => Box::new(QueueThreshold::new(share.clone(), q, Some(aqm))),
                    (Ok(aqm), None) => aqm,
                    (Err(e), _) => unreachable!("the first queue had one: {e}"),
                }
            }));
            if queue.give_aqms(aqms).is_err() {
                let e = Refusal::new(
                    format!("{name} has no queues of its own, on each of which an AQM could be"),
                    "put it before the discipline: before = [...]",
                );
                return Err(e.within(AQM.name));
            }
        } else if let Some(share) = share.filter(|_| thresholds_by_queue(settings))
            && queue.give_aqms(QueueThreshold::alone(share)).is_err()
        {
            unreachable!("{name} takes an AQM on each queue");
        }
        let washes = !disciplines_before.is_empty() && queue.leave_washing();
        for (i, b) in disciplines_before.iter().enumerate().rev() {
            let make = self.maker(b, settings, &line_context);
            let admission = make.and_then(|make| make(Stream::new(seed, &format!("before.{i}"))));
            let admission = admission.map_err(|e| e.within(&format!("{}[{i}]", BEFORE.name)))?;
            if let Some(why) = admission.needs_its_queue() {
                let inner = b.model.name;
                let e = Refusal::new(
                    format!("{inner} {why}, so it cannot be before {name}, which has the queue"),
                    format!(
                        "put it on the queues of a discipline with several, aqm = \"{inner}\", or use {inner} itself"
                    ),
                );
                return Err(e.within(&format!("{}[{i}]", BEFORE.name)));
            }
            let Ok(behind) = Viewed::new(queue) else {
                let e = Refusal::new(
                    format!("no AQM can be before {name}, because {name} does not show its packets"),
                    "leave `before` out",
                );
                return Err(e.within(BEFORE.name));
            };
            let outermost = i == 0;
            queue = Box::new(
                Admitted::new(admission, behind)
                    .standing_at(i)
                    .washing(washes && outermost),
            );
        }
        Ok(queue)
    }

    /// A function that makes AQMs with these settings, each with its own random stream. The buffer of the AQM is that
    /// of the discipline `of`.
    fn maker(&self, aqm: &Settings, of: &Settings, context: &BuildContext) -> Result<MakeAdmission<P>, Refusal> {
        let name = aqm.model.name;
        let row = *self.aqms.row(name)?;
        let own_settings = settings_within(aqm, of)?;
        if let Some(inner) = [AQM.name, BEFORE.name]
            .into_iter()
            .find(|p| own_settings.model.param(p).is_some() && own_settings.is_given(p))
        {
            let e = Refusal::new(
                format!(
                    "{name} is part of {} here, so it cannot have its own {inner}",
                    of.model.name
                ),
                format!("give {inner} to {}", of.model.name),
            );
            return Err(e.within(inner));
        }
        let context = context.clone();
        Ok(Box::new(move |stream| {
            let context = BuildContext {
                stream,
                ..context.clone()
            };
            (row.build)(&own_settings, context)
        }))
    }
}

/// Whether each queue of a discipline can be given an AQM, and so a threshold. The queues of a discipline that has an
/// AQM by default, such as `diffserv`, accept no other AQM.
fn thresholds_by_queue(settings: &Settings) -> bool {
    settings.model.param(AQM.name).is_some_and(|p| p.default == AQM.default)
}

/// The same as [`thresholds_by_queue`], for the discipline that stores the packets, which may be inside a shaper.
fn holds_thresholds(settings: &Settings) -> bool {
    match settings.model.param(QUEUE.name) {
        Some(_) => settings.nested(QUEUE.name).is_some_and(holds_thresholds),
        None => thresholds_by_queue(settings),
    }
}

/// Refuse settings with other models inside a discipline than it was built with. With the same models, the settings may
/// change during a run ([`QueueDiscipline::reconfigure`]).
///
/// # Errors
/// A model is different, additional or missing, or the order has changed.
pub fn same_models(built: &Settings, next: &Settings) -> Result<(), Refusal> {
    for param in built.model.params.iter().filter(|p| p.kind.holds_models()) {
        fn within<'s>(s: &'s Settings, param: &Param) -> Vec<&'s Settings> {
            match param.kind {
                Kind::List(_) => s.nested_list(param.name).collect(),
                _ => s.nested(param.name).into_iter().collect(),
            }
        }
        let names = |s| -> Vec<&str> { within(s, param).iter().map(|own| own.model.name).collect() };
        if names(built) != names(next) {
            let refusal = Refusal::new(
                format!("{} names other models than at the beginning of the run", param.name),
                "name the same ones in the same order; their values may change",
            );
            return Err(refusal.within(param.name));
        }
        for (own, next) in within(built, param).into_iter().zip(within(next, param)) {
            same_models(own, next).map_err(|e| e.within(param.name))?;
        }
    }
    Ok(())
}

/// A kind of registry entry that has a list in a [`Registry`].
pub trait Part<P>: Registered + Sized {
    fn list(of: &mut Registry<P>) -> &mut model::Registry<Self>;
}

impl<P> Part<P> for Entry<P> {
    fn list(of: &mut Registry<P>) -> &mut model::Registry<Self> {
        &mut of.entries
    }
}

impl<P> Part<P> for AqmEntry<P> {
    fn list(of: &mut Registry<P>) -> &mut model::Registry<Self> {
        &mut of.aqms
    }
}

impl<P> Part<P> for SchedulerEntry<P> {
    fn list(of: &mut Registry<P>) -> &mut model::Registry<Self> {
        &mut of.pieces.schedulers
    }
}

impl<P> Part<P> for PolicyEntry<P> {
    fn list(of: &mut Registry<P>) -> &mut model::Registry<Self> {
        &mut of.pieces.policies
    }
}

/// Makes a discipline that is in no registry, if the settings are the placeholder of such a discipline.
pub type Outside<'a, P> = &'a dyn Fn(&Settings, &BuildContext) -> Option<Box<dyn QueueDiscipline<P>>>;

/// Makes another instance of the same AQM, with this stream.
type MakeAdmission<P> = Box<dyn Fn(Stream) -> Result<Box<dyn Admission<P>>, Refusal>>;

/// The declarations of all disciplines, in the order of the reference page.
pub fn models() -> impl Iterator<Item = &'static Model> {
    entries::<TestPacket>().map(|e| e.model)
}

/// The entry with this name.
fn entry<P: HeldPacket>(name: &str) -> Option<&'static Entry<P>> {
    entries().find(|e| e.model.name == name)
}

/// The model with this name.
pub fn find(name: &str) -> Option<&'static Model> {
    entry::<TestPacket>(name).map(|e| e.model)
}

/// The names that other programs use for this discipline.
pub fn also_called(model: &Model) -> &'static [Alias] {
    facts(model.name).map_or(&[], |f| f.also)
}

/// The facts about the discipline with this name.
pub fn facts(name: &str) -> Option<&'static Facts> {
    let facts_of_crate = || TOLD.get()?.iter().find(|(m, _)| m.name == name).map(|(_, f)| f);
    entry::<TestPacket>(name).map(|e| &e.facts).or_else(facts_of_crate)
}

/// The facts of disciplines of the program that are not in the list.
static TOLD: OnceLock<Vec<(&'static Model, Facts)>> = OnceLock::new();

/// Add the facts of disciplines that are not in the list to those that [`facts`] finds. Only the first call has an
/// effect.
pub fn tell_facts(of: Vec<(&'static Model, Facts)>) {
    TOLD.get_or_init(|| of);
}

/// Build the discipline of tailback that these settings describe.
///
/// # Errors
/// The same errors as [`Registry::build`].
pub fn build<P: HeldPacket>(
    settings: &Settings,
    context: BuildContext,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Registry::standard().build(settings, context)
}

/// The rule of these settings, if they describe a FIFO that the engine replaces by arithmetic.
pub fn arithmetic(settings: &Settings) -> Option<Arithmetic> {
    let rule = facts(settings.model.name)?.fused?;
    match settings.model.profile_param() {
        None => rule(settings),
        Some(_) => rule(&laid(settings).ok()?),
    }
}

/// The buffer of these settings, if they describe a plain drop-tail FIFO.
pub fn fused_limit(settings: &Settings) -> Option<Size> {
    arithmetic(settings).filter(|a| a.step.is_none()).map(|a| a.limit)
}
