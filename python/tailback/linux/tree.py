"""The qdiscs and classes of each device, as the commands of a paste leave them: tc(8), "qdiscs", "classes"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tailback.linux.shell import IP, Command
from tailback.linux.statement import TAKES_AWAY, Statement, statement
from tailback.linux.units import TcError

#: A filter of one match has no more words.
MOST_WORDS = 16
#: The handle of what comes in.
INGRESS = "ffff:"
_HANDLE = re.compile(r"(?:0x)?([0-9a-f]{0,4})(?::(?:0x)?([0-9a-f]{0,4}))?", re.IGNORECASE)


@dataclass
class Device:
    """The queues of one device."""

    name: str
    #: By where they stand: "root", "ingress", a class such as "1:10".
    qdiscs: dict[str, Statement] = field(default_factory=dict)
    #: By name, such as "1:10".
    classes: dict[str, Statement] = field(default_factory=dict)
    #: Classes that filters choose, and those that they are asked at.
    chosen: list[str] = field(default_factory=list)
    #: Code points (RFC 2474) whose packets filters put into a class, by its name.
    coded: dict[str, list[int]] = field(default_factory=dict)
    #: The device that packets which come in pass through; empty where they do not.
    through: str = ""
    #: What a filter polices packets to that come in: its words.
    policed: tuple[str, ...] = ()

    def below(self, handle: str) -> list[Statement]:
        """The qdiscs that stand directly below a qdisc or a class of this handle."""
        major, _, minor = handle.partition(":")
        if minor not in ("", "0"):
            return [q for at, q in self.qdiscs.items() if at == handle]
        return [q for at, q in self.qdiscs.items() if at.partition(":")[0] == major and ":" in at]

    def children(self, handle: str) -> list[Statement]:
        """The classes of a qdisc or a class."""
        return [c for c in self.classes.values() if c.parent == handle]


@dataclass
class Tree:
    """All devices of a paste, in the order in which they come."""

    devices: dict[str, Device] = field(default_factory=dict)

    def device(self, name: str) -> Device:
        return self.devices.setdefault(name, Device(name))


def handle(text: str) -> str:
    """A handle or the name of a class as it is known here: lower case, without zeros in front; `1:0` is `1:`.
    Raises `TcError`."""
    if text in ("root", "ingress", "none", ""):
        return text
    match = _HANDLE.fullmatch(text)
    if match is None:
        raise TcError(f"{text!r} is no handle; write one such as 1: or 1:10")
    major = (match[1].lstrip("0") or "0") if match[1] else "0"
    minor = (match[2] or "").lstrip("0")
    return f"{major.lower()}:{minor.lower()}"


def grow(commands: Sequence[Command], leave: Callable[[str, str, int], None]) -> Tree:
    """What the commands set up. `leave` is told of what is left out: what, why, and the line."""
    tree = Tree()
    for command in commands:
        if command.words[0] == IP:
            _link(command, leave)
            continue
        try:
            one = statement(command.line, command.words)
            if one is None:
                leave("a command of tc", "it sets nothing up", command.line)
            else:
                put(tree, one, leave)
        except TcError as e:
            leave(_named(command.words), str(e), command.line)
    return tree


def _named(words: Sequence[str]) -> str:
    """What a message calls a command: no address is in it."""
    return " ".join(["tc", *[w for w in words[1:3] if re.fullmatch(r"[a-z-]{1,12}", w)]])


def _link(command: Command, leave: Callable[[str, str, int], None]) -> None:
    """`ip link` brings devices up, which nothing here depends on, and a length of their queue."""
    words = command.words
    if "txqueuelen" in words or "qlen" in words:
        leave("ip link: txqueuelen", "give the qdisc a limit, such as pfifo limit 100", command.line)
    elif words[1:2] not in (("link",), ("l",)):
        leave("ip", "no command of tc", command.line)


def _without_value(one: Statement) -> str:
    """A variable that the paste gives no value; empty where there is none. A device may be called anything."""
    words = [one.parent, one.handle, one.kind, *one.words, *one.stab.values()]
    return next((found[0] for w in words if (found := re.search(r"\$\{?\w+\}?", w))), "")


def put(tree: Tree, one: Statement, leave: Callable[[str, str, int], None]) -> None:
    """One statement more. Raises `TcError`."""
    if missing := _without_value(one):
        name = missing.strip("${}")
        raise TcError(f"{missing} has no value in what was pasted; write {name}=... above it")
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
        at = one.parent or "root"
        if not one.kind:
            raise TcError("a qdisc without a kind; write one such as fq_codel")
        before = device.qdiscs.get(at)
        if one.verb == "change" and before is not None and before.kind == one.kind:
            one = Statement(one.line, *_same(one), (*before.words, *one.words), one.stab or before.stab)
        elif one.verb == "add" and before is not None:
            raise TcError(f"{before.kind} stands at {at} already, so that the kernel refuses it; write replace")
        elif at == "root" and before is not None:
            for other in [a for a in device.qdiscs if a not in ("root", "ingress")]:
                del device.qdiscs[other]
            device.classes.clear()
        device.qdiscs[at] = one


def _same(one: Statement) -> tuple[str, str, str, str, str, str]:
    return one.object, one.verb, one.device, one.parent, one.handle, one.kind


def _standing(one: Statement) -> Statement:
    """With handles as they are known here."""
    parent = handle(one.parent)
    if parent == INGRESS:
        parent = "ingress"
    named = "" if one.object == "filter" else handle(one.handle)
    if one.object == "class" and one.handle and not named.partition(":")[2]:
        raise TcError(f"classid {one.handle}: a class has a number behind the colon, such as 1:10")
    return Statement(one.line, one.object, one.verb, one.device, parent, named, one.kind, one.words, one.stab)


def _take_away(device: Device, one: Statement) -> None:
    if one.object == "class":
        device.classes.pop(one.handle, None)
    elif one.parent == "ingress":
        device.qdiscs.pop("ingress", None)
        device.through, device.policed = "", ()
    elif one.parent in ("root", "") and not one.handle:
        for at in [a for a in device.qdiscs if a != "ingress"]:
            del device.qdiscs[at]
        device.classes.clear()
        device.chosen.clear()
        device.coded.clear()
    else:
        device.qdiscs.pop(one.parent, None)


def _filter(device: Device, one: Statement, leave: Callable[[str, str, int], None]) -> None:
    """What a filter does: sends what comes in through a device, polices it, or chooses a class."""
    if one.verb in TAKES_AWAY:
        return
    words = one.words
    if "redirect" in words and "dev" in words[words.index("redirect") :]:
        at = words.index("dev", words.index("redirect"))
        if at + 1 < len(words):
            device.through = words[at + 1]
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
    """A filter that puts packets into a class, by a code point or by something else."""
    if chosen:
        device.chosen.append(chosen)
        if code is not None:
            device.coded.setdefault(chosen, []).append(code)
            return
    leave("a filter", "the simulator's flows are not told apart by addresses, ports or marks of a firewall", line)


def _code_point(words: Sequence[str]) -> int | None:
    """The code point by which a filter chooses and by nothing else: its type of service is that, above two bits of ECN
    (RFC 3168 section 5). None for any other filter."""
    if words.count("match") > 1 or len(words) > MOST_WORDS:
        return None
    for name in ("tos", "dsfield", "ip_tos", "precedence", "priority"):
        # `priority` of IPv6 is its traffic class (tc-u32(8)).
        if name in words[:-1] and (name != "priority" or words[words.index(name) - 1] == "ip6"):
            value, _, mask = words[words.index(name) + 1].partition("/")
            after = words[words.index(name) + 2 : words.index(name) + 3]
            mask = mask or (after[0] if after else "")
            try:
                number, bits = int(value, 0), int(mask, 0) if mask else 0xFF
            except ValueError:
                return None
            return number >> 2 if bits & 0xFC == 0xFC and 0 <= number <= 0xFF else None
    return None
