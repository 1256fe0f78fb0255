"""Queues of three colours beside ns-2.35: ours, theirs, how near they should be, and whether they are.

    python validation/coloured_references.py [CASE ...] [--seeds N]

`law_`: recorded coloured arrivals at the queue alone; where nothing is random, packet by packet for the first file and
by counts for five. `tcp_`, `udp_`: flows through meters, means over five seeds. ns-2 signals nothing more once its
count passes 1/pb; ours has a guard, and is compared with ns-2 with one; the other figure is shown beside. Ends with 1
if a figure is outside that `APART` does not explain.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from typing import Any

from coloured_cases import CODES, DATA, law_queue, recorded, replay, scenario
from references import Figures, Line, Tally, average, chosen, rows_of

import tailback as tb

FROM, TO = 20, 100
GUARDED, AS_IS = "guarded", "as it is"
#: Figures that are outside, by case and name, and why.
ONE_OF_MANY = "one of 70 goodputs, {} standard errors of the difference of two means over five seeds"
APART: dict[tuple[str, str], str] = {
    ("tcp_tsw2cm_agg_eq_rioc", "acked_win[3]"): ONE_OF_MANY.format(3.1),
    ("tcp_trtcm_agg_mix_rioc_ecn", "acked_win[7]"): ONE_OF_MANY.format(2.4),
}
#: By case, row and simulator.
Statistics = dict[tuple[str, str, str], Figures]


def read_statistics() -> Statistics:
    found: Statistics = {}
    with (DATA / "statistics.csv").open() as f:
        for row in csv.DictReader(f):
            key = row["case"], row["row"], row["simulator"]
            found.setdefault(key, {})[row["metric"]] = float(row["mean"])
    return found


def exactly(accounting: str) -> list[Line]:
    """The first file packet by packet: how many outcomes and lengths differ, and the averages at most."""
    theirs = recorded(accounting)
    ours = list(replay(law_queue(accounting, random=False), 1, 1))
    pairs = list(zip(ours, theirs, strict=True))
    # One average for all is written once; drop-tail has none.
    pairs_of = [(o.averages[-len(t.averages) :], t.averages) for o, t in pairs if t.averages]
    apart = (abs(a - b) for o, t in pairs_of for a, b in zip(o, t, strict=True))
    return [
        Line("packets with another fate", sum(o.outcome != t.outcome for o, t in pairs), 0, 0, absolute=True),
        Line(
            "packets with other lengths after them", sum(o.waiting != t.waiting for o, t in pairs), 0, 0, absolute=True
        ),
        Line("averages apart, at most", max(apart, default=0.0), 0, 2e-4, absolute=True),
    ]


def law_counts(accounting: str, random: bool, seeds: int) -> Figures:
    runs = []
    for seed in range(1, seeds + 1):
        fates = Counter((a.outcome, a.colour) for a in replay(law_queue(accounting, random), seed, seed))
        runs.append(
            {f"{name}[{c}]": float(fates[fate, c]) for name, fate in (("late", "L"), ("early", "E")) for c in range(3)}
        )
    return average(runs)


def law(case: str, theirs: Statistics, seeds: int) -> list[tuple[Line, float | None]]:
    accounting = case.split("_")[1]
    lines: list[tuple[Line, float | None]] = [(line, None) for line in exactly(accounting)]
    row = "limits" if accounting == "drop" else "forced only"
    if seeds == 5:
        ours = law_counts(accounting, False, 5)
        lines += [
            (Line(f"{row}: {m}", ours[m], x, 0, absolute=True), None)
            for m, x in theirs[case, row, AS_IS].items()
            if m in ours
        ]
    if accounting != "drop":
        ours, beside = law_counts(accounting, True, seeds), theirs[case, "random", AS_IS]
        for m, x in theirs[case, "random", GUARDED].items():
            if m in ours:
                share = (0.25 if m == "late[0]" else 0.04) if m.startswith("late") else 0.12 if x > 100 else 0.30
                lines.append((Line(f"random: {m}", ours[m], x, share), beside[m]))
    return lines


def of_colours(losses: Any, event: str, reason: str) -> list[float]:
    rows = [r for r in losses if (r["link"], r["event"], r["reason"]) == ("line", event, reason)]
    return [float(sum(r["packets"] for r in rows if r["colour"] == colour)) for colour in ("AF11", "AF12", "AF13")]


def sent(series: Any) -> list[float]:
    """Packets of each colour that passed the meters in the time that counts; all of them reach the core."""
    rows = [r for r in series if r["probe"] == "packets" and r["time_s"] == TO]
    return [float(sum(r["value"] for r in rows if r["index"] == code)) for code in CODES]


def run(case: str, seed: int) -> Figures:
    made = scenario(case, seed)
    edges = [f"flows.{name}" for name, flow in made["flows"].items() if "conditioner" in flow]
    edges += [name for name, link in made["link"].items() if "conditioner" in link]
    record: dict[str, Any] = {"core": {"link": "line", "probes": ["average", "backlog"], "every": "10ms"}}
    record |= {f"edge{i}": {"edge": e, "probes": ["packets"], "every": "20s"} for i, e in enumerate(edges)}
    result = tb.run({**made, "duration": f"{TO}s", "warmup": f"{FROM}s", "record": record}, jobs=1)
    line = rows_of(result.links)["line"]
    figures = {
        "util": line["utilisation"],
        "q_mean": line["mean_queue_packets"],
        "marks": float(line["marked_packets"]),
    }
    series = list(result.series)
    for name, probe in (("avg_mean", "average"), ("n_mean", "backlog")):
        for c in range(3):
            values = [r["value"] for r in series if r["probe"] == probe and r["index"] == c and r["time_s"] >= FROM]
            figures[f"{name}[{c}]"] = sum(values) / len(values)
    by_name = {"arrived": sent(series), "late": of_colours(result.losses, "drop", "forced")}
    by_name["early"] = of_colours(result.losses, "drop", "early")
    figures |= {f"{name}[{c}]": x for name, values in by_name.items() for c, x in enumerate(values)}
    rows = rows_of(result.flows)
    long = [r for name, r in rows.items() if name.startswith("long")]
    figures["timeouts"] = float(sum(r["timeouts"] for r in long))
    goodput = [r["goodput_wire_bps"] / 8000 * (TO - FROM) for r in long]
    figures |= {f"acked_win[{i}]": x for i, x in enumerate(goodput)}
    figures["acked"] = sum(goodput)
    figures["jain"] = sum(goodput) ** 2 / (10 * sum(x * x for x in goodput))
    return figures


def tolerance(case: str, figure: str, theirs: float) -> tuple[float, float] | None:
    """A share of theirs, and so many units beside; none where it is not compared. The README of the data says why."""
    kind, colour = figure.partition("[")[0], figure[-2:-1]
    words = case.split("_")
    if kind == "arrived":
        green = 0.01 if words[1].startswith("tsw") else 0.007 if "flow" in words else 0.001
        return ({"0": green, "1": 0.02, "2": 0.04}[colour], 0.0) if theirs > 0 else None
    if kind in ("avg_mean", "n_mean"):
        return (0.04, 0.02) if theirs > 0.5 else None
    if kind == "late":
        return (0.25 if words[0] == "udp" else 0.0, 100.0)
    if kind == "early":
        return (0.06, 0.0) if theirs > 100 else None
    if kind == "acked_win":
        return (0.06 if "eq" in words else 0.12, 0.0)
    return {
        "util": (0.0, 0.01),
        "q_mean": (0.04, 0.0),
        "marks": (0.08, 0.0) if theirs > 0 else None,
        "timeouts": (1.0, 0.0),
        "acked": (0.015, 0.0),
        "jain": (0.0, 0.02),
    }.get(kind)


def whole(figures: Figures) -> Figures:
    """With what is computed of the flows together."""
    goodput = [x for m, x in figures.items() if m.startswith("acked_win")]
    timeouts = sum(x for m, x in figures.items() if m.startswith("timeouts_win"))
    jain = sum(goodput) ** 2 / (10 * sum(x * x for x in goodput))
    return {**figures, "acked": sum(goodput), "timeouts": timeouts, "jain": jain}


def flows(case: str, theirs: Statistics, seeds: int) -> list[tuple[Line, float | None]]:
    ours = average([run(case, seed) for seed in range(1, seeds + 1)])
    guarded, beside = whole(theirs[case, "", GUARDED]), whole(theirs[case, "", AS_IS])
    lines: list[tuple[Line, float | None]] = []
    for figure, value in ours.items():
        if figure not in guarded or (within := tolerance(case, figure, guarded[figure])) is None:
            continue
        share, units = within
        lines.append(
            (Line(figure, value, guarded[figure], share * abs(guarded[figure]) + units, absolute=True), beside[figure])
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare queues of three colours with ns-2.35.")
    parser.add_argument("cases", nargs="*", help="cases, or words of their names; without it all")
    parser.add_argument("--seeds", type=int, default=5, choices=range(1, 6))
    args = parser.parse_args()
    theirs = read_statistics()
    tally = Tally(APART)
    print(f"{'case':<27} {'figure':<37} {'ours':>9} {'theirs':>9} {'within':>8} {'no guard':>9}")
    for case in chosen(list(dict.fromkeys(case for case, *_ in theirs)), args.cases):
        kind = law if case.startswith("law") else flows
        for line, beside in kind(case, theirs, args.seeds):
            verdict = tally.verdict(case, line)
            within = line.within if line.absolute else line.within * abs(line.theirs)
            other = "" if beside is None else f"{beside:.5g}"
            numbers = f"{line.ours:>9.5g} {line.theirs:>9.5g} {within:>8.3g} {other:>9}"
            print(f"{case:<27} {line.figure:<37} {numbers}{verdict}", flush=True)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
