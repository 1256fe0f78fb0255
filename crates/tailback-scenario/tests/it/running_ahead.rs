//! Running ahead, lazy ports and header prediction are never seen. Networks are drawn, and each is run twice: as it is,
//! and with an event for every packet-hop, service and timer and two calls for every segment. Every table, every series
//! and the number of packet-hops are the same, to the bit. Files of captures are compared in the same way, in the crate
//! that writes them.
//!
//! `TAILBACK_CASES=100000` draws so many; `TAILBACK_SEED` says with which number the first is drawn.

use crate::drawn::Draw;
use std::fmt::Write;
use tailback_base::{Duration, Time};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::build::prepare;
use tailback_sim::results::{Outcome, Table};
use tailback_sim::run::run;
use tailback_sim::sim::EngineCounters;

/// Bytes of stack of a small thread: a sixteenth of what those of a sweep have.
const STACK: usize = 128 << 10;

fn bits(table: &Table) -> String {
    let mut all = String::new();
    for column in &table.columns {
        let _ = writeln!(all, "{} {:?}", column.name, column.data);
    }
    all
}

/// What two runs must share.
fn seen(o: &Outcome) -> Vec<String> {
    let mut all: Vec<String> = o.tables.iter().map(|t| format!("{}\n{}", t.name, bits(t))).collect();
    all.push(format!("{} hops", o.engine.packet_hops));
    all
}

#[test]
fn it_is_never_seen() {
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |t| t.parse().expect("a number"))
    };
    let (first, cases) = (number("TAILBACK_SEED", 0), number("TAILBACK_CASES", 400));
    let (mut ran, mut ahead, mut hops) = (0u64, 0u64, 0u64);
    let (mut with_lazy_ports, mut made_up) = (0u64, 0u64);
    let (mut with_clients, mut clients_ahead) = (0u64, 0u64);
    for case in first..first + cases {
        let (text, _) = Draw::new(case).scenario();
        let loaded = match load_text(&text, "drawn.toml", &[]) {
            Ok(loaded) => loaded,
            Err(e) => {
                println!("case {case} cannot be read: {e}");
                continue;
            }
        };
        let as_it_is = run(&loaded.spec, case, &Hooks::default());
        let one_by_one = run(
            &loaded.spec,
            case,
            &Hooks {
                one_by_one: true,
                ..Hooks::default()
            },
        );
        match (as_it_is, one_by_one) {
            (Ok(a), Ok(b)) => {
                for (x, y) in seen(&a).iter().zip(&seen(&b)) {
                    assert!(x == y, "case {case}:\n{text}\nas it is:\n{x}\none by one:\n{y}");
                }
                let left = b.engine;
                assert_eq!((left.handed_ahead, left.made_up, left.clients_ahead), (0, 0, 0));
                with_clients += u64::from(a.engine.clients_ahead > 0);
                clients_ahead += a.engine.clients_ahead;
                with_lazy_ports += u64::from(a.engine.made_up > 0);
                made_up += a.engine.made_up;
                ran += 1;
                (ahead, hops) = (ahead + a.engine.handed_ahead, hops + a.engine.packet_hops);
            }
            (a, b) => assert_eq!(
                a.map(|_| ()).map_err(|e| e.to_string()),
                b.map(|_| ()).map_err(|e| e.to_string()),
                "case {case}"
            ),
        }
    }
    println!(
        "seeds {first} to {}: {ran} networks ran, {ahead} of {hops} hops ahead; lazy ports in {with_lazy_ports}, \
         {made_up} services made up for; clients ahead in {with_clients}, with {clients_ahead} packets",
        first + cases - 1
    );
    assert!(
        ran * 5 >= cases * 4,
        "only {ran} of {cases} drawn scenarios can be read"
    );
    assert!(
        ahead * 6 >= hops,
        "of {hops} hops only {ahead} ran ahead: nothing is tested"
    );
    assert!(
        with_lazy_ports * 8 >= ran && made_up * 40 >= hops,
        "{made_up} services of {hops} hops were made up for, in {with_lazy_ports} networks: nothing is tested"
    );
    assert!(
        with_clients * 60 >= ran,
        "clients were called ahead in {with_clients} of {ran} networks: nothing is tested"
    );
}

/// A queue or an edge in the source's own host asks the source for less while that sends a burst: the rest of the burst
/// is what is left after the request, whether the ACK before it was predicted or not.
#[test]
fn a_request_is_heard_in_the_middle_of_a_burst() {
    let edge = "conditioner = { kind = \"edge\", marker = { kind = \"tsw3cm\", committed_rate = \"1Mbps\", \
                peak_rate = \"2Mbps\" }, stages = [\"tell-sender\"] }\n";
    let text = format!(
        "duration = \"300ms\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \"0s\"\nqueue = {{ kind = \
         \"port\", scheduler = \"virtual-clock\", buffer = \"40 packets\" }}\n{edge}[flows.f]\ncount = 5\n"
    );
    let loaded = load_text(&text, "burst.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    for seed in 0..20 {
        let [a, b] = [false, true].map(|one_by_one| {
            let hooks = Hooks {
                one_by_one,
                ..Hooks::default()
            };
            seen(&run(&loaded.spec, seed, &hooks).unwrap_or_else(|e| panic!("{e}")))
        });
        assert!(a == b, "seed {seed}:\n{}\none by one:\n{}", a.join("\n"), b.join("\n"));
    }
}

/// The longest route that is allowed. One loop follows a round trip over all its ports, so the stack does not grow.
#[test]
fn the_longest_line_takes_little_stack_and_is_left_in_time() {
    const LINKS: u64 = 58;
    const HOPS: u64 = LINKS + 2;
    let mut text = "duration = \"3s\"\n".to_string();
    for i in 0..LINKS {
        let _ = writeln!(
            text,
            "[link.l{i}]\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"100Mbps\"\ndelay = \"100us\"\n\
             queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}",
            i + 1
        );
    }
    let _ = writeln!(
        text,
        "[flows.f]\nfrom = \"n0\"\nto = \"n{LINKS}\"\ncount = 3\n\
         access_rate = \"100Mbps\"\nexit_rate = \"100Mbps\""
    );
    let drive = move || {
        let loaded = load_text(&text, "drawn.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let sim = &mut prepare(&loaded.spec, 1, &Hooks::default())
            .unwrap_or_else(|e| panic!("{e}"))
            .built
            .sim;
        let (to, mut before) = (Time::ZERO + loaded.spec.duration, 0);
        while !sim.run_some(to, 100) {
            let hops = sim.counters().packet_hops;
            assert!(hops - before <= 100 * 2 * HOPS, "{} hops in 100 events", hops - before);
            before = hops;
        }
        let done = sim.counters();
        assert!(done.handed_ahead * 10 > done.packet_hops * 9, "{done:?}");
    };
    let small = std::thread::Builder::new().stack_size(STACK);
    small
        .spawn(drive)
        .expect("a thread")
        .join()
        .expect("it came to its end");
}

/// Where the first packet in line may not be handed on, timers behind it are armed and run as events, and leave
/// nothing.
#[test]
fn timers_do_not_pile_up() {
    let line = "duration = \"100s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \"20ms\"\n\
                queue = { kind = \"droptail\", buffer = \"50 packets\" }\n\
                reverse_queue = { kind = \"droptail\", buffer = \"unlimited\" }\n[flows.bulk]\ncount = 5\n";
    let cases = [
        "[record.sent]\nlink = \"l\"\nprobes = \"delivered_bytes\"\nevery = \"1s\"\n",
        "[flows.seen]\n[record.window]\nflows = \"seen\"\nprobes = \"cwnd\"\nevery = \"1s\"\n",
    ];
    for more in cases {
        let loaded = load_text(&format!("{line}{more}"), "drawn.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut run = prepare(&loaded.spec, 1, &Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
        let mut most = 0;
        for second in 1..=100 {
            run.built
                .sim
                .run_until(Time::ZERO + Duration::from_millis(1000 * second));
            most = most.max(run.built.sim.pending_events());
        }
        // A pending event an entity, and some that are outdated; each flow arms several hundred timers.
        assert!(most < 120, "{most} entries: {more}");
    }
}

/// What the engine did in a run of this scenario.
fn counters(text: &str, laws: bool) -> EngineCounters {
    let loaded = load_text(text, "rules.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let hooks = Hooks {
        laws,
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks)
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
        .engine
}

/// Each rule of `sim/lazy.rs` alone keeps a port from being lazy, and what is not a rule does not.
#[test]
fn a_port_is_lazy_unless_something_needs_its_events() {
    let line = "[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"5Mbps\"\ndelay = \"10ms\"\n\
                queue = { kind = \"codel\", buffer = \"50 packets\" }\n\
                reverse_queue = { kind = \"droptail\", buffer = \"unlimited\" }\n";
    let flows = "[flows.f]\ncount = 3\naccess_rate = \"20Mbps\"\n";
    let made_up = |first: &str, line: &str, last: &str, laws: bool| {
        let text = format!("duration = \"1s\"\n{first}{line}{flows}{last}");
        counters(&text, laws).made_up
    };
    let lossy = format!("{line}impair = [{{ kind = \"random\", probability = 0.01 }}]\n");
    let goodput = "[record.r]\nflows = \"f\"\nprobes = \"goodput\"\nevery = \"10ms\"\n";
    for (what, lazy) in [
        ("nothing", made_up("", line, "", false)),
        ("impairments", made_up("", &lossy, "", false)),
        ("recorded flows", made_up("", line, goodput, false)),
        ("intervals", made_up("interval = \"100ms\"\n", line, "", false)),
    ] {
        assert!(lazy > 0, "with {what} the port is not lazy");
    }
    let probe = "[record.r]\nlink = \"l\"\nprobes = \"queue\"\nevery = \"10ms\"\n";
    let change = "[change.c]\nlink = \"l\"\ndelay = [\"20ms\", \"10ms\"]\nevery = \"100ms\"\n";
    let switch = "[switch.a]\nbuffer = \"100kB\"\n";
    let shaped =
        format!("{line}conditioner = {{ kind = \"tsw3cm\", committed_rate = \"1Mbps\", peak_rate = \"2Mbps\" }}\n");
    let at_once = line.replace("10ms", "0s");
    for (what, lazy) in [
        ("a recorded queue", made_up("", line, probe, false)),
        ("a log of drops", made_up("log_drops = true\n", line, "", false)),
        ("a change", made_up("", line, change, false)),
        ("a shared memory", made_up("", line, switch, false)),
        ("a conditioner", made_up("", &shaped, "", false)),
        ("no delay", made_up("", &at_once, "", false)),
        ("laws", made_up("", line, "", true)),
    ] {
        assert_eq!(lazy, 0, "with {what} the port is lazy");
    }
}

/// The same for the rules of `sim/clients.rs` that a scenario can break.
#[test]
fn a_client_runs_ahead_unless_something_may_come_between() {
    let line = "[link.l]\nfrom = \"servers\"\nto = \"homes\"\nrate = \"20Mbps\"\ndelay = \"10ms\"\n\
                queue = { kind = \"fq-codel\" }\nreverse_queue = { kind = \"droptail\", buffer = \"unlimited\" }\n";
    let people = "[sessions.people]\nkind = \"web\"\nfrom = \"servers\"\nto = \"homes\"\nclients = 3\n\
                  exit_rate = \"50Mbps\"\naccess_rate = \"100Mbps\"\ntcp = { connection = \"two-way\" }\n\
                  think = { kind = \"exponential\", mean = \"100ms\" }\n";
    let ahead = |first: &str, line: &str, people: &str| {
        counters(&format!("duration = \"3s\"\n{first}{line}{people}"), false).clients_ahead
    };
    assert!(ahead("", line, people) > 0, "no client ran ahead");
    let hears = format!("{line}conditioner = {{ kind = \"atbtc\", committed_rate = \"1Mbps\", per = \"flow\" }}\n");
    let shared = people.replace("exit_rate = \"50Mbps\"\n", "");
    let ends = format!("{people}pages = 2\n");
    for (what, packets) in [
        ("a conditioner that hears of senders", ahead("", &hears, people)),
        ("one port for all clients", ahead("", line, &shared)),
        ("an end that is not known", ahead("end = \"sessions\"\n", line, &ends)),
    ] {
        assert_eq!(packets, 0, "with {what} clients ran ahead");
    }
}
