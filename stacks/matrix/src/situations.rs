//! The situations: what a scenario has, and what must be seen of any stack in it.

use crate::digest::taken;
use tailback_path::{Finished, Scenario};

pub struct Stack {
    pub name: &'static str,
    pub hand_over: Box<dyn Fn(Scenario, &str) -> Scenario>,
}

pub struct Situation {
    pub name: &'static str,
    /// Why it is not run with this stack.
    pub empty: fn(&str) -> Option<&'static str>,
    /// What was seen, or what should have been.
    pub run: fn(&Stack) -> Result<String, String>,
}

fn always(_stack: &str) -> Option<&'static str> {
    None
}

pub const SITUATIONS: [Situation; 8] = [
    Situation { name: "recording", empty: |s| (s == "smoltcp").then_some("no probes"), run: recording },
    Situation { name: "capture", empty: always, run: capture },
    Situation { name: "change of rate", empty: always, run: change },
    Situation { name: "trace", empty: always, run: trace },
    Situation { name: "two bottlenecks", empty: always, run: two_bottlenecks },
    Situation { name: "pages over it", empty: always, run: pages },
    Situation { name: "black hole of 1300 B", empty: |s| (s == "smoltcp").then_some("no path MTU"), run: black_hole },
    Situation { name: "the same bytes twice", empty: always, run: twice },
];

const LINE: &str = r#"
duration = "10s"
warmup = "2s"

[link.line]
from = "a"
to = "b"
rate = "10Mbps"
delay = "10ms"
queue = { kind = "droptail", buffer = "60 packets" }
"#;
const FLOW: &str = "[flows.mine]\ntransport = \"stack\"\n";

fn lab(stack: &Stack, text: &str) -> Scenario {
    (stack.hand_over)(Scenario::parse(text, "matrix"), "mine")
}

fn run(scenario: Scenario) -> Result<Finished, String> {
    scenario.run().map_err(|e| e.to_string())
}

/// Mb/s of the flow.
fn goodput(f: &Finished) -> f64 {
    f.flow("mine", 0, "goodput_bps") / 1e6
}

fn within(what: f64, unit: &str, [least, most]: [f64; 2]) -> Result<String, String> {
    let said = format!("{what:.2} {unit}");
    if (least..=most).contains(&what) { Ok(said) } else { Err(format!("{said}, not {least} to {most}")) }
}

fn rows(f: &Finished, table: &str) -> usize {
    f.tables().iter().find(|t| t.name == table).map_or(0, |t| t.rows())
}

fn recording(stack: &Stack) -> Result<String, String> {
    let record = "[record.window]\nflows = \"mine\"\nprobes = [\"cwnd\", \"rtt\"]\nevery = \"10ms\"\n";
    let f = run(lab(stack, &format!("{LINE}{FLOW}{record}")))?;
    match rows(&f, "series") {
        n @ 1600..=2002 => Ok(format!("{n} values")),
        n => Err(format!("{n} values for 2002")),
    }
}

fn capture(stack: &Stack) -> Result<String, String> {
    let path = std::env::temp_dir().join(format!("matrix-{}-{}.pcapng", stack.name, std::process::id()));
    let f = run(lab(stack, &format!("{LINE}{FLOW}")).capture("line", &path))?;
    let bytes = std::fs::metadata(&path).map_err(|e| e.to_string())?.len();
    std::fs::remove_file(&path).map_err(|e| e.to_string())?;
    // Headers of 28 B and an Enhanced Packet Block around them.
    let packets = f.link("line", "arrived_packets");
    within(bytes as f64 / packets, "B a packet", [60.0, 150.0])
}

fn change(stack: &Stack) -> Result<String, String> {
    let change = "[change.slower]\nat = \"4s\"\nlink = \"line\"\nrate = \"2Mbps\"\n";
    let f = run(lab(stack, &format!("{LINE}{FLOW}{change}")))?;
    // 2 s with 10 Mb/s and 6 s with 2 Mb/s, less headers.
    within(goodput(&f), "Mb/s", [3.0, 4.0])
}

fn trace(stack: &Stack) -> Result<String, String> {
    // One opportunity each 2 ms is 6 Mb/s of packets of 1500 B.
    let path = std::env::temp_dir().join(format!("matrix-{}-{}.trace", stack.name, std::process::id()));
    std::fs::write(&path, (1..=50).map(|i| format!("{}\n", 2 * i)).collect::<String>()).map_err(|e| e.to_string())?;
    let change = format!("[change.air]\nlink = \"line\"\nmahimahi = {path:?}\n");
    let f = run(lab(stack, &format!("{LINE}{FLOW}{change}")));
    std::fs::remove_file(&path).map_err(|e| e.to_string())?;
    within(goodput(&f?), "Mb/s", [4.5, 6.0])
}

fn two_bottlenecks(stack: &Stack) -> Result<String, String> {
    let second = LINE.replace("[link.line]", "[link.second]").replace("\"b\"", "\"c\"").replace("\"a\"", "\"b\"");
    let second = &second[second.find("[link").unwrap_or(0)..];
    let ends = "from = \"a\"\nto = \"c\"\n";
    let cross = "[flows.cross]\nfrom = \"b\"\nto = \"c\"\ntcp = { profile = \"linux\", congestion = \"cubic\" }\n";
    let f = run(lab(stack, &format!("{LINE}{second}{FLOW}{ends}{cross}")))?;
    let both = goodput(&f) + f.flow("cross", 0, "goodput_bps") / 1e6;
    within(both, "Mb/s with CUBIC", [8.5, 9.8])
}

fn pages(stack: &Stack) -> Result<String, String> {
    let web = r#"
        [sessions.mine]
        kind = "web"
        clients = 4
        transport = "stack"
        think = { kind = "constant", mean = "500ms" }
    "#;
    let f = run(lab(stack, &format!("{LINE}{web}")))?;
    match rows(&f, "pages") {
        n @ 15..=80 => Ok(format!("{n} pages")),
        n => Err(format!("{n} pages, not 15 to 80")),
    }
}

fn black_hole(stack: &Stack) -> Result<String, String> {
    let hole = "impair = { kind = \"black-hole\", mtu = \"1300B\" }\nqueue =";
    let f = run(lab(stack, &format!("{}{FLOW}", LINE.replace("queue =", hole))))?;
    within(goodput(&f), "Mb/s", [8.5, 9.8])
}

fn twice(stack: &Stack) -> Result<String, String> {
    let digest = |seed| {
        taken();
        run(lab(stack, &format!("{LINE}{FLOW}")).seed(seed)).map(|_| taken())
    };
    match (digest(7)?, digest(7)?, digest(8)?) {
        (a, b, _) if a != b => Err("other bytes".into()),
        (a, _, c) if a == c => Err("the seed changes nothing".into()),
        _ => Ok("yes".into()),
    }
}
