//! REDn in whole networks: what holds of its probabilities at all times, read off the recorded runs.
//!
//! Flows with conditioners come and go, so that averages cross all thresholds. The rules are Liu 2001, section 3.2; the
//! queue checks some of them itself at every change, in every build, and these tests do not rely on that.

use crate::common::*;
use std::collections::BTreeMap;
use tailback_sim::results::Outcome;

const PS: f64 = 0.1;
const H: f64 = 250.0;

/// A probability of a colour changed: its dynamic, static and effective value, and whether the static one acts.
#[derive(Clone, Copy, Debug)]
struct Change {
    dynamic: f64,
    fixed: f64,
    effective: f64,
    by_static: bool,
}

/// Twelve flows, of which eight come and go, on 20 Mb/s for 60 s.
fn network(mode: &str, more: &str, ecn: &str) -> Outcome {
    let flows = |mbps: u32| {
        let edge = format!(r#"{{ kind = "atbtc", committed_rate = "{mbps}Mbps" }}"#);
        let own = format!(r#"conditioner = {edge}, tcp = {{ payload = "960B", ecn = "{ecn}" }}"#);
        format!(r#"count = 4, rtt = ["30ms", "60ms", "120ms", "200ms"], access_rate = "100Mbps", {own}"#)
    };
    run_text(&format!(
        r#"
        duration = "60s"
        seed = 3
        [link.bottleneck]
        from = "G"
        to = "E"
        rate = "20Mbps"
        delay = "1ms"
        queue = {{ kind = "redn", mode = "{mode}", max_threshold = "{H} packets", weight = 0.01 {more} }}
        [flows]
        stays = {{ {} }}
        goes = {{ stop = "20s", {} }}
        comes = {{ start = "40s", {} }}
        [record.probabilities]
        link = "bottleneck"
        probes = ["dynamic", "static", "effective", "source"]
        on_change = true
        [record.averages]
        link = "bottleneck"
        probes = ["average"]
        on_change = false
        every = "1ms"
        "#,
        flows(1),
        flows(3),
        flows(5),
    ))
}

/// All changes of each colour, in the order of time. A change tells all four values.
fn changes(o: &Outcome) -> [Vec<Change>; 3] {
    let t = &o["series"];
    let mut at: BTreeMap<(usize, u64), [f64; 4]> = BTreeMap::new();
    for i in 0..t.rows() {
        let names = ["dynamic", "static", "effective", "source"];
        if let Some(which) = names.iter().position(|n| text(t, "probe", i) == *n) {
            let instant = (number(t, "time_s", i) * 1e9).round() as u64;
            let key = (number(t, "index", i) as usize, instant);
            at.entry(key).or_insert([f64::NAN; 4])[which] = number(t, "value", i);
        }
    }
    let change = |v: &[f64; 4]| Change {
        dynamic: v[0],
        fixed: v[1],
        effective: v[2],
        by_static: v[3] == 1.0,
    };
    [0, 1, 2].map(|colour| {
        at.iter()
            .filter(|(k, _)| k.0 == colour)
            .map(|(_, v)| change(v))
            .collect()
    })
}

/// The highest average of a colour, of those looked at.
fn highest(o: &Outcome, colour: usize) -> f64 {
    let t = &o["series"];
    let here = |i: &usize| text(t, "probe", *i) == "average" && number(t, "index", *i) == colour as f64;
    let values = (0..t.rows()).filter(here).map(|i| number(t, "value", i));
    values.fold(0.0, f64::max)
}

/// Whether this is the static probability times a power of 2 over a power of 3.
fn is_of_the_form(p: f64) -> bool {
    (0..=200).any(|twos| {
        let threes = ((f64::from(twos) * 2f64.ln() - (p / PS).ln()) / 3f64.ln()).round();
        threes >= 0.0 && (PS * 2f64.powi(twos) / 3f64.powf(threes) / p - 1.0).abs() < 1e-9
    })
}

#[test]
fn the_invariants_hold_in_whole_runs() {
    let cases = [
        ("adaptive_redn", "", "off"),
        ("adaptive_redn", ", ecn = true", "on"),
        ("adaptive_redn", ", queue_threshold = \"0 packets\"", "off"),
        ("adaptive_redn", ", use_middle = true", "off"),
        ("self_redn", "", "off"),
    ];
    let (mut raised, mut by_static) = (0, 0);
    for (mode, more, ecn) in cases {
        let o = network(mode, more, ecn);
        for (colour, changes) in changes(&o).iter().enumerate() {
            let top = highest(&o, colour);
            println!(
                "{mode}{more}: colour {colour}, {} changes, average to {top:.0}",
                changes.len()
            );
            let mut bounded = false;
            let middle = mode == "adaptive_redn" && (colour > 0 || more.contains("use_middle"));
            for (i, c) in changes.iter().enumerate() {
                assert_eq!(c.effective, if c.by_static { c.fixed } else { c.dynamic }, "{c:?}");
                // At 1 a probability is at the end of arithmetic, and no product after that.
                bounded |= c.dynamic == 1.0;
                assert!(
                    bounded || is_of_the_form(c.dynamic),
                    "{mode}{more}, colour {colour}: {c:?}"
                );
                assert!(c.fixed == PS && (middle || !c.by_static), "{c:?}");
                // The static one acts only where it is the higher.
                assert!(!c.by_static || c.dynamic < c.fixed, "{c:?}");
                if middle && top < 0.99 * H {
                    assert!(c.dynamic < 2.0 * PS && c.effective < 2.0 * PS, "{c:?}");
                }
                by_static += usize::from(c.by_static);
                raised += usize::from(i > 0 && c.dynamic > changes[i - 1].dynamic);
            }
        }
    }
    assert!(
        raised > 50 && by_static > 50,
        "averages crossed the thresholds: {raised}, {by_static}"
    );
}

/// The static probability moves within its bounds, and stays above the dynamic one.
#[test]
fn an_adapted_static_probability_stays_in_its_bounds() {
    let o = network("adaptive_redn", ", adapt_static = true", "off");
    let [green, yellow, red] = changes(&o);
    assert!(green.iter().all(|c| c.fixed == PS));
    let mut moved = 0;
    for c in yellow.iter().chain(&red) {
        assert_eq!(c.effective, if c.by_static { c.fixed } else { c.dynamic }, "{c:?}");
        assert!(
            (PS..=1.0).contains(&c.fixed) && (!c.by_static || c.dynamic < c.fixed),
            "{c:?}"
        );
        moved += usize::from(c.fixed > PS);
    }
    assert!(moved > 5, "{moved}");
}
