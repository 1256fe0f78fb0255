"""A study in memory: its disciplines, sets of runs, experiments, published numbers and statements."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.study.checks.base import Published, Statement
from tailback.study.data.files import About, Discipline, Pair
from tailback.study.errors import StudyError
from tailback.study.model import Experiment, Runs

if TYPE_CHECKING:
    from tailback.study.own import Code


@dataclass
class Study:
    id: str
    path: Path
    about: About
    #: The study's own code.
    code: Code
    disciplines: dict[str, Discipline]
    runs: dict[str, Runs]
    experiments: list[Experiment]
    published: list[Published]
    statements: list[Statement]
    #: Readings that were chosen after a look at results: id of a row that depends on one -> the reading.
    chosen_after: dict[str, str] = field(default_factory=dict)
    #: Disciplines that the caller has exchanged: name -> queue table. Reports name them.
    replaced: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Combinations that are used in place of a discipline: name -> title, discipline, and a table for each role.
    pairs: dict[str, Pair] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.about.title

    def discipline_title(self, name: str) -> str:
        if name in self.pairs:
            queue = self.pairs[name].queue
            return self.pairs[name].title + (f" ({queue} replaced)" if queue in self.replaced else "")
        title = self.disciplines[name].title if name in self.disciplines else name
        return f"{title} (replaced)" if name in self.replaced else title

    def chosen(self, row: str) -> str:
        """The reading on which a row depends, if it was chosen after a look at results."""
        return self.chosen_after.get(row, "")

    def experiment(self, name: str) -> Experiment:
        """An experiment by its id, an earlier id, or the source's own name for it, in upper or lower case."""
        for e in self.experiments:
            if name.lower() in (x.lower() for x in (e.id, *e.aliases, e.item)):
                return e
        names = {n.lower(): e.id for e in self.experiments for n in (*e.aliases, e.item, e.id) if n}
        near = difflib.get_close_matches(name.lower(), names, 5, 0.6)
        few = list(dict.fromkeys(names[n] for n in near))[:3] or [e.id for e in self.experiments[:3]]
        hint = f"did you mean {' or '.join(few)}?" if near else f"it has {', '.join(few)} ...;"
        raise StudyError(f'study {self.id} has no experiment "{name}"; {hint} `tailback reproduce --list` lists all')

    def needs(self, experiments: list[Experiment]) -> dict[str, list[dict[str, Any]]]:
        """The sets of runs that some experiments read, with the conditions of the needed points."""
        places_of_runs: dict[str, list[dict[str, Any]]] = {}
        for e in experiments:
            for name in e.runs:
                places_of_runs.setdefault(name, []).append(e.where)
        return places_of_runs
