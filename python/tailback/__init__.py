"""tailback: a packet-level laboratory for the queue behind a bottleneck.

    import tailback as tb

    net = tb.dumbbell(flows=100, bottleneck="500Mbps", rtt="100ms", queue=tb.queue("qsdrr", buffer="1000 packets"))
    result = net.run(duration="100s", seed=1, replications=5)
    result.flows          # one row a flow and replication; numpy, polars and pandas read it
    result.plot("queue")  # a matplotlib figure

Everything is imported when it is first used, so that `import tailback` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

# Where each public name lives.
_HOME: dict[str, str] = {
    "Line": "_core",
    "Network": "builder",
    "Packet": "_core",
    "Plan": "campaign.plan",
    "Queue": "builder",
    "Result": "result",
    "Results": "_core",
    "RunError": "result",
    "Scenario": "_core",
    "ScenarioError": "_core",
    "Sweep": "campaign.sweep",
    "Table": "_core",
    "Wait": "_core",
    "__version__": "_core",
    "compare": "results.difference",
    "compare_queues": "comparison",
    "compare_points": "results.difference",
    "describe": "scenario.reference",
    "drive": "builder",
    "dumbbell": "builder",
    "load_result": "result",
    "load_scenario": "scenario.read",
    "load_sweep": "campaign.load",
    "mark": "builder",
    "network": "builder",
    "packet": "builder",
    "parking_lot": "builder",
    "parse_bytes": "_core",
    "parse_level": "_core",
    "parse_rate": "_core",
    "parse_size": "_core",
    "parse_time": "_core",
    "queue": "builder",
    "read_parquet": "_core",
    "read_results": "_core",
    "run": "result",
    "schema": "scenario.reference",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'tailback' has no attribute {name!r}")
    value = getattr(import_module(f"tailback.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
