"""The contents of a comparison's page as tables for data frames."""

from __future__ import annotations

from typing import Any

from tailback import _core
from tailback.apps.ask.ranking import Ranking
from tailback.core.results.frame import Named, frame


def tables(ranking: Ranking[Any]) -> dict[str, _core.Table]:
    """`places`, a row for each candidate, and `differences`, a row for each pair and measure."""
    queues = [p.queue for p in ranking.places]
    columns: list[Named] = [("queue", "", "the candidate", queues)]
    for name, doc in (
        ("rank", "its place"),
        ("better", "how often it is better than another"),
        ("worse", "how often it is worse"),
    ):
        columns.append((name, "1", doc, [getattr(p, name) for p in ranking.places]))
    for m in ranking.measures:
        estimates = [ranking.estimate(m.name, q) for q in queues]
        unit = "1" if m.unit == "%" else m.unit
        columns.append((m.name, unit, m.doc, [e.mean for e in estimates]))
        columns.append((f"{m.name}_ci95", unit, "half of its 95 % interval", [e.half_width for e in estimates]))
    docs = {
        "measure": "what differs",
        "a": "one candidate",
        "b": "the other",
        "difference": "a minus b, mean over seeds",
        "half_width": "half of the 99 % interval of the difference",
        "better": "the better of the two; empty if the difference is not significant or does not matter",
    }
    differences = [(k, "", doc, [getattr(d, k) for d in ranking.differences]) for k, doc in docs.items()]
    return {"places": frame("places", columns), "differences": frame("differences", differences)}
