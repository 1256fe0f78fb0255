"""The outcome of a published number or sentence (reproduced, leans, not reproduced or not testable), and its findings.

`outcome_of` decides by the rule in docs/studies/README.md. `gate = false` marks rows that are reported and compared but
are never a failure; their outcome is still computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

YES, LEANS, NO, OPEN = "reproduced", "leans", "not reproduced", "not testable"
#: The name of rows that are not judged, in counts.
COMPARED = "compared"
#: The outcomes in the order of counts and texts.
COUNTED = (YES, LEANS, NO, OPEN, COMPARED)
#: The judged rows that depend on a choice made after a look at results.
ANEW = "read anew"
#: The columns of a table of counts.
COUNT_HEADS = (*COUNTED, ANEW)
#: Counts by these names.
Counts = dict[str, int]
#: The published value of a sentence.
AS_STATED = "as stated"
#: The kinds of rows: a published number, a number that is 0, a sentence that orders quantities, another sentence, or a
#: formula.
VALUE, ZERO, ORDER, SENTENCE, ARITHMETIC = KINDS = ("value", "zero", "order", "sentence", "arithmetic")
#: The note on a result from one run of a random experiment.
ONE_SEED = "one seed, no interval"


class Mark(NamedTuple):
    """The look of an outcome."""

    #: The class of its text in a page.
    kind: str
    sign: str
    #: The word for a row that is only compared.
    compared: str


MARKS = {
    YES: Mark("yes", "✓", "agrees"),
    LEANS: Mark("leans", "≈", "leans"),
    NO: Mark("no", "✗", "differs"),
    OPEN: Mark("open", "–", ""),
}


@dataclass
class Finding:
    """One relation, decided."""

    what: str
    #: a short name of the point at which it was measured
    place: str
    measured: str
    required: str
    outcome: str
    #: numbers behind the texts, for --json, which has no infinities and says "infinite"
    value: float | Literal["infinite"] | None = None
    half_width: float | Literal["infinite"] | None = None
    seeds: int = 0
    remark: str = ""
    #: The distance of the mean from the limit, in the unit of the relation: positive on the right side, negative on the
    #: wrong side.
    margin: float | Literal["infinite"] | None = None
    #: Findings with the same number test one relation at several places.
    relation: int = 0

    @property
    def settled(self) -> bool:
        """Whether more seeds would hardly change the outcome: the distance of the mean from the limit exceeds half of
        its interval. A finding without an interval is not settled."""
        margin, half = self.margin, self.half_width
        return isinstance(margin, float) and isinstance(half, float) and abs(margin) > half


@dataclass(frozen=True)
class TableCell:
    """A cell of a published table: its row, the measured quantity, the source, and its number with the unit."""

    row: str
    metric: str
    source: str
    published: str


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
    #: for a cell of a published table: the table, and the class by which the cell is judged
    table: str = ""
    grade: str = ""
    #: one of KINDS
    kind: str = SENTENCE
    #: for a sentence whose rule was read anew after a look at results: the source's words, and the outcome by the first
    #: rule
    words: str = ""
    first: str = ""
    #: a reading that this row rests on and that was chosen after a look at results
    chosen: str = ""
    #: for a sentence that leans: the part in which it holds
    part: str = ""
    #: the outcomes of the sentence under other readings of the source; each is a compared row
    readings: list[str] = field(default_factory=list)
    #: The cell of a table. Documents do not have it, because they have the sentence.
    cell: TableCell | None = None

    @property
    def asked(self) -> str:
        """The published value and its tolerance, or the rule of a sentence."""
        return self.tolerance if self.published == AS_STATED else f"{self.published}, within {self.tolerance}"

    @property
    def anew(self) -> bool:
        """Whether its rule, or a reading on which it depends, was chosen after a look at results."""
        return bool(self.words or self.chosen)

    @property
    def unmet(self) -> bool:
        return self.gate and self.outcome == NO

    @property
    def compared(self) -> str:
        """Whether a row that is only compared agrees with the source; empty for a row that is judged or open."""
        return "" if self.gate else MARKS[self.outcome].compared

    def as_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = _without_infinities(asdict(self))
        del fields["cell"]
        return fields


def _without_infinities(x: Any) -> Any:
    """JSON has no infinities."""
    if isinstance(x, dict):
        return {k: _without_infinities(v) for k, v in x.items()}
    if isinstance(x, list):
        return [_without_infinities(v) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        return None if math.isnan(x) else "infinite"
    return x


def outcome_of(findings: Sequence[Finding], part: Sequence[Finding] = ()) -> str:
    """The outcome of a sentence, which is the worst of its relations. `part` has the findings of the part that the
    study names."""
    relations: dict[int, list[Finding]] = {}
    for f in findings:
        if f.outcome != OPEN:
            relations.setdefault(f.relation, []).append(f)
    outcomes = {_of_relation(x) for x in relations.values()}
    if NO in outcomes and part and outcome_of(part) in (YES, LEANS):
        return LEANS
    return next((x for x in (NO, LEANS, YES) if x in outcomes), OPEN)


def _of_relation(findings: Sequence[Finding]) -> str:
    """The outcome of one relation at all its places. The relation leans if it is reproduced at some places, and is on
    the right side at half of all places or more and in the mean over them."""
    failed_count = sum(f.outcome == NO for f in findings)
    if not failed_count:
        return LEANS if any(f.outcome == LEANS for f in findings) else YES
    margins = [math.inf if f.margin == "infinite" else f.margin for f in findings if f.margin is not None]
    in_the_mean = len(margins) == len(findings) and sum(margins) >= 0
    somewhere = any(f.outcome == YES for f in findings)
    return LEANS if somewhere and 2 * failed_count <= len(findings) and in_the_mean else NO


def part_of(findings: Sequence[Finding], most: int = 4) -> str:
    """The part in which a sentence holds, if it holds at some places and not at others."""
    judged_findings = [f for f in findings if f.outcome != OPEN]
    failed_findings = [f for f in judged_findings if f.outcome == NO]
    if not failed_findings or len(failed_findings) == len(judged_findings):
        return ""
    places = list(dict.fromkeys(f.what.strip(", ") for f in failed_findings))
    remainder = f" and {len(places) - most} more" if len(places) > most else ""
    return (
        f"holds in {len(judged_findings) - len(failed_findings)} of {len(judged_findings)} places, not in "
        f"{'; '.join(places[:most])}{remainder}"
    )


def kind_of(checks: Iterable[str]) -> str:
    """The kind of a sentence from the kinds of its checks: arithmetic or order if all checks are."""
    kinds = set(checks)
    return kinds.pop() if len(kinds) == 1 else SENTENCE


def measured_text(findings: Sequence[Finding], most: int = 4) -> str:
    """The measured texts, with their places if these differ; equal texts appear once."""
    several = len({f.place for f in findings}) > 1
    texts = [f"{f.measured} at {f.place}" if several and f.place else f.measured for f in findings]
    texts = list(dict.fromkeys(texts))
    return "; ".join(texts[:most]) + (f"; and {len(texts) - most} more" if len(texts) > most else "")


def first_parts(text: str, most: int = 2) -> str:
    """The beginning of a measured text, for a line that only mentions it."""
    texts = text.split("; ")
    return "; ".join(texts[:most]) + ("; …" if len(texts) > most else "")


def kinds(verdicts: Sequence[Verdict]) -> dict[str, Counts]:
    """The counts of each kind that occurs, in the order of KINDS."""
    return {k: count(rows) for k in KINDS if (rows := [v for v in verdicts if v.kind == k])}


def kinds_rows(by_kind: dict[str, Counts]) -> list[list[str]]:
    """The counts by kind as rows of a table: the kind, and a number for each of `COUNT_HEADS`."""
    return [[PLURAL[k], *(str(c[x]) for x in COUNT_HEADS)] for k, c in by_kind.items()]


#: The names of the kinds in a table of counts.
PLURAL = {
    VALUE: "published values",
    ZERO: "published zeros",
    ORDER: "orders",
    SENTENCE: "other sentences",
    ARITHMETIC: "arithmetic",
}


def count(verdicts: Sequence[Verdict]) -> Counts:
    """The number of gated rows for each outcome, of rows that are only compared, and of gated rows that were read
    anew."""
    gate_verdicts = [v for v in verdicts if v.gate]
    by_outcome = {x: sum(v.outcome == x for v in gate_verdicts) for x in (YES, LEANS, NO, OPEN)}
    return {**by_outcome, COMPARED: len(verdicts) - len(gate_verdicts), ANEW: sum(v.anew for v in gate_verdicts)}
