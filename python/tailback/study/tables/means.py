"""`kind = "table"` of an experiment's output: means with 95 % intervals, with one row for each point and class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailback.core.store.paths import table_file, write_csv
from tailback.study.figures import Drawing
from tailback.study.measures import MEASURES, Measure
from tailback.study.model import AxisByMode, Point, Runs
from tailback.study.samples import Samples
from tailback.study.tables import table
from tailback.study.tolerance import OverSeeds


@table("table")
def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]:
    """Writes the table as CSV, and returns the data for the report."""
    study, experiment, output, samples = d.study, d.experiment, d.output, d.samples
    classes, measures = output.get("classes", ["all"]), [MEASURES[m] for m in output["measures"]]
    chosen_points = d.points()
    axes = list({a.name: a for r, _ in chosen_points for a in r.axes}.values())
    varied_axes = [a for a in axes if len({p.labels.get(a.name) for _, p in chosen_points}) > 1 or a.disciplines]
    has_several = len({r.name for r, _ in chosen_points}) > 1
    rows, plain_rows = [], []
    for runs, p in chosen_points:
        for klass in classes:
            estimates = [_estimate(samples, runs, p, klass, m) for m in measures]
            if all(v is None for v in estimates):
                continue
            at = [p.labels.get(a.name, "-") for a in varied_axes]
            head = [study.discipline_title(x) if a.disciplines else x for a, x in zip(varied_axes, at, strict=True)]
            head += [runs.name] if has_several else []
            head += [klass] if len(classes) > 1 else []
            cells = ["-" if v is None else v.shown(m) for v, m in zip(estimates, measures, strict=True)]
            n = max((v.n for v in estimates if v), default=0)
            rows.append([*head, *cells, str(n)])
            plain_rows.append([*head, *(x for v in estimates for x in ((v.mean, v.half) if v else (None, None))), n])
    heads = _heads(varied_axes, has_several, len(classes) > 1)
    path = table_file(out, experiment.id, number)
    names = [n if not u else f"{n} ({u})" for n, u in heads]
    for m in measures:
        unit = "" if m.unit == "1" else f" ({m.unit})"
        names += [f"{m.name}{unit}", f"{m.name} ci95{unit}"]
    write_csv(path, [[*names, "seeds"], *plain_rows])
    of_measures = [[m.title, "" if m.unit == "1" or m.unit in m.title else m.unit] for m in measures]
    table_entry = {
        "caption": output.get("caption", ""),
        "heads": [*heads, *of_measures, ["Seeds", ""]],
        "rows": rows,
        "text_columns": len(heads),
        "file": str(path.relative_to(out)),
    }
    return [table_entry]


def _estimate(samples: Samples, runs: Runs, p: Point, klass: str, m: Measure) -> OverSeeds | None:
    x = samples.get(runs.name, p.key, klass, m.name)
    return OverSeeds.of(x) if x is not None else None


def _heads(varied: list[AxisByMode], several: bool, classes: bool) -> list[list[str]]:
    """The name and the unit of each column that names a row."""
    heads = [[a.title if not a.disciplines else "Discipline", a.unit] for a in varied]
    heads += [["Runs", ""]] if several else []
    heads += [["Class", ""]] if classes else []
    return heads
