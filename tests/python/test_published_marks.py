"""Published values in figures: a look of their own, in the legend, at the place where they were published."""

import matplotlib.figure
import numpy as np
import pytest
from conftest import of_study

from tailback.show.plots import Curve, Panel, goodput_bars, queue_against_time
from tailback.show.plots import curves as draw_curves
from tailback.show.plots.published import Published
from tailback.study import load as study
from tailback.study.figures import FIGURES, Drawing
from tailback.study.figures.published import published, ranges
from tailback.study.samples import Samples


def drawing(name, experiment, **output):
    s = study.load(name)
    return Drawing(s, s.experiment(experiment), output, "quick", Samples.empty())


def test_the_numbers_of_a_table_stand_where_they_were_published():
    found = published(drawing("kantawala-2005", "table-5.6", runs="bl"), "all", "ratio_mean", "hold", "queue")
    at = {(p.name, p.left): p.low for p in found if p.low == p.high}
    assert at["db", 0.5] == 1.40 and at["pb", 5.0] == 1.37 and at["hash", 2.0] == 1.73
    assert all(p.left == p.right for p in found if p.low == p.high)


def test_a_sentence_with_two_limits_is_a_band_over_its_points():
    found = published(drawing("kantawala-2005", "fig-3.8"), "long", "share", "buffer", "queue")
    bands = {(p.name, p.low, p.high): (p.left, p.right) for p in found}
    assert bands["red", 30, 50] == (200, 4167)
    assert bands["qsdrr", 70, 90] == (200, 200)


def legends(fig: matplotlib.figure.Figure) -> list[str]:
    return [t.get_text() for x in fig.legends for t in x.get_texts()]


def test_published_values_are_in_the_legend_and_change_the_picture():
    lines = [Curve("red", "RED", [100, 200], [1.0, 2.0])]
    star, band = Published("red", 200, 200, 1.5, 1.5), Published("red", 100, 200, 0.5, 1.2)
    plain = draw_curves([Panel(lines)], "buffer", "loss")
    assert legends(plain) == ["RED"]
    both = draw_curves([Panel(lines, published=[star, band])], "buffer", "loss")
    assert legends(both) == ["RED", "published", "published, with its tolerance"]
    [ax] = both.axes
    stars = [x for x in ax.lines if x.get_marker() == "*"]
    assert [x.get_xydata().tolist() for x in stars] == [[[200.0, 1.5]]]
    assert "log scale" in ax.get_xlabel()


def test_a_utility_diagram_says_which_source_is_which_and_where_the_published_ones_are():
    d, utility = drawing("keshav-1991", "scenario-2", kind="utility"), of_study("keshav-1991", "figures")
    runs = d.study.runs["scenario-2"]
    assert utility.who(d, runs) == "1-6 FTP; 7, 8 Telnet"
    places = utility.published(d, runs, "pp-fq")
    assert len(places) == 8 and places[0] == (pytest.approx(1.66), pytest.approx(2.40))
    fig = utility.draw([[utility.Group("PP/FQ", True, [utility.Mark("1", 1.6, 2.4, 0, 0)], places)]], sources="1-6 FTP")
    assert legends(fig) == ["published", "numbers: 1-6 FTP"]
    assert "utility" in FIGURES


def test_what_has_no_place_along_the_axis_stands_at_the_right_edge():
    from tailback.study.figures.against_time import Panel, draw

    line = ("window", np.array([0.0, 10.0]), np.array([3.0, 4.0]))
    plain, marked = draw([Panel("", "", [line])]), draw([Panel("", "", [line], [(18.0, 35.0), (20.0, 20.0)])])
    assert legends(plain) == []
    assert legends(marked) == ["published", "published, with its tolerance"]
    [ax] = marked.axes
    assert [x.get_xydata().tolist() for x in ax.lines if x.get_marker() == "*"] == [[[1.0, 20.0]]]
    [band] = ax.patches
    assert (band.get_y(), band.get_height()) == (18.0, 17.0)


def at(experiment, runs, measure, *classes, **labels):
    """What figures of one point say that the source has."""
    d = drawing(NAMES[runs], experiment)
    s = d.study.runs[runs]
    point = next(p for p in s.points("full") if all(p.labels[k] == v for k, v in labels.items()))
    return ranges(d, s, point, measure, *classes)


NAMES = {"cycle": "kantawala-2005", "mr-windows": "kantawala-2005", "sb": "kantawala-2005", "scenario-7": "keshav-1991"}


def test_figures_against_time_and_bars_know_what_was_published_of_their_point():
    assert at("fig-2.1", "cycle", "queue_drop", workload="standard", flows="100", buffer="4167") == [(2822, 2822)]
    assert at("fig-2.3", "cycle", "queue_drop", workload="standard", flows="200") == []
    windows = {"queue": "droptail", "buffer": "4167"}
    assert at("fig-2.6", "mr-windows", "cwnd", "long", "short", **windows) == [(3, 3)]
    assert at("fig-2.6", "mr-windows", "cwnd", "long", **windows) == []
    assert at("fig-3.3", "sb", "sd", queue="red", buffer="200") == [pytest.approx((0.08, 0.12))]
    assert at("fig-6.7", "sb", "max_min", queue="red", buffer="800") == [(1.6, 2.4)]
    assert at("scenario-7", "scenario-7", "most_window", "1", pair="jk-fcfs") == [(20, 30)]


def test_bars_have_strips_where_a_spread_was_published():
    flows = np.array([4.0, 5.0, 6.0])
    groups = [("red", "RED", flows), ("drr", "DRR", flows)]
    fig = goodput_bars(groups, 5.0, published_spreads=[[(0.35, 0.65)], []])
    strips = [[x for x in ax.patches if x.get_hatch()] for ax in fig.axes]
    assert [len(x) for x in strips] == [2, 0]
    assert sorted(round(x.get_y(), 2) for x in strips[0]) == [4.35, 5.35]
    assert legends(fig) == ["fair share, 5 Mb/s", "one standard deviation from the mean, as published"]
    assert legends(goodput_bars(groups, 5.0)) == ["fair share, 5 Mb/s"]


def test_a_queue_against_time_has_a_star_at_the_published_fall_and_cycle():
    t, q = np.arange(10.0), np.full(10, 50.0)
    fig = queue_against_time(t, q, 100.0, (t, q), (2.0, 8.0), stars=[(3.0, 40.0), (7.0, 100.0)])
    whole, stretch = fig.axes
    assert [x.get_xydata().tolist() for x in stretch.lines if x.get_marker() == "*"] == [[[3.0, 40.0]], [[7.0, 100.0]]]
    assert not [x for x in whole.lines if x.get_marker() == "*"]
    assert "published" in legends(fig)


def test_names_of_bands_end_with_those_on_the_right_and_do_not_cover_each_other():
    lines = [Curve(n, n, [100, 200, 400], [1.0, 1.0, 1.0]) for n in ("red", "codel", "pie")]
    bands = [Published(n, 100, 400, 0.5, 1.2) for n in ("red", "codel")]
    bands += [Published(n, 400, 400, 0.6, 1.2) for n in ("codel", "pie")]
    left, right = draw_curves([Panel(lines, published=bands)], "buffer (packets)", "goodput").axes[0].texts
    assert (left.get_text(), left.get_ha(), left.xy[1]) == ("red, codel", "left", 1.2)
    assert (right.get_text(), right.get_ha(), right.xy[1]) == ("codel, pie", "right", 0.6)
    assert right.xy[0] > 400
