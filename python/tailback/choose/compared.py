"""What was asked of a link, what was run, and how its disciplines rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tailback import _core
from tailback.choose import measures
from tailback.choose.candidates import Candidate
from tailback.choose.link import Link
from tailback.choose.ranking import Ranking
from tailback.choose.traffic import Times


@dataclass(frozen=True)
class Compared:
    """Disciplines side by side on a link."""

    link: Link
    times: Times
    candidates: Mapping[str, Candidate]
    ranking: Ranking
    seeds: tuple[int, ...]
    #: The scenario of each discipline, without the unresponsive flow.
    scenarios: Mapping[str, _core.Scenario]
    runs: Mapping[str, Sequence[measures.Seed]] = field(repr=False, default_factory=dict)
    command: str = ""
