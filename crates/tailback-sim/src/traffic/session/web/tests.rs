//! The published mixes compared with the closed forms of their distributions, and with the means in their sources.

use super::*;
use crate::library::Library;
use crate::traffic::laws;

/// The settings of a preset.
fn preset(name: &str) -> Settings {
    let laid = Settings::defaults(&MODEL).with("preset", name).with_profile(&[]);
    let whole = laid.and_then(|s| s.with_models(&Library::standard().catalogue));
    whole.unwrap_or_else(|e| panic!("{e}"))
}

fn law(s: &Settings, param: &Param) -> Box<dyn Draw> {
    laws::within(&Library::standard().laws, s, param)
}

/// Mean of whole draws, and its standard error.
fn drawn(law: &dyn Draw, n: u32) -> (f64, f64) {
    let mut rng = Stream::new(5, "web");
    let all: Vec<f64> = (0..n).map(|_| law.whole(&mut rng) as f64).collect();
    let mean = all.iter().sum::<f64>() / f64::from(n);
    let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
    (mean, libm::sqrt(variance / f64::from(n)))
}

/// The distribution function of the normal distribution.
fn phi(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// A log-normal distribution whose draws outside [a, b) are repeated: the mean, and the share of repeated draws.
fn truncated(mu: f64, sigma: f64, a: f64, b: f64) -> (f64, f64) {
    let z = |x: f64| (libm::log(x) - mu) / sigma;
    let kept = phi(z(b)) - phi(z(a));
    let mean = libm::exp(mu + sigma * sigma / 2.0) * (phi(z(b) - sigma) - phi(z(a) - sigma)) / kept;
    (mean, 1.0 - kept)
}

/// The mean of a Pareto distribution with least value a and shape k, cut at b.
fn cut_pareto(a: f64, k: f64, b: f64) -> f64 {
    (k * a - libm::pow(a, k) * libm::pow(b, 1.0 - k)) / (k - 1.0)
}

/// 3GPP2 states mean and standard deviation before the bounds (10710 and 25032 B, 7758 and 126168 B), which
/// correspond to these mu and sigma. With repeated draws the means are 10734 and 8212 B, and a sixth of the small
/// objects is drawn again.
#[test]
fn sizes_of_3gpp_have_the_means_of_their_closed_forms() {
    let of = |mean: f64, sd: f64| {
        let sigma = libm::sqrt(libm::log(1.0 + sd * sd / (mean * mean)));
        (libm::log(mean) - sigma * sigma / 2.0, sigma)
    };
    let ((mu, sigma), (small_mu, small_sigma)) = (of(10_710.0, 25_032.0), of(7758.0, 126_168.0));
    for (found, stated) in [(mu, 8.346), (sigma, 1.366), (small_mu, 6.166), (small_sigma, 2.363)] {
        assert!((found - stated).abs() < 6e-4, "{found}");
    }
    assert!((libm::exp(mu) - 4213.0).abs() < 1.0 && (libm::exp(small_mu) - 476.0).abs() < 1.0);
    let (main, redrawn) = truncated(mu, sigma, 100.0, 2e6);
    assert!((main - 10_734.0).abs() < 1.0 && redrawn < 0.01, "{main} {redrawn}");
    let (embedded, redrawn) = truncated(small_mu, small_sigma, 50.0, 2e6);
    assert!(
        (embedded - 8212.0).abs() < 1.0 && (redrawn - 0.17).abs() < 0.005,
        "{embedded} {redrawn}"
    );
    let s = preset("3gpp");
    for (param, expected) in [(MAIN, main), (EMBEDDED, embedded)] {
        let (mean, error) = drawn(&*law(&s, &param), 2_000_000);
        assert!(
            (mean - expected).abs() < 3.5 * error,
            "{}: {mean} +- {error}, {expected}",
            param.name
        );
        assert!(error < 0.005 * expected, "the bound says something: {error}");
    }
}

/// Pareto from 2 with shape 1.1, clipped at 55, minus 2: 5.64; rounded to the nearest whole number 5.62, rounded down
/// 5.20.
#[test]
fn objects_of_3gpp_are_clipped() {
    assert!((cut_pareto(2.0, 1.1, 55.0) - 2.0 - 5.64).abs() < 0.005);
    // The mean of a whole number is the sum of the shares that exceed each value: P(X > x) = (2 / x)^1.1 below 55.
    let beyond = |x: f64| libm::pow(2.0 / x, 1.1);
    let nearest: f64 = (1..=53).map(|n| beyond(f64::from(n) + 1.5)).sum();
    let down: f64 = (1..=53).map(|n| beyond(f64::from(n) + 2.0)).sum();
    assert!(
        (nearest - 5.62).abs() < 0.005 && (down - 5.20).abs() < 0.005,
        "{nearest} {down}"
    );
    let s = preset("3gpp");
    let objects = Objects::new(s.within(OBJECTS.name));
    let mut rng = Stream::new(5, "objects");
    let n = 1_000_000;
    let all: Vec<u64> = (0..n).map(|_| objects.draw(&mut rng)).collect();
    assert_eq!((all.iter().min(), all.iter().max()), (Some(&0), Some(&53)));
    let mean = all.iter().sum::<u64>() as f64 / f64::from(n);
    // The standard deviation of one is 10.
    assert!((mean - nearest).abs() < 4.0 * 10.0 / 1000.0, "{mean}");
}

/// A page of 56.9 kB every 30.13 s is 15.1 kbit/s per client: 331 clients offer half of 10 Mbit/s.
#[test]
fn a_client_of_3gpp_offers_fifteen_kilobits_a_second() {
    let page: f64 = 10_734.0 + 5.62 * 8212.0;
    assert!((page - 56_900.0).abs() < 50.0, "{page}");
    let rate = page * 8.0 / (30.0 + 0.13);
    assert!(
        (rate - 15_100.0).abs() < 20.0 && (5e6 / rate).round() == 331.0,
        "{rate}"
    );
    let s = preset("3gpp");
    for (param, mean) in [(PARSE, 0.13e9), (THINK, 30e9)] {
        let (drawn, error) = drawn(&*law(&s, &param), 400_000);
        assert!((drawn - mean).abs() < 3.5 * error, "{}: {drawn}", param.name);
    }
}

/// 93 % log-normal with mu 9.357 and sigma 1.318; 7 % Pareto from 133 kB with shape 1.1, cut at 100 MB. The number
/// includes the main object: P(N > n) = (1 + n)^-2.43.
#[test]
fn surge_has_a_body_and_a_tail() {
    let s = preset("surge");
    let body = libm::exp(9.357 + 1.318 * 1.318 / 2.0);
    assert!((body / 27_600.0 - 1.0_f64).abs() < 1e-3, "{body}");
    let expected = 0.93 * body + 0.07 * cut_pareto(133e3, 1.1, 100e6);
    let (mean, error) = drawn(&*law(&s, &MAIN), 2_000_000);
    assert!((mean - expected).abs() < 3.5 * error, "{mean} +- {error}, {expected}");
    assert!(error < 0.02 * expected, "the bound says something: {error}");
    let objects = Objects::new(s.within(OBJECTS.name));
    let mut rng = Stream::new(5, "objects");
    let n = 1_000_000;
    let mean = (0..n).map(|_| objects.draw(&mut rng)).sum::<u64>() as f64 / f64::from(n);
    let expected: f64 = (1..1_000_000).map(|n| libm::pow(1.0 + f64::from(n), -2.43)).sum();
    assert!((mean - expected).abs() < 0.01, "{mean} {expected}");
    // A pause of at least a second, and 3 s on average.
    let think = law(&s, &THINK);
    let mut rng = Stream::new(5, "think");
    assert!((0..100_000).all(|_| think.draw(&mut rng) >= 1e9 * (1.0 - 1e-12)));
    assert!((cut_pareto(1.0, 1.5, 280_800.0) - 3.0).abs() < 0.005);
    assert!(s.nested(PARSE.name).is_none());
}

/// A Pareto number of objects that includes the main one, rounded up: the share of pages with one object is that of
/// draws up to 1.
#[test]
fn a_number_of_all_objects_counts_the_main_one() {
    let s = preset("habib-2000");
    let objects = Objects::new(s.within(OBJECTS.name));
    let mut rng = Stream::new(5, "web");
    let all: Vec<u64> = (0..200_000).map(|_| 1 + objects.draw(&mut rng)).collect();
    for most in [1_u64, 4, 20] {
        let share = all.iter().filter(|n| **n <= most).count() as f64 / 2e5;
        let expected = 1.0 - libm::pow(most as f64 / (2.0 / 3.0), -1.2);
        assert!((share - expected).abs() < 0.004, "{most}: {share} {expected}");
    }
    let connection = preset("ns2-small").get(&CONNECTION);
    assert_eq!(connection, Connections::New, "as in the one it builds on");
}
