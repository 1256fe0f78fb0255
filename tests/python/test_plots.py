"""Figures: the same bytes each time, marks that differ, legends off the data."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from tailback.show import plots
from tailback.show.plots import palette


def curve(name, values, half=None):
    return plots.Curve(name, name.upper(), [100, 1000, 5000], values, half)


def make():
    lines = [curve(n, [0.1 * i, 0.2 * i, 0.15 * i], [0.01, 0.02, 0.01]) for i, n in enumerate(plots.LOOKS, 1)]
    return plots.curves([plots.Panel(lines, "a"), plots.Panel(lines[:2], "b")], "buffer (packets)", "sd / fair share")


@pytest.mark.slow
def test_a_figure_is_written_with_the_same_bytes_twice(tmp_path):
    first, second = plots.save(make(), tmp_path / "a"), plots.save(make(), tmp_path / "b")
    assert [p.suffix for p in first] == [".png", ".pdf", ".svg"]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes(), a.suffix
    for p in first:
        text = p.read_bytes()
        assert b"CreationDate" not in text and b"Matplotlib v" not in text and b"<dc:date>" not in text


def test_disciplines_differ_in_colour_marker_and_line():
    looks = list(plots.LOOKS.values())
    assert len({(k.colour, k.marker) for k in looks + plots.OTHERS}) == len(looks + plots.OTHERS)
    # Those of one study differ in each of the two.
    cast = palette.Cast()
    study = [cast.look(n) for n in ("droptail", "red", "blue", "drr", "tdrr", "qsdrr", "dtdrr", "dsdrr")]
    for differs in ("colour", "marker"):
        assert len({str(getattr(k, differs)) for k in study}) == len(study)


def test_every_discipline_has_a_look_of_its_own():
    import tailback as tb

    known = {m["name"] for f in tb.describe() if f["family"] in ("queue", "aqm") for m in f["models"]}
    assert known - set(plots.LOOKS) == set(), "a declared discipline has a look"
    assert plots.look("codel") != plots.look("red")


def test_series_have_the_colours_of_bars():
    import tailback as tb

    base = """
    duration = "1s"
    topology = { kind = "dumbbell", rate = "10Mbps", delay = "5ms", queue = { kind = "red", buffer = "20 packets" } }
    [flows.f]
    count = 2
    [record.q]
    link = "bottleneck"
    probes = ["queue"]
    every = "10ms"
    """
    kinds = ["droptail", "codel", "red"]
    results = tb.Plan.product(base, {"queue": ("topology.queue.kind", kinds)}).execute()
    bars, lines = plots.plot(results, "goodput"), plots.plot(results, "queue")
    wanted = [to_rgb(plots.LOOKS[k].colour) for k in kinds]
    assert [to_rgb(ax.patches[0].get_facecolor()) for ax in bars.axes[:3]] == wanted
    assert [to_rgb(x.get_color()) for x in lines.axes[0].lines] == wanted
    one = tb.run(base, overrides=["topology.queue.kind=codel"])
    assert to_rgb(one.plot("queue").axes[0].lines[0].get_color()) == to_rgb(plots.LOOKS["codel"].colour)
    assert to_rgb(one.plot("goodput").axes[0].patches[0].get_facecolor()) == to_rgb(plots.LOOKS["codel"].colour)
    with pytest.raises(ValueError, match="no row has queue = pie; there are droptail, codel, red"):
        plots.plot(results, "queue", queue="pie")
    with pytest.raises(ValueError, match='no label "buffer"; labels are queue'):
        plots.plot(results, "queue", buffer="20")


def test_empty_figures_say_why():
    for fig in (
        plots.curves([plots.Panel([])], "x", "y"),
        plots.curves([plots.Panel([curve("red", [np.nan] * 3)])], "x", "y"),
        plots.goodput_bars([], 0.0),
        plots.series([], "y"),
        plots.queue_against_time([], []),
    ):
        fig.draw_without_rendering()
        assert any("nothing to draw" in t.get_text() for ax in fig.axes for t in ax.texts)


def test_savefig_cuts_nothing_off_and_notebooks_get_a_picture(tmp_path):
    long = [(f"a label of a recorded quantity that is rather long, number {i}", [0, 1], [i, i]) for i in range(6)]
    fig = plots.series(long, "queue (packets)")
    fig.savefig(tmp_path / "f.png", dpi=100)
    with open(tmp_path / "f.png", "rb") as f:
        width = int.from_bytes(f.read(24)[16:20], "big")
    fig.draw_without_rendering()
    legend = fig.legends[0].get_window_extent()
    # Six long labels stand in as many columns as fit.
    assert legend.width <= fig.bbox.width and width >= legend.width
    assert fig._repr_png_().startswith(b"\x89PNG")


def test_legends_stand_outside_the_axes_and_axes_have_units(tmp_path):
    fig = make()
    fig.draw_without_rendering()
    legend = fig.legends[0].get_window_extent()
    for ax in fig.axes:
        assert ax.get_legend() is None
        assert not ax.get_window_extent().overlaps(legend)
        assert "(packets)" in ax.get_xlabel()


def test_values_above_the_frame_are_marked_at_its_edge():
    fig = plots.curves([plots.Panel([curve("droptail", [1.5, np.inf, 9.0])])], "x (packets)", "y", limits=(0.8, 6.0))
    marks = [line for line in fig.axes[0].lines if line.get_linestyle() == "None"]
    assert list(marks[0].get_xdata()) == [1000, 5000]
    assert set(marks[0].get_ydata()) == {6.0}


def test_goodput_bars_sort_and_draw_the_fair_share():
    fig = plots.goodput_bars([("red", "RED", [3, 1, 2]), ("drr", "DRR", [2, 2, 2])], 2.0)
    heights = [b.get_height() for b in fig.axes[0].patches]
    assert heights == [1, 2, 3]
    assert "2 Mb/s" in fig.legends[0].get_texts()[0].get_text()


def test_queue_against_time_draws_the_model_over_the_stretch():
    t = np.linspace(0, 10, 101)
    fig = plots.queue_against_time(t, 50 + 50 * np.sin(t), 100, ([2, 3, 8], [100, 10, 100]), (1, 9))
    assert len(fig.axes) == 2
    assert [x.get_text() for x in fig.legends[0].get_texts()] == ["simulation", "buffer, 100 packets", "model"]


def test_plots_of_a_result():
    import tailback as tb

    scenario = """
    duration = "2s"
    [link.b]
    from = "a"
    to = "c"
    rate = "10Mbps"
    delay = "10ms"
    queue = { kind = "droptail", buffer = "20 packets" }
    [flows.f]
    count = 3
    [record.q]
    link = "b"
    probes = ["queue"]
    every = "10ms"
    [record.w]
    flows = "f"
    probes = ["cwnd"]
    every = "50ms"
    """
    result = tb.run(scenario)
    queue, cwnd, goodput = (plots.plot(result, what) for what in ("queue", "cwnd", "goodput"))
    assert isinstance(queue, Figure)
    assert queue.axes[0].get_ylabel() == "queue (packets)"
    assert len(cwnd.axes[0].lines) == 3
    assert len(goodput.axes[0].patches) == 3
    # What the table of flows and the summary call goodput: payload.
    heights = [p.get_height() for p in goodput.axes[0].patches]
    assert heights == pytest.approx(sorted(result.flows["goodput_bps"] / 1e6))
    with pytest.raises(ValueError, match="recorded: cwnd, queue"):
        plots.plot(result, "srtt")


@pytest.mark.parametrize(
    ("buffer", "labels"),
    [
        ("40 packets", ["average (packets)", "probability", "srtt (ms)", "outstanding (kB)"]),
        ("60KB", ["average (kB)", "probability", "srtt (ms)", "outstanding (kB)"]),
    ],
)
def test_a_recorded_quantity_has_the_unit_its_model_declares(buffer, labels):
    import tailback as tb

    net = tb.dumbbell(flows=1, queue=tb.queue("red", buffer=buffer, min_threshold="20%", max_threshold="50%"))
    net.record(link="bottleneck", probes=["average", "probability"], every="50ms")
    net.record(flows="bulk", probes=["srtt", "outstanding"], every="50ms")
    result = net.run(duration="1s")
    probes = ("average", "probability", "srtt", "outstanding")
    assert [plots.plot(result, p).axes[0].get_ylabel() for p in probes] == labels
    # Without the scenario several models may be meant.
    assert plots.plot(result.results, "srtt").axes[0].get_ylabel() == "srtt (ms)"
    assert plots.plot(result.results, "outstanding").axes[0].get_ylabel() == "outstanding"


def test_shares_have_a_row_a_discipline_and_say_what_is_missing():
    rows = [("Drop-tail", [[2.9, 3.0, 2.95], [0.9, 0.9, 0.91]]), ("DRR", [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])]
    ax = plots.shares(rows, ["unresponsive", "TCP"]).axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["Drop-tail", "DRR"]
    assert ax.get_yticks()[0] > ax.get_yticks()[1], "the first row is on top"
    assert "fair shares" in ax.get_xlabel()
    assert "no discipline" in plots.shares([], ["a"]).axes[0].texts[0].get_text()
