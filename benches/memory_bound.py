"""What a run is said to take of the memory, beside what it takes: over all examples and scenarios drawn at random.

    python benches/memory_bound.py [N] [SEED] [--out FILE]

Each run has a process of its own. Its peak is the largest resident memory of that process (VmHWM), less that of a
process which runs next to nothing. Printed are the bounds below the peak, the median of bound over peak, and the worst
ones. Peaks are known to a tenth of a megabyte, and count as no less.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from memory_draws import scenario

EXAMPLES = Path(__file__).resolve().parent.parent / "python/tailback/examples"
#: What pages and the allocator leave open, bytes.
RESOLUTION = 100_000
#: A run that takes longer is left out, seconds.
PATIENCE = 120
EMPTY = """\
duration = "1ms"
[link.line]
from = "a"
to = "b"
rate = "1Mbps"
delay = "1ms"
queue = "droptail"
[flows.x]
from = "a"
to = "b"
start = "2ms"
transport = "udp"
traffic = { kind = "cbr", rate = "8kbps" }
"""
CHILD = """\
import json, sys
from tailback import result, scenarios
s = scenarios.read(sys.argv[1])
r = result.execute(s, 1, 1)
failure = r.failure
if failure is None:
    r.summary(100)
peak = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
memory = getattr(s, "memory", [])
print(json.dumps({"peak": int(peak.split()[1]) * 1024, "failure": failure and failure["message"], "memory": memory}))
"""


def measure(file: Path) -> dict[str, Any] | None:
    """The peak of a run in bytes, and the parts of its bound; none if it takes too long."""
    try:
        done = subprocess.run([sys.executable, "-c", CHILD, file], capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{file}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def draw(n: int, seed: int, folder: Path) -> list[Path]:
    """So many scenarios that can be read, as files."""
    from tailback import _core

    rng = random.Random(seed)

    def probes(family: str, name: str) -> list[str]:
        found = json.loads(_core.describe_json(name))
        models = found if isinstance(found, list) else [found]
        return [p["name"] for m in models if m.get("family") == family for p in m.get("probes", [])]

    files: list[Path] = []
    while len(files) < n:
        text = json.dumps(scenario(rng, probes))
        try:
            _core.load(text, "json", "drawn", [], False)
        except _core.ScenarioError:
            continue
        files.append(folder / f"drawn-{len(files)}.json")
        files[-1].write_text(text)
    return files


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("n", type=int, nargs="?", default=200)
    p.add_argument("seed", type=int, nargs="?", default=1)
    p.add_argument("--out", type=Path, help="keep the scenarios in this folder, with peaks.json beside them")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        empty = folder / "empty.toml"
        empty.write_text(EMPTY)
        nothing = min(m["peak"] for m in (measure(empty) for _ in range(3)) if m)
        rows, left_out = [], 0
        for file in [*sorted(EXAMPLES.glob("*.toml")), *draw(a.n, a.seed, folder)]:
            found = measure(file)
            if found is None or found["failure"]:
                left_out += 1
                print(f"left out: {file.name}: {found['failure'] if found else 'it takes too long'}", file=sys.stderr)
                continue
            peak = max(found["peak"] - nothing, RESOLUTION)
            rows.append({"file": str(file), "peak": peak, "memory": found["memory"]})
            if a.out:
                (folder / "peaks.json").write_text(json.dumps(rows))
        tell(rows, left_out)


def tell(rows: list[dict[str, Any]], left_out: int) -> None:
    """The figures, and the worst on both sides."""

    def bound(row: dict[str, Any]) -> float:
        return float(sum(part["bytes"] for part in row["memory"]))

    rows.sort(key=lambda r: bound(r) / r["peak"])
    ratios = [bound(r) / r["peak"] for r in rows]
    print(f"{len(rows)} runs, {left_out} left out; bounds below the peak: {sum(x < 1 for x in ratios)}")
    print(f"bound over peak: median {statistics.median(ratios):.2f}, least {ratios[0]:.2f}, most {ratios[-1]:.2f}")
    both = list(zip(rows, ratios, strict=True))
    for row, ratio in [*both[:5], *both[-8:]]:
        most = sorted(row["memory"], key=lambda part: -part["bytes"])[:3]
        parts = ", ".join(f"{part['key']} {part['bytes'] / 1e6:.2f}" for part in most)
        print(f"{ratio:8.2f}  peak {row['peak'] / 1e6:8.2f} MB  {Path(row['file']).name}: {parts}")


if __name__ == "__main__":
    main()
