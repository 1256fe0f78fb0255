"""`kind = "claims"` of an experiment's output: disciplines, the claims about them, and whether these hold.

[[experiment.output]]
kind = "claims"
[[experiment.output.row]]
name = "BLUE"
queue = "blue"                             # its declaration has its measure, decision and action
says = "little buffer; swings"             # the source, in short
statements = ["s-blue-buffer"]             # the statements that show it; without any it is not shown here
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailback.core.store.paths import table_file, write_csv
from tailback.core.verdict import LEANS, NO, OPEN, YES
from tailback.study.figures import Drawing
from tailback.study.judge import Judge
from tailback.study.tables import table

#: The outcomes of statements in words.
OUTCOMES = {YES: "supported", LEANS: "supported in part", NO: "not supported", OPEN: "not run"}
_PARTS = ("Measure: ", "Function: ", "Action: ")


@table("claims")
def build(d: Drawing, out: Path, number: int) -> list[dict[str, Any]]:
    judge = Judge(d.study, d.samples)
    statements = {s.id: s for s in d.study.statements}
    rows = []
    for r in d.output["row"]:
        outcomes = []
        for name in r.get("statements", []):
            outcomes.append(f"{name}: {OUTCOMES[judge.statement(statements[name]).outcome]}")
        rows.append([r["name"], *parts(r["queue"]), r["says"], "; ".join(outcomes) or "not shown"])
    heads = ["Discipline", "Measures", "Decides by", "Does", "What the survey says", "Shown here"]
    path = table_file(out, d.experiment.id, number)
    write_csv(path, [heads, *rows])
    table_entry = {
        "caption": d.output.get("caption", ""),
        "heads": [[h, ""] for h in heads],
        "rows": rows,
        "text_columns": len(heads),
        "file": str(path.relative_to(out)),
        "plain": True,
    }
    return [table_entry]


def parts(queue: str) -> list[str]:
    """The measure, the function and the action of a discipline, from its declaration."""
    import tailback as tb

    summary = next(
        m["summary"] for f in tb.describe() if f["family"] == "queue" for m in f["models"] if m["name"] == queue
    )
    texts = []
    for at, part in enumerate(_PARTS):
        text_left = summary.partition(part)[2]
        for later in _PARTS[at + 1 :]:
            text_left = text_left.partition(later)[0]
        texts.append(text_left.strip().rstrip("."))
    return texts
