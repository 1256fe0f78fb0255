"""Reads the numbers of a speed test as people type them or a program prints them: waveform, DSLReports, Cloudflare,
Ookla, speedtest-cli, LibreSpeed and others (`speed_json.py` reads their JSON).

A number with a plus is the round trip that the load adds; a number without it is the round trip itself. The words
around a number name its quantity. The order of words and the number of lines do not matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from tailback.readers.given import Given
from tailback.readers.measured.measurement import Measurement, Role, Series, amount, numbers
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written

KIND = "speed-test"
_LONGEST = 20_000
#: A time; a rate in bits, or in bytes if it has a capital B or the word; or a size, which is neither.
_NUMBER = re.compile(
    r"(?P<plus>\+\s?)?(?P<value>"
    r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|[1-9]\d{0,2}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?)\s*"
    r"(?:(?P<time>ms(?:ec)?|milli-?seconds?|s(?:ec(?:ond)?s?)?)|(?P<prefix>[kmg])(?:ilo|ega|iga)?"
    r"(?P<of>bits?|bytes?|b)(?P<per>/s(?:ec)?|ps)?)(?![a-z/])",
    re.I,
)
#: A separator of thousands: a comma before three digits (a decimal comma mostly has one or two digits), or a point
#: before a later comma.
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:(?:,\d{3})+(?=\.|$)|(?:\.\d{3})+(?=,))")
#: The words that name the quantity of a number. The last ones before the number count.
_WORDS = (
    ("idle", re.compile(r"unloaded|idle|baseline|without load|before|ping(?! under)|hosted by", re.I)),
    ("download", re.compile(r"down(?:load(?:ing)?|stream|link)?\b", re.I)),
    ("upload", re.compile(r"up(?:load(?:ing)?|stream|link)?\b", re.I)),
    ("loaded", re.compile(r"(?<!un)loaded|under load|bloat(?!ed idle)", re.I)),
)
#: Words of numbers that are no round trip: jitter, the ends of a range, and durations.
_OTHER = re.compile(
    r"\b(?:jitter|low|high|min(?:imum)?|max(?:imum)?|iqm|dev(?:iation)?|elapsed|took|duration|test(?:ed|ing)? for)\b",
    re.I,
)
_LATENCY = re.compile(r"\blatency\b|\bround trip\b|\brtt\b", re.I)
_HEADING = re.compile(r"[^\d\n]{1,60}")
_GRADE = re.compile(r"(?:grade|rating|bufferbloat(?: test)?)[\s:=]*\b([A-F][+-]?)(?![\w])", re.I)
_RPM = re.compile(r"(\d+)\s*RPM", re.I)
_MARK = re.compile(r"unloaded|bufferbloat|\bidle\b|(?:down|up)load\s*(?:active|ing)|loaded", re.I)


def recognises(given: Given) -> bool:
    text = given.text
    if len(text) >= _LONGEST or given.document is not None or not _NUMBER.search(text):
        return False
    if _MARK.search(text):
        return True
    quantities = _found(text, Notes())
    return {"download rate", "upload rate"} <= set(quantities) and "idle" in quantities


def read(given: Given) -> Reading:
    notes = Notes()
    quantities = _found(given.text, notes)
    if grade := _GRADE.search(given.text):
        notes.leave(f"grade {grade[1].upper()}", "it follows from the numbers, by a different rule on each site")
    for rpm in _RPM.finditer(given.text):
        notes.leave(f"{rpm[1]} RPM", "responsiveness is a mean over several kinds of round trips")
    return reading(quantities, notes, given.name)


def reading(found: Mapping[str, float], notes: Notes, name: str, kind: str = KIND) -> Reading:
    """A measurement from numbers by their keys: `idle`, `download total` and so on in seconds, `download rate` in
    bit/s."""
    idle_s = found.get("idle", math.nan)
    rows = []
    for role in (Role.DOWN, Role.UP):
        rate = found.get(f"{role.value} rate", math.nan)
        if math.isfinite(rate):
            notes.say(f"{role.value} rate", amount(rate, "bit/s"))
            rows.append(Series(role.value, role, "bit/s", numbers([]), numbers([]), rate, whole=True))
    if math.isfinite(idle_s):
        notes.say("round trip, idle", amount(idle_s, "s"))
    for phase in ("download", "upload", "loaded"):
        added_s, total = found.get(f"{phase} added"), found.get(f"{phase} total")
        if added_s is None and total is None:
            continue
        if total is None and math.isfinite(idle_s):
            total = idle_s + (added_s or 0.0)
        if added_s is None and math.isfinite(idle_s) and total is not None:
            added_s = total - idle_s
        words = [amount(total, "s")] if total is not None else []
        words += [f"{amount(max(added_s, 0.0), 's')} more than idle"] if added_s is not None else []
        notes.say(f"round trip, {phase if phase == 'loaded' else 'during ' + phase}", ", ".join(words))
        if total is not None:
            rows.append(Series(f"ping during {phase}", Role.PING, "s", numbers([]), numbers([]), total))
        if phase == "loaded":
            notes.leave(
                "the round trip under load, for the command", "the text does not say which direction loaded the line"
            )
    if not rows and not math.isfinite(idle_s):
        raise ReadError(
            "the numbers do not say what they measure",
            'write them as "unloaded 15 ms, download active +34 ms"',
            name=name,
        )
    measurement = Measurement("speed test", tuple(rows), math.nan, {}, idle_s=idle_s)
    command = _command(measurement)
    steps = (Next(command, "ask what helps on this line"),) if command else ()
    if not command:
        notes.leave("the command for this line", "both rates are needed: add download and upload in Mbps")
    usable = Written("a command", lambda: command + "\n") if command else None
    return Reading(kind, "the numbers of a speed test", tuple(notes.understood), notes.left, steps, measurement, usable)


def _found(text: str, notes: Notes) -> dict[str, float]:
    """The numbers by their quantities: rates in bit/s, and round trips in seconds. Numbers that are not taken are
    named."""
    quantities: dict[str, float] = {}
    begins, last_direction, is_jitter, other_times = 0, "", False, 0
    for hit in _NUMBER.finditer(text):
        text_before = text[max(begins, hit.start() - 80) : hit.start()]
        text_after = re.split(r"[\n\t,;|(]|\band\b|\d", text[hit.end() : hit.end() + 40])[0]
        # A word with a colon names the number that comes next.
        text_after = "" if text_after.rstrip().endswith(":") else text_after
        # `94 Mbps down, 11 Mbps up` has the word behind the number. `Download: 94 Mbps` has it before, or on the line
        # before.
        words_near = re.split(r"[\n\t,;|(]|\band\b", text_before)[-1]
        is_jitter = _under_jitter(text_before, is_jitter)
        begins = hit.end()
        word = _what(words_near) or _what(text_after) or _what(text_before)
        if (key := _key(hit, words_near, text_after, text_before, word, last_direction, is_jitter)) is None:
            if hit["time"] and (is_jitter or _OTHER.search(words_near) or _OTHER.search(text_after)):
                other_times += 1
            elif hit["time"]:
                notes.leave(hit[0], "the text does not say what it measures")
            elif hit["per"]:
                notes.leave(hit[0], "the text does not say in which direction")
            continue
        last_direction = next((one for one in ("download", "upload") if key == f"{one} rate"), last_direction)
        quantity = _value(hit, notes)
        if key in quantities and not math.isclose(quantities[key], quantity):
            notes.leave(hit[0], f"a second {key}: the first one is taken")
        quantities.setdefault(key, quantity)
    if other_times:
        notes.leave(f"{other_times} numbers of jitter or of the ends of a range", "the mean is read")
    return quantities


def _under_jitter(before: str, was: bool) -> bool:
    """Whether the last heading (a line without a number) is about jitter."""
    for line in before.split("\n")[:-1]:
        if _HEADING.fullmatch(line.strip()) and re.search(r"jitter|latency|ping|speed|loss", line, re.I):
            was = "jitter" in line.lower()
    return was


def _key(
    hit: re.Match[str], near: str, after: str, before: str, word: str | None, way: str, is_jitter: bool
) -> str | None:
    """The key of the quantity that a number measures; None if it is unknown."""
    if not hit["time"]:
        is_rate = hit["per"] or hit["of"].lower() in ("bit", "bits")
        return f"{word} rate" if word in ("download", "upload") and is_rate else None
    if is_jitter or _OTHER.search(near) or _OTHER.search(after):
        return None
    quantity_near = _what(near) or _what(after)
    if way and quantity_near is None and (_LATENCY.search(near) or (not near.strip() and word is None)):
        # A time behind a rate, on its line or alone on the next line, is the round trip while the rate was measured.
        word = way
    elif word is None and _LATENCY.search(near):
        word = "idle"
    if word is None:
        return None
    return "idle" if word == "idle" else f"{word} {'added' if hit['plus'] or 'bloat' in before.lower() else 'total'}"


def _value(hit: re.Match[str], notes: Notes) -> float:
    """The number in seconds or bit/s. A capital B means bytes if other letters are small; if all are capitals, it is
    open."""
    digits = hit["value"]
    thousands = _THOUSANDS.match(digits)
    number_text = digits if thousands is None else re.sub("[.,]", "", thousands[0]) + digits[thousands.end() :]
    number_text = number_text.replace(",", ".")
    if thousands is not None:
        notes.say(digits, f"assumed: {number_text}, with a separator of thousands")
    amount = float(number_text)
    if hit["time"]:
        return amount / 1e3 if hit["time"].lower().startswith("m") else amount
    unit = hit[0][len(hit["plus"] or "") + len(hit["value"]) :].strip()
    is_bytes = hit["of"].lower().startswith("byte") or (hit["of"] == "B" and not unit.isupper())
    if is_bytes or hit["of"] == "B":
        notes.say(f"{digits} {unit}", "bytes: 8 bits each" if is_bytes else "assumed bits, which most people mean")
    return amount * {"k": 1e3, "m": 1e6, "g": 1e9}[hit["prefix"].lower()] * (8 if is_bytes else 1)


def _what(text: str) -> str | None:
    """The last of these words in the text."""
    last_words = [(hit.start(), name) for name, words in _WORDS for hit in words.finditer(text)]
    # `download bloat` belongs to the download.
    words_said = [found for found in last_words if found[1] != "loaded"] or last_words
    return max(words_said)[1] if words_said else None


def _command(found: Measurement) -> str:
    """The command `home` for this line."""
    down_bps, up_bps = found.rate(Role.DOWN), found.rate(Role.UP)
    if not (down_bps > 0 and up_bps > 0):
        return ""
    if not found.idle_s > 0:
        return f"tailback home --down {down_bps / 1e6:g}Mbps --up {up_bps / 1e6:g}Mbps --rtt 20ms"
    settings = [f"{down_bps / 1e6:g}/{up_bps / 1e6:g}", f"idle {found.idle_s * 1e3:g}"]
    pings = {series.name: series.mean for series in found.of(Role.PING)}
    for way, role in (("down", Role.DOWN), ("up", Role.UP)):
        if (loaded_s := pings.get(f"ping during {role.value}")) is not None:
            settings.append(f"{way} {loaded_s * 1e3:g}")
    return f'tailback home --measured "{", ".join(settings)}"'
