"""For tests of `tc`: what our reader understands of a command, beside what this machine's `tc` sends for it."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import netlink
import pytest

from tailback import _core
from tailback.linux import classful, netem
from tailback.linux.forms import TcWord, form
from tailback.linux.reading import of_words
from tailback.linux.statement import Statement

#: By discipline and parameter: the attribute's number in linux/pkt_sched.h.
NUMBERS: Mapping[str, Mapping[str, int]] = {
    "codel": {"target": 1, "buffer": 2, "interval": 3, "ecn": 4, "ce_threshold": 5},
    "fq-codel": {
        "target": 1, "buffer": 2, "interval": 3, "ecn": 4, "queues": 5, "quantum": 6, "ce_threshold": 7,
        "drop_batch": 8, "memory": 9,
    },
    "pie": {"reference": 1, "buffer": 2, "update_interval": 3, "alpha": 4, "beta": 5, "ecn": 6, "delay": 8},
    "fq-pie": {
        "buffer": 1, "queues": 2, "reference": 3, "update_interval": 4, "alpha": 5, "beta": 6, "quantum": 7,
        "memory": 8, "mark_cap": 9, "ecn": 10, "delay": 12,
    },
    "cake": {
        "rate": 2, "tins": 3, "framing": 4, "isolation": 5, "overhead": 6, "rtt": 7, "memory": 10, "translated": 11,
        "wash": 13, "mpu": 14, "ingress": 15, "ack_filter": 16,
    },
}  # fmt: skip
#: What choices of `cake` and of PIE are there.
CHOICES = {
    "tins": {"diffserv3": 0, "diffserv4": 1, "diffserv8": 2, "besteffort": 3, "precedence": 4},
    "isolation": {"flowblind": 0, "flows": 4, "dual-src": 5, "dual-dst": 6, "triple": 7},
    "translated": {"neither": 1, "source": 0},
    "framing": {"plain": 0, "atm": 1, "ptm": 2},
    "ack_filter": {"off": 0, "conservative": 1, "aggressive": 2},
    "delay": {"timestamp": 0, "departure_rate": 1},
}
#: tc-cake(8), in microseconds.
ROUND_TRIPS_US = {
    "datacentre": 100, "lan": 1_000, "metro": 10_000, "regional": 30_000, "internet": 100_000, "oceanic": 300_000,
    "satellite": 1_000_000, "interplanetary": 1_000_000_000,
}  # fmt: skip


def value(text: Any) -> Any:
    """A quantity of a scenario as a number."""
    if isinstance(text, str) and text[:1].isdigit():
        for parse in (_core.parse_size, _core.parse_time, _core.parse_rate):
            try:
                return parse(text)
            except ValueError:
                continue
    return text


def number(option: TcWord, setting: Any) -> float:
    """A setting as the kernel is told it."""
    if option.value == "choice":
        return CHOICES[option.parameter][setting]
    if option.value == "flag":
        return int(setting)
    size, _, _ = str(setting).partition(" ")
    match option.value:
        case "time":
            return value(setting) * 1e6
        case "rate":
            return math.floor(value(setting) / 8)
        case "bytes":
            return int(size.removesuffix("B"))
        case "times":
            return round(16 * setting)
        case "percent":
            return round(100 * setting)
    return int(size)


def differences(one: Statement, sent: netlink.Sent) -> list[str]:
    """Every attribute that the command sets and in which the two differ. Raises `TcError` where we refuse it."""
    wrong: list[str] = []

    def compare(name: str, ours: Any, theirs: Any, within: float = 1e-6, least: float = 0.0) -> None:
        if isinstance(ours, float) and isinstance(theirs, int | float):
            same = ours == pytest.approx(theirs, rel=within, abs=max(1e-9, least))
        else:
            same = ours == theirs
        if not same:
            wrong.append(f"{one.kind} {name}: read {ours}, sent {theirs}")

    if one.stab:
        theirs = netlink.of_stab(sent.stab)
        for name, text in one.stab.items():
            ours = ("ethernet" if text == "ethernet" else "atm") if name == "linklayer" else int(text)
            compare(f"stab {name}", ours, theirs[name])
    if (sent.object, sent.kind) in netlink.READ:
        theirs = netlink.READ[sent.object, sent.kind](sent.options)
        if one.kind == "netem":
            _netem(netem.parse(one.words), theirs, compare)
        else:
            known = classful.CLASS_WORDS if one.object == "class" else classful.WORDS
            said = classful.values(one.kind, one.words, known[one.kind])
            if one.kind == "tbf":
                said = {**said, "limit": classful.latency_limit(said)}
                said.pop("latency", None)
            for name, ours in said.items():
                if name in theirs:
                    # A bucket is sent as whole microseconds, in ticks; a rate in whole bytes.
                    rough = name in ("burst", "cburst") and one.object == "class"
                    byte_a_us = 1.1 * theirs["rate" if name == "burst" else "ceil"] / 8e6 if rough else 0.0
                    least = 8.0 if "rate" in name or name == "ceil" else 2.0 + byte_a_us if rough else 0.51
                    compare(
                        name,
                        float(ours) if isinstance(ours, int | float) else ours,
                        theirs[name],
                        1e-3 if rough else 1e-6,
                        least,
                    )
    else:
        name, settings = of_words(one.kind, [w for w in one.words if w != "unlimited"], [])
        _row(name, settings, one, sent, compare)
    return wrong


def _netem(said: netem.Netem, theirs: Mapping[str, Any], compare: Any) -> None:
    for f in fields(said):
        ours = getattr(said, f.name)
        if f.name == "gemodel" and ours is not None:
            p, r, bad, good = ours
            for name, mine, its in zip("prhk", (p, r, 1 - bad, good), theirs["gemodel"], strict=True):
                compare(f"gemodel {name}", float(mine), its, 1e-6, 1e-8)
        elif f.name == "states":
            # tc-netem(8): what is left out is 1 - p13, 0, 1, 0.
            filled = (*ours, *(1 - ours[0], 0.0, 1.0, 0.0)[len(ours) - 1 :]) if ours else ()
            for mine, its in zip(filled, theirs.get("states", ()), strict=True):
                compare("state", float(mine), its, 1e-6, 1e-8)
        elif f.name == "duplicate_correlation" and "loss_correlation" not in theirs:
            # iproute2 6.1 sends it only beside one of delay or loss.
            continue
        elif f.name in ("rate_bps", "overheads", "gemodel"):
            compare(f.name, ours, theirs.get(f.name, (0, 0, 0) if f.name == "overheads" else None), 1e-5, 8.0)
        elif isinstance(ours, int | float) and f.name != "limit_said":
            compare(f.name, float(ours), float(theirs.get(f.name, 0)), 1e-5, 2e-7)


def _row(name: str, settings: Mapping[str, Any], one: Statement, sent: netlink.Sent, compare: Any) -> None:
    there = form(name)
    assert there is not None
    if name in NUMBERS:
        told = netlink.attributes(sent.options)
        options = {o.parameter: o for o in there.options if o.parameter in NUMBERS[name]}
        # `profile` is a round trip, and the last of both is sent.
        profile = settings.get("profile")
        if profile in ROUND_TRIPS_US and "rtt" not in settings:
            compare("rtt", float(ROUND_TRIPS_US[profile]), int.from_bytes(told[7], "little"))
        for parameter, option in options.items():
            if parameter in settings:
                raw = told.get(NUMBERS[name][parameter])
                its = 0 if raw is None else int.from_bytes(raw, "little", signed=parameter == "overhead")
                compare(parameter, float(number(option, settings[parameter])), its, 1e-6, 0.51)
    elif one.kind in ("red", "choke"):
        _red(settings, one, sent, compare)
    elif not one.words:
        compare("options", b"", sent.options)
    elif one.kind == "sfq":
        _, perturb, limit, divisor = struct.unpack_from("=IiII", sent.options)
        said = dict(zip(one.words[::2], one.words[1::2], strict=False))
        compare("perturb", int(str(settings.get("perturb", "0s")).removesuffix("s")), perturb)
        for word, its, parameter in (("limit", limit, "buffer"), ("divisor", divisor, "buckets")):
            if word in said:
                compare(word, int(str(settings[parameter]).split()[0]), its)
    else:
        given = settings.get("buffer")
        its = int.from_bytes(sent.options[:4], "little") if sent.options else None
        compare("limit", None if given is None else int(str(given).split()[0].removesuffix("B")), its)


def _red(settings: Mapping[str, Any], one: Statement, sent: netlink.Sent, compare: Any) -> None:
    """`struct tc_red_qopt`: limit, thresholds, the exponents of weight, slope and idle time, flags."""
    found = netlink.attributes(sent.options)
    limit, low, high, weight, _, _, flags = struct.unpack_from("=IIIBBBB", found[1])
    packet = int(str(settings["mean_packet"]).removesuffix("B")) if one.kind == "red" else 1
    for its, parameter in ((limit, "buffer"), (low, "min_threshold"), (high, "max_threshold")):
        size, unit = value(settings[parameter])
        compare(parameter, int(size) * (packet if unit == "packets" else 1), its)
    compare("weight", float(settings["weight"]), 2.0**-weight)
    if one.kind == "red" and 4 in found:
        flags = struct.unpack("=II", found[4])[0]
    compare("ecn", bool(settings.get("ecn", False)), bool(flags & 1))
    if one.kind == "red":
        hard = bool(settings.get("ecn")) and not settings.get("mark_above_max", False)
        compare("harddrop", hard, bool(flags & 2))
        compare("adaptive", "adaptive" in one.words, bool(flags & 4))
    if 3 in found and "max_probability" in settings:
        its = int.from_bytes(found[3], "little") / 2**32
        # A probability of 1 has no number there; the kernel takes it from the slope.
        if its:
            compare("probability", float(settings["max_probability"]), its, 1e-6, 1e-6)


def again(one: Statement) -> str:
    """The command on the device lo, without the word `tc`."""
    place = ["root"] if one.parent == "root" else ["parent", one.parent] if one.parent else []
    name = [("classid" if one.object == "class" else "handle"), one.handle] if one.handle else []
    stab = ["stab", *[w for pair in one.stab.items() for w in pair]] if one.stab else []
    verb = "replace" if one.verb == "change" else one.verb
    return " ".join([one.object, verb, "dev", "lo", *place, *name, *stab, one.kind, *one.words])
