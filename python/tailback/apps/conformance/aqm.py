"""The guidelines of RFC 7928 as scenarios. The result of a discipline in each scenario is compared with drop-tail's.

The RFC describes a characterisation and sets no bounds, so the output is a table without a verdict. `rfc7928/` has the
scenarios; their names begin with the section. The buffer is 100 packets, slightly more than 10 Mb/s times 100 ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tailback.core.scenario import queues
from tailback.core.scenario.read import load_scenario
from tailback.core.stats import jain
from tailback.runs.result import run

FOLDER = Path(__file__).parent / "rfc7928"
BASELINE = "droptail"
_BUFFER = "100 packets"
#: The columns of the table, by the tables of results that have them.
COLUMNS = (
    ("links", "utilisation"),
    ("links", "loss_rate"),
    ("links", "marked_packets"),
    ("links", "sojourn_mean_s"),
    ("links", "sojourn_p95_s"),
    ("groups", "jain_index"),
)


@dataclass(frozen=True)
class Guideline:
    """The result of a queue in one scenario."""

    section: str
    scenario: str
    queue: str
    #: The utilisation of the line, from 0 to 1.
    utilisation: float
    loss: float
    marks: int
    wait_mean_s: float
    wait_p95_s: float
    #: Jain's index of the goodputs of the long flows over TCP.
    jain: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def guidelines(queue: str, seed: int = 1) -> Iterator[Guideline]:
    """The results of each scenario with drop-tail and with the discipline named `queue`. Raises ScenarioError for an
    unknown name."""
    for file in sorted(FOLDER.glob("*.toml"), key=_order):
        for kind in dict.fromkeys([BASELINE, queue]):
            yield _one(file, kind, seed)


def _order(file: Path) -> tuple[list[int], str]:
    section, _, name = file.stem.partition("-")
    return [int(n) for n in section.split(".")], name


def _one(file: Path, kind: str, seed: int) -> Guideline:
    # A user's own discipline has the buffer of its code.
    own_queue = queues.own(kind)
    queue = f'"{own_queue}"' if own_queue else f'{{ kind = "{kind}", buffer = "{_BUFFER}" }}'
    overrides = [f"link.bottleneck.queue={queue}", f"seed={seed}"]
    if re.search(r"^reverse_queue.*100 packets", file.read_text(encoding="utf-8"), re.MULTILINE):
        overrides.append(f"link.bottleneck.reverse_queue={queue}")
    result = run(load_scenario(file, overrides))
    link_row = next(row for row in result.links.rows() if row["name"] == "bottleneck")
    bulk_groups = {
        g["name"] for g in load_scenario(file).spec["flows"] if (g["transport"], g["traffic"]) == ("tcp", "bulk")
    }
    goodputs = [row["goodput_bps"] for row in result.flows.rows() if row["group"] in bulk_groups]
    section, _, name = file.stem.partition("-")
    return Guideline(
        section,
        name,
        kind,
        link_row["utilisation"],
        link_row["loss_rate"],
        link_row["marked_packets"],
        link_row["sojourn_mean_s"],
        link_row["sojourn_p95_s"],
        jain(goodputs),
    )
