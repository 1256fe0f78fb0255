"""What came of a published number or sentence: reproduced, not reproduced, or not testable, and the findings behind it.

A verdict is reproduced if every finding that could be made is. `gate = false` marks rows that are reported and
compared, but that no one should call a failure; their outcome is computed all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

YES, NO, OPEN = "reproduced", "not reproduced", "not testable"


@dataclass
class Finding:
    """One relation, decided."""

    what: str
    #: the point it was measured at, short
    place: str
    measured: str
    required: str
    outcome: str
    #: numbers behind the texts, for --json
    value: float | None = None
    half_width: float | None = None
    seeds: int = 0
    remark: str = ""


@dataclass
class Verdict:
    id: str
    source: str
    experiment: str
    sentence: str
    outcome: str
    gate: bool
    published: str
    measured: str
    seeds: int
    tolerance: str
    explanation: str = ""
    note: str = ""
    reference: str = ""
    checks: list[Finding] = field(default_factory=list)
    #: of a cell of a published table: which table, and the class that says how it is judged
    table: str = ""
    grade: str = ""

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = _without_infinities(asdict(self))
        return found


def _without_infinities(x: Any) -> Any:
    """JSON has no infinities."""
    if isinstance(x, dict):
        return {k: _without_infinities(v) for k, v in x.items()}
    if isinstance(x, list):
        return [_without_infinities(v) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        return None if math.isnan(x) else "infinite"
    return x


def outcome_of(findings: Sequence[Finding]) -> str:
    """All that could be decided must be right; nothing that could be decided is not testable."""
    made = [f for f in findings if f.outcome != OPEN]
    return OPEN if not made else YES if all(f.outcome == YES for f in made) else NO


def measured_text(findings: Sequence[Finding], most: int = 4) -> str:
    """What was measured, with the place where they differ in it; equal texts once."""
    several = len({f.place for f in findings}) > 1
    texts = [f"{f.measured} at {f.place}" if several and f.place else f.measured for f in findings]
    texts = list(dict.fromkeys(texts))
    return "; ".join(texts[:most]) + (f"; and {len(texts) - most} more" if len(texts) > most else "")


def count(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many of each outcome, gated rows only, and those that are only compared."""
    gated = [v for v in verdicts if v.gate]
    return {
        YES: sum(v.outcome == YES for v in gated),
        NO: sum(v.outcome == NO for v in gated),
        OPEN: sum(v.outcome == OPEN for v in gated),
        "compared": len(verdicts) - len(gated),
    }
