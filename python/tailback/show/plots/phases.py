"""Draws a delay through the phases of a run, on a log axis, with the names of the phases above."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.core.figure_style import GREY
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, grid, legend, named, nothing, small_type, styled


@styled
def phases(
    lines: Sequence[tuple[str, Numbers, Numbers]],
    spans: Sequence[tuple[str, float, float]],
    ylabel: str,
    names: Sequence[str] = (),
) -> Drawing:
    """`lines` are (label, times, values), and `spans` are (title, begin, end) of the phases, in seconds."""
    fig, axes = grid(6.8, 3.2)
    ax = axes[0][0]
    for i, (label, t, v) in enumerate(lines):
        k = look(names[i] if i < len(names) else "", i)
        ax.plot(t, v, color=k.colour, linestyle=k.line, linewidth=1.1, label=named(label), zorder=3)
    for title, begins, ends in spans:
        ax.axvspan(begins, ends, color=GREY, alpha=0.10, linewidth=0, zorder=0)
        ax.text(
            (begins + ends) / 2, 1.01, title, transform=ax.get_xaxis_transform(), ha="center", va="bottom", color=GREY
        )
    if not any(len(t) for _, t, _ in lines):
        nothing(ax, "nothing to draw: no packet came back")
    else:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        ax.yaxis.set_minor_formatter(lambda y, _: f"{y:g}" if str(y).lstrip("0.")[:1] in "25" else "")
        ax.tick_params(axis="y", which="minor", labelsize=small_type())
    ax.set_xlabel("time (s)")
    ax.set_ylabel(f"{ylabel}, log scale")
    ax.margins(x=0.0)
    legend(fig, {str(x.get_label()): x for x in ax.lines}, "outside lower center", most=5)
    return fig
