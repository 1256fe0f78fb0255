//! Waiting times and windows of whole simulations against closed forms.
//!
//! * M/D/1 and M/M/1 at loads 0.5, 0.8 and 0.95: mean waiting time (arrival to start of transmission) against
//!   Pollaczek-Khinchine, over seeds 1 to 20; mean queue and utilisation of the same runs against Little's law and the
//!   load. Packets are whole bytes, so the formula takes the moments of the rounded and cut distribution.
//! * Poisson arrivals: counts in windows of three lengths against the Poisson distribution's variance, the counts
//!   themselves against its probabilities, neighbouring windows against independence.
//! * The window under periodic loss (spec tcp 5.6): the whole cycle exactly, and where the square-root law holds.
//!
//! Closed forms checked elsewhere, beside the code they are about: RED's signal fractions and CoDel's spacing of drops
//! (crates/tailback-queue, `aqm/red/tests.rs` and `aqm/delay/codel/tests.rs`), quasi-stationary DRR replayed by hand
//! (`pieces/drop/sticky_tests.rs` there), the rounds of a recovery (crates/tailback-transport, `tests/recovery.rs`),
//! the cycles that `tailback predict` computes (`tests/python/test_predict.py`).

use crate::plans::{execute, plan, point, sample, table, values};
use tailback_sim::results::Table;

const SEEDS: u64 = 20;
/// Bytes, and what the line does with them: 80 us a packet of mean size.
const MEAN: f64 = 1000.0;
const LINE: f64 = 100e6;
const LONGEST: u32 = 65_535;

const SINGLE: &str = r#"
duration = "1s"
[link.line]
from = "a"
to = "b"
rate = "100Mbps"
delay = "1ms"
queue = { kind = "droptail", buffer = "unlimited" }
[flows.arrivals]
transport = { kind = "udp", header = "0B" }
traffic = { kind = "poisson", rate = "50Mbps" }
sizes = { kind = "fixed", bytes = "1000B" }
"#;

/// First and second moment of sizes that an exponential source draws: rounded, and cut at both ends.
fn exponential_moments(mean: f64, min: u32, max: u32) -> (f64, f64) {
    let tail = |x: f64| (-x / mean).exp();
    (min..=max).fold((0.0, 0.0), |(first, second), n| {
        let b = f64::from(n);
        let from = if n == min { 1.0 } else { tail(b - 0.5) };
        let p = from - if n == max { 0.0 } else { tail(b + 0.5) };
        (first + p * b, second + p * b * b)
    })
}

/// What a Poisson source of this rate adds to each packet's wait, s: Pollaczek and Khinchine.
fn poisson_wait(rate: f64, (first, second): (f64, f64)) -> f64 {
    let lambda = rate / (8.0 * first);
    lambda * second * (8.0 / LINE).powi(2) / (2.0 * (1.0 - rate / LINE))
}

#[test]
fn waiting_times_of_single_servers() {
    // Packets a seed: enough that the interval is well inside the bar. The time constant of the queue at load 0.95 is
    // 60 ms, warm-up a hundred times that.
    let cases: Vec<(&str, f64, f64)> = ["M/D/1", "M/M/1"]
        .into_iter()
        .flat_map(|m| [(m, 0.95, 8.0e5), (m, 0.8, 2.0e5), (m, 0.5, 2.0e5)])
        .collect();
    let points: Vec<_> = cases
        .iter()
        .map(|(model, load, packets)| {
            let measured = packets * MEAN * 8.0 / LINE / load;
            let warmup = 0.05 * measured;
            let mut set = vec![
                format!("duration={:.3}s", measured + warmup),
                format!("warmup={warmup:.3}s"),
                format!("flows.arrivals.traffic.rate={}bps", LINE * load),
            ];
            if *model == "M/M/1" {
                set.push(format!(
                    "flows.arrivals.sizes={{ kind = \"exponential\", mean = \"{MEAN}B\", min = \"1B\", \
                                  max = \"{LONGEST}B\" }}"
                ));
            }
            point(&format!("{model} {load}"), &set)
        })
        .collect();
    let results = execute(&plan(SINGLE, &points, SEEDS));
    let links = &table(&results, "links");
    println!("model  load   waiting us   formula      error  half-width   errors in SE: waiting, queue, load");
    for (model, load, _) in cases {
        let name = format!("{model} {load}");
        let per_seed = |column: &str| sample(&values(links, column, &[("point", &name), ("name", "line")]));
        let (first, second) = if model == "M/D/1" {
            (MEAN, MEAN * MEAN)
        } else {
            exponential_moments(MEAN, 1, LONGEST)
        };
        let lambda = load * LINE / (8.0 * first);
        let formula = poisson_wait(load * LINE, (first, second));
        let wait = per_seed("sojourn_mean_s");
        let (queue, busy) = (per_seed("mean_queue_packets"), per_seed("utilisation"));
        let off = [
            (wait.mean - formula) / wait.se,
            (queue.mean - lambda * formula) / queue.se,
            (busy.mean - load) / busy.se,
        ];
        println!(
            "{model}  {load:<4} {:>11.3} {:>11.3} {:>8.2} % {:>8.2} %   {:>5.2} {:>5.2} {:>5.2}",
            wait.mean * 1e6,
            formula * 1e6,
            (wait.mean / formula - 1.0) * 100.0,
            wait.half / formula * 100.0,
            off[0],
            off[1],
            off[2]
        );
        let bar = if load > 0.9 { 0.05 } else { 0.02 };
        assert!(
            wait.half <= bar * formula,
            "{name}: the interval is {} of {formula}",
            wait.half
        );
        assert!(off.iter().all(|o| o.abs() < 3.0), "{name}: {off:?} standard errors off");
    }
}

/// The offered rate of a source is the `rate` of the scenario, also if its sizes are cut. Tested with each law of sizes
/// at three loads. A list of sizes is left out: it is not random, so the formula of the M/G/1 queue does not hold.
#[test]
fn offered_loads_and_waits_of_each_law_of_sizes() {
    let laws = [
        (r#"kind = "fixed", bytes = "1500B""#, (1500.0, 1500.0 * 1500.0)),
        (
            r#"kind = "exponential", mean = "1500B""#,
            exponential_moments(1500.0, 40, LONGEST),
        ),
        (
            r#"kind = "exponential", mean = "500B""#,
            exponential_moments(500.0, 40, LONGEST),
        ),
        (
            r#"kind = "exponential", mean = "1500B", min = "40B", max = "1500B""#,
            exponential_moments(1500.0, 40, 1500),
        ),
        (
            r#"kind = "exponential", mean = "100B", min = "200B", max = "300B""#,
            exponential_moments(100.0, 200, 300),
        ),
        (
            r#"kind = "bimodal", small = "40B", large = "1500B", share = 0.25"#,
            (405.0, 0.75 * 1600.0 + 0.25 * 2.25e6),
        ),
    ];
    let cases: Vec<_> = laws
        .iter()
        .flat_map(|law| [0.3, 0.6, 0.9].map(|load| (law, load)))
        .collect();
    let name = |sizes: &str, load: f64| format!("{sizes} at {load}");
    let points: Vec<_> = cases
        .iter()
        .map(|((sizes, moments), load)| {
            let packets = if *load > 0.8 { 2.5e5 } else { 5e4 };
            let measured = packets * moments.0 * 8.0 / LINE / load;
            let set = [
                format!("duration={:.3}s", 1.1 * measured),
                format!("warmup={:.3}s", 0.1 * measured),
                format!("flows.arrivals.traffic.rate={}bps", LINE * load),
                format!("flows.arrivals.sizes={{ {sizes} }}"),
            ];
            point(&name(sizes, *load), &set)
        })
        .collect();
    let results = execute(&plan(SINGLE, &points, SEEDS));
    let links = &table(&results, "links");
    let mut far = 0;
    for ((sizes, moments), load) in &cases {
        let name = name(sizes, *load);
        let per_seed = |column: &str| sample(&values(links, column, &[("point", &name), ("name", "line")]));
        for (what, law, got, most) in [
            ("load", *load, per_seed("utilisation"), 0.005),
            (
                "wait",
                poisson_wait(load * LINE, *moments),
                per_seed("sojourn_mean_s"),
                0.02,
            ),
        ] {
            let off = (got.mean - law) / got.se;
            println!(
                "{what} {:.6e} for {law:.6e}, {off:>5.2} standard errors: {name}",
                got.mean
            );
            assert!(
                got.se <= most * law,
                "{name}: the {what}'s error is {:.2} %",
                got.se / law * 100.0
            );
            assert!(off.abs() < 5.0, "{name}: the {what} is {off} standard errors off");
            far += u32::from(off.abs() >= 3.0);
        }
    }
    assert!(
        far * 100 <= 2 * cases.len() as u32,
        "{far} are three standard errors off"
    );
}

/// Trains of a geometric number of packets before a line that takes D for each: M^[X]/D/1. A packet waits for the
/// trains before its own and for those before it in its train. The first is the wait of M/G/1 (Pollaczek and Khinchine)
/// whose service is a whole train: (rho / (m D)) E[(X D)^2] / (2 (1 - rho)) = rho D (2 m - 1) / (2 (1 - rho)), since a
/// geometric X of mean m has E[X^2] = 2 m^2 - m. The second is D E[X (X - 1)] / (2 m) = (m - 1) D.
#[test]
fn waiting_times_behind_trains() {
    let cases = [(1.0, 0.8), (5.0, 0.5), (5.0, 0.8), (20.0, 0.5)];
    let name = |(m, rho): (f64, f64)| format!("trains of {m} {rho}");
    let points: Vec<_> = cases
        .iter()
        .map(|case| {
            let (m, rho) = *case;
            let set = [
                "duration=305s".to_string(),
                "warmup=5s".to_string(),
                format!(
                    "flows.arrivals.traffic={{ kind = \"trains\", rate = \"{}bps\", mean_train = {m:?} }}",
                    LINE * rho
                ),
            ];
            point(&name(*case), &set)
        })
        .collect();
    let results = execute(&plan(SINGLE, &points, SEEDS));
    let links = &table(&results, "links");
    for case in cases {
        let (m, rho) = case;
        let each = MEAN * 8.0 / LINE;
        let formula = rho * each * (2.0 * m - 1.0) / (2.0 * (1.0 - rho)) + (m - 1.0) * each;
        let wait = sample(&values(
            links,
            "sojourn_mean_s",
            &[("point", &name(case)), ("name", "line")],
        ));
        println!(
            "{}: {:.3} us, formula {:.3}, half-width {:.3}",
            name(case),
            wait.mean * 1e6,
            formula * 1e6,
            wait.half * 1e6
        );
        assert!(wait.half < 0.02 * formula, "{}: too wide", name(case));
        let off = (wait.mean - formula) / wait.se;
        assert!(off.abs() < 3.0, "{}: {off} standard errors off", name(case));
    }
}

#[test]
fn poisson_arrivals_are_poisson() {
    let set = ["duration=20s", "interval=1ms", "link.line.rate=1Gbps"].map(String::from);
    let results = execute(&plan(SINGLE, &[point("counts", &set)], SEEDS));
    let counts = values(&table(&results, "intervals"), "sent_packets", &[]);
    assert_eq!(counts.len(), 20 * 20_000);
    let mean = 6.25;
    for together in [1, 10, 100] {
        let windows: Vec<f64> = counts.chunks(together).map(|c| c.iter().sum()).collect();
        let (n, m) = (windows.len() as f64, windows.iter().sum::<f64>() / windows.len() as f64);
        let covariance = |lag: usize| windows.windows(lag + 1).map(|w| (w[0] - m) * (w[lag] - m)).sum::<f64>() / n;
        // In standard errors: the mean, variance over mean, correlation of neighbours.
        let expected = mean * together as f64;
        let off = [
            (m - expected) / (expected / n).sqrt(),
            (covariance(0) / m - 1.0) / (2.0 / n).sqrt(),
            covariance(1) / covariance(0) * n.sqrt(),
        ];
        println!(
            "windows of {together} ms: mean {m:.3}, dispersion {:.4}, errors in SE {off:.2?}",
            covariance(0) / m
        );
        assert!(off.iter().all(|o| o.abs() < 3.0), "{off:?}");
    }
    // The counts against the probabilities; 17 and more together.
    let n = counts.len() as f64;
    let (mut p, mut rest, mut chi2) = ((-mean).exp(), 1.0, 0.0);
    for k in 0..=17 {
        let share = if k == 17 { rest } else { p };
        let seen = counts
            .iter()
            .filter(|c| if k == 17 { **c >= 17.0 } else { **c == f64::from(k) })
            .count() as f64;
        chi2 += (seen - n * share).powi(2) / (n * share);
        rest -= p;
        p *= mean / f64::from(k + 1);
    }
    println!("chi square {chi2:.1} at 17 degrees of freedom");
    assert!(chi2 < 17.0 + 3.0 * 34f64.sqrt());
}

const WINDOW: &str = r#"
duration = "600s"
[link.path]
from = "a"
to = "b"
rate = "1Gbps"
delay = "50ms"
queue = { kind = "droptail", buffer = "unlimited" }
impair = [{ kind = "every-nth", n = 100 }]
[flows.one]
transport = { kind = "tcp", delayed_ack = 1, ecn = "off", timestamps = false }
[record.window]
flows = "one"
probes = ["cwnd", "phase", "dupacks"]
on_change = true
"#;

/// One probe of the one flow: times and values.
fn series(t: &Table, point: &str, probe: &str) -> Vec<(f64, f64)> {
    let given = [("point", point), ("probe", probe)];
    values(t, "time_s", &given)
        .into_iter()
        .zip(values(t, "value", &given))
        .collect()
}

/// The value of a step function at `t`.
fn at(steps: &[(f64, f64)], t: f64) -> f64 {
    let i = steps.partition_point(|s| s.0 <= t);
    if i == 0 { 0.0 } else { steps[i - 1].1 }
}

/// The inflated window below was chosen after the plain ones had missed: it is a finding, not the spec's check met.
///
/// Spec tcp 5.6 asks for a mean window within 5 % of sqrt(3 N / 2), 12.2 at N = 100, but does not say which mean. One
/// mean is that near: the mean over ACKs of the window of RFC 5681, which duplicate ACKs inflate during fast recovery.
/// It is 11.98, and within 3 % at every N here (Reno and NewReno; SACK does not inflate). At N = 100 it is so near
/// because two errors cancel. First, a mean over ACKs weighs large windows more: for an ideal sawtooth from W / 2 to W
/// it is 7 / 9 W, to which it tends at large N. This is 3.7 % over the law's 3 / 4 W. Second, inflation fills in for
/// the rounds that the law leaves out.
///
/// Windows without inflation, and segments a round, are not within 5 % at N = 100, and cannot be. The law assumes that
/// a cycle consists of the rounds in which the window grows from h to 2 h, and that these carry all N segments. A real
/// cycle has 3 h (h + 1) / 2 segments in h + 1 such rounds, and 2 h + 2 more in two further rounds: one in which the
/// loss is detected, and one in which it is repaired. So N = 3 h (h + 1) / 2 + 2 h + 2 in h + 3 rounds. At N = 100 this
/// gives h = 7 and 10.0 segments a round, 18 % under the law; the mean over ACKs, the nearest of these means, is 7 %
/// under.
///
/// So this cycle is checked too, at four N that belong to a whole h. The law is checked where what it leaves out is
/// below its 5 %: from N = 345 for the mean over ACKs, from N = 1027 for the mean over the time outside recovery, from
/// N = 3060 for the mean over all the time and for the segments a round.
#[test]
fn the_window_under_periodic_loss() {
    let cases: Vec<(&str, u32)> = ["reno", "newreno", "sack"]
        .into_iter()
        .flat_map(|v| [100, 345, 1027, 3060].map(|n| (v, n)))
        .collect();
    let points: Vec<_> = cases
        .iter()
        .map(|(variant, n)| {
            let set = [
                format!("link.path.impair=[{{ kind = \"every-nth\", n = {n} }}]"),
                format!("flows.one.transport.variant={variant}"),
            ];
            point(&format!("{variant} {n}"), &set)
        })
        .collect();
    let results = execute(&plan(WINDOW, &points, 1));
    let t = &table(&results, "series");
    println!(
        "variant      N    law   a round (whole cycle)   mean window: of time, outside recovery, of ACKs (share of \
         the law)"
    );
    for (variant, n) in cases {
        let name = format!("{variant} {n}");
        let (cwnd, phase) = (series(t, &name, "cwnd"), series(t, &name, "phase"));
        assert!(phase.iter().all(|p| p.1 < 2.0), "{name}: a timeout");
        // Whole cycles, from one loss detected to another, the start left out.
        let found: Vec<f64> = phase
            .iter()
            .filter(|p| p.1 == 1.0)
            .map(|p| p.0)
            .filter(|t| *t > 20.0)
            .collect();
        let (from, to) = (found[0], found[found.len() - 1]);
        let rounds = (to - from) / 0.1;
        let per_round = (found.len() - 1) as f64 * f64::from(n) / rounds;
        let (mut time, mut open, mut open_for, mut acks) = (0.0, 0.0, 0.0, Vec::new());
        let mut changes: Vec<f64> = cwnd
            .iter()
            .chain(&phase)
            .map(|p| p.0)
            .filter(|t| *t > from && *t < to)
            .collect();
        changes.extend([from, to]);
        changes.sort_by(f64::total_cmp);
        for w in changes.windows(2) {
            let area = at(&cwnd, w[0]) * (w[1] - w[0]);
            time += area;
            if at(&phase, w[0]) == 0.0 {
                open += area;
                open_for += w[1] - w[0];
            }
        }
        // Outside recovery every ACK moves the window.
        acks.extend(
            cwnd.iter()
                .filter(|p| p.0 > from && p.0 < to && at(&phase, p.0) == 0.0)
                .map(|p| p.1),
        );
        // The window as RFC 5681 section 3.2 has it: in fast recovery a duplicate ACK adds a segment. Every ACK moves
        // this one, duplicates included.
        let dupacks = series(t, &name, "dupacks");
        let mut moves: Vec<f64> = cwnd
            .iter()
            .chain(&dupacks)
            .map(|p| p.0)
            .filter(|t| *t > from && *t < to)
            .collect();
        moves.sort_by(f64::total_cmp);
        moves.dedup();
        let inflated = |t: f64| at(&cwnd, t) + if at(&phase, t) == 1.0 { at(&dupacks, t) } else { 0.0 };
        let inflated = moves.iter().map(|t| inflated(*t)).sum::<f64>() / moves.len() as f64;
        let means = [
            time / (to - from),
            open / open_for,
            acks.iter().sum::<f64>() / acks.len() as f64,
        ];
        let law = (1.5 * f64::from(n)).sqrt();
        if variant != "sack" {
            println!("{variant:<8} {n:>5} {law:>6.2} {inflated:>8.2} RFC 5681 window, mean over ACKs");
            assert!((inflated / law - 1.0).abs() < 0.05, "{name}: {inflated} against {law}");
        }
        let h = (-3.5 + (12.25 - 6.0 * (2.0 - f64::from(n))).sqrt()) / 3.0;
        let cycle = f64::from(n) / (h + 3.0);
        println!(
            "{variant:<8} {n:>5} {law:>6.2} {per_round:>8.2} ({cycle:>6.2})          {:>6.2} {:>6.2} {:>6.2}   ({:.3} \
             {:.3} {:.3})",
            means[0],
            means[1],
            means[2],
            means[0] / law,
            means[1] / law,
            means[2] / law
        );
        assert!(
            (per_round / cycle - 1.0).abs() < 0.005,
            "{name}: {per_round} segments a round, the cycle has {cycle}"
        );
        let against = [(per_round, 3060), (means[0], 3060), (means[1], 1027), (means[2], 345)];
        for (mean, from) in against {
            assert!(
                n < from || (mean / law - 1.0).abs() < 0.05,
                "{name}: {mean} against {law}"
            );
        }
    }
}
