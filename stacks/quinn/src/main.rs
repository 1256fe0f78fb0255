//! quinn-proto's controls beside our CUBIC under four queues, and what a path that reorders does to it.

use quinn_proto::TransportConfig;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_stack::{Quinn, pair};
use std::sync::Arc;
use tailback_path::{Finished, Scenario};

const SEEDS: u64 = 3;

/// 20 Mb/s and 40 ms; the flow starts a second after ours.
const LAB: &str = r#"
duration = "60s"
warmup = "10s"

[link.line]
from = "a"
to = "b"
rate = "20Mbps"
delay = "20ms"
queue = "fq-codel"

[flows.quinn]
transport = "stack"
start = "1s"
"#;
const OURS: &str = "[flows.ours]\ntcp = { profile = \"linux\", congestion = \"cubic\" }\n";
const QUEUES: [(&str, &str); 4] = [
    ("drop-tail, 1 BDP", r#"{ kind = "droptail", buffer = "67 packets" }"#),
    ("drop-tail, 4 BDP", r#"{ kind = "droptail", buffer = "267 packets" }"#),
    ("CoDel", r#""codel""#),
    ("FQ-CoDel", r#""fq-codel""#),
];
type Control = fn() -> Arc<dyn ControllerFactory + Send + Sync>;
const CONTROLS: [(&str, Control); 3] = [
    ("CUBIC", || Arc::new(CubicConfig::default())),
    ("NewReno", || Arc::new(NewRenoConfig::default())),
    ("BBR", || Arc::new(BbrConfig::default())),
];

fn run(text: &str, queue: &str, seed: u64, config: impl Fn() -> TransportConfig + 'static) -> Finished {
    let lab = Scenario::parse(text, "lab.toml").set("link.line.queue", queue).seed(seed);
    lab.endpoints("quinn", move |p| pair(p, [config(), config()])).run().unwrap_or_else(|e| panic!("{e}"))
}

fn with(control: Control) -> impl Fn() -> TransportConfig {
    move || {
        let mut config = TransportConfig::default();
        config.congestion_controller_factory(control());
        config
    }
}

fn mbps(f: &Finished, group: &str) -> f64 {
    f.flow(group, 0, "goodput_bps") / 1e6
}

fn mean(of: impl Fn(u64) -> f64) -> f64 {
    (1..=SEEDS).map(of).sum::<f64>() / SEEDS as f64
}

/// Goodputs of both, and the queue.
fn beside() {
    println!("Mb/s of quinn and of our CUBIC, mean wait of the queue in ms; means of {SEEDS} seeds");
    print!("{:<20}", "");
    CONTROLS.iter().for_each(|(name, _)| print!("{name:<24}"));
    println!();
    for (name, queue) in QUEUES {
        print!("{name:<20}");
        for (control, make) in CONTROLS {
            let of = |value: fn(&Finished) -> f64| {
                mean(|seed| value(&run(&format!("{LAB}{OURS}"), queue, seed, with(make))))
            };
            let (quinn, ours) = (of(|f| mbps(f, "quinn")), of(|f| mbps(f, "ours")));
            let wait = of(|f| f.link("line", "sojourn_mean_s") * 1e3);
            print!("{:<24}", format!("{quinn:.2} : {ours:.2}  {wait:.1}"));
            if (name, control) == ("FQ-CoDel", "CUBIC") {
                assert!((quinn / ours - 1.0).abs() < 0.1, "{quinn} and {ours} Mb/s under FQ-CoDel");
            }
        }
        println!();
    }
}

/// A packet is lost for quinn once three later ones have arrived (RFC 9002 section 6.1.1); RACK waits for a quarter of
/// a round trip.
fn reordering() {
    println!("\nMb/s alone on a path where one packet in a hundred is late by so much");
    println!("{:<20}{:<12}{:<16}{:<12}", "", "quinn", "lost for quinn", "our CUBIC");
    for late in ["1us", "1ms", "2ms", "5ms", "10ms"] {
        let line = format!("impair = {{ kind = \"reorder\", probability = 0.01, delay = \"{late}\" }}\nqueue =");
        let text = LAB.replace("queue =", &line);
        let f = run(&text, QUEUES[1].1, 1, TransportConfig::default);
        let (_, connection) = f.ends::<Quinn, Quinn>("quinn")[0].0.connection.as_ref().expect("a connection");
        let lost = connection.stats().path.lost_packets as f64 - f.flow("quinn", 0, "dropped_packets");
        let ours = text[..text.find("[flows").expect("flows")].to_string() + OURS;
        let ours = Scenario::parse(&ours, "lab.toml").set("link.line.queue", QUEUES[1].1).run();
        let ours = mbps(&ours.unwrap_or_else(|e| panic!("{e}")), "ours");
        println!("{late:<20}{:<12.2}{lost:<16}{ours:<12.2}", mbps(&f, "quinn"));
    }
}

/// Its congestion window, kB, under an application that writes 2 Mb/s, and under one that always has data.
fn growth() {
    println!("\nCongestion window of quinn's CUBIC in kB, by what its application writes, alone on a line of 20 Mb/s");
    println!("{:<20}{:<16}{:<16}", "time", "2 Mb/s", "all it can");
    let windows = ["{ kind = \"cbr\", rate = \"2Mbps\" }", "\"bulk\""].map(|traffic| {
        let record = "[record.window]\nflows = \"quinn\"\nprobes = [\"cwnd\"]\nevery = \"250ms\"\n";
        let text = format!("{LAB}traffic = {traffic}\n{record}");
        let f = run(&text, QUEUES[1].1, 1, TransportConfig::default);
        f.series("cwnd")
    });
    for (at, window) in &windows[0] {
        let bulk = windows[1].iter().find(|(t, _)| t == at).map_or(f64::NAN, |(_, w)| *w);
        if *at <= 10.0 {
            println!("{:<20}{:<16.1}{:<16.1}", format!("{at:.2} s"), window / 1e3, bulk / 1e3);
        }
    }
}

fn main() {
    beside();
    reordering();
    growth();
}
