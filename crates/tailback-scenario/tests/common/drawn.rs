//! Networks that are drawn: links with queues, impairments and conditioners, flows of all transports, sessions,
//! recordings.

use std::fmt::Write;
use tailback_base::Stream;

/// Draws the text of a scenario.
pub struct Draw {
    rng: Stream,
    text: String,
    /// The last group of flows whose datagrams are answered.
    answered: Option<usize>,
}

const QUEUES: [&str; 32] = [
    "{ kind = \"droptail\", buffer = \"unlimited\" }",
    "{ kind = \"droptail\", buffer = \"20 packets\" }",
    "{ kind = \"droptail\", buffer = \"30kB\" }",
    "{ kind = \"red\", buffer = \"60 packets\" }",
    "{ kind = \"red\", profile = \"step\", ecn = true, min_threshold = \"5 packets\", max_threshold = \"5 packets\", \
     buffer = \"unlimited\" }",
    "{ kind = \"red\", profile = \"step\", min_threshold = \"8 packets\", max_threshold = \"8 packets\", \
     buffer = \"12 packets\" }",
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
    "{ kind = \"port\", scheduler = \"stratified\", policy = \"random-discard\", buffer = \"40 packets\" }",
    "{ kind = \"port\", scheduler = \"virtual-clock\", policy = \"heavy-flows\", buffer = \"40 packets\" }",
    "{ kind = \"port\", scheduler = \"frame-based\", aqm = \"codel\" }",
    "{ kind = \"port\", scheduler = \"drr\", aqm = \"aaqm\" }",
    "{ kind = \"port\", scheduler = \"wrr\", policy = \"heavy-flows\", buffer = \"20kB\" }",
    "{ kind = \"htb\", rate = \"900kbps\", queue = { kind = \"drr\", buffer = \"50 packets\" } }",
    "{ kind = \"htb\", rate = \"4Mbps\", burst = \"20kB\", framing = \"atm\" }",
    "\"droptail\"",
];

const TCP: [&str; 26] = [
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
    "{ congestion = { kind = \"two-windows\", target = \"500kbps\" } }",
    "{ congestion = \"cubic\", ecn = \"off\", delayed_ack = 1 }",
    "{ variant = \"reno\", delayed_ack = 1, timestamps = false, ecn = \"off\" }",
    "{ variant = \"newreno\", delayed_ack = 4 }",
    "{ profile = \"kantawala-2005\" }",
    "{ congestion = \"dctcp\" }",
    "{ congestion = \"bbr\" }",
    "{ congestion = \"bbr\", offload = \"64KB\" }",
    "{ congestion = \"prague\", offload = \"64KB\", ecn = \"on\" }",
    "{ congestion = \"dctcp\", offload = \"20kB\", rwnd = \"9 packets\" }",
    "{ connection = \"two-way\", offload = \"64KB\", initial_window = \"30 packets\" }",
    "{ profile = \"linux\", offload = \"3000B\" }",
    "{ variant = \"sack\", prr = \"losses\", prr_bound = \"rate_halving\" }",
    "{ small_queues = \"20kB\" }",
    "{ profile = \"linux\", small_queues = \"1MB\", pacing = \"window\" }",
    "{ connection = \"two-way\", small_queues = \"3000B\", initial_window = \"30 packets\" }",
];

const CONDITIONERS: [&str; 8] = [
    "{ kind = \"atbtc\", committed_rate = \"1Mbps\", by_weight = true, per = \"flow\", report_delay = \"20ms\" }",
    "{ kind = \"atbtc\", committed_rate = \"1Mbps\", per = \"flow\", srtt_source = \"snoop\" }",
    "{ kind = \"atbtc\", committed_rate = \"3Mbps\" }",
    "{ kind = \"tsw3cm\", committed_rate = \"1Mbps\", peak_rate = \"2Mbps\" }",
    "{ kind = \"token-bucket\", rate = \"2Mbps\", depth = \"10KB\" }",
    "{ kind = \"edge\", marker = { kind = \"tsw3cm\", committed_rate = \"2Mbps\", peak_rate = \"3Mbps\" } }",
    "{ kind = \"edge\", marker = { kind = \"tsw3cm\", committed_rate = \"1Mbps\", peak_rate = \"2Mbps\" }, \
     stages = [\"tell-sender\"] }",
    "{ kind = \"atbtc\", committed_rate = \"1Mbps\", per = \"flow\", slowstart_shape = 20 }",
];

/// Kinds of sessions, with times that fit into a run of a second.
const SESSIONS: [&str; 6] = [
    "kind = \"requests\"\nresponse = { kind = \"pareto\", mean = \"15kB\", shape = 1.3, max = \"1MB\" }\n\
     think = { kind = \"exponential\", mean = \"100ms\" }",
    "kind = \"requests\"\nresponse = { kind = \"exponential\", mean = \"30kB\" }\nserver_time = { kind = \
     \"exponential\", mean = \"20ms\" }\n\
     think = { kind = \"exponential\", mean = \"50ms\" }\nrequests = 4",
    "kind = \"web\"\nparse = { kind = \"exponential\", mean = \"20ms\" }\nthink = { kind = \"exponential\", mean = \
     \"100ms\" }",
    "kind = \"web\"\nparallel = 4\npages = 3\nthink = { kind = \"exponential\", mean = \"50ms\" }",
    "kind = \"incast\"\ntotal = \"200kB\"\nserver_time = { kind = \"exponential\", mean = \"1ms\" }",
    "kind = \"web\"\npreset = \"ns2-small\"\nthink = { kind = \"exponential\", mean = \"100ms\" }",
];

impl Draw {
    pub fn new(case: u64) -> Draw {
        Draw {
            rng: Stream::new(case, "running ahead"),
            text: String::new(),
            answered: None,
        }
    }

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

    /// The scenario, and the name of one of its links.
    pub fn scenario(mut self) -> (String, String) {
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
        if self.chance(3) {
            self.switch(links);
        }
        let groups = 1 + self.below(3);
        for i in 0..groups {
            self.flows(i, links);
        }
        if self.chance(3) {
            self.sessions(links);
        }
        self.records(links, groups);
        self.changes(links, groups);
        let link = format!("l{}", self.below(links));
        // Two disciplines have no other signal.
        let marking = self.text.contains("dualpi2") || self.text.contains("aaqm");
        let first = if marking { "marking = true\n" } else { "" };
        (format!("{first}{}", self.text), link)
    }

    fn sessions(&mut self, links: usize) {
        // At the top of the file, before all tables.
        if self.chance(6) {
            self.text.insert_str(0, "end = \"sessions\"\n");
        }
        let (clients, servers) = (1 + self.below(6), 1 + self.below(3));
        let (from, to) = if self.chance(3) { (links, 0) } else { (0, links) };
        let _ = writeln!(
            self.text,
            "[sessions.people]\nclients = {clients}\nservers = {servers}\nfrom = \"n{from}\"\nto = \"n{to}\""
        );
        let kind = self.one(&SESSIONS);
        self.line(kind);
        if !self.chance(3) {
            self.line("access_rate = \"20Mbps\"\naccess_delay = \"1ms\"");
        }
        if !self.chance(3) {
            self.line("exit_rate = \"50Mbps\"\nexit_delay = [\"2ms\", \"5ms\"]");
        }
        if self.chance(3) {
            self.line("connection = \"new\"");
        }
        if self.chance(2) {
            self.line("tcp = { connection = \"two-way\" }");
        }
        if self.chance(4) {
            self.line("stop = \"400ms\"");
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

    fn switch(&mut self, links: usize) {
        let node = self.below(links + 1);
        let buffer = self.one(&["30 packets", "100kB", "unlimited", "1MB"]);
        let alpha = self.one(&["1", "[2, 0.5]", "0.25"]);
        let _ = writeln!(self.text, "[switch.n{node}]\nbuffer = \"{buffer}\"\nalpha = {alpha}");
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
        if self.chance(4) {
            let code = self.one(&["\"EF\"", "\"AF12\"", "8"]);
            let _ = writeln!(self.text, "dscp = {code}");
        }
        match self.below(8) {
            0 => {
                self.datagrams(i);
                self.line("traffic = { kind = \"poisson\", rate = \"1Mbps\" }");
            }
            1 => {
                self.datagrams(i);
                self.line("traffic = { kind = \"cbr\", rate = \"2Mbps\" }\npacket_size = \"200B\"");
            }
            2 => {
                self.datagrams(i);
                self.line("traffic = { kind = \"voice\" }");
            }
            3 => {
                let kind = self.one(&["generic", "jacobson-karels", "packet-pair"]);
                let _ = writeln!(self.text, "transport = \"{kind}\"");
            }
            _ => {
                let tcp = self.one(&TCP);
                let _ = writeln!(self.text, "tcp = {tcp}");
                match self.below(7) {
                    0 => self.line("traffic = { kind = \"transfer\", size = \"100kB\" }"),
                    1 => self.line("traffic = { kind = \"cbr\", rate = \"1Mbps\" }"),
                    3 => self.line("traffic = { kind = \"bursts\", size = \"20 packets\", mean_think = \"50ms\" }"),
                    2 if tcp.contains("two-way") || tcp.contains("full") => {
                        self.line("traffic = { kind = \"bulk\", back = \"50ms\" }");
                    }
                    4 => self.line("traffic = { kind = \"bulk\", turns = [\"40ms\", \"60ms\"] }"),
                    _ => {}
                }
            }
        }
    }

    fn datagrams(&mut self, group: usize) {
        let udp = self.one(&[
            "{ kind = \"udp\" }",
            "{ kind = \"udp\", echo = true }",
            "{ kind = \"udp\", ecn = true, echo = true, echo_size = \"900B\" }",
        ]);
        let _ = writeln!(self.text, "transport = {udp}");
        if udp.contains("echo") {
            self.answered = Some(group);
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
        if let Some(group) = self.answered
            && self.chance(2)
        {
            let (back, probe) = match self.below(3) {
                0 => ("", "round_trip"),
                1 => ("", "delay"),
                _ => (".reverse", "delay"),
            };
            let when = self.one(&["every = \"10ms\"", "on_change = true"]);
            let _ = writeln!(
                self.text,
                "[record.c]\nflows = \"f{group}{back}\"\nprobes = \"{probe}\"\n{when}"
            );
        }
    }
}

impl Draw {
    fn changes(&mut self, links: usize, groups: usize) {
        let when = [
            "at = [\"50ms\", \"120ms\"]",
            "every = \"37ms\"",
            "every = \"100ms\"\nfrom = \"10ms\"",
        ];
        if self.chance(4) {
            let (link, when) = (self.below(links), self.one(&when));
            let what = self.one(&[
                "rate = [\"3Mbps\", \"30Mbps\"]",
                "delay = [\"20ms\", \"1ms\"]",
                "loss = [0.05, 0]",
            ]);
            let _ = writeln!(self.text, "[change.link]\nlink = \"l{link}\"\n{what}\n{when}");
        }
        if self.chance(4) {
            let (group, when) = (self.below(groups), self.one(&when));
            let what = self.one(&[
                "weight = [3, 1]",
                "congestion = [\"cubic\", \"reno\"]",
                "congestion = \"bbr\"",
            ]);
            let _ = writeln!(self.text, "[change.flows]\nflows = \"f{group}\"\n{what}\n{when}");
        }
    }
}

fn quoted(text: &str) -> String {
    match text.starts_with('[') {
        true => text.to_string(),
        false => format!("\"{text}\""),
    }
}
