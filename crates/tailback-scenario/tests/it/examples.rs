//! The scenarios in `python/tailback/examples`: each can be read and runs, and what its opening comment says is so.

use crate::common::*;
use tailback_scenario::load_file;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::Data;
use tailback_sim::run::run;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/tailback/examples");

fn example(name: &str, arguments: &[&str]) -> Outcome {
    let arguments: Vec<String> = arguments.iter().map(|a| a.to_string()).collect();
    let loaded = load_file(format!("{FOLDER}/{name}.toml"), &arguments).unwrap_or_else(|e| panic!("{e}"));
    assert!(loaded.warnings.is_empty(), "{name}: {:?}", loaded.warnings);
    run(&loaded.spec, loaded.spec.seed, &Hooks::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Columns of a group, and of the bottleneck.
fn group<'a>(o: &'a Outcome, name: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |c| of(&o["groups"], name, c)
}

fn bottleneck(o: &Outcome) -> impl Fn(&str) -> f64 + '_ {
    |c| of(&o["links"], "bottleneck", c)
}

/// The recorded values of a probe.
fn values(o: &Outcome, probe: &str) -> Vec<f64> {
    let t = &o["series"];
    let Data::Text(probes) = &t.columns[1].data else {
        panic!("names are text")
    };
    (0..t.rows())
        .filter(|i| *probes[*i] == *probe)
        .map(|i| number(t, "value", i))
        .collect()
}

#[test]
fn every_example_opens_with_what_to_look_for_and_runs() {
    let mut names: Vec<String> = std::fs::read_dir(FOLDER)
        .expect("the examples")
        .map(|f| f.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter_map(|f| f.strip_suffix(".toml").map(str::to_string))
        .collect();
    names.sort();
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        let text = std::fs::read_to_string(format!("{FOLDER}/{name}.toml")).expect("text");
        assert!(text.starts_with("# ") && text.contains("# What to look for:"), "{name}");
        // A change behind the end of a run is warned of.
        let short: &[&str] = if name == "changes" {
            &[]
        } else {
            &["duration=2s", "warmup=500ms"]
        };
        let o = example(&name, short);
        assert!(
            o["links"].rows() > 0 && number(&o["links"], "delivered_packets", 0) > 0.0,
            "{name}"
        );
    }
}

#[test]
fn changes() {
    let o = example("changes", &[]);
    let (links, flows) = (&o["link_intervals"], &o["intervals"]);
    let mbps = |from: f64| {
        let rows = (0..links.rows())
            .step_by(2)
            .filter(|i| number(links, "from_s", *i) == from);
        let bps: f64 = rows.map(|i| number(links, "throughput_bps", i)).sum();
        bps / 1e6
    };
    near(mbps(5.0), 20.0, 0.5);
    near(mbps(15.0), 5.0, 0.2);
    near(mbps(25.0), 20.0, 0.5);
    near(mbps(50.0), 13.0, 1.5);
    let delay = |from: f64| {
        let row = (0..flows.rows())
            .find(|i| number(flows, "from_s", *i) == from)
            .expect("an interval");
        number(flows, "delay_mean_s", row)
    };
    near(delay(25.0), 0.027, 0.002);
    near(delay(35.0), 0.074, 0.003);
}

#[test]
fn ping() {
    let trips = |arguments: &[&str]| {
        let o = example("ping", arguments);
        let row = |c| of(&o["datagrams"], "ping.0", c);
        let download = group(&o, "download")("goodput_bps_mean");
        ([row("rtt_mean_s"), row("rtt_p99_s"), row("delay_mean_s")], download)
    };
    let ([both, ..], slow) = trips(&[]);
    near(both, 0.197, 0.01);
    near(slow, 9.7e6, 0.5e6);
    let ([up, worst, _], _) = trips(&["flows.download.stop=1ms"]);
    near(up, 0.363, 0.01);
    near(worst, 0.460, 0.01);
    let ([down, _, there], _) = trips(&["flows.upload.stop=1ms"]);
    near(down, 0.096, 0.005);
    near(there, 0.015, 0.001);
    let ([fair, worst, _], fast) = trips(&["link.line.queue=fq-codel"]);
    near(fair, 0.032, 0.001);
    near(worst, 0.035, 0.002);
    near(fast, 21e6, 0.5e6);
}

#[test]
fn first_run() {
    let o = example("first-run", &[]);
    let l = bottleneck(&o);
    near(l("utilisation"), 1.0, 0.001);
    near(l("sojourn_mean_s"), 0.048, 0.005);
    near(1.0 / l("loss_rate"), 110.0, 20.0);
    near(group(&o, "bulk")("goodput_wire_bps_mean"), 2e6, 0.01e6);
    near(group(&o, "bulk")("jain_index"), 0.96, 0.02);
    let o = example("first-run", &["link.bottleneck.queue.buffer=10 packets"]);
    near(bottleneck(&o)("utilisation"), 0.75, 0.05);
    near(bottleneck(&o)("sojourn_mean_s"), 0.002, 0.001);
}

#[test]
fn bufferbloat_codel() {
    let o = example("bufferbloat-codel", &[]);
    near(group(&o, "call-bloated")("delay_mean_s"), 0.83, 0.05);
    near(group(&o, "call-managed")("delay_mean_s"), 0.031, 0.003);
    let upload = |name| group(&o, name)("goodput_bps_mean");
    near(upload("upload-managed") / upload("upload-bloated"), 0.995, 0.005);
    assert!(lost(&o, "managed", "sojourn") > 50.0);
    let call = group(&o, "call-managed");
    near(call("dropped_packets") / call("sent_packets"), 0.09, 0.02);
    let apart = r#"link.managed.queue={ kind = "drr", buffer = "256KB", aqm = { kind = "codel" } }"#;
    let o = example("bufferbloat-codel", &[apart]);
    assert_eq!(group(&o, "call-managed")("dropped_packets"), 0.0);
    near(group(&o, "call-managed")("delay_mean_s"), 0.015, 0.001);
}

#[test]
fn red_average() {
    let o = example("red-average", &[]);
    let (queue, average) = (values(&o, "queue"), values(&o, "average"));
    let between = average.iter().filter(|a| (5.0..=15.0).contains(*a)).count();
    assert!(between * 2 > average.len(), "{between} of {}", average.len());
    let step = |v: &[f64]| v.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f64>();
    assert!(step(&average) * 5.0 < step(&queue));
    assert!(queue.iter().any(|q| *q > 50.0) && queue.contains(&0.0));
    assert!(lost(&o, "bottleneck", "early") > 0.0 && lost(&o, "bottleneck", "overflow") == 0.0);
    near(bottleneck(&o)("mean_queue_packets"), 9.0, 1.0);
    near(bottleneck(&o)("utilisation"), 0.96, 0.02);
}

#[test]
fn rtt_unfairness() {
    let ratio = |o: &Outcome| group(o, "near")("goodput_bps_mean") / group(o, "far")("goodput_bps_mean");
    let o = example("rtt-unfairness", &[]);
    near(ratio(&o), 9.8, 1.0);
    near(bottleneck(&o)("sojourn_mean_s"), 0.022, 0.002);
    let o = example("rtt-unfairness", &["link.bottleneck.queue.buffer=400 packets"]);
    near(ratio(&o), 2.3, 0.3);
    near(bottleneck(&o)("sojourn_mean_s"), 0.2, 0.02);
}

#[test]
fn drr_isolation() {
    let o = example("drr-isolation", &[]);
    near(group(&o, "tcp-shared")("goodput_bps_sum"), 1e6, 0.1e6);
    for all in ["tcp-fair", "blaster-fair"] {
        near(group(&o, all)("goodput_wire_bps_mean"), 2e6, 0.01e6);
    }
    let lost = |name| group(&o, name)("dropped_packets") / group(&o, name)("sent_packets");
    assert!(lost("blaster-shared") < 0.01 && lost("tcp-fair") < 0.01);
    near(lost("blaster-fair"), 7.0 / 9.0, 0.02);
}

#[test]
fn ecn() {
    let o = example("ecn", &[]);
    assert!(bottleneck(&o)("marked_packets") > 50.0);
    let all = group(&o, "bulk");
    assert_eq!(
        (all("dropped_packets"), all("retransmitted_packets"), all("timeouts")),
        (0.0, 0.0, 0.0)
    );
    near(bottleneck(&o)("utilisation"), 0.99, 0.01);
    let o = example("ecn", &["link.bottleneck.queue.ecn=false"]);
    near(bottleneck(&o)("dropped_packets"), 160.0, 30.0);
    assert!(group(&o, "bulk")("timeouts") > 0.0);
}

#[test]
fn poisson_md1() {
    let o = example("poisson-md1", &[]);
    near(bottleneck(&o)("sojourn_mean_s"), 0.002, 0.00003);
    near(bottleneck(&o)("mean_queue_packets"), 1.6, 0.03);
}

#[test]
fn parking_lot() {
    let o = example("parking-lot", &[]);
    let long = group(&o, "long");
    for cross in ["cross1", "cross2", "cross3"] {
        assert!(long("goodput_bps_mean") < 0.5 * group(&o, cross)("goodput_bps_mean"));
        assert!(long("delay_mean_s") > group(&o, cross)("delay_mean_s"));
    }
}

#[test]
fn lossy_link() {
    let o = example("lossy-link", &[]);
    near(bottleneck(&o)("utilisation"), 0.16, 0.02);
    near(
        lost(&o, "bottleneck", "impairment") / bottleneck(&o)("arrived_packets"),
        0.004,
        0.001,
    );
    let reno = example("lossy-link", &["flows.download.tcp.variant=reno"]);
    let get = |o: &Outcome, c: &str| group(o, "download")(c);
    near(get(&reno, "timeouts"), 32.0, 10.0);
    assert!(get(&o, "timeouts") <= 3.0);
    near(get(&reno, "goodput_bps_mean") / get(&o, "goodput_bps_mean"), 0.8, 0.1);
}

#[test]
fn on_off() {
    let o = example("on-off", &[]);
    let l = bottleneck(&o);
    near(l("throughput_bps"), 6.7e6, 0.2e6);
    near(l("sojourn_p50_s"), 0.002, 0.001);
    assert!(l("sojourn_p95_s") > 0.09 && l("max_queue_packets") > 700.0);
    let rho = l("utilisation");
    near(l("mean_queue_packets") / (rho * rho / (2.0 * (1.0 - rho))), 9.0, 3.0);
}

#[test]
fn qsdrr_victims() {
    let o = example("qsdrr-victims", &[]);
    let l = bottleneck(&o);
    near(l("utilisation"), 1.0, 0.001);
    let flows = group(&o, "bulk");
    assert!(flows("goodput_bps_sd") < 0.06 * flows("goodput_bps_mean"));
    let (changes, drops) = (values(&o, "victim").len() as f64, l("dropped_packets"));
    assert!(drops > 3.0 * changes, "{drops} drops, {changes} victims");
    let drr = example(
        "qsdrr-victims",
        &["topology.queue.kind=drr", "record.victims.probes=backlogged"],
    );
    assert!(bottleneck(&drr)("dropped_packets") < drops);
    assert!(group(&drr, "bulk")("goodput_bps_sd") < flows("goodput_bps_sd"));
}

#[test]
fn bursts() {
    let tail = example("bursts", &[]);
    let shared = example(
        "bursts",
        &[r#"link.bottleneck.queue={ kind = "qsdrr", buffer = "50 packets" }"#],
    );
    let (t, s) = (group(&tail, "users"), group(&shared, "users"));
    near(t("burst_time_mean_s"), 4.5, 0.1);
    near(t("burst_time_max_s"), 10.0, 1.0);
    near(s("burst_time_mean_s"), 4.3, 0.1);
    near(s("burst_time_max_s"), 8.0, 1.0);
    // The closed loop, less the bursts under way at the end.
    near(
        t("bursts") * (t("burst_time_mean_s") + 2.0),
        80.0 * 200.0,
        0.04 * 80.0 * 200.0,
    );
    assert!(t("burst_time_mean_s") > 4.14 && s("burst_time_mean_s") > 4.14);
}

#[test]
fn reserved_flow() {
    let delay = |kind: &str| {
        let o = example("reserved-flow", &[&format!("link.bottleneck.queue.kind={kind}")]);
        let target = |c| of(&o["flows"], "target.0", c);
        near(target("throughput_bps") / 1e6, 4.75, 0.05);
        (target("delay_mean_s") * 1e3, target("delay_max_s") * 1e3)
    };
    for (kind, mean, most, within) in [
        ("wf2q-plus", 0.12, 0.16, 0.005),
        ("wf2q", 0.12, 0.16, 0.005),
        ("scfq", 2.3, 3.7, 0.2),
        ("wdrr", 4.3, 7.1, 0.2),
    ] {
        let (m, x) = delay(kind);
        near(m, mean, within);
        near(x, most, within);
    }
    let o = example("reserved-flow", &["link.bottleneck.queue.kind=droptail"]);
    assert!(group(&o, "target")("delay_mean_s") > 1.0);
}

#[test]
fn sessions() {
    let median = |o: &Outcome, column: &str| {
        let t = &o["transfers"];
        let done = (0..t.rows()).filter(|i| number(t, "done_s", *i).is_finite());
        let mut all: Vec<f64> = done.map(|i| number(t, column, i)).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let o = example("sessions", &[]);
    near(median(&o, "completion_s"), 0.62, 0.05);
    near(median(&o, "bytes"), 6000.0, 300.0);
    near(group(&o, "people")("goodput_bps_sum"), 0.73e6, 0.03e6);
    near(bottleneck(&o)("utilisation"), 1.0, 0.001);
    assert_eq!(group(&o, "people")("flows"), 20.0);
    let drr = "link.bottleneck.queue={ kind = \"drr\", buffer = \"100 packets\" }";
    let o = example("sessions", &[drr]);
    near(median(&o, "completion_s"), 0.32, 0.02);
    near(group(&o, "people")("goodput_bps_sum"), 0.85e6, 0.03e6);
    near(bottleneck(&o)("utilisation"), 1.0, 0.001);
}

/// The row of completions of this group, kind and class of sizes.
fn completion(o: &Outcome, what: &str, sizes: &str, column: &str) -> f64 {
    let t = &o["completions"];
    let row = (0..t.rows()).find(|i| text(t, "what", *i) == what && text(t, "sizes", *i) == sizes);
    number(t, column, row.unwrap_or_else(|| panic!("no {what} {sizes}")))
}

#[test]
fn web() {
    let six = "sessions.people.parallel=6";
    let drr = "link.bottleneck.queue={ kind = \"drr\", buffer = \"50 packets\" }";
    let runs = [&[][..], &[six], &[drr]].map(|set| example("web", set));
    let median = runs
        .each_ref()
        .map(|o| completion(o, "pages", "all", "completion_p50_s"));
    near(median[0], 2.6, 0.2);
    near(median[1], 1.7, 0.2);
    near(median[2], 1.0, 0.2);
    let p95 = runs
        .each_ref()
        .map(|o| completion(o, "transfers", "all", "completion_p95_s"));
    near(p95[0], 2.6, 0.3);
    near(p95[1], 3.6, 0.4);
    near(bottleneck(&runs[0])("sojourn_mean_s"), 0.4, 0.04);
    // The same pages in the same order, as far as the slower client got.
    let pages = |o: &Outcome| {
        let t = &o["pages"];
        let of_first = (0..t.rows()).filter(|i| number(t, "member", *i) == 0.0);
        of_first.map(|i| number(t, "bytes", i)).take(5).collect::<Vec<_>>()
    };
    assert_eq!(pages(&runs[0]), pages(&runs[2]));
}

#[test]
fn calls() {
    let drr = "link.bottleneck.queue={ kind = \"drr\", buffer = \"200 packets\" }";
    let [tail, codel, fair] = [&[][..], &["link.bottleneck.queue=codel"], &[drr]].map(|set| example("calls", set));
    let call = |o: &Outcome, c: &str| of(&o["datagrams"], "call.0", c);
    let film = |o: &Outcome, c: &str| of(&o["frames"], "video.0", c);
    assert!(call(&tail, "late_rate") > 0.98 && film(&tail, "failed_rate") > 0.99);
    near(call(&tail, "delay_mean_s"), 0.3, 0.03);
    assert_eq!(call(&codel, "late_rate"), 0.0);
    near(call(&codel, "delay_mean_s"), 0.027, 0.004);
    near(of(&codel["datagrams"], "video.0", "loss_rate"), 0.01, 0.003);
    near(film(&codel, "failed_rate"), 0.41, 0.08);
    assert_eq!(call(&fair, "lost_packets") + call(&fair, "late_packets"), 0.0);
    assert_eq!(of(&fair["datagrams"], "video.0", "lost_packets"), 0.0);
    assert_eq!(
        (film(&fair, "freezes"), film(&fair, "freeze_longest_frames")),
        (1.0, 30.0)
    );
}

/// Mean completion time of the requests, milliseconds.
fn requests_ms(arguments: &[&str]) -> f64 {
    let o = example("incast", arguments);
    let pages = &o["pages"];
    let times = (0..pages.rows()).map(|i| number(pages, "completion_s", i));
    let times: Vec<f64> = times.filter(|t| !t.is_nan()).collect();
    times.iter().sum::<f64>() / times.len() as f64 * 1e3
}

#[test]
fn many_servers_at_once_need_the_memory_of_the_switch() {
    near(requests_ms(&[]), 14.0, 0.5);
    near(requests_ms(&["sessions.query.servers=4"]), 8.4, 0.1);
    near(requests_ms(&["link.port.queue=droptail"]), 9.2, 0.6);
}
