"""The quantities that users' classes declare for recording, in their attribute `probes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback import _core
from tailback.core.scenario import queues


def own_units(scenarios: Iterable[_core.Scenario]) -> dict[str, str]:
    """Units of the probes of users' queues, controls and stacks in these scenarios, if their classes are available. A
    probe has no unit if two classes give it different ones."""
    scenarios_read = list(scenarios)
    classes = [
        *queues.named_by(scenarios_read).values(),
        *(c for scenario in scenarios_read for c in scenario.controls.values()),
    ]
    units_of: dict[str, set[str]] = {}
    for own_class in classes:
        probes = getattr(own_class, "probes", {})
        for name, unit in probes.items() if isinstance(probes, Mapping) else ():
            units_of.setdefault(str(name), set()).add(str(unit))
    return {name: units.pop() if len(units) == 1 else "" for name, units in units_of.items()}
