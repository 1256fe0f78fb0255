"""The lines of `tc` that give a link of the live box a queue of this kernel.

Lengths are those of IP packets, since a TUN device has no Ethernet header. The `overhead` of `htb` therefore counts
from the IP packet, as in a scenario. On a router's own device it counts from the Ethernet packet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.linux import units, words
from tailback.linux.forms import form, forms, shaping
from tailback.linux.framing import Framing
from tailback.linux.law import Path
from tailback.linux.shaper import FULL_PACKET, htb
from tailback.linux.units import TcError


@dataclass(frozen=True)
class Queue:
    """A queue for one direction of a link."""

    #: The kinds of qdisc that the kernel must have.
    needs: tuple[str, ...]
    #: The words of the discipline.
    words: words.Written
    #: Whether the queue has its own rate and not that of the link.
    holds_rate: bool
    #: The class of `htb` around the discipline: rate in bits a second, burst in bytes, headers of the line.
    around: tuple[float, int, str] | None = None

    def lines(self, device: str) -> tuple[str, ...]:
        if self.around is None:
            return (f"tc qdisc replace dev {device} root {self.words.text}",)
        rate_bps, burst, counted = self.around
        return htb(device, units.rate_text(rate_bps), burst, counted, self.words.text)


def queue(given: Mapping[str, Any], rate_bps: float, marking: bool) -> Queue:
    """The kernel's queue for a scenario's queue, on a link of this rate. Raises `TcError` if no kernel has it."""
    kind = given["kind"]
    rate_of = shaping(kind)
    if given.get("classes"):
        raise TcError(f"a tree of classes of {kind} is not set up in a kernel; give one queue, or run the simulator's")
    if rate_of is not None and form(kind) is None:
        return _around(given, _core.parse_rate(str(given[rate_of])), marking)
    if rate_of is not None and rate_of in given:
        tc_words = _written(given, None, marking)
        return Queue((tc_words.kind,), tc_words, True)
    tc_words = _written(given, Path(rate_bps, 1500, 0.1), marking)
    # A class as fast as the link, which sends one packet at a time as a link does.
    return Queue(("htb", tc_words.kind), tc_words, False, (rate_bps, FULL_PACKET, ""))


def _around(given: Mapping[str, Any], rate_bps: float, marking: bool) -> Queue:
    """The kernel's queue for a scenario's `htb`: a class of `htb`, and the discipline below this class."""
    inner_queue = given.get("queue", "droptail")
    inner_queue = {"kind": inner_queue} if isinstance(inner_queue, str) else inner_queue
    overhead, mpu = (_core.parse_bytes(str(given.get(key, "0B"))) for key in ("overhead", "mpu"))
    framing = Framing("", "", overhead, mpu, given.get("framing", "plain"), "", "", pppoe=True)
    rate_bps *= framing.rate_factor
    burst = max(_core.parse_bytes(str(given.get("burst", "1514B"))), FULL_PACKET)
    tc_words = _written(inner_queue, Path(rate_bps, framing.shaped(1500), 0.1), marking)
    return Queue(("htb", tc_words.kind), tc_words, True, (rate_bps, burst, framing.htb))


def _written(given: Mapping[str, Any], path: Path | None, marking: bool) -> words.Written:
    kind = given["kind"]
    linux_form = form(kind)
    if linux_form is None or (linux_form.shapes and (path is not None or linux_form.always)):
        queues_below = ", ".join(f.discipline for f in forms() if not f.shapes)
        shapers = ", ".join(f.discipline for f in forms() if f.shapes and not f.always)
        raise TcError(
            f"Linux has no queue that is this {kind}; the kernel can have {queues_below}, and {shapers} with a rate"
        )
    # A scenario always has a limit, so the limit is written even if it would be the device's.
    limits = {o.parameter: linux_form.defaults[o.parameter] for o in linux_form.options if o.unsaid == "device"}
    tc_words = words.write(linux_form, {**limits, **given}, path, ecn=marking)
    if unsaid := [p for p in tc_words.unsaid if p in given]:
        raise TcError(f"the kernel's {kind} cannot be given {unsaid[0]} = {given[unsaid[0]]}; leave {unsaid[0]} out")
    return tc_words
