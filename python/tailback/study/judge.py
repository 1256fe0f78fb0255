"""Compares published numbers and sentences with measurements.

A statement has checks. Each check is a relation between measured quantities and limits that were written down before
the run (in `published.toml` and `statements.toml`; `checks/` has a file for each kind). The rules for a check are:

* A measured quantity is the mean over seeds, with its 95 % interval (Student's t).
* Reproduced: the mean is on the right side of the limit, and its interval is clear of the other side. Leans: the mean
  is on the right side, but the interval crosses the limit. Not reproduced: the mean is on the wrong side.
* Between two disciplines the difference is taken seed by seed (the same seeds serve both), and its sign is the side.
  One seed of a random experiment has no interval and gives no order, so the check is not testable.
* A point that was not run (such as a buffer that the quick grid leaves out) is not testable.
* `verdict.outcome_of` combines the places of a relation, and the relations of a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tailback.core.verdict import (
    AS_STATED,
    LEANS,
    MARKS,
    NO,
    OPEN,
    Finding,
    Verdict,
    first_parts,
    kind_of,
    measured_text,
    outcome_of,
    part_of,
)
from tailback.study.checks.base import Check, Measured, Place, Published, Statement
from tailback.study.model import MODES, Runs, matches
from tailback.study.samples import RunsPoint, Samples
from tailback.study.study import Study

Decided = TypeVar("Decided")


class Judge:
    """Evaluates the published numbers and statements of a study on samples."""

    def __init__(self, study: Study, samples: Samples) -> None:
        self.study, self.samples = study, samples
        self._candidates: dict[str, list[Place]] = {}
        #: Points that were read for each finding of the check that is being decided.
        self._read: list[set[RunsPoint]] = [set()]
        #: Points that an unsettled finding has read.
        self.open: set[RunsPoint] = set()

    def all(self, experiments: set[str]) -> list[Verdict]:
        """Verdicts of all rows of these experiments, and of the rows that are arithmetic."""
        rows = [self.number(p) for p in self.study.published if p.experiment in experiments]
        statements = [s for s in self.study.statements if s.experiment in (*experiments, "predict")]
        rows += [self.statement(s) for s in statements]
        tell_readings({v.id: v for v in rows}, statements)
        order = {"predict": -1, **{e.id: i for i, e in enumerate(self.study.experiments)}}
        return sorted(rows, key=lambda v: order.get(v.experiment, len(order)))

    def number(self, p: Published) -> Verdict:
        """The verdict on a published number, by its rule."""
        v = p.verdict(self)
        v.chosen = self.study.chosen(p.id)
        return v

    def statement(self, s: Statement) -> Verdict:
        findings = self._findings(s.checks)
        in_part = self._findings(s.part_checks)
        outcome = outcome_of(findings, in_part)
        part_text = ""
        if outcome == LEANS:
            part_text = f"holds {s.part}" if in_part and outcome_of(findings) == NO else part_of(findings)
        decided_findings = [f for f in findings if f.outcome != OPEN]
        decisive_findings = (
            [f for f in decided_findings if f.outcome == NO]
            or [f for f in decided_findings if f.outcome == LEANS]
            or decided_findings
            or findings
        )
        note = s.note
        one_seed_findings = [f for f in findings if f.outcome == OPEN and f.remark]
        left_out = len(findings) - len(decided_findings) - len(one_seed_findings)
        remarks = [f"{left_out} of {len(findings)} checks were not run."] if decided_findings and left_out else []
        if one_seed_findings and not any(f.outcome == NO for f in decided_findings):
            # One seed gives no order. The finding is still reported, because it was measured.
            decisive_findings = one_seed_findings if not decided_findings else decisive_findings
            remarks.append(
                f"{len(one_seed_findings)} of {len(findings)} checks ask for an order, and one seed gives none."
            )
        limit_note = [f"A limit of its own: {s.own_limit}."] if s.own_limit else []
        note = " ".join([note, *limit_note, *remarks]).strip()
        if not decided_findings and not one_seed_findings:
            reasons = {self.samples.not_measured.get(x.runs, "") for x in s.asks()} - {""}
            note = " ".join([note, *sorted(reasons)]).strip()
        if not s.checks:
            note = note or s.why_not or "nothing that is run here measures it"
        return Verdict(
            id=s.id,
            source=s.source,
            experiment=s.experiment,
            sentence=s.sentence,
            outcome=outcome,
            gate=s.gate,
            published=AS_STATED,
            measured=measured_text(decisive_findings),
            seeds=min((f.seeds for f in [*decided_findings, *one_seed_findings] if f.seeds), default=0),
            tolerance="; ".join(dict.fromkeys(f.required for f in decisive_findings[:3])),
            explanation=s.explanation if outcome in (NO, LEANS) else "",
            note=note,
            checks=findings,
            kind=kind_of(c.kind(self) for c in s.checks),
            words=s.words,
            first=self._first(s),
            chosen=self.study.chosen(s.id),
            part=part_text,
        )

    def separately(self, decided: Iterable[Decided]) -> Iterator[Decided]:
        """The single decisions of a check, with a finding for each."""
        self._read = []
        for decision in decided:
            self._read.append(set())
            yield decision

    def _findings(self, checks: Sequence[Check]) -> list[Finding]:
        """The findings of checks. Findings of one relation at several disciplines or places have the same number."""
        relations: list[object] = []
        findings = []
        for c in checks:
            relation_check = c.without_places()
            if relation_check not in relations:
                relations.append(relation_check)
            relation = relations.index(relation_check)
            self._read = [set()]
            decided_findings = c.decide(self)
            # A check whose findings are not decided one by one has read everything for each of them.
            points_read = (
                self._read
                if len(self._read) == len(decided_findings)
                else [set().union(*self._read)] * len(decided_findings)
            )
            for f, points in zip(decided_findings, points_read, strict=True):
                self.open |= set() if f.settled else points
            findings += [replace(f, relation=relation) for f in decided_findings]
        return findings

    def _first(self, s: Statement) -> str:
        """The outcome by the rule that a sentence had before it was read anew."""
        if not s.first:
            return ""
        verdicts = []
        for checks in filter(None, (s.first, s.second)):
            v = self.statement(replace(s, checks=checks, first=(), second=(), words="", part_checks=()))
            verdicts.append(f"{v.outcome} (asked: {v.tolerance}; measured: {v.measured})")
        return "; by the second rule: ".join(verdicts)

    # ------------------------------------------------------------------------------------------ what checks ask for

    def runs(self, name: str) -> Runs:
        return self.study.runs[name]

    def title(self, discipline: str) -> str:
        return self.study.discipline_title(discipline)

    def places(self, c: Measured) -> list[Place]:
        """The points, without the discipline, that a condition chooses among all points that the study could run.

        A value or a list names points, whether they were run or not. A range, or no condition, means all points that
        were run.
        """
        runs = self.study.runs[c.runs]
        axes = [a.name for a in runs.axes if not a.disciplines]
        named_axes = [a for a in axes if a in c.where and not isinstance(c.where[a], dict)]
        if runs.name not in self._candidates:
            labels_of_points = [{a: p.labels[a] for a in axes} for m in MODES for p in runs.points(m)]
            self._candidates[runs.name] = list({tuple(x.values()): x for x in labels_of_points}.values())
        runs_made = set()
        for key in self.samples.points(runs.name):
            labels = dict(zip((a.name for a in runs.axes), key, strict=True))
            runs_made.add(tuple(labels[a] for a in axes))
        groups: dict[tuple[str, ...], list[Place]] = {}
        for x in self._candidates[runs.name]:
            if matches(x, c.where):
                groups.setdefault(tuple(x[a] for a in named_axes), []).append(x)
        chosen_places: list[Place] = []
        for group in groups.values():
            were_run = [x for x in group if tuple(x.values()) in runs_made]
            chosen_places += were_run or group[:1]
        return chosen_places

    def values(
        self, c: Measured, discipline: str, where: Place | Sequence[Place], klass: str | None = None
    ) -> np.ndarray | None:
        """One number for each seed; for several places, the mean over the places that were run. `klass` replaces the
        class of the check."""
        if not isinstance(where, Mapping):
            by_place = [x for w in where if (x := self.values(c, discipline, w, klass)) is not None]
            seeds = min((len(x) for x in by_place), default=0)
            return np.mean([x[:seeds] for x in by_place], axis=0) if by_place else None
        runs = self.study.runs[c.runs]
        key = tuple(discipline if a.disciplines else where[a.name] for a in runs.axes)
        self._read[-1].add((runs.name, key))
        return self.samples.get(runs.name, key, klass or c.class_, c.measure)

    def where_text(self, where: Mapping[str, Any], runs: str) -> str:
        texts = []
        for k, v in where.items():
            axis = next((a for a in self.study.runs[runs].axes if a.name == k), None)
            if axis is None or axis.disciplines:
                continue
            texts.append(f"{v} {axis.unit}".strip() if axis.name == "buffer" else f"{v} {axis.title.lower()}")
        return ", ".join(texts)


def unsettled(study: Study, samples: Samples) -> set[RunsPoint]:
    """The points that need another seed: a row of the study reads them, and its finding is not settled.

    `Finding.settled` is the rule for every row. The result does not depend on the chosen experiments.
    """
    judge = Judge(study, samples)
    judge.all({e.id for e in study.experiments})
    return judge.open


def tell_readings(rows: Mapping[str, Verdict], statements: Sequence[Statement]) -> None:
    """Adds the outcomes of other readings of a sentence to its row."""
    for s in statements:
        v = rows[s.id]
        if v.outcome == OPEN:
            continue
        word = MARKS[v.outcome].compared
        for main in (rows[name] for name in s.reading_of if name in rows):
            main.readings.append(f"{v.id} {word} ({first_parts(v.measured)})")
