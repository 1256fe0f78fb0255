"""What stands at home in front of the line: nothing, or a shaper with a discipline, as production has it.

Nothing here has the equal buffers of an experiment: each discipline has the buffer that it has in Linux when nothing is
said. Parameters that follow from the line are those of its published guideline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.ask.given import LinkError
from tailback.comparison import candidates as guided
from tailback.comparison.link import Link
from tailback.home.leaves import CARD_PACKETS, IFB_PACKETS, LEAST_RTT_S, LEAVES, MOST_RTT_S, Leaf
from tailback.home.line import HomeLine, Share
from tailback.home.lines import Setup, acks_share, burst_bytes, filters_acks
from tailback.scenario import own_file

#: Today: the modem, and no shaper.
MODEM = "modem"
#: Compared unless others are named.
DEFAULT = ("cake", "fq-codel")


@dataclass(frozen=True)
class HomeCandidate:
    """What stands in front of the line."""

    #: On the page.
    name: str
    #: The discipline as `tailback describe` calls it; empty for no shaper.
    kind: str
    #: Parameters of the discipline upwards and downwards, without the shaper.
    up: Mapping[str, Any] = field(default_factory=dict)
    down: Mapping[str, Any] = field(default_factory=dict)
    #: Which parameter is set why.
    why: Mapping[str, str] = field(default_factory=dict)
    #: Makes the discipline, if it is written in Python.
    maker: Callable[[], Any] | None = None

    @property
    def shapes(self) -> bool:
        return bool(self.kind)

    def queues(self, line: HomeLine, share: Share) -> tuple[Any, Any]:
        """The queues of the shaper, up and down, as a scenario takes them; None for no shaper."""
        if not self.shapes:
            return None, None
        made = []
        for rate, own in ((share.up * line.up_bps, self.up), (share.down * line.down_bps, self.down)):
            if self.kind == "cake":
                made.append({"kind": "cake", "rate": f"{rate:.0f}bps", **line.framing.simulated(), **own})
            else:
                made.append({"kind": "htb", **_shaper(line, rate), "queue": own})
        return made[0], made[1]


def _shaper(line: HomeLine, rate_bps: float) -> dict[str, str]:
    """What `htb` is told. It does not know the codes of PTM, so it gets a rate without them."""
    counted = line.framing.simulated()
    if counted["framing"] == "ptm":
        counted["framing"] = "plain"
    rate = rate_bps * line.framing.rate_factor
    return {"rate": f"{rate:.0f}bps", "burst": f"{burst_bytes(rate, line.framing)}B", **counted}


def candidate(given: object, line: HomeLine) -> HomeCandidate:
    """A discipline by name, as a table, or as `FILE.py:CLASS`. Raises `LinkError`."""
    if hasattr(given, "to_dict"):
        given = given.to_dict()
    if isinstance(given, Mapping):
        return _table(given, line)
    if callable(given):
        return _made(given, getattr(given, "__name__", type(given).__name__))
    if isinstance(given, str) and ".py:" in given:
        path, _, name = given.rpartition(":")
        return _made(loaded(path, name), name)
    kind = guided.own_name(given)
    return today() if given == MODEM else _cake(line) if kind == "cake" else _shaped(kind, line)


def today() -> HomeCandidate:
    return HomeCandidate(MODEM, "")


def chosen(given: Sequence[object] | None, line: HomeLine) -> dict[str, HomeCandidate]:
    """The modem alone, and then what is asked for, by name. Raises `LinkError`."""
    found = {MODEM: today()}
    for one in given if given is not None else DEFAULT:
        made = today() if one == MODEM else candidate(one, line)
        if made.name in found and made.name != MODEM:
            raise LinkError(
                f"queue = {made.name} stands there twice; give one of them a name of its own: "
                "{ kind = ..., name = ... }"
            )
        found[made.name] = made
    if len(found) < 2:
        raise LinkError("queue: name at least one discipline beside the modem, such as cake")
    return found


def _cake(line: HomeLine) -> HomeCandidate:
    both = {"tins": "diffserv4"}
    if not LEAST_RTT_S <= line.rtt_s <= MOST_RTT_S:
        both["rtt"] = f"{1e3 * line.rtt_s:.6g}ms"
    why = {
        "isolation": "hosts at home share the line first, then their flows; nat makes cake see these hosts",
        "tins": "four classes; the call is marked EF and has one before the transfers",
        "ingress": "what is dropped downwards has taken its time on the line",
    }
    up = {**both, "isolation": "dual-src"}
    shaped = setup("cake", line)
    if filters_acks(shaped):
        up["ack_filter"] = "conservative"
        why["ack_filter"] = f"ACKs of a full download would take {acks_share(shaped):.0%} of the upload"
    if "rtt" in both:
        why["rtt"] = "the round trip is far from the 100 ms that cake expects"
    return HomeCandidate("cake", "cake", up, {**both, "isolation": "dual-dst", "ingress": True}, why)


def setup(kind: str, line: HomeLine) -> Setup:
    """What the lines to paste set up."""
    return Setup(kind, *line.shaped, line.framing, rtt_s=line.rtt_s, ecn=line.ecn)


def _shaped(kind: str, line: HomeLine) -> HomeCandidate:
    """A discipline behind `htb`: as the lines to paste have it, or, where Linux does not have it, by its guideline."""
    known = LEAVES.get(kind)
    made: list[dict[str, Any]] = []
    why: dict[str, str] = {}
    down, up = line.shaped
    for rate, holds in ((up, CARD_PACKETS), (down, IFB_PACKETS)):
        if known is not None:
            leaf = Leaf(
                rate * line.framing.rate_factor,
                line.framing.shaped(line.packet),
                line.rtt_s,
                line.ecn,
                device_packets=holds,
            )
            made.append({"kind": kind, **known.simulated(leaf)})
            why |= dict.fromkeys(made[-1], "as in the lines to paste")
        else:
            found = guided.candidate(kind, _as_link(line, rate))
            made.append(found.table())
            why |= {s.name: s.why for s in found.settings}
    return HomeCandidate(kind, kind, made[0], made[1], why)


def _table(table: Mapping[str, Any], line: HomeLine) -> HomeCandidate:
    """A discipline with one's own parameters; whatever they do not say is as for its name alone."""
    kind = guided.own_name(table.get("kind", ""))
    own = {k: v for k, v in table.items() if k not in ("kind", "name")}
    base = candidate(kind, line)
    why = {k: v for k, v in base.why.items() if k not in own} | dict.fromkeys(own, "as asked for")
    return HomeCandidate(str(table.get("name", kind)), kind, {**base.up, **own}, {**base.down, **own}, why)


def _as_link(line: HomeLine, rate_bps: float) -> Link:
    """The line in one direction, as guidelines look at it."""
    return Link(
        rate_bps=rate_bps,
        rtts_s=(line.rtt_s,),
        flows=line.transfers,
        traffic=("bulk",),
        senders=(line.sender,),
        packet_bytes=line.packet,
        buffer_bytes=CARD_PACKETS * line.packet,
        buffer_in="packets",
        ecn=line.ecn,
        buffer_why="what a network card's queue holds",
    )


def _made(maker: Callable[[], Any], name: str) -> HomeCandidate:
    from tailback.builder import class_name

    own = {"kind": "python", "class": class_name(maker)}
    return HomeCandidate(name, "python", own, own, {}, maker)


def loaded(path: str, name: str) -> Callable[[], Any]:
    """The class of a Python file. Raises `LinkError`."""
    try:
        maker: Callable[[], Any] = own_file.loaded(path, name)
    except own_file.FileError as e:
        raise LinkError(f"queue = {path}:{name}: {e}") from e
    return maker
