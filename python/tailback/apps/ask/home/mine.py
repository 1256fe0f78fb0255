"""Reads the user's present queue as pasted (a script of `tc`, its output, or a block of SQM), as its own candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home.candidates import MINE, HomeCandidate
from tailback.apps.ask.home.line import HomeLine
from tailback.linux.shaped import Side
from tailback.readers import queues
from tailback.readers.reading import ReadError, UnknownTextError

#: From this share of the line's rate on, a shaper leaves the queue in the modem.
ALL = 0.985


def candidate(text: str, line: HomeLine) -> HomeCandidate:
    """The queues of a paste, up and down, with their rates. Raises `LinkError`."""
    try:
        reading = queues.pasted(text)
    except UnknownTextError as e:
        raise LinkError(
            f"mine = {_start(text)}: this is no script of tc, no output of tc and no block of SQM; give what "
            "`tc qdisc show` prints on the router, or its /etc/config/sqm"
        ) from e
    except (ReadError, OSError) as e:
        raise LinkError(f"mine = {_start(text)}: {str(e).removeprefix('--queue: ')}") from e
    up, down = reading.data.side("up"), reading.data.side("down")
    sides_alone = [side for side in reading.data.sides if not side.way and side.queue]
    # A single device is the one towards the modem; of two devices, the first one is.
    if up is None and sides_alone:
        up = sides_alone.pop(0)
    if down is None and sides_alone:
        down = sides_alone.pop(0)
    if (up is None or not up.queue) and (down is None or not down.queue):
        raise LinkError(f"mine = {reading.title}: no queue is in it; paste the lines of tc, or the block of SQM")
    explanation = {
        "up": _said(up, "up", line.up_bps),
        "down": _said(down, "down", line.down_bps),
        "left out": queues.remarks(reading),
        "netem": _path(reading.data.sides),
    }
    pasted_queues = (None if up is None else up.queue or None, None if down is None else down.queue or None)
    return HomeCandidate(MINE, "", why={k: v for k, v in explanation.items() if v}, pasted=pasted_queues)


def _path(sides: Sequence[Side]) -> str:
    """A note if the paste also has an emulator."""
    devices = [side.device or "a device" for side in sides if side.impair]
    return f"netem on {' and '.join(devices)} belongs to the path and is not in the answer" if devices else ""


def _start(text: str) -> str:
    """The beginning of a paste, for a message."""
    return (text if "\n" not in text else text.splitlines()[0] + " ...")[:60]


def _said(side: Side | None, way: str, line_bps: float) -> str:
    """The text for a direction: its queue, the shaper's share of the line's rate, and the consequence."""
    if side is None or not side.queue:
        return f"{way}: nothing, so that the {'modem' if way == 'up' else 'provider'}'s buffer fills"
    text = f"{way}: {_numbers(side.queue)}"
    if side.rate_bps is None:
        return f"{text}, without a shaper: the queue stays where the line is slower, and this one is empty"
    share = side.rate_bps / line_bps
    sentence = f"{text}, at {side.rate_bps / 1e6:.4g} Mb/s, {share:.0%} of the line's rate"
    if share > ALL:
        return f"{sentence}: too near to it, or above, to keep the queue at home"
    return sentence


def _numbers(queue: Mapping[str, Any]) -> str:
    """The innermost discipline and its numbers."""
    inner_queue: Mapping[str, Any] = queue
    while isinstance(queue_below := inner_queue.get("queue"), Mapping):
        inner_queue = queue_below
    parameters = {
        k: v for k, v in inner_queue.items() if k not in ("kind", "rate") and not isinstance(v, Mapping | list)
    }
    parameters_text = ", ".join(f"{k} {str(v).lower() if isinstance(v, bool) else v}" for k, v in parameters.items())
    around = "" if inner_queue is queue else f" under {queue['kind']}"
    return f"{inner_queue.get('kind')}{around}{f' ({parameters_text})' if parameters_text else ''}"
