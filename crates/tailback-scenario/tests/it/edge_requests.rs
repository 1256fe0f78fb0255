//! What an edge asks of senders is the same when every packet-hop is an event.

use crate::common::*;
use tailback_scenario::load_text;

const EDGE: &str = r#"
duration = "20s"
link.in = { from = "near", to = "a", rate = "10Mbps", delay = "9.8ms", queue = "droptail" }
[link.core]
from = "a"
to = "sink"
rate = "8Mbps"
delay = "0.1ms"
queue = { kind = "droptail", buffer = "60 packets" }
[link.core.conditioner]
kind = "edge"
marker = { kind = "tsw3cm", committed_rate = "2Mbps", peak_rate = "3Mbps" }
stages = ["tell-sender"]
[flows.near]
from = "near"
to = "sink"
source_edge = "near"
destination_edge = "exit"
count = 5
start = { kind = "uniform", to = "1s" }
tcp = { profile = "ns2", payload = "960B", window_cap = "64 packets" }
"#;

#[test]
fn requests_of_an_edge_do_not_depend_on_running_ahead() {
    let loaded = load_text(EDGE, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let [as_it_is, one_by_one] = [false, true].map(|one_by_one| run_with_laws(&loaded.spec, 1, one_by_one));
    let [ahead, left_ahead] = [&as_it_is, &one_by_one].map(|o| o.engine.handed_ahead);
    assert!(ahead > 0 && left_ahead == 0, "{ahead} hops ahead");
    assert!(shown(&as_it_is) == shown(&one_by_one));
}
