//! The sources of the REAL simulator over a network: closed loops that can be worked out by hand, the workloads of the
//! benchmark suite (spec section 3), and the columns of its tables (section 5).

use crate::common::*;
use tailback_sim::results::{Outcome, Table};

/// Hosts on lines of 100 packets a second, one line of 10 behind them, the sinks at its far end.
fn suite(seconds: u32, buffer: u32, queue: &str, flows: &str) -> Outcome {
    run_text(&format!(
        "duration = \"{seconds}s\"\nmarking = true\ninterval = \"100s\"\n[link.slow]\nfrom = \"X\"\nto = \"K\"\nrate \
         = \"80kbps\"\n\
         delay = \"0s\"\nqueue = {{ kind = \"{queue}\", buffer = \"{buffer} packets\" }}\n\
         reverse_queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n{flows}"
    ))
}

fn ftp(count: u32, source: &str) -> String {
    format!("[flows.ftp]\ncount = {count}\naccess_rate = \"800kbps\"\ntransport = {{ {source} }}\n")
}

fn telnet(count: u32, source: &str) -> String {
    format!(
        "[flows.telnet]\ncount = {count}\naccess_rate = \"800kbps\"\npacket_size = \"40B\"\n\
         traffic = {{ kind = \"poisson\", rate = \"64bps\" }}\ntransport = {{ kind = \"{source}\" }}\n"
    )
}

/// A column of the rows of one flow in the table of intervals, the first left out.
fn later(t: &Table, flow: &str, column: &str) -> Vec<f64> {
    let ids = (0..t.rows()).filter(|i| t.row_json(*i)["id"] == flow);
    ids.skip(1).map(|i| number(t, column, i)).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn assert_near(what: &str, got: f64, want: f64, within: f64) {
    assert!((got - want).abs() <= within, "{what}: {got}, not {want}");
}

/// Ten packets circulate at ten a second. A terminal's keystroke takes 0.0088 s beside its wait: behind ten packets
/// less the one that is in part on the line and the one under way, 0.95 s; or half of the packet on the line, 0.06 s.
#[test]
fn two_windows_of_five_share_a_line_of_ten_a_second() {
    for (source, queue, keystroke) in [
        ("generic", "droptail", 0.945),
        ("generic", "fq", 0.0588),
        ("jacobson-karels", "droptail", 0.945),
        ("jacobson-karels", "fq", 0.0588),
    ] {
        let flows = ftp(2, &format!("kind = \"{source}\", wmax = 5")) + &telnet(2, source);
        let o = suite(1500, 40, queue, &flows);
        for flow in ["ftp.0", "ftp.1"] {
            let what = format!("{source} {queue} {flow}");
            assert_near(
                &what,
                mean(&later(&o["intervals"], flow, "fresh_packets")) / 100.0,
                4.99,
                0.02,
            );
            assert_near(&what, mean(&later(&o["intervals"], flow, "rtt_mean_s")), 1.0, 0.02);
            assert_near(&what, of(&o["flows"], flow, "dropped_packets"), 0.0, 0.0);
            assert_near(&what, of(&o["flows"], flow, "retransmitted_packets"), 0.0, 0.0);
        }
        let rtt = mean(&later(&o["intervals"], "telnet.0", "rtt_mean_s"));
        assert_near(&format!("{source} {queue} telnet"), rtt, keystroke, 0.01);
    }
}

/// The bit holds both windows at one: two packets circulate. Where the threshold is above both windows there is no bit.
#[test]
fn the_congestion_bit_holds_a_window() {
    let sources = ftp(2, "kind = \"decbit\", wmax = 5");
    let o = suite(600, 40, "decsel", &sources);
    assert_near("decsel", of(&o["flows"], "ftp.0", "rtt_mean_s"), 0.2, 0.02);
    assert!(of(&o["flows"], "ftp.0", "marked_packets") > 1000.0);
    let o = suite(600, 40, "fqbit", &sources);
    assert_near("fqbit", mean(&later(&o["intervals"], "ftp.0", "rtt_mean_s")), 1.0, 0.02);
    // At 24 places one third of a half is 4 packets: the fifth is marked, and windows go from 4 to 5 and back.
    let o = suite(600, 24, "fqbit", &sources);
    let rtt = mean(&later(&o["intervals"], "ftp.0", "rtt_mean_s"));
    assert!(rtt > 0.8 && rtt < 0.98, "{rtt}");
    // Sources that do not heed it are not marked.
    let o = suite(100, 24, "fqbit", &ftp(2, "kind = \"generic\""));
    assert_near("generic", of(&o["flows"], "ftp.0", "marked_packets"), 0.0, 0.0);
}

/// Each sees half of the line in its gaps. S = setpoint + mu P: the first source's probe found an empty line (0.11 s),
/// the second's waited behind it, so that it believes in a longer path and keeps more packets in it.
#[test]
fn packet_pairs_find_their_share_behind_a_fair_queue() {
    let o = suite(
        600,
        40,
        "fq",
        &(ftp(2, "kind = \"packet-pair\", setpoint = 5, wmax = 20")
            + "[record.r]\nflows = \"ftp\"\nprobes = [\"service_gap\", \"queue_est\"]\nevery = \"10s\"\n"),
    );
    let mut rtts = vec![];
    for flow in ["ftp.0", "ftp.1"] {
        assert_near(
            flow,
            mean(&later(&o["intervals"], flow, "fresh_packets")) / 100.0,
            5.0,
            0.02,
        );
        assert_near(flow, of(&o["flows"], flow, "retransmitted_packets"), 0.0, 0.0);
        rtts.push(mean(&later(&o["intervals"], flow, "rtt_mean_s")));
    }
    // Two packets of the pair in the line and on it, beside the five.
    assert!(rtts[0] > 1.0 && rtts[0] < rtts[1] && rtts[1] < 1.6, "{rtts:?}");
    let last = |probe: &str| {
        let i = (0..o["series"].rows()).rfind(|i| {
            let row = o["series"].row_json(*i);
            row["what"] == "flows.ftp.1" && row["probe"] == probe
        });
        number(&o["series"], "value", i.unwrap())
    };
    assert_near("gap", last("service_gap"), 0.2, 1e-3);
    // A pair more or less.
    assert_near("queue", last("queue_est"), 5.0, 2.0);
}

/// Section 3: gaps are exact, the silence too, and a phase shifts a source by what it says.
#[test]
fn the_workloads_of_the_suite_are_exact() {
    let free = |name: &str, rest: &str| {
        format!("[flows.{name}]\naccess_rate = \"800kbps\"\npacket_size = \"1000B\"\ntransport = \"udp\"\n{rest}\n")
    };
    let on_off = "{ kind = \"on-off\", rate = \"40kbps\", mean_on = \"300s\", mean_off = \"300s\", \
                  distribution = \"constant\" }";
    let flows = free("background", &format!("traffic = {on_off}"))
        + &free(
            "ill",
            "traffic = { kind = \"cbr\", rate = \"80kbps\" }\nstart = \"99.9ms\"",
        )
        + &free("poisson", "traffic = { kind = \"poisson\", rate = \"16kbps\" }");
    let o = suite(900, 100_000, "droptail", &flows);
    let sent = |flow: &str| -> Vec<f64> {
        let mut all = vec![];
        for i in 0..o["intervals"].rows() {
            if o["intervals"].row_json(i)["id"] == flow {
                all.push(number(&o["intervals"], "sent_packets", i));
            }
        }
        all
    };
    // Packets at 0 to 299.8 s and at 600 to 899.8 s; one at the end of an interval belongs to it.
    let background = [501.0, 500.0, 499.0, 0.0, 0.0, 1.0, 500.0, 500.0, 499.0];
    assert_eq!(sent("background.0"), background);
    // Packets at 0.0999 + k / 10.
    assert_eq!(sent("ill.0"), [1000.0; 9]);
    assert_near(
        "poisson",
        mean(&sent("poisson.0")) / 100.0,
        2.0,
        3.0 * (2.0f64 / 900.0).sqrt(),
    );
}

/// Every twentieth packet of the line is lost, and found by its timer.
#[test]
fn intervals_add_up_to_the_run_and_repeats_are_no_fresh_packets() {
    for source in ["generic", "jacobson-karels", "decbit", "packet-pair"] {
        let text = format!(
            "duration = \"900s\"\ninterval = \"100s\"\n[link.slow]\nfrom = \"X\"\nto = \"K\"\nrate = \
             \"80kbps\"\ndelay = \"0s\"\n\
             queue = {{ kind = \"fq\", buffer = \"40 packets\" }}\nreverse_queue = {{ kind = \"droptail\", buffer = \
             \"unlimited\" }}\nimpair = [{{ kind = \"every-nth\", n = 20 }}]\n[flows.f]\naccess_rate = \
             \"800kbps\"\n{source} = {{}}\n"
        );
        let o = run_text(&text);
        let total = |c: &str| of(&o["flows"], "f.0", c);
        let sum = |c: &str| {
            (0..o["intervals"].rows())
                .map(|i| number(&o["intervals"], c, i))
                .sum::<f64>()
        };
        for c in [
            "sent_packets",
            "received_packets",
            "fresh_packets",
            "retransmitted_packets",
            "timeouts",
            "fast_retransmits",
            "dropped_packets",
            "rtt_samples",
        ] {
            assert_near(&format!("{source} {c}"), sum(c), total(c), 0.0);
        }
        let weighted: f64 = (0..o["intervals"].rows())
            .map(|i| {
                (
                    number(&o["intervals"], "rtt_mean_s", i),
                    number(&o["intervals"], "rtt_samples", i),
                )
            })
            .map(|(m, n)| if n > 0.0 { m * n } else { 0.0 })
            .sum();
        assert_near(source, weighted / total("rtt_samples"), total("rtt_mean_s"), 1e-9);
        assert!(total("retransmitted_packets") > 10.0, "{source}");
        // What was sent arrived, was lost, or is under way.
        let under_way = total("sent_packets") - total("received_packets") - total("dropped_packets");
        assert!((0.0..=60.0).contains(&under_way), "{source}: {under_way}");
        let repeats = total("received_packets") - total("fresh_packets");
        assert!(
            repeats > 0.0 && repeats <= total("retransmitted_packets"),
            "{source}: {repeats}"
        );
        // Delivered once, in order: no more than the first copies.
        let delivered = total("goodput_bps") * 900.0 / 8000.0;
        assert!(delivered <= total("received_packets"), "{source}");
        // Packet pairs go on beyond a hole: their window counts what is not known to have arrived.
        let held = if source == "packet-pair" { 300.0 } else { 60.0 };
        assert!(total("received_packets") - delivered < held, "{source}: {delivered}");
    }
}
