"""Further settings under which a line is tested: the profile `linux`, and each of its keys inverted once.

A line keeps the settings that its sentence presupposes, such as a minimum timeout of one second without probes. Other
needs of its dialogue, such as SACK reports, decide whether such a setting applies to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tailback.apps.conformance.dialogue import PAYLOAD
from tailback.apps.conformance.lines import Dialogue
from tailback.apps.conformance.ours import BASE, LINUX_FLOOR, OurSender
from tailback.apps.conformance.run import DIFFERS, FAILS, HOLDS, SKIPPED, LineVerdict, accurate, facts, spared, try_line


@dataclass(frozen=True)
class Way:
    """Parameters of `tcp` above those of a profile, and below those of a line."""

    name: str
    #: The inverted parameter.
    key: str = ""
    value: Any = None
    linux: bool = True

    def settings(self, control: str) -> dict[str, Any]:
        if not self.linux:
            return dict(BASE)
        overrides = {self.key: self.value} if self.key else {}
        if self.key == "ecn":
            overrides = {"ecn": "off" if facts(control).get("marks") == "needs" else "on"}
        if self.key == "variant":
            overrides["dsack"] = False
        return {"profile": "linux", "payload": f"{PAYLOAD}B", **overrides}


WAYS = (
    Way("default", linux=False),
    Way("linux"),
    Way("no stamps", "timestamps", False),
    Way("no SACK", "variant", "newreno"),
    Way("ECN turned", "ecn"),
    Way("no delayed ACKs", "delayed_ack", 1),
)


def presupposed(line: Dialogue) -> dict[str, Any]:
    """The parameters that a line's sentence needs under a profile, unless the line sets them."""
    own_settings = line.table.tcp
    by_time = own_settings.get("loss") == "rack"
    return {
        "min_rto": "200ms" if line.table.default_timer else LINUX_FLOOR,
        "loss": "dupthresh",
        "tlp": by_time,
        "frto": False,
    }


def not_asked(line: Dialogue, way: Way) -> str:
    """The reason why such settings do not apply to a line; empty if they apply."""
    own_settings = line.table.tcp
    if way.key in own_settings:
        return f"the line is about {way.key} = {str(own_settings[way.key]).lower()}"
    if way.key == "variant" and any(step.reports for step in line.steps):
        return "its ACKs report by SACK"
    if way.key == "variant" and own_settings.get("loss") == "rack":
        return "RACK needs SACK (RFC 8985 section 3.1)"
    has_stamps = way.linux and way.key != "timestamps"
    return line.table.not_with_stamps if has_stamps else ""


def try_ways(lines: Iterable[Dialogue], control: str) -> list[dict[str, LineVerdict]]:
    """The verdicts of all lines for a control, by the name of the settings."""
    return [
        {way.name: _try(line, way, control) for way in WAYS}
        for line in lines
        if line.is_for(control) and not spared(line, facts(control))
    ]


def _try(line: Dialogue, way: Way, control: str) -> LineVerdict:
    if why := not_asked(line, way):
        return LineVerdict(line, SKIPPED, why)
    overrides: Mapping[str, Any] = presupposed(line) if way.linux else {}
    subject = OurSender(
        {**overrides, "congestion": control, **line.table.tcp}, line.table.lost_syns, base=way.settings(control)
    )
    failure = try_line(line, subject, accurate(control))
    if failure and way.linux and line.table.kernel.differs:
        return LineVerdict(line, DIFFERS, line.table.kernel.differs)
    return LineVerdict(line, FAILS if failure else HOLDS, failure)
