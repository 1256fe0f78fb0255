"""Many environments on all cores. Each of them has the same runs as the single environment with its seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from tailback import _core
from tailback.apps.gym.task import NOT_COPIED, SteeredTask, by_rate, queue_scenarios, task, window_scenarios
from tailback.core.scenario.read import Source
from tailback.core.text import given as check
from tailback.core.text.arguments import checked

StepRows = tuple[NDArray[np.float32], list[float], list[bool], dict[str, Any]]


class SteppedVectorEnv(VectorEnv[Any, Any, Any]):
    """Runs under agents. Environment i after `reset(seed=s)` equals the single environment after `reset(seed=s + i)`,
    to the bit. A finished run restarts at the next step (`AutoresetMode.NEXT_STEP`). `threads` is 0 for all cores."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs: int, task: SteeredTask, threads: int = 0) -> None:
        self.task = task
        #: There is nothing to close before there are runs.
        self.closed = True
        if num_envs < 1:
            raise ValueError(f"num_envs = {num_envs}; give at least one environment")
        if threads < 0:
            raise ValueError(f"threads = {threads}; give a number of threads, or 0 for all cores")
        self.num_envs = num_envs
        self.render_mode = None
        self.single_observation_space = task.observation_space()
        self.single_action_space = task.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._runs = _core.StepEnvs(
            task.scenarios, num_envs, threads, task.interval_s, task.weights, task.port, task.buffer, task.by_rate
        )
        self._draws = [seeding.np_random()[0] for _ in range(num_envs)]
        self._over = [False] * num_envs
        self.closed = False

    @checked
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            first_seed = None if isinstance(seed, Iterable) else check.seed(seed)
            one_each: list[Any] = list(seed) if isinstance(seed, Iterable) else []
            seeds = [first_seed + i for i in range(self.num_envs)] if first_seed is not None else one_each
            if len(seeds) != self.num_envs:
                raise ValueError(f"{len(seeds)} seeds are given for {self.num_envs} environments")
            seeds = [None if s is None else check.seed(s) for s in seeds]
            self._draws = [
                draw if s is None else seeding.np_random(s)[0] for draw, s in zip(self._draws, seeds, strict=True)
            ]
        observations, _, _, info = self._rows(self._runs.reset([self.task.beginning(d, options) for d in self._draws]))
        self._over = [False] * self.num_envs
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        array = np.asarray(actions, float)
        if array.ndim == 0 or array.size % self.num_envs or len(array) != self.num_envs:
            raise ValueError(
                f"actions have the shape {array.shape}; give a row for each of {self.num_envs} environments"
            )
        rows = array.reshape(self.num_envs, -1).tolist()
        begins = [self.task.beginning(d) if over else None for d, over in zip(self._draws, self._over, strict=True)]
        observations, rewards, over, info = self._rows(self._runs.step(rows, begins))
        self._over = over
        return observations, np.array(rewards), np.zeros(self.num_envs, bool), np.array(over), info

    def _rows(self, told: tuple[bytes, list[float], list[bool], list[list[float]]]) -> StepRows:
        observations, rewards, are_over, facts = told
        columns = np.array(facts).T
        info: dict[str, Any] = dict(zip(self.task.facts, columns, strict=True))
        return np.frombuffer(observations, np.float32).reshape(self.num_envs, -1), rewards, are_over, info

    def __reduce__(self) -> NoReturn:
        raise TypeError(NOT_COPIED)

    def close_extras(self, **kwargs: Any) -> None:
        self._runs.close()


class CongestionVectorEnv(SteppedVectorEnv):
    """Many `CongestionEnv`.

    >>> import tailback.gym
    >>> envs = tailback.gym.CongestionVectorEnv(4, interval="20ms")
    >>> seen, info = envs.reset(seed=1)
    >>> seen, rewards, terminated, truncated, info = envs.step([[0.5], [0.0], [-0.5], [1.0]])
    >>> seen.shape, info["time_s"].tolist()
    ((4, 7), [0.02, 0.02, 0.02, 0.02])
    >>> envs.close()
    """

    @checked
    def __init__(
        self,
        num_envs: int = 1,
        scenarios: Source | Iterable[Source] | None = None,
        *,
        interval: str | None = "20ms",
        action: str = "window",
        delay_weight: float = 0.2,
        loss_weight: float = 1.0,
        threads: int = 0,
        render_mode: str | None = None,
    ) -> None:
        weights = (delay_weight, loss_weight)
        steered = task(scenarios, window_scenarios(), interval, weights, by_rate=by_rate(action))
        super().__init__(num_envs, steered, threads)


class QueueVectorEnv(SteppedVectorEnv):
    """Many `QueueEnv`."""

    @checked
    def __init__(
        self,
        num_envs: int = 1,
        scenarios: Source | Iterable[Source] | None = None,
        *,
        port: str = "bottleneck",
        buffer: str = "1000 packets",
        interval: str = "10ms",
        delay_weight: float = 1.0,
        loss_weight: float = 1.0,
        threads: int = 0,
        render_mode: str | None = None,
    ) -> None:
        weights = (delay_weight, loss_weight)
        steered = task(scenarios, queue_scenarios(), interval, weights, port=port, buffer=buffer)
        super().__init__(num_envs, steered, threads)
