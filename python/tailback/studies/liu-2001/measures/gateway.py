"""Measures of a colour-aware gateway: delay, load, early drops, averages and probabilities, for each load.

A class names a link; any other class means the studied link. Measures that end in `_b`, `_u`, `_o` are for the last 60
% of the time of a load (`tailback.study.measures.assured`).
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

from .assured import COLOURS, LOADS, Load, load_of, loads


def by_second(run: RunView, klass: str, column: str) -> tuple[np.ndarray, np.ndarray]:
    """The starts of the intervals of a link (s), and a column."""
    t = run.link_intervals
    keep = t["name"] == run.link_of(klass)
    return t["from_s"][keep], t[column][keep]


def settled(run: RunView, klass: str, column: str, load: Load) -> np.ndarray:
    starts, x = by_second(run, klass, column)
    return np.asarray(x[(starts >= load.settled - 1e-9) & (starts < load.end - 1e-9)])


def early(run: RunView, klass: str) -> tuple[np.ndarray, np.ndarray]:
    """The starts of the intervals (s), and the early drops divided by the arrivals in each interval."""
    starts, lost_packets = by_second(run, klass, "dropped_packets")
    _, share = by_second(run, klass, "early_drop_ratio")
    _, received_packets = by_second(run, klass, "arrived_packets")
    return starts, np.where(
        received_packets > 0, np.nan_to_num(share) * lost_packets / np.maximum(received_packets, 1), 0.0
    )


def _mean(x: np.ndarray) -> float:
    return float(np.mean(x)) if len(x) else float("nan")


def average(run: RunView, klass: str, colour: int) -> tuple[np.ndarray, np.ndarray]:
    """The times and values of the recorded average of a colour."""
    return run.probe("average", f"link.{run.link_of(klass)}", colour)


def _of_loads() -> None:
    for name, word in LOADS.items():

        def wait(run: RunView, klass: str, name: str = name) -> float:
            load = load_of(run, name)
            if load is None:
                return float("nan")
            d, n = (settled(run, klass, c, load) for c in ("sojourn_mean_s", "delivered_packets"))
            return 1e3 * float(np.sum(np.nan_to_num(d) * n) / np.sum(n))

        def used(run: RunView, klass: str, name: str = name) -> float:
            load = load_of(run, name)
            return float("nan") if load is None else 100 * _mean(settled(run, klass, "utilisation", load))

        def dropped(run: RunView, klass: str, name: str = name) -> float:
            load = load_of(run, name)
            if load is None:
                return float("nan")
            starts, x = early(run, klass)
            x = x[(starts >= load.settled - 1e-9) & (starts < load.end - 1e-9)]
            return 100 * float(np.max(x)) if len(x) else float("nan")

        def dropped_mean(run: RunView, klass: str, name: str = name) -> float:
            load = load_of(run, name)
            if load is None:
                return float("nan")
            starts, x = early(run, klass)
            return 100 * _mean(x[(starts >= load.settled - 1e-9) & (starts < load.end - 1e-9)])

        settled_text = f"{word} load, settled"
        title = f"Early drops, {word}, in the mean"
        measure(f"early_mean_{name}", title, "%", f"over arrivals, mean of the seconds, {settled_text}", digits=4)(
            dropped_mean
        )
        measure(f"wait_{name}", f"Delay at the gateway, {word}", "ms", f"mean over packets, {settled_text}")(wait)
        measure(f"used_{name}", f"Utilisation, {word}", "%", f"mean, {settled_text}")(used)
        measure(
            f"early_{name}",
            f"Early drops, {word}",
            "%",
            f"over arrivals, in the worst second, {settled_text}",
            digits=4,
        )(dropped)
        for i, colour in enumerate(COLOURS):

            def level(run: RunView, klass: str, name: str = name, i: int = i) -> float:
                load, (t, x) = load_of(run, name), average(run, klass, i)
                return float("nan") if load is None else _mean(x[(t > load.settled) & (t <= load.end)])

            def dynamic(run: RunView, klass: str, name: str = name, i: int = i) -> float:
                load, (t, x) = load_of(run, name), run.probe("dynamic", f"link.{run.link_of(klass)}", i)
                x = x[t <= load.end] if load is not None else x[:0]
                return float(x[-1]) if len(x) else float("nan")

            title = f"Average queue of {colour}, {word}"
            measure(f"average_{colour}_{name}", title, "packets", f"of green to {colour}, {settled_text}")(level)
            title = f"Dynamic probability of {colour}, {word}"
            measure(f"dynamic_{colour}_{name}", title, "1", "as the load ends", digits=5)(dynamic)


_of_loads()


@measure("wait_peak", "Highest delay", "ms", "of the means by second at the gateway", digits=1)
def wait_peak(run: RunView, klass: str) -> float:
    return 1e3 * float(np.nanmax(by_second(run, klass, "sojourn_mean_s")[1]))


@measure("early_peak", "Highest early drop ratio", "%", "of all seconds", digits=3)
def early_peak(run: RunView, klass: str) -> float:
    return 100 * float(np.max(early(run, klass)[1]))


@measure("overflows", "Drops that were not early", "packets", "forced by a full buffer, or above twice the threshold")
def overflows(run: RunView, klass: str) -> float:
    _, lost = by_second(run, klass, "dropped_packets")
    _, share = by_second(run, klass, "early_drop_ratio")
    return float(np.sum(lost * (1 - np.nan_to_num(share, nan=1.0))))


@measure(
    "idle_seconds", "Seconds without a queue", "s", "in which no packet waited, from the first second on", digits=1
)
def idle_seconds(run: RunView, klass: str) -> float:
    return float(np.sum(by_second(run, klass, "sojourn_mean_s")[1][1:] <= 0))


@measure("used_calm", "Lowest utilisation", "%", "of all seconds but the first ten of each load")
def used_calm(run: RunView, klass: str) -> float:
    starts, x = by_second(run, klass, "utilisation")
    is_kept = np.ones(len(x), bool)
    for load in loads(run):
        is_kept &= (starts < load.start) | (starts >= load.start + 10)
    return 100 * float(np.min(x[is_kept]))


def _of_colours() -> None:
    for i, colour in enumerate(COLOURS):

        def top(run: RunView, klass: str, i: int = i) -> float:
            _, probabilities = run.probe("effective", f"link.{run.link_of(klass)}", i)
            return float(np.max(probabilities)) if len(probabilities) else float("nan")

        def fell(run: RunView, klass: str, i: int = i) -> float:
            t, probabilities = run.probe("dynamic", f"link.{run.link_of(klass)}", i)
            rows_below = np.flatnonzero(probabilities < 0.1 - 1e-12)
            return float(t[rows_below[0]]) if len(rows_below) else float("inf")

        measure(f"top_{colour}", f"Highest probability of {colour}", "1", "effective maximum probability", digits=3)(
            top
        )
        measure(f"fell_{colour}", f"First fall of the probability of {colour}", "s", "dynamic, below 0.1")(fell)


_of_colours()


def _ratios() -> None:
    for colour in COLOURS:
        for later_load, earlier_load in (("u", "b"), ("o", "u")):

            def ratio(
                run: RunView, klass: str, colour: str = colour, ends: tuple[str, str] = (later_load, earlier_load)
            ) -> float:
                from tailback.study.measures import MEASURES

                a, b = (MEASURES[f"dynamic_{colour}_{x}"].on(run, klass) for x in ends)
                return a / b

            title = f"Probability of {colour}, {LOADS[later_load]} over {LOADS[earlier_load]}"
            measure(f"steps_{colour}_{later_load}", title, "1", "dynamic, as the loads end", digits=4)(ratio)


_ratios()


def _static() -> None:
    for i, colour in ((1, "yellow"), (2, "red")):

        def held(run: RunView, klass: str, i: int = i) -> float:
            t, x = run.probe("effective", f"link.{run.link_of(klass)}", i)
            end = max(load.end for load in loads(run))
            if not len(t):
                return float("nan")
            lengths = np.diff(np.append(t, end))
            return 100 * float(lengths[np.isclose(x, 0.1)].sum() / lengths.sum())

        title = f"Time at which the probability of {colour} is 0.1"
        measure(f"static_{colour}", title, "%", "effective maximum probability", digits=1)(held)


_static()


@measure(
    "wait_calm", "Highest delay in calm seconds", "ms", "of the means by second, 10 s after each change of the load", 1
)
def wait_calm(run: RunView, klass: str) -> float:
    starts, x = by_second(run, klass, "sojourn_mean_s")
    is_kept = np.ones(len(x), bool)
    for load in loads(run):
        is_kept &= (starts < load.start) | (starts >= load.start + 10)
    return 1e3 * float(np.nanmax(x[is_kept]))


@measure("switches", "Switches between probabilities", "1", "changes of the effective probability of yellow and red")
def switches(run: RunView, klass: str) -> float:
    link = f"link.{run.link_of(klass)}"
    return float(sum(len(run.probe("effective", link, i)[1]) for i in (1, 2)))
