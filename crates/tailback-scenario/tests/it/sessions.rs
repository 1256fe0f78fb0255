//! The memory of sessions. Their times, rows and refusals are in `tests/cases/sessions.toml`.

use crate::common::*;
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::prepare;

/// Memory follows the connections that are open at one time.
#[test]
fn slots_are_used_again() {
    let text = r#"
duration = "300s"
[link.line]
from = "s"
to = "c"
rate = "100Gbps"
delay = "50ms"
queue = { kind = "droptail", buffer = "unlimited" }
[sessions.web]
kind = "requests"
clients = 20
connection = "new"
requests = 500
response = { kind = "constant", mean = "500B" }
tcp = { delayed_ack = 1, payload = "1460B", initial_window = "10 packets" }
"#;
    // Two-way connections stay for two seconds in TIME-WAIT, in which a client makes ten requests.
    let two_way = "sessions.web.tcp.connection=two-way".to_string();
    for (set, connections, slots) in [(vec![two_way], 20 * 500, 20 * 13), (vec![], 20 * 500 * 2, 20 * 4)] {
        let loaded = load_text(text, "t", &set).unwrap_or_else(|e| panic!("{e}"));
        let mut built = prepare(&loaded.spec, 1, &Hooks::default())
            .unwrap_or_else(|e| panic!("{e}"))
            .built;
        built.sim.run_until(at(300_000));
        assert_eq!(built.sim.retired(0).connections, connections);
        assert!(built.sim.flow_slots() <= slots, "{}", built.sim.flow_slots());
        check_conservation(&built);
    }
}
