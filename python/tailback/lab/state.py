"""What a page shows: a scenario as its document, and the discipline that stands beside the scenario's own."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback import _core

#: How messages call a scenario that comes from the page.
NAME = "the page"
#: A document beyond this is no scenario that a page can show, bytes.
LONGEST = 200_000


class LabError(ValueError):
    """What a page asks for cannot be done; the text says why and what to do instead."""


@dataclass(frozen=True)
class State:
    """A scenario, and the queue that replaces that of its link in the second run; None for one run."""

    document: Mapping[str, Any]
    beside: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, given: object) -> State:
        """A state as a page sends it. Raises `LabError` for anything else."""
        if not isinstance(given, Mapping) or not isinstance(given.get("document"), Mapping):
            raise LabError("a state is an object with a `document`, the scenario, and `beside`, a queue or null")
        beside = given.get("beside")
        if beside is not None and not isinstance(beside, Mapping):
            raise LabError('`beside` is a queue such as {"kind": "codel"}, or null')
        if len(json.dumps(given)) > LONGEST:
            raise LabError(f"the scenario is longer than {LONGEST // 1000} kB; run it with `tailback run`")
        return cls(given["document"], beside)

    def as_dict(self) -> dict[str, Any]:
        return {"document": self.document, "beside": self.beside}

    def documents(self) -> list[dict[str, Any]]:
        """The scenarios of the runs: the same but for the queue of the link, and with the same seed."""
        first = copy.deepcopy(dict(self.document))
        if self.beside is None:
            return [first]
        second = copy.deepcopy(first)
        # A document that is no scenario is refused before anything is put into it.
        link = watched(load(first))
        second.setdefault("link", {}).setdefault(link, {})["queue"] = copy.deepcopy(dict(self.beside))
        if "record" in second:
            try:
                load(second)
            except _core.ScenarioError:
                # The second discipline may lack what is recorded of the first; the page has recordings of its own.
                del second["record"]
        return [first, second]


def explicit(document: Mapping[str, Any], name: str = NAME) -> dict[str, Any]:
    """The document with the queue of the watched link as a table at the link itself, where a page changes it."""
    made = copy.deepcopy(dict(document))
    link = watched(load(made, name))
    table = made.setdefault("link", {}).setdefault(link, {})
    queue = table.get("queue", (made.get("topology") or {}).get("queue"))
    table["queue"] = copy.deepcopy(dict(queue)) if isinstance(queue, Mapping) else {"kind": queue}
    return made


def load(document: Mapping[str, Any], name: str = NAME) -> _core.Scenario:
    """The scenario of a document, checked; raises `tailback.ScenarioError` with the message that a file gets."""
    scenario = _core.load(json.dumps(document), "json", name, [])
    if scenario.controls:
        raise LabError(
            f"the congestion control {next(iter(scenario.controls))} is written in Python, which the lab does not run; "
            "use `tailback run`, or name a built-in control"
        )
    return scenario


def watched(scenario: _core.Scenario) -> str:
    """The link whose queue is shown: the one called `bottleneck`, else the first of the lowest rate."""
    links = [link for link in scenario.spec["links"] if not link["name"].endswith(".reverse")]
    named = [link["name"] for link in links if link["name"] == "bottleneck"]
    return str(named[0] if named else min(links, key=lambda link: link["rate_bps"])["name"])
