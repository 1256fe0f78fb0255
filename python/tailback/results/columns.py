"""The old import path of `tailback.core.results.columns`."""

import sys

from tailback.core.results.columns import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.results.columns"]
