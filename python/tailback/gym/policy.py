"""The old import path of `tailback.apps.gym.policy`."""

import sys

from tailback.apps.gym.policy import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.policy"]
