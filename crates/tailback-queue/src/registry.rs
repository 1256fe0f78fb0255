//! The list of disciplines a scenario can name: a row each.
//!
//! A discipline is found in the file of its name and knows nothing of this list.

use crate::aqm::{blue, codel, red};
use crate::buffers::{dsdrr, dtdrr, qsdrr, tdrr};
use crate::build_context::BuildContext;
use crate::discipline::QueueDiscipline;
use crate::entry::{Entry, Facts};
use crate::fair::{drr, fq, fqbit, scfq, wdrr, wf2q, wf2q_plus};
use crate::feedback::decsel;
use crate::fifo::{droptail, front_drop, random_drop};
use crate::testing::TestPacket;
use std::marker::PhantomData;
use tailback_base::model::with_nearest;
use tailback_base::quantity::Refusal;
use tailback_base::{Model, Packet, Settings, Size};

/// Every discipline, in the order the reference shows them.
pub fn entries<P: Packet + 'static>() -> &'static [Entry<P>] {
    List::<P>::ROWS
}

struct List<P>(PhantomData<P>);

impl<P: Packet + 'static> List<P> {
    const ROWS: &'static [Entry<P>] = &[
        droptail::entry(),
        random_drop::entry(),
        front_drop::entry(),
        red::entry(),
        blue::entry(),
        codel::entry(),
        drr::entry(),
        tdrr::entry(),
        qsdrr::entry(),
        wdrr::entry(),
        scfq::entry(),
        wf2q_plus::entry(),
        wf2q::entry(),
        fq::entry(),
        fqbit::entry(),
        decsel::entry(),
        dtdrr::entry(),
        dsdrr::entry(),
    ];
}

/// The declarations alone, in the same order.
pub fn models() -> impl Iterator<Item = &'static Model> {
    entries::<TestPacket>().iter().map(|e| e.model)
}

/// The row of this name.
fn entry<P: Packet + 'static>(name: &str) -> Option<&'static Entry<P>> {
    entries().iter().find(|e| e.model.name == name)
}

/// The model of this name.
pub fn find(name: &str) -> Option<&'static Model> {
    entry::<TestPacket>(name).map(|e| e.model)
}

/// What is known of the discipline of this name.
pub fn facts(name: &str) -> Option<&'static Facts> {
    entry::<TestPacket>(name).map(|e| &e.facts)
}

/// Build the discipline these settings describe; the refusal says which parameters contradict each other, and what to
/// write instead.
///
/// # Errors
/// Those of [`Entry::build`], and a model that is not in the list.
pub fn build<P: Packet + 'static>(
    settings: &Settings,
    context: BuildContext,
) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let name = settings.model.name;
    match entry(name) {
        Some(e) => e.build(settings, context),
        None => Err(Refusal::new(
            format!("there is no queue discipline \"{name}\""),
            with_nearest(name, models().map(|m| m.name), "a name that `tailback describe` lists"),
        )),
    }
}

/// The buffer, exactly when these settings describe a plain drop-tail FIFO, which the engine fuses into arithmetic.
pub fn fused_limit(settings: &Settings) -> Option<Size> {
    facts(settings.model.name)?.fused.and_then(|limit| limit(settings))
}
