"""DualPI2 with classic and scalable senders: their rates over rates and round trips, and the wait of the L queue.

    python benches/dualpi2.py [--flows 1] [--rates 20,100] [--seeds 3] [--classic reno|cubic]
        [--scalable prague|dctcp|scalable] [--queue '{"alpha": 0.04, "beta": 1.5}']

A row is a line and a round trip; half of the flows are classic (an ACK a segment), half scalable. Beside the ratio of
goodputs stands what makes it: the ratio by the laws of RFC 9332 appendix C, 1.22 / sqrt(p_C) and 2 / p_L, at a
probability that stands still; what the scalable sender's own law leaves of it (Prague cuts once a round trip and then
waits for a mark, so that it takes 2 to 2.73 / p_L; `scalable` takes 2 / p_L); and what is left when p' swings, since
the classic queue meets the mean of its square.
Then the 99 % wait of the scalable packets, and its bound: the end of the ramp and three packets' time.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

import tailback as tb

ROUND_TRIPS_MS = [10, 20, 30, 50, 100, 200]
#: Even within a fifth is asked from 30 ms on.
EVEN, FROM_MS = 0.2, 30


def scenario(args: argparse.Namespace, rate: int, rtt: int) -> dict[str, Any]:
    def flows(control: str) -> dict[str, Any]:
        tcp = {"congestion": control, "ecn": "on", "delayed_ack": 1}
        return {"count": args.flows, "rtt": f"{rtt}ms", "start": {"kind": "uniform", "to": "1s"}, "tcp": tcp}

    queue = {"kind": "dualpi2", **json.loads(args.queue)}
    return {
        "duration": args.duration,
        "warmup": "30s",
        "topology": {"kind": "dumbbell", "rate": f"{rate}Mbps", "delay": "1ms", "queue": queue},
        "flows": {"classic": flows(args.classic), "scalable": flows(args.scalable)},
        "record": {"p": {"link": "bottleneck", "probes": ["probability"], "every": "16ms"}},
    }


def laws(p: np.ndarray, rtt_s: float, exact: bool) -> tuple[float, float, float]:
    """Classic over scalable: by RFC 9332, with the scalable sender's own law, and with the swing of p'."""
    base = 1.22 * (rtt_s + 0.0005) / (rtt_s + 0.015)
    marked = min(2.0 * float(p.mean()), 1.0)
    q = 1.0 - marked
    own = base if exact else base * 2.0 / (q + (q * q + 2.0 * q) ** 0.5)
    square = float((p**2).mean())
    # A line that is never full has no p'.
    return base, own, own * float(p.mean()) / square**0.5 if square > 0 else float("nan")


def measured(args: argparse.Namespace, rate: int, rtt: int, seed: int) -> list[float]:
    r = tb.run(scenario(args, rate, rtt), seed=seed, jobs=1)
    f = r.flows
    mean = {g: f["goodput_bps"][f["group"] == g].mean() for g in ("classic", "scalable")}
    wait = f["delay_p99_s"][f["group"] == "scalable"].mean() - rtt / 2e3 - 0.012 / rate
    late = r.series["time_s"] > 30
    p = np.asarray(r.series["value"][late], float)
    row = next(x for x in r.links if x["name"] == "bottleneck")
    return [
        mean["classic"] / mean["scalable"],
        *laws(p, rtt / 1e3, args.scalable == "scalable"),
        1e3 * wait,
        100 * row["utilisation"],
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Classic and scalable senders at one DualPI2.")
    parser.add_argument("--flows", type=int, default=1, help="of each kind")
    parser.add_argument("--rates", default="20,40,100", help="Mb/s")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--duration", default="120s")
    parser.add_argument("--classic", default="reno")
    parser.add_argument("--scalable", default="prague")
    parser.add_argument("--queue", default="{}", help="more of the queue's parameters, as JSON")
    args = parser.parse_args()
    print(f"{args.flows} {args.classic}, {args.flows} {args.scalable}; goodput of classic over scalable")
    print("Mb/s   rtt  measured        RFC 9332  own law  p' swings   L p99 wait  bound   line   even")
    for rate in (int(x) for x in args.rates.split(",")):
        for rtt in ROUND_TRIPS_MS:
            x = np.array([measured(args, rate, rtt, s + 1) for s in range(args.seeds)])
            m, half = x.mean(axis=0), 4.303 * x[:, 0].std(ddof=1) / args.seeds**0.5 if args.seeds == 3 else np.nan
            even = "" if rtt < FROM_MS else "yes" if abs(m[0] - 1) <= EVEN else "no"
            print(
                f"{rate:<5} {rtt:>4}  {m[0]:.2f} +- {half:.2f}  {m[1]:>10.2f}{m[2]:>9.2f}{m[3]:>11.2f}"
                f"{m[4]:>10.2f} ms{1.2 + 36 / rate:>7.2f}{m[5]:>6.1f} %   {even}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
