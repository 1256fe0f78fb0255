//! The caller's stacks in the caller's scenarios: flows, sessions, several stacks, recordings, captures, errors.

mod common;

use common::{Stream, lab};
use tailback_path::{Amount, Datagram, Ecn, Endpoint, Finished, ProbeDef, Scenario, Time};

/// An end of a stack writes what its application writes, and the application hears of it.
#[test]
fn sources_of_ours_write_to_a_stack() {
    let text = lab(
        "[flows.mine]\ntransport = \"stack\"\ntraffic = { kind = \"transfer\", size = \"100kB\" }\nstart = \"500ms\"\n",
    );
    let results = Scenario::parse(&text, "lab.toml")
        .endpoints("mine", |_| Stream::pair())
        .run()
        .unwrap();
    let (client, server) = &results.ends::<Stream, Stream>("mine")[0];
    assert_eq!(
        (client.written, client.acknowledged, server.received),
        (100_000, 100_000, 100_000)
    );
    assert_eq!(client.began.unwrap().0, 500_000_000);
}

/// A server may send before anything has reached it; otherwise it begins with the first datagram.
#[test]
fn a_server_may_speak_first() {
    let text =
        lab("[flows.mine]\ntransport = \"stack\"\nstart = \"1s\"\ntraffic = { kind = \"transfer\", size = \"1B\" }\n");
    let began = |server: fn() -> Stream| {
        let results = Scenario::parse(&text, "lab.toml")
            .endpoints("mine", move |_| (Stream::default(), server()))
            .run()
            .unwrap();
        let (client, server) = &results.ends::<Stream, Stream>("mine")[0];
        (server.began.unwrap().0, client.received)
    };
    // 20 ms of the way, and 41 B at 10 Mb/s.
    assert_eq!(began(Stream::default), (1_020_032_800, 0));
    assert_eq!(began(|| Stream::greeting(3000)), (1_000_000_000, 3000));
}

/// Pages over a stack: requests go one way and answers the other, over connections that clients open.
#[test]
fn pages_are_fetched_over_a_stack() {
    let text = lab(
        "[sessions.pages]\nkind = \"web\"\nclients = 3\ntransport = \"stack\"\nthink = { kind = \"constant\", mean = \
         \"200ms\" }\n",
    );
    let results = Scenario::parse(&text, "lab.toml")
        .endpoints("pages", |_| Stream::pair())
        .run()
        .unwrap();
    let pages = results.tables().iter().find(|t| t.name == "pages").unwrap();
    assert!(pages.rows() > 5, "{} pages", pages.rows());
    let ends = results.ends::<Stream, Stream>("pages");
    assert!(ends.len() >= 3, "{} connections", ends.len());
    for (client, server) in ends {
        assert!(client.written > 0 && client.received <= server.written && server.received <= client.written);
    }
    let fetched: u64 = ends.iter().map(|(client, _)| client.received).sum();
    assert!(fetched > 500_000, "{fetched} B");
}

/// Two stacks, a sender of tailback's, a recording, a capture, and a line that becomes slower.
#[test]
fn stacks_stand_beside_each_other() {
    let text = lab(r#"
        [flows.one]
        transport = "stack"
        [flows.two]
        transport = "stack"
        count = 2
        [flows.ours]
        tcp = { congestion = "cubic" }
        [record.window]
        flows = "two"
        probes = ["outstanding"]
        every = "100ms"
        [change.slower]
        at = "2s"
        link = "line"
        rate = "2Mbps"
        "#);
    let path = std::env::temp_dir().join(format!("tailback-stacks-{}.pcapng", std::process::id()));
    let run = |capture: bool| {
        let lab = Scenario::parse(&text, "lab.toml")
            .endpoints("one", |_| Stream::pair())
            .endpoints("two", |pair| {
                (Numbered(pair.number, Stream::default()), Stream::default())
            });
        match capture {
            true => lab.capture("line", &path),
            false => lab,
        }
        .run()
        .unwrap()
    };
    let results = run(true);
    let captured = std::fs::metadata(&path).unwrap().len();
    std::fs::remove_file(&path).unwrap();
    assert!(captured > 100_000, "{captured} B");
    let two = results.ends::<Numbered, Stream>("two");
    assert_eq!([two[0].0.0, two[1].0.0], [0, 1]);
    assert!(two[0].1.received > 100_000 && results.group("ours", "goodput_bps_sum") > 1e5);
    let series = results.tables().iter().find(|t| t.name == "series").unwrap();
    assert_eq!(series.rows(), 2 * 51);
    // The same run, to the bit.
    let again = run(false);
    let written = |r: &Finished| format!("{:?}", r.tables());
    assert!(written(&results) == written(&again), "another run");
}

/// Sends ten datagrams with these bytes at once; its headers are as long as the number says.
struct Bytes(Vec<u8>, u32, u32);

impl Endpoint for Bytes {
    type Data = Vec<u8>;
    fn receive(&mut self, _data: Vec<u8>, _ecn: Ecn, _now: Time) {}
    fn transmit(&mut self, _now: Time) -> Option<Datagram<Vec<u8>>> {
        self.2 += 1;
        (self.2 <= 10).then(|| Datagram::new(self.0.clone(), self.0.len() as u32 + self.1))
    }
    fn timeout(&self) -> Option<Time> {
        None
    }
}

#[test]
fn a_capture_has_the_bytes_of_stacks() {
    let text = lab("[flows.udp]\ntransport = \"stack\"\ncount = 2\n[flows.ip]\ntransport = \"stack\"\n");
    let path = std::env::temp_dir().join(format!("tailback-bytes-{}.pcapng", std::process::id()));
    let silent = || Bytes(vec![], 0, 10);
    let packet = [&[0x45][..], b" a packet with all its headers"].concat();
    let whole = packet.clone();
    let run = Scenario::parse(&text, "lab.toml")
        .endpoints("udp", move |p| {
            let data = format!("hello from connection {}", p.number);
            (Bytes(data.into(), 28, 0), silent())
        })
        .endpoints("ip", move |_| (Bytes(whole.clone(), 0, 0), silent()));
    run.capture("line", &path).run().unwrap();
    let file = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let count = |of: &[u8]| file.windows(of.len()).filter(|w| *w == of).count();
    assert_eq!(
        [count(b"hello from connection 0"), count(b"hello from connection 1")],
        [10, 10]
    );
    // The length of each packet stands before it, twice: that of the data with headers of 28 B, or that of the data
    // alone if they are a packet.
    let length = |n: u32| [n.to_ne_bytes(), n.to_ne_bytes()].concat();
    assert_eq!(count(&[length(31), packet].concat()), 10);
    assert_eq!(count(&[length(51), vec![0x45]].concat()), 20);
}

/// The number that its group has for it, and the end itself.
struct Numbered(u32, Stream);

impl Endpoint for Numbered {
    type Data = <Stream as Endpoint>::Data;
    fn start(&mut self, now: Time) {
        self.1.start(now);
    }
    fn write(&mut self, amount: Amount, now: Time) {
        self.1.write(amount, now);
    }
    fn receive(&mut self, data: Self::Data, ecn: Ecn, now: Time) {
        self.1.receive(data, ecn, now);
    }
    fn transmit(&mut self, now: Time) -> Option<Datagram<Self::Data>> {
        self.1.transmit(now)
    }
    fn timeout(&self) -> Option<Time> {
        self.1.timeout()
    }
    fn probes(&self) -> &'static [ProbeDef] {
        self.1.probes()
    }
    fn read(&self, probe: usize) -> f64 {
        self.1.read(probe)
    }
}

/// Datagrams that the path copies arrive twice; one that is lost is sent again.
#[test]
fn copies_and_losses_reach_a_stack() {
    let text = lab("[flows.mine]\ntransport = \"stack\"\ntraffic = { kind = \"transfer\", size = \"50kB\" }\n");
    let text = text.replace(
        "queue =",
        "impair = [{ kind = \"duplicate\", probability = 0.5 }, { kind = \"by-index\", indices = [3] }]\nqueue =",
    );
    let results = Scenario::parse(&text, "lab.toml")
        .endpoints("mine", |_| Stream::pair())
        .run()
        .unwrap();
    let (client, server) = &results.ends::<Stream, Stream>("mine")[0];
    assert_eq!((client.acknowledged, client.sent), (50_000, 51));
    assert!((60..90).contains(&server.sent), "{} acknowledgements", server.sent);
}

/// A black hole takes what is larger than its MTU, in silence: the stack sends it again and again.
#[test]
fn a_black_hole_is_silent() {
    let text = lab("[flows.mine]\ntransport = \"stack\"\ntraffic = { kind = \"transfer\", size = \"2500B\" }\n");
    let text = text.replace(
        "queue =",
        "impair = { kind = \"black-hole\", mtu = \"1000B\" }\nqueue =",
    );
    let results = Scenario::parse(&text, "lab.toml")
        .endpoints("mine", |_| Stream::pair())
        .run()
        .unwrap();
    let (client, server) = &results.ends::<Stream, Stream>("mine")[0];
    // Two of 1040 B are lost, the last one of 540 B arrives.
    assert_eq!((client.acknowledged, server.received), (0, 0));
    // At 0, 0.2 and so on to 5 s.
    assert_eq!(client.sent, 2 * 26 + 1);
    assert_eq!(results.flow("mine", 0, "dropped_packets"), 52.0);
}

#[test]
fn what_does_not_fit_is_said() {
    let said = |text: &str, group: &str| {
        let scenario = Scenario::parse(text, "lab.toml").endpoints(group, |_| Stream::pair());
        scenario.run().err().expect("an error").to_string()
    };
    let stack = lab("[flows.mine]\ntransport = \"stack\"\n");
    let other = said(&stack, "yours");
    assert!(
        other.contains("the transport of mine is a stack from outside, which the run did not get"),
        "{other}"
    );
    let tcp = said(&lab("[flows.mine]\ncount = 1\n"), "mine");
    assert!(
        tcp.contains("the transport of mine is tcp, but a stack is given for it"),
        "{tcp}"
    );
    let nothing = said(&lab("[flows.mine]\ncount = 1\n"), "yours");
    assert!(nothing.contains("no group of this name; it has mine"), "{nothing}");
    let rate = said(&stack.replace("10Mbps", "10 metres"), "mine");
    assert!(rate.contains("lab.toml:") && rate.contains("metres"), "{rate}");
    let record = "[record.x]\nflows = \"mine\"\nprobes = [\"height\"]\nevery = \"1s\"\n";
    let probe = said(&format!("{stack}{record}"), "mine");
    assert!(probe.contains("there is no probe \"height\""), "{probe}");
    let captured = Scenario::parse(&stack, "lab.toml")
        .endpoints("mine", |_| Stream::pair())
        .capture("lane", "/nowhere/lane.pcapng")
        .run();
    let captured = captured.err().expect("an error").to_string();
    assert!(captured.contains("\"lane\" is to be captured"), "{captured}");
    let missing = Scenario::load("/nowhere/lab.toml")
        .run()
        .err()
        .expect("an error")
        .to_string();
    assert!(missing.contains("/nowhere/lab.toml"), "{missing}");
}

/// An end with one fault.
struct Faulty(&'static str, u64);

impl Endpoint for Faulty {
    type Data = ();
    fn receive(&mut self, (): (), _ecn: Ecn, _now: Time) {
        self.1 = 9 - self.1;
    }
    fn transmit(&mut self, _now: Time) -> Option<Datagram<()>> {
        match self.0 {
            "large" => Some(Datagram::new((), 70_000)),
            "endless" => Some(Datagram::new((), 100)),
            "shrinks" if self.1 < 3 => {
                self.1 += 1;
                Some(Datagram::new((), 100))
            }
            _ => None,
        }
    }
    fn timeout(&self) -> Option<Time> {
        (self.0 == "stands still").then_some(Time::ZERO)
    }
    fn delivered(&self) -> u64 {
        self.1
    }
}

#[test]
fn an_end_that_breaks_its_contract_ends_the_run() {
    let text = lab("[flows.mine]\ntransport = \"stack\"\n");
    let said = |fault: &'static str| {
        let scenario = Scenario::parse(&text, "lab.toml");
        let results = scenario
            .endpoints("mine", move |_| (Faulty(fault, 0), Faulty("", 0)))
            .run();
        results.err().expect("an error").to_string()
    };
    assert!(said("large").starts_with("the stack of mine gives a datagram of 70000 B (0 s into the run); give 1 to"));
    assert!(said("endless").starts_with("the stack of mine sends 262144 datagrams at once (0 s into the run); let"));
    assert!(said("stands still").starts_with("the stack of mine stands still (0 s into the run); its timeout"));
    assert!(
        said("shrinks").starts_with("the stack of mine has delivered 0 B, after 9 B (0.020"),
        "{}",
        said("shrinks")
    );
}

/// A workload runs its sender once more, alone, after the run.
#[test]
fn a_workload_makes_one_connection_more() {
    let text = lab(
        "[workload.moves]\nhosts = [\"a\", \"b\"]\nload = 0.2\nsizes = { kind = \"constant\", mean = \"20kB\" }\n\
         transport = \"stack\"\n",
    );
    let results = Scenario::parse(&text, "lab.toml")
        .endpoints("moves", |pair| {
            (Numbered(pair.number, Stream::default()), Stream::default())
        })
        .run()
        .unwrap();
    let transfers = results.tables().iter().find(|t| t.name == "transfers").unwrap();
    let ends = results.ends::<Numbered, Stream>("moves");
    assert!(ends.iter().map(|(first, _)| first.0).eq(0..ends.len() as u32));
    assert_eq!(ends.len(), transfers.rows() + 1, "there and back are of one kind");
    assert_eq!(ends.last().unwrap().1.received, 20_000);
}
