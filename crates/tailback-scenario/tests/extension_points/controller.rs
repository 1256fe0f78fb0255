//! A congestion control of a user's own, named in a scenario with its parameter; and what a router asks of it.
//!
//! Shows: a `Controller` row with a model, a parameter and a probe; `Library::add`; `Out::request`
//! from a discipline, which reaches the controller as `Congestion::Request`.

use crate::common::*;
use std::collections::VecDeque;
use tailback_base::{Kind, Model, Packet, Param, ProbeDef, Request, Settings};
use tailback_queue::{Backlog, DropReason, Line, Out, Place, QueueDiscipline, Service};
use tailback_scenario::load_text_with;
use tailback_sim::build::hooks::{Hooks, PortContext};
use tailback_sim::library::Library;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::run::run;
use tailback_sim::wire::packet::SimPacket;
use tailback_transport::tcp::congestion::{
    AckEvent, Congestion, CongestionControl, CongestionEvent, Controller, Facts, Handover, Phase, Reset, WindowRules,
};

static STEADY: Controller = Controller {
    also: &[],
    model: &Model {
        name: "steady",
        family: "congestion",
        title: "Steady growth",
        summary: "Grows by so many segments a round trip from the start, and does what routers ask.",
        source: "",
        params: &[Param::new(
            "step",
            Kind::Real { min: 0.0, max: 100.0 },
            "1",
            "Segments a round trip.",
            "",
        )],
        probes: &[ProbeDef {
            name: "asked",
            unit: "1",
            doc: "requests of routers so far",
            per: "",
        }],
    },
    facts: Facts::CLASSIC,
    build: |own, rules| {
        let (window, step) = (rules.initial_window, own.real("step"));
        Box::new(Steady {
            window,
            step,
            asked: 0.0,
            rules: **rules,
        })
    },
};

struct Steady {
    window: f64,
    step: f64,
    asked: f64,
    rules: WindowRules,
}

impl CongestionControl for Steady {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        if a.phase != Phase::Recovery {
            self.window += self.step * self.rules.segment * a.acked as f64 / self.window;
        }
    }
    fn on_congestion(&mut self, e: &CongestionEvent) {
        let mut keep = 0.5;
        if let Congestion::Request { keep: share, .. } = e.what {
            (self.asked, keep) = (self.asked + 1.0, share);
        }
        self.window = (self.window * keep).max(self.rules.segment);
    }
    fn window_reset(&mut self, _why: Reset) {}
    fn take_over(&mut self, from: &Handover) {
        self.window = from.cwnd;
    }
    fn cwnd(&self) -> f64 {
        self.window
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn read(&self, _probe: usize) -> f64 {
        self.asked
    }
}

/// A FIFO that asks the source of each packet which finds ten or more waiting to send a thirtieth less.
struct Asking(VecDeque<SimPacket>);

impl QueueDiscipline<SimPacket> for Asking {
    fn sends_requests(&self) -> bool {
        true
    }

    fn enqueue(&mut self, p: SimPacket, _line: &Line, out: &mut dyn Out<SimPacket>) {
        if self.0.len() >= 10 {
            out.request(&p, Request::SlowDown { level: 0, of: 15 });
        }
        if self.0.len() < 100 {
            return self.0.push_back(p);
        }
        out.dropped(p, Place::Arriving, DropReason::Overflow);
    }
    fn dequeue(&mut self, _line: &Line, _out: &mut dyn Out<SimPacket>) -> Service<SimPacket> {
        self.0.pop_front().map_or(Service::Empty, Service::Send)
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.0.iter().map(|p| u64::from(p.bytes())).sum();
        Backlog {
            packets: self.0.len() as u64,
            bytes,
        }
    }
}

fn lab(rate: &str, tcp: &str, asking: bool) -> Outcome {
    let mut library = Library::standard().clone();
    library.add(&STEADY);
    let text = format!(
        "duration = \"20s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\ndelay = \"20ms\"\n\
         queue = {{ kind = \"droptail\", buffer = \"100 packets\" }}\n\
         [flows.f]\nfrom = \"a\"\nto = \"b\"\ntraffic = \"bulk\"\ntcp = {{ {tcp} }}\n\
         [record.r]\nflows = \"f\"\nprobes = [\"cwnd\", \"asked\"]\nevery = \"1s\"\n"
    );
    let loaded = load_text_with(&library, &text, "lab.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let make = |_: PortContext| -> Box<dyn QueueDiscipline<SimPacket>> { Box::new(Asking(VecDeque::new())) };
    let mut hooks = Hooks {
        library: Some(&library),
        ..Hooks::default()
    };
    if asking {
        hooks.queues.insert("l".into(), &make);
    }
    run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_controller_is_named_with_its_parameter_and_probe() {
    // On a fast line the window grows by `step` a round trip of 40 ms.
    for (step, tcp) in [
        (1.0, "congestion = \"steady\""),
        (0.25, "congestion = { kind = \"steady\", step = 0.25 }"),
    ] {
        let o = lab("1Gbps", tcp, false);
        let grown = last(&o, "cwnd") - 10.0;
        let rounds = 20.0 / 0.040;
        assert!(
            (grown / (step * rounds) - 1.0).abs() < 0.03,
            "{grown} segments in {rounds} round trips"
        );
        assert_eq!(last(&o, "asked"), 0.0);
    }
}

#[test]
fn a_router_s_request_reaches_it() {
    let o = lab("10Mbps", "congestion = \"steady\"", true);
    let (asked, window) = (last(&o, "asked"), last(&o, "cwnd"));
    // The pipe holds 34 segments and ten wait: growth of one and cuts of a thirtieth keep it there, and nothing is
    // lost.
    assert!(
        asked > 100.0 && (35.0..60.0).contains(&window),
        "{asked} requests, window {window}"
    );
    assert_eq!(lost(&o, "l", "overflow"), 0.0);
}

#[test]
fn one_that_is_not_there_is_named_with_its_nearest() {
    let text = "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
                [flows.f]\nfrom = \"a\"\nto = \"b\"\ntcp = { congestion = \"rneo\" }\n";
    let e = load_text_with(Library::standard(), text, "lab.toml", &[])
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("flows.f.tcp.congestion") && e.contains("did you mean \"reno\""),
        "{e}"
    );
    assert!(Settings::defaults(STEADY.model).real("step") == 1.0);
}
