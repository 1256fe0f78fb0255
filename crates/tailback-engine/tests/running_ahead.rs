//! Running ahead and header prediction are never seen: networks are drawn, and each is run twice, as it is and with an event
//! for every packet-hop and two calls for every segment. Every table, every series and the counters of the engine are the same, to the bit.
//!
//! `TAILBACK_CASES=100000` draws so many; `TAILBACK_SEED` says with which number the first is drawn.

use std::fmt::Write;
use tailback_base::{Duration, Stream, Time};
use tailback_engine::build::prepare;
use tailback_engine::results::{Outcome, Table};
use tailback_engine::run::{Hooks, run};
use tailback_engine::scenario::load_text;

/// Draws the text of a scenario.
struct Draw {
    rng: Stream,
    text: String,
}

const QUEUES: [&str; 22] = [
    "{ kind = \"droptail\", buffer = \"unlimited\" }",
    "{ kind = \"droptail\", buffer = \"20 packets\" }",
    "{ kind = \"droptail\", buffer = \"30kB\" }",
    "{ kind = \"red\", buffer = \"60 packets\" }",
    "{ kind = \"codel\", buffer = \"100 packets\" }",
    "{ kind = \"fq-codel\" }",
    "{ kind = \"pie\", buffer = \"100 packets\" }",
    "{ kind = \"drr\", buffer = \"50 packets\" }",
    "{ kind = \"sfq\", buffer = \"50 packets\" }",
    "{ kind = \"qsdrr\", buffer = \"50 packets\" }",
    "{ kind = \"wf2q\", buffer = \"50 packets\" }",
    "{ kind = \"cake\" }",
    "{ kind = \"pi\", buffer = \"50 packets\" }",
    "{ kind = \"choke\", buffer = \"50 packets\" }",
    "{ kind = \"rem\", buffer = \"50 packets\" }",
    "{ kind = \"sfb\", buffer = \"50 packets\" }",
    "{ kind = \"red-pd\", buffer = \"60 packets\" }",
    "{ kind = \"fq-pie\" }",
    "{ kind = \"dualpi2\" }",
    "{ kind = \"aaqm\", buffer = \"60 packets\" }",
    "{ kind = \"avq\", buffer = \"60 packets\" }",
    "{ kind = \"fred\", buffer = \"60 packets\" }",
];

const TCP: [&str; 16] = [
    "{}",
    "{ profile = \"linux\" }",
    "{ profile = \"linux\", congestion = \"bbr\" }",
    "{ profile = \"ns2\", variant = \"reno\", payload = \"1460B\", window_cap = \"200 packets\" }",
    "{ profile = \"ns2\", variant = \"newreno\" }",
    "{ profile = \"ns2\", variant = \"tahoe\", window_cap = \"60 packets\" }",
    "{ profile = \"ns2\", variant = \"sack\", window_cap = \"60 packets\" }",
    "{ profile = \"ns2-full\" }",
    "{ connection = \"two-way\" }",
    "{ congestion = \"vegas\" }",
    "{ congestion = \"cubic\", ecn = \"off\", delayed_ack = 1 }",
    "{ variant = \"reno\", delayed_ack = 1, timestamps = false, ecn = \"off\" }",
    "{ variant = \"newreno\", delayed_ack = 4 }",
    "{ profile = \"kantawala-2005\" }",
    "{ congestion = \"dctcp\" }",
    "{ congestion = \"bbr\" }",
];

const CONDITIONERS: [&str; 6] = [
    "{ kind = \"atbtc\", committed_rate = \"1Mbps\", by_weight = true, per = \"flow\", report_delay = \"20ms\" }",
    "{ kind = \"atbtc\", committed_rate = \"1Mbps\", per = \"flow\", srtt_source = \"snoop\" }",
    "{ kind = \"atbtc\", committed_rate = \"3Mbps\" }",
    "{ kind = \"tsw3cm\", committed_rate = \"1Mbps\", peak_rate = \"2Mbps\" }",
    "{ kind = \"token-bucket\", rate = \"2Mbps\", depth = \"10KB\" }",
    "{ kind = \"edge\", marker = { kind = \"tsw3cm\", committed_rate = \"2Mbps\", peak_rate = \"3Mbps\" } }",
];

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n as u64) as usize
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn scenario(mut self) -> String {
        let duration = self.one(&["0.3s", "1s", "2s", "3.1s"]);
        let _ = writeln!(self.text, "duration = \"{duration}\"");
        if self.chance(3) {
            self.line("warmup = \"150ms\"");
        }
        if self.chance(4) {
            self.line("interval = \"70ms\"");
        }
        if self.chance(5) {
            self.line("log_drops = true");
        }
        let links = 1 + self.below(3);
        for i in 0..links {
            self.link(i);
        }
        let groups = 1 + self.below(3);
        for i in 0..groups {
            self.flows(i, links);
        }
        if self.chance(8) {
            self.line("[sessions.people]\nkind = \"requests\"\nclients = 3\nservers = 2\nfrom = \"n0\"\nto = \"n1\"");
            self.line("access_rate = \"20Mbps\"\nexit_rate = \"20Mbps\"\nrtt = \"40ms\"");
            self.line("response = { kind = \"pareto\", mean = \"15kB\", shape = 1.3, max = \"1MB\" }\nthink = { kind = \"exponential\", mean = \"100ms\" }\nconnection = \"new\"");
        }
        self.records(links, groups);
        // Two disciplines have no other signal.
        match self.text.contains("dualpi2") || self.text.contains("aaqm") {
            true => format!("marking = true\n{}", self.text),
            false => self.text,
        }
    }

    fn link(&mut self, i: usize) {
        let rate = self.one(&["1Mbps", "5Mbps", "10Mbps", "100Mbps", "7.3Mbps"]);
        let delay = self.one(&["0s", "1ms", "10ms", "3.7ms"]);
        let _ = writeln!(
            self.text,
            "[link.l{i}]\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"",
            i + 1
        );
        let queue = self.one(&QUEUES);
        let _ = writeln!(self.text, "queue = {queue}");
        let reverse = match self.chance(4) {
            true => self.one(&QUEUES),
            false => QUEUES[0],
        };
        let _ = writeln!(self.text, "reverse_queue = {reverse}");
        if self.chance(5) {
            let harm = self.one(&[
                "{ kind = \"random\", probability = 0.01 }",
                "{ kind = \"gilbert\", to_bad = 0.01, to_good = 0.3 }",
                "{ kind = \"reorder\", probability = 0.05, delay = \"5ms\" }",
                "{ kind = \"duplicate\", probability = 0.02 }",
            ]);
            let _ = writeln!(self.text, "impair = [{harm}]");
        }
        if self.chance(5) {
            let conditioner = self.one(&CONDITIONERS);
            let place = self.one(&["conditioner", "reverse_conditioner"]);
            let _ = writeln!(self.text, "{place} = {conditioner}");
        }
        if self.chance(6) {
            self.line("rate_changes = [{ at = \"100ms\", rate = \"2Mbps\" }, { at = \"200ms\", rate = \"20Mbps\" }]");
        }
    }

    fn flows(&mut self, i: usize, links: usize) {
        let (a, b) = (self.below(links + 1), self.below(links + 1));
        let (from, to) = if a == b { (0, links) } else { (a, b) };
        let count = 1 + self.below(5);
        let _ = writeln!(
            self.text,
            "[flows.f{i}]\nfrom = \"n{from}\"\nto = \"n{to}\"\ncount = {count}"
        );
        if !self.chance(4) {
            let rate = self.one(&["10Mbps", "20Mbps", "100Mbps", "4Mbps"]);
            let delay = self.one(&["0s", "1ms", "[\"1ms\", \"4ms\"]"]);
            let _ = writeln!(self.text, "access_rate = \"{rate}\"\naccess_delay = {}", quoted(delay));
        }
        if self.chance(3) {
            self.line("exit_rate = \"50Mbps\"\nexit_delay = \"2ms\"");
        }
        if self.chance(4) {
            self.line("send_delay = \"100us\"");
        }
        if !self.chance(3) {
            self.line("start = { kind = \"uniform\", to = \"100ms\" }");
        }
        if self.chance(5) {
            self.line("stop = \"250ms\"");
        }
        match self.below(8) {
            0 => self.line("transport = \"udp\"\ntraffic = { kind = \"poisson\", rate = \"1Mbps\" }"),
            1 => {
                self.line("transport = \"udp\"\ntraffic = { kind = \"cbr\", rate = \"2Mbps\" }\npacket_size = \"200B\"")
            }
            2 => self.line("traffic = { kind = \"voice\" }"),
            3 => {
                let kind = self.one(&["generic", "jacobson-karels", "packet-pair"]);
                let _ = writeln!(self.text, "transport = \"{kind}\"");
            }
            _ => {
                let tcp = self.one(&TCP);
                let _ = writeln!(self.text, "tcp = {tcp}");
                match self.below(5) {
                    0 => self.line("traffic = { kind = \"transfer\", size = \"100kB\" }"),
                    1 => self.line("traffic = { kind = \"cbr\", rate = \"1Mbps\" }"),
                    2 if tcp.contains("two-way") || tcp.contains("full") => {
                        self.line("traffic = { kind = \"bulk\", back = \"50ms\" }");
                    }
                    _ => {}
                }
            }
        }
    }

    fn records(&mut self, links: usize, groups: usize) {
        if self.chance(3) {
            let link = self.below(links);
            let probes = self.one(&["queue", "queue_bytes", "delivered_bytes"]);
            let when = self.one(&["every = \"10ms\"", "on_change = true"]);
            let _ = writeln!(
                self.text,
                "[record.a]\nlink = \"l{link}\"\nprobes = \"{probes}\"\n{when}"
            );
        }
        if self.chance(6) {
            let group = self.below(groups);
            let probe = self.one(&["goodput", "cwnd"]);
            let when = self.one(&["every = \"10ms\"", "on_change = true"]);
            let _ = writeln!(
                self.text,
                "[record.b]\nflows = \"f{group}\"\nprobes = \"{probe}\"\n{when}"
            );
        }
    }
}

fn quoted(text: &str) -> String {
    match text.starts_with('[') {
        true => text.to_string(),
        false => format!("\"{text}\""),
    }
}

fn bits(table: &Table) -> String {
    let mut all = String::new();
    for column in &table.columns {
        let _ = writeln!(all, "{} {:?}", column.name, column.data);
    }
    all
}

/// What two runs must share.
fn seen(o: &Outcome) -> Vec<String> {
    let mut all: Vec<String> = o.tables.iter().map(|t| format!("{}\n{}", t.name, bits(t))).collect();
    // What was handed on ahead of time would have been an event.
    all.push(format!(
        "{} hops, {} events",
        o.engine.packet_hops,
        o.engine.events + o.engine.handed_ahead
    ));
    all
}

#[test]
fn it_is_never_seen() {
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |t| t.parse().expect("a number"))
    };
    let (first, cases) = (number("TAILBACK_SEED", 0), number("TAILBACK_CASES", 300));
    let (mut ran, mut ahead, mut hops) = (0u64, 0u64, 0u64);
    for case in first..first + cases {
        let draw = Draw {
            rng: Stream::new(case, "running ahead"),
            text: String::new(),
        };
        let text = draw.scenario();
        let loaded = match load_text(&text, "drawn.toml", &[]) {
            Ok(loaded) => loaded,
            Err(e) => {
                println!("case {case} cannot be read: {e}");
                continue;
            }
        };
        let as_it_is = run(&loaded.spec, case, &Hooks::default());
        let one_by_one = run(
            &loaded.spec,
            case,
            &Hooks {
                one_by_one: true,
                ..Hooks::default()
            },
        );
        match (as_it_is, one_by_one) {
            (Ok(a), Ok(b)) => {
                for (x, y) in seen(&a).iter().zip(&seen(&b)) {
                    assert!(x == y, "case {case}:\n{text}\nas it is:\n{x}\none by one:\n{y}");
                }
                assert_eq!(b.engine.handed_ahead, 0);
                ran += 1;
                (ahead, hops) = (ahead + a.engine.handed_ahead, hops + a.engine.packet_hops);
            }
            (a, b) => assert_eq!(
                a.map(|_| ()).map_err(|e| e.to_string()),
                b.map(|_| ()).map_err(|e| e.to_string()),
                "case {case}"
            ),
        }
    }
    println!(
        "seeds {first} to {}: {ran} networks ran, {ahead} of {hops} hops ahead",
        first + cases - 1
    );
    assert!(
        ran * 5 >= cases * 4,
        "only {ran} of {cases} drawn scenarios can be read"
    );
    assert!(
        ahead * 6 >= hops,
        "of {hops} hops only {ahead} ran ahead: nothing is tested"
    );
}

/// Where the first packet in line may not be handed on, timers behind it are armed and run as events, and leave nothing.
#[test]
fn timers_do_not_pile_up() {
    let line = "duration = \"100s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \"20ms\"\n\
                queue = { kind = \"droptail\", buffer = \"50 packets\" }\n\
                reverse_queue = { kind = \"droptail\", buffer = \"unlimited\" }\n[flows.bulk]\ncount = 5\n";
    let cases = [
        "[record.sent]\nlink = \"l\"\nprobes = \"delivered_bytes\"\nevery = \"1s\"\n",
        "[flows.seen]\n[record.window]\nflows = \"seen\"\nprobes = \"cwnd\"\nevery = \"1s\"\n",
    ];
    for more in cases {
        let loaded = load_text(&format!("{line}{more}"), "drawn.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut run = prepare(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
        let mut most = 0;
        for second in 1..=100 {
            run.built
                .sim
                .run_until(Time::ZERO + Duration::from_millis(1000 * second));
            most = most.max(run.built.sim.pending_events());
        }
        // A pending event an entity, and some that are outdated; each flow arms several hundred timers.
        assert!(most < 120, "{most} entries: {more}");
    }
}
