//! A registry entry of a discipline: its declaration, its constructor, and facts about it for other code.

use crate::contract::build_context::BuildContext;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::row::BuildAdmission;
use crate::linux::Linux;
use crate::params::{CE_THRESHOLD, ECN};
use crate::pieces::catalogue::Pieces;
use tailback_base::model::{Alias, Registered};
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Size};

/// Makes the discipline that the settings describe. The error says which parameters contradict each other.
pub enum Build<P> {
    /// The discipline is built from its own settings.
    Whole(fn(&Settings, BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>),
    /// The discipline is built with a scheduler or a drop policy that its settings name.
    OfPieces(fn(&Settings, BuildContext, &Pieces<P>) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>),
    /// The discipline is built around another discipline that is in its settings.
    Around(fn(&Settings, BuildContext, Inner<P>) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>),
}

/// Makes the discipline inside another one.
pub type Inner<'a, P> = &'a dyn Fn(&Settings, BuildContext) -> Result<Box<dyn QueueDiscipline<P>>, Refusal>;

/// A discipline that a scenario can name.
pub struct Entry<P> {
    pub model: &'static Model,
    pub build: Build<P>,
    /// The decision of the discipline alone, if it can be used before another discipline or on each queue of another
    /// discipline.
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
    /// The names that other programs use for the discipline.
    pub also: &'static [Alias],
    pub queues: Queues,
    pub marks: Marks,
    /// The discipline that remains with an unlimited buffer, if the rule of the discipline needs a limit.
    pub unlimited: Option<Unlimited>,
    /// Whether drops or marks limit the queue before the buffer is full. It is needed only if [`Entry::admission`] does
    /// not show this.
    pub acts_early: bool,
    /// The number of sets of queues, such as one for each class. Each set has as many queues as the parameter says.
    pub sets: u32,
    /// The parameters with the delays above which the discipline acts, if it acts only on delays.
    pub waits: &'static [&'static str],
    /// The parameters with which packets of one flow may overtake each other.
    pub overtakes: &'static [&'static str],
    /// Derives values for parameters that are not given from those that are given.
    pub follows: Option<fn(Settings) -> Settings>,
    /// The parameter with the rate to which the discipline shapes, if it is a shaper.
    pub shapes: Option<&'static str>,
    /// The number of packets that may wait in addition to the buffer, if there is a second store.
    pub beside: Option<fn(&Settings) -> u64>,
    /// The rule of these settings, if they describe a FIFO that decides only at arrivals, by the backlog at that time.
    /// A simulator may replace such a FIFO by arithmetic.
    pub fused: Option<fn(&Settings) -> Option<Arithmetic>>,
    /// The published rule that derives its parameters from a link, if there is one.
    pub law: Option<Law>,
    /// The form of the discipline in Linux.
    pub linux: Option<&'static Linux>,
}

/// A FIFO that decides about each packet when it arrives, by the backlog at that time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arithmetic {
    pub limit: Size,
    /// The step rule; drop-tail has no step rule.
    pub step: Option<StepRule>,
}

/// An arrival that finds at least `threshold` packets waiting is marked if it can be marked, and dropped otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepRule {
    /// The threshold, at least one packet.
    pub threshold: u64,
    pub marks: bool,
}

/// A published rule that derives parameters from a link. The formulas are in Python's `tailback.linux.law`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Law {
    /// Target and interval of CoDel are derived from the round trip, by RFC 8289.
    Sojourn,
    /// This parameter is the round trip, from which the discipline itself derives target and interval.
    RoundTrip(&'static str),
    /// This parameter is the target delay of PIE, by RFC 8033.
    Delay(&'static str),
    /// Thresholds and weight of RED are derived from the rate, by Floyd, Gummadi, Shenker 2001.
    Average,
}

/// The number of queues that share the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queues {
    /// One queue, served in order of arrival.
    One,
    Several,
}

/// Whether packets are marked instead of dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    Never,
    /// If the parameter `ecn` or the rule of the network says so, see [`crate::marking`].
    WithEcn,
    /// Always: the mark is the only signal of the discipline.
    Signal,
    /// If the discipline inside it marks.
    Inside,
}

/// A rule that acts only when the buffer is short.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited {
    /// The discipline that remains without a limit.
    pub leaves: &'static str,
    /// The reason, as the end of a sentence that begins with the name of the discipline.
    pub why: &'static str,
    /// The parameter that lets the rule act without a limit too.
    pub unless: Option<&'static str>,
}

impl Unlimited {
    /// A rule that acts when the buffer is short; without a limit this discipline remains.
    pub const fn leaves(leaves: &'static str) -> Unlimited {
        Unlimited {
            leaves,
            why: "acts when its buffer is full, but an unlimited buffer is never full",
            unless: None,
        }
    }
}

impl Facts {
    /// The facts of a discipline with one queue, without marks, and with a rule that needs no limit.
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

    /// The facts of [`Facts::ONE_QUEUE`], with marks instead of drops if `ecn` is set.
    pub const WITH_ECN: Facts = Facts {
        marks: Marks::WithEcn,
        ..Facts::ONE_QUEUE
    };

    /// The facts of a discipline with several queues.
    pub const SEVERAL_QUEUES: Facts = Facts {
        queues: Queues::Several,
        ..Facts::ONE_QUEUE
    };

    /// The facts of a discipline with several queues and a mapper. If a set of queues is full, flows share a queue, and
    /// such a flow may later get its own queue.
    pub const MAPPED: Facts = Facts {
        overtakes: &["ways"],
        ..Facts::SEVERAL_QUEUES
    };

    /// The same facts, with the names that other programs use.
    #[must_use]
    pub const fn also(self, also: &'static [Alias]) -> Facts {
        Facts { also, ..self }
    }

    /// The same facts, with a law.
    #[must_use]
    pub const fn law(self, law: Law) -> Facts {
        Facts { law: Some(law), ..self }
    }

    /// The same facts, with a rule that a simulator may compute.
    #[must_use]
    pub const fn fused(self, rule: fn(&Settings) -> Option<Arithmetic>) -> Facts {
        Facts {
            fused: Some(rule),
            ..self
        }
    }

    /// The same facts, with the form of the discipline in Linux.
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

/// An AQM that is built from the settings of its model. With this trait and its declaration, an AQM has all that its
/// registry entry needs.
pub trait Configured: Sized {
    /// The decision alone, without a queue.
    ///
    /// # Errors
    /// Parameters that contradict each other, or do not fit the place.
    fn configured(settings: &Settings, context: BuildContext) -> Result<Self, Refusal>;
}

impl<P: Packet> Entry<P> {
    /// Build the discipline that these settings describe. They are settings of this entry's model.
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
