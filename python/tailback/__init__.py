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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailback._core import Line as Line
    from tailback._core import Packet as Packet
    from tailback._core import Results as Results
    from tailback._core import Scenario as Scenario
    from tailback._core import ScenarioError as ScenarioError
    from tailback._core import Table as Table
    from tailback._core import Wait as Wait
    from tailback._core import __version__ as __version__
    from tailback._core import parse_bytes as parse_bytes
    from tailback._core import parse_level as parse_level
    from tailback._core import parse_rate as parse_rate
    from tailback._core import parse_size as parse_size
    from tailback._core import parse_time as parse_time
    from tailback._core import read_parquet as read_parquet
    from tailback._core import read_results as read_results
    from tailback.builder import Network as Network
    from tailback.builder import Queue as Queue
    from tailback.builder import drive as drive
    from tailback.builder import dumbbell as dumbbell
    from tailback.builder import network as network
    from tailback.builder import packet as packet
    from tailback.builder import parking_lot as parking_lot
    from tailback.builder import queue as queue
    from tailback.plan import Plan as Plan
    from tailback.reference import describe as describe
    from tailback.reference import schema as schema
    from tailback.result import Result as Result
    from tailback.result import RunError as RunError
    from tailback.result import load_result as load_result
    from tailback.result import run as run
    from tailback.scenarios import load_scenario as load_scenario

# Where each public name lives.
_HOME: dict[str, str] = {
    "Line": "_core",
    "Network": "builder",
    "Packet": "_core",
    "Plan": "plan",
    "Queue": "builder",
    "Result": "result",
    "Results": "_core",
    "RunError": "result",
    "Scenario": "_core",
    "ScenarioError": "_core",
    "Table": "_core",
    "Wait": "_core",
    "__version__": "_core",
    "describe": "reference",
    "drive": "builder",
    "dumbbell": "builder",
    "load_result": "result",
    "load_scenario": "scenarios",
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
    "schema": "reference",
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
