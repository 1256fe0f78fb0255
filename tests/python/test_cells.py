"""Published tables by cell: how cells are written, what they allow, how they are printed; statistics over intervals."""

import math

import numpy as np
import pytest
from conftest import of_study

from tailback.study import cells
from tailback.study.cells import Cell, Table, show, statistics
from tailback.study.data.published import read_published
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES, RunView
from tailback.study.measures.sources import by_interval

diagram = of_study("keshav-1991", "figures")
Group, Mark, draw = diagram.Group, diagram.Mark, diagram.draw
frames, joined, placed = diagram.frames, diagram.joined, diagram.placed
held = of_study("keshav-1991", "measures").held


def one(text, metric="throughput", **table):
    given = {"sources": ["FTP"], "class": "B", **table, "a": {metric: text}}
    return read_published({"cells": {"t": given}}, "published.toml")[0].cell


@pytest.mark.parametrize(
    "text, metric, allowed",
    [
        ("4.99 A", "throughput", 0.02),
        ("1.00 A", "delay", 0.03),
        ("1.66 (0.10)", "throughput", 0.30),  # three deviations
        ("1.60", "throughput", 0.16),  # ten per cent
        ("0.08", "drops", 0.015),  # a deviation that is not printed is at most 0.005
        ("0", "drops", 0.015),
    ],
)
def test_what_a_cell_allows(text, metric, allowed):
    c = one(text, metric)
    assert c.allowed == pytest.approx(allowed)
    assert c.meets(c.mean + allowed) and c.meets(max(0.0, c.mean - allowed))
    assert not c.meets(c.mean + allowed + 0.001)


def test_the_class_stands_behind_the_cell_or_in_its_row_or_table():
    table = {
        "sources": ["FTP", "FTP", "Telnet"],
        "class": "A",
        "none": ["drops"],
        "x": {"throughput": "1.00, 2.00 Q, -"},
        "y": {"class": "B", "tolerance": 0.25, "delay": "16.00, 3.00, 1.00 (0.5) A"},
    }
    found = read_published({"cells": {"t": table}}, "f")
    assert [n.id for n in found if n.queue == "x"] == [
        *("t/x/throughput/1", "t/x/throughput/2"),
        *("t/x/drops/1", "t/x/drops/2", "t/x/drops/3"),
    ]
    grades = {n.id: n.cell.grade for n in found}
    assert (grades["t/x/throughput/1"], grades["t/x/throughput/2"], grades["t/y/delay/1"]) == ("A", "Q", "B")
    assert grades["t/y/delay/3"] == "A"
    assert next(n for n in found if n.id == "t/y/delay/1").cell.allowed == pytest.approx(4.0)
    assert [n.id for n in found if not n.gate] == ["t/x/throughput/2"]


@pytest.mark.parametrize(
    "table, said",
    [
        ({"sources": ["FTP", "FTP"], "class": "A", "x": {"delay": "1.00"}}, "1 cells for 2 sources"),
        ({"sources": ["FTP"], "class": "A", "x": {"delay": "1,00 A"}}, "2 cells for 1 sources"),
        ({"sources": ["FTP"], "class": "A", "x": {"delay": "one"}}, '"one" is no cell'),
        ({"sources": ["FTP"], "x": {"delay": "1.00"}}, "has no class"),
    ],
)
def test_a_table_that_cannot_be_read_says_where(table, said):
    with pytest.raises(StudyError, match=said) as e:
        read_published({"cells": {"t": table}}, "published.toml")
    assert str(e.value).startswith("published.toml, [cells.t], x, delay")


def test_cells_are_printed_as_the_chapter_does():
    assert show(1.6566, 0.1049) == "1.66 (0.10)"
    assert show(1.6566, 0.0049) == "1.66"
    assert show(0.004) == "0" and show(0.0, 0.012) == "0 (0.01)"
    assert show(float("nan")) == "-"


def test_statistics_are_over_interval_means():
    mean, sd = statistics(np.array([1.0, 2.0, 3.0]))
    assert (mean, sd) == (2.0, 1.0)
    assert math.isnan(statistics(np.array([1.0]))[1])


def test_a_table_fits_the_terminal_and_leaves_zeros_out():
    rows = [("JK/FCFS", ["16.37 (1.06)"] * 8, ["16.59 (1.04)!"] * 8), ("PP/FQ", None, ["0"] * 8)]
    text = Table("Delay, s", [f"{i} FTP" for i in range(1, 9)], rows).text(80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("16.37 (1.06)") == 8 and text.count("1.04)!") == 8
    nothing = Table("Drops, 1/s", ["1 FTP"], [("G/FQ", ["0"], ["0"])])
    assert nothing.empty and nothing.text() == "Drops, 1/s: 0 for all sources and pairs (as published)"


# ------------------------------------------------------------------------------------------------- over intervals


def view(**options):
    """Two flows, three intervals of 100 s."""
    t = {
        "id": np.array(["ftp.0", "ftp.1"] * 3, dtype=object),
        "from_s": np.repeat([0.0, 100.0, 200.0], 2),
        "to_s": np.repeat([100.0, 200.0, 300.0], 2),
        "fresh_packets": np.array([9, 9, 100, 200, 300, 600]),
        "rtt_mean_s": np.array([9, 9, 1.0, 2.0, 3.0, np.nan]),
        "dropped_packets": np.array([9, 9, 5, 0, 5, 0]),
        "retransmitted_packets": np.array([9, 9, 5, 0, 3, 0]),
    }
    flows = {"id": np.array(["ftp.0", "ftp.1"], dtype=object), "group": np.array(["ftp", "ftp"], dtype=object)}
    series = {
        "what": np.array(["flows.ftp.0"] * 3, dtype=object),
        "probe": np.array(["win"] * 3, dtype=object),
        "index": np.zeros(3),
        "time_s": np.array([0.0, 150.0, 200.0]),
        "value": np.array([4.0, 2.0, 8.0]),
    }
    return RunView(None, options=options, tables={"intervals": t, "flows": flows, "series": series})


def test_the_first_interval_is_not_counted():
    assert by_interval(view(), "ftp", "throughput").tolist() == [[1.0, 3.0], [2.0, 6.0]]
    assert by_interval(view(from_s=0, to_s=200), "1", "throughput").tolist() == [[0.09, 1.0]]


def test_an_interval_without_a_sample_counts_as_no_delay():
    assert by_interval(view(), "2", "delay").tolist() == [[2.0, 0.0]]


def test_measures_of_sources():
    def of(name, klass="ftp"):
        return MEASURES[name].compute(view(), klass)

    assert of("source_throughput") == 3.0 and of("source_throughput", "1") == 2.0
    assert of("least_throughput") == 2.0 and of("most_throughput") == 4.0 and of("sum_throughput") == 6.0
    assert of("spread_throughput") == pytest.approx(2 / 3)
    assert of("swing_throughput") == pytest.approx(np.std([2, 6], ddof=1))
    assert of("unrepaired") == pytest.approx(0.01)
    assert of("repeat_share", "1") == pytest.approx(100 * 0.04 / 2.04)


def test_windows_count_for_as_long_as_they_hold():
    v, length = held(view(), "1", "win")
    assert (v.tolist(), length.tolist()) == ([4.0, 2.0, 8.0], [50.0, 50.0, 100.0])
    assert MEASURES["window"].compute(view(), "1") == pytest.approx((4 * 50 + 2 * 50 + 8 * 100) / 200)
    assert MEASURES["open_window"].compute(view(), "1") == 50.0
    assert MEASURES["window_rise"].compute(view(), "1") == 8.0 - 4.0


def test_a_number_names_a_flow():
    assert view().has("2") and not view().has("3") and not view().has("0")
    assert view().of("2").tolist() == [False, True]


# ------------------------------------------------------------------------------------------------ utility diagrams


def test_numbers_that_would_cover_each_other_are_joined():
    near = [Mark(str(i), 1.66, 2.4, 0.0, 0.0) for i in range(1, 7)]
    far = [Mark("7", 0.2, 0.06, 0.0, 0.0), Mark("8", 0.21, 0.06, 0.0, 0.0)]
    assert [x[0] for x in joined([*near, *far], 0.05, 0.05)] == ["1-6", "7, 8"]
    assert [x[0] for x in joined([near[0], *near[2:]], 0.05, 0.05)] == ["1, 3-6"]


def test_a_panel_has_its_own_axes_where_common_ones_would_squeeze_another():
    slow, fast = [Mark(i, 2.0, 100.0, 0.0, 0.0) for i in "12"], [Mark("1", 2.2, 10.0, 0.0, 0.0)]
    near = [Mark("1", 2.2, 60.0, 0.0, 0.0)]
    ends = frames([[Group("a", False, slow)], [Group("b", False, fast)]])
    assert np.array(ends) == pytest.approx(np.array([(2.53, 120.0), (2.53, 12.0)]))
    ends = frames([[Group("a", False, slow)], [Group("b", False, near)]])
    assert np.array(ends) == pytest.approx(np.array([(2.53, 120.0), (2.53, 120.0)]))


def test_a_number_that_would_cover_another_stands_a_line_above_or_below():
    def heights(y):
        here, beside = [[Mark("1", 1.0, at, 0.0, 0.0)] for at in (1.0, y)]
        upright, italic = placed([Group("a", False, here), Group("b", True, beside)], 2.0, 2.0)
        assert upright[2:] == (1.0, 1.0) and italic[2] == 1.0
        return italic[3]

    assert [heights(y) for y in (1.0, 1.1, 0.9, 0.5)] == pytest.approx([1.16, 1.16, 0.84, 0.5])


def test_boxes_are_three_deviations_each_way_and_left_out_when_too_small():
    marks = [Mark("1", 2.0, 1.0, 0.1, 0.05), Mark("2", 1.0, 1.0, 0.001, 0.001)]
    fig = draw([[Group("G/FCFS", False, marks), Group("G/FQ", True, [Mark("1", 1.5, 0.5, 0.0, math.nan)])]])
    ax = fig.axes[0]
    boxes = ax.patches
    assert len(boxes) == 1
    assert (boxes[0].get_width(), boxes[0].get_height()) == pytest.approx((0.6, 0.3))
    assert boxes[0].get_xy() == pytest.approx((1.7, 0.85))
    assert {(t.get_text(), t.get_fontstyle()) for t in ax.texts} == {("1", "normal"), ("2", "normal"), ("1", "italic")}


def test_class_a_holds_to_its_limits_whatever_the_deviation():
    assert not Cell(1.0, 0.5, "A", 0.1, "throughput").meets(1.03)
    assert Cell(1.0, 0.5, "B", 0.1, "throughput").meets(2.4)
    assert cells.LEGEND.startswith("!")
