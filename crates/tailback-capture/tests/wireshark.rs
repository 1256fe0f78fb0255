//! Wireshark's command-line tool counts the same in a capture as we do. If `tshark` is not installed, the test says
//! so and passes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use tailback_base::{DropReason, MarkReason, Place};
use tailback_capture::pcapng::Capture;
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;
use tailback_sim::wire::tap::{Names, Sight, Tap};
use tailback_transport::Flags;

/// What we count at the queue of a link in both directions.
#[derive(Default, Debug, PartialEq, Eq)]
struct Counts {
    packets: u64,
    retransmissions: u64,
    duplicate_acks: u64,
    sack_blocks: u64,
    ece: u64,
    cwr: u64,
    ce: u64,
    syn: u64,
    fin: u64,
    dropped: u64,
    marked: u64,
}

#[derive(Default)]
struct Ours {
    counts: Counts,
    /// By flow and direction: the highest byte sent, the last ACK, its window.
    sent: HashMap<(u32, bool), u64>,
    acked: HashMap<(u32, bool), u64>,
}

struct Counting {
    ports: Vec<u32>,
    ours: Rc<RefCell<Ours>>,
    capture: Box<dyn Tap>,
}

impl Counting {
    fn sees(&self, at: &Sight<'_>) -> bool {
        self.ports.contains(&at.port)
    }
}

impl Tap for Counting {
    fn arrived(&mut self, at: &Sight<'_>) {
        self.capture.arrived(at);
        if !self.sees(at) {
            return;
        }
        let (s, id) = (at.segment(), at.id());
        let mut ours = self.ours.borrow_mut();
        let key = (id.flow.0, id.backward);
        let last = ours.acked.insert(key, s.ack);
        let plain = s.payload == 0 && !s.flags.has(Flags::SYN) && !s.flags.has(Flags::FIN);
        let own = ours.sent.entry(key).or_default();
        let again = s.payload > 0 && s.end() <= *own;
        *own = (*own).max(s.end());
        let c = &mut ours.counts;
        c.packets += 1;
        c.retransmissions += u64::from(again);
        // As counted in RFC 5681 section 2, except for the condition that data is outstanding, which Wireshark does
        // not check.
        c.duplicate_acks += u64::from(plain && last == Some(s.ack));
        c.sack_blocks += s.sack.len() as u64;
        let flag = |f| u64::from(s.flags.has(f) && !s.flags.has(Flags::SYN));
        c.ece += flag(Flags::ECE);
        c.cwr += flag(Flags::CWR);
        c.syn += u64::from(s.flags.has(Flags::SYN));
        c.fin += u64::from(s.flags.has(Flags::FIN));
    }
    fn marked(&mut self, at: &Sight<'_>, why: MarkReason) {
        self.capture.marked(at, why);
        self.ours.borrow_mut().counts.marked += u64::from(self.sees(at));
    }
    fn dropped(&mut self, at: &Sight<'_>, place: Place, why: DropReason) {
        self.capture.dropped(at, place, why);
        self.ours.borrow_mut().counts.dropped += u64::from(self.sees(at));
    }
    fn sent(&mut self, at: &Sight<'_>) {
        self.capture.sent(at);
    }
    fn delivered(&mut self, at: &Sight<'_>) {
        self.capture.delivered(at);
    }
}

/// Two flows for 20 s through a small buffer.
fn scenario(queue: &str, tcp: &str) -> String {
    format!(
        r#"
        duration = "20s"
        topology = {{ kind = "dumbbell", rate = "5Mbps", delay = "20ms", queue = {queue} }}
        [flows.some]
        count = 2
        rtt = ["60ms", "90ms"]
        stop = "15s"
        tcp = {tcp}
        "#
    )
}

fn captured(text: &str, name: &str) -> (Counts, PathBuf) {
    let loaded = load_text(text, "t.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let path = std::env::temp_dir().join(format!("tailback-{name}-{}.pcapng", std::process::id()));
    let file = BufWriter::new(File::create(&path).unwrap());
    let capture = Capture::new("bottleneck", file).unwrap();
    let ours = Rc::new(RefCell::new(Ours::default()));
    let make = |names: &Names| -> Box<dyn Tap> {
        let is_ours = |p: &&String| p.starts_with("bottleneck");
        Box::new(Counting {
            ports: (0..)
                .zip(&names.ports)
                .filter(|(_, p)| is_ours(p))
                .map(|(i, _)| i)
                .collect(),
            ours: ours.clone(),
            capture: capture.tap(names),
        })
    };
    let hooks = Hooks {
        tap: Some(&make),
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e:?}"));
    let written = capture.finish().unwrap();
    let counts = std::mem::take(&mut ours.borrow_mut().counts);
    assert_eq!(written, counts.packets);
    (counts, path)
}

/// Lines that the filter lets through, with these fields.
fn tshark(path: &PathBuf, filter: &str, field: &str) -> Vec<String> {
    let out = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(path)
        .args(["-Y", filter, "-T", "fields", "-e", field])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(str::to_string).collect()
}

fn theirs(path: &PathBuf) -> Counts {
    let count = |filter: &str| tshark(path, filter, "frame.number").len() as u64;
    let fields = |filter: &str, field: &str| {
        let lines = tshark(path, filter, field);
        lines
            .iter()
            .map(|l| l.split(',').filter(|v| !v.is_empty()).count() as u64)
            .sum()
    };
    Counts {
        packets: count("ip"),
        // A sender never sends out of order: what Wireshark calls so because of its timing was sent again.
        retransmissions: count(
            "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.spurious_retransmission \
             || tcp.analysis.out_of_order",
        ),
        duplicate_acks: count("tcp.analysis.duplicate_ack"),
        sack_blocks: fields("tcp.options.sack_le", "tcp.options.sack_le"),
        ece: count("tcp.flags.ece == 1 && tcp.flags.syn == 0"),
        cwr: count("tcp.flags.cwr == 1 && tcp.flags.syn == 0"),
        ce: 0,
        syn: count("tcp.flags.syn == 1"),
        fin: count("tcp.flags.fin == 1"),
        dropped: count("frame.comment contains \"dropped\""),
        marked: count("frame.comment contains \"marked\""),
    }
}

#[test]
fn wireshark_counts_what_we_count() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let droptail = r#"{ kind = "droptail", buffer = "20 packets" }"#;
    let marking = r#"{ kind = "red", buffer = "60 packets", ecn = true }"#;
    for (name, queue, tcp) in [
        (
            "reno",
            droptail,
            r#"{ variant = "reno", timestamps = false, ecn = "off" }"#,
        ),
        ("sack", droptail, r#"{ variant = "sack", ecn = "off" }"#),
        ("ecn", marking, r#"{ variant = "newreno", ecn = "on" }"#),
        ("both-ways", droptail, r#"{ connection = "two-way", ecn = "off" }"#),
    ] {
        let (ours, path) = captured(&scenario(queue, tcp), name);
        let wireshark = theirs(&path);
        println!("{name}: ours {ours:?}\n{name}: tshark {wireshark:?}");
        assert_eq!(ours, wireshark, "{name}");
        assert!(ours.packets > 5000 && ours.syn == 4);
        std::fs::remove_file(&path).unwrap();
    }
}
