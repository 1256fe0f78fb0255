"""Passes on `tailback.apps.gym.envs`, whose path of before this is."""

import sys

from tailback.apps.gym.envs import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.envs"]
