"""The task of an agent: scenarios, spaces, and the information of a step, for one environment or many."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from tailback import _core
from tailback.core.scenario.read import Source, as_text
from tailback.core.text import given
from tailback.core.text.plain import warn

#: The entries of `info` for an agent with a window, with a pacing rate, and with a queue.
WINDOW_FACTS = ("time_s", "goodput_bps", "rtt_s", "lost_share", "cwnd_bytes")
RATE_FACTS = ("time_s", "goodput_bps", "rtt_s", "lost_share", "pacing_bps")
QUEUE_FACTS = ("time_s", "sent_bps", "wait_s", "dropped_share", "backlog_bytes")
#: The number of observations, which have no units: see `docs/howto/train-a-control.md`.
WINDOW_SEEN, QUEUE_SEEN = 7, 6
#: The message if an environment is copied.
NOT_COPIED = "an environment holds a run and cannot be copied or pickled; make another with the same arguments"


@dataclass(frozen=True)
class SteeredTask:
    """An agent's task."""

    scenarios: list[_core.Scenario]
    interval_s: float | None
    weights: tuple[float, float]
    #: The controlled queue; None for a window.
    port: str | None = None
    buffer: str = "1000 packets"
    #: Whether the agent controls the pacing rate and not the window.
    by_rate: bool = False

    @property
    def facts(self) -> tuple[str, ...]:
        if self.port:
            return QUEUE_FACTS
        return RATE_FACTS if self.by_rate else WINDOW_FACTS

    def observation_space(self) -> Any:
        return spaces.Box(-1.0, np.inf, (QUEUE_SEEN if self.port else WINDOW_SEEN,), np.float32)

    def action_space(self) -> Any:
        if self.port:
            return spaces.Box(0.0, 1.0, (2,), np.float32)
        return spaces.Box(-1.0, 1.0, (1,), np.float32)

    def beginning(self, rng: np.random.Generator, options: dict[str, Any] | None = None) -> tuple[int, int]:
        """Draws the scenario and the seed of the next run; `options` may give the scenario's number."""
        drawn_index = int(rng.integers(len(self.scenarios)))
        options = options or {}
        scenario_index = options.get("scenario", drawn_index)
        if options.keys() - {"scenario"}:
            raise ValueError(f'options = {given.shown(options)}; give {{"scenario": NUMBER}}, or nothing')
        if (
            isinstance(scenario_index, bool)
            or not isinstance(scenario_index, (int, np.integer))
            or not 0 <= scenario_index < len(self.scenarios)
        ):
            raise ValueError(
                f"there is no scenario {given.shown(scenario_index)}; the environment has {len(self.scenarios)}, from 0"
            )
        return int(scenario_index), int(rng.integers(2**31))


def task(
    sources: Source | Iterable[Source] | None,
    default: list[dict[str, Any]],
    interval: str | None,
    weights: tuple[float, float],
    **queue: Any,
) -> SteeredTask:
    """The task with its parsed scenarios. Raises `tailback.ScenarioError`."""
    scenarios_given: list[Any] = (
        list(sources) if isinstance(sources, (list, tuple)) else [sources] if sources is not None else default
    )
    if not scenarios_given:
        raise ValueError("an environment needs a scenario")
    scenarios = [_core.load_steered(*as_text(source)) for source in scenarios_given]
    _check_port(scenarios, queue.get("port"))
    for warning in dict.fromkeys(w for scenario in scenarios for w in scenario.warnings):
        warn(warning)
    for name, weight in zip(("delay_weight", "loss_weight"), weights, strict=True):
        if not math.isfinite(weight):
            raise ValueError(f"{name} = {weight}; give a finite number, since it is a factor in the reward")
    if interval is None:
        return SteeredTask(scenarios, None, weights, **queue)
    try:
        interval_s = _core.parse_time(interval)
    except ValueError as e:
        raise ValueError(f"interval = {interval!r}: {e}") from None
    return SteeredTask(scenarios, interval_s, weights, **queue)


def _check_port(scenarios: list[_core.Scenario], port: str | None) -> None:
    """Whether each scenario has the link. Raises ValueError."""
    for scenario in scenarios if port is not None else []:
        links = [link["name"] for link in scenario.spec["links"]]
        if port not in links:
            raise ValueError(f'port = {port!r}: there is no link "{port}"; the links are {", ".join(links)}')


def by_rate(action: str) -> bool:
    """Whether an agent with this action controls the pacing rate. Raises ValueError."""
    if action not in ("window", "rate"):
        raise ValueError(f'an agent acts on "window" or "rate", not on {action!r}')
    return action == "rate"


def numbers(action: Any, shape: tuple[int, ...]) -> list[float]:
    """The numbers of an action. Raises ValueError."""
    try:
        array = np.asarray(action, float)
        if array.shape == shape:
            return array.tolist()  # type: ignore[no-any-return]
    except (TypeError, ValueError):
        pass
    expectation = "1 number" if shape == (1,) else f"{shape[0]} numbers"
    raise ValueError(f"an action is a list of {expectation}, not {action!r}")


def line(rate: str, rtt_ms: float, queue: dict[str, Any], flows: dict[str, Any], seconds: int) -> dict[str, Any]:
    """A scenario of one line."""
    return {
        "duration": f"{seconds}s",
        "link": {"bottleneck": {"from": "a", "to": "b", "rate": rate, "delay": f"{rtt_ms / 2}ms", "queue": queue}},
        "flows": flows,
    }


def window_scenarios() -> list[dict[str, Any]]:
    """A flow alone on lines of 5 to 50 Mb/s and 20 to 80 ms, with buffers of one to two times their product."""
    lines = [("5Mbps", 40, 34), ("10Mbps", 80, 133), ("20Mbps", 20, 66), ("50Mbps", 40, 166)]
    tcp = {"profile": "linux", "congestion": "agent"}
    return [
        line(rate, rtt, {"kind": "droptail", "buffer": f"{buffer} packets"}, {"agent": {"tcp": tcp}}, 30)
        for rate, rtt, buffer in lines
    ]


def queue_scenarios() -> list[dict[str, Any]]:
    """Eight CUBIC flows with ECN on a line of 20 Mb/s."""
    cubic = {"profile": "linux", "congestion": "cubic", "ecn": "on"}
    flows = {"bulk": {"count": 8, "start": {"kind": "uniform", "to": "1s"}, "tcp": cubic}}
    return [{**line("20Mbps", 40, {"kind": "droptail", "buffer": "unlimited"}, flows, 30), "marking": True}]


def shown(task: SteeredTask, facts: Iterable[float]) -> dict[str, Any]:
    """The `info` of a step."""
    return dict(zip(task.facts, facts, strict=True))
