//! Variants can be told apart: for each pair of congestion controls a number from theory in which they differ, and do;
//! for loss recoveries one to four losses of a window.
//!
//! Each control is held against four numbers: what a single loss leaves of its window, what a single mark leaves, what
//! it gains in a round trip at a window of about 100, and what it keeps in a deep drop-tail buffer when alone. A pair
//! that is alike in one must differ in another by more than the tolerance of both. Slow start's end is told apart in
//! `controls.rs`.

use crate::common::*;
use tailback_sim::results::outcome::Outcome;

/// One bulk flow with SACK, an ACK for each segment of 1500 B on the wire, over a line that never queues: 1 Gb/s, 10
/// ms.
fn one(seconds: u32, impair: &str, tcp: &str) -> Outcome {
    run_text(&format!(
        "duration = \"{seconds}s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"5ms\"\n\
         queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\nimpair = [{impair}]\n\
         [flows.f]\nfrom = \"a\"\nto = \"b\"\ntcp = {{ delayed_ack = 1, {tcp} }}\n\
         [record.r]\nflows = \"f\"\nprobes = [\"cwnd\", \"phase\", \"goodput\"]\non_change = true\n"
    ))
}

fn series(o: &Outcome, probe: &str) -> Vec<(f64, f64)> {
    let t = &o["series"];
    let here = (0..t.rows()).filter(|i| text(t, "probe", *i) == probe);
    here.map(|i| (number(t, "time_s", i), number(t, "value", i))).collect()
}

/// The value of a step function at `t`.
fn at(steps: &[(f64, f64)], t: f64) -> f64 {
    let i = steps.partition_point(|s| s.0 <= t);
    if i == 0 { f64::NAN } else { steps[i - 1].1 }
}

const ROUND_TRIP: f64 = 0.010_012;
/// Where the windows of these runs begin.
const START: &str = "initial_window = \"100 packets\", initial_ssthresh = \"100 packets\"";

/// What a control does in four cases, as measured or as theory has it; NaN where nothing is said.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Share of the window that a loss, and that a mark leaves.
    loss: f64,
    mark: f64,
    /// Segments gained in a round trip.
    growth: f64,
    /// Packets in the queue, alone behind a deep buffer.
    queue: f64,
}

/// The window before and after what befalls packet 3000, some 25 round trips after the start.
fn window_around(control: &str, action: &str) -> (f64, f64, f64) {
    let impair = format!("{{ kind = \"by-index\", indices = [3000], action = \"{action}\" }}");
    let o = one(2, &impair, &format!("congestion = {control}, {START}"));
    let cwnd = series(&o, "cwnd");
    // The packet left in this round trip at the latest; its loss or mark is known in the next.
    let phase = series(&o, "phase");
    let found = if action == "drop" {
        phase.iter().find(|p| p.1 == 1.0).expect("a recovery").0
    } else {
        // The first fall of the window, if it falls at all.
        let fall = cwnd.windows(2).find(|w| w[1].1 < w[0].1 - 0.2);
        fall.map_or(0.3, |w| w[1].0)
    };
    let over = if action == "drop" {
        phase.iter().find(|p| p.0 > found && p.1 == 0.0).expect("its end").0
    } else {
        found + 1e-6
    };
    let before = at(&cwnd, found - 1e-6);
    let growth = (before - at(&cwnd, 0.1)) / ((found - 0.1) / ROUND_TRIP);
    (before, at(&cwnd, over), growth)
}

/// Packets in the queue of a line that holds 33, whose buffer holds 150. Slow start ends at 120 at the latest, since
/// the slow ones among the controls would take minutes from a halved overshoot up to there.
fn standing_queue(control: &str) -> f64 {
    let o = run_text(&format!(
        "duration = \"40s\"\nwarmup = \"10s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \
         \"20ms\"\n\
         queue = {{ kind = \"droptail\", buffer = \"150 packets\" }}\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n\
         tcp = {{ delayed_ack = 1, ecn = \"off\", congestion = {control}, initial_ssthresh = \"120 packets\" }}\n"
    ));
    of(&o["links"], "path", "mean_queue_packets")
}

/// Names, how a scenario says them, and what theory says: loss, mark and growth at a window of W, and whether they fill
/// a buffer.
///
/// Reno leaves a half (RFC 5681), 0.8 of a mark with the alternative backoff (RFC 8511); CUBIC 0.7 (RFC 9438), 0.85
/// with it; Vegas is Reno but for its queue of two to four (Brakmo and Peterson 1995); binomial controls lose 2/3 W^l
/// and gain W^-k (Bansal and Balakrishnan 2001); DCTCP gives up half of alpha, which has fallen from one by a sixteenth
/// a window (RFC 8257); Prague's alpha is zero before the first mark, and its growth is that of a round trip of 25 ms
/// (the draft); BBR heeds no loss.
fn expected() -> Vec<(&'static str, &'static str, fn(f64) -> Look)> {
    const fn look(loss: f64, mark: f64, growth: f64, queue: f64) -> Look {
        Look {
            loss,
            mark,
            growth,
            queue,
        }
    }
    const DEEP: f64 = f64::INFINITY;
    vec![
        ("reno", "\"reno\"", |_| look(0.5, 0.5, 1.0, DEEP)),
        ("reno, ABE", "{ kind = \"reno\", abe = true }", |_| {
            look(0.5, 0.8, 1.0, DEEP)
        }),
        ("cubic", "\"cubic\"", |_| look(0.7, 0.7, f64::NAN, DEEP)),
        ("cubic, ABE", "{ kind = \"cubic\", abe = true }", |_| {
            look(0.7, 0.85, f64::NAN, DEEP)
        }),
        ("vegas", "\"vegas\"", |_| look(0.5, 0.5, 1.0, 3.0)),
        ("sqrt", "{ kind = \"binomial\", law = \"sqrt\" }", |w| {
            let left = 1.0 - 2.0 / 3.0 / w.sqrt();
            look(left, left, 1.0 / w.sqrt(), DEEP)
        }),
        ("iiad", "{ kind = \"binomial\", law = \"iiad\" }", |w| {
            let left = 1.0 - 2.0 / 3.0 / w;
            look(left, left, 1.0 / w, DEEP)
        }),
        ("dctcp", "\"dctcp\"", |w| {
            // One segment a window, from 100: so many windows without a mark.
            let left = 1.0 - (15.0_f64 / 16.0).powf(w - 100.0) / 2.0;
            look(0.5, left, 1.0, DEEP)
        }),
        ("prague", "\"prague\"", |_| {
            look(0.5, 1.0, (ROUND_TRIP / 0.025).powi(2), DEEP)
        }),
        ("bbr", "\"bbr\"", |_| look(1.0, f64::NAN, f64::NAN, 4.0)),
    ]
}

fn measured(name: &str, control: &str) -> (Look, f64) {
    let (before, after, growth) = window_around(control, "drop");
    let (marked_before, marked_after, _) = window_around(control, "mark");
    // Its window follows its own estimate of the path, and it does not answer echoes.
    let paced = name == "bbr";
    let m = Look {
        loss: after / before,
        mark: if paced { f64::NAN } else { marked_after / marked_before },
        growth: if paced { f64::NAN } else { growth },
        queue: standing_queue(control),
    };
    (m, before)
}

#[test]
fn congestion_controls_by_four_numbers() {
    println!("control       window   loss leaves     mark leaves     a round trip gains   queue alone");
    let mut looks = vec![];
    for (name, control, theory) in expected() {
        let (m, before) = measured(name, control);
        let t = theory(before);
        println!(
            "{name:12} {before:7.1}   {:.3} ({:.3})   {:.3} ({:.3})   {:7.3} ({:.3})   {:7.1} ({})",
            m.loss, t.loss, m.mark, t.mark, m.growth, t.growth, m.queue, t.queue
        );
        looks.push((name, m, t));
    }
    for (name, m, t) in &looks {
        let close = |what: &str, x: f64, right: f64, tolerance: f64| {
            assert!(
                x.is_nan() || right.is_nan() || (x - right).abs() <= tolerance,
                "{name}: {what} {x}, theory {right}"
            );
        };
        close("loss", m.loss, t.loss, 0.015);
        close("mark", m.mark, t.mark, 0.015);
        close("growth", m.growth, t.growth, 0.1 * t.growth + 0.003);
        assert_eq!(m.queue > 30.0, t.queue.is_infinite(), "{name}: a queue of {}", m.queue);
    }
    for (i, (a, x, _)) in looks.iter().enumerate() {
        for (b, y, _) in &looks[i + 1..] {
            // Twice the tolerances above.
            let apart = (x.loss - y.loss).abs() > 0.03
                || (x.mark - y.mark).abs() > 0.03
                || (x.growth / y.growth).ln().abs() > 0.2
                || (x.queue > 30.0) != (y.queue > 30.0);
            assert!(apart, "{a} and {b} look alike: {x:?} {y:?}");
        }
    }
}

/// One to four losses in a window of 20. Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP",
/// 1996: with one all but Tahoe do the same; Tahoe starts again from one segment, and sends again what has arrived;
/// Reno halves for each of two and waits for its timer at three; NewReno repairs one in a round trip; SACK all in one.
#[test]
fn recoveries_by_one_to_four_losses() {
    println!(
        "losses   recovery   repeats  timeouts  reductions  least window  round trips until the window is delivered"
    );
    for lost in [&[6][..], &[6, 9], &[6, 9, 12], &[6, 8, 10, 12]] {
        let k = lost.len() as f64;
        let mut seen = vec![];
        for variant in ["tahoe", "reno", "newreno", "sack"] {
            let impair = format!("{{ kind = \"by-index\", indices = {lost:?} }}");
            let start = "initial_window = \"20 packets\", initial_ssthresh = \"20 packets\"";
            let tcp = format!(
                "variant = \"{variant}\", {start}, ecn = \"off\", timestamps = false, partial_ack_timer = \
                 \"slow_but_steady\""
            );
            let o = one(3, &impair, &tcp);
            let phase = series(&o, "phase");
            let cwnd = series(&o, "cwnd");
            let goodput = series(&o, "goodput");
            let found = phase.iter().find(|p| p.1 > 0.0).map_or(2.0 * ROUND_TRIP, |p| p.0);
            let whole = goodput.iter().find(|p| p.1 >= 20.0 * 1460.0).expect("the window").0;
            let round_trips = (whole - found) / ROUND_TRIP;
            let count = |column: &str| number(&o["flows"], column, 0);
            let (repeats, timeouts) = (count("retransmitted_packets"), count("timeouts"));
            let reductions = count("fast_retransmits") + timeouts;
            let after = cwnd.iter().filter(|p| p.0 > found && p.0 < whole + 1.0);
            let least = after.map(|p| p.1).fold(f64::MAX, f64::min);
            println!("{k}   {variant:8}   {repeats}   {timeouts}   {reductions}   {least:.1}   {round_trips:.2}");
            let right = match variant {
                "tahoe" => least == 1.0 && timeouts == 0.0 && reductions == 1.0 && (repeats > k) == (k > 1.0),
                "reno" if k < 3.0 => timeouts == 0.0 && reductions == k && repeats == k && least >= 10.0,
                "reno" => timeouts == 1.0 && least == 1.0 && round_trips > 90.0,
                "newreno" | "sack" => timeouts == 0.0 && reductions == 1.0 && repeats == k && least >= 10.0,
                _ => unreachable!("{variant}"),
            };
            assert!(right, "{variant} after {k} losses");
            match variant {
                "newreno" => near(round_trips, k - 0.5, 0.05),
                "sack" => assert!(round_trips < 1.55, "{round_trips}"),
                _ => {}
            }
            seen.push((
                variant,
                repeats,
                reductions,
                least.min(2.0),
                (round_trips * 2.0).round(),
            ));
        }
        for (i, a) in seen.iter().enumerate() {
            for b in &seen[i + 1..] {
                let alike = (a.1, a.2, a.3, a.4) == (b.1, b.2, b.3, b.4);
                let one_loss_all_but_tahoe = k == 1.0 && a.0 != "tahoe";
                assert_eq!(alike, one_loss_all_but_tahoe, "{k} losses: {a:?} {b:?}");
            }
        }
    }
}
