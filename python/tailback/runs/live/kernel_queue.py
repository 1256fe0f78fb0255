"""Turns the queue of one link into a queue of this kernel: its place, its lines for `tc`, and the changes to the link
in the box.

A link divides the scenario's nodes: those of its `from` are behind the near device of the box, those of its `to` behind
the far one. The queue of one direction must serve all packets of this direction, data and ACKs of all flows together.
The ends of flows are therefore placed by their nodes, and not by which end sends. (Live runs without a queue of the
kernel have all sources on one side. There the queue of one direction would become two queues.)

* A queue with nothing before it that can delay packets is where its packets leave the router of the sending side.
* Any other queue is where its packets enter the router of the receiving side, as the queue of an IFB. An example is a
  shaper at home, which is behind the line on the way down.

The box passes these packets at once. The link's delay stays in the box, but its rate and its queue do not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.core.scenario.settled import written_out
from tailback.linux import kernel
from tailback.linux.shaper import intermediate
from tailback.linux.units import TcError

#: The router's device towards the box, and its device for incoming packets.
DEVICE, IFB = "tailback0", "ifb4wan"
#: The rate of the link in the box if the kernel's queue has the link's rate.
OPEN_RATE = "10Gbps"
_FIFO = "droptail"
_OPEN = {"kind": _FIFO, "buffer": "unlimited"}


class NotPossible(ValueError):
    """The scenario needs something that no kernel, or not this one, can do. This is an error of the input."""


@dataclass(frozen=True)
class KernelQueue:
    link: str
    #: Nodes behind the link.
    far: frozenset[str]
    #: The commands for the router of the near side, and for that of the far side.
    lines: tuple[list[str], list[str]]
    #: The overrides of the scenario with which the box passes these packets at once.
    overrides: list[str]
    #: Disciplines and devices that the kernel must have, by their names in `tc` and `ip`.
    needs: list[str] = field(default_factory=list)

    def is_far(self, node: str) -> bool:
        return node in self.far


@dataclass(frozen=True)
class _Way:
    """One direction of a link."""

    name: str
    begin: str
    end: str
    rate_bps: float
    queue: Mapping[str, Any]

    @property
    def holds_nothing_back(self) -> bool:
        return self.queue.get("kind") == _FIFO and self.queue.get("buffer", "unlimited") == "unlimited"


def of(scenario: Any, link: str) -> KernelQueue:
    """The queue of this link, both directions, as lines for this kernel. Raises NotPossible."""
    document = written_out(tomllib.loads(scenario.toml), scenario)
    link_ways = list(_ways(document))
    directions = [link_way for link_way in link_ways if link_way.name == link]
    if not directions:
        names = ", ".join(dict.fromkeys(link_way.name for link_way in link_ways))
        hint = f"links are {names}" if names else "this works with links that are written as [link.NAME]"
        raise NotPossible(f"--kernel {link}: there is no such link; {hint}")
    _steady(document, link)
    _with_own_memory(document, directions)
    first_way = directions[0]
    near_nodes, far_nodes = (
        _reached(node, [link_way for link_way in link_ways if link_way.name != link])
        for node in (first_way.begin, first_way.end)
    )
    if near_nodes & far_nodes:
        raise NotPossible(
            f"--kernel {link}: another way leads around link.{link}, so the link does not divide the network; name "
            "another link"
        )
    lines: tuple[list[str], list[str]] = ([], [])
    overrides, needs = [], []
    flows = {group[end] for group in _core.live_groups(scenario) for end in ("from", "to")}
    for link_way, key in zip(directions, ("", "reverse_"), strict=True):
        if link_way.holds_nothing_back:
            continue
        try:
            queue = kernel.queue(link_way.queue, link_way.rate_bps, scenario.marking["on"])
        except TcError as e:
            raise NotPossible(f"--kernel {link}: {e}") from e
        side, comes_in = _place(link_way, link_ways, (near_nodes & flows, far_nodes & flows), key == "")
        lines[side].extend(_at(queue, comes_in))
        needs += [*queue.needs, *(["ifb", "ingress"] if comes_in else [])]
        overrides.append(f'link.{link}.{key}queue={{kind="droptail",buffer="unlimited"}}')
        if not queue.holds_rate:
            overrides.append(f"link.{link}.{key}rate={OPEN_RATE}")
    if not needs:
        raise NotPossible(
            f"--kernel {link}: the queues of link.{link} hold no packets back; name a link whose queues do"
        )
    return KernelQueue(link, far_nodes, lines, overrides, list(dict.fromkeys(needs)))


def _ways(document: Mapping[str, Any]) -> Iterator[_Way]:
    """Both directions of each link."""
    for name, table in document.get("link", {}).items():
        for key, ends in (("", ("from", "to")), ("reverse_", ("to", "from"))):
            own_queue = table.get(f"{key}queue", _FIFO if key == "" else _OPEN)
            queue = {"kind": own_queue} if isinstance(own_queue, str) else own_queue
            rate = table.get(f"{key}rate", table["rate"])
            yield _Way(name, table[ends[0]], table[ends[1]], _core.parse_rate(str(rate)), queue)


def _steady(document: Mapping[str, Any], link: str) -> None:
    for name, change in document.get("change", {}).items():
        if str(change.get("link", "")).removesuffix(".reverse") == link:
            raise NotPossible(
                f"--kernel {link}: change.{name} alters link.{link} during the run, and a queue of the kernel keeps "
                "its rate; leave --kernel out"
            )


def _with_own_memory(document: Mapping[str, Any], mine: Sequence[_Way]) -> None:
    for w in mine:
        if w.begin in document.get("switch", {}):
            raise NotPossible(
                f"--kernel {w.name}: link.{w.name} leaves the switch {w.begin}, whose ports share a memory, and a "
                f"queue of the kernel has its own; leave [switch.{w.begin}] or --kernel out"
            )


def _reached(node: str, ways: Sequence[_Way]) -> frozenset[str]:
    """All nodes that are connected with this one."""
    nodes, new_nodes = {node}, [node]
    while new_nodes:
        node_reached = new_nodes.pop()
        for w in ways:
            if w.begin == node_reached and w.end not in nodes:
                nodes.add(w.end)
                new_nodes.append(w.end)
    return frozenset(nodes)


def _place(
    way: _Way, ways: Sequence[_Way], flows: tuple[frozenset[str], frozenset[str]], there: bool
) -> tuple[int, bool]:
    """The side of the queue, and whether the queue is for packets that come in there."""
    sends, gets = (0, 1) if there else (1, 0)
    other_ways = [w for w in ways if w.name != way.name and w.holds_nothing_back and w.rate_bps >= way.rate_bps]
    if flows[sends] <= _reached(way.begin, [_turned(w) for w in other_ways]):
        return sends, False
    if flows[gets] <= _reached(way.end, other_ways):
        return gets, True
    raise NotPossible(
        f"--kernel {way.name}: there are other queues before and behind link.{way.name}, and the kernel's can stand "
        "only at one end of the network; name another link"
    )


def _turned(w: _Way) -> _Way:
    return _Way(w.name, w.end, w.begin, w.rate_bps, w.queue)


def _at(queue: kernel.Queue, comes_in: bool) -> list[str]:
    """The lines of a queue on the router's device, or behind it."""
    commands_before = intermediate(DEVICE, IFB) if comes_in else ()
    return [*commands_before, *queue.lines(IFB if comes_in else DEVICE)]
