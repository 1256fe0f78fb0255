"""The candidates for a switch port in a data centre: drop-tail, marks from a threshold on, and a shared memory.

CoDel and DualPI2 are included for comparison. These two need the waiting time of each packet. Hosts and software
switches measure this time, and most switching chips do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tailback.apps.ask.link import candidates as known
from tailback.apps.ask.link.candidates import Candidate
from tailback.apps.ask.link.link import Link
from tailback.apps.ask.link.rack import DCTCP_PAPER, Rack
from tailback.linux.law import Setting

SOFTWARE = "host or software switch"


def _rack(link: Link) -> Rack:
    if link.rack is None:
        raise ValueError("a candidate of a switch needs a rack")
    return link.rack


def _marks_at_once(low: float, high: float, link: Link, why: str) -> tuple[Setting, ...]:
    """RED on the instantaneous queue. RED then marks with probability 1 from the upper threshold on."""
    instantaneous = f"the queue as it is, not its average; from there on every packet is marked ({DCTCP_PAPER}, 3.1)"
    return (
        Setting("min_threshold", f"{low:g} packets", why),
        Setting("max_threshold", f"{high:g} packets", why),
        Setting("max_probability", 1.0, instantaneous),
        Setting("weight", 1.0, instantaneous),
        Setting("gentle", False, instantaneous),
        Setting("mark_cap", 1.0, instantaneous),
        Setting("mark_above_max", True, instantaneous),
        Setting("wait", False, instantaneous),
        Setting("ecn", True, "the senders respond to marks"),
        Setting("mean_packet", f"{link.packet_bytes}B", "what most packets have"),
    )


def _own_part(link: Link) -> Setting:
    return Setting("buffer", link.buffer, f"the same for all that have a share of their own: {link.buffer_why}")


def _step_settings(link: Link, k: int | None = None) -> tuple[Setting, ...]:
    threshold = _rack(link).threshold if k is None else k
    reason = _rack(link).threshold_why if k is None else "of the sweep"
    return _marks_at_once(threshold, threshold, link, f"K: {reason}")


NEAR_A_STEP = "Close to a step, but not a step: Linux's RED averages the queue, here with its largest weight, one half."


def step(link: Link, k: int | None = None) -> Candidate:
    """A step: every packet that finds K packets waiting is marked."""
    red_candidate = known.in_linux(Candidate("red", (_own_part(link), *_step_settings(link, k))), link)
    return replace(red_candidate, tc_remark=NEAR_A_STEP)


def _wred(link: Link) -> Candidate:
    k = _rack(link).threshold
    reason = f"a ramp around K, from half of it to one and a half; K: {_rack(link).threshold_why}"
    settings = _marks_at_once(k / 2, math.ceil(1.5 * k), link, reason)
    spread = Setting("spread", False, "each packet is marked by itself")
    return Candidate("wred", (_own_part(link), *settings, spread), None, "On a switch: see the manual of its maker.")


def _in_memory(link: Link, inside: Candidate) -> Candidate:
    """A candidate without a buffer of its own, in the shared memory of the whole switch."""
    r = _rack(link)
    memory = {"buffer": f"{r.memory_bytes}B", "alpha": r.alpha}
    own_settings = tuple(s for s in inside.settings if s.name != "buffer")
    reason = (
        f"a queue may take {r.alpha:g} times what is free of the switch's {r.memory_bytes / 1e6:.3g} MB (Choudhury and "
        "Hahne 1998)"
    )
    shared_buffer = Setting("buffer", "unlimited", reason)
    return Candidate(
        inside.name, (shared_buffer, *own_settings), None, "A switch has such a memory; Linux does not.", switch=memory
    )


def _shared(link: Link) -> Candidate:
    return _in_memory(link, known.candidate("droptail", link))


def _shared_step(link: Link) -> Candidate:
    return _in_memory(link, step(link))


def _codel(link: Link) -> Candidate:
    return replace(known.candidate("codel", link), where=SOFTWARE)


def _exactly(t: float) -> str:
    """A time as a scenario takes it: times of a rack are a few microseconds."""
    return f"{t * 1e6:.6g}us"


def _dualpi2(link: Link) -> Candidate:
    rtt, step_s = link.longest_rtt_s, _rack(link).threshold * link.packet_s
    update = max(rtt / 3, 10e-6)
    gains = "RFC 9332 appendix A.1 for the longest round trip"
    at_step = f"a step at the time that K packets take; K: {_rack(link).threshold_why}"
    settings: list[tuple[str, Any, str]] = [
        ("target", _exactly(max(rtt, step_s)), "the round trip; only classic senders meet it"),
        ("update_interval", _exactly(update), gains),
        ("alpha", round(0.1 * update / rtt**2, 6), gains),
        ("beta", round(0.3 / rtt, 6), gains),
        ("l_min", _exactly(step_s), at_step),
        ("l_max", _exactly(step_s), at_step),
    ]
    settings_made = (_own_part(link), *(Setting(*s) for s in settings))
    return replace(known.in_linux(Candidate("dualpi2", settings_made), link), where=SOFTWARE)


#: The default candidates for a port of a rack, in this order.
CANDIDATES: dict[str, Callable[[Link], Candidate]] = {
    "droptail": lambda link: known.candidate("droptail", link),
    "step": step,
    "wred": _wred,
    "shared": _shared,
    "shared-step": _shared_step,
    "codel": _codel,
    "dualpi2": _dualpi2,
}

#: Thresholds of the sweep, as multiples of K.
SWEEP = (0.1, 0.25, 0.5, 1.0, 1.5)


def sweep(link: Link) -> dict[int, Candidate]:
    """A step at thresholds around K."""
    k = _rack(link).threshold
    return {n: step(link, n) for n in sorted({max(1, round(k * x)) for x in SWEEP})}
