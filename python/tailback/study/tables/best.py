"""`kind = "best"` of an experiment's output: the point along an axis at which a measure is greatest, and the first good
point.

[[experiment.output]]
kind = "best"
along = "lower"                    # the axis that is searched
most = "power"                     # the measure that is greatest at the best point
knee = { utilisation = 98 }        # the second point: the least `shows` at which this measure has this value or more
shows = "mean_queue"               # the measure that is shown for both points
measures = ["power", "utilisation", "mean_queue"]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tailback.core.store.paths import table_file, write_csv
from tailback.study.figures import Drawing
from tailback.study.measures import MEASURES
from tailback.study.tables import table
from tailback.study.tolerance import OverSeeds


@table("best")
def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]:
    """One row for each discipline and place. The choice is made seed by seed, so that it has an interval."""
    output, shown_measure = d.output, MEASURES[d.output["shows"]]
    ((knee, least_knee),) = output["knee"].items()
    groups: dict[tuple[str, ...], list[dict[str, np.ndarray]]] = {}
    axes: list[str] = []
    for runs, p in d.points():
        axes = [a for a in p.labels if a != output["along"]]
        samples_of = {m: d.get(runs, p, "all", m) for m in (output["most"], knee, shown_measure.name)}
        if all(v is not None for v in samples_of.values()):
            key = tuple(p.labels[a] for a in axes)
            groups.setdefault(key, []).append({m: v for m, v in samples_of.items() if v is not None})
    rows, plain_rows = [], []
    for key, points in groups.items():
        n = min(len(v) for p in points for v in p.values())
        table = {m: np.array([p[m][:n] for p in points]) for m in (output["most"], knee, shown_measure.name)}
        shown_at_most = table[shown_measure.name][np.argmax(table[output["most"]], axis=0), np.arange(n)]
        good = np.where(table[knee] >= least_knee, table[shown_measure.name], np.inf).min(axis=0)
        estimates = (
            [OverSeeds.of(shown_at_most), OverSeeds.of(good[np.isfinite(good)])]
            if np.isfinite(good).any()
            else [OverSeeds.of(shown_at_most)]
        )
        names = [d.title(x) if x in d.study.pairs or x in d.study.disciplines else x for x in key]
        cells = [e.shown(shown_measure) for e in estimates] + ["none"] * (2 - len(estimates))
        rows.append([*names, *cells, str(n)])
        plain_rows.append(
            [*names, *(x for e in estimates for x in (e.mean, e.half)), *[None] * (4 - 2 * len(estimates)), n]
        )
    path = table_file(out, d.experiment.id, number)
    most, unit = MEASURES[output["most"]].title.lower(), shown_measure.unit
    ends = [f"at the greatest {most}", f"least with {MEASURES[knee].title.lower()} {least_knee:g} %"]
    columns = [f"{shown_measure.name} {e}{what} ({unit})" for e in ends for what in ("", " ci95")]
    write_csv(path, [[*axes, *columns, "seeds"], *plain_rows])
    table_entry = {
        "caption": output.get("caption", ""),
        "heads": [*([a, ""] for a in axes), *([f"{shown_measure.title} {e}", unit] for e in ends), ["Seeds", ""]],
        "rows": rows,
        "text_columns": len(axes),
        "file": str(path.relative_to(out)),
    }
    return [table_entry]
