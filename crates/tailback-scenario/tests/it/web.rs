//! Web pages: their time in closed form, one object at a time and several, and the load of the published mix.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::results::outcome::Outcome;

/// 50 ms each way, and TCP in both directions that acknowledges each segment.
fn scenario(duration: &str, rate: &str, session: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[link.line]\nfrom = \"servers\"\nto = \"clients\"\nrate = \"{rate}\"\ndelay = \
         \"50ms\"\n\
         queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n[sessions.web]\nkind = \"web\"\n{session}\n\
         tcp = {{ connection = \"two-way\", delayed_ack = 1, payload = \"1460B\", initial_window = \"10 packets\" }}\n"
    )
}

fn column(o: &Outcome, table: &str, name: &str) -> Vec<f64> {
    let t = &o[table];
    (0..t.rows()).map(|i| number(t, name, i)).collect()
}

const FIXED: &str = "main = { kind = \"constant\", mean = \"10kB\" }\nobjects = { kind = \"constant\", objects = 7 }\n\
    embedded = { kind = \"constant\", mean = \"2kB\" }\nparse = { kind = \"constant\", mean = \"130ms\" }\n\
    think = { kind = \"constant\", mean = \"5s\" }\n";

/// A handshake, a round trip for the main object, 0.13 s of parsing, and a round trip for each of seven objects. With
/// six connections at a time: two rounds, of which the first has to open five of them. Later pages open nothing.
#[test]
fn a_page_takes_its_round_trips() {
    for (more, first, later) in [
        ("", 0.1 + 0.1 + 0.13 + 0.7, 0.1 + 0.13 + 0.7),
        // The object on the connection that is open is there first, and the seventh follows it: both end together.
        ("parallel = 6", 0.1 + 0.1 + 0.13 + 0.2, 0.1 + 0.13 + 0.2),
        ("connection = \"new\"", 0.2 + 0.13 + 7.0 * 0.2, 0.2 + 0.13 + 7.0 * 0.2),
        ("parallel = 6\nconnection = \"new\"", 0.2 + 0.13 + 0.4, 0.2 + 0.13 + 0.4),
        ("parallel = 100", 0.1 + 0.1 + 0.13 + 0.2, 0.1 + 0.13 + 0.1),
    ] {
        let o = run_text(&scenario("60s", "100Gbps", &format!("{FIXED}pages = 3\n{more}")));
        let times = column(&o, "pages", "completion_s");
        assert_eq!(times.len(), 3, "{more}");
        near(times[0], first, 1e-3);
        times[1..].iter().for_each(|t| near(*t, later, 1e-3));
        let asked = column(&o, "pages", "asked_s");
        near(asked[1] - asked[0], first + 5.0, 1e-3);
        assert_eq!(column(&o, "pages", "objects"), [8.0; 3]);
        assert_eq!(column(&o, "pages", "bytes"), [24_000.0; 3]);
        assert_eq!(column(&o, "transfers", "bytes").iter().sum::<f64>(), 72_000.0);
        assert_eq!(o["transfers"].rows(), 24);
    }
}

/// With gaps nothing waits for the main object: the last of eight is asked for after seven gaps, each over its own
/// connection.
#[test]
fn with_gaps_objects_wait_for_nothing() {
    let fixed = FIXED.replace("parse = { kind = \"constant\", mean = \"130ms\" }\n", "");
    let gap = "preset = \"ns2-large\"\nrequest = \"350B\"\ngap = { kind = \"constant\", mean = \"10ms\" }\npages = 2\n";
    let o = run_text(&scenario("60s", "100Gbps", &format!("{gap}{fixed}")));
    let times = column(&o, "pages", "completion_s");
    assert_eq!(times.len(), 2);
    times.iter().for_each(|t| near(*t, 0.07 + 0.2, 1e-3));
    let asked = column(&o, "transfers", "asked_s");
    asked[..8].windows(2).for_each(|w| near(w[1] - w[0], 0.01, 1e-6));
    assert_eq!(o["transfers"].rows(), 16);
    let both = scenario("60s", "100Gbps", &format!("{gap}{FIXED}"));
    let message = load_text(&both, "t", &[]).map(|_| ()).unwrap_err();
    assert!(format!("{message:?}").contains("wait for nothing"), "{message:?}");
}

/// A page that is under way at the end has a row without an end.
#[test]
fn an_unfinished_page_has_no_end() {
    let o = run_text(&scenario("500ms", "100Gbps", FIXED));
    assert_eq!(o["pages"].rows(), 1);
    assert!(column(&o, "pages", "done_s")[0].is_nan());
}

/// A client stops after the page it is fetching, and says so.
#[test]
fn a_client_that_stops_fetches_its_page_to_the_end() {
    let o = run_text(&format!(
        "end = \"sessions\"\n{}",
        scenario("60s", "100Gbps", &format!("{FIXED}stop = \"300ms\""))
    ));
    assert_eq!(o["pages"].rows(), 1);
    near(column(&o, "pages", "done_s")[0], 1.03, 1e-3);
    // In the pause there is nothing to finish.
    let o = run_text(&scenario("60s", "100Gbps", &format!("{FIXED}stop = \"3s\"")));
    assert_eq!(o["pages"].rows(), 1);
}

/// 331 clients of 3GPP's mix offer 331 x 15.1 kbit/s, 5 Mbit/s, on a fast line: pages of 56.9 kB, each 30.13 s and the
/// time it takes. Heavy tails: the bounds are four standard errors of what was drawn.
#[test]
fn the_load_of_a_client_is_that_of_its_source() {
    let session = "clients = 331\nstart = { kind = \"uniform\", to = \"30s\" }\nparallel = 6";
    let text = scenario("1200s", "10Gbps", session).replace("\"50ms\"", "\"1ms\"");
    let o = run_text(&text.replace("duration", "warmup = \"100s\"\nduration"));
    let bytes = column(&o, "pages", "bytes");
    let n = bytes.len() as f64;
    let mean = bytes.iter().sum::<f64>() / n;
    let sd = (bytes.iter().map(|b| (b - mean) * (b - mean)).sum::<f64>() / n).sqrt();
    let error = sd / n.sqrt();
    assert!((mean - 56_900.0).abs() < 4.0 * error, "{mean} +- {error}");
    assert!(error < 0.03 * 56_900.0, "the bound says something: {error}");
    let objects = column(&o, "pages", "objects").iter().sum::<f64>() / n;
    near(objects, 6.62, 4.0 * 10.2 / n.sqrt());
    // Pages a second of a client: one each 30.13 s and what the page takes.
    let took: Vec<f64> = column(&o, "pages", "completion_s")
        .into_iter()
        .filter(|t| t.is_finite())
        .collect();
    let took = took.iter().sum::<f64>() / took.len() as f64;
    let pages = 1100.0 / (30.0 + took);
    near(n / 331.0, pages, 4.0 * pages.sqrt() / 331f64.sqrt());
    let load = of(&o["groups"], "web", "goodput_bps_sum");
    near(load, 5e6, 5e6 * 4.0 * (error / mean + 1.0 / n.sqrt()));
}

/// Another transport, or another way to use connections, meets the same pages.
#[test]
fn pages_are_those_of_the_source_alone() {
    let pages = |more: &str, tcp: &str| {
        let text = scenario("2000s", "10Mbps", &format!("clients = 2\npages = 20\n{more}"));
        let o = run_text(&text.replace("\"two-way\"", tcp));
        let mut of_client = [vec![], vec![]];
        let t = &o["pages"];
        for i in 0..t.rows() {
            let page = ["objects", "bytes"].map(|c| number(t, c, i));
            of_client[number(t, "member", i) as usize].push(page);
        }
        of_client
    };
    let first = pages("", "\"two-way\"");
    assert!(first.iter().all(|c| c.len() == 20) && first[0] != first[1]);
    assert_eq!(first, pages("parallel = 6", "\"two-way\""));
    assert_eq!(first, pages("connection = \"new\"", "\"one-way\""));
    assert!(first != pages("preset = \"surge\"", "\"two-way\""));
}

#[test]
fn what_cannot_be_is_refused() {
    for (session, expected) in [
        ("preset = \"3ggp\"", "did you mean \"3gpp\""),
        ("parallel = 0", "sessions.web.parallel"),
        (
            "objects = { kind = \"pareto\", min = 5, shape = 1, max = 5 }",
            "give objects a larger max",
        ),
        ("page = 3", "did you mean \"pages\""),
        (
            "main = { kind = \"log-normal\", mean = \"1kB\", min = \"1GB\" }",
            "sessions.web.main.min",
        ),
    ] {
        let message = load_text(&scenario("10s", "1Mbps", session), "t", &[])
            .expect_err("refused")
            .to_string();
        assert!(message.contains(expected), "{session}: {message}");
    }
}
