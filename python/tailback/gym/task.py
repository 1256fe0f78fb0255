"""Passes on `tailback.apps.gym.task`, whose path of before this is."""

import sys

from tailback.apps.gym.task import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.task"]
