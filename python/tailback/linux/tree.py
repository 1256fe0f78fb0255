"""The qdiscs and classes of each device after the commands of a paste: tc(8), "qdiscs", "classes"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tailback.linux.shell import IP, Command
from tailback.linux.statement import TAKES_AWAY, Statement, statement
from tailback.linux.units import TcError

#: The most words of a filter with one match.
MOST_WORDS = 16
#: The handle of the ingress qdisc.
INGRESS = "ffff:"
_HANDLE = re.compile(r"(?:0x)?([0-9a-f]{0,4})(?::(?:0x)?([0-9a-f]{0,4}))?", re.IGNORECASE)


@dataclass
class Device:
    """The queues of one device."""

    name: str
    #: Qdiscs by their place: "root", "ingress", or a class such as "1:10".
    qdiscs: dict[str, Statement] = field(default_factory=dict)
    #: Classes by name, such as "1:10".
    classes: dict[str, Statement] = field(default_factory=dict)
    #: Classes that filters choose, and the place where each filter is.
    chosen: list[str] = field(default_factory=list)
    #: Code points (RFC 2474) of the packets that filters put into a class, by the name of the class.
    coded: dict[str, list[int]] = field(default_factory=dict)
    #: The device that incoming packets pass through; empty if they pass through no other.
    through: str = ""
    #: The words of a filter that polices incoming packets.
    policed: tuple[str, ...] = ()

    def below(self, handle: str) -> list[Statement]:
        """The qdiscs that are directly below a qdisc or a class of this handle."""
        major, _, minor = handle.partition(":")
        if minor not in ("", "0"):
            return [q for place, q in self.qdiscs.items() if place == handle]
        return [q for place, q in self.qdiscs.items() if place.partition(":")[0] == major and ":" in place]

    def children(self, handle: str) -> list[Statement]:
        """The classes of a qdisc or a class."""
        return [c for c in self.classes.values() if c.parent == handle]


@dataclass
class Tree:
    """All devices of a paste, in the order in which they are named."""

    devices: dict[str, Device] = field(default_factory=dict)

    def device(self, name: str) -> Device:
        return self.devices.setdefault(name, Device(name))


def handle(text: str) -> str:
    """A handle, or the name of a class, in the form used here: lower case, without leading zeros; `1:0` is `1:`. Raises
    `TcError`."""
    if text in ("root", "ingress", "none", ""):
        return text
    match = _HANDLE.fullmatch(text)
    if match is None:
        raise TcError(f"{text!r} is no handle; write one such as 1: or 1:10")
    major = (match[1].lstrip("0") or "0") if match[1] else "0"
    minor = (match[2] or "").lstrip("0")
    return f"{major.lower()}:{minor.lower()}"


def grow(commands: Sequence[Command], leave: Callable[[str, str, int], None]) -> Tree:
    """The devices that the commands set up. `leave` is called with each part that is left out, the reason, and the
    line."""
    tree = Tree()
    for command in commands:
        if command.words[0] == IP:
            _link(command, leave)
            continue
        try:
            tc_statement = statement(command.line, command.words)
            if tc_statement is None:
                leave("a command of tc", "it sets nothing up", command.line)
            else:
                put(tree, tc_statement, leave)
        except TcError as e:
            leave(_named(command.words), str(e), command.line)
    return tree


def _named(words: Sequence[str]) -> str:
    """The name of a command in a message. This name contains no address."""
    return " ".join(["tc", *[w for w in words[1:3] if re.fullmatch(r"[a-z-]{1,12}", w)]])


def _link(command: Command, leave: Callable[[str, str, int], None]) -> None:
    """Reads `ip link`. This command brings devices up, which changes nothing here, and can set the length of their
    queue."""
    words = command.words
    if "txqueuelen" in words or "qlen" in words:
        leave("ip link: txqueuelen", "give the qdisc a limit, such as pfifo limit 100", command.line)
    elif words[1:2] not in (("link",), ("l",)):
        leave("ip", "no command of tc", command.line)


def _without_value(one: Statement) -> str:
    """The name of a variable to which the paste gives no value; empty if there is none. A device may have any name."""
    words = [one.parent, one.handle, one.kind, *one.words, *one.stab.values()]
    return next((found[0] for w in words if (found := re.search(r"\$\{?\w+\}?", w))), "")


def put(tree: Tree, one: Statement, leave: Callable[[str, str, int], None]) -> None:
    """Adds one statement. Raises `TcError`."""
    if missing_value := _without_value(one):
        name = missing_value.strip("${}")
        raise TcError(f"{missing_value} has no value in what was pasted; write {name}=... above it")
    one = _standing(one)
    device = tree.device(one.device or "")
    if one.object == "filter":
        _filter(device, one, leave)
    elif one.verb in TAKES_AWAY:
        _take_away(device, one)
    elif one.object == "class":
        if not one.handle:
            raise TcError("a class without classid; write one such as classid 1:10")
        if not one.kind:
            raise TcError("a class without a kind; write one such as htb rate 10mbit")
        device.classes[one.handle] = one
    else:
        place = one.parent or "root"
        if not one.kind:
            raise TcError("a qdisc without a kind; write one such as fq_codel")
        old_qdisc = device.qdiscs.get(place)
        if one.verb == "change" and old_qdisc is not None and old_qdisc.kind == one.kind:
            one = Statement(one.line, *_same(one), (*old_qdisc.words, *one.words), one.stab or old_qdisc.stab)
        elif one.verb == "add" and old_qdisc is not None:
            raise TcError(f"{old_qdisc.kind} stands at {place} already, so that the kernel refuses it; write replace")
        elif place == "root" and old_qdisc is not None:
            for other in [a for a in device.qdiscs if a not in ("root", "ingress")]:
                del device.qdiscs[other]
            device.classes.clear()
        device.qdiscs[place] = one


def _same(one: Statement) -> tuple[str, str, str, str, str, str]:
    return one.object, one.verb, one.device, one.parent, one.handle, one.kind


def _standing(one: Statement) -> Statement:
    """The statement, with handles in the form used here."""
    parent = handle(one.parent)
    if parent == INGRESS:
        parent = "ingress"
    full_handle = "" if one.object == "filter" else handle(one.handle)
    if one.object == "class" and one.handle and not full_handle.partition(":")[2]:
        raise TcError(f"classid {one.handle}: a class has a number after the colon, such as 1:10")
    return Statement(one.line, one.object, one.verb, one.device, parent, full_handle, one.kind, one.words, one.stab)


def _take_away(device: Device, one: Statement) -> None:
    if one.object == "class":
        device.classes.pop(one.handle, None)
    elif one.parent == "ingress":
        device.qdiscs.pop("ingress", None)
        device.through, device.policed = "", ()
    elif one.parent in ("root", "") and not one.handle:
        for place in [a for a in device.qdiscs if a != "ingress"]:
            del device.qdiscs[place]
        device.classes.clear()
        device.chosen.clear()
        device.coded.clear()
    else:
        device.qdiscs.pop(one.parent, None)


def _filter(device: Device, one: Statement, leave: Callable[[str, str, int], None]) -> None:
    """Takes a filter: it sends incoming packets through a device, polices them, or chooses a class."""
    if one.verb in TAKES_AWAY:
        return
    words = one.words
    if "redirect" in words and "dev" in words[words.index("redirect") :]:
        dev_index = words.index("dev", words.index("redirect"))
        if dev_index + 1 < len(words):
            device.through = words[dev_index + 1]
            return
    if "police" in words:
        device.policed = words[words.index("police") + 1 :]
        leave(
            "a filter that polices",
            "a policer is a conditioner here: `tailback describe policer` explains it",
            one.line,
        )
        return
    name = next((name for name in ("flowid", "classid") if name in words[:-1]), "")
    chosen = handle(words[words.index(name) + 1]) if name else ""
    chooses(device, chosen, _code_point(words), leave, one.line)


def chooses(device: Device, chosen: str, code: int | None, leave: Callable[[str, str, int], None], line: int) -> None:
    """Takes a filter that puts packets into a class, by a code point or by another field."""
    if chosen:
        device.chosen.append(chosen)
        if code is not None:
            device.coded.setdefault(chosen, []).append(code)
            return
    leave("a filter", "the simulator's flows are not told apart by addresses, ports or marks of a firewall", line)


def _code_point(words: Sequence[str]) -> int | None:
    """The code point of a filter that chooses by code point only; None for any other filter. The code point is the type
    of service without its two bits of ECN (RFC 3168 section 5)."""
    if words.count("match") > 1 or len(words) > MOST_WORDS:
        return None
    for name in ("tos", "dsfield", "ip_tos", "precedence", "priority"):
        # `priority` of IPv6 is its traffic class (tc-u32(8)).
        if name in words[:-1] and (name != "priority" or words[words.index(name) - 1] == "ip6"):
            value_text, _, mask = words[words.index(name) + 1].partition("/")
            next_word = words[words.index(name) + 2 : words.index(name) + 3]
            mask = mask or (next_word[0] if next_word else "")
            try:
                code_bits, bits = int(value_text, 0), int(mask, 0) if mask else 0xFF
            except ValueError:
                return None
            return code_bits >> 2 if bits & 0xFC == 0xFC and 0 <= code_bits <= 0xFF else None
    return None
