//! Delays, losses and order of packets, against the arithmetic of the manual computed in another way.

use super::*;
use crate::declare::impairments::Impairment;
use crate::declare::netem::{MODEL, read};
use tailback_base::{Duration, Settings};

fn of(values: &[(&str, &str)]) -> Netem {
    let s = values.iter().fold(Settings::defaults(&MODEL), |s, (k, v)| s.with(k, v));
    match read(&s).unwrap() {
        Impairment::Netem(of) => *of,
        other => panic!("{other:?}"),
    }
}

/// An emulator, its random numbers, and the time.
struct Case {
    emulator: Emulator,
    rng: Stream,
}

impl Case {
    fn new(values: &[(&str, &str)]) -> Case {
        let mut rng = Stream::new(3, "netem");
        let emulator = Emulator::new(&of(values), &mut rng);
        Case { emulator, rng }
    }

    fn take(&mut self, ns: u64) -> Verdict {
        self.emulator.take(Time(ns), 1500, false, false, &mut self.rng)
    }

    /// When a packet that arrives at this time leaves, if it is not lost.
    fn leaves(&mut self, ns: u64) -> Option<u64> {
        self.take(ns).leaves.map(|t| t.0)
    }

    /// Which of so many packets are lost.
    fn losses(&mut self, n: u64) -> Vec<bool> {
        (0..n).map(|i| self.leaves(1000 * i).is_none()).collect()
    }
}

fn share(of: &[bool]) -> f64 {
    of.iter().filter(|is| **is).count() as f64 / of.len() as f64
}

/// The largest distance between what was found and a distribution, times the root of how many were found: with a
/// probability of one in a thousand it is above 1.95 (Kolmogorov). `parts` are those below a value, and at most there.
fn distance(mut found: Vec<f64>, parts: impl Fn(f64) -> [f64; 2]) -> f64 {
    found.sort_unstable_by(f64::total_cmp);
    let n = found.len() as f64;
    let mut distance: f64 = 0.0;
    for x in &found {
        let [below, upto] = parts(*x);
        let is_below = found.partition_point(|y| y < x) as f64 / n;
        let is_upto = found.partition_point(|y| y <= x) as f64 / n;
        distance = distance.max((below - is_below).abs()).max((upto - is_upto).abs());
    }
    distance * n.sqrt()
}

/// A value of a standard normal variable below which this part of all is: by halving.
fn quantile(part: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        match 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2) < part {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// Delays of 100 ms with 10 ms of jitter, against 4096 values that are computed from the distributions themselves: the
/// normal one, Pareto's with exponent 3 less its mean 1.5 in four thirds, and a quarter of the one and three of the
/// other.
#[test]
fn delays_have_their_distribution() {
    let normal = |i: f64| quantile((4.0 * i + 0.5) / 16384.0);
    let pareto = |i: f64| (((1.0 - i / 4096.0).powf(-1.0 / 3.0) - 1.5) * 4.0 / 3.0).min(32767.0 / 8192.0);
    let mixture = |i: f64| 0.25 * normal(i) + 0.75 * pareto(i);
    let uniform = |i: f64| (2.0 * i + 1.0) / 4096.0 - 1.0;
    let distributions: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("uniform", &uniform),
        ("normal", &normal),
        ("pareto", &pareto),
        ("paretonormal", &mixture),
    ];
    for (name, value) in distributions {
        let mut c = Case::new(&[
            ("delay", "100ms"),
            ("jitter", "10ms"),
            ("distribution", name),
            ("limit", "1000000"),
        ]);
        let delays: Vec<f64> = (0..40_000)
            .map(|i| c.leaves(1000 * i).unwrap() as f64 / 1e6 - i as f64 / 1e3)
            .collect();
        let mut table: Vec<f64> = (0..4096).map(|i| 100.0 + 10.0 * value(f64::from(i))).collect();
        table.sort_unstable_by(f64::total_cmp);
        // Values of the table are rounded to 1/8192 of the jitter.
        let parts = |x: f64| [x - 0.0007, x + 0.0007].map(|at| table.partition_point(|v| *v <= at) as f64 / 4096.0);
        let d = distance(delays.clone(), parts);
        assert!(d < 1.95, "{name}: {d}");
        // The same with another mean is found out.
        let shifted = distance(delays, |x| parts(x - 0.2));
        assert!(shifted > 1.95, "{name}: {shifted}");
    }
}

/// What correlated numbers do, by the same arithmetic in whole numbers; and how far the deviation of a long row
/// shrinks: by the root of (1 - c) / (1 + c).
#[test]
fn correlated_numbers_keep_a_part_of_the_last() {
    let mut rng = Stream::new(7, "numbers");
    let mut numbers = Numbers::new(0.5, &mut rng);
    let (mut same_rng, mut last_number) = (rng.clone(), u64::from(numbers.last));
    let mut samples = vec![];
    for _ in 0..50_000 {
        let number = numbers.next(&mut rng);
        let new = same_rng.bits() >> 32;
        // One half is 0x80000000 of 0x100000000.
        let rho = 0x8000_0001;
        last_number = ((u128::from(new) * (0x1_0000_0000 - rho) + u128::from(last_number) * rho) >> 32) as u64;
        assert_eq!(u64::from(number), last_number);
        samples.push(f64::from(number) / 4_294_967_296.0 - 0.5);
    }
    let n = samples.len() as f64;
    let variance = samples.iter().map(|x| x * x).sum::<f64>() / n;
    assert!((variance * 12.0 * 3.0 - 1.0).abs() < 0.03, "{variance}");
    let lag = samples.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / n / variance;
    assert!((lag - 0.5).abs() < 0.02, "{lag}");
}

/// A correlation of 0.9 leaves a twentieth of the variance of independent numbers, so that a loss of one in ten is
/// hardly ever met. Of delays, which take the number modulo a small one, neighbours are nearly independent.
#[test]
fn correlation_of_losses_and_of_delays() {
    let lost = |c: &str| share(&Case::new(&[("loss", "0.1"), ("loss_correlation", c)]).losses(100_000));
    assert!((lost("0") - 0.1).abs() < 0.004);
    assert!((0.01..0.1).contains(&lost("0.25")), "{}", lost("0.25"));
    assert!(lost("0.9") < 0.001, "{}", lost("0.9"));
    let mut c = Case::new(&[
        ("delay", "100ms"),
        ("jitter", "10ms"),
        ("delay_correlation", "0.5"),
        ("distribution", "normal"),
        ("limit", "1000000"),
    ]);
    let delays: Vec<f64> = (0..40_000)
        .map(|i| c.leaves(1000 * i).unwrap() as f64 / 1e6 - i as f64 / 1e3 - 100.0)
        .collect();
    let square = delays.iter().map(|x| x * x).sum::<f64>();
    let lag = delays.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / square;
    assert!(lag.abs() < 0.02, "{lag}");
    // The table has as wide a distribution as without it.
    let deviation = (square / delays.len() as f64).sqrt();
    assert!((deviation - 10.0).abs() < 0.15, "{deviation}");
}

/// 1000 packets are held for 200 ms: 1000 in 200 ms are 60 Mb/s of packets of 1500 B.
#[test]
fn a_limit_is_a_rate() {
    let mut c = Case::new(&[("delay", "200ms")]);
    // 120 Mb/s for two seconds: one packet in 0.1 ms.
    let passed = (0..20_000).filter(|i| c.leaves(100_000 * i).is_some()).count();
    let rate = passed as f64 * 1500.0 * 8.0 / 2.0 / 1e6;
    assert!((rate - 60.0).abs() < 0.1, "{rate}");
    let mut c = Case::new(&[("delay", "200ms"), ("limit", "2000")]);
    assert!(
        (0..20_000).all(|i| c.leaves(100_000 * i).is_some()),
        "2000 are 120 Mb/s"
    );
}

#[test]
fn packets_with_shorter_delays_overtake() {
    let mut c = Case::new(&[("delay", "100ms"), ("jitter", "20ms")]);
    let leaves: Vec<u64> = (0..500).map(|i| c.leaves(1_000_000 * i).unwrap()).collect();
    let overtaken = leaves.windows(2).filter(|w| w[1] < w[0]).count();
    assert!(overtaken > 200, "{overtaken}");
    // Farther apart than the jitter they stay in order, and one with no delay left leaves at once.
    let mut c = Case::new(&[("delay", "10ms"), ("jitter", "20ms")]);
    let leaves: Vec<u64> = (0..500).map(|i| c.leaves(50_000_000 * i).unwrap()).collect();
    assert!(leaves.windows(2).all(|w| w[0] < w[1]));
    assert!(leaves.iter().enumerate().any(|(i, t)| *t == 50_000_000 * i as u64));
}

/// `gap 5` with `reorder 100%`: every fifth leaves at once. `reorder 25%`: a quarter of all.
#[test]
fn reordered_packets_leave_at_once() {
    let at_once = |values: &[(&str, &str)], n: u64| -> Vec<u64> {
        let mut c = Case::new(&[&[("delay", "10ms"), ("limit", "1000000")], values].concat());
        (0..n).filter(|i| c.leaves(1000 * i) == Some(1000 * i)).collect()
    };
    assert_eq!(at_once(&[("gap", "5"), ("reorder", "1")], 20), [4, 9, 14, 19]);
    let quarter = at_once(&[("reorder", "0.25")], 40_000).len();
    assert!((9700..10_300).contains(&quarter), "{quarter}");
    assert!(at_once(&[], 100).is_empty());
}

/// At 12 Mb/s a packet of 1500 B takes a millisecond: the first leaves after its delay and its time, the others follow.
#[test]
fn a_rate_spaces_what_is_held() {
    let mut c = Case::new(&[("delay", "10ms"), ("rate", "12Mbps")]);
    let leaves: Vec<u64> = (0..4).map(|i| c.leaves(100_000 * i).unwrap() / 1000).collect();
    assert_eq!(leaves, [11_000, 12_000, 13_000, 14_000]);
    // Nothing is held any more.
    assert_eq!(c.leaves(40_000_000), Some(51_000_000));
    // 1520 B in 32 cells of 48 B, each with 5 B more: 1696 B at 8 Mb/s.
    let cells = [
        ("overhead", "20B"),
        ("cell_size", "48B"),
        ("cell_overhead", "5B"),
        ("rate", "8Mbps"),
    ];
    assert_eq!(Case::new(&cells).leaves(0), Some(1_696_000));
}

/// Gilbert and Elliott: a twentieth of the packets find the state bad, for four in a row on the average, and nearly all
/// of these are lost; the states of Salsano: bursts of losses that last 1 / p31 packets, and single losses between
/// them.
#[test]
fn losses_by_states() {
    let runs = |lost: &[bool]| {
        lost.split(|is| !is)
            .map(<[bool]>::len)
            .filter(|n| *n > 0)
            .collect::<Vec<_>>()
    };
    let mean = |all: &[usize]| all.iter().sum::<usize>() as f64 / all.len() as f64;
    let p = 0.25 / 19.0;
    let lost = Case::new(&[("loss_gemodel", &format!("[{p}, 0.25]"))]).losses(400_000);
    assert!((share(&lost) - 0.05).abs() < 0.002, "{}", share(&lost));
    assert!((mean(&runs(&lost)) - 4.0).abs() < 0.1, "{}", mean(&runs(&lost)));
    let half = Case::new(&[("loss_gemodel", &format!("[{p}, 0.25, 0.5, 0.01]"))]).losses(400_000);
    assert!(
        (share(&half) - (0.95 * 0.01 + 0.05 * 0.5)).abs() < 0.002,
        "{}",
        share(&half)
    );
    // Two states: out of a burst with 0.2.
    let lost = Case::new(&[("loss_state", "[0.02, 0.2]")]).losses(400_000);
    assert!((share(&lost) - 0.02 / 0.22).abs() < 0.005, "{}", share(&lost));
    assert!((mean(&runs(&lost)) - 5.0).abs() < 0.15, "{}", mean(&runs(&lost)));
    // Single losses alone: a packet after one is never lost.
    let lost = Case::new(&[("loss_state", "[0, 1, 0, 1, 0.1]")]).losses(100_000);
    assert!((share(&lost) - 0.1 / 1.1).abs() < 0.003 && runs(&lost).iter().all(|n| *n == 1));
    // Packets that arrive within a burst: from 3 to 2 and back.
    let lost = Case::new(&[("loss_state", "[0.01, 0.1, 0.3, 0.5]")]).losses(400_000);
    let (burst, in_burst) = (0.01 / 0.1, 0.01 / 0.1 * 0.3 / 0.5);
    assert!(
        (share(&lost) - burst / (1.0 + burst + in_burst)).abs() < 0.005,
        "{}",
        share(&lost)
    );
}

#[test]
fn marks_copies_and_wrong_bits() {
    let mut c = Case::new(&[("loss", "0.3"), ("ecn", "true")]);
    let taken: Vec<Verdict> = (0..20_000)
        .map(|i| c.emulator.take(Time(i), 1500, true, false, &mut c.rng))
        .collect();
    let marks = taken.iter().filter(|v| v.marked).count();
    assert!(
        (5700..6300).contains(&marks) && taken.iter().all(|v| v.leaves.is_some()),
        "{marks}"
    );
    // Of two copies one is lost with a loss.
    let mut c = Case::new(&[("duplicate", "0.2"), ("loss", "0.5"), ("limit", "1000000")]);
    let taken: Vec<Verdict> = (0..40_000).map(|i| c.take(i)).collect();
    let part = |of: fn(&Verdict) -> bool| taken.iter().filter(|v| of(v)).count() as f64 / 40_000.0;
    let (lost, twice) = (part(|v| v.leaves.is_none()), part(|v| v.copied));
    assert!(
        (lost - 0.4).abs() < 0.01 && (twice - 0.1).abs() < 0.01,
        "{lost} {twice}"
    );
    let copy = c.emulator.take(Time(50_000), 1500, false, true, &mut c.rng);
    assert!(!copy.copied);
    // A wrong bit is in one of the two.
    let mut c = Case::new(&[("duplicate", "1"), ("corrupt", "1"), ("loss", "0.4"), ("ecn", "true")]);
    let taken: Vec<Verdict> = (0..1000)
        .map(|i| c.emulator.take(Time(i), 1500, true, false, &mut c.rng))
        .collect();
    assert!(taken.iter().all(|v| v.leaves.is_none() && v.copied));
    let marks = taken.iter().filter(|v| v.marked).count();
    assert!((340..460).contains(&marks), "{marks}");
    // Where no place is left both are lost.
    let mut c = Case::new(&[("duplicate", "1"), ("delay", "1s"), ("limit", "1")]);
    assert!(c.take(0).copied && !c.take(1).copied);
    let lost = share(&Case::new(&[("corrupt", "0.1")]).losses(40_000));
    assert!((lost - 0.1).abs() < 0.005, "{lost}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (values, part) in [
        (&[("loss", "0.1"), ("loss_state", "[0.1]")] as &[_], "two ways"),
        (&[("reorder", "0.1")], "has no effect on packets without a delay"),
        (&[("gap", "5"), ("delay", "1ms")], "without reorder"),
        (&[("loss_gemodel", "[0.1, 0.1, 0.1, 0.1, 0.1]")], "at most 4"),
    ] {
        let s = values.iter().fold(Settings::defaults(&MODEL), |s, (k, v)| s.with(k, v));
        let e = read(&s).unwrap_err();
        assert!(e.to_string().contains(part), "{e}");
    }
    assert_eq!(of(&[("delay", "1ms"), ("reorder", "0.5")]).gap, 1);
    assert_eq!(of(&[("delay", "5ms")]).delay, Duration::from_millis(5));
}
