"""Writes a tree of `htb` classes as lines of `tc`: each class with its rates, the discipline of each leaf, and filters
by code point (tc-htb(8), tc-u32(8)). `shaped.py` reads such lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tailback import _core
from tailback.linux import units, words
from tailback.linux.forms import form
from tailback.linux.framing import Framing
from tailback.linux.law import Path
from tailback.linux.reading import of_words
from tailback.linux.units import TcError

#: The class at the top, and the first number of the classes whose names are not numbers.
TOP, FIRST = "1:1", 0x10
#: Code points whose names are not numbers.
_CODES = {"EF": 46, "VA": 44, "LE": 1, "BE": 0}
_NAMED = re.compile(r"1:[0-9a-f]{1,4}")


def lines(
    device: str, table: Mapping[str, Any], framing: Framing, packet: int, ecn: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The commands, the parameters that have no word in `tc`, and remarks. Raises `TcError` for a class with a
    discipline that Linux does not have."""
    classes = [dict(c) for c in table["classes"]]
    names = _names(classes)
    rate = units.rate_text(_rate(table["rate"]))
    burst = _bytes(table, "burst", 1514)
    default = f" default {names[table['default']].partition(':')[2]}" if table.get("default") in names else ""
    head = f"tc class replace dev {device}"
    commands = [
        f"tc qdisc replace dev {device} root handle 1: htb{default}",
        f"{head} parent 1: classid {TOP} htb rate {rate} ceil {rate} burst {burst} cburst {burst} {framing.htb}",
    ]
    unsaid: list[str] = []
    remarks: list[str] = []
    filters: list[str] = []
    inner_names = {c.get("parent") for c in classes}
    for c in classes:
        name, parent = names[c["name"]], names.get(str(c.get("parent")), TOP)
        own_rate = units.rate_text(_rate(c["rate"]))
        rates = f"rate {own_rate} ceil {units.rate_text(_rate(c.get('ceil', c['rate'])))}"
        rates += "".join(f" {k} {_bytes(c, k, 1600)}" for k in ("burst", "cburst"))
        rates += "".join(f" {k} {v}" for k, v in (("prio", c.get("prio")), ("quantum", _quantum(c))) if v is not None)
        commands.append(f"{head} parent {parent} classid {name} htb {rates} {framing.htb}")
        if c["name"] in inner_names:
            continue
        leaf = c.get("queue", table.get("queue", {"kind": of_words("pfifo", [])[0]}))
        leaf = {"kind": leaf} if isinstance(leaf, str) else dict(leaf)
        leaf_form = form(leaf["kind"])
        if leaf_form is None:
            raise TcError(f"Linux has no {leaf['kind']}")
        path = Path(_rate(c.get("ceil", c["rate"])), framing.shaped(packet), 0.1)
        tc_words = words.write(leaf_form, leaf, path, ecn=ecn, as_linux=True)
        commands.append(f"tc qdisc replace dev {device} parent {name} {tc_words.text}")
        unsaid += tc_words.unsaid
        remarks += tc_words.remarks
        for code in c.get("dscp", ()):
            match = f"u32 match ip dsfield {_code(str(code)) << 2:#04x} 0xfc"
            filter_number = len(filters) + 1
            filters.append(
                f"tc filter replace dev {device} protocol ip parent 1: prio {filter_number} {match} flowid {name}"
            )
    return (*commands, *filters), tuple(dict.fromkeys(unsaid)), tuple(dict.fromkeys(remarks))


def _names(classes: list[dict[str, Any]]) -> dict[str, str]:
    """The names of classes in Linux: names that are numbers stay, and the other classes are numbered in order."""
    class_names = [str(c["name"]) for c in classes]
    if all(_NAMED.fullmatch(n) and n != TOP for n in class_names):
        return {n: n for n in class_names}
    return {n: f"1:{FIRST + i:x}" for i, n in enumerate(class_names)}


def _code(name: str) -> int:
    """The number of a code point: RFC 2474 section 4.2.2, RFC 2597 section 6, RFC 3246, RFC 5865, RFC 8622."""
    if name.isdigit():
        return int(name)
    if name in _CODES:
        return _CODES[name]
    digits = [int(c) for c in name if c.isdigit()]
    return 8 * digits[0] + 2 * (digits[1] if len(digits) > 1 else 0)


def _rate(value: Any) -> float:
    return float(_core.parse_rate(str(value)))


def _bytes(table: Mapping[str, Any], key: str, default: int) -> int:
    return int(_core.parse_bytes(str(table.get(key, f"{default}B"))))


def _quantum(table: Mapping[str, Any]) -> int | None:
    return _bytes(table, "quantum", 0) if "quantum" in table else None
