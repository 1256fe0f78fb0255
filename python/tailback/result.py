"""Passes on `tailback.runs.result`, whose path of before this is."""

import sys

from tailback.runs.result import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.result"]
