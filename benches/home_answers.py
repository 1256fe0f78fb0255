"""Whether the answers of `tailback home` hold: households, fitted modems, and intervals of lines that vary.

    .venv/bin/python benches/home_answers.py households            # all, or one by name
    .venv/bin/python benches/home_answers.py fit 50
    .venv/bin/python benches/home_answers.py intervals evening 100 1000

`households` gives each of eight lines its answer, and then runs a grid of ten shares and three disciplines with other
seeds: the proposal has to cost no more than the best of the grid (`tailback.apps.ask.home.worth`), within the interval
of their difference or a millisecond. `fit` draws lines with buffers, simulates their speed test, and looks whether the
buffers come back. `intervals` repeats an answer with other seeds, and counts in how many the interval contains the
mean of many seeds.
"""

from __future__ import annotations

import random
import resource
import sys
from dataclasses import replace
from typing import Any

from tailback.apps.ask.home import measures, worth
from tailback.apps.ask.home.answer import _Tried, answer
from tailback.apps.ask.home.candidates import MODEM, chosen, today
from tailback.apps.ask.home.fit import SEEDS, added, fitted
from tailback.apps.ask.home.line import MOST_SHARE, HomeLine, Share, question
from tailback.apps.ask.home.measured import Measured
from tailback.apps.ask.home.phases import timeline
from tailback.apps.ask.trial import Trial
from tailback.core import stats

HOUSEHOLDS: dict[str, dict[str, Any]] = {
    "cable": {
        "measured": "250/40, idle 18, down 240, up 190",
        "link": "cable",
        "people": "2 calls, 2 games, 3 readers, 1 backup",
    },
    "dsl": {"down": "50Mbit", "up": "10Mbit", "rtt": "25ms", "link": "vdsl", "pppoe": True},
    "office": {"down": "1Gbit", "up": "500Mbit", "rtt": "8ms", "link": "fibre", "hosts": 50, "router": "R7800"},
    "satellite": {"down": "200Mbps", "up": "20Mbps", "rtt": "40ms", "link": "starlink", "varies": "50..200Mbps"},
    "lte": {"down": "60Mbps", "up": "15Mbps", "rtt": "45ms", "link": "lte", "varies": "lte"},
    "slow": {"down": "6Mbit", "up": "300kbit", "rtt": "30ms", "link": "adsl"},
    "vpn": {"down": "100Mbit", "up": "40Mbit", "rtt": "20ms", "link": "vdsl", "pppoe": True, "vpn": "router"},
    "policer": {"down": "100Mbit", "up": "20Mbit", "rtt": "25ms", "link": "fibre", "policer": "250KB"},
}
SHARES, DISCIPLINES = [s / 100 for s in range(50, 100, 5)], ["cake", "fq-codel", "pie"]
OTHER_SEED, GRID_SEEDS, ALIKE_S, AT_ONCE = 1001, 3, 0.001, 50


def household(name: str) -> None:
    line = question(**HOUSEHOLDS[name])
    began = resource.getrusage(resource.RUSAGE_SELF)
    found = answer(line, None, Trial(jobs=1))
    took = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began.ru_utime
    print(f"== {name}: {took:.1f} s of CPU\n{found.text(100)}\n", flush=True)
    line, times = found.line, found.times
    shares = [Share(*(s / 0.95 * one for one in _most(line))) for s in SHARES]
    costs: dict[tuple[str, str], list[float]] = {}
    candidates = chosen([*DISCIPLINES], line) | {found.best: found.candidates[found.best]}
    tried = _Tried(line, times, Trial(jobs=1, seed=OTHER_SEED), candidates, None)
    tried.share_seeds = GRID_SEEDS
    for kind in DISCIPLINES:
        for share, runs in tried._shares(kind, shares, "").items():
            costs[kind, str(share)] = [worth.of_run(run) for run in runs]
    (mine,) = tried._shares(found.best, [line.share], "").values()
    mine_costs = [worth.of_run(run) for run in mine]
    best = min(costs, key=lambda key: stats.mean(costs[key]))
    apart = stats.paired(mine_costs, costs[best])
    holds = apart.mean <= max(apart.half_width, ALIKE_S)
    print(
        f"== {name}: proposal {found.best} at {line.share} costs {1e3 * stats.mean(mine_costs):.1f} ms; of the grid "
        f"{best[0]} at {best[1]} {1e3 * stats.mean(costs[best]):.1f}; apart {1e3 * apart.mean:.1f} ± "
        f"{1e3 * apart.half_width:.1f}: {'holds' if holds else 'FAILS'}; {took:.1f} s of CPU\n",
        flush=True,
    )


def _most(line: HomeLine) -> Share:
    """The greatest share that may be proposed."""
    return max(s for s in line.shares if s.down <= MOST_SHARE)


def fit(lines: int) -> None:
    worst = 0.0
    for number in range(lines):
        drawn = random.Random(f"a modem, {number}")
        down = 10 ** drawn.uniform(6.5, 8.5)
        up = down * drawn.uniform(0.05, 0.5)
        rtt = drawn.uniform(0.008, 0.06)
        # What is deeper is not filled within a speed test, and what has a few packets is not told from one more.
        buffers = [10 ** drawn.uniform(-1.5, -0.1) for _ in range(2)]
        line = question(f"{down:.0f}bps", f"{up:.0f}bps", f"{rtt * 1e6:.0f}us", traffic=["bulk"])
        there = [max(30_000, round(b * rate / 8)) for b, rate in zip(buffers, (down, up), strict=True)]
        seen = added(replace(line, down_buffer=there[0], up_buffer=there[1]), Trial(jobs=1, seed=501))
        test = Measured(0.95 * down, 0.95 * up, rtt, *seen)
        back = fitted(replace(line, measured=test, modem="fitted"), Trial(jobs=1))
        off = [b / t - 1 for b, t in zip((back.down_buffer, back.up_buffer), there, strict=True)]
        worst = max(worst, *map(abs, off))
        print(f"{number}: {down / 1e6:.1f}/{up / 1e6:.2f} Mb/s, {there}: off {off[0]:+.1%} {off[1]:+.1%}", flush=True)
    print(f"{lines} lines, {SEEDS} seeds a try: at most {worst:.1%} off")


def intervals(varies: str, answers: int, seeds: int) -> None:
    """Coverage of the intervals of the modem and of one shaper, in answers of five seeds each."""
    line = question("20Mbps", "5Mbps", "30ms", traffic=["bulk"], varies=varies, share="85%")
    times = timeline(line)
    tried = _Tried(line, times, Trial(jobs=2), {MODEM: today(), **chosen(["cake"], line)}, None)
    asked = [m for m in measures.asked(line) if m.name in ("added_down_s", "added_up_s", "goodput_down", "goodput_up")]
    many, few = (_values(tried, asked, *of) for of in ((100_000, seeds), (0, 5 * answers)))
    for key, values in few.items():
        truth = stats.mean(many[key])
        each = [stats.estimate(values[5 * i : 5 * i + 5]) for i in range(answers)]
        inside = sum(abs(e.mean - truth) <= e.half_width for e in each)
        print(f"{varies}, {' '.join(key)}: {inside} of {answers} intervals have the mean of {seeds} seeds", flush=True)


def _values(tried: _Tried, asked: Any, first: int, seeds: int) -> dict[tuple[str, str], list[float]]:
    """A value a seed, by candidate and measure; some seeds at a time, as runs are large."""
    found: dict[tuple[str, str], list[float]] = {}
    for done in range(0, seeds, AT_ONCE):
        for name, runs in tried.seeds(first + done, min(AT_ONCE, seeds - done)).items():
            for m in asked:
                found.setdefault((name, m.name), []).extend(m.value(run) for run in runs)
    return found


def main(what: str, *given: str) -> None:
    if what == "households":
        for name in given or HOUSEHOLDS:
            household(name)
    elif what == "fit":
        fit(int(given[0]) if given else 50)
    else:
        intervals(given[0], *(int(n) for n in given[1:]))


if __name__ == "__main__":
    main(*sys.argv[1:])
