"""Measures of an assured rate: whether flows get their target rates, for each load.

The `options` of the set of runs have the times at which the load changes, and the target rate of each flow of a group
(Mb/s):

    options.packet = 1000                            # bytes on the wire
    options.promised = { r1 = 1, r3 = 3, r10 = 10 } # the rate of a flow of each group (Mb/s)
    options.loads.b = { from = 0, to = 50, get = { r1 = 1, r3 = 3, r10 = 10 } }
    options.loads.u = { from = 50, to = 100, get = { r1 = 2 }, table = { r1 = 5 } }   # and by the source's table

Measures that end in `_b`, `_u`, `_o` (baseline, undersubscribed, oversubscribed) are for the last 60 % of such a time.
A class names flows, or a link for a measure of a link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailback.study.measures import RunView, measure

#: The endings of measures, with their loads.
LOADS = {"b": "baseline", "u": "undersubscribed", "o": "oversubscribed"} | {
    f"b{i}": f"baseline, time {i}" for i in (2, 3, 4, 5)
}
#: The ending for the undersubscribed load with the target rates in the source's table.
BY_TABLE = "t"
COLOURS = ("green", "yellow", "red")

#: The first share of a load's time, in which flows find their rates and which is not counted.
SETTLING = 0.4
#: The share of its target rate from which a flow counts as having this rate.
ENOUGH = 0.9


@dataclass(frozen=True)
class Load:
    """A part of the run during which the same flows send."""

    start: float
    end: float
    #: The target rates in Mb/s, by group.
    get: dict[str, float]

    @property
    def settled(self) -> float:
        return self.start + SETTLING * (self.end - self.start)


def load_of(run: RunView, name: str) -> Load | None:
    by_table = name == BY_TABLE
    t = run.options.get("loads", {}).get("u" if by_table else name)
    if t is None or (by_table and "table" not in t):
        return None
    return Load(float(t["from"]), float(t["to"]), t["table" if by_table else "get"])


def loads(run: RunView) -> list[Load]:
    """The loads of the run, in the order of time."""
    loads_of_run = [x for name in LOADS if (x := load_of(run, name)) is not None]
    return sorted(loads_of_run, key=lambda x: x.start)


# ---------------------------------------------------------------------------------------------------------- flows


def rates(run: RunView, column: str = "received_packets") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The starts and ends of the intervals (s), and the packets of each flow in each interval as Mb/s (rows are
    intervals)."""
    t = run.intervals
    starts = np.unique(t["from_s"])
    ends = np.unique(t["to_s"])
    bits = 8e-6 * float(run.options.get("packet", 1000))
    x = t[column].reshape(len(starts), -1) * bits / (ends - starts)[:, None]
    return starts, ends, x


def settled_rates(run: RunView, load: Load) -> np.ndarray:
    """The mean throughput of each flow after a load has settled, Mb/s."""
    starts, ends, x = rates(run)
    keep = (starts >= load.settled - 1e-9) & (ends <= load.end + 1e-9)
    return np.asarray(x[keep].mean(axis=0))


def attainments(run: RunView, load: Load | None, klass: str = "all") -> np.ndarray:
    """The throughput of each flow of a class divided by its target rate, without flows that are not to send."""
    if load is None:
        return np.array([])
    groups = run.flows["group"]
    get = np.array([float(load.get.get(g, 0)) for g in groups.tolist()])
    is_owed = run.of(klass) & (get > 0)
    return np.asarray(settled_rates(run, load)[is_owed] / get[is_owed])


def _mean(x: np.ndarray) -> float:
    return float(np.mean(x)) if len(x) else float("nan")


def _of_loads() -> None:
    for name, word in {**LOADS, BY_TABLE: "undersubscribed, by table 4.1"}.items():

        def attain(run: RunView, klass: str, name: str = name) -> float:
            return _mean(attainments(run, load_of(run, name), klass))

        def short(run: RunView, klass: str, name: str = name) -> float:
            x = attainments(run, load_of(run, name), klass)
            return float(np.sum(x >= ENOUGH)) if len(x) else float("nan")

        def together(run: RunView, klass: str, name: str = name) -> float:
            load = load_of(run, name)
            if load is None:
                return float("nan")
            due = np.array([float(load.get.get(g, 0)) for g in run.flows["group"].tolist()])
            is_owed = run.of(klass) & (due > 0)
            return (
                float(settled_rates(run, load)[is_owed].sum() / due[is_owed].sum()) if is_owed.any() else float("nan")
            )

        def even(run: RunView, klass: str, name: str = name) -> float:
            x = attainments(run, load_of(run, name), klass)
            return float(x.sum() ** 2 / (len(x) * (x**2).sum())) if len(x) else float("nan")

        doc = f"throughput over what the flow is to get, {word} load"
        measure(f"attain_{name}", f"Attainment, {word}", "1", f"{doc}, mean over the class", digits=2)(attain)
        measure(f"attained_{name}", f"Flows that attain, {word}", "flows", f"{doc}, at least {ENOUGH}", digits=1)(short)
        title = f"Attainment together, {word}"
        measure(f"together_{name}", title, "1", "sum of the class over what it is to get in all", digits=2)(together)
        measure(f"even_{name}", f"Jain index of attainments, {word}", "1", "of the flows of the class", digits=2)(even)


_of_loads()


@measure(
    "attained", "Flow-intervals that attain", "1", f"throughput of at least {ENOUGH} of what is to be got", digits=1
)
def attained(run: RunView, klass: str) -> float:
    return float(sum(np.sum(attainments(run, x, klass) >= ENOUGH) for x in loads(run)))


def best_rates(run: RunView, load: Load, seconds: float) -> np.ndarray:
    """The highest mean of each flow over this number of consecutive seconds after a load has settled, Mb/s."""
    starts, ends, x = rates(run)
    keep = (starts >= load.settled - 1e-9) & (ends <= load.end + 1e-9)
    n = max(1, round(seconds / float(np.median(ends - starts))))
    sums = np.cumsum(np.vstack([np.zeros(x.shape[1]), x[keep]]), axis=0)
    return np.asarray(((sums[n:] - sums[:-n]) / n).max(axis=0))


def reaches(run: RunView, load: Load, seconds: float) -> int:
    """The number of flows with a target rate that have this rate at some time."""
    get = np.array([float(load.get.get(g, 0)) for g in run.flows["group"].tolist()])
    return int(np.sum(best_rates(run, load, seconds)[get > 0] >= get[get > 0]))


def _reach() -> None:
    for seconds in (1, 3, 10):

        def of(run: RunView, klass: str, seconds: float = seconds) -> float:
            return float(sum(reaches(run, x, seconds) for x in loads(run)))

        doc = f"the best {seconds} s of the last 60 % of the load at what is to be got or above"
        measure(f"reached_{seconds}", f"Flow-intervals that reach it, {seconds} s", "1", doc, digits=1)(of)


_reach()


def _other_shares() -> None:
    for percent in (80, 70):

        def of(run: RunView, klass: str, least: float = percent / 100) -> float:
            return float(sum(np.sum(attainments(run, x, klass) >= least) for x in loads(run)))

        doc = f"throughput of at least {percent / 100:g} of what is to be got"
        measure(f"attained_{percent}", f"Flow-intervals that have {percent} %", "1", doc, digits=1)(of)


_other_shares()


@measure("above_due", "Flow-intervals above what is to be got", "%", "of the class, once loads have settled")
def above_due(run: RunView, klass: str) -> float:
    x = np.concatenate([attainments(run, load, klass) for load in loads(run)])
    return 100 * _mean(x > 1)


@measure("drop_part", "Share of the drops", "%", "packets of the class that were dropped, of all dropped packets")
def drop_part(run: RunView, klass: str) -> float:
    lost = run.flows["dropped_packets"]
    return 100 * float(lost[run.of(klass)].sum() / lost.sum()) if lost.sum() else float("nan")


@measure(
    "left_over", "Flows of 10 Mb/s beside what is left to them", "1", "rate over (TCP's total - what r1 is to get) / 12"
)
def left_over(run: RunView, klass: str) -> float:
    load = loads(run)[0]
    x = settled_rates(run, load)
    small = load.get["r1"] * int(run.of("r1").sum())
    return float(x[run.of("r10")].mean() / ((x[run.of("tcp")].sum() - small) / run.of("r10").sum()))


@measure(
    "twins", "Difference of twins", "%", "of the throughputs of flows i and i + 6 of a group, over their mean; mean"
)
def twins(run: RunView, klass: str) -> float:
    differences = []
    for load in loads(run):
        x = settled_rates(run, load)
        for group in load.get:
            a, b = x[run.of(group)][:6], x[run.of(group)][6:12]
            differences += list(2 * abs(a - b) / (a + b))
    return 100 * _mean(np.array(differences))


@measure("late_timeouts", "Timeouts once settled", "%", "in the last 60 % of the times of the loads, of all timeouts")
def late_timeouts(run: RunView, klass: str) -> float:
    t = run.intervals
    is_late = np.zeros(len(t["from_s"]), bool)
    for x in loads(run):
        is_late |= (t["from_s"] >= x.settled) & (t["to_s"] <= x.end)
    total = float(t["timeouts"].sum())
    return 100 * float(t["timeouts"][is_late].sum()) / total if total else 0.0


@measure("repeats", "Segments sent again", "packets", "retransmissions of the class together")
def repeats(run: RunView, klass: str) -> float:
    return float(np.sum(run.flows["retransmitted_packets"][run.of(klass)]))


@measure("second_copies", "Packets that came twice", "%", "throughput that is no goodput, of the throughput", digits=3)
def second_copies(run: RunView, klass: str) -> float:
    t, in_class = run.flows, run.of(klass)
    return 100 * (1 - float(t["fresh_packets"][in_class].sum() / t["received_packets"][in_class].sum()))


@measure("part", "Share of what was delivered", "%", "bytes of the class, of those of all flows", digits=1)
def part(run: RunView, klass: str) -> float:
    got = run.flows["received_packets"]
    return 100 * float(got[run.of(klass)].sum() / got.sum())


@measure("swing", "Swing of the rate", "%", "standard deviation over mean of a flow's rate by second, settled loads")
def swing(run: RunView, klass: str) -> float:
    starts, ends, x = rates(run)
    swings: list[float] = []
    for load in loads(run):
        keep = (starts >= load.settled - 1e-9) & (ends <= load.end + 1e-9)
        due = np.array([float(load.get.get(g, 0)) for g in run.flows["group"].tolist()])
        rates_owed = x[keep][:, run.of(klass) & (due > 0)]
        means = rates_owed.mean(axis=0)
        swings += (100 * rates_owed.std(axis=0)[means > 0] / means[means > 0]).tolist()
    return float(np.mean(swings)) if swings else float("nan")


@measure(
    "roughness", "Roughness of the rate", "%", "standard deviation over mean of a flow's rate by second, from 10 s on"
)
def roughness(run: RunView, klass: str) -> float:
    starts, _, x = rates(run)
    x = x[starts >= 10][:, run.of(klass)]
    return 100 * _mean(x.std(axis=0) / x.mean(axis=0)) if x.size else float("nan")


@measure("lost_part", "Lost on the way", "%", "dropped packets of the class over those it sent", digits=2)
def lost_part(run: RunView, klass: str) -> float:
    in_class = run.of(klass)
    sent_packets = float(run.flows["sent_packets"][in_class].sum())
    return 100 * float(run.flows["dropped_packets"][in_class].sum()) / sent_packets if sent_packets else float("nan")


@measure("response_time", "Response", "ms", "from the request to the last byte, mean over the transfers of the class")
def response_time(run: RunView, klass: str) -> float:
    t = run.table("transfers")
    times = t["completion_s"][t["group"] == klass] if t else np.array([])
    return 1e3 * float(np.nanmean(times)) if len(times) else float("nan")


# --------------------------------------------------------------------------------------------------------- colours


def colours(run: RunView, klass: str) -> np.ndarray:
    """The rates that left the conditioner of a flow in each second in green, yellow and red, Mb/s (one row for each
    second)."""
    series = run.series
    is_packet_count = (series["what"] == f"edge.flows.{klass}.access") & (series["probe"] == "packets")
    seconds = int(np.max(run.intervals["to_s"]))
    total = np.zeros((seconds + 1, 3))
    for i, code in enumerate((10, 12, 14)):
        of_colour = is_packet_count & (series["index"] == code)
        total[np.rint(series["time_s"][of_colour]).astype(int), i] = series["value"][of_colour]
        # A colour of which no packet has passed yet has no points.
        total[:, i] = np.maximum.accumulate(total[:, i])
    return np.diff(total, axis=0) * 8e-6 * float(run.options.get("packet", 1000))


@measure(
    "green_part", "Green at the edge", "%", "packets that the conditioner named by the class let through, of colours"
)
def green_part(run: RunView, klass: str) -> float:
    s = run.series
    is_packet_count = (s["what"] == f"edge.{klass}") & (s["probe"] == "packets")
    packets_of_colours = [
        float(np.max(s["value"][is_packet_count & (s["index"] == code)], initial=0)) for code in (10, 12, 14)
    ]
    return 100 * packets_of_colours[0] / sum(packets_of_colours) if sum(packets_of_colours) else float("nan")


def _off(run: RunView, klass: str, upto: int, red: bool | None) -> float:
    colour_counts = colours(run, klass)
    rate = (upto + 1) * float(run.options["promised"][klass.split(".")[0]])
    is_kept = np.arange(len(colour_counts)) >= 5
    if red is not None:
        is_kept &= (colour_counts[:, 2] > 0) == red
    colour_counts = colour_counts[is_kept]
    due = np.minimum(colour_counts.sum(axis=1), rate)
    return 100 * _mean(abs(colour_counts[:, : upto + 1].sum(axis=1) - due) / rate)


@measure(
    "green_off",
    "Green beside the baseline rate",
    "%",
    "|green - min(total, r1)| over r1, mean over seconds from 5 s on",
)
def green_off(run: RunView, klass: str) -> float:
    return _off(run, klass, 0, None)


@measure(
    "yellow_off", "Green and yellow beside the higher rate", "%", "|green + yellow - min(total, 2 r1)| over 2 r1, mean"
)
def yellow_off(run: RunView, klass: str) -> float:
    return _off(run, klass, 1, None)


@measure("green_off_calm", "The same of green in seconds without red", "%", "|green - min(total, r1)| over r1")
def green_off_calm(run: RunView, klass: str) -> float:
    return _off(run, klass, 0, False)


@measure(
    "green_missing", "Green missing while more is sent", "%", "1 - green / r1, mean over the seconds with more than r1"
)
def green_missing(run: RunView, klass: str) -> float:
    x = colours(run, klass)
    rate = float(run.options["promised"][klass.split(".")[0]])
    x = x[(np.arange(len(x)) >= 5) & (x.sum(axis=1) > rate)]
    return 100 * (1 - _mean(x[:, 0]) / rate) if len(x) else float("nan")
