"""What helps on a home line: physics, candidates, what is refused, the answer and its page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback.comparison.link import LinkError
from tailback.home import candidates as known
from tailback.home.answer import _Tried
from tailback.home.grade import grade
from tailback.home.line import question
from tailback.home.measures import HomeRun
from tailback.home.phases import BOTH, DOWN, IDLE, UP, timeline
from tailback.comparison.answer import Trial

LINE = {"down": "100Mbps", "up": "20Mbps", "rtt": "30ms"}


def runs(queue: str, seeds: int = 2, duration: str | None = None, **given: Any) -> list[HomeRun]:
    """The runs of one candidate on a line."""
    line = question(**{**LINE, **given})
    times = timeline(line, None if duration is None else tb.parse_time(duration))
    made = known.today() if queue == known.MODEM else known.candidate(queue, line)
    return _Tried(line, times, Trial(seeds), {made.name: made}).candidates()[made.name]


def mean(seen: list[HomeRun], phase: str) -> float:
    return float(np.mean([run.added(phase) for run in seen]))


# What has to be so on any line


def test_an_idle_line_adds_nothing() -> None:
    """Every probe takes the round trip and the time of its own packets on the lines, to the nanosecond."""
    (run,) = runs(known.MODEM, 1, traffic=["upload"])
    probe = run.phases[IDLE].probe
    assert len(probe) > 150 and float(np.ptp(probe)) < 1e-9
    bits = 64 * 8
    # Up and down: Gigabit Ethernet, the shaper's port, the line.
    expected = 0.030 + 2 * 2 * bits / 1e9 + bits / 20e6 + bits / 100e6
    assert abs(probe[0] - expected) < 2e-9


def test_an_upload_fills_the_modem() -> None:
    """One upload behind the modem alone: the longest waits are the modem's buffer."""
    seen = runs(known.MODEM, 3, traffic=["upload"])
    longest = np.mean([np.quantile(run.phases[UP].probe, 0.99) - np.mean(run.phases[IDLE].probe) for run in seen])
    assert abs(longest / 0.250 - 1) < 0.05, longest
    assert 0.7 * 0.250 < mean(seen, UP) < 0.250


def test_a_shaper_at_the_whole_rate_does_nothing_to_a_download() -> None:
    """What arrives through the line at its rate never waits behind it."""
    today = runs(known.MODEM, 2, traffic=["bulk"])
    whole = runs("fq-codel", 2, traffic=["bulk"], share="100%", link="ethernet")
    framed = runs(known.MODEM, 2, traffic=["bulk"], link="ethernet")
    assert abs(mean(whole, DOWN) - mean(framed, DOWN)) < 0.02 * mean(framed, DOWN)
    assert mean(today, DOWN) > 0.1


def test_cake_keeps_an_upload_below_ten_milliseconds() -> None:
    assert mean(runs("cake", 3, traffic=["upload"]), UP) < 0.010


def test_the_start_of_downloads_is_still_felt_and_less_behind_a_smaller_share() -> None:
    starts = {}
    for share in ("95%", "70%"):
        seen = runs("cake", 3, traffic=["bulk"], transfers=16, share=share, link="ethernet")
        starts[share] = float(np.mean([run.start() for run in seen]))
        assert mean(seen, DOWN) < 0.010
    assert starts["95%"] > 0.020
    assert starts["70%"] < starts["95%"]
