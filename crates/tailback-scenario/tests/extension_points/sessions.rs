//! A kind of session of a user's own, used through a scenario: downloads one after another, of which the last is given
//! up. And the shipped kind `requests` with 10^5 short connections.
//!
//! Shows: a `Model` with parameters; `Entry` of a session, added to a copy of the library; `Net::open`, `ask`,
//! `arrived`, `abort` and `finished`.

use crate::common::*;
use tailback_base::{FlowId, Kind, Model, Param};
use tailback_scenario::load_text_with;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::Library;
use tailback_sim::run::run;
use tailback_sim::traffic::application::{AppInput, Application, Net, NodeId, Side, TransferId, TransportId};
use tailback_sim::traffic::session::{Asks, Entry, ServersAsked};
use tailback_transport::{Amount, AppEvent};

static MODEL: Model = Model {
    name: "impatient",
    family: "session",
    title: "Impatient downloads",
    summary: "Downloads one file after another, and gives up the last one.",
    source: "",
    params: &[
        Param::new("files", Kind::Count { min: 1, max: 1000 }, "3", "How many files.", ""),
        Param::new(
            "size",
            Kind::Bytes { min: 1, max: 1 << 40 },
            "",
            "How long a file is.",
            "",
        ),
    ],
    probes: &[],
};

static ENTRY: Entry = Entry {
    model: &MODEL,
    servers: ServersAsked::One,
    build: |s, context| {
        Box::new(Impatient {
            ends: (context.server, context.client, context.transport),
            left: s.count("files"),
            size: s.count("size"),
            now: None,
        })
    },
    check: |_| Ok(()),
    asks: |s| Asks {
        gap: 0.0,
        open: false,
        most: s.count("files") as f64,
        transfers: 1.0,
        at_once: 1.0,
        bytes: s.count("size") as f64,
        new_connections: true,
    },
};

struct Impatient {
    ends: (NodeId, NodeId, TransportId),
    left: u64,
    size: u64,
    now: Option<(FlowId, TransferId)>,
}

impl Application for Impatient {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let over = match (e, self.now) {
            (AppInput::Start, _) => true,
            (
                AppInput::Transport {
                    flow,
                    event: AppEvent::Delivered(n),
                    ..
                },
                Some((f, t)),
            ) if f == flow => {
                if self.left == 0 {
                    net.abort(flow, Side::Source);
                    return net.finished();
                }
                net.arrived(t, n).is_some()
            }
            _ => false,
        };
        if over && self.left > 0 {
            self.left -= 1;
            let flow = net.open(self.ends.0, self.ends.1, self.ends.2);
            self.now = Some((flow, net.ask(self.size)));
            net.write(flow, Side::Source, Amount::Bytes(self.size));
            if self.left > 0 {
                net.close(flow, Side::Source);
            }
        }
    }
}

const LINE: &str = "[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
                    queue = { kind = \"droptail\", buffer = \"unlimited\" }\n";

#[test]
fn a_kind_of_a_users_own_is_named_in_a_scenario() {
    let mut library = Library::standard().clone();
    library.add(&ENTRY);
    let text = format!(
        "duration = \"100s\"\nend = \"sessions\"\n{LINE}[sessions.x]\nkind = \"impatient\"\nclients = 2\nfiles = \
         4\nsize = \"500kB\"\n"
    );
    let loaded = load_text_with(&library, &text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let o = run(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
    let done: Vec<bool> = (0..8)
        .map(|i| number(&o["transfers"], "done_s", i).is_finite())
        .collect();
    assert_eq!(done.iter().filter(|d| **d).count(), 6, "each gives up its last file");
    // What was given up was not sent to its end.
    for member in ["x.0", "x.1"] {
        let sent = of(&o["flows"], member, "sent_packets");
        assert!((1020.0..1100.0).contains(&sent), "{sent}");
    }
}

/// Fifty clients, a thousand requests each, each on a connection there and one back.
#[test]
fn a_hundred_thousand_short_connections() {
    let text = format!(
        "duration = \"1000s\"\nend = \"sessions\"\n{LINE}[sessions.x]\nkind = \"requests\"\nclients = 50\nrequests = \
         1000\n\
         connection = \"new\"\nresponse = {{ kind = \"exponential\", mean = \"2kB\" }}\ntcp = {{ delayed_ack = 1 }}\n"
    );
    let o = run_text(&text);
    assert_eq!(o["flows"].rows(), 50);
    assert_eq!(o["transfers"].rows(), 50_000);
    assert!((0..50_000).all(|i| number(&o["transfers"], "completion_s", i) > 0.006));
    // The last connection of a member may still wait for its last ACK.
    let connections = of(&o["groups"], "x", "connections");
    assert!((99_900.0..=100_000.0).contains(&connections), "{connections}");
}
