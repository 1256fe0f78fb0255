"""A result as the JSON document of `tailback run --json`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tailback import _core
from tailback.core.results.columns import for_people
from tailback.core.results.means import PLAN, averages
from tailback.core.text.json_text import clean, json_text

#: The columns that identify a flow, which are the first of its row.
FLOW_KEYS = ("id", "group")
#: The number of flows that are turned into text at once.
AT_ONCE = 10_000
#: Memory of one value of a row in bytes, with the name of its column: as an object plus text, and as text alone.
VALUE_BYTES, TEXT_BYTES = 300.0, 60.0
#: The only empty list of a document without its flows.
_NO_FLOWS = '"flows": []'


def parts(result: Any) -> Iterator[str]:
    """The document as JSON in parts, so that the flows of one run are never all in memory as text."""
    flows = result.results.flows
    if len(result.results.runs) != 1:
        yield json_text(document(result))
        return
    head, tail = json_text(_without_flows(result)).split(_NO_FLOWS)
    columns = [*FLOW_KEYS, *(n for n in flows.columns if n not in (*PLAN, *FLOW_KEYS))]
    yield head + _NO_FLOWS[:-1]
    for at in range(0, len(flows), AT_ONCE):
        yield (", " if at else "") + flows[at : at + AT_ONCE].json_rows(columns)[1:-1]
    yield "]" + tail


def bytes_of(results: Any) -> float:
    """The largest memory that the document takes, in bytes."""
    columns = len(results.flows.columns)
    if len(results.runs) == 1:
        return TEXT_BYTES * min(len(results.flows), AT_ONCE) * columns
    return VALUE_BYTES * len(results.flows) * columns


def document(result: Any) -> dict[str, Any]:
    """Means over replications; each number of a group or link also has `_ci95`, the half-width of its interval. If
    there are several replications, each is listed too. NaN becomes None."""
    tree = _without_flows(result)
    r = result.results
    runs = [row for row in r.runs.rows() if row["status"] == "done"]
    tree["flows"] = _flows(r.flows)
    for row, replication in zip(runs, tree.get("replications", ()), strict=False):
        replication["flows"] = _flows(r.flows.where(run=row["run"]))
    return tree


def _without_flows(result: Any) -> dict[str, Any]:
    """The document with empty lists of flows."""
    r, scenario = result.results, result.scenario
    runs = [row for row in r.runs.rows() if row["status"] == "done"]
    reports = list(r.reports)
    costs = {row["run"]: reports[row["run"]]["cpu_s"] if row["run"] < len(reports) else 0.0 for row in runs}
    has_several = len(runs) > 1
    document: dict[str, Any] = {
        "scenario": scenario.name,
        "version": _core.__version__,
        "seed": runs[0]["seed"] if runs else scenario.seed,
        "duration_s": scenario.duration_s,
        "warmup_s": scenario.warmup_s,
        "digest": scenario.digest,
        "marking": scenario.marking,
        **({"settled": scenario.settled} if scenario.settled else {}),
        "flows": [],
        "groups": averages(r.groups, ("group",), ci=has_several),
        "links": _links(r, runs, has_several),
        **_seldom(r, has_several),
        "engine": {
            "packet_hops": sum(row["packet_hops"] for row in runs),
            "events": sum(row["events"] for row in runs),
            "cpu_s": math.fsum(costs.values()),
            "peak_rss_bytes": _core.peak_rss_bytes(),
        },
    }
    if has_several:
        document["replications"] = [
            {
                "seed": row["seed"],
                "flows": [],
                "groups": averages(r.groups.where(run=row["run"]), ("group",), ci=False),
                "links": _links(r, [row], False),
                "engine": {"packet_hops": row["packet_hops"], "events": row["events"], "cpu_s": costs[row["run"]]},
            }
            for row in runs
        ]
    cleaned: dict[str, Any] = clean(document)
    return cleaned


def _flows(table: Any) -> list[dict[str, Any]]:
    """The rows of flows, without NaN. The rows are cleaned column by column, since there may be a million rows."""
    rows = averages(table, FLOW_KEYS, ci=False)
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        if isinstance(values[0], float) and not all(map(math.isfinite, values)):
            for row in rows:
                row[name] = clean(row[name])
    return rows


def _seldom(r: Any, ci: bool) -> dict[str, Any]:
    """The tables that most scenarios leave empty, if they have rows."""
    seldom = [t for t in for_people() if t.seldom and len(getattr(r, t.name))]
    return {t.name: averages(getattr(r, t.name), t.keys, ci) for t in seldom}


def _links(r: Any, runs: Sequence[dict[str, Any]], ci: bool) -> list[dict[str, Any]]:
    run_numbers = [row["run"] for row in runs]
    links = averages(r.links.where(run=run_numbers) if run_numbers else r.links[:0], ("name",), ci)
    by_name = {link["name"]: link for link in links}
    for link in links:
        link["drops_by_reason"] = {}
        link["marks_by_reason"] = {}
    lost = r.losses.where(run=run_numbers) if run_numbers else r.losses[:0]
    for row in averages(lost, ("link", "event", "place", "reason", "colour"), ci=False, runs=runs):
        kind = "drops_by_reason" if row["event"] == "drop" else "marks_by_reason"
        reasons = by_name[row["link"]][kind]
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + row["packets"]
    return links
