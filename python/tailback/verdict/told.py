"""Passes on `tailback.core.verdict.told`, whose path of before this is."""

import sys

from tailback.core.verdict.told import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.verdict.told"]
