"""The old import path of `tailback.core.results.difference`."""

import sys

from tailback.core.results.difference import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.results.difference"]
