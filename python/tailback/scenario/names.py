"""Names in a part of a scenario that is not complete yet: what the builder refuses where it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tailback import _core

#: Problems that no other part of a scenario can solve.
_UNKNOWN = ("unknown-key", "unknown-name")


def check_names(document: Mapping[str, Any], path: str, part: str = "") -> None:
    """Raise `tailback.ScenarioError` for the first key, model or profile below `path` that there is not. `part` is what
    stands at that path, for messages; without it the whole is a network.

    Nothing is said of values, which may depend on parts that follow.
    """
    try:
        text = json.dumps({"duration": "1s", **document})
    except (TypeError, ValueError, RecursionError):
        # No scenario can hold it: the reader says where.
        return
    try:
        # As an environment reads it: a network may be for an agent.
        _core.load_steered(text, "json", part or "network")
    except _core.ScenarioError as e:
        for problem in e.problems:
            key = str(problem["key"])
            if problem["code"] in _UNKNOWN and (key == path or key.startswith((f"{path}.", f"{path}["))):
                place = f"{part}, {key[len(path) + 1 :]}".rstrip(", ") if part else f"network, {key}"
                said = _core.ScenarioError(f"error: {problem['problem']}\n --> {place}\n  = help: {problem['remedy']}")
                said.file, said.problems = e.file, [problem]
                raise said from None
