"""Flows found in the drops, with the engine's own TCP: who goes into the box, and who is monitored."""

from __future__ import annotations

import pytest

import tailback as tb


def race(kind: str, rate: str, probe: str, seed: int) -> tb.Result:
    """Nine TCP flows and a constant one of this rate on 10 Mb/s."""
    queue = {"kind": kind, "buffer": "100 packets", "min_threshold": "5 packets", "max_threshold": "15 packets"}
    ends = {"access_rate": "100Mbps", "access_delay": "1ms"}
    late = {"kind": "uniform", "from": "0s", "to": "1s"}
    constant = {"transport": "udp", "traffic": {"kind": "cbr", "rate": rate}, "packet_size": "500B"}
    scenario = {
        "duration": "60s",
        "seed": seed,
        "topology": {"kind": "dumbbell", "rate": "10Mbps", "delay": "20ms", "queue": queue},
        "flows": {
            "tcp": {"count": 9, **ends, "start": late, "tcp": {"profile": "jiang-2006"}},
            "constant": {**ends, **constant},
        },
        "record": {"flows": {"link": "bottleneck", "probes": [probe], "every": "100ms"}},
    }
    return tb.run(tb.load_scenario(scenario))


def goodput(result: tb.Result, group: str) -> float:
    flows = result.flows
    return sum(g for name, g in zip(flows["group"], flows["goodput_bps"], strict=True) if name == group)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_five_times_its_share_is_boxed_within_five_epochs_and_nobody_else_in_a_minute(seed: int) -> None:
    result = race("red-pb", "5Mbps", "boxed", seed)
    boxed = list(result.series["value"])
    assert max(boxed) == 1
    first = next(t for t, n in zip(result.series["time_s"], boxed, strict=True) if n)
    assert first <= 5.0
    # It is the constant flow: it loses more than half of what it asks for, and the others have the rest.
    assert goodput(result, "constant") < 2.5e6
    assert goodput(result, "tcp") > 6e6


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_three_times_its_share_is_monitored(seed: int) -> None:
    result = race("red-pd", "3Mbps", "strictest", seed)
    times = result.series["time_s"]
    late = [g for t, g in zip(times, result.series["value"], strict=True) if t > 20]
    # TCP flows with the target's round trip are monitored too, but gently.
    assert sum(late) / len(late) > 0.1
    assert goodput(result, "constant") < 0.9 * goodput(race("red", "3Mbps", "average", seed), "constant")
