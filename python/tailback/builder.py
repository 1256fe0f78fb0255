"""The old import path of `tailback.runs.builder`."""

import sys

from tailback.runs.builder import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.builder"]
