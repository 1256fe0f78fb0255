"""Published values in figures: a look of their own, in the legend, at the place where they were published."""

import matplotlib.figure
import pytest

from tailback.plots import Curve
from tailback.plots import curves as draw_curves
from tailback.plots.published import Published
from tailback.study import load as study
from tailback.study.figures import Drawing, load, utility
from tailback.study.figures.published import published
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
    assert bands["red", 30, 50] == (800, 4167)
    assert bands["qsdrr", 80, 100] == (800, 4167)


def legends(fig: matplotlib.figure.Figure) -> list[str]:
    return [t.get_text() for x in fig.legends for t in x.get_texts()]


def test_published_values_are_in_the_legend_and_change_the_picture():
    lines = [Curve("red", "RED", [100, 200], [1.0, 2.0])]
    star, band = Published("red", 200, 200, 1.5, 1.5), Published("red", 100, 200, 0.5, 1.2)
    plain = draw_curves([("", lines)], "buffer", "loss")
    assert legends(plain) == ["RED"]
    both = draw_curves([("", lines)], "buffer", "loss", published=[[star, band]])
    assert legends(both) == ["RED", "published", "published, with its tolerance"]
    [ax] = both.axes
    stars = [x for x in ax.lines if x.get_marker() == "*"]
    assert [x.get_xydata().tolist() for x in stars] == [[[200.0, 1.5]]]
    assert "log scale" in ax.get_xlabel()


def test_a_utility_diagram_says_which_source_is_which_and_where_the_published_ones_are():
    d = drawing("keshav-1991", "scenario-2", kind="utility")
    runs = d.study.runs["scenario-2"]
    assert utility.who(d, runs) == "1-6 FTP; 7, 8 Telnet"
    places = utility.published(d, runs, "pp-fq")
    assert len(places) == 8 and places[0] == (pytest.approx(1.66), pytest.approx(2.40))
    fig = utility.draw([[utility.Group("PP/FQ", True, [utility.Mark("1", 1.6, 2.4, 0, 0)], places)]], sources="1-6 FTP")
    assert legends(fig) == ["published", "numbers: 1-6 FTP"]
    assert "utility" in load()
