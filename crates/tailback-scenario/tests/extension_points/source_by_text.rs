//! A source of traffic, packet sizes, and a law of sizes and pauses of a user's own, named in a scenario.
//!
//! Shows: `Entry` of a source and of sizes, and a [`Law`], added to a copy of the library; what a source is built with.

use crate::common::*;
use tailback_base::{Kind, Model, Param, Settings, Stream};
use tailback_sim::library::Library;
use tailback_sim::traffic::application::{AppInput, Application, Net};
use tailback_sim::traffic::entry::{self, Facts, Output, anything};
use tailback_sim::traffic::laws::{self, Draw, Law};
use tailback_sim::traffic::packet_sizes::{self, Sizes};

static VOLLEY: Model = Model {
    name: "volley",
    family: "traffic",
    title: "One volley",
    summary: "Sends all its packets at once.",
    source: "A toy",
    params: &[Param::new(
        "packets",
        Kind::Count { min: 1, max: 1000 },
        "",
        "How many.",
        "",
    )],
    probes: &[],
};

struct Volley {
    packets: u64,
    sizes: Box<dyn Sizes>,
    header: u32,
}

impl Application for Volley {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        if matches!(e, AppInput::Start) {
            for _ in 0..self.packets {
                let bytes = self.sizes.draw(net.rng());
                if let Some(flow) = net.own_flow() {
                    net.datagram(flow, bytes, self.header);
                }
            }
        }
    }
}

static VOLLEY_ENTRY: entry::Entry = entry::Entry {
    model: &VOLLEY,
    build: |s, context| {
        Box::new(Volley {
            packets: s.count("packets"),
            sizes: (context.sizes)(),
            header: context.header,
        })
    },
    check: anything,
    offer: |_, _| entry::Offer::Elastic,
    facts: Facts {
        output: Output::Packets,
        listens: false,
        own_address: false,
    },
};

static GROWING: packet_sizes::Entry = packet_sizes::Entry {
    model: &Model {
        name: "growing",
        family: "sizes",
        title: "Growing",
        summary: "Each packet is longer than the one before it.",
        source: "A toy",
        params: &[Param::new(
            "step",
            Kind::Bytes { min: 1, max: 100 },
            "10B",
            "By how much.",
            "",
        )],
        probes: &[],
    },
    build: |s| Box::new(Growing(100, s.count("step") as u32)),
    check: |_| Ok(()),
};

struct Growing(u32, u32);

impl Sizes for Growing {
    fn draw(&mut self, _: &mut Stream) -> u32 {
        let size = self.0;
        self.0 += self.1;
        size
    }
    fn mean(&self) -> f64 {
        f64::from(self.0)
    }
    fn smallest(&self) -> u32 {
        100
    }
    fn largest(&self) -> u32 {
        u32::MAX
    }
}

/// The same declaration, of bytes and of times.
const fn twice(family: &'static str, params: &'static [Param]) -> Model {
    Model {
        name: "twice",
        family,
        title: "Twice",
        summary: "Twice what is said.",
        source: "A toy",
        params,
        probes: &[],
    }
}

static TWICE: Law = Law {
    size: twice(
        "transfer-size",
        &[Param::new("of", Kind::Bytes { min: 1, max: 1 << 40 }, "", "What.", "")],
    ),
    pause: twice(
        "pause",
        &[Param::new("of", Kind::Time { min: 0.0, max: 1e3 }, "", "What.", "")],
    ),
    build: |s: &Settings| Box::new(Twice(laws::number(s, "of"))),
    check: laws::anything,
};

struct Twice(f64);

impl Draw for Twice {
    fn draw(&self, _: &mut Stream) -> f64 {
        2.0 * self.0
    }
}

const LINK: &str = "duration = \"10s\"\n[link.ab]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"5ms\"\n\
    queue = { kind = \"droptail\", buffer = \"unlimited\" }\n";

#[test]
fn a_source_and_its_sizes_are_named_in_a_scenario() {
    let mut library = Library::standard().clone();
    library.add(&VOLLEY_ENTRY);
    library.add(&GROWING);
    let text = format!(
        "{LINK}[flows.v]\nfrom = \"a\"\nto = \"b\"\ncount = 2\ntransport = \"udp\"\n\
         traffic = {{ kind = \"volley\", packets = 5 }}\nsizes = {{ kind = \"growing\", step = \"20B\" }}\n"
    );
    let o = run_with(&library, &text);
    for flow in ["v.0", "v.1"] {
        assert_eq!(of(&o["flows"], flow, "sent_packets"), 5.0);
        // 100, 120, 140, 160 and 180 bytes in ten seconds.
        near(of(&o["flows"], flow, "goodput_bps"), 560.0, 1e-9);
    }
    let e = tailback_scenario::load_text(&text, "plain.toml", &[]).unwrap_err();
    assert!(e.to_string().contains("there is no traffic \"volley\""), "{e}");
}

#[test]
fn a_law_is_named_for_sizes_and_for_pauses() {
    let mut library = Library::standard().clone();
    library.add(&TWICE);
    let text = format!(
        "{LINK}[sessions.s]\nkind = \"requests\"\nclients = 1\nfrom = \"a\"\nto = \"b\"\n\
         response = {{ kind = \"twice\", of = \"5kB\" }}\nthink = {{ kind = \"twice\", of = \"500ms\" }}\n"
    );
    let o = run_with(&library, &text);
    let t = &o["transfers"];
    // A little over a second each, in ten.
    assert!((8..=10).contains(&t.rows()), "{}", t.rows());
    for i in 0..t.rows() {
        assert_eq!(number(t, "bytes", i), 10_000.0);
    }
    for i in 1..t.rows() {
        let (asked, before) = (number(t, "asked_s", i), number(t, "asked_s", i - 1));
        assert!(asked - before > 1.0 && asked - before < 1.2, "{asked} after {before}");
    }
}
