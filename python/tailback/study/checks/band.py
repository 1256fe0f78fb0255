"""`band`: a published number that may be missed further on one side than on the other: `low` to `high` times it."""

from __future__ import annotations

from tailback.study.checks import rule
from tailback.study.measures import MEASURES


@rule("band")
def band(n: dict, judge):
    low, high = n["low"] * n["value"], n["high"] * n["value"]
    keys = ("id", "experiment", "runs", "class", "measure", "where", "gate", "note", "explanation", "source")
    s = {k: n[k] for k in keys if k in n} | {"check": [{"of": n["queue"], "between": [low, high]}]}
    where = ", ".join(f"{k} {v}" for k, v in n.get("where", {}).items())
    s["sentence"] = n.get("sentence") or f"{judge.study.discipline_title(n['queue'])}, {where}"
    v = judge.statement(s)
    m = MEASURES[n["measure"]]
    v.published = m.show(n["value"]) + (f" {m.unit}" if m.unit != "1" else "")
    v.tolerance = f"{100 * (n['low'] - 1):+g} to {100 * (n['high'] - 1):+g} %"
    return v
