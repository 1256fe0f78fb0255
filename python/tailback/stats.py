"""The old import path of `tailback.core.stats`."""

import sys

from tailback.core.stats import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.stats"]
