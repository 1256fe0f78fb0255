"""Experiments without packets, by counting and arithmetic. A set of runs names its function as `compute`.

    @computed("static_ratio")
    def static_ratio(labels: dict[str, str], seed: int, options: dict) -> dict:
        return {"values": {"ratio": 1.04}}

One call is one run. The arguments of a call are the labels of a point, a seed, and the set's `options`. The answer has
`values` (numbers by measure, each registered with `tailback.study.measures.value`). An answer may have `series`, a
table with the columns of a run's series (`what`, `probe`, `index`, `time_s`, `value`). An answer is stored like a run
and not computed again. A function that cannot answer on this machine raises `NotMeasured`. Rows that need the answer
are then not testable, with this reason. The functions are in the folders of their studies (`own.py`).

A function under `@live(...)` instead answers by a live run (`work/apart.py`), which takes real time rather than
processor time. `work/lane.py` does live runs one after the other.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from tailback.study.registry import Registry


class NotMeasured(Exception):
    """This machine cannot give the answer. The text has the reason."""


class NotValid(NotMeasured):
    """The machine was too busy to give the answer. A later try may succeed."""


#: (labels, seed, options) -> answer
Function = Callable[[dict[str, str], int, dict[str, Any]], dict[str, Any]]
FUNCTIONS: Registry[Function] = Registry(__name__, "functions")
computed = FUNCTIONS.named

#: The functions that do a live run.
_LIVE: WeakSet[Function] = WeakSet()


def live(name: str) -> Callable[[Function], Function]:
    """A decorator that registers a function; each call of it is a live run."""

    def take(f: Function) -> Function:
        _LIVE.add(f)
        return computed(name)(f)

    return take


def is_live(name: str) -> bool:
    """Whether a function of this name does live runs."""
    return FUNCTIONS.get(name) in _LIVE


def fingerprint(name: str) -> str:
    """The fingerprint of a function's source file. The results depend on this file, and on labels, seed and options."""
    file = inspect.getsourcefile(FUNCTIONS[name])
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else ""
