"""Turns the qdiscs of a device into those of a scenario: a shaper, the discipline in it, and an impairment for `netem`.

A scenario has one queue for a direction. If `tc` has several, as in a tree of `htb`, the scenario gets the queue that
packets without a filter reach; the others are left out and named. Lengths in a scenario are those of IP packets. Most
shapers of Linux also count the Ethernet header, so their lengths are larger by that header (`framing.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.linux import classful, law, netem, reading, units
from tailback.linux.forms import shaping, token_bucket
from tailback.linux.framing import ETHERNET_HEADER
from tailback.linux.shaper import CARD_PACKETS, IFB_PACKETS
from tailback.linux.statement import Statement
from tailback.linux.tree import Device, Tree
from tailback.linux.units import TcError

#: Devices whose packets have no Ethernet header that a shaper would count.
_BARE = re.compile(r"(?:ppp|tun|wg|wwan|sit|gre|ipip|he-)")
#: Qdiscs that a device has by default, and those that only hold others.
_DEVICES_OWN = ("pfifo_fast", "noqueue", "noop")
#: The most levels of a tree of queues.
MOST_LEVELS = 16

Leave = Callable[[str, str, int], None]


@dataclass
class Side:
    """One direction: the queues of a device."""

    device: str
    #: "down" for an intermediate device that incoming packets pass through, "up" for a device with such a device, else
    #: empty.
    way: str = ""
    #: The queue as a scenario has it; empty if only `netem` acts.
    queue: dict[str, Any] = field(default_factory=dict)
    #: The rate of the shaper, in bits a second; None without a shaper.
    rate_bps: float | None = None
    #: The impairments of a scenario that represent `netem`.
    impair: list[dict[str, Any]] = field(default_factory=list)
    #: The settings that were understood, in order: line, name, and value.
    said: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The label in a list of disciplines: the innermost one, and the device if there are several."""
        queue = self.queue
        while isinstance(inner := queue.get("queue"), Mapping) and "classes" not in queue:
            queue = dict(inner)
        return str(queue.get("kind", ""))


def sides(tree: Tree, leave: Leave) -> list[Side]:
    """The directions that a paste sets up. A device is left out if no setting of it can be read."""
    device_behind = {d.through: d.name for d in tree.devices.values() if d.through}
    directions: list[Side] = []
    for device in tree.devices.values():
        if not device.qdiscs and not device.classes:
            continue
        if (side_found := _side(device, device_behind.get(device.name, device.name), leave)) is not None:
            is_down = device.name in device_behind or device.name.startswith("ifb")
            side_found.way = "down" if is_down else ""
            directions.append(side_found)
    if any(side.way == "down" for side in directions):
        for side in directions:
            side.way = side.way or "up"
    return directions


def _side(device: Device, source: str, leave: Leave) -> Side | None:
    """One device. `source` is the device whose packets pass through it."""
    root = device.qdiscs.get("root")
    if root is None:
        if device.classes or any(at != "ingress" for at in device.qdiscs):
            line_number = next(iter([*device.classes.values(), *device.qdiscs.values()])).line
            leave("what stands below a root", "no line sets up that root; paste the line with root, too", line_number)
        elif not device.through:
            line_number = device.qdiscs["ingress"].line
            leave(
                "ingress",
                "incoming packets wait in no queue here; a filter with mirred redirects them to an ifb",
                line_number,
            )
        return None
    side = Side(device.name)
    walk = _Walk(device, side, leave, 0 if _BARE.match(source.removeprefix("ifb4")) else ETHERNET_HEADER)
    try:
        walk.qdisc(root, 0)
    except TcError as e:
        leave(f"tc qdisc {_plain(root.kind)}", str(e), root.line)
        return None
    if not side.queue and not side.impair:
        return None
    return side


def _plain(kind: str) -> str:
    return kind if re.fullmatch(r"[a-z_0-9-]{1,16}", kind) else "..."


@dataclass
class _Bucket:
    """A shaper: its rate in bits a second, its burst in bytes, and the headers that it counts."""

    rate_bps: float
    burst: int
    overhead: int = 0
    mpu: int = 0
    cells: str = "plain"
    #: For a tree of classes: the classes, and the class of other packets.
    classes: dict[str, Any] = field(default_factory=dict)


class _Walk:
    """Walks from the root down to the queue that packets without a filter reach."""

    def __init__(self, device: Device, side: Side, leave: Leave, header: int) -> None:
        self.device, self.side, self.leave, self.header = device, side, leave, header
        self.table: Mapping[str, str] = {}
        self.buckets: list[_Bucket] = []

    def say(self, line: int, what: str, value: object) -> None:
        self.side.said.append((line, what, str(value)))

    def qdisc(self, one: Statement, level: int) -> None:
        if level > MOST_LEVELS:
            raise TcError(f"more than {MOST_LEVELS} qdiscs inside one another; paste the inner ones alone")
        if one.stab:
            self.sizes(one)
        if one.kind in classful.REFUSED:
            raise TcError(f"{one.kind} is not simulated: {classful.REFUSED[one.kind]}")
        if one.kind in ("mq", *_DEVICES_OWN):
            self.device_own(one, level)
        elif one.kind == "netem":
            self.netem(one, level)
        elif one.kind in classful.CLASS_WORDS:
            self.tree(one, level)
        elif one.kind in classful.WORDS:
            self.bucket(one, level) if "rate" in one.words else self.bands(one, level)
        else:
            self.leaf(one)

    def sizes(self, one: Statement) -> None:
        """A size table: tc-stab(8)."""
        self.table = one.stab
        self.say(one.line, "stab", " ".join(f"{k} {v}" for k, v in one.stab.items()))

    def device_own(self, one: Statement, level: int) -> None:
        if one.kind == "mq":
            below = self.device.below(one.handle or "0:") or [q for a, q in self.device.qdiscs.items() if a != "root"]
            if below:
                self.leave("mq", "one queue of the card stands for all", one.line)
                self.qdisc(below[0], level + 1)
                return
        self.fifo(one.line, f"{one.kind}: what the device has")

    # Shapers

    def tree(self, one: Statement, level: int) -> None:
        """Takes the qdisc that holds classes, and finds the class that packets without a filter reach."""
        options = classful.values(one.kind, one.words, classful.WORDS[one.kind])
        major = one.handle.partition(":")[0]
        default_class = f"{major}:{options['default']:x}" if options.get("default") else ""
        leaves = [c for c in self.device.classes.values() if not self.device.children(c.handle)]
        leaves = [c for c in leaves if c.handle.partition(":")[0] == major]
        if not leaves:
            raise TcError(f"{one.kind} without a class holds no rate; paste the lines tc class add ..., too")
        if (top := self.top(major)) is not None and any(c.handle in self.device.coded for c in leaves):
            self.by_code_points(top, leaves, default_class, level, options.get("r2q", classful.R2Q))
            return
        leaf = next((c for c in leaves if c.handle == default_class), None)
        if leaf is None:
            chosen_leaves = [c for c in leaves if c.handle in self.device.chosen]
            if default_class or len(leaves) > 1:
                reason = "no class has this name" if default_class else "htb lets packets without a class pass unshaped"
                self.leave(
                    f"default {default_class or 'of htb'}",
                    f"{reason}; the first class that a filter chooses, or else the first class, stands for all",
                    one.line,
                )
            leaf = (chosen_leaves or leaves)[0]
        if default_class:
            self.say(one.line, "packets without a filter", f"class {default_class}")
        for sibling in leaves:
            if sibling is not leaf:
                self.leave(
                    f"class {sibling.handle}",
                    "packets that no filter matches are in another class; a scenario's htb has classes by code point",
                    sibling.line,
                )
        self.classes(leaf)
        queues_below = self.device.below(leaf.handle)
        if queues_below:
            self.qdisc(queues_below[0], level + 1)
        else:
            self.fifo(leaf.line, f"class {leaf.handle} without a qdisc of its own: pfifo")

    def classes(self, leaf: Statement) -> None:
        """Takes the class and those above it: they give the rate of the class while no other class sends."""
        chain: list[Statement] = []
        queue_class: Statement | None = leaf
        while queue_class is not None and queue_class not in chain and len(chain) < MOST_LEVELS:
            chain.append(queue_class)
            queue_class = self.device.classes.get(queue_class.parent)
        class_options: list[tuple[Statement, dict[str, Any]]] = []
        for c in chain:
            if c.kind not in classful.CLASS_WORDS:
                raise TcError(f"a class of {_plain(c.kind)} is not simulated; {classful.REFUSED.get(c.kind, 'htb is')}")
            options = classful.values(c.kind, c.words, classful.CLASS_WORDS[c.kind])
            if "rate" not in options:
                raise TcError(f"class {c.handle}: rate is missing; tc asks for it")
            self.say(c.line, f"class {c.handle}", self.class_text(options))
            class_options.append((c, options))
        rate, burst = 0.0, 0
        size_options: Mapping[str, Any] = {}
        for _, options in reversed(class_options):
            rate_before = rate
            rate, burst = self.alone(options, rate, burst)
            # The headers are those that the limiting bucket counts; of two buckets with the same rate, the larger
            # headers.
            if rate != rate_before or _headers(options) > _headers(size_options):
                size_options = options
        leaf_options = class_options[0][1]
        if rate > leaf_options["rate"]:
            rate_of_class = f"rate {units.rate_text(leaf_options['rate'])} of class {leaf.handle}"
            self.leave(
                rate_of_class,
                f"other classes are idle here, so that this class has {units.scenario_rate(rate)}",
                leaf.line,
            )
        if "burst" not in leaf_options and "cburst" not in leaf_options:
            self.say(leaf.line, "burst", f"assumed {burst} B: what tc gives with timers of high resolution")
        self.shape(leaf.line, rate, burst, size_options)

    def top(self, major: str) -> Statement | None:
        """The class at the top with others below it; None if there are several at the top, or if it is alone."""
        tops = self.device.children(f"{major}:")
        return tops[0] if len(tops) == 1 and self.device.children(tops[0].handle) else None

    def by_code_points(self, top: Statement, leaves: Sequence[Statement], unnamed: str, level: int, r2q: int) -> None:
        """Takes the whole tree, if its filters choose classes by code points: the simulator's shaper has such
        classes."""
        words_of_kind = classful.CLASS_WORDS
        class_rows: list[dict[str, Any]] = []
        counts: list[Statement] = []
        classes_below = [
            c for c in self.device.classes.values() if c.handle.partition(":")[0] == top.handle.partition(":")[0]
        ]
        top_options = classful.values(top.kind, top.words, words_of_kind.get(top.kind, ()))
        for c in classes_below:
            if c.kind not in words_of_kind:
                raise TcError(f"a class of {_plain(c.kind)} is not simulated; {classful.REFUSED.get(c.kind, 'htb is')}")
            options = classful.values(c.kind, c.words, words_of_kind[c.kind])
            if "rate" not in options:
                raise TcError(f"class {c.handle}: rate is missing; tc asks for it")
            self.say(c.line, f"class {c.handle}", self.class_text(options))
            if c is top:
                continue
            row: dict[str, Any] = {"name": c.handle, "rate": units.scenario_rate(options["rate"])}
            row |= {"parent": c.parent} if c.parent != top.handle else {}
            row |= {"ceil": units.scenario_rate(options["ceil"])} if "ceil" in options else {}
            row |= {k: f"{options[k]}B" for k in ("burst", "cburst", "quantum") if k in options}
            row |= {"prio": options["prio"]} if "prio" in options else {}
            if c in leaves:
                codes = sorted(set(self.device.coded.get(c.handle, ())))
                row |= {"dscp": codes} if codes else {}
                row["queue"] = self.inside(c, level)
            class_rows.append(row)
            if _headers(options) != _headers(top_options):
                counts.append(c)
        for c in counts:
            self.leave(f"headers of class {c.handle}", "a tree counts them as its class at the top does", c.line)
        rate, burst = self.alone(top_options, 0.0, 0)
        self.shape(top.line, rate, burst, top_options)
        classes: dict[str, Any] = {"classes": class_rows}
        if unnamed in {c.handle for c in leaves}:
            classes["default"] = unnamed
        elif unnamed:
            self.leave(f"default {unnamed}", "no class at an end has this name: such packets pass unshaped", top.line)
        self.buckets[-1].classes = classes | ({"r2q": r2q} if r2q != classful.R2Q else {})
        self.store("", {})

    def inside(self, one: Statement, level: int) -> dict[str, Any]:
        """The discipline of a class."""
        side = Side(self.device.name)
        walk = _Walk(self.device, side, self.leave, self.header)
        if below := self.device.below(one.handle):
            walk.qdisc(below[0], level + 1)
        else:
            walk.fifo(one.line, f"class {one.handle} without a qdisc of its own: pfifo")
        self.side.said += side.said
        if side.impair:
            self.leave(f"netem in class {one.handle}", "a class has no delay and no losses of its own here", one.line)
        return side.queue or {"kind": reading.of_words("pfifo", [])[0], "buffer": f"{CARD_PACKETS} packets"}

    def alone(self, said: Mapping[str, Any], lent: float, lent_burst: int) -> tuple[float, int]:
        """The rate of a class while no other sends, and the bucket that limits it. The rate is its own, or what it
        borrows from above, up to its ceiling (tc-htb(8)). The class at the top cannot borrow."""
        burst = said.get("burst", said.get("mtu", classful.HTB_MTU))
        cburst = said.get("cburst", said.get("mtu", classful.HTB_MTU))
        rate, bucket = (said["rate"], burst) if said["rate"] >= lent else (lent, lent_burst)
        ceil_bps = said.get("ceil", said["rate"])
        if rate == ceil_bps:
            return rate, min(bucket, cburst)
        return (rate, bucket) if rate < ceil_bps else (ceil_bps, cburst)

    def class_text(self, said: Mapping[str, Any]) -> str:
        texts = [f"rate {units.scenario_rate(said['rate'])}"]
        texts += [f"ceil {units.scenario_rate(said['ceil'])}"] if "ceil" in said else []
        texts += [f"{k} {said[k]} B" for k in ("burst", "cburst", "quantum", "mtu") if k in said]
        texts += [f"{k} {said[k]}" for k in ("prio", "mpu", "overhead", "linklayer") if k in said]
        return ", ".join(texts)

    def bucket(self, one: Statement, level: int) -> None:
        """`tbf`: a bucket with a queue that counts bytes, or with a qdisc below it."""
        options = classful.values(one.kind, one.words, classful.WORDS[one.kind])
        if "burst" not in options:
            raise TcError(f"{one.kind}: burst is missing; tc asks for it")
        limit = classful.latency_limit(options)
        if limit is None:
            raise TcError(f"{one.kind}: limit or latency is missing; tc asks for one of them")
        if options["burst"] <= 0:
            raise TcError(f"{one.kind}: burst 0 lets no packet pass; give at least one packet")
        texts = [f"rate {units.scenario_rate(options['rate'])}", f"burst {options['burst']} B", f"limit {limit} B"]
        if "latency" in options:
            texts.append(f"latency {law.seconds(options['latency'])}")
        if "peakrate" in options:
            texts.append(f"peakrate {units.scenario_rate(options['peakrate'])}, mtu {options.get('mtu', 0)} B")
        self.say(one.line, one.kind, ", ".join(texts))
        if "peakrate" in options:
            if options.get("mtu", 0) <= 0:
                raise TcError(f"{one.kind}: peakrate without mtu; tc asks for the bytes of a burst at that rate")
            self.shape(one.line, options["peakrate"], options["mtu"], options)
        self.shape(one.line, options["rate"], options["burst"], options)
        below = self.device.below(one.handle) if one.handle else []
        if below:
            self.qdisc(below[0], level + 1)
        else:
            self.store(*reading.of_words("bfifo", ["limit", str(limit)]))

    def shape(self, line: int, rate: float, burst: int, said: Mapping[str, Any]) -> None:
        """Puts a shaper around the queue below."""
        table, header = self.table, self.header
        overhead, mpu = int(said.get("overhead", 0)), int(said.get("mpu", 0))
        layer = said.get("linklayer", "ethernet")
        if table:
            overhead, mpu, layer = (
                overhead + _number(table, "overhead"),
                max(mpu, _number(table, "mpu")),
                table.get("linklayer", layer),
            )
        if rate < 1:
            raise TcError("a rate of less than 1 bit a second lets no packet pass; give the rate of the line")
        counted_bytes = overhead + header
        if counted_bytes < 0:
            self.leave(f"overhead {overhead}", "a packet would be shorter than its IP packet", line)
            counted_bytes = 0
        note = (
            line,
            "overhead",
            f"{counted_bytes} B on the IP packet: Linux counts the {header} B of the Ethernet header",
        )
        if header and note not in self.side.said:
            self.say(*note)
        cells = "atm" if layer in ("atm", "adsl") else "plain"
        self.buckets.append(_Bucket(rate, burst, counted_bytes, mpu, cells))
        self.side.rate_bps = min(rate, self.side.rate_bps or rate)

    # Other qdiscs

    def bands(self, one: Statement, level: int) -> None:
        options = classful.values(one.kind, one.words, classful.WORDS[one.kind])
        bands = options.get("bands", 3)
        self.say(one.line, one.kind, f"{bands} bands")
        # Band of packets without a type of service: tc-prio(8).
        unmarked_band = options.get("priomap", classful.PRIOMAP)[0]
        band = f"{one.handle.partition(':')[0]}:{unmarked_band + 1:x}"
        band_queues = {
            place: q for place, q in self.device.qdiscs.items() if place.startswith(f"{one.handle.partition(':')[0]}:")
        }
        if band not in band_queues and (chosen := [place for place in self.device.chosen if place in band_queues]):
            band = chosen[0]
            self.leave("other packets", f"a filter chooses band {band}, which stands for all", one.line)
        for place, q in band_queues.items():
            if place != band:
                self.leave(
                    f"band {place}", "a queue has one band here, that of packets without a mark or a filter", q.line
                )
        if band in band_queues:
            self.qdisc(band_queues[band], level + 1)
        else:
            self.fifo(one.line, f"band {band} without a qdisc of its own: pfifo")

    def netem(self, one: Statement, level: int) -> None:
        """Takes `netem` as the impairment of that name. The impairment acts before the queue below it, as in Linux."""
        settings = netem.parse(one.words)
        self.say(one.line, one.kind, netem.text(settings))
        if settings.rate_bps is not None and self.header:
            self.say(one.line, "netem's rate", f"counts the {self.header} B of the Ethernet header, too")
        table = {"overhead": _number(self.table, "overhead"), "linklayer": self.table.get("linklayer", "")}
        impairment = netem.impairment(settings, lambda what, why: self.leave(what, why, one.line), self.header, table)
        if len(impairment) > 1:
            self.side.impair.append(impairment)
        below = self.device.below(one.handle) if one.handle else []
        if below:
            self.qdisc(below[0], level + 1)
        elif self.buckets:
            self.leave("netem's limit", "packets on their way and those that wait are counted apart here", one.line)
            self.store(*reading.of_words("pfifo", ["limit", str(settings.limit)]))

    def leaf(self, one: Statement) -> None:
        """Takes a kind that has its own row."""
        words = _known_words(one, self.leave)
        left: list[str] = []
        name, settings = reading.of_words(one.kind, words, left)
        for text in left:
            self.leave(f"{one.kind} {text}", "no counterpart here", one.line)
        shown_settings = dict(settings)
        if (rate_of := shaping(name)) is not None and rate_of in settings:
            rate = float(_core.parse_rate(str(settings[rate_of])))
            self.side.rate_bps = min(rate, self.side.rate_bps or rate)
            shown_settings[rate_of] = units.scenario_rate(rate)
            if self.table:
                self.leave("stab", f"{one.kind} counts the line's headers by its own words", one.line)
        values = ", ".join(f"{k} {value_text(v)}" for k, v in shown_settings.items()) or "Linux's defaults"
        self.say(one.line, " ".join([one.kind, *words]), f"{name}: {values}")
        self.store(name, settings)

    def fifo(self, line: int, why: str) -> None:
        packets = IFB_PACKETS if self.device.name.startswith("ifb") else CARD_PACKETS
        self.say(line, why, f"assumed {packets} packets, as a device has them")
        self.store(*reading.of_words("pfifo", ["limit", str(packets)]))

    def store(self, name: str, settings: Mapping[str, Any]) -> None:
        """The name of a direction: the innermost discipline, and the shapers around it."""
        queue: dict[str, Any] = {"kind": name, **settings}
        if name == reading.of_words("pfifo", [])[0] and "buffer" not in settings:
            packets = IFB_PACKETS if self.device.name.startswith("ifb") else CARD_PACKETS
            self.side.said.append((0, "limit", f"assumed {packets} packets, as a device has them"))
            queue["buffer"] = f"{packets} packets"
        for b in reversed(self.buckets):
            size_keys = {"overhead": f"{b.overhead}B"} if b.overhead else {}
            size_keys |= {"mpu": f"{b.mpu}B"} if b.mpu else {}
            size_keys |= {"framing": b.cells} if b.cells != "plain" else {}
            around = {"kind": token_bucket(), "rate": units.scenario_rate(b.rate_bps), "burst": f"{b.burst}B"}
            queue = {**around, **size_keys, **(b.classes or {"queue": queue})}
        self.side.queue = queue


def _headers(said: Mapping[str, Any]) -> tuple[bool, int, int]:
    """The headers that a class counts: whether in cells, the overhead, and the smallest packet."""
    return said.get("linklayer") == "atm", said.get("overhead", 0), said.get("mpu", 0)


def value_text(value: object) -> str:
    """A setting, as a scenario writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(table: Mapping[str, str], word: str) -> int:
    text = table.get(word, "0")
    try:
        return max(-1000, min(int(text), 1000))
    except ValueError as e:
        raise TcError(f"stab {word} {text}: give a whole number of bytes") from e


def _known_words(one: Statement, leave: Leave) -> list[str]:
    """The words without those that a paste may have but that do not set the discipline."""
    words, kept_words = list(one.words), []
    while words:
        word = words.pop(0)
        if word == "unlimited" or (word == "bandwidth" and words[:1] == ["unlimited"]):
            words = words[1:] if word == "bandwidth" else words
        elif word == "overhead" and words[:1] and words[0].startswith("-"):
            leave(f"overhead {words.pop(0)[:8]}", "a packet would be shorter than its IP packet", one.line)
        else:
            kept_words.append(word)
    return kept_words
