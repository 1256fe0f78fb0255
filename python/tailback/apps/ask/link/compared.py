"""The answer for a link: the question, the runs and the ranking, with methods that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.apps.ask.answer import Answer
from tailback.apps.ask.link import measures
from tailback.apps.ask.link.candidates import Candidate
from tailback.apps.ask.link.link import Link
from tailback.apps.ask.link.traffic import Times
from tailback.apps.ask.measure import Measure
from tailback.core.text import given as check
from tailback.core.text.arguments import checked

#: The entries of the JSON document about the link.
LINK = ("rate_bps", "rtts_s", "traffic", "senders", "packet_bytes", "buffer_bytes", "ecn")


@dataclass(frozen=True)
class Comparison(Answer[Measure[Link, Any]]):
    """The comparison of disciplines on a link."""

    link: Link
    times: Times
    candidates: Mapping[str, Candidate]
    #: The scenario of each discipline, without the unresponsive flow.
    scenarios: Mapping[str, _core.Scenario]
    #: `Seed` for a link, `FabricSeed` for a fabric.
    runs: Mapping[str, Sequence[Any]] = field(repr=False, default_factory=dict)
    command: str = ""
    #: Runs of a step with thresholds around the default, for the page.
    sweep: Mapping[int, Sequence[measures.Seed]] = field(repr=False, default_factory=dict)

    @checked
    def text(self, width: int | None = None, *, opened: bool = False) -> str:
        """The answer for a terminal, without the question if that was printed before."""
        from tailback.apps.ask.link.text import text

        return text(self, check.width(width), opened=opened)

    def first_text(self) -> str:
        from tailback.apps.ask.link.text import first

        return first(self)

    def page(self, folder: Path, kinds: Sequence[str]) -> Path:
        from tailback.apps.ask.link.page import write

        return write(self, folder, kinds)

    def document(self) -> dict[str, Any]:
        link = self.link
        return {
            "command": self.command,
            "link": {
                **{name: getattr(link, name) for name in LINK},
                "flows": None if link.fabric else link.flows,
                "unresponsive_bps": link.unresponsive_bps if "unresponsive" in link.traffic else None,
                "notes": link.notes,
                "fabric": asdict(link.fabric) if link.fabric else None,
                "threshold_packets": link.rack.threshold if link.rack else None,
            },
            "duration_s": self.times.duration_s,
            "warmup_s": self.times.warmup_s,
            "ranking": [
                {
                    "rank": p.rank,
                    "queue": p.queue,
                    "better": p.better,
                    "worse": p.worse,
                    "of": p.of,
                    **self.means(p.queue),
                    "parameters": {s.name: s.value for s in self.candidates[p.queue].settings},
                    "why": {s.name: s.why for s in self.candidates[p.queue].settings},
                    "tc": self.candidates[p.queue].tc,
                    "tc_production": self._production(p.queue),
                    "where": self.candidates[p.queue].where or None,
                }
                for p in self.ranking.places
            ],
        }

    def _production(self, queue: str) -> tuple[str, ...] | None:
        """The lines to paste; None for a switch, and for a discipline that Linux does not have."""
        from tailback.apps.ask.link.production import lines

        paste = None if self.link.rack is not None else lines(self.candidates[queue], self.link)
        return None if paste is None else paste.commands

    def __repr__(self) -> str:
        return self.text()
