"""The answer to any question: ranked candidates with their runs, as text, page and JSON."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic

from tailback import _core
from tailback.apps.ask.ranking import CONFIDENCE, M, QueueDifference, Ranking
from tailback.core.text.arguments import checked
from tailback.core.text.json_text import clean


@dataclass(frozen=True)
class Answer(ABC, Generic[M]):
    """Candidates side by side."""

    ranking: Ranking[M]
    seeds: Sequence[int]

    @abstractmethod
    def page(self, folder: Path, kinds: Sequence[str]) -> Path:
        """Writes the page, and its figures in these formats; returns the page's path."""

    @abstractmethod
    def first_text(self) -> str:
        """The text for a terminal after one seed of each candidate, while further seeds run."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The entries of the JSON document other than measures and differences."""

    @checked
    def write_page(self, folder: str | os.PathLike[str], figures: Sequence[str] = ()) -> Path:
        """Writes one self-contained HTML file, with its figures also as files beside it, and returns its path.
        `figures` gives further formats of these files, `pdf` or `png`."""
        from tailback.show.plots.style import in_page

        return self.page(Path(folder), in_page(figures))

    @property
    def tables(self) -> dict[str, _core.Table]:
        """The contents of the page as tables for data frames. `places` has a row for each candidate, with the mean of
        each measure and half of its 95 % interval; `differences` compares candidates."""
        from tailback.apps.ask.tables import tables

        return tables(self.ranking)

    def to_dict(self) -> dict[str, Any]:
        """The document that the command prints with `--json`."""
        document = self.document() | {
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
                for m in self.ranking.measures
            ],
            "differences": [_said(d) for d in self.ranking.differences],
        }
        cleaned: dict[str, Any] = clean({"version": _core.__version__, **document})
        return cleaned

    def means(self, queue: str) -> dict[str, Any]:
        """The measures of a candidate, as its place in JSON has them."""
        estimates = {m.name: self.ranking.estimate(m.name, queue) for m in self.ranking.measures}
        return {
            "values": {name: e.mean for name, e in estimates.items()},
            "ci95": {name: e.half_width for name, e in estimates.items()},
            "unbeaten": [m.name for m in self.ranking.measures if queue in self.ranking.unbeaten(m.name)],
        }


def _said(d: QueueDifference) -> dict[str, Any]:
    """A difference in JSON."""
    difference = asdict(d) | {"better": d.better or None}
    del difference["seems"]
    return difference
