"""Fits the buffers in front of a line to a speed test: it simulates the modem alone until a load adds the measured
latency.

The queue is nearly proportional to the buffer. The next buffer is therefore the last one times the ratio of the
measured to the simulated latency. The load is that of a speed test: a few transfers, in one direction at a time.
"""

from __future__ import annotations

from dataclasses import replace

from tailback.apps.ask.home import measures
from tailback.apps.ask.home import phases as phase
from tailback.apps.ask.home.candidates import MODEM, today
from tailback.apps.ask.home.line import LEAST_MODEM_BYTES, TRANSFERS, HomeLine
from tailback.apps.ask.home.phases import LEAST_LOADED_S, Timeline, timeline
from tailback.apps.ask.home.traffic import scenario
from tailback.apps.ask.trial import Trial, not_failed
from tailback.core import stats
from tailback.runs.builder import Network
from tailback.runs.campaign.errand import whole
from tailback.runs.campaign.plan import Plan

#: The most tries, and the tolerance at which they stop.
TRIES, NEAR = 8, 0.02
#: The seeds of each try, and the time for which a direction is loaded.
SEEDS, LOADED_S = 2, 12.0
#: The largest buffer of a modem, as a time at its rate.
MOST_S = 20.0


def fitted(line: HomeLine, trial: Trial) -> HomeLine:
    """The line with buffers at which a load adds the measured latency."""
    test = line.measured
    if test is None or line.modem != "fitted":
        return line
    measured_added_s = [test.added_down_s, test.added_up_s]
    rates = (line.down_bps, line.up_bps)
    usual = (line.down_buffer, line.up_buffer)
    begin = [
        size if w is None else _bytes(w, rate) for w, rate, size in zip(measured_added_s, rates, usual, strict=True)
    ]
    test_line = replace(
        line, traffic=("bulk",), hosts_of={"bulk": (1,)}, hosts=1, transfers=TRANSFERS, readers=0, varies=None
    )
    for tries_left in reversed(range(TRIES)):
        test_line = replace(test_line, down_buffer=begin[0], up_buffer=begin[1])
        simulated_added_s = added(test_line, trial)
        next_sizes = list(begin)
        for i, (want, got) in enumerate(zip(measured_added_s, simulated_added_s, strict=True)):
            if want is not None and abs(got - want) > max(NEAR * want, 0.0002):
                factor = min(4.0, max(0.25, want / max(got, 1e-5)))
                next_sizes[i] = min(max(LEAST_MODEM_BYTES, round(begin[i] * factor)), _bytes(MOST_S, rates[i]))
        if next_sizes == begin or not tries_left:
            break
        begin = next_sizes
    return replace(line, down_buffer=begin[0], up_buffer=begin[1], fit_adds=simulated_added_s)


def _bytes(seconds: float, rate_bps: float) -> int:
    return max(LEAST_MODEM_BYTES, round(seconds * rate_bps / 8))


def added(line: HomeLine, trial: Trial) -> tuple[float, float]:
    """The latency that a download and an upload add with the modem alone."""
    times = _times(line)
    network = Network(scenario(line, today().queues(line, line.share), times))
    plan = Plan([({"queue": MODEM, "share": str(line.share)}, network)], SEEDS, trial.seed)
    results = whole(not_failed(plan.execute(None, trial.jobs)))
    ((_, runs),) = measures.views(results, line, times).items()
    down_s, up_s = (stats.mean(run.added(name) for run in runs) for name in (phase.DOWN, phase.UP))
    return down_s, up_s


def _times(line: HomeLine) -> Timeline:
    timeline_of_line = timeline(line)
    gaps = timeline_of_line.duration_s - sum(p.ends - p.begins for p in timeline_of_line.phases if p.down or p.up)
    return timeline(line, gaps + max(LOADED_S, LEAST_LOADED_S) * len(timeline_of_line.loaded)).one_way
