"""Flows over queues, counted without packets: static distribution, drift without moves, memory.

The discipline's name says how flows find their queues: `hash`; N groups for each queue, counted by filters of 10 bits a
flow of the mean group (`groups-N`), by filters sized for the fuller groups (`fuller-N`), or without error
(`exact-N`); `per-flow`. The counting is the engine's own: the hashes, filters and table of mapper "bloom".
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from tailback import _core
from tailback.study.computed import computed
from tailback.theory.memory import memory as memory_of


def _size(labels: dict[str, str], options: dict[str, Any]) -> tuple[int, int, int]:
    """Flows, queues, groups."""
    flows = int(labels.get("flows", options.get("flows", 0)))
    queues = options.get("queues") or max(1, round(flows / float(labels.get("per_queue", options.get("per_queue", 1)))))
    kind = labels["queue"].partition("-")[2]
    return flows, queues, queues * int(kind) if kind.isdigit() else 10 * queues


def _how(name: str) -> Literal["hash", "groups", "perfect"]:
    match name.partition("-")[0]:
        case "hash":
            return "hash"
        case "exact":
            return "perfect"
    return "groups"


def _shape(name: str, flows: int, groups: int) -> tuple[int, int, int] | None:
    """Bits, hash functions and counter bits of a filter; None for those sized by the mean."""
    if not name.startswith("fuller"):
        return None
    e = math.ceil(flows / groups)
    most = math.ceil(e + 3 * math.sqrt(e))
    return 10 * most, _core.filter_shape(most)[1], _core.filter_shape(e)[2]


@computed("static-spread")
def static_spread(labels: dict[str, str], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Fullest over emptiest queue: mean and extremes of `draws` draws of all addresses."""
    flows, queues, groups = _size(labels, options)
    name = labels["queue"]
    shape = _shape(name, flows, groups)
    x = _core.spread_ratios(_how(name), flows, queues, groups, shape, draws=options["draws"], seed=seed)
    return {"values": {"ratio": float(np.mean(x)), "ratio_least": min(x), "ratio_most": max(x)}}


@computed("hashed-occupancy")
def hashed_occupancy(labels: dict[str, str], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Flows of a queue: mean and standard deviation over queues and draws, and the largest ratio of a draw."""
    flows, queues, _ = _size(labels, options)
    draws = [_core.spread_occupancy("hash", flows, queues, seed=1000 * seed + i) for i in range(options["draws"])]
    x = np.array(draws, dtype=float)
    with np.errstate(divide="ignore"):
        ratios = x.max(axis=1) / x.min(axis=1)
    values = {"occupancy": x.mean(), "occupancy_sd": x.std(), "ratio": ratios.mean(), "ratio_most": ratios.max()}
    return {"values": {k: float(v) for k, v in values.items()}}


@computed("spread-drift")
def spread_drift(labels: dict[str, str], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """The ratio while flows change their addresses and no group is moved."""
    flows, queues, groups = _size(labels, options)
    step, length = options["step_s"], options["length_s"]
    samples, mean, most, least = _core.spread_drift(
        _how(labels["queue"]),
        flows,
        queues,
        groups,
        hold_s=options["hold_s"],
        length_s=length,
        step_s=step,
        seed=seed,
    )
    late = samples[len(samples) // 2 :]
    n = len(samples)
    series = {
        "what": np.full(n, "count"),
        "probe": np.full(n, "flow_ratio"),
        "index": np.zeros(n, dtype=int),
        "time_s": step * np.arange(n),
        "value": np.array(samples),
    }
    values = {"ratio_mean": mean, "ratio_max": most, "ratio_min": least}
    return {"values": values | {"ratio_first": samples[0], "ratio_late": float(np.mean(late))}, "series": series}


@computed("memory")
def memory(labels: dict[str, str], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Bytes of a discipline, and as a share of a table of all flows."""
    flows, queues, groups = _size(labels, options)
    m = memory_of(flows, groups, queues, options.get("filter_bits"))
    if labels["queue"] == "per-flow":
        used = complete = m.per_flow_bytes
    else:
        used, complete = m.published_bytes, m.complete_bytes
    return {
        "values": {
            "memory_kb": used / 1000,
            "memory_complete_kb": complete / 1000,
            "memory_share": 100 * used / m.per_flow_bytes,
            "memory_ratio": m.per_flow_bytes / used,
            "memory_complete_ratio": m.per_flow_bytes / complete,
            "memory_groups_kb": m.groups_bytes / 1000,
            "memory_queues_kb": m.queues_bytes / 1000,
        }
    }
