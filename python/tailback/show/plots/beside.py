"""Draws a measurement beside its simulation: the goodput of each direction as bars, and round trips as
distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tailback.core.results.quantities import label, shown
from tailback.show.plots.palette import look
from tailback.show.plots.style import Drawing, Numbers, grid, legend, nothing, styled

_WIDTH = 0.36


@styled
def both(
    rates: Sequence[tuple[str, float, float, float]], pings: Numbers, simulated: tuple[Numbers, Numbers] | None
) -> Drawing:
    """`rates` has rows (what, measured, simulated, half of the simulated interval) in bit/s. `simulated` has the ends
    of bins, and the share of round trips up to each end."""
    fig, axes = grid(7.2, 2.9, 1, 2)
    rate_ax, ping_ax = axes[0]
    measured_look, model = look("measured", 0), look("simulated", 1)
    handles = {}
    if rates:
        sign = shown("bit/s", [v for _, a, b, _ in rates for v in (a, b)])
        positions = np.arange(len(rates))
        bars = rate_ax.bar(
            positions - _WIDTH / 2, [a * sign.factor for _, a, _, _ in rates], _WIDTH, color=measured_look.colour
        )
        halves = [h * sign.factor if math.isfinite(h) else 0.0 for *_, h in rates]
        model_bars = rate_ax.bar(
            positions + _WIDTH / 2, [b * sign.factor for _, _, b, _ in rates], _WIDTH, color=model.colour, yerr=halves
        )
        rate_ax.set_xticks(positions, [what.rpartition(", ")[2] for what, *_ in rates])
        rate_ax.set(ylabel=label("goodput", sign.unit), ylim=(0, None))
        handles = {"measured": bars, "simulated": model_bars}
    else:
        nothing(rate_ax, "no rates in both")
    if len(pings) and simulated is not None:
        sign = shown("s", [*np.quantile(pings, [0.5, 0.99]), float(simulated[0][-1])])
        round_trips = np.sort(np.asarray(pings, float)) * sign.factor
        pings_line = ping_ax.step(
            round_trips, np.arange(1, len(round_trips) + 1) / len(round_trips), where="post", color=measured_look.colour
        )[0]
        ends, shares = simulated
        model_line = ping_ax.step(
            np.asarray(ends, float) * sign.factor, shares, where="post", color=model.colour, linestyle=model.line
        )[0]
        handles = handles or {"measured": pings_line, "simulated": model_line}
        ping_ax.set(xlabel=label("round trip", sign.unit), ylabel="share of round trips at most", ylim=(0, 1.02))
    else:
        nothing(ping_ax, "no round trips in both")
    if handles:
        legend(fig, handles, "outside upper center")
    return fig
