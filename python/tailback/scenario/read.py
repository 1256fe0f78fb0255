"""Passes on `tailback.core.scenario.read`, whose path of before this is."""

import sys

from tailback.core.scenario.read import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.read"]
