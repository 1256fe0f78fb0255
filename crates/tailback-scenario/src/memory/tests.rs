//! Bounds computed by hand, and properties that hold for all models. `benches/memory_bound.py` compares with measured
//! peaks.

use super::{MemoryPart, bound, total};
use crate::load_text;
use tailback_sim::library::Library;

fn parts(text: &str) -> Vec<MemoryPart> {
    let loaded = load_text(text, "test", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    bound(&loaded.spec, Library::standard())
}

fn bytes(parts: &[MemoryPart], key: &str) -> u64 {
    parts.iter().find(|p| p.key == key).map_or(0, |p| p.bytes)
}

/// A line of 10 Mb/s with 100 packets for one minute, and further lines of a scenario.
fn on_a_line(queue: &str, more: &str) -> String {
    format!(
        "duration = \"60s\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = \
         {queue}\n\
         reverse_queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\n{more}"
    )
}

const DROPTAIL: &str = "{ kind = \"droptail\", buffer = \"100 packets\" }";

#[test]
fn samples_are_counted() {
    let text = on_a_line(
        DROPTAIL,
        "[flows.f]\n[record.fine]\nlink = \"line\"\nprobes = [\"queue\", \"queue_bytes\"]\nevery = \"1ms\"\n",
    );
    let fine = parts(&text)
        .into_iter()
        .find(|p| p.key == "record.fine")
        .expect("a part");
    // Two probes, 60,001 samples: 20 B while they are taken, 56 B a row, twice, with 40 B in front.
    let rows = 2 * 60_001;
    assert!(
        fine.bytes > rows * (20 + 2 * 56 + 40) && fine.bytes < rows * 300,
        "{fine:?}"
    );
    assert_eq!(fine.kept / 56, rows + 2);
}

#[test]
fn flows_are_counted_with_their_hosts() {
    let bytes_with = |more: &str| {
        bytes(
            &parts(&on_a_line(DROPTAIL, &format!("[flows.f]\ncount = 10000\n{more}"))),
            "flows.f",
        )
    };
    let (bare, hosts) = (
        bytes_with(""),
        bytes_with("access_rate = \"100Mbps\"\nexit_rate = \"100Mbps\"\n"),
    );
    // Measured: 2.4 kB, and 0.7 to 1.4 kB for each private link.
    assert!(bare > 24_000_000 && bare < 60_000_000, "{bare}");
    assert!(hosts - bare > 20_000_000 && hosts - bare < 60_000_000, "{hosts}");
}

#[test]
fn no_buffer_holds_more_than_the_line_carries() {
    let bulk = |queue: &str| total(&parts(&on_a_line(queue, "[flows.f]\ncount = 5\n")));
    let (bounded, unlimited) = (bulk(DROPTAIL), bulk("{ kind = \"droptail\", buffer = \"unlimited\" }"));
    assert!(bounded < 2_000_000, "{bounded}");
    // 50,000 packets of a minute, of some hundred bytes.
    assert!(unlimited > 5_000_000 && unlimited < 50_000_000, "{unlimited}");
    // Losses, or an AQM, limit windows.
    let lossy = on_a_line(
        "{ kind = \"droptail\", buffer = \"unlimited\" }",
        "impair = [{ kind = \"random\", probability = 0.01 }]\n[flows.f]\ncount = 5\n",
    );
    assert!(total(&parts(&lossy)) < unlimited / 2);
    assert!(bulk("{ kind = \"codel\", buffer = \"unlimited\" }") < unlimited / 3);
}

#[test]
fn every_source_has_an_end_or_the_line_has() {
    let unlimited = "{ kind = \"droptail\", buffer = \"unlimited\" }";
    for entry in tailback_sim::traffic::registry::SOURCES {
        let more = match entry.model.name {
            "transfer" => ", size = \"1MB\"",
            "cbr" | "poisson" | "trains" | "churn" => ", rate = \"100kbps\"",
            "on-off" => ", rate = \"100kbps\", mean_on = \"100ms\", mean_off = \"100ms\"",
            "instants" => ", at = [\"0s\", \"10ms\"]",
            _ => "",
        };
        let flows = format!(
            "[flows.f]\ncount = 10\ntraffic = {{ kind = \"{}\"{more} }}\n",
            entry.model.name
        );
        let all = total(&parts(&on_a_line(unlimited, &flows)));
        assert!(all > 500_000 && all < 60_000_000, "{}: {all}", entry.model.name);
    }
}

#[test]
fn every_discipline_and_transport_has_a_bound() {
    let ecn = "[flows.f]\ntcp = { ecn = \"on\" }\n";
    let mut read = 0;
    for model in tailback_queue::registry::models() {
        let queue = format!("{{ kind = \"{}\", buffer = \"100 packets\" }}", model.name);
        // Some of them need more than a buffer.
        let Ok(loaded) = load_text(&on_a_line(&queue, ecn), "test", &[]) else {
            continue;
        };
        let all = total(&bound(&loaded.spec, Library::standard()));
        assert!(all > 500_000 && all < 10_000_000, "{}: {all}", model.name);
        read += 1;
    }
    assert!(read > 35, "{read}");
    for model in ["generic", "jacobson-karels", "decbit", "packet-pair", "tfrc", "udp"] {
        let traffic = if model == "udp" {
            "traffic = { kind = \"cbr\", rate = \"1Mbps\" }\n"
        } else {
            ""
        };
        let flows = format!("marking = true\n[flows.f]\ntransport = \"{model}\"\n{traffic}");
        let text = flows.replace("marking = true\n", "");
        let all = total(&parts(&on_a_line(DROPTAIL, &text)));
        assert!(all > 500_000 && all < 10_000_000, "{model}: {all}");
    }
}

#[test]
fn sessions_ask_no_more_than_they_wait_or_the_line_carries() {
    let bytes_with = |more: &str| {
        let text = format!("[sessions.s]\nclients = 20\nresponse = {{ kind = \"constant\", mean = \"10kB\" }}\n{more}");
        bytes(&parts(&on_a_line(DROPTAIL, &text)), "sessions.s")
    };
    // 20 clients that pause for 2 s: 600 transfers.
    let slow = bytes_with("kind = \"requests\"\nthink = { kind = \"constant\", mean = \"2s\" }\n");
    assert!(slow > 600 * 300 && slow < 1_500_000, "{slow}");
    // At most 7,500 transfers of 10 kB pass the line in a minute; those that arrive faster stay open.
    let closed = bytes_with("kind = \"requests\"\n");
    assert!(closed > 7_000 * 300 && closed < 10_000_000, "{closed}");
    let open = bytes_with("kind = \"requests\"\nmode = \"open\"\nmean_gap = \"10ms\"\n");
    assert!(open > 100_000 * 1_500, "{open}");
}

#[test]
fn a_million_queues_are_as_many_rows_as_hold_something() {
    let record = "[flows.f]\ncount = 20\n[record.r]\nlink = \"line\"\nprobes = \"queue_packets\"\nevery = \"100ms\"\n";
    let bytes_with = |buckets: u32| {
        let queue = format!("{{ kind = \"sfq\", buffer = \"100 packets\", buckets = {buckets} }}");
        parts(&on_a_line(&queue, record))
    };
    let (many, more) = (bytes_with(100_000), bytes_with(1_000_000));
    assert_eq!(bytes(&many, "record.r"), bytes(&more, "record.r"));
    assert!(bytes(&more, "link.line.queue") > 60_000_000);
}

#[test]
fn datagrams_wait_beside_windows_and_a_fixed_window_is_open_from_the_start() {
    let unlimited = "{ kind = \"wf2q-plus\", buffer = \"unlimited\" }";
    // 235 sources send one packet in each of their short on-times, 7,100 a second in total; one flow in twelve has a
    // window.
    let calls = "[flows.f]\ncount = 20\n[flows.g]\ncount = 235\npacket_size = \"231B\"\n\
                 traffic = { kind = \"on-off\", rate = \"585bps\", mean_on = \"9ms\", mean_off = \"24ms\" }\n";
    let waiting = bytes(&parts(&on_a_line(unlimited, calls)), "link.line.queue");
    // 13.1 Mb/s for their share of 9.2 Mb/s: at the end 127,000 packets of 56 B wait.
    assert!(waiting > 127_000 * 56, "{waiting}");
    let fixed = "[flows.f]\ncount = 1000\ntransport = { kind = \"generic\", wmax = 100 }\n";
    let windows = bytes(&parts(&on_a_line(DROPTAIL, fixed)), "flows.f");
    // 100,000 packets outstanding, each with a record at its sender.
    assert!(windows > 100_000 * 160, "{windows}");
}
