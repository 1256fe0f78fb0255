"""What a profile-guided build learns from: a few seconds of runs of the kind that users have.

    make wheel PGO=1

builds the extension with counters, runs this with it, and builds it again so that the paths taken here are the short
ones. A wheel without it is the same program. Needs `rustup component add llvm-tools`.
"""

from __future__ import annotations

from pathlib import Path

import tailback as tb

BENCHES = Path(__file__).resolve().parents[1] / "benches"
LINUX = '{ profile = "linux" }'
#: Changes of the reference of the benchmark: flows, rate, buffer and simulated seconds; then queues; then senders.
SIZES = [(10, "50Mbps", 100, "60s"), (100, "500Mbps", 1000, "10s"), (1000, "5Gbps", 10_000, "2s")]
QUEUES = ["red", "codel", "fq-codel", "pie", "fq-pie", "cake", "dualpi2", "drr", "sfq", "qsdrr", "wf2q"]
SENDERS = [LINUX, '{ ecn = "off" }', '{ congestion = "bbr" }']
#: With sessions, media, bursts and several hops.
EXAMPLES = ["web.toml", "sessions.toml", "calls.toml", "bursts.toml", "parking-lot.toml", "ecn.toml"]


def main() -> None:
    for flows, rate, packets, duration in SIZES:
        size = [
            f"flows.bulk.count={flows}",
            f"link.bottleneck.rate={rate}",
            f"link.bottleneck.queue.buffer={packets} packets",
        ]
        tb.run(tb.load_scenario(BENCHES / "reference.toml", overrides=[*size, f"duration={duration}"]))
    queues = [f'link.bottleneck.queue={{ kind = "{name}" }}' for name in QUEUES]
    senders = [f"flows.bulk.tcp={table}" for table in SENDERS]
    for change in queues + senders:
        tb.run(tb.load_scenario(BENCHES / "reference.toml", overrides=["duration=2s", "marking=true", change]))
    examples = Path(tb.__file__).parent / "examples"
    for name in EXAMPLES:
        tb.run(tb.load_scenario(examples / name))


if __name__ == "__main__":
    main()
