//! Requests to many servers at once: a client sends requests to all servers of its table, waits until the last answer
//! has arrived, pauses, and sends the next requests.
//!
//! This is the pattern of partition and aggregate in search, of striped storage and of the shuffle of a sort. The
//! answers arrive together at the client's port (incast). The next request waits for the slowest answer, so one server
//! that loses its last packet delays all of them by a timeout. V. Vasudevan et al., "Safe and Effective Fine-grained
//! TCP Retransmissions for Datacenter Communication", SIGCOMM 2009, section 2; M. Alizadeh et al., "Data Center TCP
//! (DCTCP)", SIGCOMM 2010, section 4.2.1.
//!
//! A transfer is the answer of one server. A request with all its answers is a page, so the table of pages has its
//! completion time. [`super::exchange`] decides which connections are used: each server has its own.
//!
//! Pauses, the servers' times and the sizes of answers are drawn from separate streams.

use super::exchange::{self, CONNECTION, Connections, Exchanges, PendingAnswer, REQUEST, Step};
use super::{Asks, Context, Entry, ServersAsked, mean_of, median_of};
use crate::traffic::agenda::Agenda;
use crate::traffic::application::{AppInput, Application, Net, NodeId, PageId};
use crate::traffic::conflict::Conflict;
use crate::traffic::laws::Draw;
use tailback_base::{Duration, Key, Kind, Model, Param, Settings, Stream, params};

pub static MODEL: Model = Model {
    name: "incast",
    family: "session",
    title: "Requests to many servers at once",
    summary: "Each client asks all servers at the same instant, waits for the last of their answers, pauses, and asks \
              again. A transfer is the answer of a server; a page is a request with all its answers.",
    source: "Alizadeh et al. 2010, section 4.2.1",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    REQUEST;
    RESPONSE = Param::new("response", Kind::Model("transfer-size"), "none",
        "How many bytes the answer of each server has. Default: its part of `total`.", "");
    pub TOTAL: Option<u64> = Key::new("total", Kind::Bytes { min: 1, max: 1 << 50 }, "none",
        "How many bytes all servers answer together, in equal parts; in place of `response`.",
        "1MB: Alizadeh et al. 2010, section 4.2.1");
    THINK = Param::new("think", Kind::Model("pause"), "none",
        "How long a client waits after the last answer. Default: no time.", "");
    SERVER_TIME = exchange::SERVER_TIME;
    REQUESTS: Option<u64> = Key::new("requests", Kind::Count { min: 1, max: 1 << 32 }, "none",
        "How many requests each client makes. Default: as many as it can until it stops.", "");
    CONNECTION;
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    servers: ServersAsked::All,
    build: |s, context| Box::new(FanIn::new(s, &context)),
    check: sized_once,
    asks: |s| Asks {
        gap: mean_of(s, &THINK).unwrap_or(0.0),
        open: false,
        most: s.number(REQUESTS.name).unwrap_or(f64::INFINITY),
        transfers: 1.0,
        at_once: 1.0,
        // Each server has its part of `total`, which depends on the number of servers.
        bytes: median_of(s, &RESPONSE).or(s.number(TOTAL.name)).unwrap_or(1.0),
        new_connections: s.get(&CONNECTION) == Connections::New,
    },
};

/// Exactly one parameter must say how much a server answers.
fn sized_once(s: &Settings) -> Result<(), Conflict> {
    let problem = match (s.nested(RESPONSE.name).is_some(), s.get(&TOTAL).is_some()) {
        (true, true) => {
            "response and total are both given: response is the answer of each server, total the answer of \
             all together"
        }
        (false, false) => "response and total are missing, so the size of the answers is not known",
        _ => return Ok(()),
    };
    Err(Conflict {
        param: RESPONSE.name,
        value: None,
        problem: problem.into(),
        remedy: "give one of the two, such as total = \"1MB\"",
    })
}

/// The size of each server's answer.
enum AnswerSizes {
    Drawn(Box<dyn Draw>, Stream),
    PartOf(u64),
}

impl AnswerSizes {
    /// The bytes of server `i` of `n`. The first servers take the remainder of the division.
    fn of(&mut self, i: u64, n: u64) -> u64 {
        match self {
            AnswerSizes::Drawn(law, stream) => law.whole(stream),
            AnswerSizes::PartOf(total) => (*total / n + u64::from(i < *total % n)).max(1),
        }
    }
}

/// A task that is due at an instant.
enum FanInDue {
    Request,
    Answer(PendingAnswer),
}

/// One client.
struct FanIn {
    exchanges: Exchanges,
    servers: Vec<NodeId>,
    sizes: AnswerSizes,
    think: Option<(Box<dyn Draw>, Stream)>,
    agenda: Agenda<FanInDue>,
    /// The request in progress, the answers that are missing, and whether one was given up.
    present: Option<(PageId, usize, bool)>,
    /// The number of requests that are left to make; `None` for no limit.
    left: Option<u64>,
    stopped: bool,
}

impl FanIn {
    fn new(s: &Settings, context: &Context) -> FanIn {
        let sizes = match s.get(&TOTAL) {
            Some(total) => AnswerSizes::PartOf(total),
            None => AnswerSizes::Drawn(context.law_within(s, &RESPONSE), (context.stream)(RESPONSE.name)),
        };
        FanIn {
            exchanges: Exchanges::new(s, context),
            servers: context.servers.to_vec(),
            sizes,
            think: context.law(s, &THINK).map(|law| (law, (context.stream)(THINK.name))),
            agenda: Agenda::default(),
            present: None,
            left: s.get(&REQUESTS),
            stopped: false,
        }
    }

    fn ask_all(&mut self, net: &mut dyn Net) {
        self.left = self.left.map(|n| n - 1);
        let n = self.servers.len() as u64;
        let sizes: Vec<u64> = (0..n).map(|i| self.sizes.of(i, n)).collect();
        let page = net.begin_page(n, sizes.iter().sum());
        self.present = Some((page, sizes.len(), false));
        for (server, bytes) in self.servers.iter().zip(sizes) {
            self.exchanges.ask_of(*server);
            self.exchanges.ask(bytes, net);
        }
    }

    /// An answer is complete, or was given up.
    fn over(&mut self, complete: bool, net: &mut dyn Net) {
        let Some((page, missing, failed)) = &mut self.present else {
            return;
        };
        *missing -= 1;
        *failed |= !complete;
        if *missing > 0 {
            return;
        }
        if !*failed {
            net.end_page(*page);
        }
        self.present = None;
        if self.is_over() {
            return self.end(net);
        }
        match &mut self.think {
            Some((law, pauses)) => {
                let at = net.now() + Duration(law.whole(pauses));
                self.agenda.put(at, FanInDue::Request, net);
            }
            None => self.ask_all(net),
        }
    }

    /// Whether no request will follow.
    fn is_over(&self) -> bool {
        self.stopped || self.left == Some(0)
    }

    fn end(&mut self, net: &mut dyn Net) {
        self.exchanges.close(net);
        net.finished();
    }
}

impl Application for FanIn {
    fn waits_for_transfers(&self) -> bool {
        true
    }

    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start if !self.stopped => self.ask_all(net),
            AppInput::Wake => {
                while let Some(due) = self.agenda.take(net) {
                    match due {
                        FanInDue::Request if !self.is_over() => self.ask_all(net),
                        FanInDue::Request => {}
                        FanInDue::Answer(answer) => self.exchanges.answer(answer, net),
                    }
                }
            }
            AppInput::Stop => {
                self.stopped = true;
                // A request in progress is still answered.
                if self.present.is_none() {
                    self.end(net);
                }
            }
            AppInput::Transport { flow, side, event } => match self.exchanges.on(flow, side, event, net) {
                Step::Nothing => {}
                Step::AnswerAt(at, answer) => self.agenda.put(at, FanInDue::Answer(answer), net),
                Step::Over { complete, .. } => self.over(complete, net),
            },
            _ => {}
        }
    }
}
