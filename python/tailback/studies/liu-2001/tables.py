"""`kind = "changes"` of an experiment's output: each change of a quantity that was recorded on change; first seed.

[[experiment.output]]
kind = "changes"
pair = "self"
probe = "dynamic"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tailback.core.store.paths import table_file, write_csv
from tailback.study.figures import Drawing
from tailback.study.tables import table

from .measures.assured import COLOURS

#: The most rows that the report shows; the file has all rows.
MOST = 60


@table("changes")
def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]:
    """The table with one row for each change, in the order of time."""
    experiment, output, rows = d.experiment, d.output, []
    for runs, p in d.points():
        run = d.view(runs, p) if output["pair"] in p.labels.values() else None
        if run is None:
            continue
        for i, colour in enumerate(COLOURS):
            t, x = run.probe(output["probe"], f"link.{run.link}", i)
            keep = np.append(True, np.diff(x) != 0) if len(x) else np.array([], bool)
            rows += list(zip(t[keep].tolist(), [colour] * int(keep.sum()), x[keep].tolist(), strict=True))
    rows.sort()
    path = table_file(out, experiment.id, number)
    write_csv(path, [["time (s)", "colour", output["probe"]], *rows])
    more_text = f" The first {MOST} of {len(rows)}; the file has all." if len(rows) > MOST else ""
    table_entry = {
        "caption": output.get("caption", "") + more_text,
        "heads": [["Time", "s"], ["Colour", ""], [output["probe"].capitalize(), ""]],
        "rows": [[f"{t:.3f}", c, f"{x:.5g}"] for t, c, x in rows[:MOST]],
        "text_columns": 2,
        "file": str(path.relative_to(out)),
        "note": "",
        "plain": True,
    }
    return [table_entry]
