//! quinn-proto's controls beside our CUBIC under four queues, and what a path that reorders does to it.

#[path = "../../quic/lab.rs"]
mod lab;

use lab::{LAB, QUEUES, SEEDS};
use quinn_proto::TransportConfig;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_stack::{Quinn, pair};
use std::sync::Arc;
use tailback_path::{Finished, Scenario};

const OURS: &str = "[flows.ours]\ntcp = { profile = \"linux\", congestion = \"cubic\" }\n";
type Control = fn() -> Arc<dyn ControllerFactory + Send + Sync>;
const CONTROLS: [(&str, Control); 3] = [
    ("CUBIC", || Arc::new(CubicConfig::default())),
    ("NewReno", || Arc::new(NewRenoConfig::default())),
    ("BBR", || Arc::new(BbrConfig::default())),
];

fn run(text: &str, queue: &str, seed: u64, config: impl Fn() -> TransportConfig + 'static) -> Finished {
    let lab = Scenario::parse(text, "lab.toml").set("link.line.queue", queue).seed(seed);
    lab.endpoints("theirs", move |p| pair(p, [config(), config()])).run().unwrap_or_else(|e| panic!("{e}"))
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

/// Goodputs of both, and the queue.
fn beside() {
    println!("Mb/s of quinn and of our CUBIC, mean wait of the queue in ms; means of {SEEDS} seeds");
    print!("{:<20}", "");
    CONTROLS.iter().for_each(|(name, _)| print!("{name:<24}"));
    println!();
    for (name, queue) in QUEUES {
        print!("{name:<20}");
        for (control, make) in CONTROLS {
            let of = |seed| {
                let f = run(&format!("{LAB}{OURS}"), queue, seed, with(make));
                [mbps(&f, "theirs"), mbps(&f, "ours"), f.link("line", "sojourn_mean_s") * 1e3]
            };
            let all: Vec<[f64; 3]> = (1..=SEEDS).map(of).collect();
            let [quinn, ours, wait] = [0, 1, 2].map(|i| all.iter().map(|v| v[i]).sum::<f64>() / SEEDS as f64);
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
        let (_, connection) = f.ends::<Quinn, Quinn>("theirs")[0].0.connection.as_ref().expect("a connection");
        let lost = connection.stats().path.lost_packets as f64 - f.flow("theirs", 0, "dropped_packets");
        let ours = text[..text.find("[flows").expect("flows")].to_string() + OURS;
        let ours = Scenario::parse(&ours, "lab.toml").set("link.line.queue", QUEUES[1].1).run();
        let ours = mbps(&ours.unwrap_or_else(|e| panic!("{e}")), "ours");
        println!("{late:<20}{:<12.2}{lost:<16}{ours:<12.2}", mbps(&f, "theirs"));
    }
}

/// Its congestion window, kB, under an application that writes 2 Mb/s, and under one that always has data.
fn growth() {
    println!("\nCongestion window of quinn's CUBIC in kB, by what its application writes, alone on a line of 20 Mb/s");
    println!("{:<20}{:<16}{:<16}", "time", "2 Mb/s", "all it can");
    let windows = ["{ kind = \"cbr\", rate = \"2Mbps\" }", "\"bulk\""].map(|traffic| {
        let record = "[record.window]\nflows = \"theirs\"\nprobes = [\"cwnd\"]\nevery = \"250ms\"\n";
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
