//! Packets much larger than the bucket of the shaper they wait for.

use crate::common::*;
use crate::cycles::series;

/// 30 kB of tokens at 64 or 128 kb/s, packets of up to 65,535 B: what waits looks as if it stood still, since one of
/// them takes 4 s at least, but it is due at a time that comes, and the rate is that of the tokens.
#[test]
fn what_waits_for_tokens_leaves_at_their_rate_and_does_not_stand_still() {
    let o = run_text(
        r#"
duration = "160s"
marking = true
[link.line]
from = "a"
to = "b"
rate = "10Mbps"
delay = "5ms"
queue.kind = "aaqm"
queue.profile = "shape"
queue.buffer = "82 packets"
queue.step_fraction = 0.692991509859999
queue.boost_hot = true
queue.short = "fluid"
queue.rescue_hot = false
[flows.steady]
traffic = { kind = "cbr", rate = "4Mbps" }
transport = "udp"
stop = "400ms"
start = { kind = "uniform", to = "100ms" }
[flows.bursts]
count = 5
traffic = { kind = "on-off", rate = "100kbps", mean_on = "3ms", mean_off = "38ms" }
transport = "udp"
stop = "400ms"
start = ["0s", "10ms", "20ms"]
[flows.mixed]
count = 5
traffic = { kind = "poisson", rate = "17Mbps" }
sizes = { kind = "listed", bytes = ["64B", "65535B", "1500B"] }
transport = "udp"
stop = "400ms"
start = ["0s", "10ms", "20ms"]
[record.end]
link = "line"
probes = ["queue_bytes", "delivered_bytes"]
every = "1s"
"#,
    );
    let (sent, waits) = (series(&o, "delivered_bytes"), series(&o, "queue_bytes"));
    let (bucket, largest) = (30_000.0, 65_535.0);
    for (t, bytes) in &sent {
        assert!(*bytes <= bucket + 16_000.0 * t + largest, "{bytes} B by {t} s");
    }
    // Never slower than the tokens while something waits: at least 64 kb/s, but for a packet.
    let busy = waits
        .iter()
        .take_while(|(t, b)| *t < 1.0 || *b > 0.0)
        .last()
        .map_or(0.0, |(t, _)| *t);
    let (at, bytes) = sent[busy as usize];
    assert!(bytes >= 8_000.0 * at - largest, "{bytes} B by {at} s");
    assert_eq!(waits[waits.len() - 1].1, 0.0, "everything has left");
}
