"""A quantity by which candidates are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

#: What was asked, and the runs of a candidate with one seed.
Q = TypeVar("Q")
R = TypeVar("R")


@dataclass(frozen=True)
class Measure(Generic[Q, R]):
    """Declared once: the table in the terminal, the page, the JSON document and the ranking read it."""

    name: str
    #: In sentences, and with a capital as a head of the page.
    title: str
    #: Head of a column in the terminal, and the unit as `tailback.core.results.summary.scale` takes it.
    head: str
    unit: str
    #: Which is better; None: told, not judged.
    better: Literal["more", "less"] | None
    doc: str
    #: Of the runs of a candidate with one seed.
    value: Callable[[R], float]
    #: A smaller difference does not matter, even if it is significant.
    least: float = 0.0
    #: Whether the question has what it looks at.
    asked: Callable[[Q], bool] = lambda question: True
    #: Half of the range of what the model leaves out here: a mean is higher by it, and its interval that much wider.
    unsure: Callable[[Q], float] = lambda question: 0.0

    def matters(self, question: Q) -> float:
        """A smaller difference does not matter here."""
        return self.least
