//! The code point of a flow: on data, ACKs, answers and the packets of sessions, in both directions, until a
//! conditioner changes it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use tailback_base::{DropReason, MarkReason, Place};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;
use tailback_sim::wire::tap::{Names, Sight, Tap};

/// Link, direction and code point of what is offered to a queue.
type Seen = Rc<RefCell<BTreeSet<(String, bool, u8)>>>;

struct Colours {
    ports: Vec<String>,
    seen: Seen,
}

impl Tap for Colours {
    fn arrived(&mut self, at: &Sight<'_>) {
        let port = self.ports[at.port as usize].clone();
        self.seen.borrow_mut().insert((port, at.id().backward, at.dscp().0));
    }
    fn marked(&mut self, _: &Sight<'_>, _: MarkReason) {}
    fn dropped(&mut self, _: &Sight<'_>, _: Place, _: DropReason) {}
    fn delivered(&mut self, _: &Sight<'_>) {}
}

/// What passes the two links of a path.
fn seen(flows: &str, first: &str, second: &str) -> Vec<(String, bool, u8)> {
    let link = |name: &str, from: &str, to: &str, more: &str| {
        format!(
            "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"5Mbps\"\ndelay = \"5ms\"\nqueue = {{ kind = \
             \"droptail\", buffer = \"unlimited\" }}\n{more}\n"
        )
    };
    let text = format!(
        "duration = \"2s\"\n{}{}{flows}",
        link("one", "a", "b", first),
        link("two", "b", "c", second)
    );
    let loaded = load_text(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let all: Seen = Rc::default();
    let tap = |names: &Names| -> Box<dyn Tap> {
        let (ports, seen) = (names.ports.clone(), all.clone());
        Box::new(Colours { ports, seen })
    };
    let hooks = Hooks {
        tap: Some(&tap),
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
    all.borrow().iter().cloned().collect()
}

fn everywhere(there: u8, back: Option<u8>) -> Vec<(String, bool, u8)> {
    let row = |port: &str, backward, code| (port.to_string(), backward, code);
    let mut all = vec![row("one", false, there), row("two", false, there)];
    if let Some(back) = back {
        all.extend([row("one.reverse", true, back), row("two.reverse", true, back)]);
    }
    all.sort();
    all
}

const ENDS: &str = "from = \"a\"\nto = \"c\"\n";

#[test]
fn a_flow_has_it_both_ways() {
    let flow = |more: &str| format!("[flows.f]\n{ENDS}{more}");
    let cbr = "traffic = { kind = \"cbr\", rate = \"80kbps\" }\npacket_size = \"200B\"";
    let cases = [
        ("dscp = \"AF41\"".to_string(), everywhere(34, Some(34))),
        (
            "dscp = 44\ntcp = { profile = \"linux\" }".into(),
            everywhere(44, Some(44)),
        ),
        (
            "dscp = \"LE\"\ntcp = { connection = \"two-way\" }\ntraffic = { kind = \"bulk\", back = \"1s\" }".into(),
            { everywhere(1, Some(1)) },
        ),
        ("tcp = {}".into(), everywhere(0, Some(0))),
        (format!("dscp = \"EF\"\n{cbr}"), everywhere(46, None)),
        (
            format!("dscp = \"EF\"\n{cbr}\ntransport = {{ kind = \"udp\", echo = true, ecn = true }}"),
            everywhere(46, Some(46)),
        ),
        ("dscp = \"CS6\"\ntfrc = {}".into(), everywhere(48, Some(48))),
    ];
    for (more, expected) in cases {
        assert_eq!(seen(&flow(&more), "", ""), expected, "{more}");
    }
}

/// A conditioner replaces it from its link on. An answer has what its datagram arrived with, an ACK that of its host.
#[test]
fn conditioners_override_it() {
    let bleach = "conditioner = { kind = \"code-point\", code = \"CS1\" }";
    let after = |back| {
        let mut all = everywhere(46, Some(back));
        all.retain(|row| row.0 != "two");
        all.push(("two".to_string(), false, 8));
        all.sort();
        all
    };
    let flow = |more: &str| format!("[flows.f]\n{ENDS}dscp = \"EF\"\n{more}");
    assert_eq!(seen(&flow("tcp = {}"), "", bleach), after(46));
    let ping = "traffic = { kind = \"cbr\", rate = \"80kbps\" }\ntransport = { kind = \"udp\", echo = true }";
    assert_eq!(seen(&flow(ping), "", bleach), after(8));
}

/// A source that colours gives each segment its own; ACKs have that of the flow.
#[test]
fn a_source_may_give_each_segment_its_own() {
    let windows = "congestion = { kind = \"two-windows\", target = \"1Mbps\" }";
    let mut both = [everywhere(10, Some(8)), everywhere(12, Some(8))].concat();
    both.sort();
    both.dedup();
    for tcp in [windows.to_string(), format!("{windows}, connection = \"two-way\"")] {
        let flow = format!("[flows.f]\n{ENDS}dscp = \"CS1\"\ntcp = {{ {tcp} }}");
        let mut all = seen(&flow, "", "");
        // A SYN and a bare ACK of the source have the flow's.
        all.retain(|row| row.1 || row.2 != 8);
        assert_eq!(all, both, "{tcp}");
    }
    let changes = format!("[flows.f]\n{ENDS}tcp = {{}}\n[change.c]\nat = \"1s\"\nflows = \"f\"\n{windows}");
    assert!(seen(&changes, "", "").contains(&("two".to_string(), false, 10)));
}

#[test]
fn connections_of_sessions_have_it() {
    let session = |more: &str| {
        format!(
            "[sessions.s]\nkind = \"requests\"\n{ENDS}dscp = \"AF21\"\nresponse = {{ kind = \"exponential\", mean = \
             \"20kB\" }}\nthink = {{ kind = \"exponential\", mean = \"50ms\" }}\n{more}"
        )
    };
    let two_way = seen(&session("tcp = { connection = \"two-way\" }"), "", "");
    assert_eq!(two_way, everywhere(18, Some(18)));
    assert!(seen(&session(""), "", "").iter().all(|row| row.2 == 18));
}
