"""Reads the results of a speed test: rates as goodput, and round trips on the idle line and under load.

250/40, idle 18, down 240, up 190      Mb/s and ms; `down 240` is the round trip while downloading
250/40, idle 18, down +222, up +172    what is added to the idle one
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from tailback import _core
from tailback.apps.ask.given import LinkError, parsed
from tailback.apps.ask.home import spoken
from tailback.linux.framing import Framing
from tailback.readers import recognise
from tailback.readers.given import unpacked
from tailback.readers.measured.measurement import Measurement, Role
from tailback.readers.reading import ReadError

#: IPv4 and TCP with time stamps, of each packet.
HEADERS = 52
_HINT = 'write it as "250/40, idle 18, down 240, up 190": Mb/s down and up, and round trips in ms'
_TIME = re.compile(r"(idle|ping|rtt|down|download|up|upload)\s*[:=]?\s*(\+?)\s*(\d[\w.]*\s*\w*)", re.IGNORECASE)
_NAMES = {"ping": "idle", "rtt": "idle", "download": "down", "upload": "up"}


@dataclass(frozen=True)
class Measured:
    """A speed test: goodput in bit/s, the idle round trip, and the latency that a load adds, in seconds, if it was
    measured."""

    down_bps: float
    up_bps: float
    idle_s: float
    added_down_s: float | None = None
    added_up_s: float | None = None

    def line_rates(self, framing: Framing, packet: int, counted: bool) -> tuple[float, float]:
        """The rates of the line for this goodput, down and up, in bit/s. With `counted`, the line's framing is
        included; otherwise the rates are those of IP packets."""
        payload = packet - HEADERS
        factor = (framing.on_wire(packet) if counted else packet) / payload
        return self.down_bps * factor, self.up_bps * factor


def measured(text: str) -> Measured:
    """The measurement from a text, or from a file. Raises `LinkError`."""
    statement = _said(text)
    parts = [
        part.strip() for part in re.split(r"[,;\n]+", statement) if part.strip() and not part.lstrip().startswith("#")
    ]
    if not parts:
        raise LinkError(f"measured = {text}: it is empty; {_HINT}")
    rates = re.split(r"\s*/\s*(?=[\d.])", parts[0])
    if len(rates) != 2:
        measurement = _read(statement)
        if measurement is not None:
            return measurement
        raise LinkError(f"measured = {text}: {parts[0]!r} are not rates down/up; {_HINT}")
    down_bps, up_bps = (_rate(rate) for rate in rates)
    times: dict[str, tuple[bool, float]] = {}
    for part in parts[1:]:
        match = _TIME.fullmatch(part)
        if match is None:
            raise LinkError(f"measured = {text}: {part!r} is not understood; {_HINT}")
        name = _NAMES.get(match[1].lower(), match[1].lower())
        if name in times:
            raise LinkError(f"measured = {text}: {name!r} is given twice; {_HINT}")
        times[name] = bool(match[2]), _time(match[3])
    if "idle" not in times:
        raise LinkError(f"measured = {text}: the round trip of the idle line is missing; {_HINT}")
    idle = times["idle"][1]
    added_s = {way: _added(text, way, idle, times.get(way)) for way in ("down", "up")}
    return Measured(down_bps, up_bps, idle, added_s["down"], added_s["up"])


def _read(text: str) -> Measured | None:
    """The measurement as `tailback read` understands it, such as the text of a speed test's page; None if it has no
    round trip."""
    try:
        measurement = recognise.read(unpacked("--measured", BytesIO(text.encode()))).data
    except ReadError:
        return None
    if not isinstance(measurement, Measurement):
        return None
    down_bps, up_bps = measurement.rate(Role.DOWN), measurement.rate(Role.UP)
    pings = {series.name: series.mean for series in measurement.of(Role.PING)}
    if not (down_bps > 0 and up_bps > 0 and measurement.idle_s > 0):
        return None
    loaded_pings = (pings.get(f"ping during {role.value}") for role in (Role.DOWN, Role.UP))
    added_s = [None if p is None else max(0.0, p - measurement.idle_s) for p in loaded_pings]
    return Measured(down_bps, up_bps, measurement.idle_s, *added_s)


def _said(text: str) -> str:
    try:
        may_be_file = "/" not in text[:8] or not re.match(r"\s*\d", text)
        if may_be_file and Path(text).is_file():
            return Path(text).read_text(encoding="utf-8")
        if re.fullmatch(r"[~./]\S*|\S+\.(?:txt|json|csv|log)", text):
            raise LinkError(f"measured = {text}: there is no such file; {_HINT}")
    except LinkError:
        raise
    except (OSError, ValueError) as e:
        raise LinkError(f"measured = {text}: the file cannot be read ({e}); {_HINT}") from e
    return text


def _rate(text: str) -> float:
    bare = re.fullmatch(r"\d+\.?\d*|\.\d+", text)
    return spoken.rate("measured", f"{text}Mbps" if bare else text)


def _time(text: str) -> float:
    bare = re.fullmatch(r"\d+\.?\d*", text.strip())
    return float(parsed("measured", _core.parse_time, f"{text.strip()}ms" if bare else text.replace(" ", "")))


def _added(text: str, way: str, idle_s: float, given: tuple[bool, float] | None) -> float | None:
    if given is None:
        return None
    is_added, seconds = given
    added_s = seconds if is_added else seconds - idle_s
    if added_s < 0:
        raise LinkError(
            f"measured = {text}: {way} {1e3 * seconds:g} ms under load is less than {1e3 * idle_s:g} ms on the idle "
            f"line; if it is what the load adds, write {way} +{1e3 * seconds:g}"
        )
    return added_s
