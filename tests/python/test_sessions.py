"""Completion times and media as people meet them: printed, stored, compared, drawn and reported."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tailback as tb
from tailback.show import plots, report

SCENARIO = """
name = "two kinds"
duration = "30s"
[link.line]
from = "a"
to = "b"
rate = "2Mbps"
delay = "10ms"
queue = { kind = "droptail", buffer = "50 packets" }

[sessions.people]
kind = "web"
clients = 3
think = { kind = "exponential", mean = "2s" }
start = { kind = "uniform", to = "1s" }
tcp = { connection = "two-way" }

[flows.file]
start = "2s"
traffic = { kind = "transfer", size = "50kB" }

[flows.call]
traffic = { kind = "voice", speech = "on-off" }

[flows.film]
traffic = { kind = "video", rate = "500kbps" }
"""


@pytest.fixture(scope="module")
def result() -> tb.Result:
    return tb.run(SCENARIO, replications=2)


def test_completions_are_those_of_the_transfers(result: tb.Result) -> None:
    one = result.transfers.where(run=0)
    times = np.asarray([t for g, t in zip(one.to_list("group"), one["completion_s"], strict=True) if g == "people"])
    rows = list(result.completions.where(run=0).rows())
    row = next(r for r in rows if (r["group"], r["what"], r["sizes"]) == ("people", "transfers", "all"))
    done = times[np.isfinite(times)]
    assert row["count"] == len(times) and row["unfinished"] == len(times) - len(done)
    for q, column in ((50, "completion_p50_s"), (95, "completion_p95_s"), (99, "completion_p99_s")):
        assert row[column] == pytest.approx(np.percentile(done, q), rel=1e-12)
    classes = [r for r in rows if r["group"] == "people" and r["what"] == "transfers" and r["sizes"] != "all"]
    assert sum(r["count"] for r in classes) == row["count"] and len(classes) >= 3
    assert {(r["group"], r["what"]) for r in rows} == {
        ("all", "transfers"),
        ("all", "pages"),
        ("people", "transfers"),
        ("people", "pages"),
        ("file", "transfers"),
    }


def test_a_row_over_all_groups(result: tb.Result) -> None:
    rows = {r["sizes"]: r for r in result.completions.where(run=0).where(group="all", what="transfers").rows()}
    one = result.transfers.where(run=0)
    done = [t for t in one["completion_s"] if np.isfinite(t)]
    assert rows["all"]["count"] == len(one) and rows["all"]["completion_p95_s"] == pytest.approx(
        np.percentile(done, 95)
    )
    slow = [s for s in one["slowdown"] if np.isfinite(s)]
    assert rows["all"]["slowdown_p95"] == pytest.approx(np.percentile(slow, 95), rel=1e-12)
    # A group of this name keeps it.
    named = tb.run(SCENARIO.replace("flows.file", "flows.all"), duration="10s").completions
    assert [r["count"] for r in named.where(group="all", sizes="all").rows()] == [1]


def test_classes_of_sizes_are_chosen(result: tb.Result) -> None:
    tenths = tb.run(SCENARIO, overrides={"size_classes": "deciles"}, replications=2).completions.where(
        group="people", what="transfers"
    )
    for run in (0, 1):
        rows = [r for r in tenths.where(run=run).rows() if r["sizes"] != "all"]
        assert [r["sizes"] for r in rows] == [f"decile {i}" for i in range(1, 11)]
        assert all(a["bytes_to"] == b["bytes_over"] for a, b in itertools.pairwise(rows))
    chosen = tb.run(SCENARIO, overrides={"size_classes": ["2kB", "30kB"]}).completions.where(
        group="people", what="transfers"
    )
    assert [r["sizes"] for r in chosen.rows()] == ["all", "to 2 kB", "to 30 kB", "over 30 kB"]
    for wrong, said in (
        (["30kB", "2kB"], '"2kB" is not larger than the size before it'),
        (["thirds"], '"thirds" is no size in bytes'),
        (["3 packets"], '"3 packets" is no size in bytes'),
        (["0B"], '"0B" is no size in bytes'),
        ([f"{n}B" for n in range(1, 102)], "101 classes of sizes are too many"),
    ):
        with pytest.raises(tb.ScenarioError, match=said):
            tb.run(SCENARIO, overrides={"size_classes": wrong})


def test_many_groups_print_the_rows_over_all() -> None:
    files = "".join(f'[flows.f{n}]\ntraffic = {{ kind = "transfer", size = "9kB" }}\n' for n in range(7))
    said = tb.run(SCENARIO.split("[sessions")[0] + files, duration="5s").summary(80)
    assert "completions of all 7 groups together" in said and "f3   transfers" not in said
    # A group that is called "all" is one of eight, not all of them.
    own = files + files.replace("flows.f0", "flows.all").split("[flows.f1]")[0]
    said = tb.run(SCENARIO.split("[sessions")[0] + own, duration="5s").summary(80)
    assert "groups together" not in said and "f3" in said


def test_they_are_printed(result: tb.Result) -> None:
    said = result.summary(80)
    assert all(len(line) <= 80 for line in said.splitlines())
    for word in ("times of", "time p50", "unfinished", "to 10 kB", "pages", "call.0", "film.0", "freezes", "jitter"):
        assert word in said, word
    # Where nothing was asked for nothing is said of it.
    quiet = tb.run(SCENARIO.split("[sessions")[0] + "[flows.f]\n", duration="2s").summary()
    assert "time p50" not in quiet and "jitter" not in quiet


def test_they_are_in_the_document(result: tb.Result) -> None:
    found = result.to_dict()
    assert {r["what"] for r in found["completions"]} == {"transfers", "pages"}
    assert found["datagrams"][0]["id"] == "call.0" and "loss_rate_ci95" in found["datagrams"][0]
    assert found["frames"][0]["frames"] > 0
    assert "completions" not in tb.run(SCENARIO.split("[sessions")[0] + "[flows.f]\n", duration="2s").to_dict()


def test_they_are_stored_and_compared(result: tb.Result, tmp_path) -> None:
    result.save(tmp_path / "a")
    again = tb.load_result(tmp_path / "a")
    for name in ("transfers", "pages", "completions", "datagrams", "frames"):
        a, b = getattr(result, name), getattr(again, name)
        assert len(a) > 0 and a.units == b.units and repr(list(a)) == repr(list(b)), name
    other = tb.run(SCENARIO.replace("50 packets", "10 packets"), replications=2)
    found = {(d.table, d.row, d.column) for d in tb.compare(result, other)}
    assert ("completions", "people, transfers, all", "completion_p99_s") in found
    assert ("datagrams", "call.0", "delay_mean_s") in found and ("frames", "film.0", "delay_mean_s") in found


def test_they_are_drawn(result: tb.Result, cli, tmp_path) -> None:
    figure = result.plot("completions")
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert any(t.startswith("people: pages") for t in titles) and any(t.startswith("file: transfers") for t in titles)
    labels = {ax.get_xlabel() for ax in figure.axes}
    assert labels == {"size", "completion time"}
    # Legends stand beside the frames, not on the data.
    figure.draw_without_rendering()
    for ax in figure.axes:
        if ax.get_legend() is not None:
            assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    result.save(tmp_path / "o")
    r = cli("plot", "o", "completions", "--to", "c.svg")
    assert r.returncode == 0 and (tmp_path / "c.svg").is_file(), r.stderr
    empty = tb.run(SCENARIO.split("[sessions")[0] + "[flows.f]\n", duration="2s").plot("completions")
    assert "asked for anything" in empty.axes[0].texts[0].get_text().replace("\n", " ")


def test_shares_of_unfinished_ones_stay_below_one() -> None:
    panel = plots.Completions("x", [1e3, 2e3, 3e3, 4e3], [0.1, 0.2, np.nan, np.nan], [("to 10 kB", 1e3 - 1, 1e4)])
    right = plots.completions([panel]).axes[1]
    assert max(right.lines[0].get_ydata()) == 0.5
    nothing = plots.completions([plots.Completions("x", [1e3], [np.nan], [])])
    assert "nothing was completed" in nothing.axes[0].texts[0].get_text().replace("\n", " ")


@pytest.mark.slow
def test_they_are_in_the_report(tmp_path) -> None:
    tb.run(SCENARIO, out=tmp_path / "o")
    page = report.write(tmp_path / "o").read_text(encoding="utf-8")
    for word in ("Completion times, by size", "Frames of video", "Datagrams", "to 100 kB"):
        assert word in page, word
    assert (tmp_path / "o" / "figures" / "completions.svg").is_file()
