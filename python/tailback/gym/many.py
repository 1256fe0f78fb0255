"""The old import path of `tailback.apps.gym.many`."""

import sys

from tailback.apps.gym.many import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.gym.many"]
