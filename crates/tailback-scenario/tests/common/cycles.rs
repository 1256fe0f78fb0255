//! The cycles of a window between losses.

use crate::common::{number, text};
use tailback_sim::results::outcome::Outcome;

/// A probe of the only flow: times and values.
pub fn series(o: &Outcome, probe: &str) -> Vec<(f64, f64)> {
    let t = &o["series"];
    let here = (0..t.rows()).filter(|i| text(t, "probe", *i) == probe);
    here.map(|i| (number(t, "time_s", i), number(t, "value", i))).collect()
}

/// The mean over time of a value that holds until the next.
pub fn mean(steps: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let value = |t: f64| steps[steps.partition_point(|s| s.0 <= t) - 1].1;
    let mut times: Vec<f64> = steps.iter().map(|s| s.0).filter(|t| *t > from && *t < to).collect();
    times.insert(0, from);
    times.push(to);
    times.windows(2).map(|w| value(w[0]) * (w[1] - w[0])).sum::<f64>() / (to - from)
}

/// Period, least and greatest window of a cycle after `after` seconds, between episodes of loss more than 0.3 s apart.
pub fn cycles(cwnd: &[(f64, f64)], phase: &[(f64, f64)], after: f64) -> (f64, f64, f64) {
    let mut found: Vec<f64> = Vec::new();
    for (t, p) in phase {
        if *p == 1.0 && *t > after && found.last().is_none_or(|last| t - last > 0.3) {
            found.push(*t);
        }
    }
    if found.len() < 2 {
        return (f64::NAN, f64::NAN, f64::NAN);
    }
    let n = (found.len() - 1) as f64;
    let (mut least, mut greatest) = (0.0, 0.0);
    for w in found.windows(2) {
        let inside = || cwnd.iter().filter(|c| c.0 >= w[0] && c.0 < w[1]).map(|c| c.1);
        least += inside().fold(f64::INFINITY, f64::min) / n;
        greatest += inside().fold(0.0, f64::max) / n;
    }
    ((found[found.len() - 1] - found[0]) / n, least, greatest)
}
