"""The kernel's TCP against the simulated one, and marks from end to end.

    python validation/live_kernel.py [--seconds 60] [--only reno-1]

Reno and CUBIC, one flow and eight, 50 Mb/s, a round trip of 20 ms, a buffer of one product: goodput within 3 %, mean
queue within 20 %, loss episodes within 25 %, and the period of Reno's sawtooth within 10 % of theory. Then ECN through
RED and CoDel: the marks that were set are those that the receiver's kernel counted, and nothing was sent again. The
simulated side has the kernel's parameters: room for timestamps in each packet, a minimum RTO of 200 ms.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import tailback
from tailback.core.scenario.read import load_scenario
from tailback.runs.live import report
from tailback.runs.live.session import Live, Options, live

RATE, RTT, PACKET = 50e6, 0.020, 1500
PRODUCT = round(RATE * RTT / 8 / PACKET)
#: A timestamp option takes 12 B of each packet.
PAYLOAD, HEADER = 1448, 52


def text(congestion: str, flows: int, queue: str, ecn: str, seconds: float) -> str:
    return f"""
duration = "{seconds}s"
log_drops = true
warmup = "{min(10.0, seconds / 4)}s"
[link.bottleneck]
from = "left"
to = "right"
rate = "50Mbps"
delay = "5ms"
queue = {queue}
[flows.bulk]
from = "left"
to = "right"
count = {flows}
rtt = "20ms"
start = {{ kind = "uniform", to = "1s" }}
tcp = {{ congestion = "{congestion}", ecn = "{ecn}", payload = "{PAYLOAD}B", header = "{HEADER}B", min_rto = "200ms" }}
[record.queue]
link = "bottleneck"
probes = "queue"
every = "1ms"
"""


def episodes(log: Any, warmup: float) -> int:
    """Drops that follow one another within one and a half round trips over the full queue are one episode: what is lost
    while the first loss is not yet answered."""
    times = sorted(t for t, event in zip(log["time_s"], log["event"], strict=True) if event == "drop" and t >= warmup)
    last, n = -1.0, 0
    for t in times:
        n += t - last > 1.5 * (2 * RTT)
        last = t
    return n


def measures(result: Any, warmup: float) -> dict[str, float]:
    link = next(iter(result.links.rows()))
    n = episodes(result.log, warmup)
    times = [t for t, e in zip(result.log["time_s"], result.log["event"], strict=True) if e == "drop" and t >= warmup]
    span = (max(times) - min(times)) if n > 1 else float("nan")
    return {
        "goodput": float(np.sum(result.groups["goodput_bps_sum"])) / 1e6,
        "queue": link["mean_queue_packets"],
        "episodes": n,
        "period": span / (n - 1) if n > 1 else float("nan"),
    }


def sawtooth() -> float:
    """Reno with a buffer of one product: from half the peak to the peak at a segment a round trip, which grows with the
    queue. Both count the bytes that a delayed ACK acknowledges."""
    peak = 2 * PRODUCT
    window, time = peak / 2, 0.0
    while window < peak:
        time += max(RTT, window * PACKET * 8 / RATE)
        window += 1
    return time


def compare(congestion: str, flows: int, seconds: float) -> bool:
    queue = f'{{ kind = "droptail", buffer = "{PRODUCT} packets" }}'
    s = load_scenario(text(congestion, flows, queue, "off", seconds))
    run = live(s, Options(seed=1))
    kernel, simulated = measures(report.result(s, [run]), s.warmup_s), measures(tailback.run(s), s.warmup_s)
    good = not run.invalid
    print(f"\n{congestion}, {flows} flows: {'valid' if good else 'NOT VALID: ' + '; '.join(run.invalid)}")
    bounds = {"goodput": 0.03, "queue": 0.20, "episodes": 0.25}
    for name, bound in bounds.items():
        a, b = kernel[name], simulated[name]
        difference = a / b - 1 if b else float("nan")
        within = abs(difference) <= bound
        good &= within
        verdict = "within" if within else "BEYOND"
        print(f"  {name:9} kernel {a:9.3f}  simulated {b:9.3f}  {difference:+7.1%}  {verdict} {bound:.0%}")
    if congestion == "reno" and flows == 1:
        theory = sawtooth()
        for who, m in (("kernel", kernel), ("simulated", simulated)):
            off = m["period"] / theory - 1
            within = abs(off) <= 0.10
            good &= within
            verdict = "within" if within else "BEYOND"
            print(f"  sawtooth  {who} {m['period']:.3f} s, theory {theory:.3f} s  {off:+.1%}  {verdict} 10%")
    _explain(run)
    return good


def _explain(run: Live) -> None:
    c = run.counters["sender"]
    names = ("TCPFastRetrans", "TCPSackRecovery", "TCPTimeouts", "TCPLossProbes", "TCPHystartTrainDetect",
             "TCPHystartDelayDetect", "TCPSpuriousRTOs")  # fmt: skip
    print("  kernel:  " + ", ".join(f"{n} {c.get('TcpExt.' + n, 0)}" for n in names))
    last = [f["last"] for f in run.flows if f["last"]]
    again, reordered = (sum(i[k] for i in last) for k in ("total_retrans", "reord_seen"))
    print(f"  senders: sent again {again}, reordering seen {reordered}")


def marks(queue: str, seconds: float) -> bool:
    s = load_scenario(text("cubic", 4, queue, "on", seconds))
    run = live(s, Options(seed=1))
    result = report.result(s, [run])
    link = next(iter(result.links.rows()))
    # Marks before the warm-up, and those that are still under way, are not in the table: the gateway counted all.
    set_, seen = run.quality["emitted_marked_packets"], run.counters["receiver"].get("IpExt.InCEPkts", 0)
    again = sum(f["last"]["total_retrans"] for f in run.flows if f["last"])
    good = set_ == seen and again == 0 and set_ > 0 and not run.invalid
    print(f"\nECN through {queue}: {'valid' if not run.invalid else 'NOT VALID: ' + '; '.join(run.invalid)}")
    print(
        f"  marks written {set_}, seen by the receiver's kernel {seen}, sent again {again}, "
        f"drops {link['dropped_packets']}  {'equal' if good else 'DIFFERENT'}"
    )
    return good


def main() -> None:
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seconds", type=float, default=60.0)
    a.add_argument("--only", help="reno-1, reno-8, cubic-1, cubic-8, red or codel")
    given = a.parse_args()
    good = True
    for congestion in ("reno", "cubic"):
        for flows in (1, 8):
            if given.only in (None, f"{congestion}-{flows}"):
                good &= compare(congestion, flows, given.seconds)
    queues = {
        "red": '{ kind = "red", buffer = "2000 packets", min_threshold = "20 packets", max_threshold = "60 packets", '
        "ecn = true, mark_above_max = true, mark_cap = 1 }",
        "codel": '{ kind = "codel", buffer = "1000 packets", ecn = true }',
    }
    for name, queue in queues.items():
        if given.only in (None, name):
            good &= marks(queue, given.seconds / 3)
    print(f"\nkernel against simulation, and marks from end to end: {'met' if good else 'MISSED'}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
