"""The old import path of `tailback.runs.result`."""

import sys

from tailback.runs.result import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.result"]
