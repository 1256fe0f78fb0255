"""A single environment, in which an agent controls a window or a queue step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import gymnasium
import numpy as np
from numpy.typing import NDArray

from tailback import _core
from tailback.apps.gym.task import (
    NOT_COPIED,
    SteeredTask,
    by_rate,
    numbers,
    queue_scenarios,
    shown,
    task,
    window_scenarios,
)
from tailback.core.scenario.read import Source
from tailback.core.text import given as check
from tailback.core.text.arguments import checked

SeenNumbers = NDArray[np.float32]


class SteppedEnv(gymnasium.Env[SeenNumbers, Any]):
    """A run of one of several scenarios under an agent. The environment belongs to the thread that made it."""

    metadata = {"render_modes": []}

    def __init__(self, task: SteeredTask) -> None:
        self.task = task
        self.observation_space = task.observation_space()
        self.action_space = task.action_space()
        self.render_mode = None
        self._shape = self.action_space.shape or ()
        self._run = _core.StepEnv(task.scenarios, task.interval_s, task.weights, task.port, task.buffer, task.by_rate)

    @checked
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[SeenNumbers, dict[str, Any]]:
        super().reset(seed=None if seed is None else check.seed(seed))
        observation, _, _, facts = self._run.reset(*self.task.beginning(self.np_random, options))
        return np.frombuffer(observation, np.float32), shown(self.task, facts)

    def step(self, action: Any) -> tuple[SeenNumbers, float, bool, bool, dict[str, Any]]:
        observation, reward, is_over, facts = self._run.step(numbers(action, self._shape))
        return np.frombuffer(observation, np.float32), reward, False, is_over, shown(self.task, facts)

    def __reduce__(self) -> NoReturn:
        raise TypeError(NOT_COPIED)


class CongestionEnv(SteppedEnv):
    """An agent steers the window of the flow whose congestion control is `agent`, or with `action="rate"` its pacing
    rate: an action a in [-1, 1] multiplies it by 2^a. The agent acts after each `interval`, or after each ACK if
    `interval` is None. A window is between a segment and 100000. A rate is between 800 bit/s and 1 Tb/s, and begins at
    an initial window in 100 ms. With a rate, the window has its largest value.

    `scenarios` is one scenario or several; each run takes one of them by chance. The reward of a step is the share of
    the slowest line that was used, less `delay_weight` times the queueing delay in round trips, less `loss_weight`
    times the share lost.

    >>> import tailback.gym
    >>> env = tailback.gym.CongestionEnv(interval="20ms")
    >>> seen, info = env.reset(seed=1)
    >>> seen, reward, terminated, truncated, info = env.step([0.5])
    >>> round(info["time_s"], 3), seen.shape
    (0.02, (7,))
    """

    @checked
    def __init__(
        self,
        scenarios: Source | Iterable[Source] | None = None,
        *,
        interval: str | None = "20ms",
        action: str = "window",
        delay_weight: float = 0.2,
        loss_weight: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        weights = (delay_weight, loss_weight)
        super().__init__(task(scenarios, window_scenarios(), interval, weights, by_rate=by_rate(action)))


class QueueEnv(SteppedEnv):
    """An agent sets the probabilities with which the queue of a link drops and marks arriving packets, after each
    `interval`.

    `port` is the link, and `NAME.reverse` its other direction. The queue is a FIFO of size `buffer`, which replaces the
    queue of the scenario. The reward of a step is the share of the line that was used, less `delay_weight` times the
    mean wait in units of 100 ms, less `loss_weight` times the share dropped.

    >>> import tailback.gym
    >>> env = tailback.gym.QueueEnv()
    >>> seen, info = env.reset(seed=1)
    >>> seen, reward, terminated, truncated, info = env.step([0.0, 0.01])
    >>> round(info["time_s"], 3)
    0.01
    """

    @checked
    def __init__(
        self,
        scenarios: Source | Iterable[Source] | None = None,
        *,
        port: str = "bottleneck",
        buffer: str = "1000 packets",
        interval: str = "10ms",
        delay_weight: float = 1.0,
        loss_weight: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        weights = (delay_weight, loss_weight)
        super().__init__(task(scenarios, queue_scenarios(), interval, weights, port=port, buffer=buffer))
