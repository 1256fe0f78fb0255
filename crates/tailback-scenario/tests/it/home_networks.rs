//! What people have at home beside a queue: a tree of classes, a tunnel, a policer, an emulated path.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::results::outcome::Outcome;

/// A line of a gigabit from `a` to `b` with these values, and these flows.
fn line(values: &str, flows: &str) -> String {
    format!(
        "duration = \"20s\"\nwarmup = \"5s\"\nmarking = false\n\
         [link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"10ms\"\nreverse_queue = \"droptail\"\n\
         {values}\n{flows}"
    )
}

/// The goodput of a group, Mb/s.
fn goodput(o: &Outcome, group: &str) -> f64 {
    let t = &o["groups"];
    let row = (0..t.rows()).find(|i| text(t, "group", *i) == group).unwrap();
    number(t, "goodput_bps_sum", row) / 1e6
}

/// Datagrams of 1000 B of one group with this code point and rate.
fn datagrams(name: &str, dscp: &str, rate: &str) -> String {
    format!(
        "[flows.{name}]\ntransport = \"udp\"\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\" }}\n\
         packet_size = \"1000B\"\ndscp = \"{dscp}\"\n"
    )
}

/// A class for calls, one for work and one for the rest. Work is idle at first, then has its rate, and the rest has
/// what is left.
#[test]
fn a_tree_of_classes_in_a_scenario() {
    let queue = "queue = { kind = \"htb\", rate = \"20Mbps\", default = \"rest\", queue = \"fq-codel\", classes = [\n\
                 { name = \"calls\", rate = \"1Mbps\", ceil = \"20Mbps\", prio = 0, dscp = [\"EF\", \"VA\"] },\n\
                 { name = \"data\", rate = \"19Mbps\", ceil = \"20Mbps\" },\n\
                 { name = \"work\", parent = \"data\", rate = \"12Mbps\", ceil = \"20Mbps\", prio = 1, \
                 dscp = [\"AF21\"], \
                 queue = { kind = \"droptail\", buffer = \"100 packets\" } },\n\
                 { name = \"rest\", parent = \"data\", rate = \"7Mbps\", ceil = \"20Mbps\", prio = 2 }] }";
    let calls = datagrams("calls", "EF", "500kbps");
    let flows = |work: &str| {
        format!(
            "{calls}{work}[flows.rest]\ncount = 2\ntcp = {{ ecn = \"off\" }}\n\
                 [record.c]\nlink = \"line\"\nprobes = [\"class_packets\", \"borrowed\", \"count\"]\nevery = \"1s\"\n"
        )
    };
    let alone = run_text(&line(queue, &flows("")));
    near(goodput(&alone, "rest"), 19.5 * 1448.0 / 1500.0, 0.3);
    let both = run_text(&line(queue, &flows(&datagrams("work", "AF21", "30Mbps"))));
    let [work, rest] = ["work", "rest"].map(|name| goodput(&both, name));
    // What calls leave of their rate goes to work, which borrows first.
    near(work, 12.0 + 0.5, 0.2);
    near(rest, 7.0 * 1448.0 / 1500.0, 0.2);
    let call = goodput(&both, "calls");
    near(call, 0.5, 0.01);
    let t = &both["series"];
    let read = |probe: &str, class: f64| {
        let mut rows = (0..t.rows()).filter(|i| text(t, "probe", *i) == probe && number(t, "index", *i) == class);
        rows.next_back().map(|i| number(t, "value", i)).unwrap()
    };
    assert!(read("class_packets", 2.0) > 90.0 && read("class_packets", 0.0) < 3.0);
    assert!(read("borrowed", 2.0) > 500.0);
    // A wrong name has a place.
    let e = load_text(
        &line(
            &queue.replace("parent = \"data\", rate = \"7", "parent = \"dat\", rate = \"7"),
            &calls,
        ),
        "x.toml",
        &[],
    );
    let said = e.unwrap_err().to_string();
    assert!(
        said.contains("classes[3].parent") && said.contains("did you mean \"data\""),
        "{said}"
    );
}

/// Eight downloads in a tunnel beside one that is in none. By the outer header the tunnel is one flow, and has a half;
/// by a hash from before it has eight ninths, or a half again where hosts share first, since its ends are one pair.
#[test]
fn flows_in_a_tunnel_are_one_or_many() {
    let share = |queue: &str, tunnel: &str| {
        let flows = format!(
            "[flows.inside]\ncount = 8\n{tunnel}\ntcp = {{ ecn = \"off\" }}\naccess_rate = \"100Mbps\"\n\
             exit_rate = \"100Mbps\"\n[flows.outside]\ntcp = {{ ecn = \"off\" }}\n\
             [record.q]\nlink = \"line\"\nprobes = [\"backlogged\"]\nevery = \"10ms\"\n"
        );
        let values = format!("queue = {{ kind = \"{queue} }}");
        let o = run_text(&line(&values, &flows).replace("1Gbps", "10Mbps"));
        let t = &o["series"];
        let queues = (0..t.rows()).map(|i| number(t, "value", i)).fold(0.0, f64::max);
        let [inside, outside] = ["inside", "outside"].map(|name| goodput(&o, name));
        (inside / (inside + outside), queues)
    };
    let tunnel = "tunnel = \"vpn\"";
    let inner = "tunnel = \"vpn\"\ntunnel_hash = \"inner\"";
    for (queue, tunnel, part, queues) in [
        ("fq-codel\"", "", 8.0 / 9.0, 9.0),
        ("fq-codel\"", tunnel, 0.5, 2.0),
        ("fq-codel\"", inner, 8.0 / 9.0, 9.0),
        ("cake\", isolation = \"flows\"", tunnel, 0.5, 2.0),
        ("cake\", isolation = \"flows\"", inner, 8.0 / 9.0, 9.0),
        ("cake\"", inner, 0.5, 9.0),
        ("cake\"", "", 8.0 / 9.0, 9.0),
        ("cake\", isolation = \"flowblind\"", inner, 8.0 / 9.0, 1.0),
    ] {
        let (found, most) = share(queue, tunnel);
        // One flow alone does not fill its half behind CoDel, and the others take it.
        assert!((found - part).abs() < 0.1, "{queue} {tunnel}: {found}");
        assert_eq!(most, queues, "{queue} {tunnel}");
    }
}

/// Four clients that ask for one answer after another, each over connections of its own, in the tunnel of an upload. At
/// the far end all that they send is one flow with the acknowledgements, or as many as there are.
#[test]
fn connections_of_sessions_share_a_tunnel() {
    let most = |hash: &str| {
        let flows = format!(
            "[sessions.pages]\nkind = \"requests\"\nclients = 4\nthink = {{ kind = \"constant\", mean = \"1ms\" }}\n\
             connection = \"new\"\nresponse = {{ kind = \"constant\", mean = \"300kB\" }}\n\
             tunnel = \"vpn\"\ntunnel_hash = \"{hash}\"\n\
             [flows.more]\ntunnel = \"vpn\"\ntunnel_hash = \"{hash}\"\ntcp = {{ ecn = \"off\" }}\n\
             [record.q]\nlink = \"line\"\nprobes = [\"backlogged\"]\nevery = \"5ms\"\n\
             [record.r]\nlink = \"line.reverse\"\nprobes = [\"backlogged\"]\nevery = \"1ms\"\n"
        );
        let values = "queue = \"fq-codel\"\nreverse_rate = \"1Mbps\"";
        let text_of = line(values, &flows)
            .replace("1Gbps", "10Mbps")
            .replace("\"droptail\"", "\"fq-codel\"");
        let o = run_text(&text_of);
        let t = &o["series"];
        ["link.line", "link.line.reverse"].map(|link| {
            let rows = (0..t.rows()).filter(|i| text(t, "what", *i) == link);
            rows.map(|i| number(t, "value", i)).fold(0.0, f64::max)
        })
    };
    assert_eq!(most("outer"), [1.0, 1.0]);
    let [there, back] = most("inner");
    assert!(there >= 5.0 && back >= 3.0, "{there} {back}");
}

/// A line that a provider polices to 10 Mb/s: datagrams pass at the rate after the burst; TCP sees losses and no delay,
/// and gets less than the rate with a short burst. A shaper before it keeps all losses away.
#[test]
fn a_policer_before_a_line() {
    let policed = |burst: &str| {
        format!("queue = \"droptail\"\nconditioner = {{ kind = \"policer\", rate = \"10Mbps\", burst = \"{burst}\" }}")
    };
    let o = run_text(&line(&policed("30kB"), &datagrams("f", "AF41", "20Mbps")));
    near(goodput(&o, "f"), 10.0, 0.02);
    near(lost(&o, "line", "profile") / 15.0, 1250.0, 10.0);
    let tcp = "[flows.f]\ncount = 2\ntcp = { ecn = \"off\", variant = \"sack\" }\n";
    let [short, long] = ["6kB", "60kB"].map(|burst| goodput(&run_text(&line(&policed(burst), tcp)), "f"));
    assert!(short < 0.8 * long && long < 10.0, "{short} {long}");
    let shaped = policed("30kB").replace(
        "queue = \"droptail\"",
        "queue = { kind = \"htb\", rate = \"9.5Mbps\", queue = \"fq-codel\" }",
    );
    // The shaper stands in the home, and the policer where the next line begins.
    let two = format!(
        "duration = \"20s\"\nwarmup = \"5s\"\nmarking = false\n\
         [link.home]\nfrom = \"a\"\nto = \"edge\"\nrate = \"1Gbps\"\ndelay = \"0s\"\nreverse_queue = \"droptail\"\n{}\n\
         [link.line]\nfrom = \"edge\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"10ms\"\n\
         reverse_queue = \"droptail\"\n{}\n\
         {}",
        shaped.lines().next().unwrap(),
        policed("30kB"),
        tcp.replace("count = 2", "count = 2\nfrom = \"a\"\nto = \"b\""),
    );
    let o = run_text(&two);
    near(goodput(&o, "f"), 9.5 * 1448.0 / 1500.0, 0.5);
    assert_eq!(lost(&o, "line", "profile"), 0.0);
}

/// 1000 packets held for 200 ms are 60 Mb/s of 1500 B; with ten times the limit all 100 Mb/s pass. With jitter
/// datagrams arrive in another order.
#[test]
fn a_path_that_netem_emulates() {
    let with = |netem: &str, rate: &str| {
        let flow = datagrams("f", "CS0", rate).replace("1000B", "1500B");
        run_text(&line(
            &format!("queue = \"droptail\"\nimpair = [{{ kind = \"netem\", {netem} }}]"),
            &flow,
        ))
    };
    let o = with("delay = \"200ms\"", "100Mbps");
    near(goodput(&o, "f"), 60.0, 0.1);
    let o = with("delay = \"200ms\", limit = 10000", "100Mbps");
    near(goodput(&o, "f"), 100.0, 0.1);
    assert_eq!(lost(&o, "line", "impairment"), 0.0);
    let o = with("delay = \"50ms\", loss = 0.1, duplicate = 0.2", "1Mbps");
    let f = |c| of(&o["flows"], "f.0", c);
    // Nine in ten of the packets and of a fifth more; of two copies one is lost with a loss.
    let arrived = f("received_packets") / f("sent_packets");
    near(arrived, 1.0 - 0.1 + 0.2 - 0.2 * 0.1, 0.05);
    let e = load_text(
        &line(
            "queue = \"droptail\"\nimpair = [{ kind = \"netem\", reorder = 0.2 }]",
            &datagrams("f", "CS0", "1Mbps"),
        ),
        "x.toml",
        &[],
    );
    let said = e.unwrap_err().to_string();
    assert!(
        said.contains("impair[0].reorder") && said.contains("give delay"),
        "{said}"
    );
}
