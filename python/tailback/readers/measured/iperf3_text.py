"""What iperf3 prints for people: intervals of `[ ID]` and `[SUM]`, and the last lines, of sender and receiver."""

from __future__ import annotations

import math
import re

from tailback.readers.given import Given
from tailback.readers.measured.measured_line import next_commands, written
from tailback.readers.measured.measurement import Measurement, Role, Series, numbers, said
from tailback.readers.reading import Notes, ReadError, Reading
from tailback.readers.traces.heads import rate_unit

KIND = "iperf3-text"
_ROW = re.compile(
    r"^\[\s*(?P<id>\d+|SUM)\](?:\[(?P<role>[RT]X)-[CS]\])?\s+"
    r"(?P<from>\d+(?:\.\d+)?)\s*-\s*(?P<to>\d+(?:\.\d+)?)\s+sec\s+"
    r"\d+(?:\.\d+)? [KMGT]?Bytes\s+(?P<rate>\d+(?:\.\d+)?) (?P<unit>[KMG]?bits/sec)(?P<rest>.*)$"
)
_LOSS = re.compile(r"(\d+)/(\d+) \([\d.e+-]+%\)")
_SEEN = 200


def recognises(given: Given) -> bool:
    return any(_ROW.match(line) for _, line in given.filled[:_SEEN] if len(line) < 400)


def read(given: Given) -> Reading:
    notes = Notes()
    reverse = any(line.startswith("Reverse mode") for _, line in given.filled[:_SEEN])
    rows = [(n, m) for n, line in given.filled if len(line) < 400 and (m := _ROW.match(line))]
    flows = {m["id"] for _, m in rows if m["id"] != "SUM"}
    # With several streams only their sum is read.
    which = "SUM" if any(m["id"] == "SUM" for _, m in rows) else None
    series, lost, packets = [], 0, 0
    for role in (Role.DOWN, Role.UP):
        mine = [m for _, m in rows if (which is None or m["id"] == which) and _role(m, reverse) is role]
        steps = [m for m in mine if "sender" not in m["rest"] and "receiver" not in m["rest"]]
        ends = [m for m in mine if "receiver" in m["rest"]] or [m for m in mine if "sender" in m["rest"]]
        if not mine:
            continue
        values = [_rate(m) for m in steps if "omitted" not in m["rest"]]
        times = [_time(m["from"]) for m in steps if "omitted" not in m["rest"]]
        mean = _rate(ends[-1]) if ends else math.nan
        series.append(Series(role.value, role, "bit/s", numbers(times), numbers(values), mean, whole=True))
        if ends and (loss := _LOSS.search(ends[-1]["rest"])):
            lost, packets = lost + int(loss[1]), packets + int(loss[2])
    if not series:
        raise ReadError("iperf3's text has no rates", "give its whole output, or use --json", name=given.name)
    both = len(series) > 1
    notes.say("direction", "both directions at once" if both else "download (Reverse mode)" if reverse else "upload")
    notes.say("flows", str(len(flows) or 1))
    for s in series:
        notes.say(s.name, said(s))
    if packets:
        notes.say("lost", f"{lost} of {packets} datagrams, {100 * lost / packets:.3g} %")
    notes.say("digits", "those that iperf3 prints; --json has more")
    if which:
        notes.leave("the rates of single streams", "their sum is read")
    notes.leave("names and addresses", "they are not kept")
    settings = {f"{s.role.value} flows": str(len(flows) or 1) for s in series} if not both else {}
    length = max((_time(m["to"]) for _, m in rows), default=math.nan)
    found = Measurement("iperf3", tuple(series), length, settings, packets or None, packets - lost if packets else None)
    return Reading(
        KIND, "iperf3's output", tuple(notes.understood), notes.left, next_commands(found), found, written(found)
    )


def _role(m: re.Match[str], reverse: bool) -> Role:
    if m["role"]:
        return Role.DOWN if m["role"] == "RX" else Role.UP
    return Role.DOWN if reverse else Role.UP


def _rate(m: re.Match[str]) -> float:
    return (float(m["rate"]) if m["rate"].count(".") < 2 else math.nan) * rate_unit(
        m["unit"].replace("bits/sec", "bit/s")
    )


def _time(text: str) -> float:
    return float(text) if text.count(".") < 2 and text != "." else math.nan
