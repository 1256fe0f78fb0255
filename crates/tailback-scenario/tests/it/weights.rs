//! The weight of a flow on its way from the scenario to the queue: shares of the line, for every scheduler by weight.

use crate::common::*;

#[test]
fn flows_share_the_line_by_their_weights() {
    for kind in ["wdrr", "scfq", "wf2q-plus", "wf2q", "fq"] {
        // Half as many weights as flows: the list is taken in turn.
        let outcome = run_text(&format!(
            "duration = \"22s\"\nwarmup = \"2s\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"9Mbps\"\ndelay = \
             \"5ms\"\n\
             queue = {{ kind = \"{kind}\", buffer = \"200 packets\" }}\n\
             [flows.heavy]\ncount = 2\nweight = [1, 2.5]\naccess_rate = \"100Mbps\"\ntcp = {{ }}\n\
             [flows.plain]\naccess_rate = \"100Mbps\"\ntcp = {{ }}\n"
        ));
        let rates: Vec<f64> = (0..3)
            .map(|i| number(&outcome["flows"], "throughput_bps", i) / 9e6)
            .collect();
        for (rate, share) in rates.iter().zip([1.0 / 4.5, 2.5 / 4.5, 1.0 / 4.5]) {
            assert!((rate - share).abs() < 0.002, "{kind}: {rates:?}");
        }
    }
}

#[test]
fn a_weight_is_a_positive_number() {
    for weight in ["0", "-1", "\"heavy\"", "[]"] {
        let text = format!("duration = \"1s\"\nlink.line.rate = \"1Mbps\"\nflows.a = {{ weight = {weight} }}\n");
        let problems = tailback_scenario::load_text(&text, "weights.toml", &[]).err().unwrap();
        assert!(
            format!("{problems:?}").contains("flows.a.weight"),
            "{weight}: {problems:?}"
        );
    }
}
