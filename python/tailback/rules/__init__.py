"""Rules for published numbers that a plain tolerance does not decide, by the name that a number gives as `rule`.

    @rule("cell")
    def cell(number: dict, judge: Judge) -> Verdict: ...

`number` is the table from `published.toml` with all its keys; `judge.samples.get(...)` has the measured values, and
`judge.number_verdict(number, ...)` helps with the common fields. A new file of this package is found by being there.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

RULES: dict[str, Callable[[dict, Any], Any]] = {}


def rule(name: str):
    """Register a rule under a name that no other has."""

    def take(f):
        if name in RULES:
            raise ValueError(f'two rules are called "{name}"')
        RULES[name] = f
        return f

    return take


def load() -> dict[str, Callable[[dict, Any], Any]]:
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return RULES
