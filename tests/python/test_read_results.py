"""Results as others read them: exported tables, and points held against one another."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from conftest import Cli
from test_sweep import BUFFER, QUEUE, SCENARIO

import tailback as tb
from tailback.core import stats
from tailback.core.results.difference import CompareError
from tailback.show import plots


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results") / "DIR"
    axes = {"queue": QUEUE, "buffer": BUFFER}
    tb.load_sweep({"scenario": SCENARIO, "axis": axes, "replications": 3}).execute(out)
    return out


def test_a_table_is_exported_whole_and_as_means(folder: Path, cli: Cli) -> None:
    links = tb.read_results(folder).links
    assert cli("export", folder, "links", "--to", "links.csv").returncode == 0
    rows = list(csv.DictReader((cli.cwd / "links.csv").open()))
    assert len(rows) == len(links) == 24 and list(rows[0]) == links.columns
    assert [float(r["utilisation"]) for r in rows] == links["utilisation"].tolist()
    assert cli("export", folder, "links", "--to", "links.parquet").returncode == 0
    assert tb.read_parquet(cli.cwd / "links.parquet") == links
    assert cli("export", folder, "links", "--means", "--to", "means.csv").returncode == 0
    means = list(csv.DictReader((cli.cwd / "means.csv").open()))
    mine = links.where(queue="codel", buffer="40", name="bottleneck")["utilisation"]
    (row,) = (r for r in means if (r["queue"], r["buffer"], r["name"]) == ("codel", "40", "bottleneck"))
    assert float(row["utilisation"]) == pytest.approx(np.mean(mine))
    assert float(row["utilisation_ci95"]) == pytest.approx(stats.ci95(mine))
    assert len(means) == 8 and "seed" not in row and "run" not in row


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("lines", "--to", "x.csv"), "there is no table lines; tables are runs, flows"),
        (("links", "--to", "x.xls"), "should end in .csv, .parquet"),
        (("runs", "--means", "--to", "x.csv"), "does not apply to the table runs"),
        (("links", "bulk / total", "--to", "x.csv"), "links is a whole table; export it alone"),
    ],
)
def test_what_cannot_be_exported_is_said(folder: Path, cli: Cli, args: tuple[str, ...], said: str) -> None:
    done = cli("export", folder, *args)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_points_are_compared_seed_by_seed(folder: Path, cli: Cli) -> None:
    results = tb.read_results(folder)
    found = tb.compare_points(results, "queue", "droptail", columns=["utilisation"])
    of = {d.row: d for d in found if d.table == "links"}
    assert set(of) == {
        f"{b}, codel minus droptail, {n}" for b in ("10", "40") for n in ("bottleneck", "bottleneck.reverse")
    }
    x, y = (results.links.where(queue=q, buffer="40", name="bottleneck")["utilisation"] for q in ("droptail", "codel"))
    d = of["40, codel minus droptail, bottleneck"]
    assert d.seeds == 3 and d.difference == pytest.approx(np.mean(y - x)) and d.ci95 == pytest.approx(stats.ci95(y - x))
    done = cli("report", folder, "--across", "queue=droptail", "--column", "utilisation")
    assert done.returncode == 0 and "codel minus droptail, bottleneck" in done.stdout
    with pytest.raises(CompareError, match="there is no label 'rate'; labels are queue, buffer"):
        tb.compare_points(results, "rate", "1")
    done = cli("report", folder, "--across", "queue=red")
    assert done.returncode == 2 and "give one of the labels of queue: droptail, codel" in done.stderr


def test_points_are_drawn_over_one_axis_and_over_two(folder: Path, cli: Cli) -> None:
    results = tb.read_results(folder)
    fig = plots.over(results, "links.utilisation", "buffer", name="bottleneck")
    lines = {line.get_label(): line for line in fig.axes[0].lines}
    assert set(lines) == {"droptail", "codel"}
    mine = results.links.where(queue="codel", buffer="40", name="bottleneck")["utilisation"]
    assert dict(zip(*lines["codel"].get_data(), strict=True))[40.0] == pytest.approx(100 * np.mean(mine))
    map_ = plots.over(results, "links.utilisation", "buffer", "queue", name="bottleneck")
    values = map_.axes[0].images[0].get_array()
    assert values.shape == (2, 2) and values[1, 1] == pytest.approx(100 * np.mean(mine))
    assert [t.get_text() for t in map_.axes[0].get_yticklabels()] == ["droptail", "codel"]
    made = cli("plot", folder, "links.utilisation", "--over", "buffer", "--where", "name=bottleneck", "--to", "a.png")
    assert made.returncode == 0 and (cli.cwd / "a.png").is_file(), made.stderr


def test_values_are_drawn_as_they_are_spread(folder: Path, cli: Cli) -> None:
    results = tb.read_results(folder)
    fig = plots.spread(results, "flows.goodput_bps", buffer="40")
    lines = {line.get_label(): line for line in fig.axes[0].lines}
    values = np.sort(results.flows.where(queue="codel", buffer="40")["goodput_bps"])
    x, y = lines["codel"].get_data()
    assert len(lines) == 2 and x[1:] == pytest.approx(values / 1e6)
    assert fig.axes[0].get_xlabel() == "goodput (Mb/s)" and y[-1] == 1 and y[0] == 0
    assert cli("plot", folder, "flows.goodput_bps", "--to", "b.svg").returncode == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("links.utilisation", "--over", "rate"), "axes are queue, buffer"),
        (("links.utilisation", "--over", "buffer", "--where", "queue=red"), "no row has queue = red; there are drop"),
        (("flows.goodput_bps", "--where", "buffer=7"), "no row has buffer = 7; there are 10, 40"),
        (("links.utilisation /", "--over", "buffer"), "expected a number, a column or a parenthesis, found the end"),
        (("jain(2)", "--over", "buffer"), "draw a TABLE.COLUMN"),
        (("mode(flows.goodput_bps)",), "there is no function mode; there are"),
        (("nosuch.x",), "there is no table nosuch"),
        (("total / red", "--over", "buffer"), "no row has group = red; there are bulk"),
        (("links.use", "--over", "buffer"), 'links has no column "use"'),
        (("flows.goodput_bps", "--over", "buffer"), "leave --over out"),
        (("goodput", "--over", "buffer"), "draw a TABLE.COLUMN"),
        (("links.utilisation", "--over", "buffer", "--where", "nome=x"), 'there is no "nome"'),
    ],
)
def test_what_cannot_be_drawn_is_said(folder: Path, cli: Cli, args: tuple[str, ...], said: str) -> None:
    done = cli("plot", folder, *args)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
