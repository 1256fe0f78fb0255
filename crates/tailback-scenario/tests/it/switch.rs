//! Switches whose ports share a memory: what each port holds in closed form, and requests to many servers at once.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::prepare;
use tailback_sim::results::outcome::Outcome;

/// Links of 10 Mb/s from one switch, `floods` of which get 20 Mb/s of datagrams from time 0 on.
fn flooded(floods: usize, links: usize, switch: &str, queue: &str) -> String {
    let mut text = format!("duration = \"10s\"\nwarmup = \"5s\"\n{switch}\n");
    for i in 0..links {
        text += &format!(
            "[link.port{i}]\nfrom = \"s\"\nto = \"h{i}\"\nrate = \"10Mbps\"\ndelay = \"1ms\"\nqueue = {queue}\n"
        );
    }
    for i in 0..floods {
        text += &format!(
            "[flows.flood{i}]\nfrom = \"s\"\nto = \"h{i}\"\ntransport = \"udp\"\ntraffic = {{ kind = \"poisson\", \
             rate = \
             \"20Mbps\" }}\npacket_size = \"1000B\"\n"
        );
    }
    text
}

const SWITCH: &str = "[switch.s]\nbuffer = \"400 packets\"\nalpha = 1\n";

fn queue_of(o: &Outcome, link: &str) -> f64 {
    of(&o["links"], link, "mean_queue_packets")
}

/// Choudhury and Hahne 1998, equation 3: n full queues hold alpha B / (1 + n alpha) each; the mean is a little less, as
/// a packet that leaves is replaced by the next arrival, half a transmission later.
#[test]
fn full_ports_hold_what_the_closed_form_says() {
    for (n, each) in [(1, 200.0), (2, 400.0 / 3.0), (3, 100.0)] {
        let o = run_text(&flooded(n, 3, SWITCH, "\"droptail\""));
        for i in 0..n {
            near(queue_of(&o, &format!("port{i}")), each - 0.5, 1.5);
        }
        for i in n..3 {
            assert_eq!(queue_of(&o, &format!("port{i}")), 0.0);
        }
    }
}

/// Both directions of a link belong to the switch they leave, and a link that leaves another node does not.
#[test]
fn a_port_belongs_to_the_node_that_it_leaves() {
    let text = flooded(
        1,
        1,
        "[switch.h0]\nbuffer = \"400 packets\"\n",
        "{ kind = \"droptail\", buffer = \"50 packets\" }",
    );
    near(queue_of(&run_text(&text), "port0"), 49.5, 1.5);
    // The same way, with the link written from its other end.
    let back = flooded(1, 1, SWITCH, "\"droptail\"")
        .replace("from = \"s\"\nto = \"h0\"\nrate", "from = \"h0\"\nto = \"s\"\nrate");
    near(queue_of(&run_text(&back), "port0.reverse"), 199.5, 1.5);
}

/// A buffer that is given holds beside the threshold, and queues of a port have thresholds of their own.
#[test]
fn own_buffers_and_own_queues() {
    let o = run_text(&flooded(
        1,
        1,
        SWITCH,
        "{ kind = \"droptail\", buffer = \"30 packets\" }",
    ));
    near(queue_of(&o, "port0"), 29.5, 1.0);
    let port = "{ kind = \"drr\", mapper = \"per_flow\" }";
    let two = flooded(1, 1, SWITCH, port)
        + "[flows.beside]\nfrom = \"s\"\nto = \"h0\"\ntransport = \"udp\"\ntraffic = { kind = \"poisson\", rate = \
           \"20Mbps\" }\npacket_size = \"1000B\"\n";
    // Two queues of one port, each with a third of the memory.
    near(queue_of(&run_text(&two), "port0"), 800.0 / 3.0 - 1.0, 3.0);
}

/// Every discipline can stand at a port of a switch as it is, and so can thresholds that are shares of a buffer: what
/// needs a limit of its own keeps it.
#[test]
fn any_discipline_can_be_a_port() {
    let shares = "{ kind = \"red\", min_threshold = \"10%\", max_threshold = \"50%\" }";
    let bounds = "{ kind = \"port\", before = [{ kind = \"red\", max_threshold = \"50%\" }] }";
    let plain = tailback_queue::registry::models().map(|m| match m.name {
        "htb" => "{ kind = \"htb\", rate = \"5Mbps\", queue = \"fred\" }".to_string(),
        name => format!("\"{name}\""),
    });
    for queue in plain.chain([shares, bounds].map(String::from)) {
        let text = flooded(1, 1, SWITCH, &queue).replace("10s", "1s").replace("5s", "0s");
        let text = match load_text(&text, "test.toml", &[]) {
            Ok(_) => text,
            // Some have no other signal.
            Err(_) => format!("marking = true\n{text}").replace("\"udp\"", "{ kind = \"udp\", ecn = true }"),
        };
        let loaded = load_text(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{queue}: {e}"));
        let mut prepared = prepare(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{queue}: {e}"));
        prepared.built.sim.run_until(at(1000));
        check_conservation(&prepared.built);
    }
}

/// A change of the queue's values leaves the queue as much of the memory as before.
#[test]
fn a_change_does_not_bring_a_buffer_back() {
    for (queue, change) in [
        (
            "{ kind = \"codel\", target = \"50s\", interval = \"50s\" }",
            "{ kind = \"codel\", target = \"49s\" }",
        ),
        (
            "{ kind = \"htb\", rate = \"9Mbps\", queue = \"drr\" }",
            "{ kind = \"htb\", rate = \"8Mbps\" }",
        ),
    ] {
        // Half of the memory is 2000 packets, and the buffer that no one gives is smaller.
        let switch = "[switch.s]\nbuffer = \"4000 packets\"\nalpha = 1\n";
        let change = format!("[change.c]\nlink = \"port0\"\nqueue = {change}\nat = \"1s\"\n");
        let text = flooded(1, 1, switch, queue).replace("20Mbps", "80Mbps") + &change;
        near(queue_of(&run_text(&text), "port0"), 2000.0, 3.0);
    }
}

/// Nothing is lost from the books, whatever is dropped where, and the same seed gives the same numbers.
#[test]
fn packets_are_conserved_and_runs_repeat() {
    let text = flooded(
        3,
        3,
        SWITCH,
        "{ kind = \"codel\", target = \"50ms\", interval = \"500ms\" }",
    );
    // Counted from the start, so that what is inside at the end is all there is.
    let text = text.replace("warmup = \"5s\"\n", "");
    let loaded = load_text(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let run = || {
        let mut prepared = prepare(&loaded.spec, 7, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
        prepared.built.sim.run_until(at(10_000));
        check_conservation(&prepared.built);
        outcome(&prepared.built, at(10_000))
    };
    let [a, b] = [run(), run()];
    for i in 0..3 {
        let name = format!("port{i}");
        assert!(lost(&a, &name, "overflow") > 0.0, "the memory was short");
        assert_eq!(queue_of(&a, &name).to_bits(), queue_of(&b, &name).to_bits());
    }
}

/// A switch without a node, and a value that is no factor, are refused with what there is.
#[test]
fn what_is_no_switch_is_refused() {
    let refused = |switch: &str| match load_text(&flooded(1, 1, switch, "\"droptail\""), "test.toml", &[]) {
        Ok(_) => panic!("{switch} was taken"),
        Err(e) => e.to_string(),
    };
    let e = refused("[switch.S]\n");
    assert!(e.contains("no link leaves a node \"S\"") && e.contains("h0, s"), "{e}");
    let e = refused("[switch.s]\nalpha = 0\n");
    assert!(e.contains("switch.s.alpha") && e.contains("0.001"), "{e}");
    let e = refused("[switch.s]\nbufer = \"1MB\"\n");
    assert!(e.contains("buffer"), "{e}");
}

/// One client asks `n` servers for 1 MB together, over a port of 1 Gb/s: DCTCP paper, section 4.2.1.
fn incast(n: u32, queue: &str, switch: &str, tcp: &str) -> Outcome {
    run_text(&format!(
        "duration = \"20s\"\nend = \"sessions\"\n[link.port]\nfrom = \"tor\"\nto = \"client\"\nrate = \"1Gbps\"\n\
         delay = \
         \"25us\"\nqueue = {queue}\nreverse_queue = {{ kind = \"droptail\", buffer = \"unlimited\" \
         }}\n{switch}\n[sessions.query]\nkind = \"incast\"\nfrom = \"tor\"\nto = \"client\"\nservers = {n}\n\
         total = \"1MB\"\nrequests = 40\naccess_rate = \
         \"1Gbps\"\nrtt = \"100us\"\nserver_time = {{ kind = \"exponential\", mean = \"20us\" }}\n\
         tcp = {{ connection = \
         \"two-way\", initial_window = \"2 packets\", delayed_ack_timeout = \"1ms\", min_rto = \"10ms\", {tcp} }}\n"
    ))
}

fn mean_completion_ms(o: &Outcome) -> f64 {
    let t = &o["pages"];
    assert_eq!(t.rows(), 40);
    (0..40).map(|i| number(t, "completion_s", i)).sum::<f64>() / 40.0 * 1e3
}

fn timeouts(o: &Outcome) -> f64 {
    let t = &o["transfers"];
    (0..t.rows()).map(|i| number(t, "timeouts", i)).sum()
}

/// Every answer has its part, and the page ends with the last of them.
#[test]
fn a_request_waits_for_the_last_answer() {
    let o = incast(
        3,
        "{ kind = \"droptail\", buffer = \"unlimited\" }",
        "",
        "ecn = \"off\"",
    );
    let (pages, transfers) = (&o["pages"], &o["transfers"]);
    assert_eq!(number(pages, "objects", 0), 3.0);
    assert_eq!(number(pages, "bytes", 0), 1_000_000.0);
    let parts: Vec<f64> = (0..3).map(|i| number(transfers, "bytes", i)).collect();
    assert_eq!(parts, [333_334.0, 333_333.0, 333_333.0]);
    let last = (0..3).map(|i| number(transfers, "done_s", i)).fold(0.0, f64::max);
    assert_eq!(number(pages, "done_s", 0), last);
    // The next request follows the last answer at once, so all servers are asked at the same instant.
    assert_eq!(number(pages, "asked_s", 1), last);
    for i in 3..6 {
        assert_eq!(number(transfers, "asked_s", i), last);
    }
    // 1 MB with its headers takes 8.3 ms on the line, in which three senders are busy from the second request on.
    let second = number(pages, "completion_s", 1);
    near(second * 1e3, 8.4, 0.4);
}

/// DCTCP with K = 20 packets at 1 Gb/s, as in the paper.
const STEP: &str = "{ kind = \"red\", min_threshold = \"20 packets\", max_threshold = \"20 packets\", \
    max_probability = \
    1, weight = 1, gentle = false, mark_cap = 1, mark_above_max = true, wait = false, \
    mean_packet = \"1500B\", buffer = \
    BUFFER }";
const DCTCP: &str = "ecn = \"on\", congestion = \"dctcp\", ect_on_retransmissions = true";
const SHARED: &str = "[switch.tor]\nbuffer = \"4MB\"\nalpha = 0.25\n";

/// DCTCP paper, section 4.2.1, figures on incast. With a static buffer of 100 kB TCP suffers from 10 servers on; DCTCP
/// only from 35 on, when two packets of each (105 kB) no longer fit. A memory shared by dynamic thresholds moves the
/// knee: DCTCP has no timeout at 40 servers, and TCP has fewer.
#[test]
fn dynamic_thresholds_move_the_knee_of_incast() {
    let static_tcp = |n| incast(n, "{ kind = \"droptail\", buffer = \"100KB\" }", "", "ecn = \"off\"");
    let shared_tcp = |n| incast(n, "\"droptail\"", SHARED, "ecn = \"off\"");
    let static_dctcp = |n| incast(n, &STEP.replace("BUFFER", "\"100KB\""), "", DCTCP);
    let shared_dctcp = |n| incast(n, &STEP.replace("BUFFER", "\"unlimited\""), SHARED, DCTCP);
    let means = |run: &dyn Fn(u32) -> Outcome| [4, 20, 30, 40].map(|n| mean_completion_ms(&run(n)));
    let [tcp, dynamic] = [means(&static_tcp), means(&shared_tcp)];
    let [step, step_shared] = [means(&static_dctcp), means(&shared_dctcp)];
    println!("tcp {tcp:.1?}, shared {dynamic:.1?}; dctcp {step:.1?}, shared {step_shared:.1?} ms");
    // 1 MB takes 8.4 ms. Four servers make no difference, and DCTCP makes none up to 30.
    for mean in [
        tcp[0],
        dynamic[0],
        step[0],
        step[1],
        step[2],
        step_shared[0],
        step_shared[1],
        step_shared[2],
    ] {
        near(mean, 8.4, 0.6);
    }
    assert!(tcp[1] > 10.0 && tcp[3] > 12.0, "timeouts of 10 ms: {tcp:?}");
    assert!(step[3] > 12.0, "40 x 2 packets do not fit: {step:?}");
    near(step_shared[3], 8.4, 0.6);
    assert!(dynamic[3] < 0.8 * tcp[3], "{dynamic:?} {tcp:?}");
    assert_eq!(timeouts(&shared_dctcp(40)), 0.0);
    assert!(timeouts(&static_dctcp(40)) > 40.0);
}

/// A port under pressure from others: their full queues leave less for a burst, and requests suffer (section 4.2.3).
#[test]
fn long_queues_at_other_ports_take_from_the_memory() {
    let beside = |tcp: &str, queue: &str| {
        let mut more = SHARED.replace("4MB", "1MB");
        for i in 0..4 {
            more += &format!(
                "[link.other{i}]\nfrom = \"tor\"\nto = \"h{i}\"\nrate = \"1Gbps\"\ndelay = \"25us\"\nqueue = \
                 {queue}\n[flows.long{i}]\nfrom = \"tor\"\nto = \"h{i}\"\ncount = 2\nrtt = \"100us\"\naccess_rate = \
                 \"1Gbps\"\nstart = [\"0s\", \"20us\"]\ntcp = {{ delayed_ack_timeout = \"1ms\", \
                 min_rto = \"10ms\", {tcp} \
                 }}\n"
            );
        }
        incast(20, queue, &more, tcp)
    };
    let shared = STEP.replace("BUFFER", "\"unlimited\"");
    let [tcp, dctcp] = [beside("ecn = \"off\"", "\"droptail\""), beside(DCTCP, &shared)];
    let [slow, fast] = [mean_completion_ms(&tcp), mean_completion_ms(&dctcp)];
    println!("beside long flows: tcp {slow:.1} ms, dctcp {fast:.1} ms");
    near(fast, 8.4, 0.6);
    assert!(
        slow > fast + 1.0,
        "a timeout of 10 ms in one request of ten or more: {slow} {fast}"
    );
    assert!(lost(&tcp, "port", "overflow") > 0.0 && lost(&dctcp, "port", "overflow") == 0.0);
}
