"""tailback: a packet-level laboratory for the queue behind a bottleneck.

    import tailback as tb

    net = tb.dumbbell(flows=100, bottleneck="500Mbps", rtt="100ms", queue=tb.queue("qsdrr", buffer="1000 packets"))
    result = net.run(duration="100s", seed=1, replications=5)
    result.flows          # one row a flow and replication; numpy, polars and pandas read it
    result.plot("queue")  # a matplotlib figure

Everything is imported when it is first used, so that `import tailback` costs next to nothing.
"""

from __future__ import annotations

import os
from importlib import import_module

# Where the public names live.
_NAMES: dict[str, str] = {
    "_core": ("Line Packet Results Scenario ScenarioError Table Wait __version__"),
    "core.scenario.amounts": "parse_bytes parse_level parse_rate parse_size parse_time",
    "core.scenario.read": "load_scenario",
    "core.scenario.reference": "describe schema",
    "core.results.difference": "compare compare_points",
    "core.results.stored": "read_parquet read_results",
    "runs.campaign.plan": "Plan",
    "runs.campaign.load": "load_sweep",
    "runs.campaign.sweep": "Sweep",
    "runs.result": "Result RunError load_result run",
    "core.scenario.controls": "congestion rate_control stack",
    "runs.builder": (
        "Network Queue drive drive_congestion drive_rate_control dumbbell fat_tree leaf_spine mark network packet "
        "parking_lot queue star"
    ),
    "apps.ask.link": "compare_queues",
    "apps.ask.home": "home_line",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)


if os.environ.get("TAILBACK_CORE"):
    import_module("tailback.core.extension").take(os.environ["TAILBACK_CORE"])


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        return _module(name)
    value = getattr(import_module(f"tailback.{home}"), name)
    globals()[name] = value
    return value


def _module(name: str) -> object:
    """`tb.stats` is the module `tailback.stats`, whatever has been imported before."""
    if not name.startswith("_"):
        try:
            return import_module(f"tailback.{name}")
        except ModuleNotFoundError as e:
            if e.name != f"tailback.{name}":
                raise
    raise AttributeError(f"module 'tailback' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
