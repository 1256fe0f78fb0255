"""Reads the output of `ping`: iputils, busybox, inetutils, BSD, macOS, Windows and fping.

Each line has a round trip, and with `-D` also its time. Without times, each reply comes one interval after the reply
before it. The interval is that of the summary line, or one second; the reading names the one that was used.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from tailback.readers.given import LONGEST_LINE, Given
from tailback.readers.measured.measured_line import next_commands
from tailback.readers.measured.measurement import Measurement, Numbers, Role, Series, amount, numbers, said
from tailback.readers.reading import Notes, ReadError, Reading

KIND = "ping"
#: The word for time in the output of Windows and busybox.
_WORD = "time|Zeit|temps|tiempo|durata|tempo|tijd|czas"
_TIME = rf"(?:{_WORD})\s?[=<]\s?(?P<ms>\d+(?:[.,]\d+)?)\s?(?P<unit>ms|usec|us)"
_ANSWER = re.compile(rf"{_TIME}", re.IGNORECASE)
_STAMP = re.compile(r"^\[(\d+\.\d+)\]")
_SEQ = re.compile(r"\b(?:icmp_)?seq[=:]?\s?(\d{1,9})", re.IGNORECASE)
_FPING = re.compile(
    r"^(?:\[(?P<at>\d+\.\d+)\]\s*)?\S+\s*: \[(?P<seq>\d{1,9})\], (?:\d+ bytes, (?P<ms>\d+(?:\.\d+)?) ms|timed out)"
)
_SENT = re.compile(
    r"(\d{1,12}) packets transmitted, (\d{1,12}) (?:packets )?received"
    r"(?:, \+?(\d+) duplicates)?(?:, \+(\d+) errors)?(?:, \+?\d+ corrupted)?"
    r"(?:, (\d+(?:\.\d+)?)% packet loss)?(?:, time (\d+)ms)?"
)
_WINDOWS_SENT = re.compile(r"\S+ = (\d{1,12}), \S+ = (\d{1,12}), \S+ = (\d{1,12})\s*\((\d{1,3})\s?%")
_RTT = re.compile(r"(?:rtt|round-trip) (?P<names>[a-z/]+) = (?P<values>\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?)+) ms")
_FPING_SENT = re.compile(r"xmt/rcv/%loss = (\d{1,12})/(\d{1,12})/")
_WINDOWS_RTT = re.compile(r"^\S+ = (\d+)\s?ms, \S+ = (\d+)\s?ms, \S+ = (\d+)\s?ms")
_HEAD = re.compile(r"^PING |^Pinging |^Ping wird ausgef")
_LOST = re.compile(
    r"(Request timeout for|no answer yet for) icmp_seq[= ](\d{1,9})|^Request timed out|^Zeit.berschreitung", re.I
)
_ERROR = re.compile(
    r"Unreachable|Time to live exceeded|TTL expired|Packet filtered|Redirect Host|Host unreachable", re.I
)
_LONGEST_S = 86_400.0
#: Sequence numbers wrap here.
_SEQUENCE = 1 << 16


def recognises(given: Given) -> bool:
    """A line of ping's head, summary or statistics, or two replies."""
    head = [line for _, line in given.filled[:400] if len(line) < LONGEST_LINE]
    if any(_HEAD.match(line) or _SENT.search(line) or _FPING.match(line) for line in head):
        return True
    return sum(bool(_ANSWER.search(line) and ("ttl" in line.lower() or _SEQ.search(line))) for line in head) >= 2


@dataclass
class _Log:
    """The replies found so far."""

    times: list[float] = field(default_factory=list)
    rtts: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    stamped: bool = True
    seen: set[int] = field(default_factory=set)
    least: int | None = None
    most: int = -1
    wraps: int = 0
    last: int = -1
    duplicates: int = 0
    errors: int = 0
    lost: int = 0

    def number(self, text: str) -> int:
        """The number of a reply, counted on after a wrap."""
        seq = int(text) % _SEQUENCE + self.wraps * _SEQUENCE
        if self.last - seq > _SEQUENCE // 2:
            self.wraps += 1
            seq += _SEQUENCE
        self.last = max(self.last, seq)
        self.least = seq if self.least is None else min(self.least, seq)
        self.most = max(self.most, seq)
        return seq


def read(given: Given) -> Reading:
    notes, log = Notes(), _Log()
    stated_totals: dict[str, float] = {}
    runs = 0
    for line_number, line in given.filled:
        if len(line) > LONGEST_LINE:
            notes.leave("an overlong line", "no ping prints such a line", line_number)
        elif _HEAD.match(line):
            runs += 1
            if runs > 1:
                notes.leave("the pings from here on", "they belong to another run", line_number)
                break
        else:
            _line(line, line_number, log, stated_totals, notes)
    if not log.rtts and "sent" not in stated_totals:
        raise ReadError("ping's text has neither replies nor a summary", "give ping's whole output", name=given.name)
    return _reading(log, stated_totals, notes)


def _line(line: str, number: int, log: _Log, stated: dict[str, float], notes: Notes) -> None:
    fping_match, answer, seq = _FPING.match(line), _ANSWER.search(line), _SEQ.search(line)
    if fping_match:
        at_text = fping_match["at"]
        sequence = log.number(fping_match["seq"])
        if fping_match["ms"] is None:
            log.lost += 1
        else:
            _reply(log, float(at_text) if at_text else None, float(fping_match["ms"]) / 1e3, sequence, notes, number)
    elif answer and "min/avg" not in line and not _WINDOWS_RTT.match(line):
        if "DUP" in line:
            log.duplicates += 1
            notes.leave("a duplicate", "the first answer counts", number)
            return
        unit = 1e-6 if answer["unit"].lower() in ("usec", "us") else 1e-3
        stamp = _STAMP.match(line)
        sequence = log.number(seq[1]) if seq else len(log.rtts) + log.lost
        rtt = float(answer["ms"].replace(",", ".")) * unit
        _reply(log, float(stamp[1]) if stamp else None, rtt, sequence, notes, number)
    elif _summary(line, stated):
        pass
    elif _LOST.search(line):
        log.lost += 1
        if seq:
            log.number(seq[1])
    elif _ERROR.search(line):
        log.errors += 1
        notes.leave("an error of a router or host", "it is no answer", number)
        if seq:
            log.number(seq[1])
    elif not line.startswith("---"):
        notes.leave("a line that is not ping's", "it says nothing of a round trip", number)


def _reply(log: _Log, at: float | None, rtt: float, place: int, notes: Notes, number: int) -> None:
    if not rtt < _LONGEST_S:
        notes.leave("a reply after more than a day", "no ping waits so long", number)
        return
    if place in log.seen:
        log.duplicates += 1
        notes.leave("a duplicate", "the first answer counts", number)
        return
    log.seen.add(place)
    log.stamped &= at is not None
    log.times.append(at if at is not None else math.nan)
    log.rtts.append(rtt)
    log.places.append(place)


def _summary(line: str, stated: dict[str, float]) -> bool:
    """Takes the numbers of a summary line; False for any other line."""
    if sent_match := _SENT.search(line):
        stated |= {
            "sent": float(sent_match[1]),
            "received": float(sent_match[2]),
            "duplicates": float(sent_match[3] or 0),
        }
        if sent_match[6]:
            stated["time"] = float(sent_match[6]) / 1e3
    elif (sent_match := _FPING_SENT.search(line)) or (
        (sent_match := _WINDOWS_SENT.search(line)) and int(sent_match[1]) - int(sent_match[2]) == int(sent_match[3])
    ):
        stated |= {"sent": float(sent_match[1]), "received": float(sent_match[2])}
    elif rtt := _RTT.search(line):
        names = {"avg": "mean", "mdev": "deviation", "stddev": "deviation", "std-dev": "deviation"}
        pairs = zip(rtt["names"].split("/"), rtt["values"].split("/"), strict=False)
        stated |= {names.get(name, name): float(value) / 1e3 for name, value in pairs if value.count(".") < 2}
    elif rtt := _WINDOWS_RTT.match(line):
        stated |= {"min": float(rtt[1]) / 1e3, "max": float(rtt[2]) / 1e3, "mean": float(rtt[3]) / 1e3}
    else:
        return False
    return True


def _reading(log: _Log, stated: dict[str, float], notes: Notes) -> Reading:
    received_count = len(log.rtts)
    if log.least is not None:
        sent_count = log.most - min(log.least, 1) + 1 if log.least <= 1 else log.most - log.least + 1
    else:
        sent_count = received_count + log.lost
    sent_count = max(sent_count, received_count)
    if "sent" in stated:
        notes.say("summary line", f"{stated['sent']:.0f} sent, {stated['received']:.0f} received")
        if received_count and stated["received"] != received_count:
            notes.leave(
                f"{abs(stated['received'] - received_count):.0f} replies",
                "they are counted in the summary but missing in the text",
            )
        sent_count, got_count = int(stated["sent"]), int(stated["received"])
    else:
        got_count = received_count
        notes.say("assumed", "without a summary, the sent packets are those between the first and the last reply")
    times = _times(log, stated, notes)
    series = Series(
        "ping",
        Role.PING,
        "s",
        times,
        numbers(log.rtts),
        stated.get("mean", math.nan) if not received_count else math.nan,
    )
    if received_count:
        notes.say("round trip", said(series))
        values = series.values
        deviation = float(np.std(values))
        notes.say("least and most", f"{amount(float(values.min()), 's')}, {amount(float(values.max()), 's')}")
        notes.say("standard deviation", amount(deviation, "s"))
    else:
        stated_texts = [f"{k} {amount(v, 's')}" for k, v in stated.items() if k in ("min", "mean", "max")]
        notes.say("round trip", ", ".join(stated_texts) or "unknown: there was no reply")
        series = Series("ping", Role.PING, "s", numbers([]), numbers([]), stated.get("mean", math.nan))
    if sent_count:
        notes.say(
            "lost",
            f"{sent_count - got_count} of {sent_count}, {100 * max(0, sent_count - got_count) / sent_count:.3g} %",
        )
    if log.duplicates:
        notes.say("duplicates", str(log.duplicates))
    notes.leave("names and addresses", "they are not kept")
    length = float(times[-1] - times[0]) if len(times) > 1 else math.nan
    measurement = Measurement("ping", (series,), length, {}, sent_count or None, got_count)
    return Reading(
        KIND,
        f"a log of ping, {received_count} replies",
        tuple(notes.understood),
        notes.left,
        next_commands(measurement),
        measurement,
    )


def _times(log: _Log, stated: dict[str, float], notes: Notes) -> Numbers:
    if not log.rtts:
        return numbers([])
    if log.stamped:
        notes.say("times", "the times of the log (-D)")
        return numbers([t - log.times[0] for t in log.times])
    gap = 1.0
    if "time" in stated and stated.get("sent", 0) > 1:
        gap = stated["time"] / (stated["sent"] - 1)
        notes.say("times", f"assumed: every {amount(gap, 's')}, from the summary")
    else:
        notes.say("times", "assumed: every second, ping's default")
    return numbers([(p - log.places[0]) * gap for p in log.places])
