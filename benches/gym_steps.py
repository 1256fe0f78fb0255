"""Steps a second of the environments of `tailback.gym`, without a policy, and their memory.

    python benches/gym_steps.py [STEPS]

One environment by interval and by ACK, 16 on one thread and on two; then so many steps (default 1000000) by interval
with the resident memory at each tenth.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import tailback.gym as steps

SECONDS = 5.0


def resident_mb() -> float:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def rate(env, many: int = 1, scale: float = 1.0) -> float:
    """Steps a second under drawn actions."""
    env.reset(seed=1)
    env.action_space.seed(1)
    drawn = [env.action_space.sample() * scale for _ in range(100)]
    n, began = 0, time.monotonic()
    while time.monotonic() - began < SECONDS:
        for action in drawn:
            over = env.step(action)[3]
            if many == 1 and over:
                env.reset()
        n += 100 * many
    return n / (time.monotonic() - began)


def main(total: int) -> None:
    print(f"by interval, 10 ms  {rate(steps.CongestionEnv(interval='10ms')):10.0f} steps/s (bar: 10000)")
    print(f"by ACK              {rate(steps.CongestionEnv(interval=None)):10.0f} steps/s (bar: 10000)")
    print(f"queue, 10 ms        {rate(steps.QueueEnv(interval='10ms'), scale=0.02):10.0f} steps/s")
    for threads, bar in ((1, 10_000), (2, 20_000)):
        envs = steps.CongestionVectorEnv(16, interval="10ms", threads=threads)
        found = rate(envs, 16)
        print(f"16 on {threads} thread(s)   {found:10.0f} steps/s (bar: {bar})")
        envs.close()
    env = steps.CongestionEnv(interval="10ms")
    env.action_space.seed(1)
    env.reset(seed=1)
    drawn = [env.action_space.sample() for _ in range(100)]
    for tenth in range(10):
        for i in range(total // 10):
            if env.step(drawn[i % 100])[3]:
                env.reset()
        print(f"after {(tenth + 1) * total // 10:8} steps: {resident_mb():7.1f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
