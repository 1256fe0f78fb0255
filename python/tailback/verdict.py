"""What came of a published number or sentence: reproduced, not reproduced, or not testable, and the findings behind it.

A verdict is reproduced if every finding that could be made is. `gate = false` marks rows that are reported and
compared, but that no one should call a failure; their outcome is computed all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

YES, NO, OPEN = "reproduced", "not reproduced", "not testable"
#: Rows that are not judged, where rows are counted.
COMPARED = "compared"
#: In the order in which they are counted and told.
COUNTED = (YES, NO, OPEN, COMPARED)
#: Counts by these names.
Counts = dict[str, int]
#: What is published, of a sentence.
AS_STATED = "as stated"
#: What a row is about: a published number, a number that is 0, a sentence that puts quantities in order, another
#: sentence, or a formula.
VALUE, ZERO, ORDER, SENTENCE, ARITHMETIC = KINDS = ("value", "zero", "order", "sentence", "arithmetic")
#: Beside what rests on one run of something random.
ONE_SEED = "one seed, no interval"


class Mark(NamedTuple):
    """How an outcome looks."""

    #: The class of its text in a page.
    kind: str
    sign: str
    #: Of a row that is only compared.
    compared: str


MARKS = {YES: Mark("yes", "✓", "agrees"), NO: Mark("no", "✗", "differs"), OPEN: Mark("open", "–", "")}


@dataclass
class Finding:
    """One relation, decided."""

    what: str
    #: the point it was measured at, short
    place: str
    measured: str
    required: str
    outcome: str
    #: numbers behind the texts, for --json, which has no infinities and says "infinite"
    value: float | Literal["infinite"] | None = None
    half_width: float | Literal["infinite"] | None = None
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
    #: one of KINDS
    kind: str = SENTENCE
    #: of a sentence whose rule was read anew after a look at results: the source's words, and what the first rule says
    words: str = ""
    first: str = ""
    #: what came of the sentence under other readings of the source, each a compared row
    readings: list[str] = field(default_factory=list)

    @property
    def asked(self) -> str:
        """What was published, and how far from it a measurement may lie; or what the rule of a sentence asks."""
        return self.tolerance if self.published == AS_STATED else f"{self.published}, within {self.tolerance}"

    @property
    def unmet(self) -> bool:
        return self.gate and self.outcome == NO

    @property
    def compared(self) -> str:
        """Whether a row that is only compared agrees with the source; empty for a row that is judged or open."""
        return "" if self.gate else MARKS[self.outcome].compared

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


def kind_of(checks: Iterable[str]) -> str:
    """The kind of a sentence from those of its checks: arithmetic or order where all of them are."""
    found = set(checks)
    return found.pop() if len(found) == 1 else SENTENCE


def measured_text(findings: Sequence[Finding], most: int = 4) -> str:
    """What was measured, with the place where they differ in it; equal texts once."""
    several = len({f.place for f in findings}) > 1
    texts = [f"{f.measured} at {f.place}" if several and f.place else f.measured for f in findings]
    texts = list(dict.fromkeys(texts))
    return "; ".join(texts[:most]) + (f"; and {len(texts) - most} more" if len(texts) > most else "")


def first_parts(text: str, most: int = 2) -> str:
    """The first things that a measured text has, where it is told in passing."""
    parts = text.split("; ")
    return "; ".join(parts[:most]) + ("; …" if len(parts) > most else "")


def kinds(verdicts: Sequence[Verdict]) -> dict[str, Counts]:
    """The counts of each kind that occurs, in the order of KINDS."""
    return {k: count(rows) for k in KINDS if (rows := [v for v in verdicts if v.kind == k])}


def kinds_rows(by_kind: dict[str, Counts]) -> list[list[str]]:
    """The counts by kind as rows of a table: the kind, and a number for each of `COUNTED`."""
    return [[PLURAL[k], *(str(c[x]) for x in COUNTED)] for k, c in by_kind.items()]


#: The kinds as they are told in a table of counts.
PLURAL = {
    VALUE: "published values",
    ZERO: "published zeros",
    ORDER: "orders",
    SENTENCE: "other sentences",
    ARITHMETIC: "arithmetic",
}


def count(verdicts: Sequence[Verdict]) -> Counts:
    """How many of each outcome, gated rows only, and those that are only compared."""
    gated = [v for v in verdicts if v.gate]
    return {
        YES: sum(v.outcome == YES for v in gated),
        NO: sum(v.outcome == NO for v in gated),
        OPEN: sum(v.outcome == OPEN for v in gated),
        COMPARED: len(verdicts) - len(gated),
    }
