//! How TFRC begins. Its rate against the equation, and beside TCP, is in `tests/cases/tfrc.toml`.

use crate::common::*;
use crate::cycles::series;

/// Slow start begins with three packets in a round trip and doubles. From then on the rate is held to twice what was
/// received, and a report tells of packets that were sent up to two round trips before: X(n + 1) = 2 X(n - 1), a
/// doubling in two round trips.
#[test]
fn slow_start_doubles() {
    let o = run_text(
        "duration = \"20s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"50ms\"\nqueue = { \
         kind = \"droptail\", buffer = \"unlimited\" }\n\
         [flows.f]\nfrom = \"a\"\nto = \"b\"\ntfrc = {}\n[record.r]\nflows = \"f\"\nprobes = [\"rate\"]\non_change = \
         true\n",
    );
    let mut steps = series(&o, "rate");
    steps.retain(|s| s.0 > 0.0 && s.0 < 1.5);
    println!("{steps:.4?}");
    near(steps[0].1, 4380.0 * 8.0 / 0.1, 100.0);
    assert!(
        steps
            .windows(2)
            .all(|w| w[1].1 < 2.001 * w[0].1 && w[1].0 - w[0].0 < 0.101)
    );
    near(steps[2].1 / steps[0].1, 4.0, 0.001);
    let later: Vec<f64> = steps[4..].windows(3).map(|w| w[2].1 / w[0].1).collect();
    assert!(later.len() >= 8);
    for factor in later {
        near(factor, 2.0, 0.15);
    }
}
