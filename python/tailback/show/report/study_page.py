"""Makes the report of a study: the findings, figures and tables, the counts, the folded verdicts, and how the report
was made."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.core.verdict import COMPARED, COUNT_HEADS, LEANS, MARKS, NO, OPEN, YES, Counts, Verdict, kinds_rows
from tailback.core.verdict.told import Section, Told
from tailback.show.report.markdown import SOURCE_HEADS, completeness
from tailback.show.report.page import picture, render

#: The heads of the table of counts by kind, which have names without units.
KIND_HEADS = [(x, "") for x in ("Counts by kind", *COUNT_HEADS)]

#: The classes of cells of published tables, for the table of their counts.
CLASSES = [
    ("A", "deterministic: within 0.02 packets/s, and 0.03 s for delays"),
    (
        "B",
        "statistical: within three published standard deviations of the mean, or 10 % of it if that is more; what is "
        "within that but more than 25 % off leans",
    ),
    ("Q", "ruled by phase or by what the source leaves open: compared, not judged"),
    ("D", "damaged in print: not testable"),
]


@dataclass(frozen=True)
class VerdictRow:
    """A verdict with the words of its row."""

    verdict: Verdict
    #: The class of the row's text in the page.
    kind: str
    word: str
    asked: str
    measured: str
    #: The id of the row, and its place in the source.
    origin: str
    #: The reason why the row does not agree, or the row that has this reason, since each reason is given only once.
    explanation: str
    as_before: str


def study_page(folder: Path, told: Told) -> str:
    """The page of a study's data. Figures are read from `folder`."""
    return render(
        "study.html",
        title=f"{told.study.id}: report",
        study=told.study,
        replaced=told.replaced,
        overrides=told.overrides,
        failed=told.failed,
        seeds=told.seeds,
        counts=counts(told.count),
        opening=told.opening,
        kinds=kinds_rows(told.kinds),
        kind_heads=KIND_HEADS,
        classes=CLASSES if any(v.grade for v in told.verdicts) else [],
        groups=_groups(told),
        source_heads=[(x, "") for x in SOURCE_HEADS],
        # The page may be in any folder, and no wheel contains docs/.
        source_rows=completeness(told, "docs/{0} in the repository"),
        setup=[(x.what, x.value) for x in told.setup],
        sections=[_section(folder, x) for x in told.sections],
        mode=told.mode,
        disciplines=[(d.title, d.queue) for d in told.disciplines.values()],
        parameters=told.parameters,
        scenarios=told.scenarios,
        again=_again(told),
        manifest=[
            ("tailback", told.version),
            ("Build", told.build),
            ("Runs", str(told.runs)),
            ("Mode", told.mode),
            ("Study", told.study.id),
        ],
    )


def counts(count: Counts) -> list[tuple[str, int, str]]:
    """The class of the text, the number and the word of each outcome."""
    counts_of_outcomes = [(MARKS[x].kind, count[x], x) for x in (YES, LEANS, NO, OPEN)]
    return [*counts_of_outcomes, (MARKS[OPEN].kind, count[COMPARED], f"{COMPARED}, not judged")]


def _section(folder: Path, x: Section) -> Section:
    pictures = [picture(folder, f["files"], f["caption"]) for f in x["figures"]]
    return {"notes": [], **x, "pictures": pictures, "tables": [{"note": "", **t} for t in x["tables"]]}


def _again(told: Told) -> list[tuple[str, str]]:
    s = told.study.id
    return [
        (told.command, "this report"),
        (f"tailback reproduce {s} --full", "every point and seed"),
        (f"tailback reproduce {s}/{told.sections[0]['id']}", "one experiment"),
        *((x.command, x.what) for x in told.again),
    ]


def _groups(told: Told) -> list[dict[str, Any]]:
    """The verdicts by experiment, in their order."""
    titles = {
        x["id"]: f"{x['id']} ({x['item']})  {x['title']}" if x["item"] else f"{x['id']}  {x['title']}"
        for x in told.sections
    }
    groups = []
    first_places: dict[str, str] = {}
    for experiment, verdicts_of_experiment in itertools.groupby(told.verdicts, key=lambda v: v.experiment):
        verdicts = list(verdicts_of_experiment)
        # Cells are shown in their tables. This list has only the judged cells that are outside their tolerance.
        rows = [v for v in verdicts if not v.grade or v.unmet]
        groups.append(
            {
                "title": titles.get(experiment, "Arithmetic: the models"),
                "cells": _cell_counts([v for v in verdicts if v.grade]),
                "rows": [_row(v, first_places) for v in rows],
                "unmet": sum(v.unmet for v in verdicts),
                "leaning": sum(v.gate and v.outcome == LEANS for v in verdicts),
                "all": len(verdicts),
            }
        )
    return groups


def _cell_counts(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """One row for each class of cells, with the number of cells within the tolerance of the class."""
    rows = []
    for grade in dict.fromkeys(v.grade for v in verdicts):
        judged_cells = [v for v in verdicts if v.grade == grade and v.outcome != OPEN]
        if not judged_cells:
            continue
        reproduced_count, leaning_count = (sum(v.outcome == x for v in judged_cells) for x in (YES, LEANS))
        within_count = reproduced_count + leaning_count
        outcome = NO if within_count < len(judged_cells) else LEANS if leaning_count else YES
        rows.append(
            {
                "grade": grade,
                "kind": MARKS[OPEN if grade == "Q" else outcome].kind,
                "word": COMPARED
                if grade == "Q"
                else f"{within_count} of {len(judged_cells)}"
                if outcome == NO
                else _word(outcome),
                "within": within_count,
                "leaning": leaning_count,
                "made": len(judged_cells),
                "asked": "not judged" if grade == "Q" else f"what class {grade} allows",
            }
        )
    return rows


def _word(outcome: str) -> str:
    return f"{MARKS[outcome].sign} {outcome}"


def _row(v: Verdict, said: dict[str, str]) -> VerdictRow:
    """A verdict with the words of its row. `said` has each reason with the row that gives it."""
    is_named = v.source and not v.id.startswith(v.source)
    first_row = said.setdefault(v.explanation, v.id) if v.explanation else v.id
    return VerdictRow(
        verdict=v,
        kind=MARKS[OPEN if v.compared else v.outcome].kind,
        word=f"{COMPARED}: {v.compared}" if v.compared else _word(v.outcome),
        asked=v.asked + (f"; reference {v.reference}" if v.reference else ""),
        measured=v.measured if v.outcome != OPEN or v.seeds else "not run",
        origin=f"{v.id}: {v.source}" if is_named else v.id,
        explanation=v.explanation if first_row == v.id else "",
        as_before=first_row if first_row != v.id else "",
    )
