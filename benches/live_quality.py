"""How well the gateway serves: rate over the longest busy stretch, lateness, and its processor time.

    python benches/live_quality.py [--seconds 20] [--only 50Mbps]

A run for each rate, round-trip time and number of flows; 20, 50 and 100 Mb/s are to be served within 0.5 %, 500 Mb/s
within 2 %, and at 50 Mb/s the 99th percentile of lateness is to be 0.2 ms at most on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import sys

from tailback.core.scenario.read import load_scenario
from tailback.runs.live.session import Options, live

#: Lateness (p99) at this rate on a quiet machine, s.
QUIET = ("50Mbps", 0.2e-3)
RATES = {"20Mbps": 0.005, "50Mbps": 0.005, "100Mbps": 0.005, "500Mbps": 0.02}


def scenario(rate: str, rtt: str, flows: int, seconds: float) -> str:
    bits = float(rate.removesuffix("Mbps")) * 1e6 * float(rtt.removesuffix("ms")) * 1e-3
    buffer = max(10, round(bits / 8 / 1500))
    return f"""
duration = "{seconds}s"
warmup = "1s"
[link.bottleneck]
from = "left"
to = "right"
rate = "{rate}"
delay = "5ms"
queue = {{ kind = "droptail", buffer = "{buffer} packets" }}
[flows.bulk]
count = {flows}
rtt = "{rtt}"
tcp = {{ ecn = "off", congestion = "cubic" }}
"""


def main() -> None:
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seconds", type=float, default=20.0)
    a.add_argument("--only", choices=RATES)
    given = a.parse_args()
    bad = runs = 0
    latest = 0.0
    print("rate     RTT    flows  busy s  served Mb/s   error  p50 us  p99 us  max ms  lost  gateway CPU  verdict")
    for rate in [given.only] if given.only else RATES:
        for rtt in ("20ms", "100ms"):
            for flows in (1, 4, 32):
                r = live(load_scenario(scenario(rate, rtt, flows, given.seconds)), Options(seed=1))
                q = r.quality
                wanted = float(rate.removesuffix("Mbps")) * 1e6
                error = q["busy_stretch_bps"] / wanted - 1
                good = abs(error) <= RATES[rate] and not r.invalid
                bad += not good
                runs += 1
                if rate == QUIET[0]:
                    latest = max(latest, q["lateness_p99_s"])
                print(
                    f"{rate:8} {rtt:6} {flows:5}  {q['busy_stretch_s']:6.2f}  {q['busy_stretch_bps'] / 1e6:11.4f}  "
                    f"{error:+.3%}  {q['lateness_p50_s'] * 1e6:6.0f}  {q['lateness_p99_s'] * 1e6:6.0f}  "
                    f"{q['lateness_max_s'] * 1e3:6.2f}  {q['lost_packets']:4}  {q['cpu_s'] / q['time_s']:10.0%}  "
                    f"{'good' if good else 'NOT: ' + '; '.join(r.invalid or ['rate'])}",
                    flush=True,
                )
    print(f"rates: {runs - bad} of {runs} runs valid and within their bound: {'MISSED' if bad else 'met'}")
    if latest:
        late = latest > QUIET[1]
        bad += late
        print(
            f"lateness at 50 Mb/s: p99 {latest * 1e6:.0f} us at most, wanted on a quiet machine {QUIET[1] * 1e6:.0f}: "
            f"{'MISSED' if late else 'met'} (load now {os.getloadavg()[0]:.1f})"
        )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
