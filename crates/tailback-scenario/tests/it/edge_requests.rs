//! What an edge asks of senders is the same when every packet-hop is an event.

use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::table::Table;
use tailback_sim::run::run;

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
    let tables = |one_by_one: bool| {
        let hooks = Hooks {
            one_by_one,
            ..Hooks::default()
        };
        let o = run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
        let columns = |t: &Table| format!("{:?}", t.columns);
        let all: Vec<String> = o.tables.iter().map(columns).collect();
        (all, o.engine.handed_ahead)
    };
    let ((as_it_is, ahead), (one_by_one, left_ahead)) = (tables(false), tables(true));
    assert!(ahead > 0 && left_ahead == 0, "{ahead} hops ahead");
    assert!(as_it_is == one_by_one);
}
