"""Users' own queue disciplines, by their names in scenarios: `FILE.py:CLASS`, or the name of a class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tailback import _core
from tailback.core.scenario.own_file import NAMED

Maker = Callable[[], Any]

_KNOWN: dict[str, Maker] = {}


def register(name: str, make: Maker) -> str:
    """Lets scenarios name the maker of a discipline, and returns the name."""
    _KNOWN[name] = make
    return name


def maker(name: str) -> Maker | None:
    """The maker of the discipline with this name."""
    return _KNOWN.get(name)


def is_known(name: str) -> bool:
    return name in _KNOWN


def is_discipline(thing: Any) -> bool:
    """Whether a class makes a queue discipline and not a congestion control."""
    return callable(thing) and hasattr(thing, "enqueue") and hasattr(thing, "dequeue")


def own(given: Any) -> str | None:
    """Registers a user's own discipline (a class or `FILE.py:CLASS`) and returns its name for scenarios; None for any
    other discipline. Raises `ScenarioError`."""
    if isinstance(given, str):
        from tailback.core.scenario.controls import from_file

        match = NAMED.fullmatch(given)
        return from_file(match["path"], match["name"]) if match else None
    if not is_discipline(given):
        return None
    return register(f"{given.__module__}.py:{given.__qualname__}", given)


def short(name: str) -> str:
    """The class alone."""
    return name.rpartition(":")[2]


def named_by(scenarios: Iterable[_core.Scenario]) -> dict[str, Maker]:
    """The makers of the classes that these scenarios name, if they are available."""
    queue_classes = {name for scenario in scenarios for name in scenario.queue_classes}
    return {name: _KNOWN[name] for name in sorted(queue_classes) if name in _KNOWN}
