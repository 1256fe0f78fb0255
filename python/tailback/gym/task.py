"""The old import path of `tailback.apps.gym.task`."""

import sys

from tailback.apps.gym.task import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.task"]
