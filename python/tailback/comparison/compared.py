"""What was asked of a link, what was run, how its disciplines rank; and showing it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.comparison import measures
from tailback.comparison.candidates import Candidate
from tailback.comparison.link import Link
from tailback.comparison.ranking import CONFIDENCE, Ranking
from tailback.comparison.traffic import Times
from tailback.text import given as check
from tailback.text.arguments import checked
from tailback.text.json_text import clean

#: What the JSON document says of a link.
LINK = ("rate_bps", "rtts_s", "flows", "traffic", "senders", "packet_bytes", "buffer_bytes", "ecn")


@dataclass(frozen=True)
class Comparison:
    """Disciplines side by side on a link."""

    link: Link
    times: Times
    candidates: Mapping[str, Candidate]
    ranking: Ranking[measures.QueueMeasure]
    seeds: tuple[int, ...]
    #: The scenario of each discipline, without the unresponsive flow.
    scenarios: Mapping[str, _core.Scenario]
    runs: Mapping[str, Sequence[measures.Seed]] = field(repr=False, default_factory=dict)
    command: str = ""
    #: Runs of a step at thresholds around the default, for the page.
    sweep: Mapping[int, Sequence[measures.Seed]] = field(repr=False, default_factory=dict)

    @checked
    def text(self, width: int | None = None, *, opened: bool = False) -> str:
        """The answer for a terminal; without the question if that has been said."""
        from tailback.comparison.text import text

        return text(self, check.width(width), opened=opened)

    @checked
    def write_page(self, folder: str | os.PathLike[str]) -> Path:
        """One HTML file that needs nothing else, and its figures beside it; gives back its path."""
        from tailback.comparison.page import write

        return write(self, Path(folder))

    @property
    def tables(self) -> dict[str, _core.Table]:
        """What the page shows, as tables for data frames: `places`, a row for each candidate with the mean of each
        measure and half of its 95 % interval, and `differences` between candidates."""
        from tailback.comparison.frames import tables

        return tables(self.ranking)

    def to_dict(self) -> dict[str, Any]:
        """What `tailback compare --json` prints."""
        r, link = self.ranking, self.link
        estimates = {m.name: {q: r.estimate(m.name, q) for q in self.candidates} for m in r.measures}
        document = {
            "version": _core.__version__,
            "command": self.command,
            "link": {
                **{name: getattr(link, name) for name in LINK},
                "unresponsive_bps": link.unresponsive_bps if "unresponsive" in link.traffic else None,
                "notes": link.notes,
                "threshold_packets": link.rack.threshold if link.rack else None,
            },
            "duration_s": self.times.duration_s,
            "warmup_s": self.times.warmup_s,
            "seeds": self.seeds,
            "confidence_of_better": CONFIDENCE,
            "measures": [
                {
                    "name": m.name,
                    "title": m.title,
                    "unit": "1" if m.unit == "%" else m.unit,
                    "better": m.better,
                    "meaning": m.doc,
                }
                for m in r.measures
            ],
            "ranking": [
                {
                    "rank": p.rank,
                    "queue": p.queue,
                    "better": p.better,
                    "worse": p.worse,
                    "of": p.of,
                    "values": {m.name: estimates[m.name][p.queue].mean for m in r.measures},
                    "ci95": {m.name: estimates[m.name][p.queue].half_width for m in r.measures},
                    "unbeaten": [m.name for m in r.measures if p.queue in r.unbeaten(m.name)],
                    "parameters": {s.name: s.value for s in self.candidates[p.queue].settings},
                    "why": {s.name: s.why for s in self.candidates[p.queue].settings},
                    "tc": self.candidates[p.queue].tc,
                    "where": self.candidates[p.queue].where or None,
                }
                for p in r.places
            ],
            "differences": [{**asdict(d), "better": d.better or None} for d in r.differences],
        }
        cleaned: dict[str, Any] = clean(document)
        return cleaned

    def __repr__(self) -> str:
        return self.text()
