"""The lines of `tc` that a reader pastes after a comparison: production values, behind a shaper.

An experiment gives all disciplines the same buffer; a router does not. A buffer that only the experiment chose is
therefore left to Linux. Parameters that the user gave or that follow from the link are set. The shaper's rate is a
little below the line's, as at home, so that packets queue here and not in front of the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.apps.ask.link.candidates import Candidate
from tailback.apps.ask.link.link import Link
from tailback.linux import htb_tree, kernel, units, words
from tailback.linux.forms import Form, form, shaping
from tailback.linux.framing import ETHERNET_HEADER, Framing
from tailback.linux.law import RED_LIMIT, Path
from tailback.linux.shaper import SHARE, burst_bytes, htb
from tailback.linux.units import TcError

#: The user's device towards the line.
DEVICE = "DEV"
#: Lengths are those of the link's packets, without added headers.
_PLAIN = Framing("", "", 0, 0, "plain", "", "", pppoe=True)


@dataclass(frozen=True)
class Lines:
    """The commands that set a discipline up, in order."""

    commands: tuple[str, ...]
    #: Given parameters that no word sets.
    unsaid: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def leaf(self) -> str:
        """The last line: the discipline itself."""
        return self.commands[-1]


def shaped_bps(link: Link) -> float:
    return link.rate_bps * SHARE


def around(link: Link) -> tuple[str, ...]:
    """The shaper of all disciplines that do not shape by themselves."""
    rate = units.kbit_text(shaped_bps(link))
    return htb(DEVICE, rate, burst_bytes(shaped_bps(link), _PLAIN), "", "")[:2]


def lines(made: Candidate, link: Link) -> Lines | None:
    """The lines of a candidate; None if Linux has no such discipline."""
    linux_form, table = form(made.name), made.table()
    rate_of = shaping(made.name)
    if linux_form is None and rate_of is not None:
        return _bucket(table, link)
    if linux_form is None:
        return (
            None if made.tc is None else Lines((*around(link), f"tc qdisc replace dev {DEVICE} parent 1:1 {made.tc}"))
        )
    path = Path(float(units.kbit(shaped_bps(link))) * 1000, link.packet_bytes, link.longest_rtt_s)
    settings = _settings(made, link, linux_form)
    if linux_form.shapes:
        if rate_of is not None and rate_of not in settings:
            settings[rate_of] = f"{path.rate_bps:.0f}bps"
        tc_words = words.write(linux_form, settings, path, ecn=link.ecn, as_linux=True)
        return _said((f"tc qdisc replace dev {DEVICE} root {tc_words.text}",), tc_words, made)
    tc_words = words.write(linux_form, settings, path, ecn=link.ecn, as_linux=True)
    return _said((*around(link), f"tc qdisc replace dev {DEVICE} parent 1:1 {tc_words.text}"), tc_words, made)


def _said(commands: tuple[str, ...], written: words.Written, made: Candidate) -> Lines:
    return Lines(commands, written.unsaid, tuple(filter(None, (*written.remarks, *_remarks_of(made)))))


def _remarks_of(made: Candidate) -> tuple[str, ...]:
    linux_form = form(made.name)
    return (linux_form.first,) if linux_form is not None else ()


def _settings(made: Candidate, link: Link, there: Form) -> dict[str, Any]:
    """The tried settings, without a buffer that only the experiment chose."""
    table = {k: v for k, v in made.table().items() if k != "kind"}
    values_of_settings = {s.name: s.value for s in made.settings}
    if "buffer" in values_of_settings and "buffer" not in made.queue and not _asked(made, link):
        del table["buffer"]
        buffer_is_needed = any(o.parameter == "buffer" and o.unsaid == "needed" for o in there.options)
        if buffer_is_needed:
            high = table.get("max_threshold")
            table["buffer"] = _times(high, RED_LIMIT) if high is not None else values_of_settings["buffer"]
    return table


def _asked(made: Candidate, link: Link) -> bool:
    """Whether the user gave the buffer, for this discipline or for all."""
    return any(s.name == "buffer" and s.why.endswith("as asked for") for s in made.settings)


def _times(size: Any, factor: int) -> str:
    amount, unit = _core.parse_size(str(size))
    if amount is None:
        return str(size)
    return f"{factor * int(amount)} packets" if unit == "packets" else f"{factor * int(amount)}B"


def _bucket(table: Mapping[str, Any], link: Link) -> Lines | None:
    """A shaper with its own rate, and the discipline in it. `htb` counts an Ethernet device's header by itself."""
    try:
        if table.get("classes"):
            return Lines(*htb_tree.lines(DEVICE, table, _framing(table)[0], link.packet_bytes, link.ecn))
        queue = kernel.queue(table, link.rate_bps, link.ecn)
    except TcError:
        return None
    if queue.around is None:
        return Lines(queue.lines(DEVICE), queue.words.unsaid, queue.words.remarks)
    rate, burst, _ = queue.around
    framing, remark = _framing(table)
    commands = htb(DEVICE, units.rate_text(rate), burst, framing.htb, queue.words.text)
    return Lines(commands, queue.words.unsaid, (*queue.words.remarks, *([remark] if remark else [])))


def _framing(table: Mapping[str, Any]) -> tuple[Framing, str]:
    """The framing of the commands, and a remark if an Ethernet device counts more header bytes than the simulator."""
    overhead, mpu = (_core.parse_bytes(str(table.get(key, "0B"))) for key in ("overhead", "mpu"))
    plain_framing = Framing("", "", max(overhead, ETHERNET_HEADER), mpu, str(table.get("framing", "plain")), "", "")
    if overhead >= ETHERNET_HEADER:
        return plain_framing, ""
    return (
        plain_framing,
        f"An Ethernet device counts {ETHERNET_HEADER} B of its header; the simulator counts {overhead} B.",
    )
