//! Requests and responses: what a server's time adds, requests that wait for nothing, and what is refused.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::results::outcome::Outcome;

/// A line that takes no time to send, 50 ms each way, and TCP in both directions that acknowledges each segment.
fn scenario(duration: &str, session: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[link.line]\nfrom = \"servers\"\nto = \"clients\"\nrate = \"100Gbps\"\ndelay = \
         \"50ms\"\n\
         queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n[sessions.x]\nkind = \"requests\"\n{session}\n\
         tcp = {{ connection = \"two-way\", delayed_ack = 1, payload = \"1460B\", initial_window = \"10 packets\" }}\n"
    )
}

fn column(o: &Outcome, name: &str) -> Vec<f64> {
    let t = &o["transfers"];
    (0..t.rows()).map(|i| number(t, name, i)).collect()
}

/// RTT 100 ms, a segment each way, no queue: 100 ms on a kept connection, 200 ms on a new one; with a pause of 0.9 s a
/// request a second on kept connections.
#[test]
fn a_closed_client_makes_a_request_a_second() {
    let session = |connection: &str| {
        format!(
            "response = {{ kind = \"constant\", mean = \"1460B\" }}\nconnection = \"{connection}\"\n\
             think = {{ kind = \"constant\", mean = \"900ms\" }}"
        )
    };
    let o = run_text(&scenario("101s", &session("keep")));
    // The first opens the connection, so that the others are asked at 1.1 s, 2.1 s and so on.
    assert_eq!(column(&o, "asked_s").len(), 101);
    column(&o, "completion_s")[1..100]
        .iter()
        .for_each(|c| near(*c, 0.100, 1e-4));
    let o = run_text(&scenario("101s", &session("new")));
    column(&o, "completion_s")[..90]
        .iter()
        .for_each(|c| near(*c, 0.200, 1e-4));
}

/// A response of 29200 B is 20 segments: with a window of ten two flights, 200 ms on a connection that is open.
#[test]
fn a_response_of_two_flights_takes_two_round_trips() {
    let session = "requests = 2\nresponse = { kind = \"constant\", mean = \"29200B\" }\n\
                   think = { kind = \"constant\", mean = \"10s\" }";
    // The handshake takes a round trip more; after the pause the window is that of a new connection.
    let times = column(&run_text(&scenario("30s", session)), "completion_s");
    near(times[0], 0.300, 1e-4);
    near(times[1], 0.200, 1e-4);
}

/// What the server needs comes between the request and the response, also on new connections and one-way ones.
#[test]
fn a_server_needs_its_time() {
    for tcp in ["two-way", "one-way"] {
        for connection in ["keep", "new"] {
            let session = format!(
                "requests = 5\nresponse = {{ kind = \"constant\", mean = \"1kB\" }}\nconnection = \"{connection}\"\n"
            );
            let late = format!("{session}server_time = {{ kind = \"constant\", mean = \"70ms\" }}");
            let with = |s: &str| scenario("10s", s).replace("\"two-way\"", &format!("\"{tcp}\""));
            let (fast, slow) = (run_text(&with(&session)), run_text(&with(&late)));
            let (fast, slow) = (column(&fast, "completion_s"), column(&slow, "completion_s"));
            assert_eq!(fast.len(), 5);
            for (a, b) in fast.iter().zip(&slow) {
                near(b - a, 0.070, 1e-6);
            }
        }
    }
}

/// Twenty requests a second of which each takes 1.1 s: each finds the others under way, and takes no longer for it.
#[test]
fn open_requests_wait_for_nothing() {
    let session = "mode = \"open\"\nmean_gap = \"50ms\"\nresponse = { kind = \"constant\", mean = \"1kB\" }\n\
                   server_time = { kind = \"constant\", mean = \"1s\" }\nstop = \"190s\"";
    let o = run_text(&scenario("200s", session));
    let asked = column(&o, "asked_s");
    let n = asked.len() as f64;
    // 3800 are expected, with a standard deviation of 62.
    assert!((n - 3800.0).abs() < 4.0 * 62.0, "{n}");
    let gaps: Vec<f64> = asked.windows(2).map(|w| w[1] - w[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
    // A Poisson process: gaps as long as they vary.
    near(variance.sqrt() / mean, 1.0, 0.06);
    // 1.1 s on a connection that was free, 1.2 s on one that had to be opened.
    let times = column(&o, "completion_s");
    assert!(times.iter().all(|t| (t - 1.1).abs() < 1e-3 || (t - 1.2).abs() < 1e-3));
    let opened = times.iter().filter(|t| **t > 1.15).count();
    // As many as were under way at one time: 22 on average, and never twice that.
    assert!((22..60).contains(&opened), "{opened}");
    // They are kept to the end.
    assert!(of(&o["groups"], "x", "connections") <= opened as f64);
}

/// A limit on requests ends an open client too, and the run with it.
#[test]
fn an_open_client_makes_as_many_requests_as_it_is_told() {
    for connection in ["keep", "new"] {
        let session = format!(
            "mode = \"open\"\nmean_gap = \"10ms\"\nrequests = 50\nconnection = \"{connection}\"\nclients = 3\n\
             response = {{ kind = \"listed\", values = [\"1kB\", \"100kB\"], weights = [9, 1] }}"
        );
        let o = run_text(&format!("end = \"sessions\"\n{}", scenario("100s", &session)));
        assert_eq!(column(&o, "done_s").len(), 150);
        assert!(column(&o, "done_s").iter().all(|t| *t < 10.0));
        assert!(column(&o, "bytes").iter().all(|b| *b == 1e3 || *b == 1e5));
    }
}

/// The sizes and the times of requests are those of the sources alone.
#[test]
fn another_transport_meets_the_same_requests() {
    let asked = |tcp: &str| {
        let session = "mode = \"open\"\nmean_gap = \"100ms\"\nrequests = 200\n\
                       response = { kind = \"log-normal\", mean = \"10kB\", min = \"100B\", max = \"1MB\" }";
        let o = run_text(&scenario("100s", session).replace("\"two-way\"", tcp));
        (column(&o, "asked_s"), column(&o, "bytes"))
    };
    assert_eq!(asked("\"two-way\""), asked("\"one-way\""));
}

#[test]
fn modes_that_say_too_little_or_too_much_are_refused() {
    let refused = |session: &str| {
        let text = scenario(
            "10s",
            &format!("response = {{ kind = \"constant\", mean = \"1kB\" }}\n{session}"),
        );
        load_text(&text, "t", &[]).expect_err("refused").to_string()
    };
    for (session, expected) in [
        ("mode = \"open\"", "add mean_gap"),
        ("mean_gap = \"1s\"", "add mode = \"open\""),
        (
            "mode = \"open\"\nmean_gap = \"1s\"\nthink = { kind = \"constant\", mean = \"1s\" }",
            "leave think out",
        ),
        ("mode = \"opne\"", "did you mean \"open\""),
        (
            "server_time = { kind = \"pareto\", mean = \"1s\", max = \"1ms\" }",
            "sessions.x.server_time.max",
        ),
    ] {
        let message = refused(session);
        assert!(message.contains(expected), "{session}: {message}");
        assert!(message.contains("t:") && message.contains("sessions.x"), "{message}");
    }
}
