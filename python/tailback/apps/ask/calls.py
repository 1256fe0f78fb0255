"""The model of a video call with an adaptive rate, for home lines and links.

A call has audio and video. The audio keeps its rate, as a browser's does in practice; a rate control sets the rate of
the video. As in a browser, the video begins at 300 kbit/s and has at most 2.5 Mbit/s. It has 30 frames a second with
the sizes of RFC 8593.
"""

from __future__ import annotations

from typing import Any

from tailback import _core
from tailback.apps.ask.given import LinkError, named
from tailback.core.scenario.controls import RATE, rate_control
from tailback.core.scenario.own_file import NAMED

#: The first rate of the video, which is the transport's default, and its largest rate.
START_BPS, MOST_BPS = 300e3, 2.5e6
#: The slowest line on which a call may have video.
LEAST_LINE_BPS = 2 * START_BPS
#: The playout delay: the time from the making of a frame to its display.
PLAYOUT_S = 0.100
#: The mark of the video of a conference (RFC 4594 section 4.3).
MARK = "AF41"


def control(given: str | None, calls: bool, slowest_bps: float, add: str) -> str:
    """The requested rate control; empty without one. `add` is the remedy if the question has no call. Raises
    `LinkError`."""
    if given is None:
        return ""
    if given.endswith(".py"):
        raise LinkError(f"adapt = {given}: this names a file without a class in it; add the class: {given}:CLASS")
    name = given if NAMED.fullmatch(given) else named("adapt", RATE.family, given, RATE.title)
    try:
        rate_control(name)
    except _core.ScenarioError as e:
        raise LinkError(f"adapt = {given}: {e.problems[0]['problem']}; {e.problems[0]['remedy']}") from e
    if not calls:
        raise LinkError(f"adapt = {given}: this is the rate control of a call's video, but there is no call; {add}")
    if slowest_bps < LEAST_LINE_BPS:
        raise LinkError(
            f"adapt = {given}: video begins at {START_BPS / 1e3:g} kbit/s, too much for a line of "
            f"{slowest_bps / 1e3:g} kbit/s; leave adapt out, or give at least {LEAST_LINE_BPS / 1e3:g}kbps"
        )
    return name


def video(adapt: str) -> dict[str, Any]:
    """One direction of the video, as keys of a group of flows."""
    return {
        "traffic": {"kind": "video", "preset": "rfc8593"},
        RATE.transport: {RATE.key: adapt, "max_rate": f"{MOST_BPS:.0f}bps"},
        "playout": {"kind": "fixed", "delay": f"{PLAYOUT_S * 1e3:g}ms"},
    }


def said(adapt: str) -> str:
    """One phrase that describes a call."""
    if not adapt:
        return "audio alone"
    return (
        f"audio that keeps its 80 kbit/s and video that adapts ({adapt}), from {START_BPS / 1e3:g} kbit/s to at most "
        f"{MOST_BPS / 1e6:g} Mbit/s"
    )
