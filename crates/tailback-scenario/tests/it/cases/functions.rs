//! Functions of values, for `expect.rs`, which says what they are.

use super::expect::{Answer, Values};

/// What a function is of these arguments.
///
/// # Errors
/// There is no such function, or it has other arguments.
pub fn call(name: &str, of: &[Values]) -> Answer {
    let all = of.concat();
    let (n, sum) = (all.len() as f64, all.iter().fold(0.0, |sum, x| sum + x));
    let map = |f: fn(f64) -> f64| all.iter().map(|x| f(*x)).collect();
    Ok(match name {
        "sum" => vec![sum],
        "count" => vec![n],
        "abs" => map(f64::abs),
        "sqrt" => map(f64::sqrt),
        "cbrt" => map(f64::cbrt),
        "steps" => all.windows(2).map(|w| w[1] - w[0]).collect(),
        _ if all.is_empty() => return Err(format!("{name} of no values")),
        "mean" => vec![sum / n],
        // Of cells without a value there is none.
        "min" => vec![all.iter().copied().fold(f64::NAN, f64::min)],
        "max" => vec![all.iter().copied().fold(f64::NAN, f64::max)],
        "sd" => vec![(all.iter().map(|x| (x - sum / n).powi(2)).sum::<f64>() / n).sqrt()],
        "last" => vec![all[all.len() - 1]],
        "quantile" if n > 1.0 => {
            let mut sorted = all[1..].to_vec();
            sorted.sort_by(f64::total_cmp);
            let place = all[0] * (n - 2.0);
            let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            vec![low + place.fract() * (high - low)]
        }
        "at" if of.len() == 3 => of[2].iter().map(|t| at(&of[0], &of[1], *t)).collect(),
        "over_time" if of.len() == 4 => {
            let (from, to) = (of[2][0], of[3][0]);
            let inside = of[0].iter().copied().filter(|t| *t > from && *t < to);
            let times: Values = [from].into_iter().chain(inside).chain([to]).collect();
            let parts = times.windows(2).map(|w| at(&of[0], &of[1], w[0]) * (w[1] - w[0]));
            vec![parts.sum::<f64>() / (to - from)]
        }
        "episodes" if of.len() == 3 => {
            let mut found: Values = Vec::new();
            for (t, x) in of[0].iter().zip(&of[1]) {
                if *x == 1.0 && *t > of[2][0] && found.last().is_none_or(|last| t - last > 0.3) {
                    found.push(*t);
                }
            }
            found
        }
        "least" | "most" if of.len() == 3 => {
            let inside = |w: &[f64]| {
                let here = of[0].iter().zip(&of[1]).filter(|(t, _)| **t >= w[0] && **t < w[1]);
                let all = here.map(|(_, x)| *x);
                if name == "least" {
                    all.fold(f64::INFINITY, f64::min)
                } else {
                    all.fold(0.0, f64::max)
                }
            };
            of[2].windows(2).map(inside).collect()
        }
        _ => return Err(format!("there is no function {name} of {} values", of.len())),
    })
}

/// The value of what holds until the next.
fn at(times: &Values, values: &Values, t: f64) -> f64 {
    let i = times.partition_point(|x| *x <= t);
    if i == 0 { f64::NAN } else { values[i - 1] }
}
