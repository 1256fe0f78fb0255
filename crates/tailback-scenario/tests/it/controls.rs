//! Congestion controls over whole paths: closed forms, and what must tell one from another.
//!
//! Each control's rules are tested by hand beside it (`tcp/congestion`). Here they drive a sender with SACK over a
//! link, and what comes out is held against what theory says of a flow alone, or of two.

use crate::common::*;
use tailback_sim::results::outcome::Outcome;

/// One bulk flow, an ACK for each segment of 1500 B on the wire. `link` and `flow` are keys of the two tables.
fn one(seconds: u32, link: &str, congestion: &str, flow: &str, probes: &str) -> Outcome {
    run_text(&format!(
        "duration = \"{seconds}s\"\nwarmup = \"{}s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\n{link}\n\
         [flows.f]\nfrom = \"a\"\nto = \"b\"\ntcp = {{ delayed_ack = 1, congestion = {congestion}, {flow} }}\n\
         [record.r]\nflows = \"f\"\nprobes = [{probes}]\non_change = true\n",
        if seconds < 10 { 0 } else { seconds / 6 }
    ))
}

/// Two groups of flows over one link.
fn two(seconds: u32, link: &str, first: &str, second: &str) -> Outcome {
    run_text(&format!(
        "duration = \"{seconds}s\"\nwarmup = \"{}s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\n{link}\n\
         [flows.first]\nfrom = \"a\"\nto = \"b\"\ntcp = {{ {first} }}\n\
         [flows.second]\nfrom = \"a\"\nto = \"b\"\nstart = \"0.3s\"\ntcp = {{ {second} }}\n",
        seconds / 6
    ))
}

/// A recorded quantity: times and values.
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

/// Its mean over time.
fn mean(steps: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let mut times: Vec<f64> = steps.iter().map(|s| s.0).filter(|t| *t > from && *t < to).collect();
    times.insert(0, from);
    times.push(to);
    times.windows(2).map(|w| at(steps, w[0]) * (w[1] - w[0])).sum::<f64>() / (to - from)
}

fn utilisation(o: &Outcome) -> f64 {
    of(&o["links"], "path", "utilisation")
}

fn queue(o: &Outcome) -> f64 {
    of(&o["links"], "path", "mean_queue_packets")
}

fn drops(o: &Outcome) -> f64 {
    lost(o, "path", "overflow")
}

/// Goodput of the first flow of a group, bit/s.
fn goodput(o: &Outcome, group: &str) -> f64 {
    let flows = &o["flows"];
    number(flows, "goodput_bps", row(flows, "group", group))
}

fn reductions(o: &Outcome) -> f64 {
    number(&o["flows"], "ecn_reductions", 0)
}

fn drop_tail(rate: &str, delay: &str, buffer: u32) -> String {
    format!("rate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {{ kind = \"droptail\", buffer = \"{buffer} packets\" }}")
}

/// A queue that marks every packet which finds `k` others.
fn step_marker(rate: &str, delay: &str, k: u32) -> String {
    format!(
        "rate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {{ kind = \"red\", buffer = \"1000 packets\", ecn = true, \
         weight = 1, \
         min_threshold = \"{k} packets\", max_threshold = \"{k} packets\", gentle = false, mark_above_max = true, \
         mark_cap = 1, wait = false }}"
    )
}

/// The line holds 108 segments, so that ACKs come evenly and nothing queues.
///
/// RFC 9438: after a loss at a window of W, K = cbrt(0.3 W / 0.4); W is reached again K after the recovery.
#[test]
fn cubic_is_back_after_k() {
    let link = format!(
        "{}\nimpair = [{{ kind = \"by-index\", indices = [500] }}]",
        drop_tail("13Mbps", "49.5ms", 1000)
    );
    let start = "initial_window = \"100 packets\", initial_ssthresh = \"100 packets\"";
    let o = one(20, &link, "\"cubic\"", start, "\"cwnd\", \"phase\", \"k\", \"w_max\"");
    let (cwnd, phase) = (series(&o, "cwnd"), series(&o, "phase"));
    let lost = phase.iter().find(|p| p.1 == 1.0).expect("a loss").0;
    let repaired = phase.iter().find(|p| p.0 > lost && p.1 == 0.0).expect("a repair").0;
    let before = at(&cwnd, lost - 1e-6);
    let after = at(&cwnd, repaired);
    let k = ((before - after) / 0.4).cbrt();
    let reaches = |window: f64| cwnd.iter().find(|p| p.0 > repaired && p.1 >= window).expect("there").0 - repaired;
    let (half, beyond) = (reaches(before - (before - after) / 8.0), reaches(before + 0.4));
    println!(
        "loss at {before:.2} leaves {after:.2}; K {k:.3} s; at K / 2 after {half:.3} s, 0.4 beyond after {beyond:.3} s"
    );
    near(before, 105.0, 1.0);
    // What is outstanding is reduced: a segment less than the window.
    near(after / before, 0.7, 0.01);
    near(at(&series(&o, "k"), repaired + 0.5), k, 0.005);
    // A round trip is 0.1 s; the window follows its target within it.
    near(half, k / 2.0, 0.05);
    near(beyond, k + 1.0, 0.1);
}

/// Periodic loss of one packet in N over a line that never queues: segments a round trip are sqrt(a / (b p)) for the
/// laws with k + l = 1; a loss takes b W^l of the window.
#[test]
fn binomial_windows_under_periodic_loss() {
    println!("law    N    segments a round trip: ours, sqrt(1.5 N); peak, and what a loss takes");
    for (law, n, mean_window) in [("iiad", 587_u32, 29.67), ("sqrt", 547, 28.19)] {
        let link = format!(
            "{}\nimpair = [{{ kind = \"every-nth\", n = {n} }}]",
            drop_tail("1Gbps", "50ms", 1000)
        );
        let congestion = format!("{{ kind = \"binomial\", law = \"{law}\" }}");
        // Where the cycle would be: additive steps take long to come there.
        let start = "initial_window = \"29 packets\", initial_ssthresh = \"29 packets\"";
        let o = one(600, &link, &congestion, start, "\"cwnd\", \"phase\"");
        let (cwnd, phase) = (series(&o, "cwnd"), series(&o, "phase"));
        let found: Vec<f64> = phase
            .iter()
            .filter(|p| p.1 == 1.0 && p.0 > 100.0)
            .map(|p| p.0)
            .collect();
        let cycles = (found.len() - 1) as f64;
        let rounds = (found[found.len() - 1] - found[0]) / 0.1;
        let a_round = cycles * f64::from(n) / rounds;
        let peak = found.iter().map(|t| at(&cwnd, t - 1e-6)).sum::<f64>() / found.len() as f64;
        let left = found.iter().map(|t| at(&cwnd, t + 1e-6)).sum::<f64>() / found.len() as f64;
        let law_of = (1.5 * f64::from(n)).sqrt();
        println!("{law}  {n}  {a_round:.2} {law_of:.2}; {peak:.2}, {:.3}", peak - left);
        // In the round trip or two of a cycle in which the loss is repaired nothing grows.
        let share = a_round / mean_window;
        assert!((0.93..1.0).contains(&share), "{law}: {share}");
        let taken = if law == "iiad" {
            2.0 / 3.0
        } else {
            2.0 / 3.0 * peak.sqrt()
        };
        near(peak - left, taken, 0.4);
    }
}

/// Reno halves where inverse increase takes two thirds of a segment: under the same losses the windows' spread differs.
#[test]
fn a_binomial_window_is_smoother_than_renos() {
    let link = format!(
        "{}\nimpair = [{{ kind = \"every-nth\", n = 500 }}]",
        drop_tail("1Gbps", "50ms", 1000)
    );
    let spread = |congestion: &str| {
        let start = "initial_window = \"25 packets\", initial_ssthresh = \"25 packets\"";
        let o = one(300, &link, congestion, start, "\"cwnd\"");
        let cwnd = series(&o, "cwnd");
        let m = mean(&cwnd, 60.0, 300.0);
        let squares: Vec<(f64, f64)> = cwnd.iter().map(|(t, w)| (*t, (w - m) * (w - m))).collect();
        (m, mean(&squares, 60.0, 300.0).sqrt())
    };
    let [reno, sqrt, iiad] = [
        "\"reno\"",
        "{ kind = \"binomial\", law = \"sqrt\" }",
        "{ kind = \"binomial\", law = \"iiad\" }",
    ]
    .map(spread);
    println!("mean window and its deviation: reno {reno:.2?}, sqrt {sqrt:.2?}, iiad {iiad:.2?}");
    assert!(iiad.1 < 0.3 * sqrt.1 && sqrt.1 < 0.5 * reno.1);
    assert!((iiad.0 / reno.0 - 1.0).abs() < 0.35);
}

/// M. Alizadeh and others 2011, equation 6: with W* segments when marking begins, alpha^2 (1 - alpha / 4) = (2 W* + 1)
/// / (W* + 1)^2 for a single flow. Nothing is lost, and the queue stays at the threshold.
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    let k = 20;
    let o = one(
        12,
        &step_marker("1Gbps", "0.5ms", k),
        "\"dctcp\"",
        "",
        "\"alpha\", \"cwnd\"",
    );
    let at_marking = 1e9 * 1.012e-3 / 12_000.0 + f64::from(k);
    let right = (2.0 * at_marking + 1.0) / (at_marking + 1.0).powi(2);
    let alpha_of = (1..1000)
        .map(|i| f64::from(i) / 1000.0)
        .find(|a| a * a * (1.0 - a / 4.0) >= right)
        .expect("a root");
    let alpha = mean(&series(&o, "alpha"), 2.0, 12.0);
    println!(
        "alpha {alpha:.4}, theory {alpha_of:.4}; queue {:.1} of threshold {k}, utilisation {:.4}",
        queue(&o),
        utilisation(&o)
    );
    assert_eq!(drops(&o), 0.0);
    near(alpha / alpha_of, 1.0, 0.15);
    near(queue(&o), f64::from(k) - 3.0, 5.0);
    assert!(utilisation(&o) > 0.999);
    assert!(reductions(&o) > 500.0, "{} reductions", reductions(&o));
}

/// At a step marker Reno halves for each mark and empties the queue; DCTCP gives up by what is marked.
#[test]
fn dctcp_and_reno_differ_at_a_step_marker() {
    let link = step_marker("100Mbps", "2ms", 6);
    let [dctcp, reno] = ["\"dctcp\"", "\"reno\""].map(|c| utilisation(&one(30, &link, c, "", "\"cwnd\"")));
    println!("utilisation: dctcp {dctcp:.4}, reno {reno:.4}");
    assert!(dctcp > 0.99 && reno < 0.95);
}

/// Over a long fat path with random losses CUBIC's time to its last window does not grow with the round trip; over a
/// short path both do the same.
#[test]
fn cubic_and_reno_differ_over_a_long_fat_path() {
    let both = |delay: &str, probability: f64| {
        let link = format!(
            "{}\nimpair = [{{ kind = \"random\", probability = {probability} }}]",
            drop_tail("1Gbps", delay, 5000)
        );
        ["\"cubic\"", "\"reno\""].map(|c| {
            let o = one(120, &link, c, "", "\"w_max\"".replace("w_max", "ssthresh").as_str());
            goodput(&o, "f") / 1e6
        })
    };
    let [cubic, reno] = both("50ms", 1e-4);
    let [cubic_near, reno_near] = both("2ms", 3e-3);
    println!("Mb/s: 100 ms {cubic:.1} against {reno:.1}; 4 ms {cubic_near:.1} against {reno_near:.1}");
    assert!(cubic > 1.5 * reno);
    near(cubic_near / reno_near, 1.0, 0.3);
}

/// A Vegas flow alone fills the line with a few segments queued, and loses nothing; Reno fills the buffer.
#[test]
fn vegas_keeps_two_to_four_queued_where_reno_fills_the_buffer() {
    let link = drop_tail("10Mbps", "20ms", 100);
    let vegas = one(60, &link, "\"vegas\"", "", "\"queued\", \"cwnd\"");
    let reno = one(60, &link, "\"reno\"", "", "\"cwnd\"");
    let queued = series(&vegas, "queued");
    let settled: Vec<f64> = queued.iter().filter(|q| q.0 > 3.0).map(|q| q.1).collect();
    println!(
        "vegas: window {:.1}, queue {:.2}, judged {settled:?}; reno's queue {:.1}",
        mean(&series(&vegas, "cwnd"), 10.0, 60.0),
        queue(&vegas),
        queue(&reno)
    );
    let last = at(&queued, 60.0);
    assert!((2.0..=4.0).contains(&last) && drops(&vegas) == 0.0 && utilisation(&vegas) > 0.999);
    // Slow start leaves a few more, which go one a round trip.
    assert!(settled.windows(2).all(|w| w[1] < w[0]), "{settled:?}");
    assert!(queue(&reno) > 10.0 * queue(&vegas));
}

/// Beside Reno, Vegas gives way.
#[test]
fn vegas_gives_way_to_reno() {
    let o = two(
        120,
        &drop_tail("10Mbps", "20ms", 100),
        "congestion = \"vegas\"",
        "congestion = \"reno\"",
    );
    let share = goodput(&o, "first") / (goodput(&o, "first") + goodput(&o, "second"));
    println!("Vegas has {share:.3} of the line");
    assert!(share < 0.25);
}

/// RFC 8511: an echo leaves 0.8 of the window instead of half, so that a marking queue as short as this keeps the line
/// busier.
#[test]
fn an_alternative_backoff_keeps_the_line_busier() {
    let link = step_marker("10Mbps", "20ms", 6);
    let [usual, abe] = ["\"reno\"", "{ kind = \"reno\", abe = true }"].map(|c| {
        let o = one(60, &link, c, "", "\"cwnd\"");
        (utilisation(&o), reductions(&o))
    });
    println!("utilisation and reductions: halving {usual:.4?}, 0.8 {abe:.4?}");
    assert!(abe.0 > usual.0 + 0.05 && abe.1 > 1.5 * usual.1);
}

/// RFC 9406: the path holds 67 segments. The round that begins with 80 finds a queue, which shows in the next, at 160;
/// five careful rounds after the eighth sample slow start ends at up to 168 * 1.25^5 = 512, and nothing is lost.
/// Without it the buffer of 600 overflows at 667.
#[test]
fn hystart_ends_slow_start_before_the_buffer_does() {
    let link = drop_tail("10Mbps", "40ms", 600);
    for kind in ["reno", "cubic"] {
        let lost = |hystart: bool| {
            let congestion = format!("{{ kind = \"{kind}\", hystart = {hystart} }}");
            let o = one(6, &link, &congestion, "", "\"cwnd\", \"ssthresh\"");
            let end = series(&o, "ssthresh")
                .iter()
                .find(|s| s.1.is_finite())
                .map_or(f64::NAN, |s| s.1);
            (drops(&o), end)
        };
        let (usual, watched) = (lost(false), lost(true));
        println!("{kind}: lost and first threshold: slow start {usual:.1?}, HyStart++ {watched:.1?}");
        assert!(usual.0 > 100.0 && watched.0 == 0.0);
        assert!((160.0..512.7).contains(&watched.1));
    }
}

const BBR_PATH: (&str, &str) = ("20Mbps", "19.692ms");

/// 20 Mb/s, a round trip of 40 ms with the packet's own time: 66.67 segments. IW 10 fills the path in round 4; Startup
/// ends at the beginning of round 8 with up to 1.885 products and three segments queued; Drain takes 1.885 / (1 -
/// 0.3466) = 2.885 round trips; then 135 segments may be outstanding: the handshake measured the round trip with 40 B,
/// 39.416 ms. From the first measurement with full segments on it is 40 ms, and 137.
#[test]
fn bbr_finds_the_path() {
    let link = drop_tail(BBR_PATH.0, BBR_PATH.1, 1000);
    let probes = "\"cwnd\", \"mode\", \"round\", \"bottleneck_rate\", \"min_rtt\", \"outstanding\"";
    let o = one(8, &link, "\"bbr\"", "ecn = \"off\"", probes);
    let (mode, round, cwnd) = (series(&o, "mode"), series(&o, "round"), series(&o, "cwnd"));
    let when = |m: f64| mode.iter().find(|p| p.1 == m).expect("the mode").0;
    let (drain, probe) = (when(1.0), when(2.0));
    let rate = at(&series(&o, "bottleneck_rate"), 5.0) * 1500.0 / 1460.0;
    let rtt = at(&series(&o, "min_rtt"), 5.0);
    let most = series(&o, "outstanding")
        .iter()
        .map(|p| p.1 / 1460.0)
        .fold(0.0, f64::max);
    println!(
        "Startup ends in round {}, at most {most:.0} outstanding; Drain {:.2} round trips; then {:.1}, {rate:.0} \
         bit/s, {rtt:.6} s",
        at(&round, drain),
        (probe - drain) / 0.04,
        at(&cwnd, 5.0)
    );
    near(rtt, 0.039_416, 0.000_01);
    near(rate / 20e6, 1.0, 0.005);
    assert_eq!(at(&cwnd, 5.0), 135.0);
    near(at(&round, drain), 8.0, 1.0);
    near(most - 66.7, 129.0, 6.0);
    near((probe - drain) / 0.04, 2.885, 0.5);
}

/// The cycle of ProbeBW puts a quarter of a product into the queue once in eight round trips; ProbeRTT costs 2.1 to 2.2
/// %.
#[test]
fn bbr_pays_two_percent_for_the_round_trip() {
    let link = drop_tail(BBR_PATH.0, BBR_PATH.1, 1000);
    let o = one(
        66,
        &link,
        "\"bbr\"",
        "ecn = \"off\"",
        "\"mode\", \"outstanding\", \"cwnd\"",
    );
    let mode = series(&o, "mode");
    let entered: Vec<f64> = mode.iter().filter(|p| p.1 == 3.0).map(|p| p.0).collect();
    let gaps: Vec<f64> = entered.windows(2).map(|w| w[1] - w[0]).collect();
    let (from, to) = (entered[0], entered[entered.len() - 1]);
    let outstanding: Vec<f64> = series(&o, "outstanding")
        .iter()
        .filter(|p| p.0 > from + 1.0 && p.0 < from + 9.0)
        .map(|p| p.1 / 1460.0)
        .collect();
    let most = outstanding.iter().copied().fold(0.0, f64::max);
    println!(
        "ProbeRTT every {gaps:.2?} s, {:.2} s to {to:.2}; utilisation {:.4}; at most {most:.0} outstanding; queue \
         {:.2}",
        from,
        utilisation(&o),
        queue(&o)
    );
    for gap in gaps {
        assert!((10.2..10.65).contains(&gap), "{gap}");
    }
    assert_eq!(at(&series(&o, "cwnd"), from + 9.0), 137.0);
    near(utilisation(&o), 0.9785, 0.003);
    near(most, 87.0, 3.0);
}

/// At a shallow buffer CUBIC's losses make it give way, and BBR does not heed them.
#[test]
fn bbr_takes_the_line_from_cubic_at_a_shallow_buffer() {
    let link = drop_tail("20Mbps", "20ms", 17);
    let o = two(
        60,
        &link,
        "congestion = \"bbr\", ecn = \"off\"",
        "congestion = \"cubic\"",
    );
    let share = goodput(&o, "first") / (goodput(&o, "first") + goodput(&o, "second"));
    println!("BBR has {share:.3} of the line");
    assert!(share > 0.7);
}

/// One percent of random losses: BBR keeps the line busy, CUBIC does not.
#[test]
fn bbr_does_not_heed_random_losses() {
    let link = format!(
        "{}\nimpair = [{{ kind = \"random\", probability = 0.01 }}]",
        drop_tail("20Mbps", "20ms", 100)
    );
    let [bbr, cubic] = ["\"bbr\"", "\"cubic\""].map(|c| utilisation(&one(40, &link, c, "ecn = \"off\"", "\"cwnd\"")));
    println!("utilisation: bbr {bbr:.3}, cubic {cubic:.3}");
    assert!(bbr > 0.9 && cubic < 0.5);
}

/// Writes of five segments, the next 60 ms after all are acknowledged: the samples are limited by the application, and
/// the estimate stays what a burst showed.
#[test]
fn bbr_keeps_its_estimate_while_the_application_rests() {
    let o = run_text(
        "duration = \"20s\"\n[link.path]\nfrom = \"a\"\nto = \"b\"\nrate = \"20Mbps\"\ndelay = \"20ms\"\n\
         queue = { kind = \"droptail\", buffer = \"100 packets\" }\n\
         [flows.f]\nfrom = \"a\"\nto = \"b\"\ntcp = { delayed_ack = 1, congestion = \"bbr\", ecn = \"off\" }\n\
         traffic = { kind = \"bursts\", size = \"7300B\", mean_think = \"60ms\", distribution = \"constant\" }\n\
         [record.r]\nflows = \"f\"\nprobes = [\"bottleneck_rate\", \"mode\"]\non_change = true\n",
    );
    let rate = series(&o, "bottleneck_rate");
    println!("{} changes of the rate, last {:.0}", rate.len(), at(&rate, 20.0));
    let mut last = 0.0;
    for (t, r) in rate.iter().filter(|p| p.1.is_finite()) {
        assert!(*r >= last, "{r} after {last} at {t}");
        last = *r;
    }
    assert!(last > 0.0 && last < 20e6);
}

/// Each packet marked with probability p: a reduction every virtual round trip and the wait for a mark, m marks in
/// each, m = (1 - p) + sqrt((1 - p)^2 + 2 (1 - p)); the rate is m / p packets a virtual round trip of 25 ms, whatever
/// the real one below it, and half of that at 50 ms.
#[test]
fn pragues_rate_goes_by_the_virtual_round_trip() {
    println!("p     round trip  Mb/s: ours, theory");
    for (p, delay_ms, rtt) in [
        (0.1, 5.0, 0.010),
        (0.1, 12.0, 0.024),
        (0.1, 25.0, 0.050),
        (0.01, 5.0, 0.010),
        (0.01, 12.0, 0.024),
    ] {
        let link = format!(
            "{}\nimpair = [{{ kind = \"random\", probability = {p}, action = \"mark\" }}]",
            drop_tail("1Gbps", &format!("{delay_ms}ms"), 5000)
        );
        let o = one(240, &link, "\"prague\"", "", "\"alpha\"");
        let q: f64 = 1.0 - p;
        let marks = q + (q * q + 2.0 * q).sqrt();
        let theory = marks / p * 12_000.0 / f64::max(rtt, 0.025) / 1e6;
        let ours = goodput(&o, "f") * 1500.0 / 1460.0 / 1e6;
        println!("{p:<5} {rtt:<10} {ours:>8.2} {theory:>8.2}");
        near(ours / theory, 1.0, 0.05);
    }
}

/// A queue that marks from a few packets on: a Prague flow gives up little at each mark, keeps the line busy, and the
/// queue short; a mark of ECT(1) packets is counted.
#[test]
fn prague_keeps_a_short_queue() {
    let [prague, reno] = ["\"prague\"", "\"reno\""].map(|c| {
        let o = one(30, &step_marker("50Mbps", "10ms", 10), c, "", "\"cwnd\"");
        (utilisation(&o), queue(&o), reductions(&o))
    });
    println!("utilisation, queue, reductions: prague {prague:.3?}, reno {reno:.3?}");
    assert!(prague.0 > 0.99 && prague.1 < 12.0 && reno.0 < 0.9);
    assert!(prague.2 > 4.0 * reno.2);
}

/// SEARCH on three paths with a queue without bound and an ACK for each packet: slow start ends in the bin of 0.35
/// round trips, or the next, and at the window, to 5 %, of a packet-level calculation that shares no code with this
/// one; the round trip is then 2.8 to 3 times that of the path. At 100 ms the calculation has a tie: the missing share
/// is 0.2600 at 0.981 s and 5.66 products, and 0.308 a bin later, at 1.016 s and 6.05 products.
#[test]
fn search_ends_slow_start_when_deliveries_fall_behind() {
    for (rate, ms, seconds, products) in [
        (20.0, 40.0, 0.339, 5.64),
        (100.0, 40.0, 0.433, 5.74),
        (20.0, 100.0, 0.981, 5.66),
    ] {
        for control in ["reno", "cubic"] {
            let link = drop_tail(&format!("{rate}Mbps"), &format!("{}ms", ms / 2.0), 100_000);
            let run = || {
                let congestion = format!("{{ kind = \"{control}\", search = true }}");
                let o = one(
                    3,
                    &link,
                    &congestion,
                    "ecn = \"off\"",
                    "\"cwnd\", \"ssthresh\", \"outstanding\"",
                );
                let end = series(&o, "ssthresh")
                    .iter()
                    .find(|s| s.1.is_finite())
                    .expect("an end")
                    .0;
                (end, at(&series(&o, "cwnd"), end), series(&o, "outstanding"))
            };
            let (end, window, outstanding) = run();
            // A segment that is acknowledged at `end` left when so much had been sent.
            let packet = 12_000.0 / (rate * 1e6);
            let path = ms / 1e3 + packet;
            let product = path / packet;
            let bin = 0.35 * path;
            let late = end - path - seconds;
            let round_trip = at(&outstanding, end - 1e-9) / 1460.0 / 2.0 * packet;
            println!(
                "{rate} Mb/s, {ms} ms, {control}: {:.3} s ({seconds}), {:.2} products ({products}), round trip {:.2}",
                end - path,
                window / product,
                round_trip / path
            );
            assert!((-0.1 * bin..=2.0 * bin).contains(&late), "{late} s later");
            near(window / product / products, 1.0, 0.05);
        }
    }
}
