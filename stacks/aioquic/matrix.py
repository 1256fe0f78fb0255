"""aioquic in each situation of the matrix: prints what was seen, a value a line, for the program `matrix`.

Started in the folder `stacks`: python aioquic/matrix.py > target/aioquic.seen
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from seeded import Written

import tailback as tb
from tailback import _core

#: Of the datagrams of a run.
DIGEST = hashlib.sha256()


class Summed(Written):
    """Its datagrams are summed up."""

    def transmit(self, now: float) -> bytes | None:
        data = super().transmit(now)
        if data:
            DIGEST.update(data)
        return data


def digest(scenario: dict[str, Any], seed: int) -> str:
    global DIGEST
    DIGEST = hashlib.sha256()
    tb.run(scenario, seed=seed)
    return DIGEST.hexdigest()


def different(scenario: dict[str, Any]) -> float:
    seven, again, eight = (digest(scenario, seed) for seed in (7, 7, 8))
    return 1 + 2 * (seven != again) + (again != eight)


def captured(scenario: dict[str, Any]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "line.pcapng"
        packets = _core.capture(tb.load_scenario(scenario), "line", path)
        return path.stat().st_size / packets


MEASURES = {
    "rows of series": lambda s: len(tb.run(s).series),
    "rows of pages": lambda s: len(tb.run(s).pages),
    "goodput": lambda s: sum(tb.run(s).flows["goodput_bps"]) / 1e6,
    "bytes of a captured packet": captured,
    "different runs": different,
}


def scenario(text: str) -> dict[str, Any]:
    made = tomllib.loads(text)
    for tables in (made.get("flows", {}), made.get("sessions", {})):
        for group in tables.values():
            if group.get("transport") == "stack":
                group["transport"] = tb.stack(Summed)
    return made


if __name__ == "__main__":
    told = tomllib.loads(Path("matrix/situations.toml").read_text())
    for situation in told["situation"]:
        print(MEASURES[situation["measure"]](scenario(told["line"] + situation["scenario"])), flush=True)
        print(situation["name"], file=sys.stderr)
