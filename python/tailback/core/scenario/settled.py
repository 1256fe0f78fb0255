"""Values of a scenario that depend on the path, such as "0.5 bdp": as text, and as plain quantities in its document."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from tailback import _core

#: The most such values that a command lists.
MOST_NAMED = 12


def sentences(scenario: _core.Scenario) -> Iterator[str]:
    """A sentence for each value: the value, and its origin."""
    settings = scenario.settled
    for s in settings[:MOST_NAMED]:
        yield f'{s["key"]} = "{s["written"]}" is {s["value"]} ({s["because"]})'
    if len(settings) > MOST_NAMED:
        yield f"{len(settings) - MOST_NAMED} more values depend on the path"


def written_out(document: dict[str, Any], scenario: _core.Scenario) -> dict[str, Any]:
    """The document of the scenario, with plain quantities in place of these values."""
    document_copy = copy.deepcopy(document)
    for setting in scenario.settled:
        steps: list[Any] = []
        for key in setting["key"].split("."):
            name, *items = re.findall(r"[^\[\]]+", key)
            steps += [name, *(int(i) for i in items)]
        _put(document_copy, steps, setting["value"])
        if steps[0] == "link" and "topology" in document_copy:
            _put(document_copy["topology"], steps[2:], setting["value"])
    return document_copy


def _put(at: Any, steps: list[Any], value: str) -> None:
    """Replaces the value at a path, if there is one."""
    for step in steps[:-1]:
        at = _item(at, step)
    if _item(at, steps[-1]) is not None:
        at[steps[-1]] = value


def _item(at: Any, step: Any) -> Any:
    if isinstance(at, dict):
        return at.get(step)
    return at[step] if isinstance(at, list) and isinstance(step, int) and step < len(at) else None
