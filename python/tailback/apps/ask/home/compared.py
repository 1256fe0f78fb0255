"""The answer for a home line: the question, the runs and the ranking, with methods that show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tailback.apps.ask.answer import Answer
from tailback.apps.ask.home.candidates import MODEM, HomeCandidate, setup
from tailback.apps.ask.home.grade import grade
from tailback.apps.ask.home.line import HomeLine, Share
from tailback.apps.ask.home.measures import MEASURES, HomeMeasure, HomeRun
from tailback.apps.ask.home.phases import BOTH, Timeline
from tailback.apps.ask.ranking import widened
from tailback.core import stats
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.linux.openwrt import Sqm, sqm
from tailback.linux.shaper import Lines, Setup, lines


@dataclass(frozen=True)
class HomeComparison(Answer[HomeMeasure]):
    """The comparison of the modem alone with shapers at home."""

    line: HomeLine
    times: Timeline
    candidates: Mapping[str, HomeCandidate]
    #: The scenario of each candidate, as a dict.
    scenarios: Mapping[str, Mapping[str, Any]]
    runs: Mapping[str, Sequence[HomeRun]] = field(repr=False)
    #: The candidate with a shaper that comes first.
    best: str
    #: Runs at other shares of the line's rate, by share; empty in an interrupted answer.
    shares: Mapping[Share, Sequence[HomeRun]] = field(repr=False)
    #: The candidate of the runs at other shares.
    shares_of: str = ""
    command: str = ""

    def estimate(self, measure: str, name: str) -> stats.Mean:
        return self.ranking.estimate(measure, name)

    def grade(self, name: str) -> str:
        """The grade of the mean latency that download and upload add, over seeds, plus half of the delay that the
        medium may add."""
        return grade(self.added(name) + self.line.medium.span_s / 2)

    @property
    def settled(self) -> bool:
        """Whether more seeds would change neither the first place nor a grade."""
        added_latencies = [self.graded(name) for name in self.runs]
        grades = all(grade(e.mean - e.half_width) == grade(e.mean + e.half_width) for e in added_latencies)
        return grades and self.ranking.first_is_clear([MODEM])

    def graded(self, name: str) -> stats.Mean:
        """The latency that sets the grade, with its interval over seeds and the delay that the medium may add."""
        return widened(stats.estimate([run.graded for run in self.runs[name]]), self.line.medium.span_s / 2)

    def added(self, name: str) -> float:
        return stats.mean(run.graded for run in self.runs[name])

    def added_at(self, share: Share) -> float:
        return stats.mean(run.graded for run in self.shares[share])

    def delivered(self, runs: Sequence[HomeRun]) -> float:
        """The share of the line's rate that TCP delivers: the mean over the loaded directions."""
        loaded_values = [m.value(run) for run in runs for m in MEASURES if m.loads]
        return stats.mean(x for x in loaded_values if not math.isnan(x))

    @property
    def nearest_share(self) -> Share:
        """The share in the table that is nearest to the chosen one."""
        share = self.line.share
        return min(self.shares, key=lambda s: abs(s.down - share.down) + abs(s.up - share.up))

    def setup(self, name: str) -> Setup | None:
        """The setup of the lines; None for the modem alone, and for a class without a declaration for Linux."""
        return setup(self.candidates[name], self.line)

    def lines(self, name: str) -> Lines | None:
        """The lines to paste on Linux."""
        setup = self.setup(name)
        return None if setup is None else lines(setup)

    def sqm(self, name: str) -> Sqm | None:
        """The block to paste on OpenWrt."""
        setup = self.setup(name)
        return None if setup is None else sqm(setup)

    @checked
    def text(self, width: int | None = None) -> str:
        """The answer for a terminal."""
        from tailback.apps.ask.home.text import text

        return text(self, check.width(width))

    def first_text(self) -> str:
        from tailback.apps.ask.home.text import first

        return first(self)

    def page(self, folder: Path, kinds: Sequence[str]) -> Path:
        from tailback.apps.ask.home.page import write

        return write(self, folder, kinds)

    def document(self) -> dict[str, Any]:
        line, ranking = self.line, self.ranking
        # Runs at other shares have no phase with both loads.
        shown_measures = [m for m in ranking.measures if not (m.both and BOTH in self.times)]
        return {
            "command": self.command,
            "line": {
                **{k: v for k, v in asdict(line).items() if k not in ("framing", "share", "shares", "varies")},
                "varies": None if line.varies is None else line.varies.title,
                "share_down": line.share.down,
                "share_up": line.share.up,
                "link": line.framing.link,
                "framing": line.framing.simulated(),
            },
            "phases": [asdict(p) for p in self.times.phases],
            "duration_s": self.times.duration_s,
            "ranking": [
                self._place(p.queue) | {"rank": p.rank, "better": p.better, "worse": p.worse} for p in ranking.places
            ],
            "best": self.best,
            "shares_of": self.shares_of,
            "shares": [
                {
                    "share_down": share.down,
                    "share_up": share.up,
                    "added_s": self.added_at(share),
                    **{m.name: stats.mean(m.value(run) for run in runs) for m in shown_measures},
                }
                for share, runs in self.shares.items()
            ],
        }

    def _place(self, name: str) -> dict[str, Any]:
        lines, block, candidate = self.lines(name), self.sqm(name), self.candidates[name]
        return {
            "queue": name,
            "shaped": name != MODEM,
            "grade": self.grade(name),
            "added_s": self.added(name),
            **self.means(name),
            "parameters": {"up": dict(candidate.up), "down": dict(candidate.down)},
            "why": dict(candidate.why),
            "tc": None if lines is None else lines.commands,
            "undo": None if lines is None else [one.text for one in lines.undo],
            "sqm": None if block is None else block.block,
        }

    def __repr__(self) -> str:
        return self.text()
