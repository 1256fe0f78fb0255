"""A quantity by which candidates are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

#: Types of a question, and of the runs of a candidate with one seed.
Q = TypeVar("Q")
R = TypeVar("R")


@dataclass(frozen=True)
class Measure(Generic[Q, R]):
    """A measure, declared once for the terminal's table, the page, the JSON document and the ranking."""

    name: str
    #: The title in sentences; with a capital it is a header of the page.
    title: str
    #: The column's header in the terminal, and the unit for `tailback.core.results.summary.scale`.
    head: str
    unit: str
    #: Whether larger or smaller is better; None if it is reported but not ranked.
    better: Literal["more", "less"] | None
    doc: str
    #: The value from the runs of a candidate with one seed.
    value: Callable[[R], float]
    #: A smaller difference does not matter, even if it is significant.
    least: float = 0.0
    #: Whether the question has the traffic that this quantity measures.
    asked: Callable[[Q], bool] = lambda question: True
    #: Half of the range of an effect that the model leaves out. This half is added to a mean and to the half-width of
    #: its interval.
    unsure: Callable[[Q], float] = lambda question: 0.0

    def matters(self, question: Q) -> float:
        """The smallest difference that matters for this question."""
        return self.least
