"""The state of a page: a scenario as its document, and a second discipline to compare with the scenario's own.

The runs of a state, their picture and the controls come from the crate `tailback-lab`, which a page with the engine
inside uses too.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailback import _core
from tailback.core.scenario.reference import describe
from tailback.core.scenario.watched import NAME as NAME
from tailback.core.scenario.watched import explicit as explicit
from tailback.core.scenario.watched import watched as watched

Mode = Literal["coarse", "full"]
MODES: tuple[Mode, ...] = ("coarse", "full")
LabError = _core.LabError


@dataclass(frozen=True)
class State:
    """A scenario, and the queue that replaces that of its link in the second run; None for one run."""

    document: Mapping[str, Any]
    beside: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, given: object) -> State:
        """A state as a page sends it. Raises `LabError` for anything else."""
        state = _core.LabState(json.dumps(given))
        assert isinstance(given, Mapping)
        checked = cls(given["document"], given.get("beside"))
        checked.__dict__["core"] = state
        return checked

    @functools.cached_property
    def core(self) -> _core.LabState:
        return _core.LabState(json.dumps(self.as_dict()))

    def as_dict(self) -> dict[str, Any]:
        return {"document": self.document, "beside": self.beside}

    def documents(self) -> list[dict[str, Any]]:
        """The scenarios of the runs: the same except for the queue of the link, and with the same seed."""
        return [json.loads(d) for d in self.core.documents()]

    def asked(self, mode: Mode) -> list[_core.LabRun]:
        """The runs, which record the quantities that the page draws instead of their own recordings. Raises
        `tailback.ScenarioError` with the same message as for a file."""
        return self.core.asked(mode)

    def controls(self) -> list[dict[str, Any]]:
        """Groups of controls: a title, and the settings in it."""
        groups: list[dict[str, Any]] = json.loads(self.core.controls())
        return groups

    def copies(self) -> dict[str, str]:
        """The state as `toml`, `python` and `command`."""
        texts: dict[str, str] = json.loads(self.core.copies())
        return texts

    def picture(
        self,
        order: tuple[int, Mode, int],
        runs: Sequence[_core.LabRun],
        tables: Sequence[_core.RunTables],
        took_ms: float | None,
        controls: bool,
    ) -> bytes:
        """The frame of finished runs, for an order's input, mode and columns. `took_ms` is given for a page."""
        return self.core.picture(*order, runs, tables, took_ms, controls)


def with_buffer_of(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The second queue. The second queue gets the buffer of the first queue if it has a buffer and none is given."""
    kind = str(second.get("kind"))
    takes = any(p["name"] == "buffer" for m in describe(kind) if m["family"] == "queue" for p in m["parameters"])
    buffer_key = {"buffer": first["buffer"]} if takes and "buffer" in first and "buffer" not in second else {}
    return {**second, **buffer_key}
