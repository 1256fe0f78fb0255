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
