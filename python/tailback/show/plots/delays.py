"""Draws the distributions of delays that every run stores: times in a queue, one-way delays and round trips. Each point
has a line with the band of its interval over seeds. Memory does not grow with the number of runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tailback.core import stats
from tailback.core.results.columns import column
from tailback.core.results.measured import Name, PlanRuns, missing
from tailback.core.results.quantities import label, shown
from tailback.core.results.reading import pieces
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.show.plots.distributions import Cumulative, cumulative
from tailback.show.plots.points import MOST, looks, titles_of
from tailback.show.plots.style import Drawing

#: The stored quantities, each with the kind of thing that has it, and the column of its mean.
QUANTITIES = {
    "sojourn": ("link", column("links", "sojourn_mean_s")),
    "delay": ("flows", column("flows", "delay_mean_s")),
    "round_trip": ("flows", column("datagrams", "rtt_mean_s")),
}
#: The ratio of the 99th to the 1st percentile above which times are drawn on a log axis.
_LOG = 50.0


@checked
def is_delay(what: str) -> bool:
    """Whether the text names one of these quantities, such as `sojourn` or `delay[bulk]`."""
    name, _, brackets = what.partition("[")
    return name in QUANTITIES and (not brackets or brackets.endswith("]"))


@checked
def delays(results: Any, what: str, /, **where: str) -> Drawing:
    """The distribution of `sojourn`, `delay` or `round_trip`; `sojourn[NAME]` is the distribution of one link, and
    `delay[NAME]` or `round_trip[NAME]` that of one group."""
    check.results("results", results)
    quantity, _, name = what.rstrip("]").partition("[")
    if quantity not in QUANTITIES:
        raise ValueError(f'there is no delay "{quantity}"; there are {", ".join(QUANTITIES)}')
    object_kind, mean = QUANTITIES[quantity]
    runs = PlanRuns.of(results, where)
    unknown = [k for k in where if k not in runs.labels]
    if unknown:
        raise ValueError(f'there is no label "{unknown[0]}"; labels are {", ".join(runs.labels) or "none"}')
    points = _points(runs)
    if len(points) > MOST:
        raise ValueError(f"that makes {len(points)} lines; choose some by --where {runs.labels[-1]}=VALUE")
    point_of_run = np.full(len(runs), -1)
    for i, at in enumerate(points.values()):
        point_of_run[at] = i
    sums = _Sums(len(points), point_of_run)
    names_there: dict[str, None] = {}
    for piece in pieces(results, "delays", ["run", "what", "quantity", "to_s", "packets"]):
        is_chosen = piece["quantity"] == quantity
        names_there |= dict.fromkeys(piece["what"][is_chosen].tolist())
        if name:
            is_chosen &= piece["what"] == f"{object_kind}.{name}"
        sums.add(*(piece[k][is_chosen] for k in ("run", "what", "to_s", "packets")))
    if not sums.by:
        _say_why(quantity, object_kind, name, list(names_there))
    has_several = len(sums.by) > 1
    varying_labels = [i for i in range(len(runs.labels)) if len({k[i] for k in points}) > 1]
    lines = {}
    for object_name, sum_of in sums.by.items():
        for i, k in enumerate(points):
            line_key = (*(k[j] for j in varying_labels), *([object_name.partition(".")[2]] if has_several else []))
            distribution = _line(sum_of, i)
            if distribution is not None:
                lines[line_key] = distribution
    if len(lines) > MOST:
        raise ValueError(f"that makes {len(lines)} lines; choose one by {quantity}[NAME], or some by --where")
    title = f"{mean.quantity} of {name}" if name else mean.quantity
    legend_title = ", ".join(titles_of(results).get(runs.labels[i], runs.labels[i]) for i in varying_labels)
    return _figure(lines, title, legend_title)


def _say_why(quantity: str, of: str, name: str, there: list[str]) -> None:
    if name and there:
        raise ValueError(missing(of, name, [x.partition(".")[2] for x in there]))
    raise ValueError(
        f"no {QUANTITIES[quantity][1].quantity} is stored here: no packet was counted, links have "
        "sojourn_percentiles = false, or an earlier version stored these results; run them again"
    )


def _points(runs: PlanRuns) -> dict[Name, list[int]]:
    runs_of: dict[Name, list[int]] = {}
    columns = [runs.values[n] for n in runs.labels]
    for i in np.flatnonzero(runs.counted):
        runs_of.setdefault(tuple(c[i] for c in columns), []).append(int(i))
    return runs_of


def edges() -> np.ndarray:
    """The upper edges of all bins of the engine's histograms, seconds."""
    bins = np.arange(1, 54 * 32 + 1)
    octave, sub = np.divmod(bins, 32)
    units = np.where(octave == 0, sub, (32.0 + sub) * np.exp2(np.maximum(octave - 1.0, 0.0)))
    return np.asarray(units * 128.0 * 1e-9)


#: Sums of the shares and of their squares by point and bin, and the number of runs by point.
Shares = tuple[np.ndarray, np.ndarray, np.ndarray]


class _Sums:
    """The shares of runs at the edges of bins, added up as runs come."""

    def __init__(self, points: int, place: np.ndarray) -> None:
        self.points, self.place = points, place
        self.grid = edges()
        self.by: dict[str, Shares] = {}

    def _empty(self) -> np.ndarray:
        return np.zeros((self.points, len(self.grid)))

    def add(self, run: np.ndarray, what: np.ndarray, to_s: np.ndarray, packets: np.ndarray) -> None:
        """Adds the rows of whole runs."""
        for object_name in dict.fromkeys(what.tolist()):
            of_thing = what == object_name
            run_numbers, run_of_row = np.unique(run[of_thing].astype(np.int64), return_inverse=True)
            counts = np.zeros((len(run_numbers), len(self.grid)))
            bins = np.searchsorted(self.grid, to_s[of_thing] * (1 - 1e-9))
            np.add.at(counts, (run_of_row, bins), packets[of_thing].astype(float))
            share = np.cumsum(counts, axis=1)
            share /= share[:, -1:]
            is_kept = self.place[run_numbers] >= 0
            total, squares, n = self.by.setdefault(
                object_name,
                (self._empty(), self._empty(), np.zeros(self.points)),
            )
            point_of_run = self.place[run_numbers][is_kept]
            np.add.at(total, point_of_run, share[is_kept])
            np.add.at(squares, point_of_run, share[is_kept] ** 2)
            np.add.at(n, point_of_run, 1)


def _line(sums: Shares, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Edges, mean shares and half intervals of a point."""
    total, squares, runs = sums[0][i], sums[1][i], int(sums[2][i])
    if not runs:
        return None
    mean = total / runs
    variance = np.maximum(squares - runs * mean**2, 0.0) / max(runs - 1, 1)
    half_width = stats.t_quantile(0.975, runs - 1) * np.sqrt(variance / runs) if runs > 1 else np.zeros(len(mean))
    # The line runs from the last edge without a packet to the first edge with all packets.
    first_bin, last_bin = int(np.argmax(mean > 0)), int(np.argmax(mean > 1 - 1e-12))
    bins_kept = slice(max(first_bin - 1, 0), last_bin + 1)
    return edges()[bins_kept], mean[bins_kept], half_width[bins_kept]


def _figure(lines: Mapping[Name, tuple[np.ndarray, np.ndarray, np.ndarray]], title: str, named: str) -> Drawing:
    ends = [(np.interp((0.01, 0.99), share, x), x[-1]) for x, share, _ in lines.values()]
    smallest, greatest = min(e[0][0] for e in ends), max(e[0][1] for e in ends)
    log = smallest > 0 and greatest / smallest > _LOG
    # Times close to zero are drawn at the left edge of a log axis.
    least = greatest / 1e4 if log else 0.0
    unit = shown("s", [greatest])
    factor = 1.0 if log else unit.factor
    looks_of = looks(list(lines))
    curves = []
    for k, (x, share, half) in lines.items():
        times = np.maximum(x, least) * factor
        curves.append(Cumulative(looks_of[k], ", ".join(k) or title, times, share, half))
    return cumulative(curves, title if log else label(title, unit.unit), "packets", seconds=log, legend_title=named)
