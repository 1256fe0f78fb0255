"""Passes on `tailback.core.results.difference`, whose path of before this is."""

import sys

from tailback.core.results.difference import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.results.difference"]
