"""Passes on `tailback.apps.gym.many`, whose path of before this is."""

import sys

from tailback.apps.gym.many import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.many"]
