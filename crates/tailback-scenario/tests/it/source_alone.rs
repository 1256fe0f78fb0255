//! A source without a network writes what a simulation sends.

use tailback_base::Time;
use tailback_scenario::load_text;
use tailback_sim::build::alone::source_alone;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;

/// As many packets, of as many bytes, as a simulation of the same scenario and seed sends.
#[test]
fn it_writes_what_a_simulation_sends() {
    for (traffic, more) in [
        (
            r#"{ kind = "on-off", rate = "2Mbps", mean_on = "50ms", mean_off = "80ms" }"#,
            "",
        ),
        (
            r#"{ kind = "poisson", rate = "1Mbps" }"#,
            "start = \"300ms\"\nstop = \"1500ms\"",
        ),
        (r#"{ kind = "trains", rate = "1Mbps", mean_train = 10 }"#, ""),
        (r#"{ kind = "instants", at = ["1ms", "10ms", "10ms", "1s", "3s"] }"#, ""),
        (r#"{ kind = "cbr", rate = ["1Mbps", "3Mbps"], jitter = 0.3 }"#, ""),
    ] {
        let text = format!(
            "duration = \"2s\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\nqueue = \
             \"droptail\"\n\
             [flows.x]\nfrom = \"a\"\nto = \"b\"\ncount = 2\ntransport = \"udp\"\npacket_size = \"500B\"\n\
             traffic = {traffic}\n{more}\n"
        );
        let spec = load_text(&text, "test", &[]).unwrap().spec;
        let simulated = run(&spec, 7, &Hooks::default()).unwrap();
        let sent = format!("{:?}", simulated["flows"].column("sent_packets").unwrap().data);
        let alone = |i| {
            let mut source = source_alone(&spec, 7, &spec.flows[0], i).unwrap().unwrap();
            // In pieces, as it is asked for.
            let mut all = vec![];
            for ms in (0..2000).step_by(7).chain([2000]) {
                all.extend(source.until(Time(ms * 1_000_000)));
            }
            assert!(all.is_sorted() && all.iter().all(|w| w.1 == 500));
            all.len()
        };
        assert_eq!(sent, format!("Count([{}, {}])", alone(0), alone(1)), "{traffic}");
    }
}
