"""Measures of aggregates that enter at edges: their shares, their losses, and the actions of edges on them.

The class is an aggregate's group of flows. The options of the set name the edge of each aggregate (`edges = { flow13 =
"e1-c1" }`) and its target in Mb/s (`targets`). The probes of the edge must be recorded.
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure

#: The stages in the order of their numbers in the probes of an edge.
STAGES = ("syn", "small-window", "cwr", "spacing", "feedback", "policer", "adaptive")


@measure("drop_ratio", "Packet drop ratio", "%", "packets of the class dropped on the way over those sent", digits=2)
def drop_ratio(run: RunView, klass: str) -> float:
    is_of_class = run.of(klass)
    sent_packets = float(np.sum(run.flows["sent_packets"][is_of_class]))
    return (
        100 * float(np.sum(run.flows["dropped_packets"][is_of_class])) / sent_packets
        if sent_packets > 0
        else float("nan")
    )


@measure(
    "over_limit",
    "Flows above the drop limit",
    "%",
    "microflows whose drop ratio is above the limit that the user sets (`options.drop_limit`, %), of all",
)
def over_limit(run: RunView, klass: str) -> float:
    is_of_class, limit = run.of(klass), float(run.options.get("drop_limit", float("nan")))
    sent_packets = np.asarray(run.flows["sent_packets"][is_of_class], dtype=float)
    dropped_packets = np.asarray(run.flows["dropped_packets"][is_of_class], dtype=float)[sent_packets > 0]
    ratios = 100 * dropped_packets / sent_packets[sent_packets > 0]
    return 100 * float(np.mean(ratios > limit)) if len(ratios) and not np.isnan(limit) else float("nan")


@measure("large_over_small", "Large over small", "1", "mean goodput of class `large` over that of `small`", digits=2)
def large_over_small(run: RunView, klass: str) -> float:
    small = float(np.mean(run.goodput("small")))
    return float(np.mean(run.goodput("large"))) / small if small > 0 else float("nan")


@measure(
    "ratio_off",
    "Off the ratio of targets",
    "1",
    "factor between that ratio of goodputs and the ratio of the targets (`options.ratio`), at least 1",
    digits=2,
)
def ratio_off(run: RunView, klass: str) -> float:
    x = large_over_small(run, klass) / float(run.options["ratio"])
    return max(x, 1 / x) if x > 0 else float("nan")


@measure("imbalance", "Imbalance", "1", "difference of the largest and the smallest group's goodput over their sum")
def imbalance(run: RunView, klass: str) -> float:
    sums = [float(np.sum(run.goodput(c))) for c in run.classes]
    return (max(sums) - min(sums)) / sum(sums) if sum(sums) > 0 else float("nan")


@measure("excess_share", "Share of the excess", "%", "goodput above the target, over that of all groups together")
def excess_share(run: RunView, klass: str) -> float:
    targets = {c: 1e6 * float(t) for c, t in run.options.get("targets", {}).items()}
    excess_bps = {c: float(np.sum(run.goodput(c))) - t for c, t in targets.items() if c in run.classes}
    together = sum(excess_bps.values())
    return 100 * excess_bps[klass] / together if klass in excess_bps and together > 0 else float("nan")


@measure(
    "share_error",
    "Excess off proportion",
    "points",
    "share of the excess less that of the targets, largest of the groups",
)
def share_error(run: RunView, klass: str) -> float:
    targets = {c: float(t) for c, t in run.options.get("targets", {}).items()}
    errors = [excess_share(run, c) - 100 * t / sum(targets.values()) for c, t in targets.items()]
    return max(map(abs, errors)) if errors else float("nan")


@measure("lead", "Lead of the first group", "Mbit/s", "goodput of the first group less that of the second")
def lead(run: RunView, klass: str) -> float:
    sums = [float(np.sum(run.goodput(c))) for c in run.classes]
    return (sums[0] - sums[1]) / 1e6 if len(sums) > 1 else float("nan")


@measure(
    "mean_window",
    "Congestion window, mean",
    "packets",
    "of the flows of the class over the recorded instants",
    digits=2,
)
def mean_window(run: RunView, klass: str) -> float:
    _, v = run.probe("cwnd")
    return float(np.mean(v)) if len(v) else float("nan")


@measure("fluctuation", "Fluctuation", "Mbit/s", "standard deviation over the intervals of the class's goodput")
def fluctuation(run: RunView, klass: str) -> float:
    t = run.intervals
    if not t or not len(t["to_s"]):
        return float("nan")
    keep = np.ones(len(t["to_s"]), bool) if klass == "all" else t["group"] == klass
    ends = np.unique(t["to_s"][keep])
    sums = t["goodput_wire_bps"][keep].reshape(len(ends), -1).sum(axis=1)
    return float(np.std(sums, ddof=1)) / 1e6 if len(sums) > 1 else float("nan")


def _last(run: RunView, klass: str, probe: str, index: int = 0) -> float:
    """The last value of a probe of a class's edge."""
    edges = run.options.get("edges", {})
    if klass == "all":
        return float(np.sum([_last(run, c, probe, index) for c in edges]))
    if klass not in edges:
        return float("nan")
    _, v = run.probe(probe, f"edge.{edges[klass]}", index)
    return float(v[-1]) if len(v) else float("nan")


def _changed(number: int, stage: str) -> None:
    name = stage.replace("-", "_")

    @measure(
        f"changed_{name}",
        f"Changed by {stage}",
        "1",
        "packets to which the stage gave another colour, or none",
        digits=0,
    )
    def changed(run: RunView, klass: str) -> float:
        return _last(run, klass, "changed", number)

    @measure(f"held_{name}", f"Flows of {stage}", "flows", "the most entries the stage has had at an edge", digits=0)
    def held(run: RunView, klass: str) -> float:
        return _last(run, klass, "most_flows", number)

    @measure(
        f"state_{name}", f"State of {stage}", "B", "bytes of the most entries the stage has had at an edge", digits=0
    )
    def state(run: RunView, klass: str) -> float:
        edges = run.options.get("edges", {}) if klass == "all" else [klass]
        bytes_of_edges = [_last(run, c, "most_flows", number) * _last(run, c, "entry_bytes", number) for c in edges]
        return float(np.sum(bytes_of_edges)) if bytes_of_edges else float("nan")


for _number, _stage in enumerate(STAGES):
    _changed(_number, _stage)


@measure("not_applicable", "Not applicable", "1", "packets to which a stage could not apply, all stages", digits=0)
def not_applicable(run: RunView, klass: str) -> float:
    return float(np.sum([_last(run, klass, "not_applicable", i) for i in range(len(STAGES))]))


def _coloured(code: int, colour: str) -> None:
    @measure(f"marked_{colour}", f"Marked {colour}", "%", f"packets that left the edge {colour}, over all that left it")
    def marked(run: RunView, klass: str) -> float:
        packets_of_colours = [_last(run, klass, "packets", c) for c in (10, 12, 14)]
        counts = [0.0 if np.isnan(x) else x for x in packets_of_colours]
        return 100 * counts[(code - 10) // 2] / sum(counts) if sum(counts) > 0 else float("nan")


for _code, _colour in ((10, "green"), (12, "yellow"), (14, "red")):
    _coloured(_code, _colour)


def _of_aggregate(probe: str, title: str, number: int, colour: str) -> None:
    @measure(
        f"{probe}_{colour}",
        f"{title} {colour}",
        "1",
        "packets of the aggregate that the set's options name (`aggregates = { NAME = [EDGE, PLACE] }`)",
        digits=0,
    )
    def count(run: RunView, klass: str) -> float:
        aggregates = run.options.get("aggregates", {})
        places = list(aggregates.values()) if klass == "all" else [aggregates[klass]] if klass in aggregates else []
        probes = [run.probe(probe, f"edge.{edge}", 3 * int(place) + number)[1] for edge, place in places]
        return float(np.sum([v[-1] for v in probes])) if probes and all(len(v) for v in probes) else float("nan")


for _number, _colour in enumerate(("green", "yellow", "red")):
    _of_aggregate("aggregate_asked", "Asked", _number, _colour)
    _of_aggregate("aggregate_marked", "Left", _number, _colour)


@measure("mode_changes", "Changes of mode", "1", "of the adaptive stage, at the recorded instants", digits=0)
def mode_changes(run: RunView, klass: str) -> float:
    edges = run.options.get("edges", {})
    times = 0
    for c in edges if klass == "all" else [klass]:
        _, v = run.probe("per_flow_mode", f"edge.{edges.get(c)}")
        times += int(np.count_nonzero(np.diff(v)))
    return float(times)


@measure("per_flow_mode", "Time in per-flow mode", "%", "of the adaptive stage, at the recorded instants")
def per_flow_mode(run: RunView, klass: str) -> float:
    edges = run.options.get("edges", {})
    shares = []
    for c in edges if klass == "all" else [klass]:
        _, v = run.probe("per_flow_mode", f"edge.{edges.get(c)}")
        shares.append(float(np.mean(v)) if len(v) else float("nan"))
    return 100 * float(np.mean(shares)) if shares else float("nan")


@measure("weight_q", "Weight of the aggregate", "1", "the last weight by round trip or target")
def weight_q(run: RunView, klass: str) -> float:
    return _last(run, klass, "weight")


def _transfers(run: RunView, klass: str, column: str) -> np.ndarray:
    """A column of the class's transfers, without values that the run did not see."""
    t = run.table("transfers")
    if not t or not len(t["group"]):
        return np.array([])
    x = np.asarray(t[column] if klass == "all" else t[column][t["group"] == klass], dtype=float)
    finished_s: np.ndarray = x[~np.isnan(x)]
    return finished_s


def _transfer_measure(name: str, title: str, doc: str, column: str) -> None:
    @measure(name, title, "s", doc, digits=2)
    def mean(run: RunView, klass: str) -> float:
        x = _transfers(run, klass, column)
        return float(np.mean(x)) if len(x) else float("nan")

    @measure(f"{name}_median", f"{title}, median", "s", doc, digits=2)
    def median(run: RunView, klass: str) -> float:
        x = _transfers(run, klass, column)
        return float(np.median(x)) if len(x) else float("nan")


_transfer_measure(
    "completion", "Response time, last byte", "from the request to the last byte of what it asked for", "completion_s"
)
_transfer_measure(
    "response", "Response time, first byte", "from the request to the first byte of what it asked for", "response_s"
)


@measure("transferred", "Transfers completed", "1", "transfers whose last byte arrived", digits=0)
def transferred(run: RunView, klass: str) -> float:
    return float(len(_transfers(run, klass, "completion_s")))


@measure(
    "transfer_rate",
    "Transfer rate",
    "kbit/s",
    "bytes of completed transfers over the time to the last of them",
    digits=1,
)
def transfer_rate(run: RunView, klass: str) -> float:
    t = run.table("transfers")
    if not t or not len(t["group"]):
        return float("nan")
    done_s = np.asarray(t["done_s"], dtype=float)
    keep = ~np.isnan(done_s) & ((t["group"] == klass) | (klass == "all"))
    return 8e-3 * float(np.sum(t["bytes"][keep])) / float(done_s[keep].max()) if keep.any() else float("nan")


def _delays(run: RunView, klass: str, column: str) -> np.ndarray:
    x = np.asarray(run.flows[column][run.of(klass)], dtype=float)
    present: np.ndarray = x[~np.isnan(x)]
    return present


@measure(
    "flow_delay",
    "Packet delay, median of flows",
    "s",
    "mean delay of each flow's packets, median over the flows",
    digits=3,
)
def flow_delay(run: RunView, klass: str) -> float:
    x = _delays(run, klass, "delay_mean_s")
    return float(np.median(x)) if len(x) else float("nan")


@measure(
    "flow_delay_max",
    "Largest packet delay, median of flows",
    "s",
    "largest delay of each flow's packets, median over the flows",
    digits=3,
)
def flow_delay_max(run: RunView, klass: str) -> float:
    x = _delays(run, klass, "delay_max_s")
    return float(np.median(x)) if len(x) else float("nan")


@measure(
    "lost_rate", "Lost at the studied link", "Mbit/s", "rate of what is dropped there, which has taken room before"
)
def lost_rate(run: RunView, klass: str) -> float:
    row = run.link_row()
    sent_packets = float(row["delivered_packets"])
    return (
        float(row["throughput_bps"]) * float(row["dropped_packets"]) / sent_packets / 1e6
        if sent_packets > 0
        else float("nan")
    )


def _lost(code: int, colour: str) -> None:
    @measure(
        f"lost_{colour}",
        f"Lost of {colour}",
        "%",
        f"{colour} packets dropped at the studied link over those the recorded edges let through, of all classes",
        digits=1,
    )
    def lost(run: RunView, klass: str) -> float:
        packets_of_edges = [_last(run, c, "packets", code) for c in run.options.get("edges", {})]
        sent_packets = float(np.nansum(packets_of_edges)) if packets_of_edges else 0.0
        t = run.losses
        if not t or not len(t["link"]) or sent_packets <= 0:
            return float("nan")
        # The code points are those of class 1.
        is_drop = (t["link"] == run.link) & (t["event"] == "drop") & (t["colour"] == f"AF1{code // 2 - 4}")
        return 100 * float(np.sum(t["packets"][is_drop])) / sent_packets


for _code, _colour in ((10, "green"), (12, "yellow"), (14, "red")):
    _lost(_code, _colour)


@measure(
    "timeouts_rate", "Timeouts by what is carried", "per Mbit/s", "timeouts of the class over its goodput", digits=0
)
def timeouts_rate(run: RunView, klass: str) -> float:
    is_of_class = run.of(klass)
    carried_mbps = float(np.sum(run.goodput(klass))) / 1e6
    return float(np.sum(run.flows["timeouts"][is_of_class])) / carried_mbps if carried_mbps > 0 else float("nan")


@measure("refused_small_window", "Refused by small-window", "packets", "packets of flows that found no entry", digits=0)
def refused_small_window(run: RunView, klass: str) -> float:
    return _last(run, klass, "refused_flows", STAGES.index("small-window"))


def _write_delays(run: RunView, klass: str) -> list[np.ndarray]:
    """The times from each write to its delivery, by flow."""
    t = run.table("transfers")
    if not t or not len(t["group"]):
        return []
    is_of_group = t["group"] == klass
    x, member = np.asarray(t["completion_s"][is_of_group], dtype=float), t["member"][is_of_group]
    is_finished = ~np.isnan(x)
    return [x[is_finished & (member == m)] for m in np.unique(member[is_finished])]


@measure(
    "write_delay",
    "Delay from the write, median of flows",
    "s",
    "from the write to its delivery in order: mean of each flow's, median over the flows",
    digits=2,
)
def write_delay(run: RunView, klass: str) -> float:
    x = [float(np.mean(d)) for d in _write_delays(run, klass)]
    return float(np.median(x)) if x else float("nan")


@measure(
    "write_delay_max",
    "Largest delay from the write, median of flows",
    "s",
    "from the write to its delivery in order: largest of each flow's, median over the flows",
    digits=1,
)
def write_delay_max(run: RunView, klass: str) -> float:
    x = [float(np.max(d)) for d in _write_delays(run, klass)]
    return float(np.median(x)) if x else float("nan")


@measure("lost_syns", "SYNs lost", "1", "packets of 40 bytes that begin at 0, in the log of drops", digits=0)
def lost_syns(run: RunView, klass: str) -> float:
    t = run.log
    if not t or "bytes" not in t:
        return float("nan")
    return float(np.count_nonzero((t["event"] == "drop") & (t["bytes"] == 40) & (t["sequence"] == 0)))


@measure("undelivered", "Writes not delivered", "%", "of the writes of the class, at the end of the run", digits=1)
def undelivered(run: RunView, klass: str) -> float:
    t = run.table("transfers")
    if not t or not len(t["group"]):
        return float("nan")
    done_s = np.asarray(t["done_s"], dtype=float)[(t["group"] == klass) | (klass == "all")]
    return 100 * float(np.mean(np.isnan(done_s))) if len(done_s) else float("nan")
