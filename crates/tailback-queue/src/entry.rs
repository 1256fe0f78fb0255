//! A row of the list of disciplines: its declaration, how it is built, and the facts that others may ask for.

use crate::contract::build_context::BuildContext;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::row::BuildAdmission;
use crate::linux::Linux;
use crate::params::{CE_THRESHOLD, ECN};
use crate::pieces::catalogue::Pieces;
use tailback_base::model::{Alias, Registered};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Size};

/// Makes the discipline that these settings describe; the refusal says which parameters contradict each other.
pub enum Build<P> {
    /// Built from its own settings.
    Whole(fn(&Settings, BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>),
    /// Built with a scheduler or a drop policy that its settings name.
    OfPieces(fn(&Settings, BuildContext, &Pieces<P>) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>),
    /// Around another discipline that its settings hold.
    Around(fn(&Settings, BuildContext, Inner<P>) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>),
}

/// Makes the discipline inside another one.
pub type Inner<'a, P> = &'a dyn Fn(&Settings, BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>;

/// A discipline that a scenario can name.
pub struct Entry<P> {
    pub model: &'static Model,
    pub build: Build<P>,
    /// Its decision alone, if it can be used before another discipline or on each queue of one.
    pub admission: Option<BuildAdmission<P>>,
    pub facts: Facts,
}

impl<P> Registered for Entry<P> {
    const FAMILY: &'static str = "queue";
    const WHAT: &'static str = "queue discipline";
    fn model(&self) -> &'static Model {
        self.model
    }
}

impl<P> Clone for Entry<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Entry<P> {}

impl<P> Clone for Build<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Build<P> {}

/// Facts about a discipline that the rest of the program may use without knowing the discipline.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The names that other programs use for it.
    pub also: &'static [Alias],
    pub queues: Queues,
    pub marks: Marks,
    /// The discipline that remains with an unlimited buffer, if its rule needs a limit.
    pub unlimited: Option<Unlimited>,
    /// Drops or marks limit its queue before the buffer is full, if this is not said by [`Entry::admission`].
    pub acts_early: bool,
    /// How many sets of queues there are, such as one for each class. Each has as many queues as the parameter says.
    pub sets: u32,
    /// The parameters with the delays above which it acts, if it acts only on delays.
    pub waits: &'static [&'static str],
    /// The parameters with which packets of one flow may overtake each other.
    pub overtakes: &'static [&'static str],
    /// Values that follow from given ones, for parameters that are not given.
    pub follows: Option<fn(Settings) -> Settings>,
    /// The parameter with the rate to which it shapes, if it does.
    pub shapes: Option<&'static str>,
    /// How many packets may wait in addition to the buffer, if there is a second store.
    pub beside: Option<fn(&Settings) -> u64>,
    /// What is left of these settings if they describe a FIFO that decides at arrivals alone, by what waits then. A
    /// simulator may replace it by arithmetic.
    pub fused: Option<fn(&Settings) -> Option<Arithmetic>>,
    /// How its parameters follow from a link, if that is published.
    pub law: Option<Law>,
    /// Its form in Linux.
    pub linux: Option<&'static Linux>,
}

/// A FIFO that decides about each packet when it arrives, by what waits then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arithmetic {
    pub limit: Size,
    /// Drop-tail has none.
    pub step: Option<StepRule>,
}

/// A packet that finds so many waiting, or more, is marked if it can be, and dropped if not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepRule {
    /// Packets, at least one.
    pub threshold: u64,
    pub marks: bool,
}

/// A published rule by which parameters follow from a link; the formulas are in Python's `tailback.linux.law`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Law {
    /// Target and interval of CoDel from the round trip: RFC 8289.
    Sojourn,
    /// This parameter is the round trip, from which a discipline takes both by itself.
    RoundTrip(&'static str),
    /// This parameter is the delay that PIE holds: RFC 8033.
    Delay(&'static str),
    /// Thresholds and weight of RED from the rate: Floyd, Gummadi, Shenker 2001.
    Average,
}

/// How many queues share the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queues {
    /// One, served in order of arrival.
    One,
    Several,
}

/// Whether packets are marked instead of dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    Never,
    /// With the parameter `ecn`, or as in the network: see [`crate::marking`].
    WithEcn,
    /// The mark is its signal; it has no other.
    Signal,
    /// As the discipline inside it.
    Inside,
}

/// A rule that acts only when the buffer is short.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited {
    /// The discipline that remains without a limit.
    pub leaves: &'static str,
    /// The reason, as the end of a sentence that begins with the name.
    pub why: &'static str,
    /// The parameter with which the rule also acts without a limit.
    pub unless: Option<&'static str>,
}

impl Unlimited {
    /// The rule acts when the buffer is short.
    pub const fn leaves(leaves: &'static str) -> Unlimited {
        Unlimited {
            leaves,
            why: "acts when its buffer is full, but an unlimited buffer is never full",
            unless: None,
        }
    }
}

impl Facts {
    /// One queue, no marks, and a rule that needs no limit.
    pub const ONE_QUEUE: Facts = Facts {
        also: &[],
        queues: Queues::One,
        marks: Marks::Never,
        unlimited: None,
        acts_early: false,
        sets: 1,
        waits: &[],
        overtakes: &[],
        follows: None,
        shapes: None,
        beside: None,
        fused: None,
        law: None,
        linux: None,
    };

    /// The same, with marks instead of drops if `ecn` says so.
    pub const WITH_ECN: Facts = Facts {
        marks: Marks::WithEcn,
        ..Facts::ONE_QUEUE
    };

    /// Several queues.
    pub const SEVERAL_QUEUES: Facts = Facts {
        queues: Queues::Several,
        ..Facts::ONE_QUEUE
    };

    /// Several queues with a mapper: if a set of queues is full, a flow that shares may later find its own queue.
    pub const MAPPED: Facts = Facts {
        overtakes: &["ways"],
        ..Facts::SEVERAL_QUEUES
    };

    /// The same, with the names that other programs use.
    #[must_use]
    pub const fn also(self, also: &'static [Alias]) -> Facts {
        Facts { also, ..self }
    }

    /// The same, with a law.
    #[must_use]
    pub const fn law(self, law: Law) -> Facts {
        Facts { law: Some(law), ..self }
    }

    /// The same, with what a simulator may compute.
    #[must_use]
    pub const fn fused(self, rule: fn(&Settings) -> Option<Arithmetic>) -> Facts {
        Facts {
            fused: Some(rule),
            ..self
        }
    }

    /// The same, with what Linux has of it.
    #[must_use]
    pub const fn linux(self, linux: &'static Linux) -> Facts {
        Facts {
            linux: Some(linux),
            ..self
        }
    }

    /// Whether packets are marked under these settings.
    pub fn marks(&self, settings: &Settings) -> bool {
        match self.marks {
            Marks::Never | Marks::Inside => false,
            Marks::WithEcn => {
                let step = settings.find_key(&CE_THRESHOLD).flatten().is_some();
                step || settings.flags(ECN.name).contains(&true)
            }
            Marks::Signal => true,
        }
    }
}

/// Built from the settings of its model. An AQM with this and its declaration needs nothing else for a row of the
/// list.
pub trait Configured: Sized {
    /// The decision alone, without a queue.
    ///
    /// # Errors
    /// Parameters that contradict each other, or do not fit the place.
    fn configured(settings: &Settings, context: BuildContext) -> Result<Self, Refusal>;
}

impl<P: Packet> Entry<P> {
    /// Build the discipline that these settings, of this entry's model, describe.
    ///
    /// # Errors
    /// A parameter without a value, or parameters that contradict each other.
    pub fn build(
        &self,
        settings: &Settings,
        context: BuildContext,
        pieces: &Pieces<P>,
        inner: Inner<P>,
    ) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
        if let Some(missing) = settings.missing() {
            let name = self.model.name;
            let remedy = format!("give {}", missing.kind.allowed());
            return Err(Refusal::new(format!("{name} needs {}", missing.name), remedy));
        }
        match self.build {
            Build::Whole(build) => build(settings, context),
            Build::OfPieces(build) => build(settings, context, pieces),
            Build::Around(build) => build(settings, context, inner),
        }
    }
}
