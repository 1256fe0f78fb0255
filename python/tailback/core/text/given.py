"""Checks arguments of the package. A message names the argument, its value and what to give."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

#: Seeds of runs are below this.
SEEDS = 2**63
#: The most replications of a point.
MOST_REPLICATIONS = 1_000_000
#: The limit for counts for which the reader of scenarios has a lower limit.
MOST_COUNTED = 2**31
#: The most runs at once.
MOST_JOBS = 100_000


def shown(value: Any) -> str:
    """A value as text for a message, of limited length. The value's own `repr` is not called unless its type is built
    in."""
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    try:
        text = _SHORT.repr(value)
    except Exception:
        text = "<"
    return f"an object of {type(value).__qualname__}" if text.startswith("<") else text


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 4


def count(name: str, value: Any, least: int, most: int) -> int:
    """A whole number. Raises ValueError."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        whole_number = operator.index(value)
    except TypeError:
        whole_number = None
    if whole_number is None or not least <= whole_number <= most:
        raise ValueError(f"{name} = {shown(value)}; give a whole number from {least} to {most}")
    return whole_number


def seed(value: Any) -> int:
    """The seed of a first run. Raises ValueError."""
    return count("seed", value, 0, SEEDS - 1)


def replications(value: Any) -> int:
    """How often each point is run. Raises ValueError."""
    return count("replications", value, 1, MOST_REPLICATIONS)


def replications_of_points(value: Any) -> int | list[int]:
    """The number of runs of each point: one number, or one for each point. Raises ValueError."""
    if isinstance(value, (list, tuple)):
        return [replications(n) for n in value]
    return replications(value)


def jobs(value: Any) -> int:
    """The number of parallel runs. Raises ValueError."""
    return count("jobs", value, 0, MOST_JOBS)


def width(value: Any) -> int | None:
    """The width of a text in columns; None if the terminal decides. Raises ValueError."""
    return None if value is None else count("width", value, 1, 100_000)


def results(name: str, value: Any) -> Any:
    """Tables of runs. Raises ValueError."""
    if not hasattr(value, "runs") or isinstance(value, type) or callable(value.runs):
        raise ValueError(
            f"{name} = {shown(value)} is not a result; give one, such as tb.run(...) or tb.read_results(FOLDER)"
        )
    return value


def several(name: str, value: Any, like: str) -> list[Any]:
    """A list. `like` is an example of an entry, for the message. Raises ValueError for a value that is not a list; a
    text is not a list of its letters."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ValueError(f"{name} = {shown(value)}; give a list, such as [{like}]")
    return list(value)
