"""The settings of each discipline on a link, the reasons for them, and the settings as words of `tc`.

All disciplines have the same buffer. If a published law derives a parameter from the link, the law is applied; other
parameters have the discipline's default (`tailback.linux.law`, and the law that each discipline declares).
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

#: The disciplines that are compared by default.
DEFAULT = ("droptail", "red", "codel", "pie", "fq-codel", "fq-pie", "cake", "dualpi2", "qsdrr")


@dataclass(frozen=True)
class Candidate:
    """A discipline on a link: its settings, and its form in Linux."""

    name: str
    settings: tuple[Setting, ...]
    #: The words of `tc` behind `tc qdisc replace dev DEV root`; None if Linux has no such discipline.
    tc: str | None = None
    #: The differences between Linux's discipline and the simulated one.
    tc_remark: str = ""
    #: Given parameters that the line does not set.
    unsaid: tuple[str, ...] = ()
    #: The memory that the port shares with others, as in `[switch.NAME]`; empty if it has its own buffer.
    switch: Mapping[str, Any] = field(default_factory=dict)
    #: The kind of device that has it, if it is not a switch.
    where: str = ""
    queue: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> dict[str, Any]:
        """The queue as a table of a scenario."""
        return {"kind": self.name, **{s.name: s.value for s in self.settings}} | dict(self.queue)


def candidate(name: str, link: Link) -> Candidate:
    """A discipline with the settings of its law for this link."""
    name = own_name(name)
    _can_signal(name, link)
    limit = link.buffer_packets
    settings = (*_buffer(name, link), *law.settings(models()[name]["law"], path(link), limit))
    return in_linux(Candidate(name, settings), link)


def path(link: Link) -> Path:
    """The properties of the link from which a law computes parameters."""
    return Path(link.rate_bps, link.packet_bytes, link.longest_rtt_s)


def in_linux(made: Candidate, link: Link) -> Candidate:
    """The candidate with its line of `tc`, and the parameters that the line does not set."""
    linux_form = form(made.name)
    if linux_form is None:
        return made
    table, remarks = made.table(), []
    rate = shaping(made.name)
    if rate is not None and rate not in table:
        table[rate] = f"{link.rate_bps:.0f}bps"
        remarks.append(
            "In Linux it is the shaper too, and takes its target from the rate and from rtt; here the line is the rate."
        )
    written = words.write(linux_form, table, path(link), ecn=link.ecn)
    remarks += [*_of_senders(made, link), *written.remarks, linux_form.first]
    return replace(made, tc=written.text, tc_remark=" ".join(filter(None, remarks)), unsaid=written.unsaid)


def _of_senders(made: Candidate, link: Link) -> list[str]:
    """A remark if a discipline with a queue for L4S gets no L4S packets."""
    apart = models()[made.name]["marks"] == "always"
    if apart and not any((_core.control_facts(s) or {}).get("codepoint") == "ect1" for s in link.senders):
        return ["No sender here marks its packets as L4S, so that the second queue stays empty."]
    return []


def default(link: Link) -> tuple[list[str], list[str]]:
    """The default disciplines, and a sentence for each that is left out."""
    if link.rack is not None:
        from tailback.apps.ask.link.switches import CANDIDATES

        return list(CANDIDATES), []
    left_out = [name for name in DEFAULT if not link.ecn and models()[name]["marks"] == "always"]
    why = "is left out: it signals only by marks, and hosts have no ECN; --ecn gives it to them"
    return [name for name in DEFAULT if name not in left_out], [f"{name} {why}" for name in left_out]


def _can_signal(name: str, link: Link) -> None:
    if models()[name]["marks"] == "always" and not link.ecn:
        raise LinkError(
            f"queue = {name}: it signals only by marks, but hosts have no ECN; add --ecn, or leave {name} out"
        )


def alone(name: object, link: Link) -> tuple[str, Candidate]:
    """A discipline from its name: the name on the page, and the candidate."""
    if link.rack is not None and isinstance(name, str):
        from tailback.apps.ask.link.switches import CANDIDATES

        if name in CANDIDATES:
            return name, CANDIDATES[name](link)
    if (own := own_queues.own(name)) is not None:
        return own_queues.short(own), _of_class(own, link)
    made = candidate(own_name(name), link)
    return made.name, made


def _of_class(name: str, link: Link) -> Candidate:
    """A user's own class, with the line of `tc` that it declares."""
    try:
        there = form_of_class(own_queues.maker(name), own_queues.short(name))
        tc_words = None if there is None else words.write(there, {}, path(link), ecn=link.ecn)
    except TcError as e:
        raise LinkError(f"queue = {name}: {e}") from e
    if tc_words is None:
        return Candidate(name, ())
    return Candidate(name, (), tc_words.text, " ".join(tc_words.remarks))


def given(table: Mapping[str, Any], link: Link) -> tuple[str, Candidate]:
    """A discipline from a table: the name on the page, and the candidate. The buffer is that of the link unless the
    table has one."""
    kind = own_name(table.get("kind", ""))
    _can_signal(kind, link)
    own = {k: v for k, v in table.items() if k not in ("kind", "name")}
    settings = tuple(Setting(k, v, "as asked for") for k, v in own.items())
    if "buffer" not in own:
        settings = (*_buffer(kind, link), *settings)
    return str(table.get("name", kind)), in_linux(Candidate(kind, settings), link)


def _buffer(name: str, link: Link) -> tuple[Setting, ...]:
    """The setting of the buffer; empty for a shaper, since the discipline behind it has the buffer."""
    if not any(p["name"] == "buffer" for p in models()[name]["parameters"]):
        return ()
    return (Setting("buffer", link.buffer, f"the same for all: {link.buffer_why}"),)
