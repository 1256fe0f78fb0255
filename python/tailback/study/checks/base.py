"""What every kind of check and of published number has."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tailback.study.files import Table, Where
from tailback.study.verdict import Finding, Verdict

if TYPE_CHECKING:
    from tailback.study.judge import Judge


class Asked(NamedTuple):
    """A number that must be measured on every run of a set."""

    runs: str
    class_: str
    measure: str


class Check(Table, kw_only=True, frozen=True):
    """A relation that a statement asks for."""

    @abc.abstractmethod
    def decide(self, judge: Judge) -> list[Finding]:
        """The relation held against the samples, a finding for each place it was asked for."""

    def asks(self) -> list[Asked]:
        return []


class Measured(Check, kw_only=True, frozen=True):
    """A check of a quantity that was measured, of one discipline or of each of several."""

    runs: str
    measure: str
    class_: str = msgspec.field(name="class", default="all")
    where: Where = {}

    def asks(self) -> list[Asked]:
        return [Asked(self.runs, self.class_, self.measure)]


class Published(Table, kw_only=True, frozen=True):
    """A number of the source, and how far from it a measurement may lie."""

    id: str
    experiment: str
    runs: str
    #: The discipline or pair it is about.
    queue: str
    gate: bool = True
    explanation: str = ""

    @abc.abstractmethod
    def verdict(self, judge: Judge) -> Verdict:
        """The number held against the samples."""

    def asks(self) -> list[Asked]:
        return []


def each(of: str | list[str]) -> list[str]:
    """One discipline, or several."""
    return [of] if isinstance(of, str) else of
