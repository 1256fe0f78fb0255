"""What a congestion control in Python costs, and how long it is from an idea to a table.

    python benches/own_control.py

CPU of the same scenario with the built-in Reno and with `my_reno.py`, the least of five, and what of it each ACK costs;
then the commands of `docs/howto/your-congestion-control.md`, each timed, from an empty folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tailback as tb

ROOT = Path(__file__).parents[1]
EXAMPLE = Path(tb.__file__).parent / "examples" / "my_reno.py"
REPEATS = 5


def cost(congestion: str) -> tuple[float, float]:
    """CPU seconds of a run, the least, and its ACKs."""
    tcp = {"congestion": congestion, "delayed_ack": 1}
    net = tb.dumbbell(bottleneck="50Mbps", rtt="40ms", queue=tb.queue("droptail", buffer="166 packets"), tcp=tcp)
    runs = [net.run(duration="20s") for _ in range(REPEATS)]
    acks = float(runs[0].links.where(name="bottleneck.reverse")["delivered_packets"][0])
    return min(r.reports[0]["cpu_s"] for r in runs), acks


class Empty:
    """A control that does next to nothing: what the way into Python and back costs."""

    def __init__(self, rules) -> None:
        self.cwnd = 200 * rules.segment

    def on_ack(self, ack) -> None: ...

    def on_congestion(self, sign) -> None: ...

    def window_reset(self, reset) -> None: ...


def main() -> None:
    built_in, acks = cost("reno")
    mine, acks_mine = cost(f"{EXAMPLE}:Reno")
    empty, acks_empty = cost(Empty)  # type: ignore[arg-type]
    print(f"built-in reno  {built_in:.4f} s CPU, {acks:.0f} ACKs, {1e6 * built_in / acks:.2f} us an ACK with all else")
    print(f"my_reno.py     {mine:.4f} s CPU, {mine / built_in:.1f} times as much (bar: 100)")
    print(
        f"of it an ACK costs {1e6 * (mine - built_in) / acks_mine:.2f} us in Python; with empty methods "
        f"{1e6 * (empty / acks_empty - built_in / acks):.2f} us"
    )
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import pages

    page = "docs/howto/your-congestion-control.md"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in pages.named_files(page).items():
            (Path(folder) / name).write_text(text)
        total = 0.0
        for c in pages.commands(page):
            began = time.monotonic()
            subprocess.run(
                [sys.executable, "-m", *c.text.split()], cwd=folder, check=True, capture_output=True, text=True
            )
            took = time.monotonic() - began
            total += took
            print(f"{took:6.1f} s  {c.text}")
        print(f"{total:6.1f} s  from the files to the tables")


if __name__ == "__main__":
    main()
