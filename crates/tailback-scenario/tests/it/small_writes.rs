//! Small writes over a two-way connection beside ns-2.35: 100 B every 20 ms, one way alone and beside data without end
//! the other way.
//!
//! 100 Mb/s and 20 ms, then 10 Mb/s and 10 ms, 49 packets waiting at most in each direction; the two-way agents with
//! every segment acknowledged (`tests/reference/sessions/README.md`, cases `ft_small_*`). Nagle's rule holds a write
//! while one is outstanding, and an ACK is due after 960 B or at a tick of the 100 ms clock: so a segment of five
//! writes leaves every 100 ms. Beside data the other way held writes leave with the ACKs of that, and nothing is held.

use crate::common::*;
use tailback_base::{Duration, Kind, Model, Param, Time};
use tailback_sim::library::Library;
use tailback_sim::traffic::application::{AppInput, Application, Net, Side};
use tailback_sim::traffic::entry::{Entry, Facts, Offer, Output, anything};
use tailback_transport::Amount;

static MODEL: Model = Model {
    name: "small-writes",
    family: "traffic",
    title: "Small writes",
    summary: "Writes 100 B every 20 ms; the destination may send without end from 1 s on.",
    source: "",
    params: &[Param::new("beside", Kind::Bool, "false", "Whether it does.", "")],
    probes: &[],
};

static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, _| {
        Box::new(SmallWrites {
            beside: s.flag("beside"),
            since: Time::ZERO,
        })
    },
    check: anything,
    offer: |_, _| Offer::paced(Some(40_000.0), 140.0),
    facts: Facts {
        output: Output::Stream,
        listens: false,
        own_address: false,
    },
};

struct SmallWrites {
    beside: bool,
    since: Time,
}

impl Application for SmallWrites {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start => self.since = net.now(),
            AppInput::Wake => {}
            _ => return,
        }
        net.write(flow, Side::Source, Amount::Bytes(100));
        let second = Duration::from_millis(1000);
        if self.beside && net.now() - self.since == second {
            net.write(flow, Side::Destination, Amount::Unlimited);
        }
        net.wake(net.now() + Duration::from_millis(20));
    }
}

/// Per direction: packets with data, packets without, goodput in Mb/s with 1000 B for each 960.
fn run_case(beside: bool) -> [[f64; 3]; 2] {
    let mut library = Library::standard().clone();
    library.add(&ENTRY);
    let o = run_with(
        &library,
        &format!(
            "duration = \"100s\"\nwarmup = \"20s\"\n\
             [link.access]\nfrom = \"s\"\nto = \"r1\"\nrate = \"100Mbps\"\ndelay = \"20ms\"\n\
             queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n\
             [link.line]\nfrom = \"r1\"\nto = \"r2\"\nrate = \"10Mbps\"\ndelay = \"10ms\"\n\
             queue = {{ kind = \"droptail\", buffer = \"49 packets\" }}\n\
             [flows.f]\nfrom = \"s\"\nto = \"r2\"\nstart = \"0.502689s\"\n\
             traffic = {{ kind = \"small-writes\", beside = {beside} }}\n\
             tcp = {{ profile = \"ns2-full\", payload = \"960B\", window_cap = \"10000 packets\" }}\n"
        ),
    );
    let flow = |column: &str| of(&o["flows"], "f.0", column);
    [("", "line"), ("reverse_", "line.reverse")].map(|(prefix, link)| {
        let data = flow(&format!("{prefix}sent_packets"));
        let all = of(&o["links"], link, "arrived_packets");
        [data, all - data, flow(&format!("{prefix}goodput_bps")) / 0.96 / 1e6]
    })
}

#[test]
fn small_writes() {
    // Theirs: data left, ACK-only left, data right, ACK-only right.
    for (beside, theirs) in [
        (false, [800.0, 0.0, 0.0, 801.0]),
        (true, [4000.0, 94258.0, 98271.0, 0.0]),
    ] {
        let [left, right] = run_case(beside);
        let ours = [left[0], left[1], right[0], right[1]];
        println!(
            "beside {beside}: ours {ours:?}, theirs {theirs:?}; goodput {} and {} Mb/s",
            left[2], right[2]
        );
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            near(ours, theirs, (0.01 * theirs).max(1.0));
        }
    }
}
