//! Requests and responses: a client sends a request, waits for the whole response, pauses, and sends the next
//! request.
//!
//! In closed mode, as for people with a browser or programs that call each other, the next request waits for the
//! previous response, so a slow network gets fewer requests. In open mode, as for a crowd that is too large to be
//! affected by its own waits, requests are a Poisson process. A request opens another connection if all connections are
//! busy. The time of a transfer runs from the request to the last byte of the response, on one clock; it includes the
//! opening of a connection, if one is opened.
//!
//! [`super::exchange`] decides which connection is used. Sizes, pauses, the server's times and the times between
//! requests are drawn from separate streams.

use super::exchange::{self, CONNECTION, Connections, Exchanges, PendingAnswer, REQUEST, Step};
use super::{Asks, Context, Entry, ServersAsked, mean_of, median_of};
use crate::declare::kinds::SOME_TIME;
use crate::traffic::agenda::Agenda;
use crate::traffic::application::{AppInput, Application, Net};
use crate::traffic::conflict::Conflict;
use crate::traffic::laws::Draw;
use tailback_base::{Duration, Key, Kind, Model, Param, Settings, Stream, choice, params};

pub static MODEL: Model = Model {
    name: "requests",
    family: "session",
    title: "Requests and responses",
    summary: "Each client sends a request, waits for the whole response, pauses, and does so again; or its requests \
              come at random times, whether or not earlier responses have arrived. A transfer is a response; its time \
              begins with the request.",
    source: "",
    params: PARAMS,
    probes: &[],
};

choice! {
    enum Mode {
        Closed = "closed",
        Open = "open",
    }
}

params! {
    const PARAMS;

    REQUEST;
    RESPONSE = Param::new("response", Kind::Model("transfer-size"), "", "How many bytes a response has.", "");
    THINK = Param::new("think", Kind::Model("pause"), "none",
        "How long a client waits after a response. Default: no time.", "");
    SERVER_TIME = exchange::SERVER_TIME;
    MODE: Mode = Key::choice("mode", "closed",
        "Whether the next request waits for the previous response, or comes at its own time in any case.", "");
    MEAN_GAP: Option<Duration> = Key::new("mean_gap", SOME_TIME, "none",
        "In mode open: the mean time from one request of a client to the next; the requests are a Poisson process.",
        "");
    REQUESTS: Option<u64> = Key::new("requests", Kind::Count { min: 1, max: 1 << 32 }, "none",
        "How many requests each client makes. Default: as many as it can until it stops.", "");
    CONNECTION;
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    servers: ServersAsked::One,
    build: |s, context| Box::new(Requests::new(s, &context)),
    check: paced_once,
    asks: |s| Asks {
        gap: s.number(MEAN_GAP.name).or_else(|| mean_of(s, &THINK)).unwrap_or(0.0),
        open: s.get(&MEAN_GAP).is_some(),
        most: s.number(REQUESTS.name).unwrap_or(f64::INFINITY),
        transfers: 1.0,
        at_once: 1.0,
        bytes: median_of(s, &RESPONSE).unwrap_or(1.0),
        new_connections: s.get(&CONNECTION) == Connections::New,
    },
};

/// Exactly one parameter must give the time of the next request.
fn paced_once(s: &Settings) -> Result<(), Conflict> {
    let open = s.get(&MODE) == Mode::Open;
    let wrong = |param: &'static str, problem: &str, remedy: &'static str| {
        Err(Conflict {
            param,
            value: None,
            problem: problem.into(),
            remedy,
        })
    };
    match (open, s.get(&MEAN_GAP).is_none(), s.nested(THINK.name).is_none()) {
        (true, true, _) => wrong(
            MODE.name,
            "requests in mode open come at a rate of their own, but no rate is given",
            "add mean_gap = \"1s\" or so, the mean time from one request to the next",
        ),
        (true, _, false) => wrong(
            THINK.name,
            "think is a pause after a response, but requests in mode open do not wait for responses",
            "leave think out, or mode = \"open\" and mean_gap",
        ),
        (false, false, _) => wrong(
            MEAN_GAP.name,
            "mean_gap does nothing in mode closed, where the next request follows the response before it",
            "add mode = \"open\", or give the pause after a response as think",
        ),
        _ => Ok(()),
    }
}

/// The rule for the time of the next request.
enum NextRequest {
    /// After the previous response, and this pause.
    AfterResponse(Option<Box<dyn Draw>>, Stream),
    /// After the previous request, with this mean time.
    AtRandom(Duration, Stream),
}

/// A task that is due at an instant.
enum RequestDue {
    Request,
    Answer(PendingAnswer),
}

/// One client, and the server that answers it.
struct Requests {
    exchanges: Exchanges,
    response: Box<dyn Draw>,
    sizes: Stream,
    next: NextRequest,
    agenda: Agenda<RequestDue>,
    /// The number of requests that are left to make; `None` for no limit.
    left: Option<u64>,
    stopped: bool,
}

impl Requests {
    fn new(s: &Settings, context: &Context) -> Requests {
        // The gap is given only in the open mode.
        let next = match s.get(&MEAN_GAP) {
            None => NextRequest::AfterResponse(context.law(s, &THINK), (context.stream)(THINK.name)),
            Some(mean) => NextRequest::AtRandom(mean, (context.stream)("gap")),
        };
        Requests {
            exchanges: Exchanges::new(s, context),
            response: context.law_within(s, &RESPONSE),
            sizes: (context.stream)(RESPONSE.name),
            next,
            agenda: Agenda::default(),
            left: s.get(&REQUESTS),
            stopped: false,
        }
    }

    fn ask(&mut self, net: &mut dyn Net) {
        self.left = self.left.map(|n| n - 1);
        let response = self.response.whole(&mut self.sizes);
        self.exchanges.ask(response, net);
        self.put_next_at_random(net);
    }

    /// In open mode the next request does not wait.
    fn put_next_at_random(&mut self, net: &mut dyn Net) {
        if self.is_over() {
            return;
        }
        if let NextRequest::AtRandom(mean, gaps) = &mut self.next {
            let gap = Duration(gaps.exponential(mean.0 as f64) as u64);
            let at = net.now() + gap;
            self.agenda.put(at, RequestDue::Request, net);
        }
    }

    /// Whether no request will follow.
    fn is_over(&self) -> bool {
        self.stopped || self.left == Some(0)
    }

    /// A response is complete, or was given up.
    fn go_on(&mut self, net: &mut dyn Net) {
        if self.is_over() {
            return self.end_if_idle(net);
        }
        match &mut self.next {
            NextRequest::AfterResponse(Some(law), pauses) => {
                let at = net.now() + Duration(law.whole(pauses));
                self.agenda.put(at, RequestDue::Request, net);
            }
            NextRequest::AfterResponse(None, _) => self.ask(net),
            NextRequest::AtRandom(..) => {}
        }
    }

    fn end_if_idle(&mut self, net: &mut dyn Net) {
        if self.is_over() && self.exchanges.under_way() == 0 {
            self.exchanges.close(net);
            net.finished();
        }
    }

    fn take(&mut self, step: Step, net: &mut dyn Net) {
        match step {
            Step::Nothing => {}
            Step::AnswerAt(at, answer) => self.agenda.put(at, RequestDue::Answer(answer), net),
            Step::Over { .. } => self.go_on(net),
        }
    }
}

impl Application for Requests {
    fn waits_for_transfers(&self) -> bool {
        true
    }

    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start if !self.stopped => match self.next {
                NextRequest::AfterResponse(..) => self.ask(net),
                NextRequest::AtRandom(..) => self.put_next_at_random(net),
            },
            AppInput::Wake => {
                while let Some(due) = self.agenda.take(net) {
                    match due {
                        RequestDue::Request if !self.is_over() => self.ask(net),
                        RequestDue::Request => {}
                        RequestDue::Answer(answer) => self.exchanges.answer(answer, net),
                    }
                }
            }
            AppInput::Stop => {
                self.stopped = true;
                // A response in progress is still delivered.
                self.end_if_idle(net);
            }
            AppInput::Transport { flow, side, event } => {
                let step = self.exchanges.on(flow, side, event, net);
                self.take(step, net);
            }
            _ => {}
        }
    }
}
