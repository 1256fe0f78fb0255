//! People who read pages: a main object, a pause while it is parsed, the objects embedded in it, and a pause while
//! the page is read.
//!
//! Published mixes are available as presets. `3gpp` is the browsing model of 3GPP2 C.R1002-0 and 3GPP TR 25.892, which
//! many simulators use. Sizes outside their bounds are drawn again, and the number of objects is clipped at its largest
//! value. Only the clipping gives the mean of 5.64 that the source states. `surge` is Barford and Crovella, "Generating
//! Representative Web Workloads for Network and Server Performance Evaluation", SIGMETRICS 1998: log-normal sizes with
//! a Pareto tail, a number of objects that includes the main one, and heavy-tailed pauses.
//!
//! A client fetches one object after the other over one kept connection, as in HTTP/1.1 without pipelining, or up to
//! `parallel` at once over that many connections, as browsers do. Or it requests each object a `gap` after the previous
//! one, over a separate connection, as in HTTP/1.0 and in ns-2's web traffic (presets `ns2-large`, `ns2-small`). A page
//! is complete when its last object is delivered; its time begins with the request for the main object. All sizes,
//! numbers and pauses of a client come from separate streams, and the sizes of a page are drawn when it begins, so that
//! another transport gets the same pages.

use super::exchange::{self, Connections, Exchanges, PendingAnswer, REQUEST, Step};
use super::objects::{self, Objects};
use super::{Asks, Context, Entry, ServersAsked, mean_of, median_of};
use crate::traffic::agenda::Agenda;
use crate::traffic::application::{AppInput, Application, Net, NodeId, PageId};
use crate::traffic::conflict::Conflict;
use crate::traffic::laws::Draw;
use tailback_base::model::Profile;
use tailback_base::{Duration, Key, Kind, Model, Param, Settings, Stream, params};

/// The published mixes.
const PRESETS: &[Profile] = &[
    Profile {
        name: "3gpp",
        doc: "the browsing model of 3GPP2 C.R1002-0: pages of 57 kB on average, read for 30 s",
        values: &[
            (
                "main",
                "{ kind = log-normal, mean = 10710B, shape = 1.366, min = 100B, max = 2MB }",
            ),
            ("objects", "{ kind = pareto, min = 2, shape = 1.1, max = 55 }"),
            (
                "embedded",
                "{ kind = log-normal, mean = 7758B, shape = 2.363, min = 50B, max = 2MB }",
            ),
            ("parse", "{ kind = exponential, mean = 130ms }"),
            ("think", "{ kind = exponential, mean = 30s }"),
        ],
    },
    Profile {
        name: "ns2-large",
        doc: "ns-2's large web example: pages of one object of 12 packets on average, read for 15 s, HTTP/1.0",
        values: &[
            ("main", NS2_OBJECT),
            ("objects", "{ kind = constant, objects = 0 }"),
            ("embedded", NS2_OBJECT),
            ("gap", NS2_GAP),
            ("think", "{ kind = exponential, mean = 15s }"),
            ("request", "1000B"),
            ("connection", "new"),
            ("pages", "5"),
        ],
    },
    Profile {
        name: "ns2-small",
        doc: "ns-2's small web example: objects of 10 packets on average, read for 1 s",
        values: &[
            ("preset", "ns2-large"),
            ("main", NS2_SMALL_OBJECT),
            ("embedded", NS2_SMALL_OBJECT),
            ("think", "{ kind = exponential, mean = 1s }"),
        ],
    },
    Profile {
        name: "habib-2000",
        doc: "ns-2's large web example with a Pareto number of objects, 4 on average",
        values: &[
            ("preset", "ns2-large"),
            (
                "objects",
                "{ kind = pareto, min = 0.6666667, shape = 1.2, counts = all }",
            ),
        ],
    },
    Profile {
        name: "surge",
        doc: "Barford and Crovella 1998: log-normal objects with a Pareto tail, heavy-tailed pauses",
        values: &[
            ("main", SURGE_OBJECT),
            ("objects", "{ kind = pareto, min = 1, shape = 2.43, rounding = down }"),
            ("embedded", SURGE_OBJECT),
            ("think", "{ kind = pareto, mean = 3s, shape = 1.5, max = 280800s }"),
        ],
    },
];

/// Whole packets of 1000 bytes, from a Pareto distribution that begins at zero.
const NS2_OBJECT: &str = "{ kind = lomax, mean = 12kB, shape = 1.2, step = 1kB }";
const NS2_SMALL_OBJECT: &str = "{ kind = lomax, mean = 10kB, shape = 1.2, step = 1kB }";
const NS2_GAP: &str = "{ kind = exponential, mean = 10ms }";

/// The body's logarithm has mean 9.357 and standard deviation 1.318, so that its mean is 27600 B.
const SURGE_OBJECT: &str = "{ kind = body-and-tail, mean = 27600B, shape = 1.318, share = 0.07, tail_min = 133000B, \
                            tail_shape = 1.1, max = 100MB }";

pub static MODEL: Model = Model {
    name: "web",
    family: "session",
    title: "Web pages",
    summary: "Each client fetches a page (its main object, then the objects embedded in it), reads it, and fetches \
              the next. A transfer is an object; pages have a table of their own.",
    source: "3GPP2 C.R1002-0; Barford and Crovella 1998",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    PRESET = Param::new("preset", Kind::Profile(PRESETS), "3gpp",
        "The published model, which supplies the values that are not given here.", "");
    REQUEST;
    MAIN = Param::new("main", Kind::Model("transfer-size"), "none",
        "How many bytes a main object has. Default: as the preset says.", "");
    OBJECTS = Param::new("objects", Kind::Model("object-count"), "none",
        "How many objects are embedded in a page. Default: as the preset says.", "");
    EMBEDDED = Param::new("embedded", Kind::Model("transfer-size"), "none",
        "How many bytes an embedded object has. Default: as the preset says.", "");
    PARSE = Param::new("parse", Kind::Model("pause"), "none",
        "How long a client needs from the main object to the request for the first embedded one. Default: as the \
         preset says.", "");
    GAP = Param::new("gap", Kind::Model("pause"), "none",
        "The time from the request for one object of a page to the request for the next, whatever has arrived so far, \
         as in HTTP/1.0 browsers. Default: embedded objects wait for the main one and for a free connection.", "");
    THINK = Param::new("think", Kind::Model("pause"), "none",
        "How long a page is read before the next is asked for. Default: as the preset says.", "");
    SERVER_TIME = exchange::SERVER_TIME;
    PARALLEL: u32 = Key::new("parallel", Kind::Count { min: 1, max: 1000 }, "1",
        "How many objects of a page are fetched at one time at most, each over a connection of its own.", "");
    CONNECTION: Connections = exchange::CONNECTION.with_doc(
        "Whether connections are kept from one object to the next and from page to page, or opened anew for each \
         object.");
    pub PAGE_SERVERS: Vec<String> = Key::new("page_servers", Kind::List(&Kind::Text), "none",
        "Nodes from which each page draws its server, as in ns-2. Default: the server is always `from`.", "");
    PAGES: Option<u64> = Key::new("pages", Kind::Count { min: 1, max: 1 << 32 }, "none",
        "How many pages each client fetches. Default: as many as it can until it stops.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    servers: ServersAsked::One,
    build: |s, context| Box::new(Web::new(s, &context)),
    check: |s| {
        s.nested(OBJECTS.name).map_or(Ok(()), objects::check)?;
        draws_servers_for_new_connections(s)?;
        waits_for_one_thing(s)
    },
    asks: |s| {
        let objects = s.nested(OBJECTS.name).map_or(0.0, objects::mean);
        let by_gaps = s.nested(GAP.name).is_some();
        let [main, embedded] = [MAIN, EMBEDDED].map(|param| median_of(s, &param).unwrap_or(1.0));
        Asks {
            gap: mean_of(s, &THINK).unwrap_or(0.0),
            open: false,
            most: s.number(PAGES.name).unwrap_or(f64::INFINITY),
            transfers: 1.0 + objects,
            at_once: if by_gaps {
                1.0 + objects
            } else {
                f64::from(s.get(&PARALLEL))
            },
            bytes: (main + objects * embedded) / (1.0 + objects),
            new_connections: s.get(&CONNECTION) == Connections::New,
        }
    },
};

/// A kept connection cannot change its server.
fn draws_servers_for_new_connections(s: &Settings) -> Result<(), Conflict> {
    if s.get(&PAGE_SERVERS).is_empty() || s.get(&CONNECTION) == Connections::New {
        return Ok(());
    }
    Err(Conflict {
        param: PAGE_SERVERS.name,
        value: None,
        problem: "connections are kept from page to page, but each page draws its server from page_servers".into(),
        remedy: "give connection = \"new\", or leave page_servers out",
    })
}

/// Objects come at fixed gaps, or they wait for the main object and for connections, but not both.
fn waits_for_one_thing(s: &Settings) -> Result<(), Conflict> {
    let waits = [PARSE.name, PARALLEL.name].into_iter().find(|p| s.is_given(p));
    let Some(param) = waits.filter(|_| s.nested(GAP.name).is_some()) else {
        return Ok(());
    };
    Err(Conflict {
        param,
        value: None,
        problem: format!("{param} says what objects wait for, but with gap they wait for nothing"),
        remedy: "leave one of them out, or choose a preset without gap",
    })
}

/// A distribution and the stream from which it draws.
struct Source<D> {
    law: D,
    stream: Stream,
}

impl Source<Box<dyn Draw>> {
    fn whole(&mut self) -> u64 {
        self.law.whole(&mut self.stream)
    }
}

/// A task that is due at an instant.
enum PageDue {
    Page,
    /// The main object is parsed.
    Parsed,
    /// The gap before the next object is over.
    Object,
    Answer(PendingAnswer),
}

/// The page that is being fetched.
struct Page {
    id: PageId,
    /// Sizes of the embedded objects that are not yet requested, the last one first.
    left: Vec<u64>,
    /// Whether the main object has been parsed.
    parsed: bool,
    /// An object was given up.
    failed: bool,
}

/// One client.
struct Web {
    exchanges: Exchanges,
    main: Source<Box<dyn Draw>>,
    objects: Source<Objects>,
    embedded: Source<Box<dyn Draw>>,
    parse: Option<Source<Box<dyn Draw>>>,
    gap: Option<Source<Box<dyn Draw>>>,
    think: Option<Source<Box<dyn Draw>>>,
    parallel: usize,
    /// The number of pages that are left to fetch; `None` for no limit.
    left: Option<u64>,
    /// Each page draws its server from these, if there are any.
    servers: Source<Vec<NodeId>>,
    page: Option<Page>,
    agenda: Agenda<PageDue>,
    stopped: bool,
}

impl Web {
    fn new(s: &Settings, context: &Context) -> Web {
        let source = |param: &Param| {
            let stream = (context.stream)(param.name);
            context.law(s, param).map(|law| Source { law, stream })
        };
        // Every preset has these.
        let within = |param: &Param| Source {
            law: context.law_within(s, param),
            stream: (context.stream)(param.name),
        };
        Web {
            exchanges: Exchanges::new(s, context),
            main: within(&MAIN),
            objects: Source {
                law: Objects::new(s.within(OBJECTS.name)),
                stream: (context.stream)(OBJECTS.name),
            },
            embedded: within(&EMBEDDED),
            parse: source(&PARSE),
            gap: source(&GAP),
            think: source(&THINK),
            parallel: s.get(&PARALLEL) as usize,
            left: s.get(&PAGES),
            servers: Source {
                law: context.page_servers.clone(),
                stream: (context.stream)("server"),
            },
            page: None,
            agenda: Agenda::default(),
            stopped: false,
        }
    }

    fn begin(&mut self, net: &mut dyn Net) {
        self.left = self.left.map(|n| n - 1);
        if !self.servers.law.is_empty() {
            let index = self.servers.stream.below(self.servers.law.len() as u64);
            self.exchanges.ask_of(self.servers.law[index as usize]);
        }
        let main = self.main.whole();
        let embedded = self.objects.law.draw(&mut self.objects.stream);
        let mut left: Vec<u64> = (0..embedded).map(|_| self.embedded.whole()).collect();
        left.reverse();
        let id = net.begin_page(1 + embedded, main + left.iter().sum::<u64>());
        self.page = Some(Page {
            id,
            left,
            // With gaps the next object does not wait for the parsing.
            parsed: self.gap.is_some(),
            failed: false,
        });
        self.exchanges.ask(main, net);
        self.wait_for_object(net);
    }

    /// The next object is requested after a gap, if there is one.
    fn wait_for_object(&mut self, net: &mut dyn Net) {
        let has_objects = self.page.as_ref().is_some_and(|p| !p.left.is_empty());
        if let Some(gap) = self.gap.as_mut().filter(|_| has_objects) {
            let at = net.now() + Duration(gap.whole());
            self.agenda.put(at, PageDue::Object, net);
        }
    }

    fn ask_next(&mut self, net: &mut dyn Net) {
        if let Some(bytes) = self.page.as_mut().and_then(|p| p.left.pop()) {
            self.exchanges.ask(bytes, net);
        }
        self.wait_for_object(net);
    }

    /// An object is complete, or was given up.
    fn over(&mut self, complete: bool, net: &mut dyn Net) {
        let Some(page) = &mut self.page else { return };
        page.failed |= !complete;
        if page.parsed {
            return self.fetch(net);
        }
        if !complete {
            // The objects embedded in it are unknown.
            page.left.clear();
        }
        match &mut self.parse {
            Some(parse) if !page.left.is_empty() => {
                let at = net.now() + Duration(parse.whole());
                self.agenda.put(at, PageDue::Parsed, net);
            }
            _ => self.parsed(net),
        }
    }

    fn parsed(&mut self, net: &mut dyn Net) {
        if let Some(page) = &mut self.page {
            page.parsed = true;
        }
        self.fetch(net);
    }

    /// Request the objects that may be requested. If none is left or in progress, the page is over.
    fn fetch(&mut self, net: &mut dyn Net) {
        let Some(page) = &mut self.page else { return };
        let mut under_way = self.exchanges.under_way();
        if self.gap.is_some() {
            under_way += page.left.len();
        }
        while under_way < self.parallel
            && self.gap.is_none()
            && let Some(bytes) = page.left.pop()
        {
            self.exchanges.ask(bytes, net);
            under_way += 1;
        }
        if under_way > 0 {
            return;
        }
        if !page.failed {
            net.end_page(page.id);
        }
        self.page = None;
        if self.is_over() {
            return self.end(net);
        }
        match &mut self.think {
            Some(think) => {
                let at = net.now() + Duration(think.whole());
                self.agenda.put(at, PageDue::Page, net);
            }
            None => self.begin(net),
        }
    }

    /// Whether no page will follow.
    fn is_over(&self) -> bool {
        self.stopped || self.left == Some(0)
    }

    fn end(&mut self, net: &mut dyn Net) {
        self.exchanges.close(net);
        net.finished();
    }

    fn on_due(&mut self, due: PageDue, net: &mut dyn Net) {
        match due {
            PageDue::Page if !self.is_over() => self.begin(net),
            PageDue::Page => {}
            PageDue::Parsed => self.parsed(net),
            PageDue::Object => self.ask_next(net),
            PageDue::Answer(answer) => self.exchanges.answer(answer, net),
        }
    }
}

impl Application for Web {
    fn waits_for_transfers(&self) -> bool {
        true
    }

    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start if !self.stopped => self.begin(net),
            AppInput::Wake => {
                while let Some(due) = self.agenda.take(net) {
                    self.on_due(due, net);
                }
            }
            AppInput::Stop => {
                self.stopped = true;
                // A page in progress is still fetched.
                if self.page.is_none() {
                    self.end(net);
                }
            }
            AppInput::Transport { flow, side, event } => match self.exchanges.on(flow, side, event, net) {
                Step::Nothing => {}
                Step::AnswerAt(at, answer) => self.agenda.put(at, PageDue::Answer(answer), net),
                Step::Over { complete, .. } => self.over(complete, net),
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
