"""Arguments of the package, checked where they are given: a message names the argument, its value and what to give."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

#: Seeds of runs are below this.
SEEDS = 2**63
#: Replications of a point.
MOST_REPLICATIONS = 1_000_000
#: Counts whose own limit the reader of scenarios knows.
MOST_COUNTED = 2**31
#: Runs at once.
MOST_JOBS = 100_000


def count(name: str, value: Any, least: int, most: int) -> int:
    """A whole number. Raises ValueError."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ValueError(f"{name} = {value!r}; give a whole number from {least} to {most}")
    return number


def seed(value: Any) -> int:
    """The seed of a first run. Raises ValueError."""
    return count("seed", value, 0, SEEDS - 1)


def replications(value: Any) -> int:
    """How often each point is run. Raises ValueError."""
    return count("replications", value, 1, MOST_REPLICATIONS)


def replications_of_points(value: Any) -> int | list[int]:
    """The same, or a number for each point. Raises ValueError."""
    if isinstance(value, (list, tuple)):
        return [replications(n) for n in value]
    return replications(value)


def jobs(value: Any) -> int:
    """How many runs go at once. Raises ValueError."""
    return count("jobs", value, 0, MOST_JOBS)


def several(name: str, value: Any, like: str) -> list[Any]:
    """A list. `like` is an entry, for the message. Raises ValueError for a text, whose letters are no entries, and for
    what is no list."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ValueError(f"{name} = {value!r}; give a list, such as [{like}]")
    return list(value)
