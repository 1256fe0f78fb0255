//! An edge that reads the transport's header: who opens a connection, who has reduced its window, what is acknowledged.
//!
//! Shows: `Header` in both directions; probes of a conditioner, recorded by text.

use crate::common::*;
use tailback_base::{Model, ProbeDef, Time};
use tailback_conditioner::{Conditioner, EdgeOut, Entry, Facts, Header, Stands};
use tailback_sim::library::Library;
use tailback_sim::wire::packet::SimPacket;

const fn probe(name: &'static str, doc: &'static str) -> ProbeDef {
    ProbeDef {
        name,
        unit: "1",
        doc,
        per: "",
    }
}

static PROBES: [ProbeDef; 4] = [
    probe("opened", "SYNs seen"),
    probe("reductions", "packets with CWR seen"),
    probe("payload", "bytes of payload that went out"),
    probe("acked", "the highest byte acknowledged"),
];

static MODEL: Model = Model {
    name: "header-reader",
    family: "conditioner",
    title: "Header reader",
    summary: "Counts what it sees and changes nothing.",
    source: "",
    params: &[],
    probes: &PROBES,
};

/// The values of the probes, in their order.
#[derive(Default)]
struct Seen([u64; 4]);

impl Conditioner<SimPacket> for Seen {
    fn forward(&mut self, p: SimPacket, seen: &Header, _: Time, out: &mut dyn EdgeOut<SimPacket>) {
        self.0[0] += u64::from(seen.syn);
        self.0[1] += u64::from(seen.cwr);
        self.0[2] += u64::from(seen.payload);
        out.send(p);
    }
    fn reverse(&mut self, _: &SimPacket, seen: &Header, _: Time) {
        self.0[3] = self.0[3].max(seen.ack.unwrap_or(0));
    }
    fn probes(&self) -> &[ProbeDef] {
        &PROBES
    }
    fn read(&self, probe: usize, _: u32, _: Time) -> f64 {
        self.0[probe] as f64
    }
}

#[test]
fn an_edge_sees_syn_cwr_and_acknowledgements() {
    let mut library = Library::standard().clone();
    library.add(Entry {
        model: &MODEL,
        build: |_, _| Ok(Box::<Seen>::default()),
        facts: Facts {
            stands: Stands::Anywhere,
        },
    });
    let text = r#"
        duration = "20s"
        [topology]
        kind = "dumbbell"
        rate = "5Mbps"
        delay = "20ms"
        [topology.queue]
        kind = "red"
        buffer = "100 packets"
        min_threshold = "5 packets"
        max_threshold = "15 packets"
        ecn = true
        [link.bottleneck]
        conditioner = "header-reader"
        [flows.one]
        tcp = { profile = "rfc", ecn = "on" }
        [record.seen]
        edge = "bottleneck"
        probes = ["opened", "reductions", "payload", "acked"]
        on_change = true
    "#;
    let o = run_with(&library, text);
    let seen = |probe| last_of(&o, "edge.bottleneck", probe, 0);
    let flow = |column| of(&o["flows"], "one.0", column);
    assert_eq!(seen("opened"), 1.0);
    assert!(flow("ecn_reductions") > 3.0);
    // Reductions after losses are told as well; the last one may not have been told yet.
    let losses = flow("fast_retransmits") + flow("timeouts");
    assert!(seen("reductions") >= flow("ecn_reductions") - 1.0);
    assert!(seen("reductions") <= flow("ecn_reductions") + losses);
    assert!(seen("payload") >= flow("goodput_bps") * 20.0 / 8.0);
    // Bytes are numbered from 1; what is acknowledged last is on its way for half a round trip, at 5 Mb/s.
    let delivered = flow("goodput_bps") * 20.0 / 8.0;
    assert!(seen("acked") <= delivered + 1.0 && seen("acked") > delivered - 0.05 * 5e6 / 8.0);
}
