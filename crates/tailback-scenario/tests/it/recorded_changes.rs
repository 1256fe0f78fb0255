//! `on_change` of probes that have a value for each colour, queue or flow: what a sample at a step finds is what the
//! last change said.

use crate::common::*;
use tailback_sim::results::Outcome;

fn recorded(what: &str, when: &str) -> Outcome {
    run_text(&format!(
        r#"
        duration = "5s"
        seed = 2
        [link.bottleneck]
        from = "G"
        to = "E"
        rate = "10Mbps"
        delay = "1ms"
        queue = {{ kind = "redn", mode = "adaptive_redn", weight = 0.01 }}
        [flows.a]
        count = 3
        rtt = ["30ms", "60ms", "120ms"]
        conditioner = {{ kind = "atbtc", committed_rate = "2Mbps" }}
        tcp = {{ payload = "960B" }}
        [record.what]
        {what}
        {when}
        "#
    ))
}

/// Time, name and index, value.
fn rows(o: &Outcome) -> Vec<(f64, (String, u64), f64)> {
    let t = &o["series"];
    let name = |i| {
        (
            format!("{} {}", text(t, "what", i), text(t, "probe", i)),
            number(t, "index", i) as u64,
        )
    };
    (0..t.rows())
        .map(|i| (number(t, "time_s", i), name(i), number(t, "value", i)))
        .collect()
}

#[test]
fn changes_of_indexed_probes_are_recorded() {
    for (what, least) in [
        ("link = \"bottleneck\"\nprobes = [\"average\", \"backlog\"]", 1000),
        ("edge = \"flows.a\"\nprobes = [\"packets\"]", 1000),
    ] {
        let changes = rows(&recorded(what, "on_change = true"));
        let samples = rows(&recorded(what, "every = \"10ms\""));
        let mut checked = 0;
        for (time, name, value) in &samples {
            // What happens at the instant of a sample may come before or after it.
            let mut near = changes.iter().filter(|c| c.1 == *name && c.0 <= time + 1e-9);
            let last = near.next_back().map_or(0.0, |c| c.2);
            let before = changes
                .iter()
                .rfind(|c| c.1 == *name && c.0 < time - 1e-9)
                .map_or(0.0, |c| c.2);
            assert!(
                last == *value || before == *value,
                "{name:?} at {time}: {last}, not {value}"
            );
            checked += usize::from(*value > 0.0);
        }
        assert!(checked > least, "{what}: {checked}");
        let repeats = |name: &(String, u64)| {
            let own: Vec<f64> = changes.iter().filter(|c| c.1 == *name).map(|c| c.2).collect();
            own.windows(2).filter(|w| w[0] == w[1]).count()
        };
        let mut names: Vec<_> = changes.iter().map(|c| c.1.clone()).collect();
        names.sort();
        names.dedup();
        assert!(names.len() >= 6, "{names:?}");
        assert!(names.iter().all(|n| repeats(n) == 0));
    }
}
