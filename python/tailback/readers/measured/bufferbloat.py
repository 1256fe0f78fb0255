"""The numbers of a speed test under load as people type them: waveform's, DSLReports', Ookla's and others.

A number with a plus is what the load adds; one without is the round trip itself. The text is read word by word for what
each number is of, in any order and on any number of lines.
"""

from __future__ import annotations

import math
import re

from tailback.readers.given import Given
from tailback.readers.measured.measurement import Measurement, Role, Series, amount, numbers
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written

KIND = "speed-test"
_LONGEST = 20_000
_UNITS = r"(?P<unit>ms|milliseconds?|[kmg]bit/s(?:ec)?|[kmg]b/s|[kmg]bps|megabits?(?:/s(?:ec)?)?|mbits?)(?![a-z])"
_NUMBER = re.compile(rf"(?P<plus>\+\s?)?(?P<value>\d+(?:[.,]\d+)?)\s*{_UNITS}", re.I)
#: What a number is of, by the last such words before it.
_WORDS = (
    ("idle", re.compile(r"unloaded|idle|baseline|without load|before|ping(?! under)", re.I)),
    ("download", re.compile(r"down(?:load(?:ing)?|stream|link)?\b", re.I)),
    ("upload", re.compile(r"up(?:load(?:ing)?|stream|link)?\b", re.I)),
    ("loaded", re.compile(r"(?<!un)loaded|under load|bloat(?!ed idle)", re.I)),
)
_GRADE = re.compile(r"(?:grade|rating|bufferbloat(?: test)?)[\s:=]*\b([A-F][+-]?)(?![\w])", re.I)
_MARK = re.compile(r"unloaded|bufferbloat|\bidle\b|(?:down|up)load\s*(?:active|ing)|loaded", re.I)


def recognises(given: Given) -> bool:
    text = given.text
    return len(text) < _LONGEST and bool(_MARK.search(text)) and bool(_NUMBER.search(text))


def read(given: Given) -> Reading:
    notes, found = Notes(), _found(given)
    idle = found.get("idle", math.nan)
    rows = []
    for role in (Role.DOWN, Role.UP):
        rate = found.get(f"{role.value} rate", math.nan)
        if math.isfinite(rate):
            notes.say(f"{role.value} rate", amount(rate, "bit/s"))
            rows.append(Series(role.value, role, "bit/s", numbers([]), numbers([]), rate, whole=True))
    if math.isfinite(idle):
        notes.say("round trip, idle", amount(idle, "s"))
    for what in ("download", "upload", "loaded"):
        added, total = found.get(f"{what} added"), found.get(f"{what} total")
        if added is None and total is None:
            continue
        if total is None and math.isfinite(idle):
            total = idle + (added or 0.0)
        if added is None and math.isfinite(idle) and total is not None:
            added = total - idle
        words = [amount(total, "s")] if total is not None else []
        words += [f"{amount(max(added, 0.0), 's')} more than idle"] if added is not None else []
        notes.say(f"round trip, {what if what == 'loaded' else 'during ' + what}", ", ".join(words))
        if total is not None:
            rows.append(Series(f"ping during {what}", Role.PING, "s", numbers([]), numbers([]), total))
    if not rows and not math.isfinite(idle):
        raise ReadError(
            "no number says what it is of", 'write them as "unloaded 15 ms, download active +34 ms"', name=given.name
        )
    if grade := _GRADE.search(given.text):
        notes.leave(f"grade {grade[1].upper()}", "it follows from the numbers, by another rule for each site")
    made = Measurement("speed test", tuple(rows), math.nan, {}, idle_s=idle)
    command = _command(made)
    steps = (Next(command, "ask what helps on this line"),) if command else ()
    if not command:
        notes.leave("the command for this line", "both rates are needed: add download and upload in Mbps")
    usable = Written("a command", lambda: command + "\n") if command else None
    return Reading(KIND, "the numbers of a speed test", tuple(notes.understood), notes.left, steps, made, usable)


def _found(given: Given) -> dict[str, float]:
    """What each number is of: rates in bit/s, round trips in seconds."""
    found: dict[str, float] = {}
    text, begins = given.text, 0
    for hit in _NUMBER.finditer(text):
        before = text[max(begins, hit.start() - 80) : hit.start()]
        after = re.split(r"[\n,;|]|\d", text[hit.end() : hit.end() + 40])[0]
        # `94 Mbps down, 11 Mbps up` has the word behind, `Download: 94 Mbps` before, or on the line before.
        near = re.split(r"[\n,;|]", before)[-1]
        word = _what(near) or _what(after) or _what(before)
        begins = hit.end()
        value = float(hit["value"].replace(",", "."))
        unit = hit["unit"].lower()
        if unit.startswith("milli") or unit == "ms":
            if what := word:
                key = (
                    "idle"
                    if what == "idle"
                    else f"{what} {'added' if hit['plus'] or 'bloat' in before.lower() else 'total'}"
                )
                found.setdefault(key, value / 1e3)
            continue
        factor = {"k": 1e3, "m": 1e6, "g": 1e9}[unit[0]]
        if (what := word) in ("download", "upload"):
            found.setdefault(f"{what} rate", value * factor)
    return found


def _what(text: str) -> str | None:
    """Of these words the last one counts."""
    last = [(hit.start(), name) for name, words in _WORDS for hit in words.finditer(text)]
    # `download bloat` is of the download.
    said = [found for found in last if found[1] != "loaded"] or last
    return max(said)[1] if said else None


def _command(found: Measurement) -> str:
    """The question of `home` for this line."""
    down, up = found.rate(Role.DOWN), found.rate(Role.UP)
    if not (down > 0 and up > 0):
        return ""
    if not found.idle_s > 0:
        return f"tailback home --down {down / 1e6:g}Mbps --up {up / 1e6:g}Mbps --rtt 20ms"
    said = [f"{down / 1e6:g}/{up / 1e6:g}", f"idle {found.idle_s * 1e3:g}"]
    pings = {series.name: series.mean for series in found.of(Role.PING)}
    for way, role in (("down", Role.DOWN), ("up", Role.UP)):
        if (under := pings.get(f"ping during {role.value}")) is not None:
            said.append(f"{way} {under * 1e3:g}")
    return f'tailback home --measured "{", ".join(said)}"'
