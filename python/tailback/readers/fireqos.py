"""Reads FireQOS: the interfaces of a fireqos.conf and their default class, as the `htb` classes that FireQOS makes.

Words and units are those of fireqos.conf(5) and fireqos-params-class(5): a rate without a unit is in kilobits a second,
and `kbps` is 1024 bytes a second. Matches put packets into the other classes; a scenario has no such matches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tailback.linux.shaper import intermediate
from tailback.linux.shell import commands
from tailback.linux.units import TcError
from tailback.readers import shapers, tc
from tailback.readers.given import Given
from tailback.readers.reading import Notes, ReadError, Reading

NAME = "fireqos"
_INTERFACE = re.compile(r"interface(?:4|6|46)?\s+\S+\s+\S+\s+(?:input|output|bidirectional|both)\b")
_SPEED = re.compile(r"(\d{1,12})\s*([a-zA-Z]*|%)")
#: Bits a second of each unit.
_UNITS = {
    "": 1e3,
    "bit": 1.0,
    "kbit": 1e3,
    "mbit": 1e6,
    "gbit": 1e9,
    "bps": 8.0,
    "kbps": 8.0 * 1024,
    "mbps": 8.0 * 1024**2,
    "gbps": 8.0 * 1024**3,
}
#: Bytes that an ADSL line adds to an IP packet if the router has the modem; 14 fewer if it does not.
_ADSL = {
    "ipoa-vc": 8,
    "ipoa-llc": 16,
    "bridged-vc": 24,
    "bridged-llc": 32,
    "pppoa-vc": 10,
    "pppoa-llc": 14,
    "pppoe-vc": 32,
    "pppoe-llc": 40,
}
#: The name and the number of the default class.
DEFAULT, DEFAULT_CLASS = "default", 8000
#: The least share of an interface's rate for a class, and the queue of a class, with Linux's defaults.
LEAST_PART, QDISC = 100, "fq_codel"
_QDISCS = re.compile(r"sfq|pfifo|bfifo|fq_codel|codel|none")


@dataclass
class Params:
    """The parameters of an interface or a class, for one direction."""

    rate: float | None = None
    ceil: float | None = None
    qdisc: str = ""
    stab: dict[str, str] = field(default_factory=dict)


def recognises(given: Given) -> bool:
    return any(_INTERFACE.match(line) for line in given.lines[:2000] if len(line) < 1000)


def read(given: Given) -> Reading:
    notes = Notes()
    try:
        commands = _lines(given, notes)
        return tc.made(NAME, "FireQOS", commands, notes, given.name)
    except TcError as e:
        problem, _, remedy = str(e).partition("; ")
        raise ReadError(problem, remedy or "mend that word", name=given.name) from None


def _words(given: Given) -> list[tuple[int, list[str]]]:
    """Splits lines into words and replaces variables, since a shell reads a fireqos.conf."""
    variables: dict[str, str] = {}

    def value(found: re.Match[str]) -> str:
        return variables.get(found[1], found[0])

    line_words = []
    for line_number, line in enumerate(given.lines, 1):
        variables |= commands(line).variables
        filled_line = re.sub(r"\$\{?(\w+)\}?", value, line.partition(" #")[0])[:2000]
        words = filled_line.replace('"', "").replace("'", "").split()
        if words and not filled_line.startswith("#"):
            line_words.append((line_number, words))
    return line_words


def _lines(given: Given, notes: Notes) -> list[str]:
    commands: list[str] = []
    device, directions = "", dict[str, Params]()
    defaults = dict[str, Params]()
    group_depth = 0

    def done() -> None:
        for way, params in directions.items():
            commands.extend(lines(device, way, params, defaults.get(way, Params())))

    for line_number, words in _words(given):
        if words[0].startswith("interface") and len(words) > 3:
            done()
            device, defaults, group_depth = words[1], {}, 0
            way_names = ("output", "input") if words[3] in ("bidirectional", "both") else (words[3],)
            directions = {way: _params(words[4:], way, None, notes, line_number) for way in way_names}
            for way, params in directions.items():
                if params.rate is None:
                    raise TcError(f"line {line_number}: interface {way} without a rate; write rate 20mbit")
                notes.say(f"interface {way}", f"rate {params.rate:.0f}bps", line_number)
        elif words[0] == "class":
            name = words[2] if words[1:2] == ["group"] and len(words) > 2 else (words[1] if len(words) > 1 else "")
            group_depth += (words[1:2] == ["group"]) - 2 * (words[1:3] == ["group", "end"])
            if name == DEFAULT and group_depth <= 0:
                defaults = {way: _params(words[2:], way, p.rate, notes, line_number) for way, p in directions.items()}
            elif name != "end":
                shapers.leave(
                    notes,
                    "a class",
                    "its packets are chosen by matches, which a scenario does not have; other packets are in the "
                    "default class",
                    line_number,
                )
        elif words[0] in ("match", "match4", "match6", "match46", "server", "client"):
            shapers.leave(
                notes, words[0], "the simulator's flows are not told apart by addresses and ports", line_number
            )
        elif "=" not in words[0]:
            shapers.leave(notes, "a line", "it has no interface and no class", line_number)
    done()
    return commands


def _params(words: list[str], way: str, base: float | None, notes: Notes, line: int) -> Params:
    """Reads the words behind an interface or a class. `input` and `output` give the direction of the words that
    follow."""
    params, current_way, words_left = Params(), way, list(words)
    while words_left:
        word = words_left.pop(0)
        if word in ("input", "output"):
            current_way = word
        elif word in ("rate", "commit", "min", "ceil", "max", "minrate") and words_left:
            speed = _speed(words_left.pop(0), base, line)
            if current_way == way and word in ("ceil", "max"):
                params.ceil = speed
            elif current_way == way and word != "minrate":
                params.rate = speed
        elif word == "qdisc" and words_left:
            params.qdisc = words_left.pop(0)
        elif _QDISCS.fullmatch(word):
            params.qdisc = word
        elif word == "options" and words_left:
            shapers.leave(notes, "options of a qdisc", "give them to tc by hand", line)
            break
        elif word == "adsl" and len(words_left) > 1:
            params.stab |= _adsl(words_left.pop(0), words_left.pop(0), line)
        elif word in ("ethernet", "atm"):
            params.stab["linklayer"] = word
        elif word in ("linklayer", "overhead", "mpu", "mtu", "tsize") and words_left:
            params.stab[word] = words_left.pop(0)
        elif word in ("burst", "cburst", "quantum", "r2q", "prio") and words_left:
            shapers.leave(notes, f"{word} {words_left.pop(0)}", "tc's default is taken", line)
        elif word not in ("balanced", "priority"):
            shapers.leave(notes, word, "it is no known word of an interface or a class", line)
    return params


def _speed(text: str, base: float | None, line: int) -> float:
    match = _SPEED.fullmatch(text)
    if match and match[2] == "%" and base is not None:
        return int(match[1]) / 100 * base
    if match is None or match[2].lower() not in _UNITS:
        raise TcError(f"line {line}: {text[:20]!r} is no speed of FireQOS; write one such as 20mbit or 800kbit")
    return int(match[1]) * _UNITS[match[2].lower()]


def _adsl(where: str, what: str, line: int) -> dict[str, str]:
    key = re.sub(r"(?:/?mux|/?snap)$", "", what.lower()).replace("llcsnap", "llc").replace("vcmux", "vc")
    if key not in _ADSL or where not in ("local", "remote"):
        raise TcError(
            f"line {line}: adsl {where[:12]} {what[:24]} is not known; write one such as adsl local pppoe-llc"
        )
    return {"linklayer": "adsl", "overhead": str(_ADSL[key] - (14 if where == "remote" else 0))}


def lines(device: str, way: str, whole: Params, default: Params) -> list[str]:
    """The commands of `tc` for one direction."""
    device_of_way = f"{device}-ifb"[:15] if way == "input" else device
    rate_kbit = _kbit(whole.rate)
    ceil = _kbit(min(c for c in (default.ceil, whole.ceil, whole.rate) if c is not None))
    rate = max(_kbit(default.rate or 0), rate_kbit // LEAST_PART, 1)
    stab = " ".join(f"{k} {v}" for k, v in whole.stab.items())
    stab = f"stab {stab} " if "linklayer" in whole.stab else ""
    qdisc = default.qdisc or whole.qdisc or QDISC
    htb_words = f"htb rate {rate}kbit ceil {ceil}kbit quantum 1500"
    commands = [
        *(intermediate(device, device_of_way) if way == "input" else ()),
        f"tc qdisc add dev {device_of_way} root handle 1: {stab}htb default {DEFAULT_CLASS}",
        f"tc class add dev {device_of_way} parent 1: classid 1:1 htb rate {rate_kbit}kbit quantum 1500",
        f"tc class add dev {device_of_way} parent 1:1 classid 1:{DEFAULT_CLASS} {htb_words}",
    ]
    if qdisc != "none":
        fair = " perturb 10 quantum 1500" if qdisc.startswith("sf") else ""
        commands.append(
            f"tc qdisc add dev {device_of_way} parent 1:{DEFAULT_CLASS} handle {DEFAULT_CLASS}: {qdisc}{fair}"
        )
    return commands


def _kbit(bits: float | None) -> int:
    return int((bits or 0) // 1000)
