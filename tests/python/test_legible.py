"""Every kind of figure can be read: on a screen of 400 pixels, in a column of 3.5 inches, in dark mode; and any nine
disciplines can be told apart, by the colour-blind and in grey too."""

from __future__ import annotations

import random
from collections.abc import Callable

import legible
import numpy as np
import pytest
from matplotlib.colors import to_hex

from tailback.core.figure_style import COLOURS, DARK, GREY, INK, NIGHT, PAPER, SMALL_WIDTH
from tailback.show import plots
from tailback.show.plots import rows
from tailback.show.plots.palette import Cast
from tailback.show.plots.published import Published

#: Type of a column of a journal is 8 to 10 pt; IEEE and ACM ask for at least 7 or 8 in figures.
LEAST_PT = 7.0
#: Browsers' smallest default size, and what the house asks of small screens.
LEAST_PX = 9.0
#: WCAG 2.2, 1.4.3 for text, and 1.4.11 for lines and marks.
TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3.0
#: CIEDE2000: 1 is just seen side by side, 2 to 3 at a glance. Lines that are not side by side need several times that.
#: In grey only lightness is left, and nine steps of it between the contrasts above are at most about 5 apart: there
#: markers and dashes help.
LEAST_DIFFERENCE = {"normal": 15.0, "protanopia": 10.0, "deuteranopia": 10.0, "tritanopia": 10.0, "grey": 4.5}

NINE = ["droptail", "red", "codel", "fq-codel", "qsdrr", "pie", "fq-pie", "cake", "dualpi2"]
T = np.linspace(0, 60, 400)
X = [25, 50, 100, 200, 400, 800, 1600, 3200]


def curve(i: int, name: str) -> plots.Curve:
    y = np.asarray([0.02 * (i + 1) * (k + 1) for k in range(len(X))])
    return plots.Curve(name, name, X, y, 0.1 * y)


def panels(n: int) -> list[plots.Panel]:
    lines = [curve(i, name) for i, name in enumerate(NINE)]
    return [plots.Panel(lines, f"Round trip {40 * (k + 1)} ms and a rather long title") for k in range(n)]


def values(i: int, n: int = 200) -> np.ndarray:
    return np.random.default_rng(i).lognormal(0.1 * i, 0.5, n)


def field(columns: int) -> plots.Field:
    mean = np.arange(4.0 * columns).reshape(4, columns) / 3 + 0.123
    return plots.Field("fq-codel", mean, np.where(np.arange(columns) % 2 == 0, 0.02, 0.3) * mean)


def completed() -> list[plots.Completions]:
    sizes = np.geomspace(1e3, 1e7, 400)
    classes = [("up to 10 kB", 0.0, 1e4), ("up to 100 kB", 1e4, 1e5), ("above 100 kB", 1e5, np.inf)]
    return [plots.Completions("web: transfers, 3 of 400 not finished", sizes, sizes / 1e6 + 0.04, classes)]


FIGURES: dict[str, Callable[[], plots.Drawing]] = {
    "curves": lambda: plots.curves(
        panels(1), "Buffer (packets)", "goodput of bbr / total goodput", legend_title="Queue"
    ),
    "curves, small multiples": lambda: plots.curves(panels(6), "Buffer (packets)", "time in the queue, median (ms)"),
    "curves, own axes": lambda: plots.curves(
        [
            plots.Panel([curve(0, "codel")], "added latency", "added latency (ms)"),
            plots.Panel([curve(1, "codel")], "b", "c"),
        ],
        "shaper's rate (% of the line's)",
        "",
        y="own",
    ),
    "curves, published": lambda: plots.curves(
        [
            plots.Panel(
                [curve(i, n) for i, n in enumerate(NINE[:3])],
                published=[Published("red", 50, 100, 0.1, 0.2), Published("codel", 200, 200, 0.2, 0.2)],
            )
        ],
        "Buffer (packets)",
        "largest / smallest throughput",
    ),
    "distributions": lambda: plots.distributions([(n, n, values(i)) for i, n in enumerate(NINE)], "goodput (Mb/s)"),
    "distributions of times": lambda: plots.distributions(
        [(n, n, 1e-3 * values(i)) for i, n in enumerate(NINE)],
        "time in the queue",
        seconds=True,
        aside=(0.04, "the round trip"),
    ),
    "cumulative": lambda: plots.cumulative(
        [
            plots.Cumulative(n, n, np.sort(values(i)), np.linspace(0, 1, 200), np.full(200, 0.02))
            for i, n in enumerate(NINE)
        ],
        "time in the queue of bottleneck (ms)",
        "packets",
    ),
    "goodput bars": lambda: plots.goodput_bars([(n, n, values(i, 30)) for i, n in enumerate(NINE)], 2.0),
    "goodputs by kind": lambda: plots.goodputs_by_kind(
        [
            (n, {"short round trip": values(1, 4), "long round trip": values(2, 4), "constant": values(3, 1)})
            for n in NINE[:3]
        ],
        2.0,
    ),
    "map": lambda: plots.heat(
        [field(5)],
        ("Buffer (packets)", ["25", "100", "400", "1600", "6400"]),
        ("Rate (Mb/s)", list("1248")),
        "loss (%)",
    ),
    "maps": lambda: plots.heat(
        [field(7)] * 3,
        ("Buffer (packets)", ["1", "10", "100", "1000", "10000", "20000", "50000"]),
        ("Queue", NINE[:4]),
        "mean queue (packets)",
    ),
    "series": lambda: plots.series(
        [(n, T, 50 + 10 * np.sin(T + i)) for i, n in enumerate(NINE[:8])],
        "queue (packets)",
        names=NINE[:8],
        halves=[np.full(len(T), 3.0)] * 8,
        legend_title="Queue",
    ),
    "many series": lambda: plots.series([(f"flow {i}", T, 10 + i + np.sin(T)) for i in range(30)], "cwnd (packets)"),
    "a queue and its model": lambda: plots.queue_against_time(
        T, 100 + 90 * np.sin(T), 200, (T[100:200], 100 + 90 * np.sin(T[100:200])), (15, 30), stars=[(20, 150)]
    ),
    "phases": lambda: plots.phases(
        [(n, T, 20 + 10 * values(i, 400)) for i, n in enumerate(NINE[:6])],
        [("idle", 0, 15), ("download", 15, 30), ("upload", 30, 45), ("both", 45, 60)],
        "round trip (ms)",
        names=NINE[:6],
    ),
    "completions": lambda: plots.completions(completed()),
    "shares": lambda: plots.shares(
        [(n, [[1.2, 1.1, 1.0], [0.8, 0.9, 1.0]]) for n in NINE], ["shortest round trip", "longest round trip"]
    ),
    "spans": lambda: plots.spans(
        [(n, 1e-3 * (i + 1), 4e-3 * (i + 1), 9e-3 * (i + 1)) for i, n in enumerate(NINE)],
        "time in the queue",
        (0.04, "the round trip"),
    ),
    "boxes": lambda: rows.boxes([(n, n, values(i)) for i, n in enumerate(NINE)], "goodput (Mb/s)"),
    "means": lambda: rows.means(
        [(n, {"cubic": (1 + i, 0.3), "bbr": (2 + i, 0.4)}) for i, n in enumerate(NINE)], "goodput (Mb/s)", 3.0, "Sender"
    ),
    "nothing": lambda: plots.series([], "queue (packets)"),
}


@pytest.mark.parametrize("kind", FIGURES)
@pytest.mark.parametrize("style", ["screen", "dark", "paper"])
def test_type_can_be_read_in_a_narrow_figure(kind: str, style: str) -> None:
    width = 3.5 if style == "paper" else SMALL_WIDTH
    with plots.on(width, style):
        fig = FIGURES[kind]()
    assert fig.get_figwidth() == width
    least = legible.least_points(fig)
    if style == "paper":
        assert least >= LEAST_PT
    assert least * legible.SCREEN_PX / (width * 72) >= LEAST_PX
    assert legible.clipped(fig) == []
    assert list(legible.overlapping(fig)) == []
    assert legible.least_contrast(fig) >= TEXT_CONTRAST


@pytest.mark.parametrize("kind", FIGURES)
def test_wide_figures_have_no_text_over_text(kind: str) -> None:
    fig = FIGURES[kind]()
    assert list(legible.overlapping(fig)) == []
    assert legible.least_contrast(fig) >= TEXT_CONTRAST
    assert legible.least_points(fig) >= LEAST_PT


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("eye", legible.EYES)
def test_nine_colours_differ_to_every_eye(mode: str, eye: str) -> None:
    colours = [pair[mode == "dark"] for pair in COLOURS.values()]
    assert len(colours) == 9 and legible.nearest(colours, eye) >= LEAST_DIFFERENCE[eye]
    ground = NIGHT if mode == "dark" else PAPER
    assert min(legible.contrast(c, ground) for c in colours) >= LINE_CONTRAST


def test_any_nine_disciplines_differ_in_colour_marker_and_line() -> None:
    draw = random.Random(7)
    for names in [NINE, *(draw.sample(list(plots.LOOKS), 9) for _ in range(300))]:
        cast = Cast()
        given = [cast.look(name, i) for i, name in enumerate(names)]
        for part in ("colour", "marker", "line"):
            assert len({str(getattr(k, part)) for k in given}) == 9, (names, part)
        # Whoever is first keeps the look that it has everywhere.
        assert given[0] == plots.LOOKS[names[0]]
        assert [cast.look(name, i) for i, name in enumerate(names)] == given


def test_a_legend_below_leaves_the_frames_their_height_and_is_not_cut() -> None:
    names = [f"a discipline of a long name, variant {i}" for i in range(8)]
    one, many = ([curve(i, name) for i, name in enumerate(x)] for x in (names[:1], names))
    with plots.on(SMALL_WIDTH):
        few, full = (
            plots.curves([plots.Panel(lines)], "Buffer (packets)", "goodput (Mb/s)", limits=(0.0, 5.0))
            for lines in (one, many)
        )
        long = plots.curves([plots.Panel(many[:2])], "Buffer (packets)", "b", reference=(1.0, "what is fair, " * 6))
    for fig in (few, full, long):
        assert legible.clipped(fig) == []
        assert fig.axes[0].get_window_extent().height / fig.dpi > 1.2


def test_a_name_with_a_hyphen_is_broken_where_it_is_wider_than_its_frame() -> None:
    with plots.on(2.0):
        fig = plots.curves([plots.Panel([curve(0, "a")], "Self-configuring-by-itself")], "x", "y")
    assert "\n" in fig.axes[0].get_title(loc="left")
    assert legible.clipped(fig) == []


def test_a_difference_of_colours_is_that_of_the_paper() -> None:
    """Three of the pairs of Sharma, Wu and Dalal (2005), table 1."""
    for one, two, expected in (
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ):
        assert legible.difference(np.array(one), np.array(two)) == pytest.approx(expected, abs=1e-4)


def test_the_measures_find_what_is_wrong() -> None:
    fig = plots.series([("a", T, T)], "queue (packets)")
    ax = fig.axes[0]
    ax.text(30, 30, "one text", fontsize=4, color="#aaaaaa")
    ax.text(30, 30, "another", fontsize=9)
    fig.text(0.98, 0.5, "reaches out of the figure")
    assert legible.least_points(fig) == 4
    assert ("one text", "another") in set(legible.overlapping(fig))
    assert legible.clipped(fig) == ["reaches out of the figure"]
    assert legible.least_contrast(fig) < 2.5


def test_colours_change_in_the_dark_and_those_of_cells_do_not() -> None:
    with plots.on(style="dark"):
        fig = FIGURES["curves"]()
        cells = FIGURES["map"]()
    light = FIGURES["curves"]()
    lines = [line.get_color() for line in fig.axes[0].lines[:9]]
    assert [to_hex(c) for c in lines] == [DARK[line.get_color()] for line in light.axes[0].lines[:9]]
    assert to_hex(fig.get_facecolor()) == NIGHT
    written = {to_hex(t.get_color()) for t in cells.axes[0].texts}
    assert written <= {"#000000", "#fefefe"}


def test_ticks_grounds_and_faint_grids_are_dark_too() -> None:
    @plots.styled
    def drawn() -> plots.Drawing:
        fig, axes = plots.grid(4, 3)
        ax = axes[0][0]
        ax.plot(T, T)
        ax.grid(axis="y", color=GREY, alpha=0.25)
        ax.text(30, 30, "on its ground", bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85})
        return fig

    with plots.on(style="dark"):
        fig = drawn()
    ax = fig.axes[0]
    ground = ax.texts[0].get_bbox_patch()
    assert to_hex(ground.get_facecolor()) == NIGHT and ground.get_edgecolor()[3] == 0
    # Ticks that are made later, as for a picture of more dots.
    ax.set_yticks(range(0, 60, 2))
    ticks = ax.yaxis.get_major_ticks()
    assert {to_hex(t.label1.get_color()) for t in ticks} == {DARK[INK]}
    assert {to_hex(t.tick1line.get_color()) for t in ticks} == {DARK[GREY]}
    assert {(to_hex(t.gridline.get_color()), t.gridline.get_alpha()) for t in ticks} == {(DARK[GREY], 0.25)}
