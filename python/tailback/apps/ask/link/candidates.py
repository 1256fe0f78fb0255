"""What each discipline is given on a link, and why, and what Linux says for the same.

All have the same buffer. Where a published law says how a parameter follows from the link, it is followed; all else is
the discipline's default (`tailback.linux.law`, and the law that each discipline declares).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tailback import _core
from tailback.apps.ask.given import LinkError, own_name
from tailback.apps.ask.link.link import Link
from tailback.core.scenario import queues as own_queues
from tailback.linux import law, words
from tailback.linux.forms import form, form_of_class, models, shaping
from tailback.linux.law import Path, Setting
from tailback.linux.units import TcError

#: Compared unless others are named.
DEFAULT = ("droptail", "red", "codel", "pie", "fq-codel", "fq-pie", "cake", "dualpi2", "qsdrr")


@dataclass(frozen=True)
class Candidate:
    """A discipline on a link: its settings, and what Linux calls it."""

    name: str
    settings: tuple[Setting, ...]
    #: The line of `tc` behind `tc qdisc replace dev DEV root`; none where Linux has no such discipline.
    tc: str | None = None
    #: How Linux's differs from what was simulated.
    tc_remark: str = ""
    #: Parameters that were given, and that the line does not say.
    unsaid: tuple[str, ...] = ()
    #: The memory that the port shares with others, as `[switch.NAME]` takes it; none: its own buffer.
    switch: Mapping[str, Any] = field(default_factory=dict)
    #: Where it is found, if not in a switch as the others.
    where: str = ""
    queue: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> dict[str, Any]:
        """As a scenario takes it."""
        return {"kind": self.name, **{s.name: s.value for s in self.settings}} | dict(self.queue)


def candidate(name: str, link: Link) -> Candidate:
    """A discipline with the settings of its law for this link."""
    name = own_name(name)
    _can_signal(name, link)
    limit = link.buffer_packets
    settings = (*_buffer(name, link), *law.settings(models()[name]["law"], path(link), limit))
    return in_linux(Candidate(name, settings), link)


def path(link: Link) -> Path:
    """The link as laws look at it."""
    return Path(link.rate_bps, link.packet_bytes, link.longest_rtt_s)


def in_linux(made: Candidate, link: Link) -> Candidate:
    """The same with its line for `tc`, and what the line does not say."""
    there = form(made.name)
    if there is None:
        return made
    table, remarks = made.table(), []
    rate = shaping(made.name)
    if rate is not None and rate not in table:
        table[rate] = f"{link.rate_bps:.0f}bps"
        remarks.append(
            "In Linux it is the shaper too, and takes its target from the rate and from rtt; here the line is the rate."
        )
    written = words.write(there, table, path(link), ecn=link.ecn)
    remarks += [*_of_senders(made, link), *written.remarks, there.first]
    return replace(made, tc=written.text, tc_remark=" ".join(filter(None, remarks)), unsaid=written.unsaid)


def _of_senders(made: Candidate, link: Link) -> list[str]:
    """Whether a discipline that serves L4S apart has something to serve."""
    apart = models()[made.name]["marks"] == "always"
    if apart and not any((_core.control_facts(s) or {}).get("codepoint") == "ect1" for s in link.senders):
        return ["No sender here marks its packets as L4S, so that the second queue stays empty."]
    return []


def default(link: Link) -> tuple[list[str], list[str]]:
    """The disciplines that are compared unless others are named, and a sentence for each that is left out."""
    if link.rack is not None:
        from tailback.apps.ask.link.switches import CANDIDATES

        return list(CANDIDATES), []
    left_out = [name for name in DEFAULT if not link.ecn and models()[name]["marks"] == "always"]
    why = "is left out: its signal is the mark, and hosts have no ECN; --ecn gives it to them"
    return [name for name in DEFAULT if name not in left_out], [f"{name} {why}" for name in left_out]


def _can_signal(name: str, link: Link) -> None:
    if models()[name]["marks"] == "always" and not link.ecn:
        raise LinkError(
            f"queue = {name}: its signal is the mark, and hosts have no ECN; add --ecn, or leave {name} out"
        )


def alone(name: object, link: Link) -> tuple[str, Candidate]:
    """A discipline by its name: its name on the page, and what it is."""
    if link.rack is not None and isinstance(name, str):
        from tailback.apps.ask.link.switches import CANDIDATES

        if name in CANDIDATES:
            return name, CANDIDATES[name](link)
    if (own := own_queues.own(name)) is not None:
        return own_queues.short(own), _of_class(own, link)
    made = candidate(own_name(name), link)
    return made.name, made


def _of_class(name: str, link: Link) -> Candidate:
    """A class of one's own, with the line that it declares."""
    try:
        there = form_of_class(own_queues.maker(name), own_queues.short(name))
        written = None if there is None else words.write(there, {}, path(link), ecn=link.ecn)
    except TcError as e:
        raise LinkError(f"queue = {name}: {e}") from e
    if written is None:
        return Candidate(name, ())
    return Candidate(name, (), written.text, " ".join(written.remarks))


def given(table: Mapping[str, Any], link: Link) -> tuple[str, Candidate]:
    """A discipline as a table: its name on the page, and what it is. Its buffer is the link's unless it has one."""
    kind = own_name(table.get("kind", ""))
    _can_signal(kind, link)
    own = {k: v for k, v in table.items() if k not in ("kind", "name")}
    settings = tuple(Setting(k, v, "as asked for") for k, v in own.items())
    if "buffer" not in own:
        settings = (*_buffer(kind, link), *settings)
    return str(table.get("name", kind)), in_linux(Candidate(kind, settings), link)


def _buffer(name: str, link: Link) -> tuple[Setting, ...]:
    """A shaper has none: it is in the discipline behind it."""
    if not any(p["name"] == "buffer" for p in models()[name]["parameters"]):
        return ()
    return (Setting("buffer", link.buffer, f"the same for all: {link.buffer_why}"),)
