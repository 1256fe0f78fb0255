"""Figures fit for a paper: curves over a parameter with bands, sorted goodputs, series against time.

Every function takes plain arrays and returns a matplotlib figure; `save` writes it as PNG, PDF and SVG, the same bytes
each time. Disciplines keep their colour, marker and line from figure to figure: the palette is that of Okabe and Ito,
which the colour-blind tell apart, and markers and lines differ as well, for print without colour. Legends stand beside
or above the axes, never on the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

INK, GREY, FAINT = "#222222", "#6b6b6b", "#d9d9d9"


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: Any = "-"


#: How known disciplines look; others take the looks of `_REST` in turn.
LOOKS = {
    "droptail": Look("#222222", "o", "-"),
    "red": Look("#D55E00", "s", (0, (5, 1.5))),
    "blue": Look("#0072B2", "^", (0, (1.2, 1.2))),
    "drr": Look("#E69F00", "D", (0, (7, 1.5, 1.2, 1.5))),
    "tdrr": Look("#CC79A7", "v", (0, (3, 1.5))),
    "qsdrr": Look("#009E73", "P", "-"),
    "dtdrr": Look("#56B4E9", "X", (0, (5, 1.5, 1.2, 1.5, 1.2, 1.5))),
    "dsdrr": Look("#8B4513", "h", (0, (9, 2))),
}
_REST = [
    Look("#0072B2", "o", "-"),
    Look("#D55E00", "s", (0, (5, 1.5))),
    Look("#009E73", "^", (0, (1.2, 1.2))),
    Look("#CC79A7", "D", (0, (7, 1.5, 1.2, 1.5))),
    Look("#E69F00", "v", "-"),
    Look("#56B4E9", "P", (0, (5, 1.5))),
    Look("#222222", "X", (0, (3, 1.5))),
]

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.06,
    "svg.hashsalt": "tailback",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "figure.dpi": 100,
}


def look(name: str, index: int = 0) -> Look:
    return LOOKS.get(name, _REST[index % len(_REST)])


def grid(width: float, height: float, rows: int = 1, columns: int = 1, **kw: Any) -> tuple[Figure, np.ndarray]:
    """A figure of this many frames, and its axes as rows of columns; call it inside a function that is `styled`."""
    fig = Figure(figsize=(width, height), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, **kw)
    return fig, axes


def styled(f):
    """Make a figure under our style, whatever the caller's settings are, and leave those alone."""
    import functools

    @functools.wraps(f)
    def inner(*args, **kw):
        with matplotlib.rc_context(STYLE):
            return f(*args, **kw)

    return inner


def save(fig: Figure, stem: str | Path, kinds: Sequence[str] = ("png", "pdf", "svg")) -> list[Path]:
    """Write `stem`.png (200 dpi), .pdf and .svg. Equal figures give equal bytes: no dates, no versions in the files."""
    nothing = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
    }
    written = []
    with matplotlib.rc_context(STYLE):
        # Laid out and measured once for all kinds; each would do it again, at a third of the time of a study's report.
        fig.draw_without_rendering()
        fig.set_layout_engine("none")
        frame = fig.get_tightbbox().padded(matplotlib.rcParams["savefig.pad_inches"])
        for kind in kinds:
            path = Path(f"{stem}.{kind}")
            path.parent.mkdir(parents=True, exist_ok=True)
            fig.savefig(path, format=kind, dpi=200, bbox_inches=frame, metadata=nothing.get(kind))
            written.append(path)
    return written


# ------------------------------------------------------------------------------------------------- curves over x


@dataclass(frozen=True)
class Curve:
    """A line: values over x, each with the half width of its interval (NaN or None: no band)."""

    name: str
    label: str
    x: Sequence[float]
    y: Sequence[float]
    half: Sequence[float] | None = None


@styled
def curves(
    panels: Sequence[tuple[str, Sequence[Curve]]],
    xlabel: str,
    ylabel: str,
    log_x: bool = True,
    reference: tuple[float, str] | None = None,
    limits: tuple[float, float] | None = None,
    share_y: bool = True,
    ylabels: Sequence[str] | None = None,
) -> Figure:
    """Curves with bands, one panel or several that share their axes; the legend stands on the right.

    More than three stand in rows. Panels of different quantities (`share_y=False`) have a label each.
    """
    n = len(panels)
    columns = n if n <= 3 else 2 if n == 4 else 3
    rows = math.ceil(n / columns)
    size = (6.4, 3.3) if n == 1 else (3.1 * columns + 1.3, 3.3 if rows == 1 else 2.6 * rows)
    fig, frames = grid(*size, rows, columns, sharey=share_y, sharex=True)
    for ax in frames.flat[n:]:
        ax.set_axis_off()
    axes = [list(frames.flat[:n])]
    xs = sorted({float(x) for _, list_ in panels for c in list_ for x in c.x})
    handles: dict[str, Any] = {}
    for ax, (title, list_) in zip(axes[0], panels, strict=True):
        for i, c in enumerate(list_):
            k = look(c.name, i)
            x, y = np.asarray(c.x, float), np.asarray(c.y, float)
            order = np.argsort(x)
            x, y = x[order], y[order]
            drawn = np.where(np.isfinite(y), y, np.nan)
            line = ax.plot(
                x,
                drawn,
                color=k.colour,
                marker=k.marker,
                linestyle=k.line,
                markeredgecolor="white",
                markeredgewidth=0.4,
                label=c.label,
                zorder=3,
            )[0]
            handles.setdefault(c.label, line)
            if c.half is not None:
                h = np.nan_to_num(np.asarray(c.half, float)[order])
                if np.any(h > 0):
                    ax.fill_between(x, drawn - h, drawn + h, color=k.colour, alpha=0.16, linewidth=0, zorder=2)
            if limits is not None:
                # What lies above the frame is marked at its upper edge rather than lost.
                high = x[~np.isnan(y) & (y > limits[1])]
                ax.plot(
                    high,
                    np.full(len(high), limits[1]),
                    linestyle="none",
                    marker=k.marker,
                    color=k.colour,
                    markerfacecolor="none",
                    clip_on=False,
                    zorder=4,
                )
        if reference is not None:
            ax.axhline(reference[0], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
        if title:
            ax.set_title(title)
        if log_x:
            ax.set_xscale("log")
            _plain_log(ax, xs)
        if limits is not None:
            ax.set_ylim(*limits)
    for i, ax in enumerate(axes[0]):
        if i + columns >= n:
            ax.set_xlabel(xlabel)
            ax.tick_params(labelbottom=True)
        if ylabels is not None:
            ax.set_ylabel(ylabels[i])
        elif i % columns == 0:
            ax.set_ylabel(ylabel)
    if limits is None and share_y:
        low, high = axes[0][0].get_ylim()
        values = [y for _, list_ in panels for c in list_ for y in c.y if math.isfinite(y)]
        # A wide band must not drag a quantity that cannot be negative below zero.
        positive = bool(values) and min(values) >= 0
        axes[0][0].set_ylim(0.0 if positive and low < 0.5 * high else low, high)
    if reference is not None:
        handles[reference[1]] = matplotlib.lines.Line2D([], [], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)))
    fig.legend(list(handles.values()), list(handles), loc="outside right center", handlelength=2.6)
    return fig


def _plain_log(ax, xs: list[float]) -> None:
    """Ticks of a log axis at 1, 2, 5 times powers of ten, written as numbers, and a margin around the data."""
    low, high = xs[0], xs[-1]
    steps = [m * 10.0**e for e in range(-9, 13) for m in (1, 2, 5)]
    ticks = [t for t in steps if low / 1.01 <= t <= high * 1.01]
    if len(xs) <= 4:
        ticks = xs
    elif len(ticks) > 9:
        ticks = [t for t in ticks if f"{t:e}"[0] == "1"]
    ax.xaxis.set_major_locator(FixedLocator(ticks if len(ticks) > 1 else xs))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _thousands(v)))
    if high > low:
        pad = (high / low) ** 0.05
        ax.set_xlim(low / pad, high * pad)


def _thousands(v: float) -> str:
    return f"{v:,.0f}" if v >= 1 or v == 0 else f"{v:g}"


# ------------------------------------------------------------------------------------------------ sorted goodputs


@styled
def goodput_bars(groups: Sequence[tuple[str, str, Sequence[float]]], fair_share: float, unit: str = "Mbit/s") -> Figure:
    """One panel a discipline (name, title, goodputs): every flow a bar, sorted, and a line at the fair share."""
    n = len(groups)
    columns = 1 if n == 1 else 2 if n in (2, 4) else 3
    rows = math.ceil(n / columns)
    fig, axes = grid(2.3 * columns + 0.5, 1.65 * rows + 0.5, rows, columns, sharex=True, sharey=True)
    for i, ax in enumerate(axes.flat):
        if i >= n:
            ax.set_axis_off()
            continue
        name, title, values = groups[i]
        x = np.sort(np.asarray(values, float))
        ax.bar(np.arange(1, len(x) + 1), x, width=1.0, color=look(name, i).colour, alpha=0.8, linewidth=0)
        ax.axhline(fair_share, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        ax.set_title(title)
        ax.margins(x=0.01)
        if i % columns == 0:
            ax.set_ylabel(f"goodput ({unit})")
        if i + columns >= n:
            ax.set_xlabel("flow, by goodput")
            ax.tick_params(labelbottom=True)
    line = matplotlib.lines.Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
    fig.legend([line], [f"fair share, {fair_share:g} {unit}"], loc="outside upper right")
    return fig


# ----------------------------------------------------------------------------------------------- series against time


@styled
def queue_against_time(
    t: Sequence[float],
    queue: Sequence[float],
    buffer: float | None = None,
    model: tuple[Sequence[float], Sequence[float]] | None = None,
    zoom: tuple[float, float] | None = None,
    model_label: str = "model",
) -> Figure:
    """A queue over the whole run, and a stretch of it enlarged with a model drawn over it."""
    t, queue = np.asarray(t, float), np.asarray(queue, float)
    rows = 1 if zoom is None else 2
    fig, axes = grid(6.8, 2.4 if rows == 1 else 4.4, rows, 1, sharey=True)
    spans = [(float(t[0]), float(t[-1])), zoom][:rows]
    handles: dict[str, Any] = {}
    for i, (ax, span) in enumerate(zip(axes[:, 0], spans, strict=True)):
        keep = (t >= span[0]) & (t <= span[1])
        handles["simulation"] = ax.plot(
            t[keep], queue[keep], color="#0072B2", linewidth=0.8 if i == 0 and rows > 1 else 1.1
        )[0]
        if model is not None and (i == rows - 1):
            mt, ml = np.asarray(model[0], float), np.asarray(model[1], float)
            handles[model_label] = ax.plot(mt, ml, color="#D55E00", linestyle=(0, (5, 1.5)), linewidth=1.5)[0]
        if buffer is not None:
            handles[f"buffer, {buffer:g} packets"] = ax.axhline(
                buffer, color=GREY, linewidth=0.9, linestyle=(0, (2, 2))
            )
        ax.set_xlim(*span)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("queue (packets)")
        if rows > 1:
            ax.set_title("whole run" if i == 0 else f"{span[0]:.0f} s to {span[1]:.0f} s")
    axes[-1, 0].set_xlabel("time (s)")
    fig.legend(list(handles.values()), list(handles), loc="outside upper right", ncols=len(handles))
    return fig


@styled
def series(lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], ylabel: str, steps: bool = False) -> Figure:
    """Recorded series against time: (label, times, values). More than eight are drawn thin, without names."""
    many = len(lines) > 8
    fig, axes = grid(6.8, 2.9)
    ax = axes[0][0]
    for i, (label, t, v) in enumerate(lines):
        k = _REST[i % len(_REST)]
        ax.plot(
            t,
            v,
            color=k.colour,
            linestyle="-" if many else k.line,
            linewidth=0.5 if many else 1.1,
            alpha=0.6 if many else 1.0,
            label=label,
            drawstyle="steps-post" if steps else "default",
        )
    ax.set_xlabel("time (s)")
    ax.set_ylabel(ylabel)
    ax.margins(x=0.01)
    if len(lines) > 1 and not many:
        fig.legend(loc="outside upper left", ncols=min(len(lines), 3))
    elif many:
        ax.set_title(f"{len(lines)} series", color=GREY, fontweight="normal")
    return fig


# --------------------------------------------------------------------------------------------- plots of any result


#: Columns that every table of results begins with; between `seed` and `key` stand the labels.
_PLAN = ("run", "replication", "seed")


def labels_of(table) -> list[str]:
    columns = list(table.columns)
    return [c for c in columns[: columns.index("key")] if c not in _PLAN] if "key" in columns else []


def plot(result: Any, what: str = "queue", **where: str) -> Figure:
    """A figure of a result: a recorded quantity against time (`queue`, `cwnd`, ...), or `goodput`, each flow a bar.

    Goodput counts payload, as `goodput_bps` does.

    `where` chooses points by label, such as `buffer="200"`. Of several replications the first is drawn.
    """
    if what == "goodput":
        return _goodputs(result.flows, where)
    table = result.series
    if len(table) == 0:
        raise ValueError(
            f'nothing was recorded, so there is no "{what}" to draw; add to the scenario, for example: '
            '[record.queue] link = "bottleneck", probes = ["queue"], every = "10ms"'
        )
    labels = labels_of(table)
    probe, thing = np.asarray(table["probe"], dtype=object), np.asarray(table["what"], dtype=object)
    rows = (probe == what) | ((thing + " " + probe) == what)
    if not rows.any():
        known = ", ".join(sorted(set(probe.tolist())))
        raise ValueError(f'"{what}" was not recorded; recorded: {known}, and "goodput" is always there')
    if "replication" in table.columns:
        rows &= np.asarray(table["replication"]) == 0
    for k, v in where.items():
        rows &= np.asarray(table[k], dtype=object) == str(v)
    index = np.flatnonzero(rows)
    columns = [table[c] for c in [*labels, "what", "index"]]
    keys = [tuple(str(c[i]) for c in columns) for i in index]
    t, v = np.asarray(table["time_s"]), np.asarray(table["value"])
    groups: dict[tuple, list[int]] = {}
    for i, k in zip(index, keys, strict=True):
        groups.setdefault(k, []).append(i)
    several_index = len({k[-1] for k in groups}) > 1
    lines = []
    for k, at in groups.items():
        name = ", ".join([*(f"{a} {b}" for a, b in zip(labels, k, strict=False)), k[-2]]) + (
            f" [{k[-1]}]" if several_index else ""
        )
        lines.append((name, t[at], v[at]))
    probes = {(str(thing[i]), str(probe[i])) for i in index}
    units = {_unit(result, *x) for x in probes}
    unit = units.pop() if len(units) == 1 else ""
    return series(lines, f"{what.split()[-1]} ({unit})" if unit else what.split()[-1])


def _unit(result: Any, thing: str, probe: str) -> str:
    """The unit of a recorded quantity of `link.NAME` or `flows.GROUP.N`, from the declaration of the model it is of.

    Tables without their scenario (several points of a plan) have the unit all models agree on, if they do.
    """
    from tailback.reference import describe

    family, name = ("queue", thing[len("link.") :]) if thing.startswith("link.") else ("transport", thing.split(".")[1])
    models = [describe("link" if family == "queue" else "flows")[0]]
    scenario = getattr(result, "scenario", None)
    if scenario is None:
        named = next(f["models"] for f in describe() if f["family"] == family)
    else:
        key = "links" if family == "queue" else "flows"
        named = [{"name": x[family]} for x in scenario.spec[key] if x["name"] == name]
    models += [m for x in named for m in describe(x["name"]) if m["family"] == family]
    units = {p["unit"] for m in models for p in m["probes"] if p["name"] == probe}
    unit = units.pop() if len(units) == 1 else ""
    if unit == "unit of the buffer":
        buffers = [x["buffer"] for x in scenario.spec["links"] if x["name"] == name] if scenario is not None else []
        unit = "bytes" if buffers and buffers[0].endswith("B") else "packets" if buffers else unit
    return "" if unit == "1" else unit


def _goodputs(flows: Any, where: Mapping[str, str]) -> Figure:
    labels = labels_of(flows)
    keep = np.ones(len(flows), bool)
    if "replication" in flows.columns:
        keep &= np.asarray(flows["replication"]) == 0
    for k, v in where.items():
        keep &= np.asarray(flows[k], dtype=object) == str(v)
    index = np.flatnonzero(keep)
    groups: dict[tuple, list[float]] = {}
    goodput = np.asarray(flows["goodput_bps"])
    columns = [flows[c] for c in labels]
    for i in index:
        groups.setdefault(tuple(str(c[i]) for c in columns), []).append(goodput[i] / 1e6)
    shown = list(groups.items())[:12]
    fair = float(np.mean([x for _, v in shown for x in v]))
    fig = goodput_bars([(k[0] if k else "", ", ".join(k), v) for k, v in shown], round(fair, 3))
    for legend in fig.legends:
        legend.get_texts()[0].set_text(f"mean, {fair:.3g} Mbit/s")
    return fig


def as_curve(name: str, label: str, points: Iterable[tuple[float, float, float]]) -> Curve:
    """A curve from (x, mean, half width)."""
    x, y, h = zip(*points, strict=True) if points else ((), (), ())
    return Curve(name, label, x, y, h)
