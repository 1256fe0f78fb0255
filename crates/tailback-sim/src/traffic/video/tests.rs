//! Means of frame sizes compared with closed forms, and frames as their receiver sees them.

use super::frames::Frames;
use super::sizes::{Factor, GAUSSIAN, LAPLACE, LOG_NORMAL, Sort, WEIBULL};
use crate::measure::frames::Fate;
use crate::measure::playout::CompleteFrame;
use tailback_base::{Settings, Stream, Time};

fn made(frame: Option<CompleteFrame>) -> Option<Time> {
    frame.map(|f| f.made)
}

fn times(frames: &[CompleteFrame]) -> Vec<Time> {
    frames.iter().map(|f| f.made).collect()
}

/// Mean and standard deviation of many factors.
fn drawn(factor: Factor, sort: Sort) -> (f64, f64) {
    let mut rng = Stream::new(2, "frames");
    let n = 400_000;
    let all: Vec<f64> = (0..n).map(|_| factor.draw(sort, &mut rng)).collect();
    let mean = all.iter().sum::<f64>() / f64::from(n);
    let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
    (mean, libm::sqrt(variance))
}

#[test]
fn factors_have_mean_one() {
    let root = libm::sqrt(400_000.0);
    // For the Weibull distribution, Gamma(1 + 2 / k) / Gamma(1 + 1 / k)^2 - 1 is the square of the coefficient of
    // variation.
    let gamma = |x: f64| libm::tgamma(1.0 + x / 0.8099);
    let weibull = libm::sqrt(gamma(2.0) / (gamma(1.0) * gamma(1.0)) - 1.0);
    for (model, sort, expected) in [
        (&LOG_NORMAL, Sort::I, 0.2),
        (&LOG_NORMAL, Sort::P, 0.3),
        (&WEIBULL, Sort::I, weibull),
        (&GAUSSIAN, Sort::I, 0.105),
        (&LAPLACE, Sort::I, 0.15 * std::f64::consts::SQRT_2),
    ] {
        let (mean, sd) = drawn(Factor::new(&Settings::defaults(model)), sort);
        assert!((mean - 1.0).abs() < 3.5 * sd / root, "{} {mean}", model.name);
        assert!((sd / expected - 1.0).abs() < 0.02, "{} {sd} {expected}", model.name);
    }
}

#[test]
fn a_bounded_factor_stays_in_its_bounds() {
    let s = Settings::defaults(&GAUSSIAN)
        .with("variation", "0.5")
        .with("min", "0.9")
        .with("max", "1.1");
    let (factor, mut rng) = (Factor::new(&s), Stream::new(2, "frames"));
    assert!((0..10_000).all(|_| (0.9..=1.1).contains(&factor.draw(Sort::I, &mut rng))));
}

/// Packets of two frames in any order, one twice.
#[test]
fn a_frame_is_whole_with_its_last_packet() {
    let mut f = Frames::new(true);
    f.make(Time(10), Sort::I, 2500, (7, 3));
    f.make(Time(20), Sort::P, 1000, (10, 1));
    assert_eq!(f.packet(8), None);
    assert_eq!(f.packet(8), None);
    assert_eq!(made(f.packet(10)), Some(Time(20)));
    assert_eq!(f.packet(7), None);
    assert_eq!(made(f.packet(9)), Some(Time(10)));
    assert_eq!((f.packet(9), f.packet(6), f.packet(11)), (None, None, None));
    let fates: Vec<Fate> = (0..2).filter_map(|_| f.judge()).map(|j| j.1).collect();
    assert_eq!(fates, [Fate::Shown, Fate::Shown]);
    assert!(f.judge().is_none());
}

/// A frame that is judged before its last packet arrives has failed, and P frames fail with it if they are chained;
/// its delay is still recorded.
#[test]
fn what_builds_on_a_failed_frame_fails_until_the_next_that_does_not() {
    for (chain, second) in [(true, Fate::Chained), (false, Fate::Shown)] {
        let mut f = Frames::new(chain);
        for (n, sort) in [Sort::I, Sort::P, Sort::P, Sort::I].into_iter().enumerate() {
            f.make(Time(n as u64), sort, 1000, (n as u64, 1));
        }
        (1..4).for_each(|n| assert_eq!(made(f.packet(n)), Some(Time(n))));
        let first = f.judge().map(|j| j.1);
        assert_eq!(first, Some(Fate::Failed));
        assert_eq!(made(f.packet(0)), Some(Time(0)));
        let rest: Vec<Fate> = (0..3).filter_map(|_| f.judge()).map(|j| j.1).collect();
        assert_eq!(rest, [second, second, Fate::Shown]);
    }
}

/// Bytes of a connection fill frames in their order, and skip frames that were taken back.
#[test]
fn bytes_fill_frames_in_order() {
    let mut f = Frames::default();
    for (n, bytes) in [1000, 500, 700].into_iter().enumerate() {
        f.make(Time(n as u64), Sort::P, bytes, (0, 0));
    }
    assert_eq!(f.bytes(999), []);
    assert_eq!(f.behind_next(), 1200);
    assert_eq!(f.judge().map(|j| j.1), Some(Fate::Failed));
    f.skip_next();
    assert_eq!(f.judge().map(|j| j.1), Some(Fate::Skipped));
    assert_eq!(times(&f.bytes(701)), [Time(0), Time(2)]);
    assert_eq!(f.judge().map(|j| j.1), Some(Fate::Shown));
    f.make(Time(9), Sort::P, 10, (0, 0));
    assert_eq!(times(&f.bytes(10)), [Time(9)]);
}
