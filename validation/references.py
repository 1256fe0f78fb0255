"""Connections that open and close beside ns-2.35: ours, theirs, how near they should be, and whether they are.

    python validation/references.py [CASE ...] [--arrivals FOLDER] [--seeds N]

Runs each case with the recorded arrivals and starts of five seeds and compares the means over seeds. Cases without
arguments: all of `tests/reference/sessions/statistics.csv`; a word such as `pois` or `red` takes those that have it.
Arrivals that the repository does not have are looked for in FOLDER. Ends with 1 if a figure is outside that `APART`
does not explain.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from reference_cases import PAYLOAD, Case, scenario

import tailback as tb

DATA = Path(__file__).resolve().parent.parent / "tests/reference/sessions"
FROM, TO = 20, 100
#: Cases that cannot be run here, and why.
NOT_RUN = {
    "ft_small": "crates/tailback-scenario/tests/it/small_writes.rs has it, packet counts within 0.02 %",
}
TIES = "chaotic: with an access link longer by 0 to 29 us ns-2's goodput has a deviation of 3 to 4 % of the line a run"
FINS = "theirs are counted to the close: in seed 1 the only timeout of 42 of 224 transfers is that of a lost FIN"
REPAIRS = "losses of repairs and their timeouts are not as in ns-3; with marks instead of drops it is 34.8 for 35.1"
#: Figures that are outside, by case and name, and why.
APART: dict[tuple[str, str], str] = {
    ("ft_both_1_ack", "fwd.util"): TIES,
    ("ft_both_1_ack", "rev.q_mean"): TIES,
    ("n3_mice_fqcodel", "q_mean"): REPAIRS,
    ("pois_fixed50_80_full_red_ecn", "with_timeout"): FINS,
}
#: Figures that are outside by chance, and what ns-2 has with five more seeds of its generator, the same arrivals and
#: starts. They are asked again with five more seeds on this side too.
CHANCE: dict[tuple[str, str], float | None] = {
    ("pl_dt_oh", "long 130 ms"): 3796.4,
    ("tw_ow_sack_oh", "rev.util"): 71.0,
    # A run of it takes minutes there: against the recorded five.
    ("pois_pareto20_80_red_ecn", "with_timeout"): None,
}

Figures = dict[str, float]


@dataclass(frozen=True)
class Line:
    """A figure beside theirs; `within` is a share of theirs, or as many units if `absolute`."""

    figure: str
    ours: float
    theirs: float
    within: float
    absolute: bool = False

    def held(self) -> bool:
        most = self.within if self.absolute else self.within * abs(self.theirs)
        return abs(self.ours - self.theirs) <= most + 1e-12

    def off(self) -> str:
        if self.absolute:
            return f"{self.ours - self.theirs:+.2f}"
        return f"{100 * (self.ours / self.theirs - 1):+.1f} %" if self.theirs else "-"


def quantile(values: list[float], p: float) -> float:
    """The smallest value that a share p of them does not exceed."""
    return sorted(values)[max(math.ceil(p * len(values)) - 1, 0)]


def rows_of(table: Any) -> dict[str, dict[str, Any]]:
    return {row["id"] if "id" in row else row["name"]: row for row in table}


def run(case: Case, start: float, end: float) -> Any:
    return tb.run({**scenario(case), "duration": f"{end}s", "warmup": f"{start}s"}, jobs=1)


def of_link(links: dict[str, dict[str, Any]], name: str, prefix: str = "") -> Figures:
    row = links[name]
    return {
        f"{prefix}util": row["utilisation"],
        f"{prefix}q_mean": row["mean_queue_packets"],
        f"{prefix}drops": row["dropped_packets"],
        f"{prefix}marks": row["marked_packets"],
    }


def packets(row: dict[str, Any], column: str = "goodput_bps", seconds: float = TO - FROM) -> float:
    """What arrived, in packets of full payload."""
    return row[column] * seconds / 8 / PAYLOAD


def of_transfers(case: Case) -> Figures:
    """Those that begin in the measured time, run on until all are done."""
    rows = [r for r in run(case, FROM, 2.5 * TO).transfers if r["asked_s"] < TO]
    # ns-2's one-way sender is done when it knows; others when the receiver has the last byte.
    column = "completion_s" if case.has("full") or case.has("n3") else "acked_completion_s"
    times = [r[column] for r in rows]
    large = [r[column] for r in rows if r["bytes"] > 100 * PAYLOAD]
    assert not any(math.isnan(t) for t in times), "a transfer did not end"
    figures = {f"fct.p{p}": quantile(times, p / 100) for p in (50, 95, 99)}
    figures |= {"fct.n": len(times), "fct.mean": statistics.fmean(times)}
    figures["with_timeout"] = sum(r["timeouts"] > 0 for r in rows)
    if large:
        figures["fct_101_.mean"] = statistics.fmean(large)
    return figures


def with_transfers(case: Case) -> Figures:
    result = run(case, FROM, TO)
    figures = of_link(rows_of(result.links), "line") | of_transfers(case)
    flows = rows_of(result.flows)
    longs = [packets(row) for name, row in flows.items() if name.startswith("long")]
    return figures | ({"long total": sum(longs)} if longs else {})


def by_interval(case: Case) -> Figures:
    """The last 18 s of three intervals of 30 s."""
    figures: Figures = {}
    for name, end in (("B", 30), ("U", 60), ("O", 90)):
        result = run(case, end - 18, end)
        figures |= of_link(rows_of(result.links), "line", f"{name}.")
        for kind in range(4):
            flows = [r for i, r in rows_of(result.flows).items() if i.startswith(f"c{kind}n")]
            figures[f"{name} class {kind}"] = sum(packets(r, seconds=18) for r in flows if r["goodput_bps"] > 0)
    return figures


def both_ways(case: Case) -> Figures:
    result = run(case, FROM, TO)
    links, flows = rows_of(result.links), rows_of(result.flows)
    figures = of_link(links, "line", "fwd.") | of_link(links, "line.reverse", "rev.")
    lefts = [r for i, r in flows.items() if i.startswith("left")]
    if case.has("ft"):
        data = [sum(r["sent_packets"] for r in lefts), sum(r["reverse_sent_packets"] for r in lefts)]
        arrived = [sum(packets(r) for r in lefts), sum(packets(r, "reverse_goodput_bps") for r in lefts)]
        figures["left again"] = sum(r["retransmitted_packets"] for r in lefts)
        for side, link, sent in zip(("left", "right"), ("line", "line.reverse"), data, strict=True):
            figures[f"{side} ACK-only"] = links[link]["arrived_packets"] - sent
    else:
        rights = [r for i, r in flows.items() if i.startswith("right")]
        data = [sum(r["sent_packets"] for r in side) for side in (lefts, rights)]
        arrived = [sum(packets(r) for r in side) for side in (lefts, rights)]
    for side, there, sent in zip(("left", "right"), arrived, data, strict=True):
        figures |= {f"{side} goodput": 0.0 if math.isnan(there) else there, f"{side} data": sent}
    return figures


def parking_lot(case: Case) -> Figures:
    result = run(case, FROM, TO)
    links, flows = rows_of(result.links), rows_of(result.flows)
    figures: Figures = {}
    for i in range(3):
        figures |= of_link(links, f"hop{i}", f"hop{i}.")
    goodput = [packets(flows[f"f{i}.0"]) for i in range(16)]
    figures |= classes(goodput)
    return figures


def classes(goodput: list[float]) -> Figures:
    """Of a parking lot: long flows by round trip, cross flows the mean of the hops."""
    long = {f"long {rtt} ms": goodput[i] for i, rtt in enumerate((70, 100, 130, 160))}
    cross = {f"cross {rtt} ms": statistics.fmean(goodput[4 + i :: 4]) for i, rtt in enumerate((30, 60, 90, 120))}
    return long | cross | {"total": sum(goodput)}


MEASURES: dict[str, Callable[[Case], Figures]] = {
    "pois": with_transfers,
    "mice": with_transfers,
    "n3": with_transfers,
    "onoff": with_transfers,
    "buo": by_interval,
    "ft": both_ways,
    "tw": both_ways,
    "pl": parking_lot,
}


def published(name: str, theirs: Figures) -> Figures:
    """Theirs under the names of ours."""
    figures = dict(theirs)
    for key in theirs:
        if key.endswith("drops_tail"):
            prefix = key.removesuffix("drops_tail")
            figures[f"{prefix}drops"] = theirs[key] + theirs[f"{prefix}drops_early"]

    def total(prefix: str, where: Callable[[int], bool] = lambda i: True) -> float:
        keys = (k for k in theirs if k.startswith(prefix) and where(int(k.removeprefix(prefix))))
        return sum(theirs[k] for k in keys)

    kind = name.split("_")[0]
    if kind in ("mice", "n3", "onoff"):
        figures["long total"] = total("long_acked_win.")
    if kind == "buo":
        for interval in "BUO":
            for c in range(4):
                figures[f"{interval} class {c}"] = total(f"acked_{interval}.", lambda i, c=c: i % 4 == c)
    if kind == "pl":
        figures |= classes([theirs[f"acked_win.{i}"] for i in range(16)])
    if kind in ("ft", "tw"):
        # Two-way agents count bytes.
        unit = PAYLOAD if kind == "ft" else 1
        for side in ("left", "right"):
            figures[f"{side} goodput"] = total(f"{side}_acked.") / unit
            figures[f"{side} data"] = total(f"{side}_data.")
            if f"{side}_again" in theirs:
                figures[f"{side} again"] = theirs[f"{side}_again"]
            if kind == "ft":
                figures[f"{side} ACK-only"] = total(f"{side}_acks.")
    return figures


#: Shares of theirs, by the last part of a figure's name, and instead of that by kind of case or load.
WITHIN: dict[str, tuple[float, dict[str, float]]] = {
    "q_mean": (0.05, {"pois": 0.04, "ft": 0.10, "tw": 0.10}),
    "marks": (0.05, {}),
    "mean": (0.07, {"50": 0.03, "80": 0.04, "95": 0.10}),
    "p50": (0.07, {"50": 0.03, "80": 0.04, "95": 0.10}),
    "p95": (0.12, {"50": 0.04, "80": 0.08}),
    "p99": (0.18, {"95": 0.25}),
    "with_timeout": (0.15, {}),
    "long total": (0.03, {}),
    "total": (0.03, {}),
    "left goodput": (0.04, {}),
    "right goodput": (0.04, {}),
    "left ACK-only": (0.10, {}),
    "left again": (0.20, {}),
    "right ACK-only": (0.10, {}),
}


def tolerance(name: str, figure: str, theirs: float) -> float | None:
    """How near a faithful implementation should come, as a share of theirs (utilisation: points); none where it is not
    compared. From what moving each send by up to 0.1 ms did to ns-2 itself, see README.md of the data."""
    last = figure.split(".")[-1]
    if name.startswith("n3"):
        # A few packets are no rate.
        return NS3.get(figure) if theirs > (10 if figure in ("drops", "marks") else 0) else None
    if last == "util":
        return 1.0
    # A line that hardly carries anything has no queue to compare.
    if theirs <= (0.1 if last == "q_mean" else 0):
        return None
    if last == "drops":
        return 0.13 if theirs > 1000 else 0.20 if theirs >= 200 else None
    if figure.startswith("fct_101_"):
        return 0.20
    if last in WITHIN:
        share, special = WITHIN[last]
        return next((special[word] for word in name.split("_") if word in special), share)
    return 0.12 if figure.startswith(("long ", "cross ", "B class", "U class", "O class")) else None


#: The same of the cases of ns-3.
NS3 = {"util": 1.0, "q_mean": 0.13, "drops": 0.25, "marks": 0.25, "fct.mean": 0.08, "fct.p50": 0.08, "fct.p95": 0.15}
NS3 |= {"fct.p99": 0.15, "long total": 0.02}


def compare(name: str, theirs: Figures, runs: list[Figures]) -> list[Line]:
    theirs, lines = published(name, theirs), []
    for figure in runs[0]:
        if figure not in theirs or (within := tolerance(name, figure, theirs[figure])) is None:
            continue
        scale = 100 if figure.split(".")[-1] == "util" else 1
        ours = statistics.fmean(r[figure] for r in runs)
        lines.append(Line(figure, scale * ours, scale * theirs[figure], within, absolute=scale == 100))
    if name.startswith("ft_both_1"):
        return lines
    if name.startswith(("ft_both", "tw")):
        faster = [float(f["left goodput"] > f["right goodput"]) for f in (theirs, average(runs))]
        lines.append(Line("left is faster", faster[1], faster[0], 0.0, absolute=True))
    return lines


def average(runs: list[Figures]) -> Figures:
    return {figure: statistics.fmean(r[figure] for r in runs) for figure in runs[0]}


def runs_of(name: str, seeds: range, arrivals: tuple[Path, ...], draw: int) -> list[Figures]:
    return [MEASURES[name.split("_")[0]](Case(name, s, arrivals, DATA / "starts", draw)) for s in seeds]


def more_seeds(name: str, line: Line, run: Callable[[int], list[Figures]]) -> tuple[bool, str]:
    """Of a figure that is outside by chance: whether five more seeds are inside, and what they are."""
    recorded = CHANCE[name, line.figure]
    ours = statistics.fmean(r[line.figure] for r in run(1)) * (100 if line.absolute else 1)
    again = Line(line.figure, ours, line.theirs if recorded is None else recorded, line.within, line.absolute)
    word = "inside" if again.held() else "outside"
    return again.held(), f"by chance; five more seeds {word}: {again.ours:.4g} for {again.theirs:.4g}"


def read_statistics() -> dict[str, Figures]:
    cases: dict[str, Figures] = {}
    with (DATA / "statistics.csv").open() as f:
        for row in csv.DictReader(f):
            cases.setdefault(row["case"], {})[row["metric"]] = float(row["mean"])
    return cases


def chosen(names: list[str], given: list[str]) -> list[str]:
    """The cases of these names; where one is no name, those that have its words."""

    def fits(name: str, word: str) -> bool:
        return name == word if word in names else set(word.split("_")) <= set(name.split("_"))

    return [n for n in names if not given or any(fits(n, word) for word in given)]


@dataclass
class Tally:
    """What came of the lines that were compared: the skeleton of every driver of reference cases."""

    #: Figures that are outside, by case and name, and why.
    apart: Mapping[tuple[str, str], str]
    inside: int = 0
    compared: int = 0
    unexplained: list[str] = field(default_factory=list)

    def verdict(self, case: str, line: Line, again: Callable[[], tuple[bool, str]] | None = None) -> str:
        """Count a line, and what stands behind its numbers. `again` asks more seeds about one that is outside."""
        self.compared += 1
        if line.held():
            self.inside += 1
            return ""
        why = self.apart.get((case, line.figure), "")
        explained = bool(why)
        if not explained and again is not None:
            explained, why = again()
        if not explained:
            self.unexplained.append(f"{case} {line.figure}")
        return f"  outside{': ' + why if why else ''}"

    def end(self) -> int:
        """Print the count; the exit status."""
        unexplained = ", ".join(self.unexplained) or "none"
        print(f"{self.inside} of {self.compared} inside; outside and not explained: {unexplained}")
        return 1 if self.unexplained else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare connections that open and close with ns-2.35.")
    parser.add_argument("cases", nargs="*", help="cases, or words of their names; without it all")
    parser.add_argument("--arrivals", type=Path, help="a folder with more recorded arrivals")
    parser.add_argument("--seeds", type=int, default=5, choices=range(1, 6))
    args = parser.parse_args()
    arrivals = (DATA / "arrivals", *([args.arrivals] if args.arrivals else []))
    statistics_of = read_statistics()
    tally = Tally(APART)
    print(f"{'case':<28} {'figure':<16} {'ours':>11} {'theirs':>11} {'off':>9} {'within':>8}")
    for name in chosen(list(statistics_of), args.cases):
        reason = next((why for start, why in NOT_RUN.items() if name.startswith(start)), None)
        try:
            run_draw = partial(runs_of, name, range(1, args.seeds + 1), arrivals)
            runs = [] if reason else run_draw(0)
        except FileNotFoundError as missing:
            reason = f"no arrivals {missing}: give their folder with --arrivals"
        if reason:
            print(f"{name:<28} not run: {reason}")
            continue
        for line in compare(name, statistics_of[name], runs):
            again = partial(more_seeds, name, line, run_draw) if (name, line.figure) in CHANCE else None
            verdict = tally.verdict(name, line, again)
            within = f"{line.within:g}" if line.absolute else f"{100 * line.within:g} %"
            numbers = f"{line.ours:>11.4g} {line.theirs:>11.4g} {line.off():>9} {within:>8}"
            print(f"{name:<28} {line.figure:<16} {numbers}{verdict}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
