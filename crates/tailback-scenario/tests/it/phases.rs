//! Flows that send in one phase of a run: after their stop they repair what is outstanding, send nothing new, and are
//! silent soon.

use crate::common::*;
use tailback_sim::results::outcome::Outcome;

/// Four uploads that start in the first second, through a buffer of 240 ms at 20 Mbit/s, and stop at this time.
fn upload(tcp: &str, stop: u64) -> Outcome {
    run_text(&format!(
        "duration = \"8s\"\ninterval = \"50ms\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"20Mbps\"\ndelay = \
         \"20ms\"\nqueue = {{ kind = \"droptail\", buffer = \"400 packets\" }}\nreverse_queue = {{ kind = \
         \"droptail\", buffer = \"unlimited\" }}\n[flows.f]\ncount = 4\nstart = {{ kind = \"uniform\", to = \"1s\" \
         }}\nstop = \"{stop}ms\"\ntcp = {tcp}\n"
    ))
}

/// Packets sent in the intervals from an instant on: new ones, and those sent again. The end of the last such interval.
fn after(o: &Outcome, from: f64) -> (f64, f64, f64) {
    let t = &o["intervals"];
    let rows = (0..t.rows()).filter(|i| number(t, "from_s", *i) >= from - 1e-9);
    rows.fold((0.0, 0.0, from), |(new, again, last), i| {
        let (sent, repairs) = (number(t, "sent_packets", i), number(t, "retransmitted_packets", i));
        let until = if sent > 0.0 { number(t, "to_s", i) } else { from };
        (new + sent - repairs, again + repairs, f64::max(last, until))
    })
}

/// Of the data that it has not sent nothing is sent any more; what is outstanding and lost is sent again.
#[test]
fn a_bulk_flow_is_silent_soon_after_its_stop() {
    // BBR does not fill the buffer, so it loses nothing.
    let transports = [
        ("{}", true),
        ("{ profile = \"linux\" }", true),
        ("{ profile = \"linux\", congestion = \"bbr\" }", false),
        ("{ connection = \"two-way\" }", true),
        ("{ connection = \"two-way\", profile = \"linux\" }", true),
    ];
    for (tcp, loses) in transports {
        let (mut repairs, mut longest) = (0.0, 0.0);
        for stop in (1500..4500).step_by(100) {
            let o = upload(tcp, stop);
            let stop = stop as f64 / 1e3;
            let (new, again, last) = after(&o, stop);
            assert_eq!(new, 0.0, "{tcp} stopped at {stop}");
            assert!(last - stop < 2.0, "{tcp} stopped at {stop}: sends until {last}");
            repairs += again;
            longest = f64::max(longest, last - stop);
            let t = &o["flows"];
            let sent: f64 = (0..t.rows()).map(|i| number(t, "sent_packets", i)).sum();
            assert!(sent > 900.0 * (stop - 1.0), "{tcp}: {sent} until {stop}");
        }
        println!("{tcp}: {repairs} repairs after 30 stops, the longest until {longest:.2} s after its stop");
        assert!(repairs > 10.0 || !loses, "{tcp}: nothing is tested");
    }
}
