//! The list of disciplines a scenario can name, and how each is built.

use crate::discipline::QueueDiscipline;
use crate::fifo::{DropTail, Fifo};
use crate::{blue, codel, decbit, fifo, front_drop, multiqueue, random_drop, red};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Model, Packet, Settings, Size, Stream};

/// What a discipline may know when it is built, beside its own settings.
#[derive(Clone, Debug)]
pub struct Place {
    /// The stream the discipline draws from, named after its link.
    pub stream: Stream,
    /// The rate of the line behind it.
    pub rate: BitRate,
}

/// Every discipline, in the order the reference shows them.
pub static MODELS: &[&Model] = &[
    &fifo::MODEL,
    &random_drop::MODEL,
    &front_drop::MODEL,
    &red::MODEL,
    &blue::MODEL,
    &codel::MODEL,
    &multiqueue::longest::MODEL,
    &multiqueue::throughput::MODEL,
    &multiqueue::sticky::MODEL,
    &multiqueue::drr::MODEL,
    &multiqueue::scfq::MODEL,
    &multiqueue::wf2q_plus::MODEL,
    &multiqueue::wf2q::MODEL,
    &multiqueue::fair::MODEL,
    &multiqueue::fair::FQBIT,
    &decbit::MODEL,
    &multiqueue::threshold::MODEL,
    &multiqueue::discard::MODEL,
];

/// Build the discipline these settings describe; the refusal says which parameters contradict each other, and what to
/// write instead.
pub fn build<P: Packet + 'static>(settings: &Settings, place: Place) -> Result<Box<dyn QueueDiscipline<P>>, Refusal> {
    let name = settings.model.name;
    if let Some(missing) = settings.missing() {
        let remedy = format!("give {}", missing.kind.allowed());
        return Err(Refusal::new(format!("{name} needs {}", missing.name), remedy));
    }
    match name {
        "droptail" => {
            let fifo = Fifo::new(settings.size("buffer"), DropTail);
            Ok(Box::new(fifo.counting_in_service(settings.flag("count_in_service"))))
        }
        "random-drop" => {
            let admission = random_drop::RandomDrop::new(place.stream);
            Ok(Box::new(Fifo::new(settings.size("buffer"), admission)))
        }
        "front-drop" => Ok(Box::new(Fifo::new(settings.size("buffer"), front_drop::FrontDrop))),
        "red" => Ok(Box::new(red::build(settings, place)?)),
        "blue" => Ok(Box::new(blue::build(settings, place)?)),
        "codel" => Ok(Box::new(codel::build(settings)?)),
        "decsel" => {
            let fifo = Fifo::new(settings.size("buffer"), decbit::from_settings(settings)?);
            Ok(Box::new(fifo.counting_in_service(settings.flag("count_in_service"))))
        }
        "fq" | "fqbit" => Ok(multiqueue::fair::build(settings)),
        "wdrr" | "scfq" | "wf2q-plus" | "wf2q" => multiqueue::models::build_scheduled(settings, place),
        "drr" | "tdrr" | "qsdrr" | "dtdrr" | "dsdrr" => multiqueue::models::build(settings, place),
        _ => Err(Refusal::new(
            format!("there is no queue discipline \"{name}\""),
            "see `tailback describe`",
        )),
    }
}

/// The model of this name.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().copied().find(|m| m.name == name)
}

/// The buffer, exactly when these settings describe a plain drop-tail FIFO, which the engine fuses into arithmetic.
pub fn fused_limit(settings: &Settings) -> Option<Size> {
    (settings.model.name == "droptail" && !settings.flag("count_in_service")).then(|| settings.size("buffer"))
}
