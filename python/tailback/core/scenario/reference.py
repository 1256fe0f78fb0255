"""The reference of models and the schema of scenarios, as data."""

from __future__ import annotations

import json
from typing import Any

from tailback import _core
from tailback.core.text.arguments import checked


def schema() -> dict[str, Any]:
    """The JSON schema of a scenario.

    >>> {"link", "flows", "sessions"} <= set(tb.schema()["properties"])
    True
    """
    tree: dict[str, Any] = json.loads(_core.schema_json())
    return tree


@checked
def describe(name: str | None = None) -> Any:
    """The models of this name, each with its parameters and probes; without a name, the list of all by family.

    >>> (codel,) = [m for m in tb.describe("codel") if m["family"] == "queue"]
    >>> [p["default"] for p in codel["parameters"] if p["name"] == "target"]
    ['5ms']
    """
    return json.loads(_core.describe_json(name))
