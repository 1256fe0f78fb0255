"""Passes on `tailback.core.results.columns`, whose path of before this is."""

import sys

from tailback.core.results.columns import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.results.columns"]
