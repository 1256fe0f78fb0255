"""A published number: the measured mean may differ from it by a share of it, its tolerance, in both directions."""

from __future__ import annotations

import msgspec

from tailback.core.verdict import ARITHMETIC, VALUE, ZERO, Verdict
from tailback.study.checks.base import Evidence, NeededMeasure, Published, Statement
from tailback.study.checks.limit import Limit
from tailback.study.data.files import Where
from tailback.study.measures import MEASURES


class MeasuredNumber(Published, kw_only=True, frozen=True):
    """A published number with which a measure of the runs is compared."""

    source: str
    measure: str
    value: float
    class_: str = msgspec.field(name="class", default="all")
    #: The name of the class in the sentence.
    class_title: str = ""
    where: Where = {}
    note: str = ""
    sentence: str = ""
    #: The value of another simulator.
    reference: str = ""
    rule: str = ""

    def asks(self) -> list[NeededMeasure]:
        return [NeededMeasure(self.runs, self.class_, self.measure)]

    def held(self, judge: Evidence, sentence: str, check: Limit) -> Verdict:
        """The verdict on one check, with this number's own words."""
        statement = Statement(
            id=self.id,
            sentence=self.sentence or sentence,
            source=self.source,
            experiment=self.experiment,
            gate=self.gate,
            explanation=self.explanation,
            note=self.note,
            why_not="",
            checks=(check,),
        )
        v = judge.statement(statement)
        v.reference = self.reference
        v.kind = ARITHMETIC if judge.runs(self.runs).arithmetic else ZERO if self.value == 0 else VALUE
        return v


class Number(MeasuredNumber, kw_only=True, frozen=True):
    """`tolerance` is the largest difference of a mean from the value, as a share of the value."""

    tolerance: float

    def verdict(self, judge: Evidence) -> Verdict:
        measure = MEASURES[self.measure]
        sentence = f"{judge.title(self.queue)}, {judge.where_text(self.where, self.runs)}"
        if self.class_ != "all":
            sentence += f", {self.class_title or self.class_}"
        check = Limit(
            runs=self.runs,
            measure=self.measure,
            class_=self.class_,
            where=self.where,
            of=self.queue,
            published=self.value,
            tolerance=self.tolerance,
        )
        v = self.held(judge, sentence, check)
        v.published = f"{measure.show(self.value)} {measure.unit}"
        v.tolerance = f"{100 * self.tolerance:g} %"
        return v
