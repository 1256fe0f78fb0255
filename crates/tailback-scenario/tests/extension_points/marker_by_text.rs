//! A marker with a parameter of its own, which a scenario names: on the link of an edge router, and in each host.
//!
//! Shows: a row for a library of one's own; `conditioner` in a scenario; colours in `losses` and in recordings.

use crate::common::*;
use tailback_base::{Dscp, Kind, Model, Packet, Param, Time};
use tailback_conditioner::{Conditioner, EdgeOut, Entry, Facts, Header, Stands};
use tailback_sim::library::Library;
use tailback_sim::results::Outcome;
use tailback_sim::wire::packet::SimPacket;

static MODEL: Model = Model {
    name: "every-nth-red",
    family: "conditioner",
    title: "Red at intervals",
    summary: "Every n-th data packet is AF13, the others AF11.",
    source: "",
    params: &[Param::new(
        "n",
        Kind::Count { min: 1, max: 1000 },
        "",
        "one in so many",
        "",
    )],
    probes: &[],
};

struct EveryNth {
    n: u64,
    seen: u64,
}

impl Conditioner<SimPacket> for EveryNth {
    fn forward(&mut self, mut p: SimPacket, _: &Header, _: Time, out: &mut dyn EdgeOut<SimPacket>) {
        self.seen += u64::from(p.is_data());
        let red = p.is_data() && self.seen.is_multiple_of(self.n);
        p.set_dscp(Dscp(if red { 14 } else { 10 }));
        out.send(p);
    }
}

fn library() -> Library {
    let mut library = Library::standard().clone();
    library.add(Entry {
        model: &MODEL,
        build: |s, _| {
            Ok(Box::new(EveryNth {
                n: s.count("n"),
                seen: 0,
            }))
        },
        facts: Facts {
            stands: Stands::Anywhere,
        },
    });
    library
}

/// Two flows that send 2 Mb/s in all over a link of 1 Mb/s.
fn run(link: &str, flows: &str, edge: &str) -> Outcome {
    let text = format!(
        r#"
        duration = "10s"
        link.bottleneck = {{ {link} }}
        [topology]
        kind = "dumbbell"
        rate = "1Mbps"
        delay = "10ms"
        queue = {{ kind = "droptail", buffer = "10 packets" }}
        [flows.steady]
        count = 2
        traffic = {{ kind = "poisson", rate = "1Mbps" }}
        packet_size = "1000B"
        {flows}
        [record.colours]
        edge = "{edge}"
        probes = ["packets"]
        on_change = false
        every = "1s"
        "#
    );
    run_with(&library(), &text)
}

/// Packets lost at the bottleneck, by colour.
fn lost_by_colour(o: &Outcome, colour: &str) -> f64 {
    let t = &o["losses"];
    let rows = (0..t.rows()).filter(|i| text(t, "link", *i) == "bottleneck" && text(t, "colour", *i) == colour);
    rows.map(|i| number(t, "packets", i)).sum()
}

#[test]
fn on_a_link_it_marks_what_all_flows_send() {
    let o = run(r#"conditioner = { kind = "every-nth-red", n = 4 }"#, "", "bottleneck");
    let (green, red) = (
        last_of(&o, "edge.bottleneck", "packets", 10),
        last_of(&o, "edge.bottleneck", "packets", 14),
    );
    assert_eq!(red, ((green + red) / 4.0).floor());
    let (lost_green, lost_red) = (lost_by_colour(&o, "AF11"), lost_by_colour(&o, "AF13"));
    assert_eq!(lost_green + lost_red, of(&o["links"], "bottleneck", "dropped_packets"));
    // About half of 2,500 packets is lost, and the queue does not look at the colour.
    assert!(
        lost_red > 200.0 && (lost_red / (lost_red + lost_green) - 0.25).abs() < 0.05,
        "{lost_red} {lost_green}"
    );
}

#[test]
fn in_a_host_each_flow_has_its_own() {
    let o = run("", r#"conditioner = { kind = "every-nth-red", n = 3 }"#, "flows.steady");
    for flow in ["edge.flows.steady.0.access", "edge.flows.steady.1.access"] {
        let (green, red) = (last_of(&o, flow, "packets", 10), last_of(&o, flow, "packets", 14));
        assert_eq!(red, ((green + red) / 3.0).floor(), "{flow}");
    }
    assert!(lost_by_colour(&o, "AF13") > 200.0);
    assert_eq!(lost_by_colour(&o, ""), 0.0);
}

#[test]
fn a_name_that_the_library_does_not_have_is_refused() {
    let text = r#"
        duration = "1s"
        [topology]
        kind = "dumbbell"
        rate = "1Mbps"
        delay = "1ms"
        queue = "droptail"
        conditioner = { kind = "every-nth-red", n = 2 }
        [flows.a]
    "#;
    let e = tailback_scenario::load_text(text, "test.toml", &[]).expect_err("not in the standard library");
    assert!(e.to_string().contains("every-nth-red"), "{e}");
}
