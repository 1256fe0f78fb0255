"""What one core forwards: packets a second without loss before the queue, and the gateway's time for a packet.

    python benches/live_capacity.py [--seconds 4] [--only qsdrr] [--sizes 1500,576]

Eight connections that send both ways as fast as they can, with a window of 256 packets, through a line that is never
busy: nothing but the gateway and the kernel's work in its thread (the far host's whole receiving side) keeps them from
more. The table shows what was forwarded, both ways together, the time that the gateway worked for a packet, and its
share of a core. QSDRR is to forward 50,000 packets of 1500 B without a packet lost before the gateway.
"""

from __future__ import annotations

import argparse
import sys

from tailback.core.scenario.read import load_scenario
from tailback.runs.live.session import Live, Options, live

DISCIPLINES = ("droptail", "red", "codel", "qsdrr", "fq-codel")
FLOWS, WINDOW = 8, 256
#: Headers of a packet, with timestamps.
HEADER = 52
#: Discipline, size, packets a second.
WANTED = ("qsdrr", 1500, 50_000)


def loaded(discipline: str, size: int, seconds: float) -> Live:
    text = f"""
duration = "{seconds}s"
warmup = "1s"
[link.bottleneck]
from = "left"
to = "right"
rate = "40Gbps"
delay = "1ms"
queue = {{ kind = "{discipline}", buffer = "5000 packets" }}
[flows.load]
from = "left"
to = "right"
count = {FLOWS}
tcp = {{ ecn = "off", payload = "{size - HEADER}B", header = "{HEADER}B", rwnd = "{WINDOW} packets" }}
"""
    return live(load_scenario(text), Options(seed=1, overrides={"both": True}))


def row(discipline: str, size: int, seconds: float) -> bool:
    """Measure and show one; whether it is as wanted, if something is."""
    q = loaded(discipline, size, seconds).quality
    rate, cost = q["emitted_packets"] / q["time_s"], q["working_s"] / q["emitted_packets"]
    print(
        f"{discipline:10} {size:5}  {rate:9.0f}  {cost * 1e6:12.2f}  {q['working_s'] / q['time_s']:6.0%}  "
        f"{q['lost_packets']:4}  {q['lateness_p99_s'] * 1e6:8.0f}",
        flush=True,
    )
    wanted = (discipline, size) != WANTED[:2] or rate >= WANTED[2]
    return wanted and q["lost_packets"] == 0


def main() -> None:
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seconds", type=float, default=4.0)
    a.add_argument("--only", choices=DISCIPLINES)
    a.add_argument("--sizes", default="1500,576,128")
    given = a.parse_args()
    print("discipline  size  packets/s  us of a core  worked  lost  p99 late us")
    good = True
    for size in map(int, given.sizes.split(",")):
        for discipline in [given.only] if given.only else DISCIPLINES:
            good &= row(discipline, size, given.seconds)
    discipline, size, rate = WANTED
    verdict = "met" if good else "MISSED"
    print(f"no loss before the queue, and {discipline} at {size} B forwards {rate} packets/s: {verdict}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
