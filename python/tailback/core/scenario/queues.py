"""Queue disciplines of one's own, by the name under which scenarios have them: `FILE.py:CLASS`, or that of a class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tailback import _core
from tailback.core.scenario.own_file import NAMED

Maker = Callable[[], Any]

_KNOWN: dict[str, Maker] = {}


def register(name: str, make: Maker) -> str:
    """Let scenarios name what makes a discipline; gives back the name."""
    _KNOWN[name] = make
    return name


def maker(name: str) -> Maker | None:
    """What makes the discipline of this name."""
    return _KNOWN.get(name)


def is_known(name: str) -> bool:
    return name in _KNOWN


def is_discipline(thing: Any) -> bool:
    """Whether it makes a queue discipline, and no congestion control."""
    return callable(thing) and hasattr(thing, "enqueue") and hasattr(thing, "dequeue")


def own(given: Any) -> str | None:
    """The name of a discipline of one's own, a class or `FILE.py:CLASS`, which scenarios can have from now on; None of
    another. Raises `ScenarioError`."""
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
    """The makers of the classes that these scenarios name, as far as they are at hand."""
    named = {name for scenario in scenarios for name in scenario.queue_classes}
    return {name: _KNOWN[name] for name in sorted(named) if name in _KNOWN}
