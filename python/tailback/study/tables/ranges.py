"""`kind = "range"` of an experiment's output: the least and the greatest value of each measure over the values of an
axis.

[[experiment.output]]
kind = "range"
over = "phase"                    # the axis that is collapsed
classes = ["ftp", "telnet"]
measures = ["source_throughput", "source_delay"]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tailback.core.store.paths import table_file, write_csv
from tailback.study.figures import Drawing
from tailback.study.measures import MEASURES
from tailback.study.tables import table


@table("range")
def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]:
    """One row for each discipline or pair and each class. Every seed counts."""
    study, experiment, output, samples = d.study, d.experiment, d.output, d.samples
    measures = [MEASURES[name] for name in output["measures"]]
    values_of: dict[tuple[str, str], list[list[float]]] = {}
    for runs, p in d.points():
        name = next(p.labels[a.name] for a in runs.axes if a.disciplines)
        for klass in output.get("classes", ["all"]):
            samples_of_row = values_of.setdefault((name, klass), [[] for _ in measures])
            for into, measure in zip(samples_of_row, measures, strict=True):
                samples_of_point = samples.get(runs.name, p.key, klass, measure.name)
                into.extend([] if samples_of_point is None else samples_of_point[~np.isnan(samples_of_point)])
    rows, plain_rows = [], []
    for (name, klass), samples_of_row in values_of.items():
        ends = [(min(x), max(x)) if x else (float("nan"),) * 2 for x in samples_of_row]
        shown = [f"{measure.show(a)} to {measure.show(b)}" for measure, (a, b) in zip(measures, ends, strict=True)]
        rows.append([study.discipline_title(name), klass, *shown])
        plain_rows.append([study.discipline_title(name), klass, *(x for pair in ends for x in pair)])
    path = table_file(out, experiment.id, number)
    columns = [f"{measure.name} {end} ({measure.unit})" for measure in measures for end in ("least", "most")]
    write_csv(path, [["pair", "class", *columns], *plain_rows])
    table_entry = {
        "caption": output.get("caption", ""),
        "heads": [["Pair", ""], ["Class", ""], *([measure.title, measure.unit] for measure in measures)],
        "rows": rows,
        "text_columns": 2,
        "file": str(path.relative_to(out)),
        "note": f"The least and the most over all values of {output['over']} and all seeds.",
        "plain": True,
    }
    return [table_entry]
