"""The old import path of `tailback.core.theory.memory`."""

import sys

from tailback.core.theory.memory import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.memory"]
