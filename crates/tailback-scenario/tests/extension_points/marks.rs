//! A controller that wants to know of every ACK whether what it acknowledges was marked.
//!
//! Shows: `Facts::echo` in the controller's row, which the receiver follows; `AckEvent::ecn_echo` with the bytes it
//! is about. By RFC 3168 a receiver repeats the echo until the sender answers; a controller that estimates the share
//! of marks needs each mark once (RFC 8257).

use crate::common::*;
use tailback_base::{Model, ProbeDef};
use tailback_scenario::load_text_with;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::Library;
use tailback_sim::run::run;
use tailback_transport::tcp::congestion::{
    AckEvent, CongestionControl, CongestionEvent, Controller, EchoRule, Facts, Handover, Reset,
};

static COUNTING: Controller = Controller {
    also: &[],
    model: &Model {
        name: "counting",
        family: "congestion",
        title: "Counting marks",
        summary: "A constant window, and the share of bytes that came through marked.",
        source: "",
        params: &[],
        probes: &[ProbeDef {
            name: "marked",
            unit: "1",
            doc: "share of the acknowledged bytes that was marked",
            per: "",
        }],
    },
    facts: Facts {
        echo: EchoRule::EveryAck,
        ..Facts::CLASSIC
    },
    build: |_, rules| {
        Box::new(Counting {
            window: rules.initial_window,
            acked: 0,
            marked: 0,
        })
    },
};

struct Counting {
    window: f64,
    acked: u64,
    marked: u64,
}

impl CongestionControl for Counting {
    fn on_ack(&mut self, a: &AckEvent<'_>) {
        self.acked += a.acked;
        self.marked += if a.ecn_echo { a.acked } else { 0 };
    }
    fn on_congestion(&mut self, _e: &CongestionEvent) {}
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
        self.marked as f64 / self.acked as f64
    }
}

/// Every tenth segment is marked, whether each is acknowledged or every third.
#[test]
fn the_share_of_marks_is_exact() {
    let mut library = Library::standard().clone();
    library.add(&COUNTING);
    for delayed in [1, 2, 3] {
        let text = format!(
            "duration = \"10s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
             queue = {{ kind = \"droptail\", buffer = \"100 packets\" }}\nimpair = [{{ kind = \"every-nth\", n = 10, \
             action = \"mark\" }}]\n\
             [flows.f]\nfrom = \"a\"\nto = \"b\"\ntraffic = \"bulk\"\n\
             tcp = {{ congestion = \"counting\", delayed_ack = {delayed} }}\n\
             [record.r]\nflows = \"f\"\nprobes = [\"marked\"]\nevery = \"1s\"\n"
        );
        let loaded = load_text_with(&library, &text, "lab.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let hooks = Hooks {
            library: Some(&library),
            ..Hooks::default()
        };
        let o = run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
        let share = last(&o, "marked");
        assert!(
            (share - 0.1).abs() < 0.005,
            "{share} with an ACK every {delayed} segments"
        );
    }
}
