//! Parts that no scenario can contain, so that a run gets them from its caller: a queue written in Python or in a test,
//! and a foreign transport stack without its own I/O.
//!
//! In a scenario that is stored or handed on, these models are placeholders that name the class. They are not in the
//! standard library. A scenario with a placeholder is therefore refused wherever the class itself is not available, and
//! a run that does not get the class ends before it begins. No other part may replace the class.

use crate::library::Library;
use crate::spec::{LinkSpec, Spec};
use crate::wire::packet::SimPacket;
use std::sync::LazyLock;
use tailback_base::quantity::Refusal;
use tailback_base::{Kind, Model, Param, Settings, Size, Stream};
use tailback_queue::entry::{Build, Entry, Facts};
use tailback_queue::fifo::{DropTail, Fifo};
use tailback_queue::shaped::innermost;
use tailback_queue::{BuildContext, QueueDiscipline};
use tailback_transport::Endpoint;
use tailback_transport::entry::{self as transport, Carries, Connection, Ends};
use tailback_transport::path::Path;

/// The placeholder in a scenario for a discipline from outside.
pub static MODEL: Model = Model {
    name: "python",
    family: "queue",
    title: "Written in Python",
    summary: "A discipline that is given to the run from outside.",
    source: "",
    params: &[Param::new(
        "class",
        Kind::Text,
        "",
        "The name of the class, for messages.",
        "",
    )],
    probes: &[],
};

/// The placeholder in a scenario for a transport from outside.
pub static STACK: Model = Model {
    name: "stack",
    family: "transport",
    title: "Somebody else's transport",
    summary: "Both ends are a stack that is given to the run from outside.",
    source: "",
    params: &[],
    probes: &[],
};

/// The ends are those of the stack. Until the stack is handed over, this is a connection that carries data both ways.
static STACK_ENTRY: transport::Entry = transport::Entry {
    model: &STACK,
    carries: Carries::Stream(|_, _| Ok(Connection::new(NoStack))),
    capable: |_, _| true,
};

/// A connection of a stack that is not available. Code that reads a scenario needs its properties.
struct NoStack;

impl Ends for NoStack {
    fn segment_bytes(&self) -> u32 {
        STACK_SEGMENT
    }
    fn is_two_way(&self) -> bool {
        true
    }
    fn ends(&self, _path: &mut dyn FnMut() -> Path, _rng: &mut Stream) -> [Box<dyn Endpoint>; 2] {
        std::panic::resume_unwind(Box::new(no_stack("NAME")))
    }
}

/// Payload of a full datagram of a stack, bytes: the minimum that every path for QUIC carries (RFC 9000 section 14).
pub const STACK_SEGMENT: u32 = 1200;

/// Headers of a datagram of a stack, bytes: IPv4 and UDP.
pub const STACK_HEADER: u32 = 28;

/// The number of arrived datagrams whose data each connection keeps, because the path may have made a copy that is
/// still on its way.
pub const STACK_KEPT: usize = 4096;

static QUEUES: LazyLock<Library> = LazyLock::new(|| {
    let mut library = Library::standard().clone();
    library.catalogue.add("queue", &MODEL);
    library.queues.add(Entry {
        model: &MODEL,
        build: Build::Whole(not_here),
        admission: None,
        facts: Facts::ONE_QUEUE,
    });
    library
});

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let mut library = QUEUES.clone();
    library.add(&STACK_ENTRY);
    library
});

/// The standard library with the placeholder for disciplines from outside: for callers who hand these disciplines to
/// the run, or who only read results.
pub fn queues() -> &'static Library {
    &QUEUES
}

/// The same library with the placeholder for stacks in addition.
pub fn library() -> &'static Library {
    &LIBRARY
}

/// Whether these settings are the placeholder of a transport from outside.
pub fn is_stack(transport: &Settings) -> bool {
    std::ptr::eq(transport.model, &STACK)
}

/// The error of a run that did not get the stack of this group.
pub fn no_stack(group: &str) -> Refusal {
    Refusal::new(
        format!("the transport of {group} is a stack from outside, which the run did not get"),
        format!("give it: Scenario::endpoints(\"{group}\", ...) of tailback-path"),
    )
}

/// Whether these settings are the placeholder of a discipline from outside.
pub fn is_outside(queue: &Settings) -> bool {
    queue.model.name == MODEL.name
}

/// The placeholder of a discipline from outside in these settings: the settings themselves, or those inside a shaper.
pub fn outside_in(queue: &Settings) -> Option<&Settings> {
    Some(innermost(queue)).filter(|own| is_outside(own))
}

/// A discipline in place of one from outside, for checks of the settings around it.
pub fn stand_in(queue: &Settings, _context: &BuildContext) -> Option<Box<dyn QueueDiscipline<SimPacket>>> {
    is_outside(queue).then(|| Box::new(Fifo::new(Size::Unlimited, DropTail)) as Box<dyn QueueDiscipline<SimPacket>>)
}

fn not_here(settings: &Settings, _context: BuildContext) -> Result<Box<dyn QueueDiscipline<SimPacket>>, Refusal> {
    Err(missing("PORT", settings.text("class")))
}

/// The port for which the run got the discipline of this direction of a link; `None` if the scenario's own discipline
/// is used. The reverse direction uses the discipline of the forward direction if the scenario names one class for
/// both.
///
/// # Errors
/// The scenario names a class, and it was not handed over.
pub fn handed_for(link: &LinkSpec, reverse: bool, handed: impl Fn(&str) -> bool) -> Result<Option<String>, Refusal> {
    let port_name = link.port_name(reverse);
    if handed(&port_name) {
        return Ok(Some(port_name));
    }
    let queue = if reverse {
        &link.reverse.queue
    } else {
        &link.forward.queue
    };
    let Some(class) = outside_in(queue).map(|port_name| port_name.text("class")) else {
        return Ok(None);
    };
    let forward_class = outside_in(&link.forward.queue).map(|port_name| port_name.text("class"));
    let shared = reverse && forward_class == Some(class);
    match shared && handed(&link.name) {
        true => Ok(Some(link.name.clone())),
        false => Err(missing(&port_name, class)),
    }
}

/// The classes that a scenario names, by port.
pub fn named(spec: &Spec) -> impl Iterator<Item = (String, String)> {
    let directions = spec
        .links
        .iter()
        .flat_map(|l| [(l.port_name(false), &l.forward), (l.port_name(true), &l.reverse)]);
    directions.filter_map(|(port, d)| Some((port, outside_in(&d.queue)?.text("class").to_string())))
}

/// Check that every class that the scenario names was handed over.
///
/// # Errors
/// The errors are those of [`handed_for`].
pub fn all_handed(spec: &Spec, handed: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    for link in &spec.links {
        handed_for(link, false, &handed)?;
        handed_for(link, true, &handed)?;
    }
    Ok(())
}

fn missing(port: &str, class: &str) -> Refusal {
    Refusal::new(
        format!("the queue at {port} is the Python class {class}, which the run did not get"),
        format!("give it: queues={{\"{port}\": {}}}", short(class)),
    )
}

/// The class without its module.
pub fn short(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}
