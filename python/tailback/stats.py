"""Passes on `tailback.core.stats`, whose path of before this is."""

import sys

from tailback.core.stats import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.stats"]
