"""The old import path of `tailback.apps.gym.envs`."""

import sys

from tailback.apps.gym.envs import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.envs"]
