"""The load of a scenario's workloads on each layer of a fabric, as text."""

from __future__ import annotations

from collections.abc import Iterator

from tailback import _core


def sentences(scenario: _core.Scenario) -> Iterator[str]:
    """A sentence for each workload; no sentences if a network has no layers."""
    loads_of: dict[str, list[str]] = {}
    for row in scenario.loads:
        loads_of.setdefault(row["workload"], []).append(f"{row['load']:.3g} of {row['layer']} links")
    for workload, loads in loads_of.items():
        yield f"workload.{workload} is a load of {', '.join(loads)}"
