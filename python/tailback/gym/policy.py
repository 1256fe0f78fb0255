"""Passes on `tailback.apps.gym.policy`, whose path of before this is."""

import sys

from tailback.apps.gym.policy import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.policy"]
