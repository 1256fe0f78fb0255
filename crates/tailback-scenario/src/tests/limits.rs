//! Warnings of limits that cannot act: buffers that hold no packet, thresholds that nothing reaches.

use crate::*;

fn load(text: &str) -> Loaded {
    load_text(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_buffer_that_cannot_do_its_work_is_a_warning_with_its_line() {
    let warnings = |queue: &str, flows: &str| {
        let text = format!(
            "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbps\"\ndelay = \"0s\"\nqueue = {{ \
             {queue} }}\n\
             [flows.f]\n{flows}"
        );
        load(&text).warnings
    };
    let w = warnings("kind = \"droptail\", buffer = \"100B\"", "");
    assert!(w.len() == 1 && w[0].contains("100B") && w[0].contains("1500B"), "{w:?}");
    assert!(w[0].contains(":7:") && w[0].contains("^^^^"), "{w:?}");
    let datagrams = "traffic = { kind = \"cbr\", rate = \"1kbps\" }\npacket_size = \"64B\"";
    assert!(warnings("kind = \"droptail\", buffer = \"100B\"", datagrams).is_empty());
    let w = warnings(
        "kind = \"red\", buffer = \"50 packets\", min_threshold = \"60 packets\"",
        "",
    );
    assert!(
        w.len() == 1 && w[0].starts_with("link.l: min_threshold") && w[0].contains(":7:"),
        "{w:?}"
    );
    assert!(warnings("kind = \"red\", buffer = \"9 packets\"", "").is_empty());
    // In packets, of a buffer in bytes.
    let w = warnings(
        "kind = \"red\", buffer = \"15000B\", min_threshold = \"60 packets\"",
        "",
    );
    assert!(w.len() == 1 && w[0].starts_with("link.l: min_threshold"), "{w:?}");
}

#[test]
fn a_limit_that_cannot_be_reached_is_one_warning_with_its_line() {
    let warnings = |queue: &str, flows: &str| {
        let text = format!(
            "duration = \"1s\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"100Mbps\"\ndelay = \"0s\"\nqueue = {{ \
             {queue} }}\n\
             {flows}"
        );
        load(&text).warnings
    };
    let one_warning = |queue: &str, flows: &str, says: &[&str]| {
        let w = warnings(queue, flows);
        assert!(
            w.len() == 1 && w[0].starts_with("link.l: ") && w[0].contains("test.toml:7:") && w[0].contains("^^^^"),
            "{queue}: {w:?}"
        );
        assert!(says.iter().all(|s| w[0].contains(s)), "{w:?}");
    };
    let tcp = "[flows.f]\ncount = 3\n";
    // 10 packets of 1500 bytes leave a line of 100 Mb/s in 1.2 ms, 42 in 5.04 ms.
    let codel = "kind = \"codel\", buffer = \"10 packets\"";
    one_warning(codel, tcp, &["target = \"5ms\"", "10 packets", "1.2ms", "100Mbps"]);
    one_warning(&format!("{codel}, target = \"2ms\""), tcp, &["target = \"2ms\""]);
    one_warning("kind = \"codel\", buffer = \"15000B\"", tcp, &["15000B", "1.2ms"]);
    assert!(warnings("kind = \"codel\", buffer = \"42 packets\"", tcp).is_empty());
    assert!(warnings(&format!("{codel}, ce_threshold = \"1ms\""), tcp).is_empty());
    // On each queue of another discipline.
    for part in ["kind = \"drr\", aqm = \"codel\"", "kind = \"wdrr\", aqm = \"codel\""] {
        one_warning(
            &format!("{part}, buffer = \"10 packets\""),
            tcp,
            &["target = \"5ms\"", "1.2ms"],
        );
        assert!(warnings(&format!("{part}, buffer = \"100 packets\""), tcp).is_empty());
    }
    // Windows: 3 flows of 4 packets each fill no more than 12 packets, which leave in 1.44 ms.
    let small = "[flows.f]\ncount = 3\ntcp = { rwnd = \"4 packets\", window_cap = \"9 packets\" }\n";
    let red =
        "kind = \"red\", buffer = \"100 packets\", min_threshold = \"15 packets\", max_threshold = \"45 packets\"";
    one_warning(red, small, &["min_threshold = \"15 packets\"", "3 flows", "12 packets"]);
    one_warning(&red.replace("15 packets", "15%"), small, &["min_threshold = \"15%\""]);
    one_warning("kind = \"codel\"", small, &["target = \"5ms\"", "1.44ms"]);
    let bytes = "[flows.f]\ntcp = { rwnd = \"16KB\" }\n[flows.g]\ntcp = { rwnd = \"2000B\" }\n";
    one_warning(red, bytes, &["2 flows", "13 packets"]);
    let keshav = "[flows.f]\ntransport = { kind = \"jacobson-karels\", wmax = 5 }\n";
    one_warning(red, keshav, &["1 flows", "5 packets"]);
    for enough in [
        tcp,
        "[flows.f]\ncount = 4\ntcp = { rwnd = \"4 packets\" }\n",
        // Others on the way bound nothing.
        "[flows.f]\ntcp = { rwnd = \"4 packets\" }\n[flows.g]\ntraffic = { kind = \"cbr\", rate = \"1Mbps\" }\n",
        "[flows.f]\ntcp = { rwnd = \"4 packets\" }\n[sessions.s]\nkind = \"requests\"\nresponse = { kind = \
         \"pareto\", mean = \"15kB\", shape = 1.3, max = \"1MB\" }\nthink = { kind = \"exponential\", mean = \"2s\" \
         }\n",
    ] {
        assert!(
            warnings(red, enough).is_empty(),
            "{enough}: {:?}",
            warnings(red, enough)
        );
    }
    // The line is slower for a while.
    let slow = "rate_changes = [{ at = \"500ms\", rate = \"1Mbps\" }]\n[flows.f]\n";
    assert!(warnings(codel, slow).is_empty());
}
