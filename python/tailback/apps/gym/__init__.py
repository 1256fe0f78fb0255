"""Environments of Gymnasium in which an agent learns congestion control or queue management (extra `gym`).

    import gymnasium
    import tailback.gym

    env = gymnasium.make("tailback/Congestion-v0", interval="20ms")     # a window, by interval
    env = tailback.gym.CongestionEnv(interval=None)                     # by ACK
    env = tailback.gym.QueueEnv(interval="10ms")                        # drop and mark probability of a queue
    envs = tailback.gym.CongestionVectorEnv(16)                         # many of them on all cores

`tailback.gym.policy` runs a learnt policy as a congestion control of a scenario, and needs no Gymnasium.
"""

from __future__ import annotations

try:
    import gymnasium
except ImportError as e:
    raise ImportError("this needs Gymnasium, which is not installed; `pip install 'tailback[gym]'` adds it") from e

from tailback.apps.gym.envs import CongestionEnv, QueueEnv
from tailback.apps.gym.many import CongestionVectorEnv, QueueVectorEnv

__all__ = ["CongestionEnv", "CongestionVectorEnv", "QueueEnv", "QueueVectorEnv"]

for _name in ("Congestion", "Queue"):
    gymnasium.register(
        f"tailback/{_name}-v0",
        entry_point=f"tailback.gym.envs:{_name}Env",
        vector_entry_point=f"tailback.gym.many:{_name}VectorEnv",
    )
