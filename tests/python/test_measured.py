"""Expressions of columns: what comes out of each run, its interval, and the tables and figures made of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli

import tailback as tb
from tailback.core import stats
from tailback.core.results import expression
from tailback.core.results.measured import measure
from tailback.core.results.quantities import UnitShown
from tailback.core.results.written import MeansTable, ShownColumn, table_of
from tailback.show import plots
from tailback.show.plots.delays import edges

SCENARIO = """
duration = "3s"
topology = { kind = "dumbbell", rate = "10Mbps", delay = "5ms", queue = { kind = "droptail", buffer = "20 packets" } }
[flows.near]
count = 2
rtt = "20ms"
start = { kind = "uniform", to = "500ms" }
[flows.far]
count = 2
rtt = "80ms"
start = { kind = "uniform", to = "500ms" }
[record.q]
link = "bottleneck"
probes = ["queue"]
every = "50ms"
"""
AXES = {"queue": ("topology.queue.kind", ["droptail", "fq-codel"]), "rate": ("topology.rate", ["10Mbps", "5Mbps"])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("measured") / "o"
    tb.Plan.product(SCENARIO, AXES, replications=3).execute(where)
    return where


@pytest.fixture(params=["stored", "in memory"])
def results(request: pytest.FixtureRequest, folder: Path) -> tb.Results:
    if request.param == "stored":
        return tb.read_results(folder)
    return tb.Plan.product(SCENARIO, AXES, replications=3).execute()


def test_a_share_is_computed_run_by_run(results: tb.Results) -> None:
    m = measure(results, "near / (near + far)")
    sums = results.groups.to_polars().pivot("group", index="run", values="goodput_bps_sum").sort("run")
    expected = (sums["near"] / (sums["near"] + sums["far"])).to_numpy()
    assert m.rows[()] == pytest.approx(expected) and (m.unit, m.signed) == ("", False)
    assert measure(results, "near / total").rows[()] == pytest.approx(expected)
    mean, half, n = m.points(["queue"])[(), ("droptail",)]
    mine = expected[[q == "droptail" for q in results.runs["queue"]]]
    assert (mean, half, n) == (pytest.approx(np.mean(mine)), pytest.approx(stats.ci95(mine)), 6)


def test_functions_are_over_the_rows_of_a_run(results: tb.Results) -> None:
    flows = results.flows.to_polars()
    for name, of in (
        ("jain", lambda x: stats.jain(x)),
        ("sum", sum),
        ("min", min),
        ("max", max),
        ("mean", stats.mean),
    ):
        found = measure(results, f"{name}(flows.goodput_bps[group=far])").rows[()]
        by_run = [flows.filter((pl.col("run") == r) & (pl.col("group") == "far"))["goodput_bps"] for r in range(12)]
        assert found == pytest.approx([of(x.to_list()) for x in by_run]), name


def test_a_ratio_to_a_baseline_is_paired_by_seed(results: tb.Results) -> None:
    m = measure(results, "links.utilisation[bottleneck]")
    ratio = m.against("queue", "droptail")
    (values,) = m.rows.values()
    (found,) = ratio.rows.values()
    runs = list(results.runs.rows())
    for i, run in enumerate(runs):
        (j,) = [
            k
            for k, r in enumerate(runs)
            if (r["queue"], r["rate"], r["seed"]) == ("droptail", run["rate"], run["seed"])
        ]
        assert found[i] == pytest.approx(values[i] / values[j])


@pytest.mark.parametrize(
    ("text", "words", "unit"),
    [
        ("near / total", "goodput of near / total goodput", ""),
        ("links.sojourn_p95_s[bottleneck]", "time in the queue, 95th percentile, at bottleneck", "s"),
        ("jain(flows.goodput_bps)", "Jain's index of goodput", ""),
        ("near - far", "goodput of near - goodput of far", "bit/s"),
        ("2 * links.utilisation[bottleneck]", "2 * utilisation at bottleneck", ""),
    ],
)
def test_what_an_expression_is_called(folder: Path, text: str, words: str, unit: str) -> None:
    m = measure(tb.read_results(folder), text)
    assert (m.title, m.unit) == (words, unit) and m.signed == (" - " in text)


@pytest.mark.parametrize("text", ["", "links.", "near /", "(near", "jain(2)", "a b", "links.nothing", "x.y", "1 +* 2"])
def test_what_is_no_expression_is_said(folder: Path, text: str) -> None:
    with pytest.raises(expression.ExpressionError):
        measure(tb.read_results(folder), text)


def test_delays_of_every_run_are_as_its_percentiles_say(results: tb.Results) -> None:
    delays = results.delays.to_polars().filter(
        (pl.col("what") == "link.bottleneck") & (pl.col("quantity") == "sojourn")
    )
    links = results.links.to_polars().filter(pl.col("name") == "bottleneck")
    for row in links.iter_rows(named=True):
        mine = delays.filter(pl.col("run") == row["run"])
        share = (mine["packets"].cum_sum() / mine["packets"].sum()).to_numpy()
        at = int(np.searchsorted(share, 0.5))
        assert mine["from_s"][at] <= row["sojourn_p50_s"] <= mine["to_s"][at]
        assert mine["to_s"][-1] >= row["sojourn_max_s"] >= mine["from_s"][-1]
    known = set(edges().tolist())
    assert all(min(abs(x - k) for k in known) < 1e-12 for x in delays["to_s"].unique().to_list())
    figure = plots.delays(results, "sojourn[bottleneck]", rate="10Mbps")
    lines = figure.axes[0].lines
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["droptail", "fq-codel"]
    assert all(line.get_ydata()[-1] == pytest.approx(1) for line in lines)
    assert figure.axes[0].collections, "several seeds have a band"
    with pytest.raises(ValueError, match="no row has link = other; there are bottleneck"):
        plots.delays(results, "sojourn[other]")


def test_recorded_quantities_are_means_over_seeds(folder: Path) -> None:
    results = tb.read_results(folder)
    chosen = {"queue": "droptail", "rate": "5Mbps"}
    figure = plots.plot(results, "queue", **chosen)
    t, v = figure.axes[0].lines[0].get_data()
    series = results.series.to_polars().filter((pl.col("queue") == "droptail") & (pl.col("rate") == "5Mbps"))
    expected = series.group_by("time_s").agg(pl.col("value").mean()).sort("time_s")
    assert t == pytest.approx(expected["time_s"].to_numpy()) and v == pytest.approx(expected["value"].to_numpy())
    first = plots.plot(results, "queue", replication="0", **chosen)
    only = series.filter(pl.col("replication") == 0)["value"].to_numpy()
    assert first.axes[0].lines[0].get_ydata() == pytest.approx(only)
    shares = plots.plot(results, "queue", cdf=True, **chosen).axes[0]
    x, y = shares.lines[0].get_data()
    assert list(x) == sorted(set(series["value"].to_list())) and y[-1] == pytest.approx(1)


def test_tables_for_papers_have_empty_cells(folder: Path, cli: Cli) -> None:
    results = tb.read_results(folder)
    made = table_of(
        results,
        [
            "near / total",
            "flows.timeouts[near.0] / 0 * near".replace("flows", "groups").replace("[near.0]", "[near]"),
            "links.utilisation[bottleneck]",
        ],
    )
    for form in ("tex", "md", "csv"):
        text = made.text(form)
        assert "nan" not in text.lower() and "None" not in text and text.count("\n") >= 5, form
    assert r"\begin{tabular}{llrrr}" in made.text("tex") and r"\%" in made.text("tex") and r"$\pm$" in made.text("tex")
    rows = made.text("md").splitlines()
    assert rows[0].startswith("| queue | rate |") and len(rows) == 2 + 4 and "|  |" in rows[2]
    for name in ("a.tex", "a.md", "a.csv"):
        done = cli("export", folder, "near / total", "links.utilisation[bottleneck]", "--to", name)
        assert done.returncode == 0 and (cli.cwd / name).is_file(), done.stderr
    done = cli("export", folder, "links", "--to", "a.tex")
    assert done.returncode == 2 and "name some, such as links.COLUMN" in done.stderr


def test_figures_of_words_boxes_and_small_multiples(folder: Path, cli: Cli) -> None:
    results = tb.read_results(folder)
    assert len(plots.over(results, "near / total", "queue").axes[0].get_yticklabels()) == 2
    multiples = plots.over(results, "links.utilisation[bottleneck]", "rate", by="queue")
    assert [ax.get_title(loc="left") for ax in multiples.axes] == ["queue: droptail", "queue: fq-codel"]
    assert multiples.axes[0].get_xlabel() == "rate (Mb/s)"
    assert len(plots.boxes(results, "flows.goodput_bps", rate="5Mbps").axes[0].get_yticklabels()) == 2
    args = ["links.utilisation[bottleneck]", "--over", "rate", "--over", "queue", "--width", "89mm", "--style", "dark"]
    done = cli("plot", folder, *args, "--to", "m.svg")
    assert done.returncode == 0, done.stderr
    width = float((cli.cwd / "m.svg").read_text().split('width="')[1].split("pt")[0])
    assert width == pytest.approx(89 / 25.4 * 72, abs=0.1)
    wrong = cli("plot", folder, "goodput", "--width", "3 miles")
    assert wrong.returncode == 2 and "such as 3.5in or 89mm" in wrong.stderr


@pytest.mark.parametrize("text", ["(" * 3000, "(" * 3000 + "near" + ")" * 3000, "+".join(["near"] * 3000)])
def test_an_expression_without_end_is_refused(text: str) -> None:
    with pytest.raises(expression.ExpressionError, match="write at most 200"):
        expression.parse(text)


def test_odd_labels_stay_in_their_row() -> None:
    """A line's end in a label breaks no table, and a bracket at the start of a row is no length for LaTeX."""
    unit = UnitShown("", 1.0)
    table = MeansTable(["[a]\nb"], [("[x]\ny|\\",), ("z",)], [ShownColumn("c\n|d", unit, [(1.0, math.nan)] * 2)])
    rows = table.text("tex").splitlines()
    assert rows[2].startswith("{[}a{]} b & ") and rows[4].startswith("{[}x{]} y|\\textbackslash{} & ")
    assert len(rows) == 8
    assert [row.count("|") - row.count("\\|") for row in table.text("md").splitlines()] == [3, 3, 3, 3]
