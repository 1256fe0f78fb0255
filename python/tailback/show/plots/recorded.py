"""Computes recorded quantities of runs against time and as distributions, with the bands of their intervals over
seeds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailback.core import stats
from tailback.core.results.measured import Name, PlanRuns
from tailback.core.results.reading import pieces

#: The number of times at which a mean over runs is computed.
TIMES = 400
#: The most values at which a distribution over runs is computed.
VALUES = 400


@dataclass(frozen=True)
class Track:
    """One recorded quantity of one run."""

    run: int
    what: str
    index: int
    t: np.ndarray
    v: np.ndarray


#: The goodput of each group, from the table of groups by interval.
GOODPUT_OVER_TIME = "goodput-over-time"
#: A probe of one thing: `cwnd[bbr.0]`, `queue[bottleneck]`.
_OF_ONE = re.compile(r"(\w+)\[([\w.-]+)\]")


def tracks(results: Any, what: str, runs: PlanRuns) -> list[Track]:
    """The tracks of a probe, of a thing and its probe ("link.bottleneck queue"), or of the probe of one thing
    (`cwnd[bbr.0]`), in the counted runs."""
    if what == GOODPUT_OVER_TIME:
        return goodput_tracks(results, runs)
    if match := _OF_ONE.fullmatch(what):
        for kind in ("flows", "link"):
            if pieces_of := tracks(results, f"{kind}.{match[2]} {match[1]}", runs):
                return pieces_of
        return []
    pieces_of = []
    for piece in pieces(results, "series", ["run", "what", "probe", "index", "time_s", "value"]):
        probes, object_names = piece["probe"], piece["what"]
        is_chosen = probes == what
        if " " in what:
            wanted_probe, _, wanted_object = what.rpartition(" ")
            is_chosen |= (object_names == wanted_probe) & (probes == wanted_object)
        is_chosen &= runs.counted[piece["run"].astype(np.int64)]
        chosen_rows = np.flatnonzero(is_chosen)
        if not len(chosen_rows):
            continue
        run_numbers, name, index = (
            piece["run"][chosen_rows].astype(np.int64),
            object_names[chosen_rows],
            piece["index"][chosen_rows].astype(np.int64),
        )
        t, v = piece["time_s"][chosen_rows], piece["value"][chosen_rows]
        borders = (
            np.flatnonzero((run_numbers[1:] != run_numbers[:-1]) | (name[1:] != name[:-1]) | (index[1:] != index[:-1]))
            + 1
        )
        for a, b in zip([0, *borders], [*borders, len(chosen_rows)], strict=True):
            pieces_of.append(Track(int(run_numbers[a]), str(name[a]), int(index[a]), t[a:b], v[a:b]))
    return _joined(pieces_of)


def goodput_tracks(results: Any, runs: PlanRuns) -> list[Track]:
    """The goodput of each group in each interval, bit/s, which counts from the beginning to the end of the interval."""
    rows_of: dict[tuple[int, str], list[tuple[float, float, float]]] = {}
    columns = ["run", "group", "from_s", "to_s", "goodput_bps"]
    for piece in pieces(results, "group_intervals", columns):
        for run_number, group, *row in zip(*(piece[c].tolist() for c in columns), strict=True):
            if runs.counted[int(run_number)]:
                rows_of.setdefault((int(run_number), str(group)), []).append((row[0], row[1], row[2]))
    goodputs = []
    for (run_number, group), rows in rows_of.items():
        begins, ends, goodput = (np.asarray(x, float) for x in zip(*sorted(rows), strict=True))
        goodputs.append(Track(run_number, group, 0, np.append(begins, ends[-1]), np.append(goodput, goodput[-1])))
    return goodputs


def _joined(found: list[Track]) -> list[Track]:
    """Puts the rows of each index together, because rows of several indices may alternate."""
    tracks_of: dict[tuple[int, str, int], list[Track]] = {}
    for x in found:
        tracks_of.setdefault((x.run, x.what, x.index), []).append(x)
    return [
        mine[0]
        if len(mine) == 1
        else Track(*key, np.concatenate([x.t for x in mine]), np.concatenate([x.v for x in mine]))
        for key, mine in tracks_of.items()
    ]


def by_line(found: list[Track], runs: PlanRuns) -> dict[tuple[Name, str, int], list[Track]]:
    """The tracks of each point, thing and index."""
    columns = [runs.values[n] for n in runs.labels]
    lines: dict[tuple[Name, str, int], list[Track]] = {}
    for x in found:
        lines.setdefault((tuple(c[x.run] for c in columns), x.what, x.index), []).append(x)
    return lines


def over_seeds(mine: list[Track]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, means and half-widths of intervals over the runs of a line. A value is kept until the next one."""
    begin, end = max(x.t[0] for x in mine), min(x.t[-1] for x in mine)
    if end <= begin:
        begin, end = min(x.t[0] for x in mine), max(x.t[-1] for x in mine)
    times = mine[0].t
    alike = len(times) <= 2 * TIMES and all(np.array_equal(times, x.t) for x in mine)
    times = times if alike else np.linspace(begin, end, TIMES)
    values_of_seeds = np.stack([x.v[np.clip(np.searchsorted(x.t, times, side="right") - 1, 0, None)] for x in mine])
    return times, *_mean(values_of_seeds)


def distribution(mine: list[Track]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, the share of time during which the quantity was at most each value, and half-widths of intervals over the
    runs."""
    distinct_values = np.unique(np.concatenate([x.v[np.isfinite(x.v)] for x in mine]))
    if len(distinct_values) > VALUES:
        distinct_values = np.unique(np.quantile(distinct_values, np.linspace(0, 1, VALUES)))
    shares = []
    for x in mine:
        # A value counts for the time until the next one. The last value counts for as long as the one before it.
        held_s = np.diff(x.t, append=x.t[-1] + (x.t[-1] - x.t[-2] if len(x.t) > 1 else 1.0))
        order = np.argsort(x.v, kind="stable")
        s_below = np.concatenate([[0.0], np.cumsum(held_s[order])])
        shares.append(s_below[np.searchsorted(x.v[order], distinct_values, side="right")] / s_below[-1])
    return distinct_values, *_mean(np.stack(shares))


def _mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(values)
    mean = values.mean(axis=0)
    if n < 2:
        return mean, np.zeros(len(mean))
    return mean, stats.t_quantile(0.975, n - 1) / math.sqrt(n) * values.std(axis=0, ddof=1)


def where_of(where: Mapping[str, str], runs: PlanRuns) -> None:
    """Raises ValueError for an unknown label."""
    for key in where:
        if key not in runs.labels:
            labels = ", ".join(runs.labels)
            raise ValueError(f'there is no label "{key}"; ' + (f"labels are {labels}" if labels else "there is none"))
