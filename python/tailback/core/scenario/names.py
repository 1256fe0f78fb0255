"""Checks names in an incomplete part of a scenario, so that the builder refuses a wrong name at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tailback import _core

#: Problems that no other part of a scenario can solve: unknown keys and models, and values that do not fit.
_OWN = ("unknown-key", "unknown-name", "value")
#: Keys whose values name other parts, which may be added later, and the problem of a value that depends on them.
_OF_OTHERS = re.compile(
    r"(record|change|flows|sessions|link|switch)\.[^.]+\.(from|to|link|links|flows|node|probes|of)(\[\d+\])?"
)
_DEPENDS = "cannot be known"


def check_names(document: Mapping[str, Any], path: str, part: str = "") -> None:
    """Raises `tailback.ScenarioError` for the first unknown key, model or profile below `path`, and for the first value
    that its key cannot have. `part` is the name of the part at that path, for messages; without `part` the whole is a
    network.

    Values that may depend on later parts are not checked: names of links, groups and nodes, probes, and amounts in
    products of rate and delay.
    """
    try:
        text = json.dumps({"duration": "1s", **document})
    except (TypeError, ValueError, RecursionError):
        # No scenario can have this value. The reader reports the place.
        return
    try:
        # Read as for a training environment, since the network may be for an agent.
        _core.load_steered(text, "json", part or "network")
    except _core.ScenarioError as e:
        for problem in e.problems:
            key = str(problem["key"])
            is_here = key == path or key.startswith((f"{path}.", f"{path}["))
            if is_here and problem["code"] in _OWN and not _may_follow(problem):
                place = f"{part}, {key[len(path) + 1 :]}".rstrip(", ") if part else f"network, {key}"
                error = _core.ScenarioError(f"error: {problem['problem']}\n --> {place}\n  = help: {problem['remedy']}")
                error.file, error.problems = e.file, [problem]
                raise error from None


def _may_follow(problem: Mapping[str, Any]) -> bool:
    """Whether another part of the scenario can solve the problem of a value."""
    is_value = problem["code"] == "value"
    return is_value and (bool(_OF_OTHERS.fullmatch(str(problem["key"]))) or _DEPENDS in str(problem["problem"]))
