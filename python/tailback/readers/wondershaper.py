"""Reads Wonder Shaper: `wondershaper eth0 DOWN UP`, `wondershaper -a eth0 -d DOWN -u UP`, and its file of presets.

Rates are in kilobits a second.

Version 1.4.1 sets up three `htb` classes for the upload. Packets without a filter go to the middle class, which has 95
% of the rate and `sfq`. The download has one class with the whole rate on an intermediate device.
"""

from __future__ import annotations

import re

from tailback.linux.shaper import intermediate
from tailback.linux.shell import Paste
from tailback.linux.shell import commands as shell_commands
from tailback.linux.units import TcError
from tailback.readers import shapers, tc
from tailback.readers.given import Given
from tailback.readers.reading import Notes, ReadError, Reading

NAME = "wondershaper"
_CALL = re.compile(r"(?:\./|/\S*/)?wondershaper(?:\.sh)?\s+(.*)")
_PRESET = re.compile(r"(?:export\s+)?(IFACE|DSPEED|USPEED)=[\"']?([\w.-]*)[\"']?\s*;?")
_RATE = re.compile(r"\d{1,10}")


def recognises(given: Given) -> bool:
    return any(_found(line) for line in given.lines[:500] if len(line) < 400) or _presets(given)[0] is not None


def _found(line: str) -> re.Match[str] | None:
    command = re.sub(r"^(?:\S+[@:]\S*[#$]|[#$])\s*|^sudo\s+(?:-\S+\s+)*", "", line)
    command = re.sub(r"^sudo\s+(?:-\S+\s+)*", "", command)
    return _CALL.fullmatch(command)


def _presets(given: Given) -> tuple[dict[str, str] | None, int]:
    presets: dict[str, str] = {}
    first_line = 0
    for line_number, line in enumerate(given.lines[:500], 1):
        if len(line) < 200 and (preset_match := _PRESET.fullmatch(line)) is not None:
            presets[preset_match[1]] = preset_match[2]
            first_line = first_line or line_number
    return (presets, first_line) if {"DSPEED", "USPEED"} & set(presets) and "IFACE" in presets else (None, 0)


def read(given: Given) -> Reading:
    notes = Notes()
    settings: dict[str, str] = {}
    variables = _variables(given)
    settings_line = 0
    for line_number, text in enumerate(given.lines, 1):
        if (call := _found(text[:400])) is None:
            continue
        words = [variables.get(w.strip("\"'${}"), w) for w in call[1].split()]
        own_settings = _arguments(words)
        if own_settings is None:
            shapers.leave(notes, "wondershaper", "it removes limits, or shows them", line_number)
        else:
            settings, settings_line = own_settings, line_number
    if not settings:
        settings, settings_line = _presets(given)[0] or {}, _presets(given)[1]
    if not settings:
        raise ReadError("wondershaper has no rates", "write wondershaper -a eth0 -d 8192 -u 1024", name=given.name)
    device = settings.get("IFACE", "eth0")
    down_rate, up_rate = (_rate(settings.get(n, ""), n, settings_line, given.name) for n in ("DSPEED", "USPEED"))
    if not down_rate and not up_rate:
        raise ReadError(
            "wondershaper has no rates", "write wondershaper -a eth0 -d 8192 -u 1024", settings_line, given.name
        )
    for name, rate in (("down", down_rate), ("up", up_rate)):
        if rate:
            notes.say(name, f"{rate}kbps", settings_line)
    commands = lines(device if re.fullmatch(r"[\w.-]{1,15}", device) else "eth0", down_rate, up_rate)
    try:
        return tc.made(NAME, "Wonder Shaper", commands, notes, given.name)
    except TcError as e:
        raise ReadError(str(e), "mend the rates", settings_line, given.name) from None


def _variables(given: Given) -> dict[str, str]:
    try:
        paste: Paste = shell_commands(given.text)
    except TcError:
        return {}
    return paste.variables


def _arguments(words: list[str]) -> dict[str, str] | None:
    """The device and the rates; None for a call that sets no rates."""
    if words and words[0] in ("clear", "-c", "-s", "-h", "-v", "status"):
        return None
    if words and not words[0].startswith("-"):
        if len(words) < 3 or words[1] == "clear":
            return None
        return dict(zip(("IFACE", "DSPEED", "USPEED"), words, strict=False))
    names = {"-a": "IFACE", "-d": "DSPEED", "-u": "USPEED"}
    arguments: dict[str, str] = {}
    words_left = list(words)
    while words_left:
        option = words_left.pop(0)
        if option in ("-c", "-s"):
            return None
        if option in names and words_left:
            arguments[names[option]] = words_left.pop(0)
    return arguments if {"DSPEED", "USPEED"} & set(arguments) else None


def _rate(text: str, name: str, line: int, source: str) -> int:
    if not text:
        return 0
    if not _RATE.fullmatch(text):
        raise ReadError(
            f"wondershaper's rate {text[:20]!r} is no number", "give kilobits a second, such as 8192", line, source
        )
    return int(text)


def lines(device: str, down: int, up: int) -> list[str]:
    """The commands of `tc` that Wonder Shaper runs."""
    commands = []
    if up:
        commands += [
            f"tc qdisc add dev {device} root handle 1: htb default 20",
            f"tc class add dev {device} parent 1: classid 1:1 htb rate {up}kbit prio 5",
        ]
        for minor, rate, ceil, prio in ((10, 20, 95, 1), (20, 40, 95, 2), (30, 20, 90, 3)):
            rates = f"rate {max(rate * up // 100, 1)}kbit ceil {max(ceil * up // 100, 1)}kbit"
            commands.append(f"tc class add dev {device} parent 1:1 classid 1:{minor} htb {rates} prio {prio}")
            commands.append(f"tc qdisc add dev {device} parent 1:{minor} handle {minor}: {_FAIR}")
    if down:
        commands += [
            *intermediate(device, "ifb0"),
            "tc qdisc add dev ifb0 root handle 2: htb default 1",
            f"tc class add dev ifb0 parent 2: classid 2:1 htb rate {down}kbit",
        ]
    return commands


_FAIR = "sfq perturb 10 quantum 6000"
