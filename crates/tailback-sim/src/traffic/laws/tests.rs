//! Laws compared with their closed forms, and what they refuse.

use super::*;

fn mean(law: &dyn Draw, n: u32) -> f64 {
    let mut rng = Stream::new(7, "law");
    (0..n).map(|_| law.draw(&mut rng)).sum::<f64>() / f64::from(n)
}

#[test]
fn laws_have_their_means() {
    assert_eq!(mean(&Constant(10_000.0), 3), 10_000.0);
    for (law, tolerance) in [
        (&Exponential(10_000.0) as &dyn Draw, 0.01),
        (&Pareto::new(10_000.0, 3.0, 1e12), 0.01),
        (&LogNormal::new(10_000.0, 1.0), 0.01),
    ] {
        let m = mean(law, 400_000);
        assert!((m / 10_000.0 - 1.0).abs() < tolerance, "{m}");
    }
}

/// Cut at b, with the least value a and shape k, the mean is (k a - a^k b^(1-k)) / (k - 1).
#[test]
fn a_bounded_pareto_keeps_to_its_closed_form() {
    let law = Pareto::new(10_000.0, 1.5, 200_000.0);
    let (a, b, k) = (law.least, law.most, law.shape);
    let expected = (k * a - libm::pow(a, k) * libm::pow(b, 1.0 - k)) / (k - 1.0);
    let m = mean(&law, 400_000);
    assert!((m / expected - 1.0).abs() < 0.01, "{m} {expected}");
    let mut rng = Stream::new(1, "law");
    assert!((0..100_000).all(|_| (a..=b).contains(&law.draw(&mut rng))));
}

fn settings(kind: &str, values: &[(&str, &str)]) -> Settings {
    let law = LAWS.iter().find(|l| l.size.name == kind).expect("a law");
    values
        .iter()
        .fold(Settings::defaults(&law.size), |s, (k, v)| s.with(k, v))
}

/// Bounds in the middle of a log-normal distribution: draws outside are repeated, not moved to the bounds.
#[test]
fn a_bounded_log_normal_is_drawn_again() {
    let given = [("mean", "10kB"), ("shape", "1"), ("min", "5kB"), ("max", "20kB")];
    let law = LogNormal::of(&settings("log-normal", &given));
    let mut rng = Stream::new(3, "law");
    let all: Vec<f64> = (0..200_000).map(|_| law.draw(&mut rng)).collect();
    assert!(all.iter().all(|x| (5000.0..20_000.0).contains(x)));
    let near_bounds = all.iter().filter(|x| **x < 5001.0 || **x > 19_999.0).count();
    assert!(near_bounds < 100, "{near_bounds}");
    // ln 5000 and ln 20000 are mu - 0.193 and mu + 1.193: 0.5768 - 0.1164 of all draws lie below and above.
    let (low, high) = (-0.193_147_18, 1.193_147_18);
    let phi = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    assert!((law.kept() - (phi(high) - phi(low))).abs() < 1e-6, "{}", law.kept());
    let expected = 10_000.0 * (phi(high - 1.0) - phi(low - 1.0)) / law.kept();
    let mean = all.iter().sum::<f64>() / 200_000.0;
    // The standard deviation of a draw is below 4000.
    assert!((mean - expected).abs() < 3.5 * 4000.0 / 447.0, "{mean} {expected}");
}

#[test]
fn listed_values_have_their_weights() {
    let law = Listed::of(&settings(
        "listed",
        &[("values", "[1kB, 10kB, 1MB]"), ("weights", "[6, 3, 1]")],
    ));
    let mut rng = Stream::new(3, "law");
    let all: Vec<f64> = (0..100_000).map(|_| law.draw(&mut rng)).collect();
    for (value, share) in [(1e3, 0.6), (1e4, 0.3), (1e6, 0.1)] {
        let n = all.iter().filter(|x| **x == value).count() as f64 / 1e5;
        assert!((n - share).abs() < 4.0 * 0.0016, "{value}: {n}");
    }
    let alike = Listed::of(&settings("listed", &[("values", "[1kB, 3kB]")]));
    let mean = mean(&alike, 100_000);
    assert!((mean - 2000.0).abs() < 4.0 * 1000.0 / 316.0, "{mean}");
}

#[test]
fn laws_that_cannot_be_drawn_from_are_refused() {
    for (kind, values, param) in [
        ("pareto", &[("mean", "10kB"), ("max", "2kB")][..], "max"),
        (
            "log-normal",
            &[("mean", "10kB"), ("min", "1MB"), ("max", "2MB"), ("shape", "0.1")],
            "min",
        ),
        ("log-normal", &[("mean", "10kB"), ("max", "1B")], "max"),
        ("listed", &[("values", "[1kB]"), ("weights", "[1, 2]")], "weights"),
        ("listed", &[("values", "[1kB]"), ("weights", "[0]")], "weights"),
    ] {
        let law = LAWS.iter().find(|l| l.size.name == kind).expect("a law");
        let found = (law.check)(&settings(kind, values)).err().map(|c| c.param);
        assert_eq!(found, Some(param), "{kind} {values:?}");
    }
}

/// In steps of 1 kB: the share of one step, and of at most ten, by the distribution (1 + x/scale)^-shape; and the
/// mean, if the tail is light enough to have one.
#[test]
fn a_lomax_law_counts_whole_steps() {
    let given = [("mean", "12kB"), ("shape", "1.2"), ("step", "1kB")];
    let law = Lomax::of(&settings("lomax", &given));
    let mut rng = Stream::new(3, "law");
    let all: Vec<f64> = (0..200_000).map(|_| law.draw(&mut rng)).collect();
    assert!(all.iter().all(|x| x % 1000.0 == 0.0 && *x >= 1000.0));
    for steps in [1.0, 10.0] {
        let share = all.iter().filter(|x| **x <= 1000.0 * steps).count() as f64 / 2e5;
        let expected = 1.0 - libm::pow(1.0 + 1000.0 * steps / 2400.0, -1.2);
        assert!((share - expected).abs() < 0.004, "{share} {expected}");
    }
    let light = Lomax::of(&settings("lomax", &[("mean", "12kB"), ("shape", "4")]));
    let m = mean(&light, 400_000);
    assert!((m / 12_000.5 - 1.0).abs() < 0.01, "{m}");
}
