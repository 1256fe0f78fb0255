"""Writes the line of a measurement as a scenario: rates, round trip, queue and load.

A setting that the file does not give is estimated from the measured values, and a comment says so. The load begins when
the results begin to count, so that `tailback report` compares the values under load.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tailback import _core
from tailback.linux import reading as tc
from tailback.linux import units
from tailback.readers.measured.measurement import Measurement, Role, amount
from tailback.readers.reading import Next, Written

#: TCP's payload in an Ethernet frame, with timestamps.
_PAYLOAD_SHARE = 1448 / 1538
#: The bytes of a ping: 56 bytes of data with the headers of ICMP and IP. The interval of pings if the file does not
#: give one.
_PING_BYTES, _PING_S = 84, 0.2
#: The longest run that is written, and the length for a measurement without one.
_LONGEST_S, _USUAL_S = 300.0, 60.0
_IDLE_S = 5.0
#: Bytes of preamble, header, check sequence and gap of Ethernet (IEEE 802.3), and of the smallest frame with them.
_FRAME_BYTES, _LEAST_FRAME_BYTES = 38, 84
#: The buffer in front of a line whose queue is unknown, in seconds, and its smallest size in bytes.
_BUFFER_S, _LEAST_BUFFER_BYTES = 0.1, 15_000


@dataclass(frozen=True)
class _Line:
    """Rates down and up and the round trip, with the source of each."""

    down_bps: float
    up_bps: float
    rtt_s: float
    #: Empty if the file does not give it.
    queue: str
    notes: tuple[str, ...]


def written(found: Measurement) -> Written | None:
    """A scenario of the line and its load; None if no rate was measured."""
    if not (found.of(Role.DOWN) or found.of(Role.UP)):
        return None
    return Written("a scenario of the measured line and its load", lambda: _text(found))


def next_commands(found: Measurement) -> tuple[Next, ...]:
    if written(found) is None:
        return (Next("tailback report FILE DIR", "compare with a run that has pings (echo = true)"),)
    return (
        Next("tailback read FILE --write line.toml", "write a scenario of this line and its load"),
        Next("tailback run line.toml --replications 5 --out out/line", "run it"),
        Next("tailback report FILE out/line", "compare the measurement with the simulation"),
    )


def _text(found: Measurement) -> str:
    line = _line(found)
    length = found.length_s if 1 <= found.length_s <= _LONGEST_S else _USUAL_S
    toml_lines = [f"# The line that {found.program} measured, from the data in its file."]
    toml_lines += [f"# {note}" for note in line.notes]
    toml_lines += [f'name = "{found.program} beside its simulation"', f'duration = "{length + _IDLE_S:g}s"']
    toml_lines += [f'warmup = "{_IDLE_S:g}s"', "", "[link.line]", 'from = "home"', 'to = "server"']
    # The link is ten times as fast as the shapers, so that only they delay the frames.
    toml_lines += [
        f'rate = "{10 * max(line.up_bps, line.down_bps):.0f}bps"',
        f'delay = "{line.rtt_s / 2 * 1e6:.0f}us"',
    ]
    toml_lines += [
        f"queue = {_framed(line.up_bps, line.queue)}",
        f"reverse_queue = {_framed(line.down_bps, line.queue)}",
    ]
    if found.of(Role.PING):
        gap = _ping_gap(found)
        toml_lines += ["", "[flows.ping]", 'transport = { kind = "udp", echo = true }']
        toml_lines += [f'traffic = {{ kind = "cbr", rate = "{_PING_BYTES * 8 / gap:.0f}bps" }}']
        toml_lines += [
            f'packet_size = "{_PING_BYTES}B"',
            "",
            "[record.ping]",
            'flows = "ping"',
            'probes = ["round_trip"]',
        ]
        toml_lines += ["on_change = true"]
    control = _control(found)
    for role, ends in ((Role.UP, ("home", "server")), (Role.DOWN, ("server", "home"))):
        count = _flows(found, role)
        if count:
            toml_lines += ["", f"[flows.{role.value}]", f'from = "{ends[0]}"', f'to = "{ends[1]}"', f"count = {count}"]
            toml_lines += [f'tcp = {{ profile = "linux",{control} payload = "1448B" }}']
            toml_lines += [f'start = {{ kind = "uniform", from = "{_IDLE_S:g}s", to = "{_IDLE_S + 0.2:g}s" }}']
    return "\n".join(toml_lines) + "\n"


def _framed(rate_bps: float, queue: str) -> str:
    frame = f'overhead = "{_FRAME_BYTES}B", mpu = "{_LEAST_FRAME_BYTES}B"'
    if not queue:
        queue = f'{{ kind = "droptail", buffer = "{max(_LEAST_BUFFER_BYTES, rate_bps * _BUFFER_S / 8):.0f}B" }}'
    return f'{{ kind = "htb", rate = "{rate_bps:.0f}bps", {frame}, queue = {queue} }}'


def _line(found: Measurement) -> _Line:
    notes = []
    down_bps, up_bps = _rates(found.settings.get("rate", ""))
    for role, given_bps in ((Role.DOWN, down_bps), (Role.UP, up_bps)):
        if given_bps:
            notes.append(f"{role.value}: {amount(given_bps, 'bit/s')}, by the file's own settings.")
    measured_bps = {role: found.rate(role) / _PAYLOAD_SHARE for role in (Role.DOWN, Role.UP)}
    fastest = max((r for r in measured_bps.values() if r > 0), default=1e6)
    rates_bps = []
    for role, given_bps in ((Role.DOWN, down_bps), (Role.UP, up_bps)):
        rate = given_bps or (measured_bps[role] if measured_bps[role] > 0 else fastest)
        if not given_bps:
            notes.append(f"assumed: {role.value} {amount(rate, 'bit/s')}, the measured rate with its headers.")
        rates_bps.append(max(1e3, rate))
    rtt = _time(found.settings.get("rtt", ""))
    if rtt:
        notes.append(f"Round trip {amount(rtt, 's')}, by the file's own settings.")
    else:
        pings = [float(s.values.min()) for s in found.of(Role.PING) if len(s.values)]
        rtt = found.idle_s if found.idle_s > 0 else min(pings, default=0.03)
        notes.append(f"assumed: round trip {amount(rtt, 's')}, {'the shortest ping' if pings else 'a usual one'}.")
    notes.append(f"assumed: Ethernet, {_FRAME_BYTES} B around each packet.")
    queue = _queue(found.settings.get("queue", ""), notes)
    return _Line(rates_bps[0], rates_bps[1], min(max(rtt, 1e-6), 10.0), queue, tuple(notes))


def _queue(name: str, notes: list[str]) -> str:
    if name:
        try:
            kind, settings = tc.read(name)
            notes.append(f"Queue {name}, by the file's own settings; other parameters have their defaults.")
            pairs = [f'kind = "{kind}"', *(f"{k} = {_value(v)}" for k, v in settings.items())]
            return "{ " + ", ".join(pairs) + " }"
        except units.TcError:
            notes.append(f"The queue {name} has no model here.")
    notes.append("assumed: a drop-tail buffer of 100 ms in front of the line.")
    return ""


def _value(v: object) -> str:
    return str(v).lower() if isinstance(v, bool) else f'"{v}"' if isinstance(v, str) else str(v)


def _rates(text: str) -> tuple[float, float]:
    """The rates down and up of `100Mbit/20Mbit`. One rate alone is for both directions."""
    rate_texts = text.split("/")[:2]
    rates = []
    for part in rate_texts:
        try:
            rates.append(units.rate(re.sub(r"(?i)mbps$", "mbit", part)))
        except units.TcError:
            return 0.0, 0.0
    return (rates[0], rates[-1]) if rates else (0.0, 0.0)


def _time(text: str) -> float:
    try:
        return units.time(text) if text and not text.isdigit() else 0.0
    except units.TcError:
        return 0.0


def _flows(found: Measurement, role: Role) -> int:
    """The number of flows in a direction."""
    series = found.of(role)
    part_series = [s for s in series if not s.whole]
    flow_count = found.settings.get(f"{role.value} flows", "")
    return int(flow_count) if flow_count.isdigit() else len(part_series) or len(series)


def _ping_gap(found: Measurement) -> float:
    times = found.of(Role.PING)[0].times_s
    gap = float((times[-1] - times[0]) / (len(times) - 1)) if len(times) > 1 else math.nan
    return gap if 1e-3 <= gap <= 10 else _PING_S


def _control(found: Measurement) -> str:
    """The congestion control as a key of the scenario; empty if the file does not give it, since the profile has
    Linux's default."""
    name = found.settings.get("control", "")
    return f' congestion = "{name}",' if name and _core.control_facts(name) is not None else ""
