//! The list of disciplines that a scenario can name, one row each.
//!
//! Each discipline is in the file with its name and does not know this list.

use crate::admission::Admission;
use crate::admitted::{Admitted, Viewed};
use crate::aqm::{
    aaqm, ared, avq, blue, choke, cobalt, codel, dred, dualpi2, feng_red, fred, green, green_tcp, mred, nlred, pi, pie,
    red, red_pb, red_pd, redn, rem, rio, sfb, sred, wred,
};
use crate::buffers::{dsdrr, dtdrr, qsdrr, tdrr};
use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Entry, Facts};
use crate::fair::{
    cake, diffserv, drr, fq, fq_cobalt, fq_codel, fq_pie, fqbit, port, scfq, sfq, srr, wdrr, wf2q, wf2q_plus,
};
use crate::feedback::decsel;
use crate::fifo::{droptail, front_drop, random_drop};
use crate::params::{AQM, BEFORE};
use crate::pieces::by_name::Pieces;
use crate::pieces::queue_aqms::QueueAqms;
use crate::pieces::store::QueueId;
use crate::row::{AqmEntry, PolicyEntry, Row, SchedulerEntry};
use crate::testing::TestPacket;
use std::marker::PhantomData;
use tailback_base::model::{Alias, Catalogue, Family, Raw, with_nearest};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Size, Stream};

/// A packet that disciplines can hold. The two lists are compiled for it where this trait is implemented, and nowhere
/// else; in a generic function they would be compiled again in every crate and every test that calls it.
pub trait Queued: Packet + Sized + 'static {
    /// [`groups_for`] this packet; never inlined.
    fn groups() -> &'static [Group<Self>];
    /// [`Pieces::compiled`] for this packet; never inlined.
    fn pieces() -> Pieces<Self>;
}

/// Disciplines of one kind, as in the reference page.
pub struct Group<P: 'static> {
    title: &'static str,
    rows: &'static [Entry<P>],
}

struct List<P>(PhantomData<P>);

impl<P: Packet + 'static> List<P> {
    const GROUPS: &'static [Group<P>] = &[
        Group {
            title: "One queue, and who loses when it is full",
            rows: &[droptail::entry(), random_drop::entry(), front_drop::entry()],
        },
        Group {
            title: "RED and its kin",
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
            rows: &[rio::entry(), wred::entry(), mred::entry(), redn::entry()],
        },
        Group {
            title: "AQM that knows flows",
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
            rows: &[codel::entry(), pie::entry(), cobalt::entry(), dualpi2::entry()],
        },
        Group {
            title: "Several queues that share a buffer",
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
            rows: &[fq_codel::entry(), fq_pie::entry(), fq_cobalt::entry(), cake::entry()],
        },
        Group {
            title: "Bits that ask senders to slow down",
            rows: &[fqbit::entry(), decsel::entry()],
        },
        Group {
            title: "Ports put together",
            rows: &[diffserv::entry(), port::entry()],
        },
    ];
}

/// The disciplines compiled for one type of packet; [`Queued::groups`] returns them.
pub const fn groups_for<P: Packet + 'static>() -> &'static [Group<P>] {
    List::GROUPS
}

/// Every discipline, in the order of the reference page.
pub fn entries<P: Queued>() -> impl Iterator<Item = &'static Entry<P>> {
    P::groups().iter().flat_map(|g| g.rows)
}

/// The titles of the groups, each with the number of its disciplines.
pub fn groups() -> impl Iterator<Item = (&'static str, usize)> {
    TestPacket::groups().iter().map(|g| (g.title, g.rows.len()))
}

/// What a scenario can name, and how it is built: the list above, plus what a caller adds to a copy of it.
pub struct Registry<P> {
    entries: Vec<Entry<P>>,
    aqms: Vec<AqmEntry<P>>,
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

impl<P: Queued> Registry<P> {
    /// What tailback ships.
    pub fn standard() -> Registry<P> {
        let aqm = |e: &Entry<P>| e.admission.map(|build| AqmEntry { model: e.model, build });
        let aqms: Vec<AqmEntry<P>> = entries().filter_map(aqm).collect();
        let pieces = P::pieces();
        let nested = Catalogue::new([
            family(&aqms, "aqm", "AQMs before a discipline, or on each of its queues").also_called(also_called),
            family(
                &pieces.schedulers,
                "scheduler",
                "Schedulers of a port of several queues",
            ),
            family(&pieces.policies, "policy", "Drop policies of a port of several queues"),
        ]);
        Registry {
            entries: entries().copied().collect(),
            aqms,
            pieces,
            nested,
        }
    }

    /// Let scenarios name another discipline.
    pub fn add(&mut self, entry: Entry<P>) {
        self.entries.push(entry);
    }

    /// Let scenarios name another AQM, before a discipline or on each queue of one.
    pub fn add_aqm(&mut self, entry: AqmEntry<P>) {
        self.nested.add("aqm", entry.model);
        self.aqms.push(entry);
    }

    /// Let scenarios name another scheduler below the drop policies.
    pub fn add_scheduler(&mut self, entry: SchedulerEntry<P>) {
        self.nested.add("scheduler", entry.model);
        self.pieces.schedulers.push(entry);
    }

    /// Let scenarios name another drop policy above the schedulers.
    pub fn add_policy(&mut self, entry: PolicyEntry<P>) {
        self.nested.add("policy", entry.model);
        self.pieces.policies.push(entry);
    }

    pub fn entries(&self) -> &[Entry<P>] {
        &self.entries
    }

    /// The families of the models that may be inside a discipline.
    pub fn nested(&self) -> &Catalogue {
        &self.nested
    }

    /// Build the discipline that these settings describe, with the AQMs in it. The refusal says which parameters
    /// contradict each other, and what to write instead.
    ///
    /// # Errors
    /// An error of [`Entry::build`], a model that is not in the list, or a profile that it does not have.
    pub fn build(
        &self,
        settings: &Settings,
        mut context: BuildContext,
    ) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
        let name = settings.model.name;
        let Some(entry) = self.entries.iter().find(|e| e.model.name == name) else {
            return Err(Refusal::new(
                format!("there is no queue discipline \"{name}\""),
                with_nearest(name, models().map(|m| m.name), "a name that `tailback describe` lists"),
            ));
        };
        // A reader has already done so; settings made by hand have names in place of models.
        let settings = &laid(settings)?.with_models(&self.nested)?;
        let has = |p: &str| settings.model.param(p).is_some();
        let aqm = has(AQM.name).then(|| settings.nested(AQM.name)).flatten();
        let before: Vec<&Settings> = match has(BEFORE.name) {
            true => settings.nested_list(BEFORE.name).collect(),
            false => vec![],
        };
        // Only a discipline with AQMs inside draws for them, so that any other stream stays the same.
        let seed = match aqm.is_some() || !before.is_empty() {
            true => context.stream.bits(),
            false => 0,
        };
        let line = context.clone();
        let mut queue = entry.build(settings, context, &self.pieces)?;
        if let Some(aqm) = aqm {
            let make = self.maker(aqm, settings, &line).map_err(|e| e.within(AQM.name))?;
            let at = |q: QueueId| make(Stream::new(seed, &format!("aqm.{q}")));
            // Settings that contradict each other do so for every queue alike.
            at(0).map_err(|e| e.within(AQM.name))?;
            let aqms = QueueAqms::new(Box::new(move |q| match make(Stream::new(seed, &format!("aqm.{q}"))) {
                Ok(aqm) => aqm,
                Err(e) => unreachable!("the first queue had one: {e}"),
            }));
            if queue.give_aqms(aqms).is_err() {
                let e = Refusal::new(
                    format!("{name} has no queues to give an AQM each"),
                    "put it before the discipline: before = [...]",
                );
                return Err(e.within(AQM.name));
            }
        }
        for (i, b) in before.iter().enumerate().rev() {
            let make = self.maker(b, settings, &line);
            let admission = make.and_then(|make| make(Stream::new(seed, &format!("before.{i}"))));
            let admission = admission.map_err(|e| e.within(&format!("{}[{i}]", BEFORE.name)))?;
            if admission.decides_at_departure() {
                let inner = b.model.name;
                let e = Refusal::new(
                    format!("{inner} decides when packets leave its queue, and before {name} nothing of it would act"),
                    format!(
                        "put it on the queues of a discipline of several, aqm = \"{inner}\", or use {inner} itself"
                    ),
                );
                return Err(e.within(&format!("{}[{i}]", BEFORE.name)));
            }
            let Ok(behind) = Viewed::new(queue) else {
                let e = Refusal::new(
                    format!("nothing can stand before {name}, which shows nobody its packets"),
                    "leave `before` out",
                );
                return Err(e.within(BEFORE.name));
            };
            queue = Box::new(Admitted::new(admission, behind));
        }
        Ok(queue)
    }

    /// Makes an AQM with these settings and its own random stream. Its buffer is that of the discipline `of`.
    fn maker(&self, aqm: &Settings, of: &Settings, context: &BuildContext) -> Result<MakeAdmission<P>, Refusal> {
        let name = aqm.model.name;
        let Some(row) = self.aqms.iter().find(|a| a.model.name == name).copied() else {
            return Err(Refusal::new(
                format!("nothing here builds the AQM \"{name}\""),
                "hand the run the library that the scenario was read with",
            ));
        };
        let mut own = laid(aqm)?;
        if own.model.param("buffer").is_some() {
            if own.is_given("buffer") {
                let e = Refusal::new(
                    format!("the buffer of {name} is given, but it shares that of {}", of.model.name),
                    format!("leave it out; give {} the buffer", of.model.name),
                );
                return Err(e.within("buffer"));
            }
            own.lay_under("buffer", &Raw::Text(of.size("buffer").to_string()))?;
        }
        if let Some(inner) = [AQM.name, BEFORE.name]
            .into_iter()
            .find(|p| own.model.param(p).is_some() && own.is_given(p))
        {
            let e = Refusal::new(
                format!(
                    "{name} stands with {} and cannot have {inner} of its own",
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
            (row.build)(&own, context)
        }))
    }
}

/// These settings, completed with the values of their profile.
fn laid(settings: &Settings) -> Result<Settings, Refusal> {
    settings.with_profile(&[]).map_err(|e| e.within("profile"))
}

fn family<B>(rows: &[Row<B>], name: &'static str, title: &'static str) -> Family {
    Family::new(name, title, rows.iter().map(|r| r.model).collect())
}

/// Makes another instance of the same AQM, with this stream.
type MakeAdmission<P> = Box<dyn Fn(Stream) -> Result<Box<dyn Admission<P>>, Refusal>>;

/// The declarations alone, in the same order.
pub fn models() -> impl Iterator<Item = &'static Model> {
    entries::<TestPacket>().map(|e| e.model)
}

/// The row with this name.
fn entry<P: Queued>(name: &str) -> Option<&'static Entry<P>> {
    entries().find(|e| e.model.name == name)
}

/// The model with this name.
pub fn find(name: &str) -> Option<&'static Model> {
    entry::<TestPacket>(name).map(|e| e.model)
}

/// The names that other programs use for it.
pub fn also_called(model: &Model) -> &'static [Alias] {
    facts(model.name).map_or(&[], |f| f.also)
}

/// The facts about the discipline with this name.
pub fn facts(name: &str) -> Option<&'static Facts> {
    entry::<TestPacket>(name).map(|e| &e.facts)
}

/// Build the discipline that these settings describe, from those of tailback.
///
/// # Errors
/// As for [`Registry::build`].
pub fn build<P: Queued>(settings: &Settings, context: BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    Registry::standard().build(settings, context)
}

/// The buffer, if these settings describe a plain drop-tail FIFO, which the engine replaces by arithmetic.
pub fn fused_limit(settings: &Settings) -> Option<Size> {
    facts(settings.model.name)?.fused.and_then(|limit| limit(settings))
}
