"""How the rate of a home line varies during a run: by a period, or after a trace file.

The periods are sketches of our own, not measurements: a cable in the evening that its neighbours share, a cell whose
radio changes several times a second, and a satellite that is replaced by another each 15 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tailback.apps.ask.given import LinkError

if TYPE_CHECKING:
    from tailback.apps.ask.home.line import HomeLine


@dataclass(frozen=True)
class Period:
    """Shares of the line's rate, one after the other, and how long each holds."""

    title: str
    step_s: float
    shares: Sequence[float]


PERIODS: Mapping[str, Period] = MappingProxyType(
    {
        "evening": Period(
            "a cable in the evening: 60 to 100 % of the rate, another share every 2 s",
            2.0,
            (1.0, 0.85, 0.7, 0.6, 0.75, 0.9, 0.65, 0.8),
        ),
        "lte": Period(
            "a cell: 30 to 100 % of the rate, another share every 0.2 s",
            0.2,
            (0.7, 0.9, 1.0, 0.8, 0.55, 0.4, 0.6, 0.3, 0.45, 0.75, 0.95, 0.65, 0.35, 0.5, 0.85),
        ),
        "satellite": Period(
            "satellites in low orbit: another one each 15 s, with 55 to 100 % of the rate",
            15.0,
            (1.0, 0.7, 0.85, 0.55),
        ),
    }
)


def varying(given: str | None) -> str | None:
    """The name of a period, or a trace file that is there. Raises `LinkError`."""
    if given is None or given in PERIODS or Path(given).is_file():
        return given
    raise LinkError(
        f"varies = {given}: give {', '.join(PERIODS)}, or a CSV file with the columns time_s and rate_mbps, "
        "which the download follows"
    )


def changes(line: HomeLine, duration_s: float) -> dict[str, Any]:
    """The tables `[change.NAME]` of the scenario."""
    if line.varies is None:
        return {}
    period = PERIODS.get(line.varies)
    if period is None:
        return {"line-down": {"link": "line.reverse", "trace": str(Path(line.varies).resolve())}}
    made = {}
    for name, link, rate in (("line-down", "line.reverse", line.down_bps), ("line-up", "line", line.up_bps)):
        rates = [f"{share * rate:.0f}bps" for share in period.shares]
        made[name] = {"link": link, "rate": rates, "every": f"{round(period.step_s * 1e9)}ns", "from": "0s"}
    return made


def said(line: HomeLine) -> str:
    """How the rate varies, as a sentence; empty where it does not."""
    if line.varies is None:
        return ""
    period = PERIODS.get(line.varies)
    if period is None:
        return f"The download's rate follows {line.varies}; the shaper keeps its share of {line.down_bps / 1e6:g} Mbps."
    return f"The line's rate varies: {period.title} (a sketch, not a measurement). The shaper's rate stays."
