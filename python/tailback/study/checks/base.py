"""The fields of every kind of check and of published number."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np

from tailback.core.verdict import ARITHMETIC, SENTENCE, Finding, Verdict
from tailback.study.data.files import Table, Where
from tailback.study.model import Runs
from tailback.study.samples import Samples

#: The labels of a point by axis, without its discipline.
Place = dict[str, str]
Decided = TypeVar("Decided")


class Evidence(Protocol):
    """The part of the judge (`study/judge.py`) that a check uses: measured values, and names for its messages."""

    @property
    def samples(self) -> Samples: ...

    def runs(self, name: str) -> Runs: ...

    def title(self, discipline: str) -> str: ...

    def places(self, c: Measured) -> list[Place]: ...

    def values(
        self, c: Measured, discipline: str, where: Place | Sequence[Place], klass: str | None = None
    ) -> np.ndarray | None: ...

    def where_text(self, where: Mapping[str, Any], runs: str) -> str: ...

    def separately(self, decided: Iterable[Decided]) -> Iterator[Decided]: ...

    def statement(self, s: Statement) -> Verdict: ...


class NeededMeasure(NamedTuple):
    """A number that must be measured on every run of a set."""

    runs: str
    class_: str
    measure: str


class Check(Table, kw_only=True, frozen=True):
    """A relation that a statement asks for."""

    @abc.abstractmethod
    def decide(self, judge: Evidence) -> list[Finding]:
        """Compares the relation with the samples. Returns a finding for each place of the check."""

    def asks(self) -> list[NeededMeasure]:
        return []

    def kind(self, judge: Evidence) -> str:
        """The kind of verdict that the check makes."""
        return SENTENCE

    def without_places(self) -> object:
        """The relation without its places and disciplines. Checks for which this is equal are one relation."""
        return self


class Measured(Check, kw_only=True, frozen=True):
    """A check of a quantity that was measured, of one discipline or of each of several."""

    runs: str
    measure: str
    class_: str = msgspec.field(name="class", default="all")
    where: Where = {}
    #: The half of the sentence to which the check belongs, if both halves have the same relation at several places.
    #: Each half has to hold.
    half: str = ""
    #: The word of the source that gives the limit of the check (`study/words.py`).
    word: str = ""

    def asks(self) -> list[NeededMeasure]:
        return [NeededMeasure(self.runs, self.class_, self.measure)]

    def without_places(self) -> object:
        """The check without its places: set of runs, points, class of flows and disciplines."""
        of_nothing = {"of": ""} if hasattr(self, "of") else {}
        return msgspec.structs.replace(self, runs="", class_="", where={}, **of_nothing)

    def kind(self, judge: Evidence) -> str:
        return ARITHMETIC if judge.runs(self.runs).arithmetic else SENTENCE

    def one_seed(self, judge: Evidence, seeds: int) -> bool:
        """Whether the check depends on a single run of a random experiment."""
        return seeds == 1 and judge.runs(self.runs).random


class Everywhere(Measured, kw_only=True, frozen=True):
    """A check of disciplines at every chosen place, or, with `average`, at the mean of these places."""

    of: str | list[str]
    average: bool = False

    def everywhere(self, judge: Evidence) -> Iterator[tuple[str, Place | Sequence[Place]]]:
        """Each discipline at each place, or over all places. The judge gives a finding for each of these."""
        yield from judge.separately(self.asked(judge))

    def asked(self, judge: Evidence) -> Iterator[tuple[str, Place | Sequence[Place]]]:
        """Each discipline at each place, without findings, because another check gives these."""
        places = judge.places(self)
        places_asked: Sequence[Place | Sequence[Place]] = [places] if self.average else places
        yield from ((discipline, w) for discipline in each(self.of) for w in places_asked)


class Published(Table, kw_only=True, frozen=True):
    """A number of the source, and how far from it a measurement may lie."""

    id: str
    experiment: str
    runs: str
    #: The discipline or pair that has the number.
    queue: str
    gate: bool = True
    explanation: str = ""

    @abc.abstractmethod
    def verdict(self, judge: Evidence) -> Verdict:
        """Compares the number with the samples."""

    def asks(self) -> list[NeededMeasure]:
        return []


@dataclass(frozen=True)
class Statement:
    """A published sentence with the checks that decide it."""

    id: str
    sentence: str
    source: str
    experiment: str
    gate: bool
    explanation: str
    note: str
    why_not: str
    checks: tuple[Check, ...]
    #: If the statement was read anew after a look at results: the source's words, and the checks as they were first
    #: written.
    words: str = ""
    first: tuple[Check, ...] = ()
    #: A part of the statement's places, in words, and the checks of that part. The sentence leans if only these hold.
    part: str = ""
    part_checks: tuple[Check, ...] = ()
    #: The statements that this one tests under another reading.
    reading_of: tuple[str, ...] = ()
    #: The reason why the checks have their own limits, although the sentence has a word of the table of words.
    own_limit: str = ""
    #: The checks by a second reading, if the sentence was read anew twice.
    second: tuple[Check, ...] = ()

    def asks(self) -> list[NeededMeasure]:
        return [x for c in (*self.checks, *self.first, *self.second, *self.part_checks) for x in c.asks()]


def each(of: str | list[str]) -> list[str]:
    """The list of one discipline or several."""
    return [of] if isinstance(of, str) else of
