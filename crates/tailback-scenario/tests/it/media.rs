//! Voice and video by text: rates, delays, losses by runs, frames and freezes in closed form, and what is refused.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::results::outcome::Outcome;

fn scenario(top: &str, line: &str, flows: &str) -> String {
    format!(
        "{top}\n[link.line]\nfrom = \"a\"\nto = \"b\"\n{line}\nqueue = {{ kind = \"droptail\", buffer = \"unlimited\" \
         }}\n\
         [flows.f]\n{flows}\n"
    )
}

const FAST: &str = "rate = \"100Gbps\"\ndelay = \"50ms\"";

fn run_flows(top: &str, line: &str, flows: &str) -> Outcome {
    run_text(&scenario(top, line, flows))
}

fn column(o: &Outcome, table: &str, name: &str) -> Vec<f64> {
    let t = &o[table];
    (0..t.rows()).map(|i| number(t, name, i)).collect()
}

fn total(o: &Outcome, table: &str, name: &str) -> f64 {
    column(o, table, name).iter().sum()
}

/// 160 B every 20 ms behind 40 B of headers: 50 packets a second, 80 kbit/s. Each call has a phase of its own.
#[test]
fn a_call_is_eighty_kilobits_a_second() {
    let line = "rate = \"10Mbps\"\ndelay = \"50ms\"";
    let o = run_flows("duration = \"100s\"", line, "count = 5\ntraffic = \"voice\"");
    for sent in column(&o, "datagrams", "sent_packets") {
        assert_eq!(sent, 5000.0);
    }
    for id in ["f.0", "f.4"] {
        near(of(&o["flows"], id, "throughput_bps"), 80e3, 100.0);
        near(of(&o["flows"], id, "goodput_bps"), 64e3, 80.0);
        // 0.16 ms on the line; nobody waits for anybody.
        near(of(&o["datagrams"], id, "delay_mean_s"), 0.050_16, 1e-9);
        near(of(&o["datagrams"], id, "jitter_max_s"), 0.0, 1e-9);
    }
    assert_eq!(total(&o, "datagrams", "lost_packets"), 0.0);
    // Those of the last 50 ms are under way, and neither lost nor late.
    let under_way = total(&o, "datagrams", "sent_packets") - total(&o, "datagrams", "received_packets");
    assert!((10.0..=15.0).contains(&under_way), "{under_way}");
    assert_eq!(total(&o, "datagrams", "late_packets"), 0.0);
}

/// Talk 1.004 s and silence 1.587 s on average: active for 0.3875 of the time, 31.0 kbit/s. Over T seconds the time of
/// talk has variance 2 a^2 b^2 / (a + b)^3 T.
#[test]
fn speech_is_active_for_two_fifths_of_the_time() {
    let calls = 40.0;
    let flows = "count = 40\ntraffic = { kind = \"voice\", speech = \"on-off\" }";
    let o = run_flows("duration = \"2500s\"", FAST, flows);
    let (a, b, t) = (1.004_f64, 1.587_f64, 2500.0 * calls);
    let error = (2.0 * a * a * b * b / (a + b).powi(3) * t).sqrt() / t;
    let activity = total(&o, "datagrams", "sent_packets") * 0.020 / t;
    assert!((activity - 0.3875).abs() < 4.0 * error, "{activity} +- {error}");
    near(activity * 80e3, 31.0e3, 80e3 * 4.0 * error);
    assert!(error < 0.01 * 0.3875, "the bound says something: {error}");
}

/// The packets 3, 4, 5 and 9 are lost: two runs, of two on average and three at most.
#[test]
fn losses_are_counted_by_runs() {
    let impair = format!("{FAST}\nimpair = [{{ kind = \"by-index\", indices = [2, 3, 4, 8] }}]");
    let o = run_flows("duration = \"2s\"", &impair, "traffic = \"voice\"");
    let row = |c: &str| of(&o["datagrams"], "f.0", c);
    assert_eq!(row("lost_packets"), 4.0);
    assert_eq!((row("loss_runs"), row("loss_run_mean_packets")), (2.0, 2.0));
    assert_eq!(row("loss_run_longest_packets"), 3.0);
    near(row("loss_rate"), 4.0 / (4.0 + row("received_packets")), 1e-12);
}

/// Late is counted apart from lost, and against the deadline that is given.
#[test]
fn late_is_not_lost() {
    let late = |delay: &str, deadline: &str| {
        let line = format!("rate = \"100Gbps\"\ndelay = \"{delay}\"");
        let o = run_flows("duration = \"10s\"", &line, &format!("traffic = \"voice\"\n{deadline}"));
        assert_eq!(total(&o, "datagrams", "lost_packets"), 0.0);
        of(&o["datagrams"], "f.0", "late_rate")
    };
    assert_eq!(late("149ms", ""), 0.0);
    assert_eq!(late("150ms", ""), 1.0, "and the time on the line");
    assert_eq!(late("50ms", "deadline = \"40ms\""), 1.0);
    assert_eq!(late("160ms", "deadline = \"200ms\""), 0.0);
}

/// Any datagrams can be held against a deadline; without one they are not. Copies are counted apart, and what was sent
/// before the warm-up is over does not count.
#[test]
fn other_datagrams_have_a_row_if_they_are_asked_for() {
    let cbr = "transport = \"udp\"\ntraffic = { kind = \"cbr\", rate = \"80kbps\" }\npacket_size = \"200B\"";
    assert_eq!(run_flows("duration = \"10s\"", FAST, cbr)["datagrams"].rows(), 0);
    let impair = format!("{FAST}\nimpair = [{{ kind = \"duplicate\", probability = 1 }}]");
    let o = run_flows(
        "duration = \"10s\"\nwarmup = \"4s\"",
        &impair,
        &format!("{cbr}\ndeadline = \"1s\""),
    );
    let row = |c: &str| of(&o["datagrams"], "f.0", c);
    assert_eq!(row("sent_packets"), 300.0);
    assert!((row("received_packets") - 298.0).abs() <= 1.0 && row("copies") == row("received_packets"));
    assert_eq!(row("lost_packets"), 0.0);
}

const EVEN: &str = "frames = { kind = \"log-normal\", i = 0, p = 0 }";

/// At 2 Mbit/s and 30 frames a second a frame has 8333 B on average; a P frame 7353 B in 7 packets, an I frame 36765 B
/// in 31, which back to back take 30.4 ms through 10 Mbit/s.
#[test]
fn a_frame_takes_its_packets_time_on_the_line() {
    let line = "rate = \"10Mbps\"\ndelay = \"0s\"";
    let o = run_flows(
        "duration = \"100s\"",
        line,
        &format!("traffic = {{ kind = \"video\", {EVEN} }}"),
    );
    let row = |c: &str| of(&o["frames"], "f.0", c);
    // 2996 frames, of which the last 26 are a part of a group.
    near(
        row("bytes_mean"),
        (99.0 * 250_002.0 + 36_765.0 + 25.0 * 7353.0) / 2996.0,
        0.01,
    );
    let on_line = |bytes: f64, packets: f64| (bytes + 40.0 * packets) * 8.0 / 10e6;
    let (i, p) = (on_line(36_765.0, 31.0), on_line(7353.0, 7.0));
    near(i, 0.0304, 5e-5);
    near(row("delay_max_s"), i, 1e-6);
    near(row("delay_p50_s"), p, 0.03 * p);
    near(row("delay_mean_s"), (i + 29.0 * p) / 30.0, 1e-5);
    // A frame each 33.3 ms whose deadline has come: 100 s less 0.15 s.
    assert_eq!((row("frames"), row("failed")), (2996.0, 0.0));
    let group = 31.0 + 29.0 * 7.0;
    // A hundred groups, and the I frame that is made as the run ends.
    assert_eq!(of(&o["datagrams"], "f.0", "sent_packets"), 100.0 * group + 31.0);
}

/// Spread over the time to the next frame, the last of n packets leaves n - 1 n-ths of 33.3 ms after the first.
#[test]
fn packets_of_a_frame_can_be_spread() {
    let flows = format!("traffic = {{ kind = \"video\", group = 1, spread = 1, rate = \"480kbps\", {EVEN} }}");
    // 2000 B: two packets.
    let o = run_flows("duration = \"10s\"", FAST, &flows);
    let row = |c: &str| of(&o["frames"], "f.0", c);
    near(row("bytes_mean"), 2000.0, 1e-9);
    near(row("delay_mean_s"), 0.050 + 1.0 / 60.0, 1e-6);
}

/// The tenth packet, which is of the first I frame, is lost: a frame fails, or with `chain` all thirty of its group.
#[test]
fn a_lost_packet_fails_its_frame_or_its_group() {
    let line = format!("{FAST}\nimpair = [{{ kind = \"by-index\", indices = [9] }}]");
    let run = |more: &str| {
        run_flows(
            "duration = \"10s\"",
            &line,
            &format!("traffic = {{ kind = \"video\", {EVEN}{more} }}"),
        )
    };
    let (alone, chained) = (run(""), run(", chain = true"));
    for (o, failed, chained) in [(&alone, 1.0, 0.0), (&chained, 1.0, 29.0)] {
        let row = |c: &str| of(&o["frames"], "f.0", c);
        assert_eq!((row("failed"), row("chained")), (failed, chained));
        assert_eq!((row("freezes"), row("freeze_mean_frames")), (1.0, failed + chained));
        assert_eq!(row("freeze_longest_frames"), failed + chained);
        near(row("failed_rate"), (failed + chained) / row("frames"), 1e-12);
    }
}

/// Over a connection on a fast line a frame of one segment takes the way there. On a line that is too slow frames queue
/// behind each other, and with `skip` those of which nothing has been sent by the deadline are taken back: of 240
/// kbit/s the line carries 150, headers included, and what is sent has waited for the deadline at most, for the window
/// of two segments, and if it went in two parts for one more.
#[test]
fn frames_over_a_connection_queue_or_are_skipped() {
    let tcp = "tcp = { delayed_ack = 1, idle_restart = false, window_cap = \"2 packets\", timestamps = false }";
    let run = |line: &str, more: &str| {
        let flows = format!("{tcp}\ntraffic = {{ kind = \"video\", group = 1, rate = \"240kbps\", {EVEN}{more} }}");
        run_flows("duration = \"60s\"\nwarmup = \"5s\"", line, &flows)
    };
    let fast = run("rate = \"100Gbps\"\ndelay = \"5ms\"", "");
    near(of(&fast["frames"], "f.0", "delay_mean_s"), 0.005, 1e-4);
    assert_eq!(of(&fast["frames"], "f.0", "failed"), 0.0);
    assert_eq!(fast["datagrams"].rows(), 0);
    let slow = "rate = \"150kbps\"\ndelay = \"5ms\"";
    let (queued, skipped) = (run(slow, ""), run(slow, ", skip = true"));
    assert!(of(&queued["frames"], "f.0", "failed_rate") > 0.99);
    assert!(of(&queued["frames"], "f.0", "delay_max_s") > 15.0);
    let row = |c: &str| of(&skipped["frames"], "f.0", c);
    near(
        row("skipped") / row("frames"),
        1.0 - 150.0 / 240.0 * 1460.0 / 1500.0,
        0.02,
    );
    assert!(row("delay_max_s") < 0.150 + 3.0 * 0.080, "{}", row("delay_max_s"));
    // The line is as full as before: what is skipped makes room for what is not.
    near(of(&skipped["links"], "line", "utilisation"), 1.0, 0.01);
    let delivered = of(&skipped["flows"], "f.0", "goodput_bps");
    near(delivered, of(&queued["flows"], "f.0", "goodput_bps"), 0.03 * delivered);
}

/// Mean frames of the presets: 8333 B, 7806 B each 31.2 ms, and 62500 B with times up to 4 ms around their places.
#[test]
fn presets_have_the_means_of_their_sources() {
    for (preset, mean, variation, a_second) in [
        ("gop", 8333.0, 0.0, 30.0),
        ("80211ax", 7806.0, 1.243, 1.0 / 0.031_225),
        ("xr", 62_500.0, 0.105, 60.0),
    ] {
        let flows = format!("count = 4\ntraffic = {{ kind = \"video\", preset = \"{preset}\" }}");
        let o = run_flows("duration = \"1000s\"", FAST, &flows);
        let frames = total(&o, "frames", "frames");
        near(frames, 4.0 * a_second * 999.85, 8.0);
        let found = column(&o, "frames", "bytes_mean").iter().sum::<f64>() / 4.0;
        // In groups, I frames of 36765 B vary by a fifth, P frames of 7353 B by three tenths.
        let sd = if variation > 0.0 {
            variation * mean
        } else {
            ((36_765.0_f64 * 0.2).powi(2) / 30.0 + (7353.0_f64 * 0.3).powi(2) * 29.0 / 30.0).sqrt()
        };
        let error = sd / frames.sqrt();
        assert!((found - mean).abs() < 4.0 * error + 0.5, "{preset}: {found} +- {error}");
        assert!(error < 0.005 * mean, "the bound says something: {error}");
    }
}

/// Another transport, or a network that loses, meets the same frames and the same talk.
#[test]
fn media_are_those_of_the_source_alone() {
    let bytes = |transport: &str| {
        let flows = format!("traffic = {{ kind = \"video\", preset = \"xr\", rate = \"1Mbps\" }}\n{transport}");
        total(&run_flows("duration = \"20s\"", FAST, &flows), "frames", "bytes_mean")
    };
    assert_eq!(bytes("transport = \"udp\""), bytes("transport = \"tcp\""));
    let sent = |line: &str| {
        let o = run_flows(
            "duration = \"60s\"",
            line,
            "traffic = { kind = \"voice\", speech = \"on-off\" }",
        );
        of(&o["datagrams"], "f.0", "sent_packets")
    };
    let lossy = format!("{FAST}\nimpair = [{{ kind = \"random\", probability = 0.3 }}]");
    assert_eq!(sent(FAST), sent(&lossy));
}

#[test]
fn what_cannot_be_is_refused() {
    for (flows, expected) in [
        ("traffic = \"voice\"\ntransport = \"tcp\"", "give transport = \"udp\""),
        (
            "traffic = \"voice\"\npacket_size = \"200B\"",
            "give payload and headers",
        ),
        (
            "traffic = \"video\"\nudp = { header = \"28B\" }",
            "has headers of its own",
        ),
        ("traffic = \"bulk\"\ndeadline = \"150ms\"", "leave the deadline out"),
        (
            "traffic = { kind = \"voice\", speech = \"onoff\" }",
            "did you mean \"on-off\"",
        ),
        (
            "traffic = { kind = \"video\", preset = \"xl\" }",
            "flows.f.traffic.preset",
        ),
        (
            "traffic = { kind = \"video\", preset = \"xr\", fps = 200 }",
            "less than half of the time",
        ),
        (
            "traffic = { kind = \"video\", preset = \"xr\", spread = 1 }",
            "give a smaller spread",
        ),
        (
            "traffic = { kind = \"video\", jitter = \"10s\", jitter_max = \"1us\" }",
            "larger jitter_max",
        ),
        ("traffic = { kind = \"video\", rate = \"1bps\" }", "frames of 1 B"),
        ("traffic = \"voice\"\ndeadline = \"150\"", "deadline"),
    ] {
        let text = scenario("duration = \"10s\"", FAST, flows);
        let message = load_text(&text, "t", &[]).expect_err(flows).to_string();
        assert!(message.contains(expected), "{flows}: {message}");
        assert!(message.contains("t:") && message.contains("flows.f"), "{message}");
    }
}
