"""Passes on `tailback.runs.builder`, whose path of before this is."""

import sys

from tailback.runs.builder import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.builder"]
