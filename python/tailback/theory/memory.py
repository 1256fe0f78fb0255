"""Passes on `tailback.core.theory.memory`, whose path of before this is."""

import sys

from tailback.core.theory.memory import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.memory"]
