//! Sessions by text: times of transfers in closed form, rows for members, the warm-up, intervals, and the end of a run.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::prepare;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::run::run;

/// A line that takes no time to send, 50 ms each way, and TCP that acknowledges each segment.
const LINE: &str = r#"
[link.line]
from = "servers"
to = "clients"
rate = "100Gbps"
delay = "50ms"
queue = { kind = "droptail", buffer = "unlimited" }
"#;
const TCP: &str = r#"tcp = { delayed_ack = 1, payload = "1460B", initial_window = "10 packets" }"#;

fn scenario(top: &str, sessions: &str) -> String {
    format!("{top}\n{LINE}\n[sessions.web]\n{sessions}\n{TCP}\n")
}

fn completions(o: &Outcome) -> Vec<f64> {
    let t = &o["transfers"];
    (0..t.rows()).map(|i| number(t, "completion_s", i)).collect()
}

fn sum(o: &Outcome, table: &str, column: &str) -> f64 {
    (0..o[table].rows()).map(|i| number(&o[table], column, i)).sum()
}

fn two_way(text: &str) -> String {
    text.replace("tcp = {", "tcp = { connection = \"two-way\",")
}

/// One connection carries requests and responses: SYN, SYN-ACK, request and response are four trips, and two on a kept
/// connection. The rows count the responses as what went forward, as over one-way connections.
#[test]
fn an_exchange_over_one_connection_takes_four_trips() {
    let session = |connection: &str| {
        two_way(&scenario(
            "duration = \"10s\"",
            &format!(
                "kind = \"requests\"\nresponse = {{ kind = \"constant\", mean = \"14600B\" }}\n\
                 think = {{ kind = \"constant\", mean = \"800ms\" }}\nconnection = \"{connection}\""
            ),
        ))
    };
    // Ten segments and a window of ten.
    let kept = run_text(&session("keep"));
    let times = completions(&kept);
    near(times[0], 0.200, 1e-4);
    // On a line that takes no time the first byte comes with the last.
    near(number(&kept["transfers"], "response_s", 0), 0.200, 1e-4);
    assert_eq!(times.len(), 11);
    times[1..].iter().for_each(|c| near(*c, 0.100, 1e-4));
    let anew = run_text(&session("new"));
    let times = completions(&anew);
    assert_eq!(times.len(), 10);
    times.iter().for_each(|c| near(*c, 0.200, 1e-4));
    for (o, responses) in [(&kept, 11.0), (&anew, 10.0)] {
        let bits = of(&o["flows"], "web.0", "goodput_bps") * 10.0;
        assert!(
            bits >= responses * 14_600.0 * 8.0 && bits < (responses + 1.0) * 14_600.0 * 8.0,
            "{bits}"
        );
        let bits = of(&o["flows"], "web.0", "reverse_goodput_bps") * 10.0;
        assert!(bits >= responses * 350.0 * 8.0 && bits <= 11.0 * 350.0 * 8.0, "{bits}");
    }
    // The server closes behind each response, and stays in TIME-WAIT for two seconds.
    assert_eq!(of(&anew["groups"], "web", "connections"), 8.0);
}

/// TCP carries data one way by default: the first exchange opens two connections (SYN, SYN-ACK and request; the same
/// for the response), six trips; on kept connections an exchange takes two.
#[test]
fn an_exchange_takes_six_trips_and_two_on_kept_connections() {
    let session = |connection: &str| {
        format!(
            "kind = \"requests\"\nresponse = {{ kind = \"constant\", mean = \"1000B\" }}\n\
             think = {{ kind = \"constant\", mean = \"900ms\" }}\nconnection = \"{connection}\""
        )
    };
    let kept = completions(&run_text(&scenario("duration = \"10s\"", &session("keep"))));
    near(kept[0], 0.300, 1e-4);
    // The first is over at 0.3 s, so the next are asked at 1.2 s, 2.2 s and so on: one a second.
    assert_eq!(kept.len(), 10);
    kept[1..].iter().for_each(|c| near(*c, 0.100, 1e-4));
    let anew = completions(&run_text(&scenario("duration = \"10s\"", &session("new"))));
    assert_eq!(anew.len(), 9);
    // The ninth is under way when the run ends.
    anew[..8].iter().for_each(|c| near(*c, 0.300, 1e-4));
    // 20 segments with a window of ten: one round trip more.
    let large = session("keep").replace("1000B", "29200B");
    near(
        completions(&run_text(&scenario("duration = \"2s\"", &large)))[0],
        0.400,
        1e-4,
    );
}

#[test]
fn a_schedule_sends_what_is_listed_when_it_is_listed() {
    let text = scenario(
        "duration = \"10s\"",
        "kind = \"schedule\"\nclients = 2\nat = [\"3s\", \"1s\"]\nsizes = [\"1000B\", \"2000B\"]\nstart = [\"0s\", \
         \"500ms\"]",
    );
    let o = run_text(&text);
    let t = &o["transfers"];
    let rows: Vec<[f64; 3]> = (0..t.rows())
        .map(|i| ["member", "bytes", "asked_s"].map(|c| number(t, c, i)))
        .collect();
    assert_eq!(
        rows,
        [
            [0.0, 2000.0, 1.0],
            [1.0, 2000.0, 1.5],
            [0.0, 1000.0, 3.0],
            [1.0, 1000.0, 3.5]
        ]
    );
    // SYN, SYN-ACK, data.
    completions(&o).iter().for_each(|c| near(*c, 0.150, 1e-4));
    for member in ["web.0", "web.1"] {
        assert_eq!(of(&o["flows"], member, "connections"), 2.0);
        near(of(&o["flows"], member, "goodput_bps"), 3000.0 * 8.0 / 10.0, 1e-6);
    }
    assert_eq!(of(&o["groups"], "web", "connections"), 4.0);
    assert_eq!(of(&o["groups"], "web", "flows"), 2.0);
}

/// A megabyte before the end of the warm-up, a hundred kilobytes after it, and one transfer that spans it.
#[test]
fn what_is_over_before_the_measured_time_does_not_count_in_it() {
    let text = |at: &str| {
        let session = format!("kind = \"schedule\"\nat = {at}\nsizes = [\"1MB\", \"100kB\"]");
        scenario("duration = \"20s\"\nwarmup = \"10s\"\ninterval = \"2500ms\"", &session)
    };
    let o = run_text(&text("[\"1s\", \"12s\"]"));
    let flow = |column: &str| of(&o["flows"], "web.0", column);
    near(flow("goodput_bps"), 100e3 * 8.0 / 10.0, 1e-6);
    let segments = (100e3_f64 / 1460.0).ceil();
    assert_eq!((flow("sent_packets"), flow("received_packets")), (segments, segments));
    near(flow("delay_mean_s"), 0.050, 1e-4);
    near(flow("rtt_mean_s"), 0.100, 1e-3);
    assert_eq!(o["transfers"].rows(), 1);
    near(sum(&o, "groups", "goodput_bps_sum"), 100e3 * 8.0 / 10.0, 1e-6);
    // Four intervals of 2.5 s, and the data in the first.
    let goodput: Vec<f64> = (0..4).map(|i| number(&o["intervals"], "goodput_bps", i)).collect();
    assert_eq!(o["intervals"].rows(), 4);
    near(goodput[0], 100e3 * 8.0 / 2.5, 1e-6);
    assert_eq!(goodput[1..], [0.0; 3]);
    // A transfer that is open when the measured time begins counts from there on, and has no row.
    let spanning = run_text(&text("[\"9900ms\"]"));
    let arrived = of(&spanning["flows"], "web.0", "goodput_bps") * 10.0 / 8.0;
    near(arrived, 1e6, 1.0);
    assert_eq!(spanning["transfers"].rows(), 0);
    // One that is open at the end has a row without an end, and its data count.
    let late = run_text(&text("[\"19700ms\"]"));
    assert!(number(&late["transfers"], "done_s", 0).is_nan());
    assert!(number(&late["transfers"], "first_s", 0) > 19.8);
    let received = of(&late["flows"], "web.0", "received_packets");
    assert!(received >= 10.0);
    near(
        of(&late["flows"], "web.0", "goodput_bps"),
        received * 1460.0 * 8.0 / 10.0,
        1e-6,
    );
    near(of(&late["flows"], "web.0", "delay_mean_s"), 0.050, 1e-4);
}

#[test]
fn a_run_may_end_with_its_sessions() {
    let session = "kind = \"requests\"\nclients = 3\nrequests = 5\nresponse = { kind = \"constant\", mean = \"1000B\" \
                   }\n\
                   start = [\"0s\", \"100ms\", \"200ms\"]";
    let whole = run_text(&scenario("duration = \"100s\"", session));
    let early = run_text(&scenario("duration = \"100s\"\nend = \"sessions\"", session));
    assert_eq!(completions(&whole), completions(&early));
    assert_eq!(early["transfers"].rows(), 15);
    // The last client: six trips, and four times two, after its start.
    let end = 0.2 + 0.3 + 4.0 * 0.1;
    near(
        of(&early["flows"], "web.2", "goodput_bps") * end,
        (5.0 * 1350.0) * 8.0,
        5.0,
    );
    near(
        of(&whole["flows"], "web.2", "goodput_bps") * 100.0,
        (5.0 * 1350.0) * 8.0,
        1e-3,
    );
    let late = load_text(
        &scenario("duration = \"100s\"\nwarmup = \"50s\"\nend = \"sessions\"", session),
        "t",
        &[],
    );
    let loaded = late.unwrap_or_else(|e| panic!("{e}"));
    let refusal = run(&loaded.spec, 1, &Hooks::default()).expect_err("nothing to measure");
    assert!(refusal.problem.contains("before the warm-up"), "{refusal}");
}

/// Another discipline changes when things happen, and no size and no pause.
#[test]
fn sizes_are_the_same_whatever_the_queue() {
    let sizes = |queue: &str| {
        let text = format!(
            "duration = \"60s\"\n[link.line]\nfrom = \"s\"\nto = \"c\"\nrate = \"2Mbps\"\ndelay = \"10ms\"\n\
             queue = {queue}\n[sessions.web]\nkind = \"requests\"\nclients = 5\nservers = 2\naccess_rate = \"10Mbps\"\n\
             exit_rate = \"10Mbps\"\nrtt = [\"50ms\", \"90ms\"]\n\
             response = {{ kind = \"pareto\", mean = \"20kB\", shape = 1.3, max = \"1MB\" }}\n\
             think = {{ kind = \"log-normal\", mean = \"1s\", shape = 0.5 }}\nrequests = 8\n"
        );
        let o = run_text(&text);
        let t = &o["transfers"];
        let mut of_member = vec![vec![]; 5];
        for i in 0..t.rows() {
            of_member[number(t, "member", i) as usize].push(number(t, "bytes", i));
        }
        (of_member, completions(&o))
    };
    let (a, times_a) = sizes("{ kind = \"droptail\", buffer = \"20 packets\" }");
    let (b, times_b) = sizes("{ kind = \"drr\", buffer = \"20 packets\" }");
    assert_eq!(a, b);
    assert!(times_a != times_b && a.iter().all(|m| m.len() == 8));
    assert!(a[0] != a[1], "each member has streams of its own");
}

/// Memory follows the connections that are open at one time.
#[test]
fn slots_are_used_again() {
    let text = scenario(
        "duration = \"300s\"",
        "kind = \"requests\"\nclients = 20\nconnection = \"new\"\nrequests = 500\n\
         response = { kind = \"constant\", mean = \"500B\" }",
    );
    // Two-way connections stay for two seconds in TIME-WAIT, in which a client makes ten requests.
    for (text, connections, slots) in [(two_way(&text), 20 * 500, 20 * 13), (text, 20 * 500 * 2, 20 * 4)] {
        let loaded = load_text(&text, "t", &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut built = prepare(&loaded.spec, 1, &Hooks::default())
            .unwrap_or_else(|e| panic!("{e}"))
            .built;
        built.sim.run_until(at(300_000));
        assert_eq!(built.sim.retired(0).connections, connections);
        assert!(built.sim.flow_slots() <= slots, "{}", built.sim.flow_slots());
        check_conservation(&built);
    }
}

/// A sink's side of a two-way connection closes when its source has: a transfer by text is whole and over.
#[test]
fn a_transfer_closes_both_ends() {
    let text = format!(
        "duration = \"10s\"\n{LINE}\n[flows.f]\ntraffic = {{ kind = \"transfer\", size = \"100kB\" }}\n{TCP}\n"
    );
    let two = run_text(&two_way(&text));
    let one = run_text(&text);
    for column in ["goodput_bps", "sent_packets", "timeouts"] {
        assert_eq!(
            of(&two["flows"], "f.0", column),
            of(&one["flows"], "f.0", column),
            "{column}"
        );
    }
    near(of(&two["flows"], "f.0", "goodput_bps"), 80_000.0, 1e-9);
    // The SYN+ACK, ACKs and FIN of the sink are no data.
    assert!(of(&two["flows"], "f.0", "reverse_goodput_bps").is_nan());
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |top: &str, session: &str| {
        let text = format!("{top}\n{LINE}\n[sessions.web]\n{session}\n");
        load_text(&text, "t", &[]).expect_err("refused").to_string()
    };
    let base = "kind = \"schedule\"\nat = \"1s\"\nsizes = \"1kB\"";
    let top = "duration = \"10s\"";
    for (top, session, expected) in [
        (top, "clients = 3", "no kind"),
        (top, "kind = \"request\"", "did you mean \"requests\""),
        (top, &format!("{base}\nclient = 3"), "did you mean \"clients\""),
        (top, &format!("{base}\ntransport = \"udp\""), "open connections"),
        (top, &format!("{base}\nrtt = \"10ms\""), "shorter than the path"),
        (top, "kind = \"requests\"", "\"response\""),
        ("duration = \"10s\"\nend = \"session\"", base, "\"sessions\""),
    ] {
        let message = refused(top, session);
        assert!(message.contains(expected), "{session}: {message}");
        assert_eq!(
            message.matches("no key").count(),
            usize::from(session.contains("client =")),
            "{message}"
        );
    }
    let none = load_text(&format!("{top}\nend = \"sessions\"\n{LINE}\n[flows.x]\n"), "t", &[]).expect_err("refused");
    assert!(none.to_string().contains("there are none"), "{none}");
    let twice = format!("{top}\n{LINE}\n[flows.web]\n[sessions.web]\n{base}\n");
    let twice = load_text(&twice, "t", &[]).expect_err("refused");
    assert!(
        twice.to_string().contains("flows and sessions called \"web\""),
        "{twice}"
    );
}
