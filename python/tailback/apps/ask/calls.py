"""The settings of video that adapts its rate, in a call or alone, for home lines and links.

A call of today is audio and video. The audio has a constant rate, as in a browser by default, and the video follows a
rate control. The video begins at 300 kbit/s and has at most 2.5 Mbit/s, as in a browser. The video has 30 frames a
second with the sizes of RFC 8593. A stream that somebody watches is the same video in one direction. Without a rate
control the stream keeps 2.5 Mbit/s.
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


def control(given: str | None, has_video: bool, slowest_bps: float, add: str) -> str:
    """The requested rate control; empty if none was requested. `add` is the remedy in the message if there is no video.
    Raises `LinkError`."""
    if given is None:
        return ""
    if given.endswith(".py"):
        raise LinkError(f"adapt = {given}: this names a file without a class in it; add the class: {given}:CLASS")
    name = given if NAMED.fullmatch(given) else named("adapt", RATE.family, given, RATE.title)
    try:
        rate_control(name)
    except _core.ScenarioError as e:
        raise LinkError(f"adapt = {given}: {e.problems[0]['problem']}; {e.problems[0]['remedy']}") from e
    if not has_video:
        raise LinkError(f"adapt = {given}: this is the rate control of video, but there is no call and no video; {add}")
    if slowest_bps < LEAST_LINE_BPS:
        raise LinkError(
            f"adapt = {given}: video begins at {START_BPS / 1e3:g} kbit/s, too much for a line of "
            f"{slowest_bps / 1e3:g} kbit/s; leave adapt out, or give at least {LEAST_LINE_BPS / 1e3:g}kbps"
        )
    return name


def video(adapt: str) -> dict[str, Any]:
    """One direction of the video, as keys of a group of flows. Without a rate control the video keeps its largest
    rate."""
    encoder: dict[str, Any] = {"kind": "video", "preset": "rfc8593"}
    most = f"{MOST_BPS:.0f}bps"
    sender_keys: dict[str, Any] = {RATE.transport: {RATE.key: adapt, "max_rate": most}} if adapt else {}
    return {
        "traffic": encoder if adapt else {**encoder, "rate": most},
        **sender_keys,
        "playout": {"kind": "fixed", "delay": f"{PLAYOUT_S * 1e3:g}ms"},
    }


def streamed(adapt: str) -> str:
    """A sentence that describes a stream."""
    if not adapt:
        return f"video that keeps {MOST_BPS / 1e6:g} Mbit/s"
    return f"video that adapts ({adapt}), from {START_BPS / 1e3:g} kbit/s to at most {MOST_BPS / 1e6:g} Mbit/s"


def said(adapt: str) -> str:
    """One phrase that describes a call."""
    if not adapt:
        return "audio alone"
    return f"audio that keeps its 80 kbit/s and {streamed(adapt)}"
