"""What the workloads of a scenario come to at each layer of a fabric, in words."""

from __future__ import annotations

from collections.abc import Iterator

from tailback import _core


def sentences(scenario: _core.Scenario) -> Iterator[str]:
    """A sentence for each workload; none where a network has no layers."""
    of: dict[str, list[str]] = {}
    for row in scenario.loads:
        of.setdefault(row["workload"], []).append(f"{row['load']:.3g} of {row['layer']} links")
    for workload, loads in of.items():
        yield f"workload.{workload} is a load of {', '.join(loads)}"
