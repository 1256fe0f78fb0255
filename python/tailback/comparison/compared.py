"""What was asked of a link, what was run, and how its disciplines rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tailback import _core
from tailback.comparison import measures
from tailback.comparison.candidates import Candidate
from tailback.comparison.link import Link
from tailback.comparison.ranking import Ranking
from tailback.comparison.traffic import Times


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
