"""Means over replications are the same wherever they are shown, and a run without a row counts as zero."""

import math
import re
from pathlib import Path

import tailback as tb
from tailback.core.results.document import document
from tailback.show import report

# So few losses that some runs have none of a reason, and most have no timeout.
RARE = """
name = "rare"
duration = "2s"
marking = false
[link.b]
from = "a"
to = "c"
rate = "10Mbps"
delay = "10ms"
queue = { kind = "red", buffer = "20 packets", min_threshold = "10 packets", max_threshold = "15 packets" }
impair = [{ kind = "random", probability = 0.002 }]
[flows.f]
count = 2
start = { kind = "uniform", to = "1s" }
"""


def cells(page: str, caption: str) -> list[list[str]]:
    """The rows of a table of the report."""
    table = next(t for t in re.findall(r"<table.*?</table>", page, re.DOTALL) if caption in t)
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    text = [[re.sub(r"<[^>]+>", " ", c) for c in re.findall(r"<t[dh].*?</t[dh]>", r, re.DOTALL)] for r in rows]
    return [[" ".join(c.replace("\u00a0", " ").split()) for c in row] for row in text]


def test_a_run_without_a_loss_counts_in_its_mean(tmp_path: Path) -> None:
    result = tb.run(RARE, replications=10, out=tmp_path / "o")
    per_run = [sum(r["packets"] for r in result.losses.where(run=i).rows()) for i in range(10)]
    reasons = {(r["place"], r["reason"]) for r in result.losses.rows()}
    thin = {k for k in reasons if len({r["run"] for r in result.losses.where(place=k[0], reason=k[1]).rows()}) < 10}
    assert thin, "the scenario is meant to have a reason that not every run has"
    shown = cells(report.write(tmp_path / "o").read_text(encoding="utf-8"), "Drops and marks")[1:]
    assert {(r[2], r[3]) for r in shown} == reasons
    assert math.isclose(sum(float(r[4].split(" ")[0]) for r in shown), sum(per_run) / 10, rel_tol=0.02)
    link = next(x for x in document(result)["links"] if x["name"] == "b")
    assert math.isclose(sum(link["drops_by_reason"].values()), sum(per_run) / 10)


def test_what_is_below_one_is_not_shown_as_zero(tmp_path: Path) -> None:
    result = tb.run(RARE, replications=10, out=tmp_path / "o")
    mean = float(result.groups["timeouts"].mean())
    assert 0 < mean < 2
    groups = cells(report.write(tmp_path / "o").read_text(encoding="utf-8"), "Groups of flows")
    column = next(i for i, head in enumerate(groups[0]) if head.startswith("Timeouts"))
    value, _, half = groups[1][column].partition("±")
    assert math.isclose(float(value), mean, abs_tol=0.05) and float(half) > 0
