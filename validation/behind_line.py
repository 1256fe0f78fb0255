"""`tailback behind` against what was asked for, and against the simulation.

    python validation/behind_line.py [--only rates,delays,page] [--seconds 10]

Each run is between namespaces of its own (`tests/python/outside.py`), the way out is the kernel's. iperf3 each way at
5, 50 and 200 Mb/s: within 2 % of the rate less headers; an idle round trip within 0.5 ms; packets late by at most 1 ms
at the 99th percentile. CoDel and CAKE: the mean wait of the queue, of three runs the median, within 15 % of the
simulation's. A page of 100 objects over a number of connections: its time within 10 %. All senders have CUBIC.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tailback

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))
from outside import WORLD, Outside, behind, listens, outside, why_not

#: IP packets of 1500 B carry this much of TCP's data, with time stamps.
PAYLOAD, HEADER = 1448, 52
RTT_MS = 20
#: The kernel's sender, as the simulation is told it.
_TCP = f'{{ congestion = "cubic", payload = "{PAYLOAD}B", header = "{HEADER}B", min_rto = "200ms", profile = "linux" }}'
LIVE_RUNS, PAGES = 3, 9
#: Which packets find a full buffer depends on microseconds, so the simulation has several one-way delays.
DELAYS_MS = (20.0, 20.05, 20.1, 20.15, 20.2)
OBJECTS, OBJECT_BYTES = 100, 20_000
_WEB = f"""
import http.server, socket
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "{OBJECT_BYTES}")
        self.end_headers()
        self.wfile.write(b"x" * {OBJECT_BYTES})
        self.wfile.flush()
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
server = Server(("", 80), Handler)
server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
server.serve_forever()
"""


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def run(there: Outside, options: list[str], command: list[str]) -> tuple[Any, str]:
    """What passed, and what the command printed."""
    done = there.run(*behind(*options, "--json", "--", *command))
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return json.loads(done.stderr.strip().splitlines()[-1]), done.stdout


def late(found: Any) -> str:
    return f"late p99 {found['quality']['lateness_p99_s'] * 1e3:.3f} ms"


def rates(there: Outside, seconds: int) -> list[bool]:
    good = []
    for mbps in (5, 50, 200):
        options = ["--down", f"{mbps}Mbps", "--up", f"{mbps}Mbps", "--rtt", f"{RTT_MS}ms"]
        found, said = run(there, options, ["ping", "-q", "-c", "50", "-i", "0.1", WORLD])
        mean = float(said.rsplit("= ", 1)[1].split("/")[1])
        good += [abs(mean - RTT_MS) <= 0.5, found["quality"]["lateness_p99_s"] <= 0.001]
        print(f"{mbps} Mb/s idle: round trip {mean:.3f} ms for {RTT_MS} ms, {late(found)}, {load()}", flush=True)
        for way in ("down", "up"):
            words = [
                "iperf3",
                "-c",
                WORLD,
                "-t",
                str(seconds),
                "-O",
                "3",
                "-C",
                "cubic",
                "-J",
                *(["-R"] if way == "down" else []),
            ]
            found, said = run(there, [*options, "--modem", "100ms"], words)
            end = json.loads(said)["end"]
            got, want = end["sum_received"]["bits_per_second"], mbps * 1e6 * PAYLOAD / (PAYLOAD + HEADER)
            error = got / want - 1
            good += [abs(error) <= 0.02, found["quality"]["lateness_p99_s"] <= 0.001]
            print(
                f"{mbps} Mb/s {way}: iperf3 {got / 1e6:.3f} Mb/s for {want / 1e6:.3f} ({error:+.2%}), {late(found)}, "
                f"{load()}",
                flush=True,
            )
    return good


def waits(rows: Any, name: str) -> dict[str, float]:
    row = next(r for r in rows if r.get("queue", r.get("name")) == name)
    return {key: row[f"sojourn_{key}_s"] * 1e3 for key in ("mean", "p50", "p95")}


def delays(there: Outside, seconds: int) -> list[bool]:
    """Long enough that what a kernel's slow start puts into the queue has little weight."""
    good, seconds = [], 3 * seconds
    for queue in ("codel", "cake"):
        for mbps, flows in ((10, 1), (10, 4), (50, 4)):
            line = f'rate = "{mbps}Mbps"\ndelay = "{RTT_MS // 2}ms"\nqueue = "{queue}"\n'
            options = ["--down", f"{mbps}Mbps", "--up", f"{mbps}Mbps", "--rtt", f"{RTT_MS}ms", "--queue", queue]
            words = ["iperf3", "-c", WORLD, "-t", str(seconds), "-P", str(flows), "-C", "cubic", "-R", "-J"]
            runs = [run(there, options, words)[0] for _ in range(LIVE_RUNS)]
            each = [waits(found["queues"], "line.reverse") for found in runs]
            live = {key: statistics.median(one[key] for one in each) for key in each[0]}
            means = ", ".join(f"{one['mean']:.2f}" for one in each)
            text = (
                f'duration = "{seconds}s"\n[link.line]\nfrom = "outside"\nto = "inside"\n{line}'
                f'[flows.bulk]\nfrom = "outside"\nto = "inside"\ncount = {flows}\ntcp = {_TCP}\n'
            )
            simulated = waits(tailback.run(text).links.rows(), "line")
            error = live["mean"] / simulated["mean"] - 1
            good.append(abs(error) <= 0.15)
            both = ", ".join(f"{key} {live[key]:.2f} ms, simulated {simulated[key]:.2f}" for key in live)
            print(
                f"{queue}, {mbps} Mb/s, {flows} flows: {both}; mean {error:+.1%} ({means}); {late(runs[-1])}, {load()}",
                flush=True,
            )
    return good


def page(there: Outside, _seconds: int) -> list[bool]:
    good = []
    for mbps, connections in ((10, 6), (10, 20), (50, 6)):
        options = ["--down", f"{mbps}Mbps", "--up", f"{mbps}Mbps", "--rtt", "40ms", "--modem", "250ms"]
        urls = f"http://{WORLD}/[1-{OBJECTS}]"
        script = (
            "b=$(date +%s%N); "
            f"curl -s -o /dev/null --parallel --parallel-immediate --parallel-max {connections} '{urls}'; "
            "e=$(date +%s%N); echo $(( (e - b) / 1000 ))"
        )
        times = [int(run(there, options, ["sh", "-c", script])[1]) / 1e6 for _ in range(PAGES)]
        live = statistics.median(times)
        each = [simulated_page(mbps, connections, delay) for delay in DELAYS_MS]
        simulated = statistics.median(each)
        error = live / simulated - 1
        good.append(abs(error) <= 0.10)
        print(
            f"page of {OBJECTS} objects of {OBJECT_BYTES} B, {mbps} Mb/s, {connections} connections: {live:.3f} s "
            f"({min(times):.3f} to {max(times):.3f}), simulated {simulated:.3f} s "
            f"({min(each):.3f} to {max(each):.3f}): {error:+.1%}, {load()}",
            flush=True,
        )
    return good


def simulated_page(mbps: int, connections: int, delay_ms: float) -> float:
    """The same transfers: each connection fetches its share of the objects, one after the other."""
    each, more = divmod(OBJECTS, connections)
    shares = {each + 1: more, each: connections - more}
    tcp = _TCP.replace(" }", ', connection = "two-way" }')
    sessions = "".join(
        f'[sessions.of-{n}]\nkind = "requests"\nclients = {clients}\nrequests = {n}\nrequest = "90B"\n'
        f'response = {{ kind = "constant", mean = "{OBJECT_BYTES + 120}B" }}\ntcp = {tcp}\n'
        for n, clients in shares.items()
        if clients
    )
    buffer = int(mbps * 1e6 * 0.25 / 8)
    text = f"""
duration = "60s"

[link.line]
from = "outside"
to = "inside"
rate = "{mbps}Mbps"
delay = "{delay_ms}ms"
queue = {{ kind = "droptail", buffer = "{buffer} bytes" }}
{sessions}"""
    return float(max(row["asked_s"] + row["completion_s"] for row in tailback.run(text).transfers.rows()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="rates,delays,page")
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    if why := why_not("iperf3", "ping", "curl"):
        print(f"cannot be measured here: {why}")
        return 2
    good = []
    with tempfile.TemporaryDirectory() as folder, outside(Path(folder) / "room") as there:
        # No memory of earlier connections.
        # Nor segments that leave together: a simulated sender sends each by itself.
        for words in (
            ["sysctl", "-q", "-w", "net.ipv4.tcp_no_metrics_save=1"],
            ["ip", "link", "set", "eth0", "gso_max_segs", "1"],
        ):
            subprocess.run(there.words(words, where=there.world), check=True)
        there.serve("iperf3", "-s")
        there.serve(sys.executable, "-c", _WEB)
        until = time.monotonic() + 5
        while not listens(there.world, 80) and time.monotonic() < until:
            time.sleep(0.05)
        for name, measure in (("rates", rates), ("delays", delays), ("page", page)):
            if name in options.only.split(","):
                good += measure(there, options.seconds)
    print(f"{sum(good)} of {len(good)} bounds hold")
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
