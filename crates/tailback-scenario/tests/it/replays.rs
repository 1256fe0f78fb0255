//! Recorded traffic replayed: transfers one after another with recorded pauses, what repairs they took, and data both
//! ways on one connection.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::results::outcome::Outcome;

/// 10 Mb/s, 20 ms each way.
const LINE: &str = "[link.line]\nfrom = \"s\"\nto = \"d\"\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
                    queue = { kind = \"droptail\", buffer = \"unlimited\" }\n";
const NS2: &str = "profile = \"ns2\", payload = \"960B\", clock_phase = \"0s\", window_cap = \"1000 packets\"";

fn column(o: &Outcome, name: &str) -> Vec<f64> {
    let t = &o["transfers"];
    (0..t.rows()).map(|i| number(t, name, i)).collect()
}

#[test]
fn a_transfer_waits_for_the_one_before_it_and_a_pause() {
    let session = |line: &str, stop: &str| {
        run_text(&format!(
            "duration = \"20s\"\n{LINE}{line}[sessions.on-off]\nkind = \"schedule\"\nstart = \"1s\"\n{stop}\
             after = [\"0s\", \"500ms\", \"100ms\"]\nsizes = [\"9600B\", \"960B\"]\ntcp = {{ {NS2} }}\n"
        ))
    };
    let o = session("", "");
    let (asked, acked) = (column(&o, "asked_s"), column(&o, "acked_s"));
    assert_eq!(column(&o, "bytes"), [9600.0, 960.0, 9600.0]);
    near(asked[0], 1.0, 1e-9);
    near(asked[1], acked[0] + 0.5, 1e-9);
    near(asked[2], acked[1] + 0.1, 1e-9);
    // The second is of one segment: SYN and data, a round trip each.
    near(
        acked[1] - asked[1],
        2.0 * 0.040 + (3.0 * 40.0 + 1000.0) * 8.0 / 10e6,
        1e-6,
    );
    assert_eq!(column(&o, "timeouts"), [0.0; 3]);
    // The first SYN is lost: it costs 3 s, and all later ones come later by that.
    let late = session("impair = [{ kind = \"by-index\", indices = [0] }]\n", "");
    near(column(&late, "acked_s")[0], 4.0 + acked[0] - 1.0, 0.1);
    near(column(&late, "asked_s")[1], column(&late, "acked_s")[0] + 0.5, 1e-9);
    assert_eq!(column(&late, "timeouts"), [1.0, 0.0, 0.0]);
    // One segment of data that is lost is sent again: index 0 is the SYN.
    let again = session("impair = [{ kind = \"by-index\", indices = [5] }]\n", "");
    assert_eq!(column(&again, "resent_packets"), [1.0, 0.0, 0.0]);
    // What has not begun at the stop does not begin; what has is sent to its end.
    let stopped = session("", "stop = \"1.1s\"\n");
    assert_eq!(column(&stopped, "asked_s"), [1.0]);
    near(column(&stopped, "acked_s")[0], acked[0], 1e-9);
    let instant = format!("{:.9}", acked[0] + 0.2);
    assert_eq!(session("", &format!("stop = \"{instant}s\"\n"))["transfers"].rows(), 1);
}

#[test]
fn data_go_both_ways_on_one_connection() {
    let bulk = |back: &str| {
        run_text(&format!(
            "duration = \"20s\"\nwarmup = \"10s\"\n{LINE}[flows.pair]\n\
             traffic = {{ kind = \"bulk\"{back} }}\ntcp = {{ profile = \"ns2-full\", payload = \"960B\", \
             window_cap = \"10 packets\" }}\n"
        ))
    };
    // Ten segments a round trip of 40 ms and, about, their own time on the line. The two clocks of ACKs need not meet:
    // a line carries data, and at most an ACK of 40 B for each segment that goes the other way.
    let o = bulk(", back = \"1s\"");
    let goodput = |o: &Outcome, column: &str| of(&o["flows"], "pair.0", column);
    for (link, column) in [("line", "goodput_bps"), ("line.reverse", "reverse_goodput_bps")] {
        let bps = goodput(&o, column);
        assert!((1.5e6..1.92e6).contains(&bps), "{bps}");
        let carried = of(&o["links"], link, "throughput_bps") / bps;
        assert!((1000.0 / 960.0..1041.0 / 960.0).contains(&carried), "{carried}");
    }
    // Otherwise each segment has an ACK of its own, 40 B.
    let one = bulk("");
    let bps = goodput(&one, "goodput_bps");
    near(
        of(&one["links"], "line.reverse", "throughput_bps"),
        bps * 40.0 / 960.0,
        1e-3 * bps,
    );
    assert!(goodput(&one, "reverse_goodput_bps").is_nan());
    // It begins when it says.
    let late = bulk(", back = \"15s\"");
    let half = goodput(&late, "reverse_goodput_bps") / goodput(&o, "reverse_goodput_bps");
    assert!((0.45..0.5).contains(&half), "{half}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let refused = |text: &str| {
        let text = format!("duration = \"10s\"\n{LINE}{text}\n");
        load_text(&text, "t", &[]).expect_err("refused").to_string()
    };
    let schedule = "[sessions.x]\nkind = \"schedule\"\nsizes = \"1kB\"\n";
    for (text, expected) in [
        (schedule.to_string(), "nothing says when"),
        (format!("{schedule}at = \"1s\"\nafter = \"1s\""), "give one of the two"),
        (
            "[flows.x]\ntraffic = { kind = \"bulk\", back = \"1s\" }".to_string(),
            "connection = \"two-way\"",
        ),
    ] {
        let message = refused(&text);
        assert!(message.contains(expected), "{message}");
    }
}
