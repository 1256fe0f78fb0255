"""A result as the JSON document of `tailback run --json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tailback import _core, stats

# Columns that say which run a row is of.
_PLAN = ("run", "replication", "seed", "key")


def document(result: Any) -> dict[str, Any]:
    """Means over replications (each number of a group or link with `_ci95`, the half-width of its interval), and, if
    there are several, each replication on its own. What is not a number is None."""
    r, scenario = result.results, result.scenario
    runs = [row for row in r.runs.rows() if row["status"] == "done"]
    reports = list(r.reports)
    costs = {row["run"]: reports[row["run"]]["cpu_s"] if row["run"] < len(reports) else 0.0 for row in runs}
    several = len(runs) > 1
    d: dict[str, Any] = {
        "scenario": scenario.name,
        "version": _core.__version__,
        "seed": runs[0]["seed"] if runs else scenario.seed,
        "duration_s": scenario.duration_s,
        "warmup_s": scenario.warmup_s,
        "digest": scenario.digest,
        "flows": averages(r.flows, ("id", "group"), ci=False),
        "groups": averages(r.groups, ("group",), ci=several),
        "links": _links(r, runs, several),
        "engine": {
            "packet_hops": sum(row["packet_hops"] for row in runs),
            "events": sum(row["events"] for row in runs),
            "cpu_s": math.fsum(costs.values()),
            "peak_rss_bytes": _core.peak_rss_bytes(),
        },
    }
    if several:
        d["replications"] = [
            {
                "seed": row["seed"],
                "flows": averages(r.flows.where(run=row["run"]), ("id", "group"), ci=False),
                "groups": averages(r.groups.where(run=row["run"]), ("group",), ci=False),
                "links": _links(r, [row], False),
                "engine": {"packet_hops": row["packet_hops"], "events": row["events"], "cpu_s": costs[row["run"]]},
            }
            for row in runs
        ]
    cleaned: dict[str, Any] = clean(d)
    return cleaned


def averages(table: Any, keys: Sequence[str], ci: bool) -> list[dict[str, Any]]:
    """The rows of a table averaged over runs, in the order in which they first occur."""
    if not len(table):
        return []
    columns = {n: table.to_list(n) for n in table.columns if n not in _PLAN}
    rows: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(zip(*(columns[k] for k in keys), strict=True)):
        rows.setdefault(key, []).append(i)
    out = []
    for key, at in rows.items():
        row: dict[str, Any] = dict(zip(keys, key, strict=True))
        for name, values in columns.items():
            if name in keys:
                continue
            mine = [values[i] for i in at]
            if isinstance(mine[0], str) or len(mine) == 1:
                row[name] = mine[0] if len(set(mine)) == 1 else most_common(mine)
                continue
            e = stats.estimate(mine)
            row[name] = e.mean
            if ci:
                row[f"{name}_ci95"] = e.half_width
        out.append(row)
    return out


def alike(*averaged: Sequence[dict[str, Any]]) -> bool:
    """Whether no number of these averages has an interval: the replications are all alike."""
    return not any(v > 0 for rows in averaged for row in rows for k, v in row.items() if k.endswith("_ci95"))


def most_common(words: Sequence[Any]) -> Any:
    """The value that occurs most; the first of several."""
    return max(dict.fromkeys(words), key=words.count)


def _links(r: Any, runs: Sequence[dict[str, Any]], ci: bool) -> list[dict[str, Any]]:
    numbers = [row["run"] for row in runs]
    links = averages(r.links.where(run=numbers) if numbers else r.links[:0], ("name",), ci)
    by_name = {link["name"]: link for link in links}
    for link in links:
        link["drops_by_reason"] = {}
        link["marks_by_reason"] = {}
    for row in r.losses.where(run=numbers).rows() if numbers and len(r.losses) else ():
        kind = "drops_by_reason" if row["event"] == "drop" else "marks_by_reason"
        reasons = by_name[row["link"]][kind]
        # Means over runs; a run without such a loss has no row. One run keeps whole numbers.
        share = row["packets"] if len(numbers) == 1 else row["packets"] / len(numbers)
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + share
    return links


def clean(value: Any) -> Any:
    """The value without what JSON cannot say: NaN and infinities become None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [clean(v) for v in value]
    return value
