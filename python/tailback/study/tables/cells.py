"""`kind = "cells"` of an experiment's output: each published table beside ours, for terminal, report and CSV.

[[experiment.output]]
kind = "cells"
runs = "scenario-2"          # one set of runs; it has an axis of pairs or disciplines
metrics = ["throughput", "delay", "drops", "retransmissions"]
sources = ["FTP", "Telnet"]  # titles, if nothing is published
title = "background on"      # shown beside the metric
published = "scenario-1"     # compared with the published cells of another set, without judgement
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailback.core.store.paths import table_file, write_csv
from tailback.core.verdict import LEANS, OPEN, YES, Verdict
from tailback.study import cells
from tailback.study.checks.cell import CellNumber, pooled
from tailback.study.errors import StudyError
from tailback.study.figures import Drawing
from tailback.study.measures.sources import METRICS
from tailback.study.tables import table

NOTE = (
    "Mean of the interval means, in brackets their standard deviation, of all seeds; deviations below 0.005 are not "
    f"shown. {cells.MISS} outside what the cell's class allows; {cells.LEANING} within it, but over a quarter off; "
    f"{cells.DIFFERS} differs, but is ruled by phase and only compared."
)


@table("cells")
def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]:
    """The tables of one output, one for each metric. The tables are written as one CSV file with a row for each
    cell."""
    study, experiment, output, samples = d.study, d.experiment, d.output, d.samples
    runs = study.runs[output.get("runs", experiment.runs[0])]
    is_compared = "published" in output
    published_runs = output.get("published", runs.name)
    published_numbers = {
        (n.queue, n.metric, n.class_): n
        for n in study.published
        if isinstance(n, CellNumber) and n.experiment == experiment.id and n.runs == published_runs
    }
    axis = next(a for a in runs.axes if a.disciplines)
    stored = {key for name, key in samples.stored if name == runs.name}
    stored_pairs = [x for x in axis.labels("full") if runs.key_of(x) in stored]
    titles = {n.class_: n.title for n in published_numbers.values()}
    titles |= {str(i + 1): source for i, source in enumerate(output.get("sources", ()))}
    if not titles:
        raise StudyError(f"experiment {experiment.id}: an output of cells needs sources where nothing is published")
    sources = sorted(titles, key=int)
    tables, plain_rows = [], []
    for metric in output["metrics"]:
        m = METRICS[metric]
        table_title = f"{m.title}, {m.unit}" + (f", {output['title']}" if "title" in output else "")
        rows = []
        for pair_name in stored_pairs:
            their_cells, our_cells = [], []
            for source in sources:
                values = pooled(samples, runs.name, runs.key_of(pair_name), source, metric)
                mean, sd = cells.statistics(values) if values is not None else (float("nan"), float("nan"))
                n = published_numbers.get((pair_name, metric, source))
                c = n.cell if n else None
                their_cells.append(cells.show(c.mean, c.sd) if c else "-")
                our_cells.append(cells.show(mean, sd) + cells.mark(c, mean, is_compared))
                plain_rows.append(
                    [study.discipline_title(pair_name), metric, source, titles[source]]
                    + ([c.mean, c.sd, c.grade, c.allowed] if c else [None] * 4)
                    + [mean, sd, "" if c is None else "yes" if c.meets(mean) else "no"]
                )
            is_published = any(t != "-" for t in their_cells)
            rows.append((study.discipline_title(pair_name), their_cells if is_published else None, our_cells))
        tables.append(cells.Table(table_title, [f"{source} {titles[source]}" for source in sources], rows))
    path = table_file(out, experiment.id, number)
    head = ["pair", "metric", "source", "kind", "published", "published sd", "class", "allowed"]
    write_csv(path, [[*head, "measured", "measured sd", "within"], *plain_rows])
    return [_entry(t, str(path.relative_to(out))) for t in tables if t.rows]


def _entry(t: cells.Table, file: str) -> dict[str, Any]:
    rows = []
    for pair, theirs, ours in t.rows:
        if theirs is not None:
            rows.append([pair, "published", *theirs])
        rows.append([pair if theirs is None else "", "tailback", *ours])
    return {
        "caption": t.text() if t.empty else t.title,
        "heads": [["Pair", ""], ["", ""], *([s, ""] for s in t.sources)],
        "rows": [] if t.empty else rows,
        "text_columns": 2,
        "file": file,
        "note": NOTE,
        "cells": {"title": t.title, "sources": t.sources, "rows": t.rows},
    }


def text(entry: dict[str, Any], width: int) -> str:
    """A table of a section for a terminal."""
    c = entry["cells"]
    return cells.Table(c["title"], c["sources"], [tuple(r) for r in c["rows"]]).text(width)


def counts(verdicts: list[Verdict]) -> list[tuple[str, int, int, int]]:
    """(class, the numbers of cells that are reproduced, that lean, and that were measured), in the order of classes."""
    class_counts = []
    for grade in cells.CLASSES:
        measured_cells = [v for v in verdicts if v.grade == grade and v.outcome != OPEN]
        if measured_cells:
            outcomes = [v.outcome for v in measured_cells]
            class_counts.append((grade, outcomes.count(YES), outcomes.count(LEANS), len(measured_cells)))
    return class_counts
