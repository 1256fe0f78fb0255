//! noq-proto's BBRv3 beside our CUBIC and our BBRv3 under four queues.
//!
//! As published, version 1.4.0 forgets what a probe for more bandwidth has found after two rounds: the phase of its
//! acknowledgements is not put back when the probe is over, so the filter of its maximum advances in each round
//! (draft-ietf-ccwg-bbr-06 has the line that earlier revisions lacked). Its numbers are lower by it. The times of its
//! probes come from the system, so a run is not the same twice.

#[path = "../../quic/lab.rs"]
mod lab;

use lab::{LAB, QUEUES, SEEDS};
use noq_proto::TransportConfig;
use noq_proto::congestion::Bbr3Config;
use noq_stack::pair;
use std::sync::Arc;
use tailback_path::Scenario;

fn bbr3() -> TransportConfig {
    let mut config = TransportConfig::default();
    config.congestion_controller_factory(Arc::new(Bbr3Config::default()));
    config
}

/// Means of noq's goodput and of ours, Mb/s.
fn shares(queue: &str, ours: &str) -> (f64, f64) {
    let text = format!("{LAB}[flows.ours]\ntcp = {{ profile = \"linux\", congestion = \"{ours}\" }}\n");
    let of = |seed| {
        let lab = Scenario::parse(&text, "lab.toml").set("link.line.queue", queue).seed(seed);
        let f = lab.endpoints("theirs", |p| pair(p, [bbr3(), bbr3()])).run().unwrap_or_else(|e| panic!("{e}"));
        ["theirs", "ours"].map(|group| f.flow(group, 0, "goodput_bps") / 1e6 / SEEDS as f64)
    };
    (1..=SEEDS).map(of).fold((0.0, 0.0), |sum, [noq, ours]| (sum.0 + noq, sum.1 + ours))
}

fn main() {
    println!("Mb/s of noq-proto 1.4.0 with BBRv3, as published, and of ours; means of {SEEDS} seeds");
    println!("{:<20}{:<20}{:<20}", "", "beside CUBIC", "beside BBRv3");
    for (name, queue) in QUEUES {
        let [cubic, bbr] = ["cubic", "bbr3"].map(|ours| {
            let (noq, ours) = shares(queue, ours);
            format!("{noq:.2} : {ours:.2}")
        });
        println!("{name:<20}{cubic:<20}{bbr:<20}");
    }
}
